use super::*;
use crate::expr::LikePattern;

fn matches(text: &str, pattern: &str) -> bool {
    let pattern = LikePattern::new(pattern.as_bytes(), Some(b'\\'), false, true).unwrap();
    pattern.matches(text.as_bytes(), &mut Vec::new()).unwrap()
}

#[test]
fn every_shape_of_pattern() {
    let cases = [
        ("", "", true),
        ("", "%", true),
        ("", "_", false),
        ("", "%%", true),
        ("a", "", false),
        ("abc", "abc", true),
        ("abc", "ab", false),
        ("abc", "ab%", true),
        ("abc", "%bc", true),
        ("abc", "%b%", true),
        ("abc", "%d%", false),
        ("abc", "a%c", true),
        ("ac", "a%c", true),
        ("aba", "ab%ba", false),
        ("abba", "ab%ba", true),
        ("abc", "a_c", true),
        ("abc", "___", true),
        ("abc", "____", false),
        ("abc", "_%_%_", true),
        ("abc", "_%_%_%_", false),
        ("aXbXc", "%X%X%", true),
        ("aXbc", "%X%X%", false),
        ("mississippi", "m%iss%ppi", true),
        ("mississippi", "m%iss%iss%iss%", false),
        ("mississippi", "%s_s%", true),
        ("mississippi", "%_pp_", true),
        ("a%c", "a\\%c", true),
        ("abc", "a\\%c", false),
        ("a_c", "%\\_%", true),
        ("abc", "%\\_%", false),
        ("a\\c", "a\\\\c", true),
        ("äöü", "_ö_", true),
        ("äöü", "___", true),
        ("äöü", "__", false),
        ("äöü", "%_", true),
        ("äöü", "ä%ü", true),
        ("日本語", "%本_", true),
        ("日本語", "_本%", true),
        ("日本語", "%語_", false),
    ];
    for (text, pattern, expected) in cases {
        assert_eq!(matches(text, pattern), expected, "{text} LIKE {pattern}");
    }
}

#[test]
fn escape_characters_and_bytes() {
    let exclaim = LikePattern::new(b"a!%\\", Some(b'!'), false, true).unwrap();
    assert!(exclaim.matches(b"a%\\", &mut Vec::new()).unwrap());
    let none = LikePattern::new(b"a\\%", None, false, true).unwrap();
    assert!(none.matches(b"a\\bc", &mut Vec::new()).unwrap());
    // In an encoding of single bytes a character is a byte.
    let bytes = LikePattern::new(b"__", Some(b'\\'), false, false).unwrap();
    assert!(bytes.matches("ä".as_bytes(), &mut Vec::new()).unwrap());
}

#[test]
fn letters_fold_in_ascii_alone() {
    let like = |text: &str, pattern: &str| {
        let pattern = LikePattern::new(pattern.as_bytes(), Some(b'\\'), true, true).unwrap();
        pattern.matches(text.as_bytes(), &mut Vec::new()).unwrap()
    };
    assert!(like("GOOGLE", "%oOg%"));
    assert!(like("google", "GOO%"));
    assert!(like("gOOgle", "g__GLE"));
    assert!(!like("Ä", "ä"));
}

#[test]
fn a_dangling_escape_fails_only_where_it_is_reached() {
    let pattern = LikePattern::new(b"ab\\", Some(b'\\'), false, true).unwrap();
    assert!(pattern.can_fail());
    let run = |pattern: &LikePattern, text: &str| pattern.matches(text.as_bytes(), &mut Vec::new());
    assert_eq!(run(&pattern, "xyz"), Ok(false));
    assert_eq!(run(&pattern, "ab"), Ok(false));
    assert_eq!(run(&pattern, ""), Ok(false));
    let error = sql_error(run(&pattern, "abc"));
    assert_eq!(error, ("22025", "LIKE pattern must not end with escape character".to_owned()));
    let behind = LikePattern::new(b"%a%\\", Some(b'\\'), false, true).unwrap();
    assert_eq!(run(&behind, "xyz"), Ok(false));
    assert!(run(&behind, "xay").is_err());
    assert_eq!(run(&behind, ""), Ok(false));
    // The text ends before the second % is looked at.
    assert_eq!(run(&behind, "xa"), Ok(false));
}

#[test]
fn a_search_of_the_buffer_sees_each_string_alone() {
    let like = |needle: &str, negated: bool, columns: &[Column]| {
        let pattern = LikePattern::new(needle.as_bytes(), Some(b'\\'), false, true).unwrap();
        eval(&Expr::Like { arg: column(0), pattern: pattern.into(), negated }, columns)
    };
    // "needle" across the border of two strings is in neither.
    let values = texts(&["xnee", "dle", "", "a needle", "needle", "needleneedle", "n"].map(Some));
    let found = [false, false, false, true, true, true, false].map(Some);
    assert_eq!(like("%needle%", false, std::slice::from_ref(&values)), Ok(some_bools(&found)));
    let found = found.map(|found| found.map(|found| !found));
    assert_eq!(like("%needle%", true, &[values]), Ok(some_bools(&found)));
    let overlapping = texts(&["a", "aa", "aaa", ""].map(Some));
    let found = [false, true, true, false].map(Some);
    assert_eq!(like("%aa%", false, &[overlapping]), Ok(some_bools(&found)));
    let with_null = texts(&[Some("aa"), None, Some("b")]);
    let found = [Some(true), None, Some(false)];
    assert_eq!(like("%aa%", false, &[with_null]), Ok(some_bools(&found)));
}

#[test]
fn prefixes_for_zone_maps() {
    let pattern = |pattern: &str, fold: bool| {
        LikePattern::new(pattern.as_bytes(), Some(b'\\'), fold, true).unwrap()
    };
    assert_eq!(pattern("ab%", false).prefix(), b"ab");
    assert!(pattern("ab%", false).is_prefix());
    assert_eq!(pattern("ab", false).prefix(), b"ab");
    assert!(pattern("ab", false).is_exact());
    assert_eq!(pattern("a\\%b_c%", false).prefix(), b"a%b");
    assert!(!pattern("a\\%b_c%", false).is_prefix());
    assert_eq!(pattern("%ab", false).prefix(), b"");
    assert_eq!(pattern("ab%", true).prefix(), b"");
}
