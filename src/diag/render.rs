//! Diagnostics as text for people and as JSON for programs. The only module that knows miette.
