//! What the user says about codes: which warnings count as errors, and which are left out.

use super::{Code, Diagnostics, Severity};

/// What becomes of findings, by their code.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Whether every warning counts as an error.
    pub deny_warnings: bool,
    /// Codes that count as errors.
    pub deny: Vec<&'static Code>,
    /// Warnings that are left out; wins over `deny_warnings`.
    pub allow: Vec<&'static Code>,
}

impl Policy {
    /// The findings as this policy sees them.
    #[must_use]
    pub fn apply(&self, mut found: Diagnostics) -> Diagnostics {
        found.retain_mut(|one| {
            if self.deny_warnings || self.deny.contains(&one.code) {
                one.severity = Severity::Error;
            }
            one.code.severity == Severity::Error || !self.allow.contains(&one.code)
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Diagnostic, FileId, Span, codes};

    #[test]
    fn warnings_are_raised_or_left_out_and_errors_stay() {
        let warning: &Code = &codes::ENVIRONMENT_UNUSED;
        let error: &Code = &codes::VALUE_TYPE;
        for (policy, want) in [
            (Policy::default(), (1, 1)),
            (Policy { deny_warnings: true, ..Policy::default() }, (2, 0)),
            (Policy { deny: vec![warning], ..Policy::default() }, (2, 0)),
            (Policy { allow: vec![warning, error], ..Policy::default() }, (1, 0)),
            (Policy { deny_warnings: true, allow: vec![warning], ..Policy::default() }, (1, 0)),
        ] {
            let mut found = Diagnostics::default();
            for code in [&codes::ENVIRONMENT_UNUSED, &codes::VALUE_TYPE] {
                found.push(Diagnostic::new(code, "m", Span::new(FileId(0), 0..1), ""));
            }
            let found = policy.apply(found);
            assert_eq!((found.errors(), found.warnings()), want, "{policy:?}");
        }
    }
}
