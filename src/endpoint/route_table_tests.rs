//! Tests of the route table: the rules by example, then against a matcher that tries every pattern.

use proptest::prelude::*;

use super::*;

fn table(routes: &[(&str, &str)]) -> RouteTable<String> {
    RouteTable::build(routes.iter().map(|(methods, path)| {
        let methods = methods.split(' ').map(Arc::from).collect();
        (Pattern::parse(path).unwrap(), methods, (*path).to_owned())
    }))
}

/// What was found, as one line.
fn show(found: Found<'_, String>) -> String {
    match found {
        Found::Entry(entry, params) => {
            let params: Vec<String> = params.iter().map(|(name, value)| format!(" {name}={value}")).collect();
            format!("{entry}{}", params.concat())
        }
        Found::Method(allow) => format!("405 {allow}"),
        Found::Malformed => "400".to_owned(),
        Found::Nothing => "404".to_owned(),
    }
}

#[test]
fn the_most_specific_wins_whatever_the_order() {
    let mut routes = vec![("GET", "/changes/{*rest}"), ("GET", "/changes/{id}"), ("GET", "/changes/evaluate")];
    for _ in 0..2 {
        let table = table(&routes);
        assert_eq!(show(table.find("GET", "/changes/evaluate")), "/changes/evaluate");
        assert_eq!(show(table.find("GET", "/changes/7")), "/changes/{id} id=7");
        assert_eq!(show(table.find("GET", "/changes/7/x")), "/changes/{*rest} rest=7/x");
        assert_eq!(show(table.find("GET", "/changes/evaluate/x")), "/changes/{*rest} rest=evaluate/x");
        routes.reverse();
    }
}

#[test]
fn a_specific_beginning_that_leads_nowhere_is_left_again() {
    let table = table(&[("GET", "/a/{x}/c"), ("GET", "/a/b/{y}"), ("GET", "/{*rest}"), ("GET", "/a/b/c/d")]);
    assert_eq!(show(table.find("GET", "/a/b/c")), "/a/b/{y} y=c");
    assert_eq!(show(table.find("GET", "/a/z/c")), "/a/{x}/c x=z");
    assert_eq!(show(table.find("GET", "/a/z/d")), "/{*rest} rest=a/z/d");
    assert_eq!(show(table.find("GET", "/a/b/c/e")), "/{*rest} rest=a/b/c/e");
    assert_eq!(show(table.find("GET", "/a/b")), "/{*rest} rest=a/b");
}

#[test]
fn methods() {
    let table = table(&[
        ("GET", "/page"),
        ("POST PUT", "/post"),
        ("ANY", "/any"),
        ("GET", "/any"),
        ("POST", "/n/all"),
        ("GET", "/n/{id}"),
    ]);
    assert_eq!(show(table.find("HEAD", "/page")), "/page");
    assert_eq!(show(table.find("POST", "/page")), "405 GET, HEAD, OPTIONS");
    assert_eq!(show(table.find("OPTIONS", "/page")), "405 GET, HEAD, OPTIONS");
    assert_eq!(show(table.find("HEAD", "/post")), "405 POST, PUT, OPTIONS");
    assert_eq!(show(table.find("BREW", "/any")), "/any");
    assert_eq!(show(table.find("GET", "/n/all")), "/n/{id} id=all");
    assert_eq!(show(table.find("POST", "/n/all")), "/n/all");
    assert_eq!(show(table.find("PUT", "/n/all")), "405 GET, HEAD, POST, OPTIONS");
    assert_eq!(show(table.find("PUT", "/n/7")), "405 GET, HEAD, OPTIONS");
}

#[test]
fn the_first_of_two_of_one_shape_stays() {
    let table = table(&[("GET", "/u/{id}"), ("GET POST", "/u/{name}")]);
    assert_eq!(show(table.find("GET", "/u/7")), "/u/{id} id=7");
    assert_eq!(show(table.find("POST", "/u/7")), "/u/{name} name=7");
}

#[test]
fn one_decode_after_routing() {
    let table =
        table(&[("GET", "/u/{id}"), ("GET", "/a b/c"), ("GET", "/f/{*rest}"), ("GET", "/x%2Fy"), ("GET", "/50%25")]);
    assert_eq!(show(table.find("GET", "/%75/7")), "/u/{id} id=7");
    assert_eq!(show(table.find("GET", "/a%20%62/c")), "/a b/c");
    assert_eq!(show(table.find("GET", "/u/a%2Fb")), "/u/{id} id=a/b");
    assert_eq!(show(table.find("GET", "/u/%2541")), "/u/{id} id=%41");
    assert_eq!(show(table.find("GET", "/u/%C3%A4")), "/u/{id} id=ä");
    assert_eq!(show(table.find("GET", "/u%2F7")), "404");
    assert_eq!(show(table.find("GET", "/f/a/b%2Fc")), "/f/{*rest} rest=a/b/c");
    assert_eq!(show(table.find("GET", "/x%2fy")), "/x%2Fy");
    assert_eq!(show(table.find("GET", "/x/y")), "404");
    assert_eq!(show(table.find("GET", "/50%25")), "/50%25");
    for broken in ["/u/%", "/u/%4", "/u/%zz", "/u/%FF", "/u/%00", "/u/%0a", "/%7f"] {
        assert_eq!(show(table.find("GET", broken)), "400", "{broken}");
    }
}

#[test]
fn slashes_count() {
    let table = table(&[("GET", "/"), ("GET", "/a/b"), ("GET", "/u/{id}"), ("GET", "/dir/"), ("GET", "/f/{*rest}")]);
    assert_eq!(show(table.find("GET", "/")), "/");
    assert_eq!(show(table.find("GET", "/dir/")), "/dir/");
    assert_eq!(show(table.find("GET", "/f/a/")), "/f/{*rest} rest=a/");
    for path in ["/a/b/", "//a/b", "/a//b", "/u/", "/u//7", "/u/7/", "/u", "/dir", "/f", "/f/", "//", "", "*", "/A/b"] {
        assert_eq!(show(table.find("GET", path)), "404", "{path}");
    }
}

#[test]
fn reserved_paths_are_nobodys() {
    let table = table(&[("GET", "/{*rest}"), ("ANY", "/{a}/{b}"), ("GET", "/{a}")]);
    for path in ["/_moondock", "/_moondock/", "/_moondock/x", "/%5Fmoondock/x", "/%5f%6doondock", "/_moondoc%6B/a/b"] {
        assert_eq!(show(table.find("GET", path)), "404", "{path}");
        assert_eq!(show(table.find("OPTIONS", path)), "404", "{path}");
    }
    for path in ["/_moondocks", "/_Moondock/x", "/a/_moondock", "/_moondock%2Fx"] {
        assert_ne!(show(table.find("GET", path)), "404", "{path}");
    }
}

/// What the patterns say about a path, by trying each of them.
fn naive(routes: &[Pattern], path: &str) -> Option<usize> {
    let pieces: Vec<&str> = path[1..].split('/').collect();
    let mut best: Option<(Vec<u8>, usize)> = None;
    for (index, pattern) in routes.iter().enumerate() {
        if let Some(score) = naive_match(pattern, &pieces)
            && best.as_ref().is_none_or(|(other, _)| score < *other)
        {
            best = Some((score, index));
        }
    }
    best.map(|(_, index)| index)
}

/// How unspecific each segment is, when all of them match.
fn naive_match(pattern: &Pattern, pieces: &[&str]) -> Option<Vec<u8>> {
    let mut score = Vec::new();
    for (at, segment) in pattern.segments.iter().enumerate() {
        let piece = pieces.get(at)?;
        match segment {
            Segment::Literal(text) if text == piece => score.push(0),
            Segment::Param(_) if !piece.is_empty() => score.push(1),
            Segment::Tail(_) if !pieces[at..].join("/").is_empty() => {
                score.push(2);
                return Some(score);
            }
            _ => return None,
        }
    }
    (pattern.segments.len() == pieces.len()).then_some(score)
}

/// Patterns over a small alphabet, so that many of them meet.
fn any_pattern() -> impl Strategy<Value = String> {
    let segment = prop_oneof![3 => Just("a"), 3 => Just("b"), 1 => Just("c"), 4 => Just("{}")];
    (prop::collection::vec(segment, 0..5), prop_oneof![3 => Just(""), 1 => Just("{*}"), 1 => Just("/")]).prop_map(
        |(segments, end)| {
            let mut text = String::new();
            for (at, segment) in segments.iter().enumerate() {
                text.push('/');
                text.push_str(&segment.replace("{}", &format!("{{p{at}}}")));
            }
            match end {
                "{*}" => text + "/{*rest}",
                "/" => text + "/",
                _ if text.is_empty() => "/".to_owned(),
                _ => text,
            }
        },
    )
}

fn any_path() -> impl Strategy<Value = String> {
    let segment = prop_oneof![4 => Just("a"), 4 => Just("b"), 2 => Just("c"), 1 => Just("d"), 1 => Just("")];
    prop::collection::vec(segment, 1..6).prop_map(|segments| format!("/{}", segments.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_trying_every_pattern(patterns in prop::collection::vec(any_pattern(), 1..12), paths in prop::collection::vec(any_path(), 1..20)) {
        let routes: Vec<Pattern> = patterns.iter().map(|text| Pattern::parse(text).unwrap()).collect();
        let table = RouteTable::build(routes.iter().enumerate().map(|(index, pattern)| (pattern.clone(), vec![Arc::from("GET")], index)));
        for path in &paths {
            let found = match table.find("GET", path) {
                Found::Entry(index, _) => Some(&routes[*index].text),
                _ => None,
            };
            let expected = naive(&routes, path).map(|index| &routes[index].text);
            prop_assert_eq!(found, expected, "{} in {:?}", path, patterns);
        }
    }

    #[test]
    fn no_path_harms(path in "\\PC{0,40}") {
        let table = table(&[("GET", "/a/{x}"), ("GET", "/{*rest}")]);
        table.find("GET", &path);
        table.find("GET", &format!("/{path}"));
    }
}
