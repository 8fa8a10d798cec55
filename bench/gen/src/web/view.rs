//! What a view is made of, before it is written by columns.

use crate::encoder::Encoder;
use crate::random::{Random, mix};
use crate::web::Web;
use crate::web::layout::{FIRST_DAY, Layout, Place};
use crate::web::page::{self, Page, Source};
use crate::web::visitor::Visitor;
use crate::web::words::ENGINES;

/// One view; texts are reused from row to row.
#[derive(Debug)]
pub struct View {
    pub view_id: i64,
    pub date: i64,
    /// Seconds since 1970-01-01.
    pub time: i64,
    pub counter_id: i64,
    /// How many views of its session come before.
    pub step: i64,
    pub page: Page,
    pub url: String,
    pub title: String,
    pub referer: String,
    pub phrase: String,
    pub source: Source,
    pub search_engine: i64,
    /// Draws for the small columns.
    pub random: Random,
}

/// Follows the file's order and keeps the place and the visitor.
#[derive(Debug)]
pub struct Cursor<'a> {
    web: &'a Web,
    place: Option<Place>,
    session: Option<(u64, Visitor)>,
    view: View,
}

impl<'a> Cursor<'a> {
    /// At no row.
    pub fn new(web: &'a Web) -> Self {
        let view = View {
            view_id: 0,
            date: 0,
            time: 0,
            counter_id: 0,
            step: 0,
            page: Page::popular(0, 0, 0, &mut Random::new(0)),
            url: String::new(),
            title: String::new(),
            referer: String::new(),
            phrase: String::new(),
            source: Source::Direct,
            search_engine: 0,
            random: Random::new(0),
        };
        Self { web, place: None, session: None, view }
    }

    /// The view and the visitor of a row.
    pub fn at(&mut self, row: u64) -> (&mut View, &Visitor) {
        let Web { seed, layout, visitors, rows, unique, .. } = self.web;
        let place = match self.place {
            Some(place) if (place.first..place.end).contains(&row) => place,
            _ => layout.place(row),
        };
        self.place = Some(place);
        let first = layout.session(&place, row);
        if self.session.as_ref().is_none_or(|(at, _)| *at != first) {
            self.session = Some((first, visitors.at(&place, first)));
        }
        let visitor = &self.session.as_ref().expect("set above").1;
        let view = &mut self.view;
        let mut random = Random::new(mix(*seed, row));
        view.view_id = (random.bits() >> 1) as i64;
        view.date = FIRST_DAY + place.day as i64;
        view.step = (row - first) as i64;
        let pause = (row - first) * visitor.pace + random.below(visitor.pace.min(row - first + 1));
        view.time = view.date * 86_400 + (visitor.start + pause).min(86_399) as i64;
        view.counter_id = Layout::id(place.counter);
        view.page = Page::viewed(*seed, &place, row, *unique, &mut random);
        view.page.url(&mut view.url);
        view.page.title(&mut view.title);
        (view.source, view.search_engine) =
            page::referer(view.page, *seed, place.counter_rows, &mut random, &mut view.referer);
        // One row in eight has a phrase: 15 % come from a search engine, 60 % of them tell it.
        view.phrase.clear();
        let told = if view.source == Source::Search { 600 } else { 41 };
        if random.below(1000) < told {
            page::phrase(*seed, rows / 12 + 100, &mut random, &mut view.phrase);
            if view.search_engine == 0 {
                view.search_engine = random.small(ENGINES.len() as u64) as i64 + 1;
            }
        }
        view.random = random;
        (view, visitor)
    }
}

impl View {
    /// Appends a text that is empty but once in `n` rows: `prefix` and a number below `most`.
    pub fn rare_text(&mut self, n: u64, prefix: &str, most: u64, out: &mut Encoder) {
        match self.random.sparse(n, most) {
            0 => out.text(""),
            number => out.text(&format!("{prefix}{number}")),
        }
    }
}
