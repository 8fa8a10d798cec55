//! Nanoseconds a row of regular expressions over addresses of web pages: `cargo run --release --example
//! regexp_throughput`. Time is that of the processor.

use std::sync::Arc;

use arrow_buffer::Buffer;
use columnar_exec::expr::{RegexpOptions, RegexpPattern, RegexpReplacer};
use columnar_exec::{Batch, Column, ColumnSource, Context, Data, ExecError, Expr, Span, Strings};

const ROWS: usize = 16_384;
const ROUNDS: usize = 100;

const REPLACEMENTS: [(&str, &str, bool); 6] = [
    (r"^https?://(?:www\.)?([^/]+)/.*$", r"\1", false),
    (r"^(https?)://(www\.)?([^/:]+)(:[0-9]+)?(/.*)?$", r"\3", false),
    (r"\?.*$", "", false),
    (r"[0-9]+", "#", true),
    (r"[^a-z]+", " ", true),
    (r"/([^/]*)$", r"[\1]", false),
];
const TESTS: [&str; 5] = [
    r"^https?://(www\.)?shop",
    r"page=[0-9]+",
    r"post-[0-9]+7$",
    r"(search|wall)/.*[0-9]{5}",
    r"[.]example/[a-z]+/[a-z]+-[a-z]+/",
];

/// Nanoseconds that this thread has run.
fn now() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("this is Linux");
    stat.split_whitespace().next().and_then(|time| time.parse().ok()).expect("a time comes first")
}

struct Addresses(Column);

impl ColumnSource for Addresses {
    fn load(&self, _: usize) -> Result<Column, ExecError> {
        Ok(self.0.clone())
    }
}

/// A fifth are empty, the others of 50 to 100 bytes.
fn addresses() -> Addresses {
    let (mut data, mut spans) = (Vec::new(), Vec::new());
    let mut state = 7u64;
    for _ in 0..ROWS {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = state >> 33;
        let start = data.len();
        let address = match number % 5 {
            0 => String::new(),
            1 => format!(
                "https://www.finder{}.example/search?where=everywhere&page=1&text={state:016x}",
                number % 7
            ),
            2 => format!(
                "https://social{}.example/wall/community-of-friends/post-{number}",
                number % 6
            ),
            3 => format!(
                "http://shop{}.example/catalogue/winter-shoes/item-{number}.html?from=front-page",
                number % 900
            ),
            _ => format!(
                "https://www.news{}.example/politics/local-affairs/{number}/the-story-so-far",
                number % 90
            ),
        };
        data.extend_from_slice(address.as_bytes());
        spans.push(Span { start: start as u32, len: (data.len() - start) as u32 });
    }
    let strings = Strings { spans: Arc::new(spans), data: Buffer::from_vec(data) };
    Addresses(Column::new(Data::Bytes(strings), ROWS))
}

fn run(name: &str, expr: &Expr, source: &Addresses) {
    let mut context = Context::default();
    let start = now();
    for _ in 0..ROUNDS {
        let result = expr.evaluate(&mut Batch::new(source, 1, ROWS, None), &mut context);
        assert_eq!(result.expect("nothing fails here").len, ROWS);
    }
    println!("{:8.1} ns  {name}", (now() - start) as f64 / (ROWS * ROUNDS) as f64);
}

fn main() {
    let source = addresses();
    let options = RegexpOptions { fold_case: false, utf8: true, c_ctype: true };
    let arg = || Box::new(Expr::Column(0));
    for (pattern, replacement, all) in REPLACEMENTS {
        let start = now();
        let compile =
            || RegexpReplacer::new(pattern.as_bytes(), replacement.as_bytes(), all, &options);
        for _ in 1..ROUNDS {
            assert!(compile().is_ok());
        }
        let replacer = Arc::new(compile().expect("a pattern of the subset"));
        let compiled = (now() - start) / ROUNDS as u64;
        run(pattern, &Expr::RegexpReplace { arg: arg(), replacer }, &source);
        println!("             compiled in {} us", compiled / 1000);
    }
    for pattern in TESTS {
        let compiled = RegexpPattern::new(pattern.as_bytes(), &options);
        let pattern_of = Arc::new(compiled.expect("a pattern of the subset"));
        run(
            pattern,
            &Expr::RegexpMatch { arg: arg(), pattern: pattern_of, negated: false },
            &source,
        );
    }
}
