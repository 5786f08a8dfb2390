//! `headers { X-Frame-Options DENY }`: headers added to answers unless the handler set them.

use crate::kdl::reader::Reader;
use crate::kdl::scalar::{At, Bad};

/// Headers that the server writes itself; a site that sets them would break the framing of answers.
const OWNED: &[&str] = &["content-length", "transfer-encoding", "connection", "date", "upgrade", "keep-alive"];

/// Reads the `headers` children of a node; names in lower case.
pub fn decode(reader: &Reader<'_>) -> Vec<(String, String)> {
    let blocks = reader.each("headers");
    let nodes = blocks.iter().flat_map(Reader::children);
    nodes.filter_map(|node| decode_one(&node)).collect()
}

fn decode_one(node: &Reader<'_>) -> Option<(String, String)> {
    let value = node.arg::<String>(0)?;
    let name = node.name().to_ascii_lowercase();
    if let Some(message) = name_fault(&name) {
        let at = At { it: (), span: node.span() };
        node.bad(&at, Bad { message, label: "this header".into(), help: None, part: None });
        return None;
    }
    if let Some(part) = value.it.char_indices().find(|(_, char)| char.is_control() && *char != '\t') {
        let bad = Bad {
            message: format!("a header's value cannot hold {:?}", part.1),
            label: "here".into(),
            help: Some("write one line of plain text".into()),
            part: Some(part.0..part.0 + part.1.len_utf8()),
        };
        node.bad(&value, bad);
        return None;
    }
    Some((name, value.it))
}

fn name_fault(name: &str) -> Option<String> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(token) {
        return Some(format!("`{name}` is not the name of a header"));
    }
    OWNED.contains(&name).then(|| format!("the server itself writes `{name}`"))
}

/// Puts `more` below `own`: a name that `own` has already is left out.
pub fn inherit(own: &mut Vec<(String, String)>, more: &[(String, String)]) {
    let missing = |(name, _): &&(String, String)| !own.iter().any(|(present, _)| present == name);
    let additions: Vec<_> = more.iter().filter(missing).cloned().collect();
    own.extend(additions);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_header_wins() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut own = vec![pair("a", "own")];
        inherit(&mut own, &[pair("a", "group"), pair("b", "group")]);
        assert_eq!(own, [pair("a", "own"), pair("b", "group")]);
    }

    #[test]
    fn names_are_tokens_and_never_those_of_the_framing() {
        let bad = ["", "a b", "a:", "content-length", "é"];
        assert!(bad.iter().all(|name| name_fault(name).is_some()));
        assert_eq!(name_fault("x-frame-options"), None);
    }
}
