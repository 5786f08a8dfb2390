//! Where a cursor stands: what can be written there, told from what stands before it.

use std::ops::Range;

use crate::kdl::outline::{Inside, Outline, Part, literal_at};
use crate::kdl::schema::{NodeSpec, Schema};

/// What can be written at a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// Nothing that is known: inside a comment or script, behind a block.
    Nothing,
    /// The name of a node.
    Node,
    /// An argument of the node at this position, or the key of a property.
    Entry { node: usize, position: usize },
    /// The value of the last part of the node.
    Value { node: usize },
    /// The name of an annotation.
    Note,
}

/// A cursor in a text.
pub(super) struct Spot<'s> {
    /// The outline of what stands before it.
    pub(super) outline: Outline,
    /// What the schema says of its nodes.
    pub(super) specs: Vec<Option<&'s NodeSpec>>,
    /// What can be written.
    pub(super) want: Want,
    /// What is half written already, and is replaced; a text in quotes with all of it.
    pub(super) half: Range<usize>,
    /// Whether that begins with a quote.
    pub(super) is_quoted: bool,
}

impl<'s> Spot<'s> {
    /// The cursor before a byte of a text.
    pub(super) fn of(text: &str, offset: usize, schema: &'s Schema) -> Self {
        let outline = Outline::before(text, offset, schema);
        let specs = outline.specs(text, schema);
        let (want, start) = want(&outline, offset);
        let is_quoted = text[start..offset].contains('"');
        let whole = literal_at(text, start);
        let ends_on_line = !text[offset..whole.end.max(offset)].contains(['\n', '\r']);
        let end = if is_quoted && ends_on_line { whole.end.max(offset) } else { offset };
        Self { outline, specs, want, half: start..end, is_quoted }
    }

    /// The last part of a node, which is the one that is being written.
    pub(super) fn last(&self, node: usize) -> Option<&Part> {
        self.outline.parts(node).last()
    }
}

/// What can be written at the end of an outline, and where what is half written begins.
fn want(outline: &Outline, offset: usize) -> (Want, usize) {
    let end = outline.end();
    if matches!(end.inside, Inside::Comment | Inside::Lines) {
        return (Want::Nothing, offset);
    }
    let Some(node) = end.node else {
        return (if end.behind_block { Want::Nothing } else { Want::Node }, offset);
    };
    let name = &outline.nodes()[node].name;
    if name.end == offset {
        return (Want::Node, name.start);
    }
    let arguments = outline.arguments(node).count();
    let new = (Want::Entry { node, position: arguments }, offset);
    let Some(last) = outline.parts(node).last() else { return new };
    if end.in_note {
        let start = last.note.as_ref().filter(|note| note.end == offset).map_or(offset, |note| note.start);
        return (Want::Note, start);
    }
    match (&last.value, &last.key, &last.note) {
        (None, _, _) => (Want::Value { node }, offset),
        (Some(value), _, _) if value.end != offset => new,
        (Some(value), None, None) => (Want::Entry { node, position: arguments - 1 }, value.start),
        (Some(value), _, _) => (Want::Value { node }, value.start),
    }
}
