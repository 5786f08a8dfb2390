//! Tests: no input overflows the stack (tests have a small one) or runs away.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::diag::{Diagnostics, FileId, Span};

use super::document::Parser;

/// Reads a text and looks at every place it is told.
fn read(parser: &mut Parser, text: &str) {
    let mut found = Diagnostics::default();
    parser.parse(FileId(0), text, &mut found);
    parser.prune();
    for diagnostic in found.iter() {
        let places = std::iter::once(&diagnostic.primary).chain(&diagnostic.related);
        for Span { start, end, .. } in places.map(|label| label.span) {
            assert!(start <= end && end as usize <= text.len(), "{diagnostic:?}");
            assert!(text.is_char_boundary(start as usize) && text.is_char_boundary(end as usize), "{diagnostic:?}");
        }
    }
}

#[test]
fn known_attacks_are_refused_or_read() {
    let attacks: &[(&str, &str, usize, &str)] = &[
        ("", "a{", 100_000, ""),
        ("", "a /-{ ", 100_000, ""),
        ("", "/- ", 100_000, ""),
        ("", "/*", 100_000, ""),
        ("node ", "/-1 ", 20_000, ""),
        ("node {", "/-a;", 20_000, "}"),
        ("node ", "/-{ } ", 5_000, ""),
        ("node {", "a /-{ b /-{ c /-{ d /-{ e; } } } };", 200, "}"),
        ("node {", "a /-{ b /-{ c /-{ d /-{ e = ; } } } };", 200, "}"),
        ("node {", "/- /- /- /- a;", 2_000, "}"),
        ("node ", "/- /- /- /- a ", 2_000, ""),
        ("n ", "= ", 100_000, ""),
        ("n ", "(", 100_000, ""),
        ("n ", "(a)", 100_000, ""),
        ("n ", "\\\n", 100_000, ""),
        ("n ", "\\", 100_000, ""),
        ("n {", "a = b\n", 20_000, "}"),
        ("", "\"", 100_001, ""),
        ("", "#", 100_001, ""),
        ("n ", "#\"", 50_001, ""),
        ("n ", "[", 100_000, ""),
        ("n ", "true ", 20_000, ""),
        ("", "}", 50_000, ""),
        ("", "server {\n", 20_000, ""),
        ("", "server #\"\"\"\n", 20_000, ""),
        ("", "server {\n}\nendpoint {\n", 10_000, ""),
        ("n ", "a ", 600_000, ""),
        ("server {", "abcdefghij 1;", 1_000, "}"),
        ("server {", "workers 1;", 20_000, "}"),
    ];
    let mut parser = Parser::default();
    for (before, piece, times, after) in attacks {
        read(&mut parser, &format!("{before}{}{after}", piece.repeat(*times)));
    }
    let nested = format!("{} = = {}", "a {".repeat(30), "}".repeat(30));
    read(&mut parser, &format!("x {{ {} }}", nested.repeat(50)));
}

fn piece() -> impl Strategy<Value = String> {
    let pieces = vec![
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "=",
        ";",
        "\\",
        "/",
        "-",
        "*",
        "#",
        "\"",
        "\"\"\"",
        "\n",
        "\r",
        " ",
        "\t",
        "/-",
        "/*",
        "*/",
        "//",
        "a",
        "1",
        "é",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{7f}",
        "\u{202e}",
        "\\u{",
        "}\"",
        "#\"\"\"\n",
        "\n\"\"\"#",
        "true",
        "server",
        "endpoint",
        "variables",
        "GET",
        "\"/x\"",
        "lua",
        "timeout",
        "5s",
        "(env)",
        "default=",
        "🚀",
    ];
    (prop::sample::select(pieces), 1_usize..40, any::<bool>())
        .prop_map(|(piece, times, many)| if many { piece.repeat(times) } else { piece.to_owned() })
}

#[test]
fn whatever_comes_is_read_or_told() {
    let config = ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() };
    let parser = RefCell::new(Parser::default());
    TestRunner::new(config)
        .run(&prop::collection::vec(piece(), 0..40), |pieces| {
            read(&mut parser.borrow_mut(), &pieces.concat());
            Ok(())
        })
        .expect("no input is misread");
}
