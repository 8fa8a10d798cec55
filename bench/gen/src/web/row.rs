//! The columns, in groups; each group's names stand beside what writes them.

use crate::encoder::Encoder;
use crate::random::Random;
use crate::schema::Column;
use crate::web::Web;
use crate::web::page::{Source, hash};
use crate::web::view::{Cursor, View};
use crate::web::visitor::Visitor;
use crate::web::words::{LANGUAGES, PHONES};

/// All columns, in groups.
pub const COLUMNS: &[&[Column]] = &[VIEW, PAGE, TRAFFIC, DEVICE, FLAGS, TIMINGS, CUSTOM];

/// Writes rows.
#[derive(Debug)]
pub struct Writer<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Writer<'a> {
    /// A writer of `web`'s rows.
    pub fn new(web: &'a Web) -> Self {
        Self { cursor: Cursor::new(web) }
    }

    /// Appends row `row`.
    pub fn write(&mut self, row: u64, out: &mut Encoder) {
        let (v, visitor) = self.cursor.at(row);
        let device = Device::of(visitor);
        view(v, visitor, out);
        page(v, out);
        traffic(v, out);
        device.write(v, visitor, out);
        flags(v, &device, out);
        timings(v, out);
        custom(v, out);
        out.end_row();
    }
}

const VIEW: &[Column] = &[
    ("view_id", "bigint NOT NULL"),
    ("event_time", "timestamp NOT NULL"),
    ("event_date", "date NOT NULL"),
    ("counter_id", "integer NOT NULL"),
    ("user_id", "bigint NOT NULL"),
    ("session_id", "bigint NOT NULL"),
    ("session_step", "integer NOT NULL"),
    ("client_ip", "integer NOT NULL"),
    ("client_network", "integer NOT NULL"),
    ("region_id", "integer NOT NULL"),
    ("received_time", "timestamp NOT NULL"),
];

fn view(v: &mut View, visitor: &Visitor, out: &mut Encoder) {
    out.integer(v.view_id);
    out.timestamp(v.time);
    out.date(v.date);
    out.integer(v.counter_id);
    out.integer(visitor.user_id);
    out.integer(visitor.session_id);
    out.integer(v.step);
    out.integer(visitor.client_ip);
    out.integer(visitor.client_ip >> 8);
    out.integer(visitor.region_id);
    out.timestamp(v.time + v.random.small(4) as i64);
}

const PAGE: &[Column] = &[
    ("url", "text NOT NULL"),
    ("referer", "text NOT NULL"),
    ("title", "text NOT NULL"),
    ("url_hash", "bigint NOT NULL"),
    ("referer_hash", "bigint NOT NULL"),
    ("site_category", "smallint NOT NULL"),
    ("referer_category", "smallint NOT NULL"),
    ("page_language", "text NOT NULL"),
    ("page_encoding", "text NOT NULL"),
    ("page_version", "integer NOT NULL"),
];

fn page(v: &mut View, out: &mut Encoder) {
    out.text(&v.url);
    out.text(&v.referer);
    out.text(&v.title);
    out.integer(hash(&v.url));
    out.integer(hash(&v.referer));
    out.integer(v.page.category());
    out.integer(if v.source == Source::Internal {
        v.page.category()
    } else {
        v.random.sparse(4, 40)
    });
    out.text(if v.page.category() < 36 { "ru" } else { "en" });
    out.text(if v.page.category() % 9 == 0 { "windows-1251" } else { "utf-8" });
    out.integer(v.random.sparse(3, 900));
}

const TRAFFIC: &[Column] = &[
    ("traffic_source", "smallint NOT NULL"),
    ("search_engine_id", "smallint NOT NULL"),
    ("search_phrase", "text NOT NULL"),
    ("search_position", "smallint NOT NULL"),
    ("ad_engine_id", "smallint NOT NULL"),
    ("ad_click_id", "bigint NOT NULL"),
    ("social_network_id", "smallint NOT NULL"),
    ("campaign_source", "text NOT NULL"),
    ("campaign_medium", "text NOT NULL"),
    ("campaign_name", "text NOT NULL"),
    ("campaign_content", "text NOT NULL"),
    ("campaign_term", "text NOT NULL"),
    ("partner_tag", "text NOT NULL"),
    ("referral_code", "text NOT NULL"),
];

fn traffic(v: &mut View, out: &mut Encoder) {
    // 99.4 % without an advertisement.
    let ad = v.random.sparse(167, 20);
    out.integer(v.source as i64);
    out.integer(v.search_engine);
    out.text(&v.phrase);
    out.integer(if v.phrase.is_empty() { 0 } else { v.random.small(50) as i64 + 1 });
    out.integer(ad);
    out.integer(if ad == 0 { 0 } else { (v.random.bits() >> 1) as i64 });
    out.integer(if v.source == Source::Social { v.random.small(6) as i64 + 1 } else { 0 });
    v.rare_text(60, "source", 30, out);
    v.rare_text(60, "medium", 6, out);
    v.rare_text(70, "кампания ", 400, out);
    v.rare_text(150, "banner/", 5_000, out);
    v.rare_text(200, "term_", 2_000, out);
    v.rare_text(300, "P-", 90_000, out);
    v.rare_text(500, "friend", 1 << 40, out);
}

const DEVICE: &[Column] = &[
    ("device_class", "smallint NOT NULL"),
    ("os_id", "smallint NOT NULL"),
    ("os_version", "smallint NOT NULL"),
    ("browser_id", "smallint NOT NULL"),
    ("browser_version", "smallint NOT NULL"),
    ("browser_build", "text NOT NULL"),
    ("phone_maker", "smallint NOT NULL"),
    ("phone_model", "text NOT NULL"),
    ("screen_width", "smallint NOT NULL"),
    ("screen_height", "smallint NOT NULL"),
    ("screen_depth", "smallint NOT NULL"),
    ("window_width", "smallint NOT NULL"),
    ("window_height", "smallint NOT NULL"),
    ("pixel_ratio", "smallint NOT NULL"),
    ("timezone_offset", "smallint NOT NULL"),
    ("browser_language", "text NOT NULL"),
    ("connection_kind", "smallint NOT NULL"),
];

const SCREENS: [(i64, i64); 12] = [
    (1920, 1080),
    (1366, 768),
    (1536, 864),
    (1440, 900),
    (1280, 1024),
    (1600, 900),
    (2560, 1440),
    (1680, 1050),
    (1280, 800),
    (3840, 2160),
    (1920, 1200),
    (1024, 768),
];
const PHONE_SCREENS: [(i64, i64); 5] = [(390, 844), (360, 800), (412, 915), (393, 873), (320, 568)];

/// A user's device: the same in every session.
struct Device {
    mobile: bool,
    maker: u64,
    model: String,
    screen: (i64, i64),
    traits: Random,
}

impl Device {
    fn of(visitor: &Visitor) -> Self {
        let mut traits = visitor.traits.clone();
        let mobile = traits.one_in(9);
        // Of the mobile users a bit under half name their phone: 5 % of all.
        let maker = if mobile && traits.below(100) < 45 { 1 + traits.small(13) } else { 0 };
        let model = if maker == 0 {
            String::new()
        } else {
            format!(
                "{} {}{}",
                PHONES[maker as usize],
                traits.pick(&["X", "S", "Mini ", ""]),
                1 + traits.small(24)
            )
        };
        let screen = traits.pick_small(if mobile { &PHONE_SCREENS[..] } else { &SCREENS[..] });
        Self { mobile, maker, model, screen, traits }
    }

    fn write(&self, v: &mut View, visitor: &Visitor, out: &mut Encoder) {
        let mut traits = self.traits.clone();
        let mut session = visitor.session.clone();
        let (width, height) = self.screen;
        out.integer(if self.mobile { 1 + traits.small(2) as i64 } else { 0 });
        out.integer(traits.small(60) as i64 + 1);
        out.integer(traits.small(15) as i64);
        out.integer(traits.small(40) as i64 + 1);
        out.integer(124 - traits.small(60) as i64);
        out.text(traits.pick_small(&["0.0", "1.2", "0.6367.91", "2.0", "13", "0.1", "5.4"]));
        out.integer(self.maker as i64);
        out.text(&self.model);
        out.integer(width);
        out.integer(height);
        out.integer(traits.pick_small(&[24, 32, 30, 16]));
        // Half of the windows are as large as the screen lets them; some are resized from view to view.
        let resized = session.one_in(2) && !self.mobile;
        let frame =
            if v.random.one_in(4) { v.random.small(400) } else { session.small(400) } as i64;
        out.integer(if resized { width - frame.min(width / 2) } else { width });
        out.integer(
            (height - 70 - session.small(300) as i64 - if resized { frame / 2 } else { 0 })
                .max(300),
        );
        out.integer(if self.mobile { 300 } else { traits.pick_small(&[100, 125, 150, 200]) });
        out.integer(traits.pick_small(&[180, 300, 120, 240, 420, 60, 600, 0]));
        out.text(traits.pick_small(&LANGUAGES));
        out.integer(if self.mobile { session.small(4) as i64 + 1 } else { 0 });
    }
}

const FLAGS: &[Column] = &[
    ("is_mobile", "integer NOT NULL"),
    ("is_robot", "integer NOT NULL"),
    ("is_new_visitor", "integer NOT NULL"),
    ("is_entry", "integer NOT NULL"),
    ("is_internal", "integer NOT NULL"),
    ("is_reload", "integer NOT NULL"),
    ("is_excluded", "integer NOT NULL"),
    ("is_outbound", "integer NOT NULL"),
    ("is_download", "integer NOT NULL"),
    ("is_not_found", "integer NOT NULL"),
    ("is_framed", "integer NOT NULL"),
    ("is_prefetched", "integer NOT NULL"),
    ("is_background", "integer NOT NULL"),
    ("is_printed", "integer NOT NULL"),
    ("is_secure", "integer NOT NULL"),
    ("has_cookies", "integer NOT NULL"),
    ("has_storage", "integer NOT NULL"),
    ("has_touch", "integer NOT NULL"),
    ("has_blocker", "integer NOT NULL"),
    ("has_dark_theme", "integer NOT NULL"),
    ("has_proxy", "integer NOT NULL"),
    ("forms_opened", "integer NOT NULL"),
    ("forms_sent", "integer NOT NULL"),
    ("clicks", "integer NOT NULL"),
    ("keys_pressed", "integer NOT NULL"),
    ("scrolled_percent", "integer NOT NULL"),
];

fn flags(v: &mut View, device: &Device, out: &mut Encoder) {
    let internal = v.source == Source::Internal;
    let r = &mut v.random;
    out.integer(i64::from(device.mobile));
    out.integer(r.sparse(80, 3));
    out.integer(i64::from(r.one_in(5)));
    out.integer(i64::from(v.step == 0));
    out.integer(i64::from(internal));
    out.integer(i64::from(r.one_in(8)));
    out.integer(i64::from(r.one_in(40)));
    out.integer(i64::from(r.one_in(12)));
    out.integer(i64::from(r.one_in(90)));
    out.integer(i64::from(r.one_in(150)));
    out.integer(i64::from(r.one_in(60)));
    out.integer(i64::from(r.one_in(200)));
    out.integer(i64::from(r.one_in(25)));
    out.integer(i64::from(r.one_in(700)));
    out.integer(i64::from(!r.one_in(30)));
    out.integer(i64::from(!r.one_in(25)));
    out.integer(i64::from(!r.one_in(20)));
    out.integer(i64::from(device.mobile || r.one_in(50)));
    out.integer(i64::from(r.one_in(7)));
    out.integer(i64::from(r.one_in(6)));
    out.integer(i64::from(r.one_in(100)));
    out.integer(r.sparse(30, 4));
    out.integer(r.sparse(90, 2));
    out.integer(r.sparse(3, 40));
    out.integer(r.sparse(20, 300));
    out.integer(r.sparse(2, 100));
}

const TIMINGS: &[Column] = &[
    ("redirects", "integer NOT NULL"),
    ("redirect_ms", "integer NOT NULL"),
    ("dns_ms", "integer NOT NULL"),
    ("connect_ms", "integer NOT NULL"),
    ("handshake_ms", "integer NOT NULL"),
    ("request_ms", "integer NOT NULL"),
    ("response_ms", "integer NOT NULL"),
    ("document_ms", "integer NOT NULL"),
    ("load_ms", "integer NOT NULL"),
    ("paint_ms", "integer NOT NULL"),
    ("script_ms", "integer NOT NULL"),
    ("style_ms", "integer NOT NULL"),
    ("image_ms", "integer NOT NULL"),
    ("seconds_on_page", "integer NOT NULL"),
    ("bytes_received", "integer NOT NULL"),
    ("clock_skew", "integer NOT NULL"),
];

/// Timings are measured in one view of six.
fn timings(v: &mut View, out: &mut Encoder) {
    let measured = v.random.one_in(6);
    let r = &mut v.random;
    let redirects = r.sparse(40, 3);
    out.integer(redirects);
    out.integer(if redirects > 0 { r.small(3_000) as i64 } else { 0 });
    for most in [200, 400, 300, 900, 1_500, 8_000, 15_000, 5_000, 2_000, 600, 4_000] {
        out.integer(if measured { r.small(most) as i64 } else { 0 });
    }
    out.integer(r.sparse(2, 900));
    out.integer(if measured { 2_000 + r.small(3_000_000) as i64 } else { 0 });
    out.integer(r.sparse(10, 7_200) - r.sparse(10, 7_200));
}

const CUSTOM: &[Column] = &[
    ("goal_id", "integer NOT NULL"),
    ("goal_time", "timestamp"),
    ("order_number", "text NOT NULL"),
    ("order_amount", "bigint"),
    ("order_currency", "text NOT NULL"),
    ("selected_text", "text NOT NULL"),
    ("custom_values", "text NOT NULL"),
    ("experiment_id", "integer NOT NULL"),
    ("experiment_group", "smallint NOT NULL"),
    ("consent_kind", "smallint NOT NULL"),
    ("script_version", "integer NOT NULL"),
];

fn custom(v: &mut View, out: &mut Encoder) {
    let goal = v.random.sparse(70, 500);
    let order = v.random.one_in(400);
    out.integer(goal);
    if goal > 0 {
        out.timestamp(v.time + v.random.small(600) as i64);
    } else {
        out.null();
    }
    let number =
        if order { format!("№{:08}", v.random.below(100_000_000)) } else { String::new() };
    out.text(&number);
    out.optional(order.then(|| 100 + v.random.small(9_000_000) as i64));
    out.text(if order { v.random.pick_small(&["RUB", "EUR", "KZT", "TRY"]) } else { "" });
    // Tabs, quotes, commas and backslashes: what a file format must escape.
    let selected = if v.random.one_in(120) {
        v.random.pick(&[
            "цена:\t1 990",
            "C:\\Документы\\список",
            "«новый», \"белый\"",
            "\\N",
            "100 %",
            " край ",
        ])
    } else {
        ""
    };
    out.text(selected);
    if v.random.one_in(50) {
        let (a, b) = (v.random.small(40), v.random.below(1_000_000));
        out.text(&format!("{{\"variant\": {a}, \"basket\": \"{b:06}\", \"path\": \"c:\\\\{a}\"}}"));
    } else {
        out.text("");
    }
    let experiment = v.random.sparse(8, 60);
    out.integer(experiment);
    out.integer(if experiment > 0 { 1 + v.random.below(3) as i64 } else { 0 });
    out.integer(v.random.small(3) as i64);
    out.integer(1_200 + v.random.small(12) as i64);
}
