//! What a site file says about persistence.

use crate::diag::{Diagnostic, codes};
use crate::kdl::reader::Reader;
use crate::kdl::scalar::{Bad, Plain, Scalar};

/// A backend; each is one entry of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PersistenceKind {
    /// Lives and ends with the process.
    #[default]
    Memory,
}

/// The backends by their name in the language.
pub const KINDS: &[(&str, PersistenceKind)] = &[("memory", PersistenceKind::Memory)];

impl Scalar for PersistenceKind {
    fn read(value: &Plain) -> Result<Self, Bad> {
        let name = String::read(value)?;
        let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        let kind = KINDS.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
        kind.ok_or_else(|| Bad::one_of("backend", &name, &names))
    }
}

/// Reads a `persistence` node; the default is memory.
pub fn decode(reader: &Reader<'_>) -> PersistenceKind {
    let kind = reader.arg(0).map(|at| at.it);
    if let (Some(PersistenceKind::Memory), Some(address)) = (kind, reader.plain(1)) {
        let message = "`persistence memory` takes no file";
        let found = Diagnostic::new(&codes::VALUE_UNEXPECTED, message, address.span, "one too many");
        reader.report(found.help("remove it; memory ends with the process"));
    }
    kind.unwrap_or_default()
}
