//! The outline of a script: only what needs a second look by somebody who knows the site.

use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use super::known::Known;
use super::walk::Walk;

/// What a script may name that depends on where it runs: the globals that are read through their fields.
pub(super) const DECLARED: &[&str] = &["vars", "secrets"];
/// The local that handlers have.
pub const REQUEST: &str = "req";

/// A name of a global, or of a field of one. Places are bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The global.
    pub global: Box<str>,
    /// The field or method that is asked of it, when that is what is meant.
    pub field: Option<Box<str>>,
    /// Where the field stands, or the global when no field is meant.
    pub at: Range<usize>,
}

/// A comment `-- moondock: allow CODE`, which holds for its own line and the next. Places are bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The code as it is written; empty when it is missing.
    pub code: Box<str>,
    /// Where the code stands, or should.
    pub at: Range<usize>,
    /// What it holds for.
    pub covers: Range<usize>,
}

/// What a script names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// Globals that no runspace has, fields that a host table does not have, every `req` that is not a local of the script,
    /// and every field of `vars` and `secrets`.
    pub names: Vec<Name>,
    /// What is read of `req.params`, where `req` is the handler's.
    pub params: Vec<Name>,
    /// Globals that it sets.
    pub assigned: BTreeSet<Box<str>>,
    /// Names of its local variables, in whatever block; none when `names` is empty.
    pub locals: BTreeSet<Box<str>>,
    /// Whether it uses `_G` as a value, so that any global may be set by it.
    pub opaque: bool,
    /// The number that it returns when a bare number, one that could be a status, is all that it ever returns.
    pub status: Option<(u16, Range<usize>)>,
    /// What its comments allow.
    pub allowed: Vec<Allowed>,
}

/// Makes outlines. It keeps the parser from one text to the next.
pub struct Outliner(Option<Parser>);

impl Default for Outliner {
    fn default() -> Self {
        let mut parser = Parser::new();
        // It fails when grammar and library are of versions that do not fit, which the tests would see.
        let fits = parser.set_language(&tree_sitter_luau::LANGUAGE.into()).is_ok();
        Self(fits.then_some(parser))
    }
}

impl Outliner {
    /// The outline of a text that Luau has compiled. Time and memory grow with its length alone, however it is nested.
    pub fn outline(&mut self, text: &str, known: &Known) -> Outline {
        match self.parse(text) {
            Some(tree) if !tree.root_node().has_error() => Walk::new(text, known).run(tree.root_node()),
            _ => Outline { opaque: true, ..Outline::default() },
        }
    }

    /// The syntax tree. `None` for a text with a mistake: to go on behind one takes time that grows with the square of
    /// how deep it is nested.
    fn parse(&mut self, text: &str) -> Option<Tree> {
        let parser = self.0.as_mut()?;
        let mut at_mistake = |state: &ParseState| match state.has_error() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        let options = ParseOptions::new().progress_callback(&mut at_mistake);
        let tree = parser.parse_with_options(&mut |at, _| &text.as_bytes()[at..], None, Some(options));
        // A parse that was stopped would be gone on with.
        parser.reset();
        tree
    }
}
