use super::*;
use crate::expr::{RegexpOptions, RegexpPattern, RegexpRefusal, RegexpReplacer};

const C: RegexpOptions = RegexpOptions { fold_case: false, utf8: true, c_ctype: true };

fn replaced(pattern: &str, replacement: &str, all: bool, text: &str) -> String {
    let replacer = RegexpReplacer::new(pattern.as_bytes(), replacement.as_bytes(), all, &C);
    let mut out = Vec::new();
    replacer.unwrap().replace(text.as_bytes(), &mut out);
    String::from_utf8(out).unwrap()
}

fn replacer(pattern: &str, all: bool) -> Result<RegexpReplacer, RegexpRefusal> {
    RegexpReplacer::new(pattern.as_bytes(), b"<\\1>", all, &C)
}

fn matches(pattern: &str, text: &str) -> bool {
    RegexpPattern::new(pattern.as_bytes(), &C).unwrap().matches(text.as_bytes())
}

#[test]
fn hosts_of_addresses() {
    let host = |text: &str| replaced(r"^https?://(?:www\.)?([^/]+)/.*$", r"\1", false, text);
    assert_eq!(host("https://www.example.com/a/b?c"), "example.com");
    assert_eq!(host("http://example.com/"), "example.com");
    // Only without "www." there is a host.
    assert_eq!(host("http://www./x"), "www.");
    assert_eq!(host("http://www.пример.рф/x"), "пример.рф");
    assert_eq!(host("http://a.b/line\nnext"), "a.b");
    for text in ["", "http://example.com", "ftp://a/b", "xhttp://a/b", "http:///x"] {
        assert_eq!(host(text), text);
    }
}

#[test]
fn the_longest_match_not_the_first_way_to_one() {
    assert_eq!(replaced("a|ab", "x", false, "ab"), "x");
    assert_eq!(replaced("(a|ab)(c|bcd)?", "<\\1\\2>", false, "abcd"), "<abcd>");
    // What stands before the group is as long as may be.
    assert_eq!(replaced("a?(?:ab)?(b?)", "<\\1>", false, "ab"), "<>");
    assert_eq!(replaced("(a?)((?:ab)?)(b?)", "<\\1,\\2,\\3>", false, "ab"), "<a,,b>");
    // The last iteration's group.
    assert_eq!(replaced("(a|b)+", "<\\1>", false, "abab"), "<b>");
    assert_eq!(replaced("(a(b)?)+", "<\\1,\\2>", false, "aba"), "<a,>");
    // The first branch that matches what is cut for it.
    assert_eq!(replaced("(?:(a)|(.))$", "<\\1,\\2>", false, "a"), "<a,>");
    assert_eq!(replaced("(a)?b", "<\\1>", false, "b"), "<>");
}

#[test]
fn all_matches() {
    assert_eq!(replaced("a*", "x", true, "baac"), "xbxxcx");
    assert_eq!(replaced("", "-", true, "äb"), "-ä-b-");
    assert_eq!(replaced("[^a]", "x", true, "日a本"), "xax");
    assert_eq!(replaced("^a|b$", "x", true, "aabb"), "xabx");
    assert_eq!(replaced("é(.)", "\\1\\1", true, "éüéé"), "üüéé");
}

#[test]
fn replacements() {
    let with = |replacement: &str| replaced("b(c)", replacement, false, "abcd");
    assert_eq!(with("<\\&>"), "a<bc>d");
    assert_eq!(with("\\1\\2\\1"), "accd");
    assert_eq!(with("\\\\1"), "a\\1d");
    assert_eq!(with("\\x\\"), "a\\x\\d");
    assert_eq!(with(""), "ad");
}

#[test]
fn tests_of_texts() {
    assert!(matches("b+?", "abc"));
    assert!(!matches("^b", "abc"));
    assert!(matches("[[:digit:]-]{2}$", "a-1"));
    assert!(matches("^.$", "日"));
    assert!(!matches("^..$", "日"));
    assert!(matches("^[日é]+$", "é日"));
    assert!(!matches("^[日é]+$", "é本"));
    assert!(matches("a[]b]", "a]"));
    assert!(matches("a{,2}", "a{,2}"));
    let folded = RegexpOptions { fold_case: true, ..C };
    let pattern = RegexpPattern::new(b"^[^A-C]x\\.Y", &folded).unwrap();
    assert!(pattern.matches(b"dX.y"));
    assert!(!pattern.matches(b"bX.y"));
    // In an encoding of single bytes a character is a byte.
    let bytes = RegexpOptions { utf8: false, ..C };
    assert!(RegexpPattern::new(b"^.\xA4$", &bytes).unwrap().matches(b"\xC3\xA4"));
}

#[test]
fn strings_are_patterns_of_like() {
    let like = |pattern: &str, options: &RegexpOptions| {
        let pattern = RegexpPattern::new(pattern.as_bytes(), options).unwrap();
        pattern.like().map(|like| String::from_utf8(like.to_vec()).unwrap())
    };
    let text = |like: &str| Some(like.to_owned());
    assert_eq!(like("ab_c", &C), text("%ab\\_c%"));
    assert_eq!(like("^(?:a%)$", &C), text("a\\%"));
    assert_eq!(like("^é\\\\", &C), text("é\\\\%"));
    assert_eq!(like("ab?", &C), None);
    assert_eq!(like("[aA]b", &C), None);
    let folded = RegexpOptions { fold_case: true, ..C };
    assert_eq!(like("[aA]B1$", &folded), text("%ab1"));
}

#[test]
fn what_is_left_to_postgres() {
    for pattern in [
        "a**",
        "^*",
        "*a",
        "a|+",
        "(a",
        "a)",
        "[a",
        "a\\",
        "a{2,1}",
        "a{256}",
        "a{0}",
        "(?=a)",
        "(?i)a",
        "(?#x)",
        "***=a",
        "\\ya",
        "(a)\\1",
        "[[.a.]]",
        "[[=a=]]",
        "[[:cntrl:]]",
        "[[:<:]]a",
        "[b-a]",
        "[a-\\d]",
        "[а-я]",
        "[^я]",
        "\\x41",
        "[\\d-z]",
    ] {
        let refusal = RegexpPattern::new(pattern.as_bytes(), &C).unwrap_err();
        assert_eq!(refusal, RegexpRefusal::Syntax, "{pattern}");
    }
    let other = RegexpOptions { c_ctype: false, ..C };
    let of_locale = |pattern: &str, options: &RegexpOptions| {
        RegexpPattern::new(pattern.as_bytes(), options).map(|pattern| pattern.matches(b"a1"))
    };
    assert_eq!(of_locale("\\d", &other), Err(RegexpRefusal::Locale));
    assert_eq!(of_locale("[^[:alpha:]]", &other), Err(RegexpRefusal::Locale));
    assert_eq!(
        of_locale("a", &RegexpOptions { fold_case: true, ..other }),
        Err(RegexpRefusal::Locale)
    );
    assert_eq!(of_locale("[0-9]", &other), Ok(true));
    let refusal = |pattern: &str, all: bool| replacer(pattern, all).unwrap_err();
    assert_eq!(refusal("a+?", false), RegexpRefusal::NonGreedy);
    assert_eq!(refusal("(a)*", false), RegexpRefusal::Groups);
    assert!(replacer("(a)b*", false).is_ok());
    assert_eq!(refusal("(a|a.*b)", true), RegexpRefusal::LookAhead);
    assert!(replacer("(a|a.*b)", false).is_ok());
    assert_eq!(refusal("(.*a.{12})", false), RegexpRefusal::Size);
    assert_eq!(refusal("((a{99}){99}){99}", false), RegexpRefusal::Size);
    assert_eq!(refusal(&"(".repeat(60), false), RegexpRefusal::Size);
}

#[test]
fn time_is_linear() {
    // Each start of these is followed to the end in vain, or each cut is.
    let many = "a".repeat(200_000);
    assert_eq!(replaced("a*b", "x", false, &many), many);
    assert_eq!(replaced("a+b|c", "x", false, &format!("{many}c")), format!("{many}x"));
    let text = format!("x{many}");
    assert_eq!(replaced("^(.*)x(a*)$", "<\\1>", false, &text), "<>");
    assert_eq!(replaced("^(.*)x(a*)(a?)$", "<\\3>", false, &text), "<>");
    assert_eq!(replaced("[é]*b|c(é*)$", "<\\1>", false, "éééécéé"), "éééé<éé>");
    assert!(!matches("(a|aa)*b", &many));
}

#[test]
fn columns() {
    let replace = |pattern: &str, replacement: &str, column_of: Column| {
        let replacer = RegexpReplacer::new(pattern.as_bytes(), replacement.as_bytes(), false, &C);
        let replacer = Arc::new(replacer.unwrap());
        eval(&Expr::RegexpReplace { arg: column(0), replacer }, &[column_of])
    };
    let values = [Some("a/b"), None, Some(""), Some("c")];
    // As parts of the texts, and written anew.
    let cut = [Some("a"), None, Some(""), Some("c")];
    assert_eq!(replace("^([^/]*)/.*$", "\\1", texts(&values)), Ok(some_texts(&cut)));
    assert_eq!(replace("/.*", "", texts(&values)), Ok(some_texts(&cut)));
    let known = dictionary(&["a/b", "c"]);
    let coded = || codes(&known, &[Some(0), None, Some(1), Some(0)]);
    let cut = [Some("a"), None, Some("c"), Some("a")];
    assert_eq!(replace("^([^/]*)/.*$", "\\1", coded()), Ok(some_texts(&cut)));
    assert_eq!(replace("^([^/]*)/.*$", "\\2", coded()), {
        Ok(some_texts(&[Some(""), None, Some("c"), Some("")]))
    });
    let test = |negated: bool, column_of: Column| {
        let pattern = Arc::new(RegexpPattern::new(b"[/c]", &C).unwrap());
        eval(&Expr::RegexpMatch { arg: column(0), pattern, negated }, &[column_of])
    };
    let found = [Some(true), None, Some(false), Some(true)];
    assert_eq!(test(false, texts(&values)), Ok(some_bools(&found)));
    let found = found.map(|found| found.map(|found| !found));
    assert_eq!(test(true, texts(&values)), Ok(some_bools(&found)));
    assert_eq!(test(true, coded()), Ok(some_bools(&[Some(false), None, Some(false), Some(false)])));
}
