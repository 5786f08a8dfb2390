//! The text of a script and where it came from: how a line of Lua finds its line in `site.kdl` or a `.lua` file.
//!
//! A leaf. Scripts are interned by the loader: the same text at the same place keeps its [`ScriptId`] over reloads,
//! so compiled chunks in warm runspaces stay valid, and two scripts never share one by accident.

use std::sync::Arc;

/// Identifies one text at one place for the life of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScriptId(pub u64);

/// A handler, a module or a startup script, compiled.
#[derive(Debug)]
pub struct Script {
    /// Its identity.
    pub id: ScriptId,
    /// The file as messages show it, such as `site.kdl` or `lua/item.lua`.
    pub origin: Arc<str>,
    /// The Lua text.
    pub text: Arc<str>,
    /// Luau bytecode of the text, made by the loader.
    pub bytecode: Arc<[u8]>,
    /// How lines of the chunk become lines of `origin`.
    pub lines: LineMap,
    /// Whether native code is wanted (`--!native` in the first lines).
    pub native: bool,
}

/// How lines of the compiled chunk become lines of the file they came from.
///
/// Index `n - 1` holds the file line of the chunk's line `n`; an empty map is the identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineMap(pub Vec<u32>);

impl LineMap {
    /// The file's line (1-based) for a line of the chunk (1-based).
    pub fn line(&self, chunk_line: u32) -> u32 {
        let index = chunk_line.saturating_sub(1) as usize;
        match (self.0.get(index), self.0.last()) {
            (Some(line), _) | (None, Some(line)) => *line,
            (None, None) => chunk_line,
        }
    }
}

impl PartialEq for Script {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}
