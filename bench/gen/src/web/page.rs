//! Sites and their pages.
//!
//! A counter is a site. Some views are of a page nobody else looks at, the others of the site's popular pages; from
//! some 50,000 rows on there are distinct URLs for about a fifth of the rows. A page's URL and title follow from its
//! number.

use std::fmt::Write;

use xxhash_rust::xxh3::xxh3_64;

use crate::random::{Random, mix, scale};
use crate::web::layout::{COUNTERS, Layout, Place};
use crate::web::words::{
    CYRILLIC, ENGINES, LATIN, RARE_SECTION, RARE_TITLE_WORD, SECTIONS, SYLLABLES,
};

/// A start page that leads to many sites: queries name its hash.
pub const START_PAGE: &str = "https://start.poisk.example/welcome/today/all-sites-by-subject/index";

/// How a view came about: the values of `traffic_source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Internal = -1,
    Direct = 0,
    Link = 1,
    Search = 2,
    Social = 4,
}

/// A page of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// The site's counter.
    pub counter: usize,
    pub number: u64,
    /// Decides all that is written about the page.
    key: u64,
}

impl Page {
    /// The page viewed by row `row` of `place`: `unique` in a thousand are viewed once.
    pub fn viewed(seed: u64, place: &Place, row: u64, unique: u64, random: &mut Random) -> Self {
        let popular = Self::popular_pages(place.counter_rows);
        let number =
            if random.below(1000) < unique { popular + row } else { random.small(popular) };
        Self::new(seed, place.counter, number)
    }

    /// A popular page of a site.
    pub fn popular(seed: u64, counter: usize, counter_rows: u64, random: &mut Random) -> Self {
        Self::new(seed, counter, random.small(Self::popular_pages(counter_rows)))
    }

    fn popular_pages(counter_rows: u64) -> u64 {
        (counter_rows / 40).max(1)
    }

    /// How many views in a thousand are of a page viewed once, so that 200 URLs come of a thousand rows.
    pub fn unique(layout: &Layout, rows: u64) -> u64 {
        let popular: u64 = (0..COUNTERS)
            .map(|counter| layout.counter_rows(counter))
            .map(|rows| Self::popular_pages(rows).min(rows))
            .sum();
        200_u64.saturating_sub(popular * 1000 / rows.max(1)).max(20)
    }

    fn new(seed: u64, counter: usize, number: u64) -> Self {
        Self { counter, number, key: mix(mix(seed ^ 0x9a9e, counter as u64), number) }
    }

    /// The site's category, 1 to 40.
    pub fn category(self) -> i64 {
        (mix(0xca7e, self.counter as u64) % 40) as i64 + 1
    }

    /// 60 to 100 bytes.
    pub fn url(self, out: &mut String) {
        out.clear();
        out.push_str("https://");
        domain(self.counter, out);
        let mut random = Random::new(self.key);
        let length = 66 + random.below(17) as usize;
        let section = if random.one_in(512) { RARE_SECTION } else { random.pick_small(&SECTIONS) };
        out.push('/');
        out.push_str(section);
        out.push('/');
        loop {
            out.push_str(random.pick(&LATIN));
            if out.len() >= length {
                break;
            }
            out.push('-');
        }
        write!(out, "-{}", self.number).expect("a String takes all");
    }

    /// Cyrillic, 60 to 120 bytes; empty for 3 pages in a hundred.
    pub fn title(self, out: &mut String) {
        out.clear();
        let mut random = Random::new(self.key ^ 0x717e);
        if random.below(100) < 3 {
            return;
        }
        let length = 75 + random.below(21) as usize;
        if random.one_in(300) {
            out.push_str(RARE_TITLE_WORD);
        } else {
            capital(random.pick(&CYRILLIC), out);
        }
        while out.len() < length {
            out.push_str(if random.one_in(8) { " — " } else { " " });
            out.push_str(random.pick(&CYRILLIC));
        }
    }
}

/// `www.` and a name of two to four syllables; the site's whatever the seed.
fn domain(counter: usize, out: &mut String) {
    let mut random = Random::new(mix(0xd0, counter as u64));
    out.push_str("www.");
    for _ in 0..2 + random.below(3) {
        out.push_str(random.pick(&SYLLABLES));
    }
    out.push_str(".example");
}

fn capital(word: &str, out: &mut String) {
    let mut letters = word.chars();
    out.extend(letters.next().into_iter().flat_map(char::to_uppercase));
    out.push_str(letters.as_str());
}

/// Where the view came from: a fifth without referer, a twentieth from the start page, the rest from search engines,
/// the site itself and other sites. Writes the referer and returns the source with the number of the search engine, or
/// 0.
pub fn referer(
    here: Page,
    seed: u64,
    counter_rows: u64,
    random: &mut Random,
    out: &mut String,
) -> (Source, i64) {
    out.clear();
    match random.below(100) {
        0..20 => (Source::Direct, 0),
        20..25 => {
            out.push_str(START_PAGE);
            (Source::Link, 0)
        }
        25..40 => {
            let engine = random.small(ENGINES.len() as u64);
            write!(
                out,
                "https://www.{}.example/search?where=everywhere&page=1&text=",
                ENGINES[engine as usize]
            )
            .expect("a String takes all");
            write!(out, "{:016x}", mix(seed, random.small(100_000))).expect("a String takes all");
            (Source::Search, engine as i64 + 1)
        }
        40..82 => {
            Page::popular(seed, here.counter, counter_rows, random).url(out);
            (Source::Internal, 0)
        }
        82..88 => {
            write!(
                out,
                "https://social{}.example/wall/community-of-friends/post-",
                random.small(6)
            )
            .expect("a String takes all");
            write!(out, "{}", random.below(1 << 32)).expect("a String takes all");
            (Source::Social, 0)
        }
        _ => {
            let other = random.small(COUNTERS as u64) as usize;
            Page::popular(seed, other, 400, random).url(out);
            (Source::Link, 0)
        }
    }
}

/// A search phrase of two to four words: of `phrases` phrases the first ones come most.
pub fn phrase(seed: u64, phrases: u64, random: &mut Random, out: &mut String) {
    out.clear();
    let bits = random.bits();
    let number = scale(scale(scale(bits, bits), bits), phrases);
    let mut random = Random::new(mix(seed ^ 0xf7a5e, number));
    for word in 0..2 + random.below(3) {
        if word > 0 {
            out.push(' ');
        }
        out.push_str(random.pick(&CYRILLIC));
    }
}

/// The hash stored beside a text.
pub fn hash(text: &str) -> i64 {
    xxh3_64(text.as_bytes()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        let (mut url, mut title) = (String::new(), String::new());
        for number in 0..20_000 {
            let page = Page::new(1, (number % 5_700) as usize, number * 99_991);
            page.url(&mut url);
            assert!((60..=100).contains(&url.len()), "{url}");
            page.title(&mut title);
            assert!(title.is_empty() || (60..=120).contains(&title.len()), "{title}");
        }
    }

    #[test]
    fn words_are_distinct() {
        for words in [&CYRILLIC[..], &LATIN, &SECTIONS, &SYLLABLES] {
            let mut sorted = words.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), words.len());
        }
        assert!(CYRILLIC.iter().all(|w| w.len() <= 20));
    }
}
