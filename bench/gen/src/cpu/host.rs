//! A host and its ten tags.

use crate::encoder::Encoder;
use crate::random::{Random, mix};
use crate::schema::Column;

/// The tags.
pub const COLUMNS: &[Column] = &[
    ("hostname", "text NOT NULL"),
    ("region", "text NOT NULL"),
    ("datacenter", "text NOT NULL"),
    ("rack", "text NOT NULL"),
    ("os", "text NOT NULL"),
    ("arch", "text NOT NULL"),
    ("team", "text NOT NULL"),
    ("service", "text NOT NULL"),
    ("service_version", "text NOT NULL"),
    ("service_environment", "text NOT NULL"),
];

const REGIONS: [&str; 9] = [
    "africa-south",
    "america-east",
    "america-west",
    "asia-east",
    "asia-south",
    "europe-central",
    "europe-north",
    "europe-west",
    "pacific-south",
];
const SYSTEMS: [&str; 4] = ["Debian 12", "Ubuntu 22.04", "Ubuntu 24.04", "Rocky 9"];
const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];
const TEAMS: [&str; 5] = ["billing", "catalogue", "delivery", "platform", "search"];
const ENVIRONMENTS: [&str; 3] = ["production", "staging", "test"];

/// A host's tags, in column order.
#[derive(Debug)]
pub struct Host {
    tags: [String; COLUMNS.len()],
}

impl Host {
    /// Host number `host`.
    pub fn new(seed: u64, host: u64) -> Self {
        let mut random = Random::new(mix(mix(seed, 0x7a65), host));
        let region = random.pick(&REGIONS);
        Self {
            tags: [
                format!("host_{host}"),
                region.into(),
                format!("{region}-{}", random.below(3) + 1),
                random.below(100).to_string(),
                random.pick(&SYSTEMS).into(),
                random.pick_small(&ARCHITECTURES).into(),
                random.pick(&TEAMS).into(),
                random.below(20).to_string(),
                random.below(2).to_string(),
                random.pick(&ENVIRONMENTS).into(),
            ],
        }
    }

    /// Appends the tags.
    pub fn write(&self, out: &mut Encoder) {
        for tag in &self.tags {
            out.text(tag);
        }
    }
}
