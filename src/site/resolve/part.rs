//! A script with what it is for and where its text stands.

use std::ops::Range;
use std::sync::Arc;

use crate::diag::Span;
use crate::endpoint::Endpoint;
use crate::kdl::reader::Text;
use crate::script::Script;

use super::Resolver;

/// A script of an environment.
pub(super) struct Part<'a> {
    /// The script.
    pub(super) script: Arc<Script>,
    /// What it is for.
    pub(super) role: Role<'a>,
}

/// What a script is for.
pub(super) enum Role<'a> {
    /// It is the handler of one endpoint and stands in the site.
    Inline(&'a Text, Arc<Endpoint>),
    /// It is the handler of one or more endpoints and has a file.
    Handler,
    /// It is required.
    Module,
    /// It runs when a runspace is built.
    Startup,
}

impl Part<'_> {
    /// Whether it runs for a request, which it gets as `req`.
    pub(super) fn is_handler(&self) -> bool {
        matches!(self.role, Role::Inline(..) | Role::Handler)
    }

    /// The place of some bytes of its text. A script file becomes a source of messages by this.
    pub(super) fn span(&self, resolver: &mut Resolver<'_>, range: Range<usize>) -> Option<Span> {
        match &self.role {
            Role::Inline(text, _) => Some(text.span_of(range)),
            _ => resolver.source(&self.script).map(|file| Span::new(file, range)),
        }
    }
}
