use proptest::prelude::*;

use super::*;

fn schema() -> Schema {
    Schema::of_site().unwrap()
}

/// Each node in its parents with what it is given.
fn shown(text: &str) -> Vec<String> {
    let outline = Outline::of(text, &schema());
    let part = |part: &Part| {
        let key = part.key.clone().map(|key| format!("{}=", value(text, &key))).unwrap_or_default();
        let note = part.note.clone().map(|note| format!("({})", &text[note])).unwrap_or_default();
        format!("{key}{note}{}", part.value.clone().map(|range| value(text, &range)).unwrap_or_default())
    };
    let line = |(index, item): (usize, &Item)| {
        let parent = item.parent.map(|parent| format!("{parent}/")).unwrap_or_default();
        let off = if item.is_off { "-" } else { "" };
        let parts: Vec<String> = outline.parts(index).iter().map(part).collect();
        format!("{parent}{off}{} {}", value(text, &item.name), parts.join(" ")).trim_end().to_owned()
    };
    outline.nodes().iter().enumerate().map(line).collect()
}

#[test]
fn nodes_have_their_parts_and_blocks() {
    assert_eq!(
        shown("a 1 \"x y\" k=(env)V { b; c \\\n 2 }; /- d { e }\nf /-{ g } // h\n\"i j\" key = v"),
        ["a 1 x y k=(env)V", "0/b", "0/c 2", "-d", "3/-e", "f", "-", "6/-g", "i j key=v"]
    );
}

#[test]
fn what_is_half_typed_has_its_place() {
    assert_eq!(shown("a k="), ["a k="]);
    assert_eq!(shown("a (env"), ["a (env)"]);
    assert_eq!(shown("a (env)"), ["a (env)"]);
    assert_eq!(shown("a k=\"x"), ["a k=x"]);
    assert_eq!(shown("}} a { b"), ["a", "0/b"]);
    assert_eq!(shown("{ a }"), ["", "0/a"]);
    assert_eq!(shown("a #"), ["a #"]);
}

#[test]
fn a_block_left_open_ends_at_the_next_top_level_node() {
    assert_eq!(shown("endpoint {\n  lua\nserver {\n  bind\n}"), ["endpoint", "0/lua", "server", "2/bind"]);
    assert_eq!(shown("endpoint {\nlog off\n}\nserver"), ["endpoint", "0/log off", "server"]);
    assert_eq!(shown("endpoint {\n lua \"\"\"\n x\nserver {\n bind\n}")[2..], ["server", "2/bind"]);
    assert_eq!(shown("/* x\nserver a")[..], ["server a"]);
}

#[test]
fn the_end_says_what_goes_on() {
    let schema = schema();
    let end = |text: &str| Outline::of(text, &schema).end().clone();
    assert_eq!(end("a { b 1").node, Some(1));
    assert_eq!(end("a { b 1").block, Some(0));
    assert_eq!(end("a { b 1\n").node, None);
    assert_eq!(end("a { b }").node, None);
    assert!(end("a { b }").behind_block && !end("a { b }\n").behind_block);
    assert!(end("a (x").in_note);
    for (text, inside) in [
        ("a // b", Inside::Comment),
        ("a /* b", Inside::Comment),
        ("a /* b */", Inside::Nothing),
        ("a // b\n", Inside::Nothing),
        ("a \"b", Inside::Text),
        ("a \"b\"", Inside::Nothing),
        ("a #\"\"\"\nb", Inside::Lines),
    ] {
        assert_eq!(end(text).inside, inside, "{text}");
    }
}

#[test]
fn what_stands_before_a_place_is_seen_in_the_light_of_the_whole() {
    let text = "endpoint GET \"/\" {\n    lua #\"\"\"\nserver = 1\n    \"\"\"#\n    \n}\n";
    let at = text.rfind("\n}").unwrap();
    let before = Outline::before(text, at, &schema());
    assert_eq!(before.nodes().len(), 2, "{before:?}");
    assert_eq!(before.end().block, Some(0));
    let inside = Outline::before(text, text.find("= 1").unwrap(), &schema());
    assert_eq!(inside.end().inside, Inside::Lines);
}

#[test]
fn the_schema_is_followed_down() {
    let text = "environment a { queue 1 wait=\"2s\" }\nendpoint GET \"/\" { param x { one-of a } }\nnonsense { a }";
    let schema = schema();
    let specs = Outline::of(text, &schema).specs(text, &schema);
    let names: Vec<_> = specs.iter().map(|spec| spec.map(|spec| spec.name.as_str())).collect();
    let known = ["environment", "queue", "endpoint", "param", "one-of"].map(Some);
    assert_eq!(names[..5], known);
    assert_eq!(names[5..], [None, None]);
}

#[test]
fn nothing_is_too_deep() {
    let text = "a{".repeat(200_000);
    assert_eq!(Outline::of(&text, &schema()).nodes().len(), 200_000);
}

proptest! {
    #[test]
    fn every_text_has_an_outline(pieces in prop::collection::vec(prop_oneof![
        Just("server"), Just("\n"), Just(" "), Just("{"), Just("}"), Just("\""), Just("#\"\"\"\n"), Just("/*"), Just("//"),
        Just("="), Just("("), Just(")"), Just("ä🌙"), Just(";"), Just("\\"), Just("/-"), Just("\r"), Just("\0"), Just("#"),
    ], 0..40)) {
        let (text, schema) = (pieces.concat(), schema());
        for (at, _) in text.char_indices() {
            let outline = Outline::before(&text, at, &schema);
            prop_assert!(outline.nodes().iter().all(|item| item.extent.end <= at && item.name.end <= at));
            outline.specs(&text, &schema);
        }
    }
}
