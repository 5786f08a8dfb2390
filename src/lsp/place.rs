//! What stands at a place of a text.

use std::ops::Range;

use crate::kdl::outline::{Outline, Part};

/// Something at a place.
#[derive(Debug)]
pub(super) struct Found<'o> {
    /// The node that it belongs to.
    pub(super) node: usize,
    /// What of it.
    pub(super) what: What<'o>,
    /// Where that is.
    pub(super) range: Range<usize>,
}

/// What of a node stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What<'o> {
    /// Its name.
    Name,
    /// The key of a property.
    Key(&'o Part),
    /// An annotation.
    Note(&'o Part),
    /// A value.
    Value(&'o Part),
}

/// What stands at a byte, or ends at it.
pub(super) fn at(outline: &Outline, offset: usize) -> Option<Found<'_>> {
    let holds = |range: &Range<usize>| range.start <= offset && offset <= range.end && !range.is_empty();
    let node = outline.node_at(offset)?;
    let found = |what, range: &Range<usize>| Found { node, what, range: range.clone() };
    let name = &outline.nodes()[node].name;
    if holds(name) {
        return Some(found(What::Name, name));
    }
    outline.parts(node).iter().find_map(|part| {
        let all = [(What::Key(part), &part.key), (What::Note(part), &part.note), (What::Value(part), &part.value)];
        let mut there = all.into_iter().filter_map(|(what, range)| Some((what, range.as_ref()?)));
        there.find(|(_, range)| holds(range)).map(|(what, range)| found(what, range))
    })
}
