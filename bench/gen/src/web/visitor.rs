//! Users, and what a session keeps.
//!
//! Users share out the range of 63-bit ids in order, each at a random place of its share: ids are random and ascend
//! with the users' numbers. A session's place in its day, a fraction, is mapped to a user by an ascending function,
//! which keeps the file ordered; it is steep in places, so that some users come often.

use crate::random::{Random, mix, scale};
use crate::web::layout::Place;
use crate::zipf::Zipf;

/// A user that comes in every table, about 500 rows: queries name it.
pub const RESIDENT: i64 = 3_141_592_653_589_793_238;
/// Distinct regions.
pub const REGIONS: usize = 9_000;

/// Users of a block, of which the first come most.
const BLOCK: u64 = 64;

/// Whoever made a session.
#[derive(Clone, Debug)]
pub struct Visitor {
    pub user_id: i64,
    pub session_id: i64,
    /// Second of the day.
    pub start: u64,
    /// Seconds between two views.
    pub pace: u64,
    /// IPv4 address as a number; fits 31 bits.
    pub client_ip: i64,
    pub region_id: i64,
    /// Draws that stay the same for the user.
    pub traits: Random,
    /// Draws that stay the same for the session.
    pub session: Random,
}

/// All users.
#[derive(Debug)]
pub struct Visitors {
    seed: u64,
    users: u64,
    regions: Zipf,
}

impl Visitors {
    /// For a table of `rows` rows: a user for every four, of whom not all come.
    pub fn new(rows: u64, seed: u64) -> Self {
        let users = (rows / (4 * BLOCK)).max(16) * BLOCK;
        Self { seed, users, regions: Zipf::new(REGIONS) }
    }

    /// The visitor whose session begins at row `first` of `place`.
    pub fn at(&self, place: &Place, first: u64) -> Visitor {
        let mut session = Random::new(mix(self.seed ^ 0x5e5, first));
        let rows = place.end - place.first;
        let fraction = ((u128::from(first - place.first) << 64) | u128::from(session.bits()))
            / u128::from(rows);
        let user = self.user(fraction as u64);
        let mut traits = Random::new(mix(self.seed ^ 0x05e2, user));
        let home = traits.bits();
        // Three of four users have an address of their own; one session in eight comes from elsewhere.
        let away = session.one_in(8);
        let address =
            if away { session.bits() } else { mix(self.seed ^ 0x1b, user % (self.users / 4 * 3)) };
        let region = if away { session.bits() } else { home };
        Visitor {
            user_id: self.id(user),
            session_id: (session.bits() >> 1) as i64,
            start: diurnal(&mut session),
            pace: 5 + session.small(120),
            client_ip: 0x0100_0000 + scale(address, 0x6f00_0000) as i64,
            region_id: region_id(self.regions.rank(region)),
            traits,
            session,
        }
    }

    /// The number of the user at a fraction of 2^64; ascends with it.
    fn user(&self, fraction: u64) -> u64 {
        let place = u128::from(fraction) * u128::from(self.users / BLOCK);
        let (block, within) = ((place >> 64) as u64, place as u64);
        block * BLOCK + scale(scale(scale(within, within), within), BLOCK)
    }

    /// The id of a user, 63 bits; ascends with the number.
    fn id(&self, user: u64) -> i64 {
        let share =
            |block: u64| ((u128::from(block) << 63) / u128::from(self.users / BLOCK)) as i64;
        let block = user / BLOCK;
        if (share(block)..share(block + 1).max(0)).contains(&RESIDENT) {
            return RESIDENT;
        }
        let jitter = mix(self.seed ^ 0x1d, user) >> 1;
        (((u128::from(user) << 63) | u128::from(jitter)) / u128::from(self.users)) as i64
    }
}

/// Ids of regions, in no order of weight.
fn region_id(rank: usize) -> i64 {
    // 4,241 shares no factor with 9,000.
    (rank * 4_241 % REGIONS) as i64 + 1
}

/// A second of the day: nights are quiet, the largest of two draws makes evenings busy.
fn diurnal(random: &mut Random) -> u64 {
    if random.one_in(6) {
        return random.below(86_400);
    }
    let late = random.below(61_200).max(random.below(61_200));
    25_200 + late - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_ascend_and_fit() {
        let visitors = Visitors::new(1_000_000, 1);
        let mut last = -1;
        let mut residents = 0;
        for user in 0..visitors.users {
            let id = visitors.id(user);
            assert!(id > last || id == RESIDENT && last == RESIDENT, "user {user}");
            residents += u64::from(id == RESIDENT);
            last = id;
        }
        assert_eq!(residents, BLOCK);
    }

    #[test]
    fn users_ascend_with_the_fraction() {
        let visitors = Visitors::new(10_000, 1);
        let users: Vec<_> =
            (0..=4096_u64).map(|i| visitors.user((i << 52).wrapping_sub(1).max(i))).collect();
        assert!(users[1..4096].is_sorted());
        assert!(users.iter().all(|&u| u < visitors.users));
    }
}
