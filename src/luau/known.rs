//! The names that every script finds: globals and the fields of host tables.

use std::collections::{BTreeMap, BTreeSet};

/// What is known of a global's fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fields {
    /// It has these and no others.
    These(BTreeSet<String>),
    /// It may have any, or is no table.
    Any,
}

/// The globals of a runspace before a script ran in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known(BTreeMap<String, Fields>);

impl Known {
    /// Knows these globals.
    pub fn new(globals: impl IntoIterator<Item = (String, Fields)>) -> Self {
        Self(globals.into_iter().collect())
    }

    /// Whether there is such a global.
    pub fn has(&self, global: &str) -> bool {
        self.0.contains_key(global)
    }

    /// Whether a global may have this field.
    pub fn may_have(&self, global: &str, field: &str) -> bool {
        match self.0.get(global) {
            Some(Fields::These(fields)) => fields.contains(field),
            Some(Fields::Any) | None => true,
        }
    }

    /// All globals.
    pub fn globals(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The fields of a global, as far as they are known.
    pub fn fields(&self, global: &str) -> impl Iterator<Item = &str> {
        let fields = match self.0.get(global) {
            Some(Fields::These(fields)) => Some(fields),
            Some(Fields::Any) | None => None,
        };
        fields.into_iter().flatten().map(String::as_str)
    }
}
