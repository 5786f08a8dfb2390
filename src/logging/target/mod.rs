//! The kinds of destinations a log can have: one file each, one line in [`KINDS`].

pub mod console;

use std::io;

use super::settings::Destination;
use super::writer::Sink;
use crate::kdl::reader::Reader;

/// A kind of `target`.
pub struct TargetKind {
    /// Its name in the language, the first argument of `target`.
    pub name: &'static str,
    /// What tells two destinations of this kind apart; `None` when the node is not complete (and was reported).
    pub address: fn(&Reader<'_>) -> Option<String>,
    /// Opens the destination at this address; starts nothing.
    open: fn(&str) -> io::Result<Box<dyn Sink>>,
}

/// Every kind of target.
pub const KINDS: &[TargetKind] = &[console::KIND];

/// The kind of this name.
pub fn kind(name: &str) -> Option<&'static TargetKind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// Opens a destination.
///
/// # Errors
/// The kind's own, or that there is no such kind.
pub(super) fn open(destination: &Destination) -> io::Result<Box<dyn Sink>> {
    let found =
        kind(destination.kind).ok_or_else(|| io::Error::other(format!("no log target `{}`", destination.kind)))?;
    (found.open)(&destination.address)
}
