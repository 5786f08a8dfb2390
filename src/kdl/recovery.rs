//! Reads on behind mistakes of syntax, so that the others of the chunk are told in the same run.
//!
//! Where the tokens show what was meant, a text without a value stands in its place. What cannot be told from the tokens
//! ends the chunk: nothing is said about what may only follow from it.

use crate::diag::Diagnostic;

use super::habits::{self, Meant, Shown};
use super::syntax;
use super::tree::{self, At, Broken, Node, Parsed};

/// What was read from a chunk in spite of its mistakes.
#[derive(Debug, Default)]
pub(super) struct Recovered {
    /// The mistakes of syntax; none when all is well.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The nodes, when they can be told.
    pub(super) nodes: Vec<Node>,
    /// Where something stands that could not be read, in the order of the text.
    pub(super) unread: Vec<At>,
}

/// Makes the best of what was parsed.
pub(super) fn read(chunk: &str, parsed: Parsed) -> Recovered {
    let mut recovered = Recovered::default();
    let Some(at) = recovered.take(chunk, parsed) else { return recovered };
    let Shown { told, meant } = habits::shown(chunk);
    if told.is_empty() {
        recovered.diagnostics.push(syntax::unreadable(chunk, at));
    } else if let Some(tokens) = meant {
        recovered.unread.extend(told.iter().filter_map(|told| match &told.meant {
            Meant::Value(at) => Some(At::from(at.clone())),
            Meant::Blank(_) | Meant::Unknown => None,
        }));
        recovered.take(chunk, tree::parse_tokens(chunk, &tokens));
    }
    recovered.diagnostics.extend(told.into_iter().map(|told| told.diagnostic));
    recovered
}

impl Recovered {
    /// Takes the nodes, and tells the texts that have no value. Gives the place where the grammar was broken.
    fn take(&mut self, chunk: &str, parsed: Parsed) -> Option<usize> {
        self.nodes = parsed.nodes;
        let mut stopped = None;
        for broken in parsed.broken {
            match broken {
                Broken::Text(literal, fault) => {
                    self.diagnostics.push(syntax::of_fault(literal.start, &fault));
                    self.unread.push(literal.into());
                }
                Broken::TooBig => self.diagnostics.push(syntax::node_too_big(chunk)),
                Broken::Grammar(at) => stopped = Some(at),
            }
        }
        self.unread.sort_unstable_by_key(|at| at.start);
        stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes of the mistakes, and the names of the nodes in the first block.
    fn recovered(chunk: &str) -> (Vec<&'static str>, Vec<String>) {
        let recovered = read(chunk, tree::parse(chunk));
        let codes = recovered.diagnostics.iter().map(|found| found.code.id).collect();
        let nodes = recovered.nodes.first().map(Node::nodes).unwrap_or_default();
        (codes, nodes.iter().map(|node| node.name.text.to_string()).collect())
    }

    #[test]
    fn the_rest_of_a_chunk_is_read() {
        for (chunk, codes, nodes) in [
            ("a { b /x/{id}; c 5s; d }", &["syntax::bare-path", "syntax::bare-unit"][..], &["b", "c", "d"][..]),
            ("a {\n# x } y\nb\n}", &["syntax::hash-comment"], &["b"]),
            (
                "a\n{\n b = true\n c r\"x\" #True\n}",
                &["syntax::brace-alone", "syntax::equals", "syntax::keyword", "syntax::v1-raw", "syntax::keyword"],
                &["b", "c"],
            ),
            (
                "a { b [x, y]; c 10.0.0.1 k=[z]; d }",
                &["syntax::brackets", "syntax::bare-unit", "syntax::brackets"],
                &["b", "c", "d"],
            ),
            ("a { b \"\\q\"; c \"\\w\"; d }", &["syntax::escape", "syntax::escape"], &["b", "c", "d"]),
            ("a { b /x; c say(\"hi\"); d /y }", &["syntax::bare-path", "syntax::other"], &[]),
            ("a { b \"say \"hi\" now\"; c /x }", &["syntax::no-space"], &[]),
            ("a { b 1;; c }", &["syntax::other"], &[]),
        ] {
            let (found, names) = recovered(chunk);
            assert_eq!(
                (found.as_slice(), names),
                (codes, nodes.iter().map(|node| (*node).to_owned()).collect()),
                "{chunk}"
            );
        }
    }

    #[test]
    fn many_mistakes_are_read_in_no_time() {
        let chunk = format!("a {{ {} }}", "b /x 5s; ".repeat(20_000));
        assert_eq!(read(&chunk, tree::parse(&chunk)).diagnostics.len(), 40_000);
    }
}
