//! Which local names are visible at a point of a script.

use std::collections::HashMap;

/// The blocks around a point. A name may be declared several times; leaving a block takes its own away.
#[derive(Default)]
pub(super) struct Scopes<'t> {
    visible: HashMap<&'t str, usize>,
    declared: Vec<&'t str>,
    begins: Vec<usize>,
}

impl<'t> Scopes<'t> {
    /// Enters a block.
    pub(super) fn enter(&mut self) {
        self.begins.push(self.declared.len());
    }

    /// Leaves the innermost block.
    pub(super) fn leave(&mut self) {
        let begin = self.begins.pop().unwrap_or(0);
        for name in self.declared.drain(begin..) {
            if let Some(count) = self.visible.get_mut(name) {
                *count -= 1;
            }
        }
    }

    /// Declares a local of the innermost block.
    pub(super) fn declare(&mut self, name: &'t str) {
        *self.visible.entry(name).or_default() += 1;
        self.declared.push(name);
    }

    /// Whether this is a local here.
    pub(super) fn has(&self, name: &str) -> bool {
        self.visible.get(name).is_some_and(|count| *count > 0)
    }
}
