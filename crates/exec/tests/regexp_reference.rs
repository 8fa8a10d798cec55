//! Regular expressions against a server's results: each line of the file is a pattern, a replacement, flags, a text, what
//! regexp_replace() made of it and whether it matched. Strings are in hexadecimal. How the file is made:
//! regexp_reference.sql.

use columnar_exec::expr::{LikePattern, RegexpOptions, RegexpPattern, RegexpReplacer};

fn unhex(text: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(digits).collect()
}

#[test]
fn results_of_a_server() {
    let (mut cases, mut replaced) = (0, 0);
    for line in include_str!("regexp_reference.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [strings @ .., matched] = fields.as_slice() else { panic!("{line} is empty") };
        let strings: Vec<Vec<u8>> = strings.iter().map(|field| unhex(field)).collect();
        let [pattern, replacement, flags, text, expected] = strings.as_slice() else {
            panic!("{line} has other fields");
        };
        let shown = || {
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            format!("{:?} in {:?}", show(pattern), show(text))
        };
        let fold_case = flags.contains(&b'i');
        let options = RegexpOptions { fold_case, utf8: true, c_ctype: true };
        let all = flags.contains(&b'g');
        if let Ok(replacer) = RegexpReplacer::new(pattern, replacement, all, &options) {
            let mut found = Vec::new();
            replacer.replace(text, &mut found);
            assert_eq!(&found, expected, "{}", shown());
            replaced += 1;
        }
        let test = RegexpPattern::new(pattern, &options).unwrap();
        assert_eq!(test.matches(text), *matched == "t", "{}", shown());
        if let Some(like) = test.like() {
            let like = LikePattern::new(like, Some(b'\\'), fold_case, true).unwrap();
            assert_eq!(like.matches(text, &mut Vec::new()), Ok(*matched == "t"), "{}", shown());
        }
        cases += 1;
    }
    assert!(cases >= 800 && replaced >= 600, "only {cases} cases, of them {replaced} replacements");
}
