//! "Did you mean": the one known word that is closest to what was written.

use crate::diag::{Diagnostic, Span};

use super::grammar::KEYWORDS;

/// The closest of `known` to `word`, when one is close enough: at most a third of the letters differ. Never the word
/// itself.
pub fn closest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    near(word, known).into_iter().min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// The closest of `known` to `word` when no other is as close, so that it can be put in the place of the word.
pub fn certain<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut near = near(word, known);
    near.sort();
    near.dedup();
    match near.as_slice() {
        [(first, _), (second, _), ..] if first == second => None,
        [(_, only), ..] => Some(only),
        [] => None,
    }
}

/// The finding with the fix that writes the name that is certainly meant in the place of the literal.
pub fn in_place(found: Diagnostic, literal: Span, meant: Option<&str>) -> Diagnostic {
    // A name that would need quotes is left to the user.
    let bare = |name: &&str| {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        plain && name.starts_with(|c: char| c.is_ascii_alphabetic()) && !KEYWORDS.contains(name)
    };
    match meant.filter(bare) {
        Some(meant) => found.fix(format!("write {meant}"), literal, meant),
        None => found,
    }
}

/// The words that are close enough, with how many letters differ.
fn near<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<(usize, &'a str)> {
    let written = plain(word);
    known
        .into_iter()
        .filter(|candidate| *candidate != word)
        .map(|candidate| (strsim::damerau_levenshtein(&written, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= limit(word, candidate) && *distance < candidate.chars().count())
        .collect()
}

/// How many letters may differ. An area that both have in common (`script::`) says nothing about the rest.
fn limit(word: &str, candidate: &str) -> usize {
    let own = match word.split_once("::") {
        Some((area, name)) if candidate.split_once("::").is_some_and(|(other, _)| other == area) => name,
        _ => word,
    };
    (plain(own).chars().count() / 3).max(1)
}

/// The help for a word that is none of `known`: the closest, or all of them when they are few.
pub fn help<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(found) = closest(word, known.iter().copied()) {
        return Some(format!("did you mean `{found}`?"));
    }
    match known.as_slice() {
        [] => None,
        [only] => Some(format!("there is only `{only}`")),
        few if few.len() <= 6 => Some(format!("there are {}", list(few))),
        _ => None,
    }
}

/// Words in backticks with commas, and `and` before the last.
pub fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// A word without what people vary: case, underscores, capitals inside.
pub fn plain(word: &str) -> String {
    let mut out = String::with_capacity(word.len() + 2);
    let mut after_small = false;
    for c in word.chars() {
        if c.is_uppercase() && after_small {
            out.push('-');
        }
        after_small = c.is_lowercase();
        out.extend(if c == '_' { '-' } else { c }.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_hand_are_found() {
        let known = ["max-runspaces", "timeout", "bind", "lua", "in"];
        for (written, meant) in [
            ("maxRunspaces", Some("max-runspaces")),
            ("max_runspaces", Some("max-runspaces")),
            ("tiemout", Some("timeout")),
            ("bnd", Some("bind")),
            ("timeout", None),
            ("colour", None),
            ("x", None),
        ] {
            assert_eq!(closest(written, known), meant, "{written}");
        }
    }

    #[test]
    fn a_word_between_two_is_not_certain() {
        for (written, meant) in [("PUST", None), ("GTE", Some("GET")), ("zzzz", None), ("POSTT", Some("POST"))] {
            assert_eq!(certain(written, ["GET", "POST", "PUT", "GET"]), meant, "{written}");
        }
    }

    #[test]
    fn the_area_of_a_code_is_no_likeness() {
        let codes = ["script::outside", "value::type", "script::syntax"];
        assert_eq!(closest("script::nothing", codes), None);
        assert_eq!(closest("script::syntx", codes), Some("script::syntax"));
        assert_eq!(closest("scrip::syntax", codes), Some("script::syntax"));
    }

    #[test]
    fn few_words_are_listed() {
        assert_eq!(help("zzzz", ["a", "bcd"]).as_deref(), Some("there are `a` and `bcd`"));
        assert_eq!(help("zzzz", ["a"; 7]), None);
    }
}
