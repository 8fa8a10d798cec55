//! Compares regular expressions with a server's.
//!
//! ```text
//! regexp_difference generate SEED COUNT > cases      patterns of the subset with texts, each field in hexadecimal
//! (a server adds its results: see tests/regexp_reference.sql)
//! regexp_difference check < results                  prints what differs and fails if anything does
//! ```

use std::io::{BufRead, Write};

use columnar_exec::expr::{LikePattern, RegexpOptions, RegexpPattern, RegexpReplacer};

/// Numbers that look random and are the same for a seed (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

const ATOMS: [&str; 30] = [
    "a",
    "b",
    "c",
    "a",
    "b",
    "é",
    "/",
    "ab",
    ".",
    ".",
    "[ab]",
    "[^a]",
    "[^/]",
    "[a-c]",
    "[bé]",
    "\\w",
    "\\W",
    "\\d",
    "\\s",
    "[[:alpha:]]",
    "[^[:alpha:]b]",
    "\\.",
    "\\/",
    "[]a]",
    "[^]a-]",
    "[-b/]",
    "\\n",
    "A",
    "{",
    "[\\dA-B]",
];
const QUANTIFIERS: [&str; 18] =
    ["", "", "", "", "", "", "", "*", "+", "?", "*", "+", "?", "{2}", "{1,2}", "{0,2}", "*?", "??"];
const TEXTS: [&str; 16] =
    ["a", "b", "é", "ab", "/", "a", "b", "c", "A", "B", "1", " ", "\n", ".", "日", "_"];

fn pattern(dice: &mut Dice, depth: usize, out: &mut String) {
    let branches = if dice.below(5) == 0 { 2 } else { 1 };
    for branch in 0..branches {
        if branch > 0 {
            out.push('|');
        }
        if dice.below(8) == 0 {
            out.push('^');
        }
        for _ in 0..=dice.below(4) {
            if depth < 3 && dice.below(3) == 0 {
                out.push_str(dice.pick(&["(", "(", "(?:"]));
                pattern(dice, depth + 1, out);
                out.push(')');
            } else {
                let atom = dice.pick(&ATOMS);
                out.push_str(atom);
            }
            out.push_str(dice.pick(&QUANTIFIERS));
        }
        if dice.below(8) == 0 {
            out.push('$');
        }
    }
}

/// Patterns as they are written: an anchored chain of simple parts.
fn chain(dice: &mut Dice, out: &mut String) {
    out.push_str(dice.pick(&["^", "^", ""]));
    let plain = dice.below(6) == 0;
    for _ in 0..=dice.below(5) {
        let atom = dice.pick(&ATOMS);
        if plain {
            out.push_str(dice.pick(&["a", "b", "é", "_", "%", "\\\\", "/", "A"]));
            continue;
        }
        let quantifier = dice.pick(&QUANTIFIERS);
        match dice.below(5) {
            0 => out.push_str(&format!("(?:{atom}{})?", dice.pick(&ATOMS))),
            1 | 2 => out.push_str(&format!("({atom}{quantifier})")),
            _ => out.push_str(&format!("{atom}{quantifier}")),
        }
    }
    out.push_str(dice.pick(&["$", ".*$", ""]));
}

fn generate(seed: u64, count: usize) -> std::io::Result<()> {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let mut out = std::io::BufWriter::new(std::io::stdout());
    let mut left = count;
    while left > 0 {
        let mut source = String::new();
        if dice.below(2) == 0 {
            pattern(&mut dice, 0, &mut source);
        } else {
            chain(&mut dice, &mut source);
        }
        let replacement =
            dice.pick(&["\\1", "<\\1>", "[\\1|\\2|\\3]", "<\\&>", "x", "", "\\\\\\2\\", "\\3-\\x"]);
        let flags = dice.pick(&["", "", "g", "g", "i", "gi"]);
        let all = flags.contains('g');
        let options = options(flags.contains('i'));
        if RegexpReplacer::new(source.as_bytes(), replacement.as_bytes(), all, &options).is_err()
            && (dice.below(4) > 0 || RegexpPattern::new(source.as_bytes(), &options).is_err())
        {
            continue;
        }
        for _ in 0..8 {
            let mut text = String::new();
            // Long and monotonous ones are what the linear ways are for.
            let (length, letters) = if dice.below(5) == 0 { (120, 5) } else { (12, TEXTS.len()) };
            for _ in 0..dice.below(length) {
                text.push_str(dice.pick(&TEXTS[..letters]));
            }
            let fields = [source.as_str(), replacement, flags, &text].map(hex);
            writeln!(out, "{}", fields.join("\t"))?;
        }
        left -= 1;
    }
    out.flush()
}

fn options(fold_case: bool) -> RegexpOptions {
    RegexpOptions { fold_case, utf8: true, c_ctype: true }
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16);
    (0..text.len()).step_by(2).map(|at| digits(at).expect("hexadecimal")).collect()
}

/// Whether a text matches, by each way there is to find out.
fn tests(pattern: &[u8], options: &RegexpOptions, text: &[u8]) -> Vec<bool> {
    let Ok(test) = RegexpPattern::new(pattern, options) else { return Vec::new() };
    let like = test.like().map(|like| {
        let like = LikePattern::new(like, Some(b'\\'), options.fold_case, true);
        like.and_then(|like| like.matches(text, &mut Vec::new())).expect("the pattern is complete")
    });
    std::iter::once(test.matches(text)).chain(like).collect()
}

fn check() -> std::io::Result<bool> {
    let (mut cases, mut wrong) = (0, 0);
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let fields: Vec<&str> = line.split('\t').collect();
        let [pattern, replacement, flags, text, expected, matched] = fields[..] else {
            panic!("{line:?} has not six fields");
        };
        let [pattern, replacement, flags, text, expected] =
            [pattern, replacement, flags, text, expected].map(unhex);
        let options = options(flags.contains(&b'i'));
        let all = flags.contains(&b'g');
        let mut found = Vec::new();
        match RegexpReplacer::new(&pattern, &replacement, all, &options) {
            Ok(replacer) => replacer.replace(&text, &mut found),
            // A pattern for tests alone.
            Err(_) => found.clone_from(&expected),
        }
        let test = tests(&pattern, &options, &text);
        cases += 1;
        if found != expected || test.iter().any(|test| *test != (matched == "t")) {
            wrong += 1;
            let [pattern, replacement, flags, text, expected, found] =
                [&pattern, &replacement, &flags, &text, &expected, &found]
                    .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            println!("{pattern:?} {replacement:?} {flags:?} on {text:?}");
            println!("  expected {expected:?} {matched}, found {found:?} {test:?}");
        }
    }
    println!("{cases} cases, {wrong} wrong");
    Ok(wrong == 0)
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["generate", seed, count] => {
            let number = |text: &str| text.parse::<u64>().expect("a number");
            generate(number(seed), number(count) as usize)
        }
        ["check"] if check()? => Ok(()),
        ["check"] => std::process::exit(1),
        _ => panic!("generate SEED COUNT, or check"),
    }
}
