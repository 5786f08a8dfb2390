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
    // The structural pass has told of a name that none can have.
    if !is_name(&name) {
        return None;
    }
    if OWNED.contains(&name.as_str()) {
        let at = At { it: (), span: node.span() };
        let message = format!("the server itself writes `{name}`");
        node.bad(&at, Bad { message, label: "this header".into(), help: Some("remove it".into()), part: None });
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

fn is_name(name: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(token)
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
    fn names_are_tokens() {
        assert!(["", "a b", "a:", "é"].iter().all(|name| !is_name(name)));
        assert!(is_name("x-frame-options"));
    }
}
