//! What scripts name, kept over loads: only a text that is new is read.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use crate::environment::known::known;
use crate::luau::known::Known;
use crate::luau::outline::{Outline, Outliner};
use crate::script::Script;

/// The outlines of the load before, by text.
#[derive(Default)]
pub(super) struct Outlines {
    outliner: Outliner,
    known: OnceCell<Option<Arc<Known>>>,
    made: HashMap<Arc<str>, Made>,
    nothing: Arc<Outline>,
}

/// The outline of a text.
struct Made {
    /// It lives as long as some site has the text.
    bytecode: Weak<[u8]>,
    outline: Arc<Outline>,
}

impl Outlines {
    /// What every script finds; `None` when that cannot be told.
    pub(super) fn known(&self) -> Option<Arc<Known>> {
        self.known.get_or_init(|| known().map(Arc::new)).clone()
    }

    /// The outline of a script.
    pub(super) fn of(&mut self, script: &Script, known: &Known) -> Arc<Outline> {
        if let Some(made) = self.made.get(&script.text) {
            return Arc::clone(&made.outline);
        }
        let outline = self.outliner.outline(&script.text, known);
        // Most handlers name nothing that needs a second look.
        let outline = if outline == *self.nothing { Arc::clone(&self.nothing) } else { Arc::new(outline) };
        let made = Made { bytecode: Arc::downgrade(&script.bytecode), outline: Arc::clone(&outline) };
        self.made.insert(script.text.clone(), made);
        outline
    }

    /// Forgets texts that no site has any more.
    pub(super) fn prune(&mut self) {
        self.made.retain(|_, made| made.bytecode.strong_count() > 0);
    }
}
