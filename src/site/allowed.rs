//! Comments of the site that allow a warning on the next node, and what is said when they are wrong.

use crate::diag::{Code, Diagnostic, Diagnostics, FileId, Severity, Span, codes};
use crate::kdl::allow::{Allowance, allowances};
use crate::kdl::suggest;
use crate::site::files::Files;

/// A comment with its file, and how many findings it allows.
struct Comment {
    file: FileId,
    allowance: Allowance,
    code: Option<&'static Code>,
    used: bool,
}

/// Takes out what the comments of the site and those of its scripts allow, and reports comments that are of no use.
/// `reads_lua` is false when scripts were not looked at, so that nothing was found that could be allowed there.
pub(super) fn apply(files: &Files, in_scripts: Vec<(FileId, Allowance)>, found: &mut Diagnostics, reads_lua: bool) {
    let mut comments = comments(files);
    comments.extend(in_scripts.into_iter().map(|(file, allowance)| Comment::new(file, allowance)));
    if comments.is_empty() {
        return;
    }
    found.retain_mut(|one| {
        let mut keep = true;
        for comment in comments.iter_mut().filter(|comment| comment.allows(one)) {
            comment.used = true;
            keep = false;
        }
        keep
    });
    // What is checked last is not found out when something before it was wrong.
    let complete = !found.has_errors();
    found.extend(comments.iter().filter_map(|comment| comment.fault(complete, reads_lua)));
}

fn comments(files: &Files) -> Vec<Comment> {
    let of_file = |id: FileId| {
        allowances(&files.sources.get(id).text).into_iter().map(move |allowance| Comment::new(id, allowance))
    };
    files.documents.iter().flat_map(|read| of_file(read.id)).collect()
}

impl Comment {
    fn new(file: FileId, allowance: Allowance) -> Self {
        let code = codes::ALL.iter().find(|code| code.id == allowance.code).copied();
        Self { file, allowance, code, used: false }
    }

    fn allows(&self, found: &Diagnostic) -> bool {
        let place = found.primary.span;
        let (Some(code), Some(node)) = (self.code, &self.allowance.node) else { return false };
        let inside = node.start <= place.start as usize && place.end as usize <= node.end;
        code == found.code && code.severity == Severity::Warning && place.file == self.file && inside
    }

    /// What is wrong with the comment.
    fn fault(&self, complete: bool, reads_lua: bool) -> Option<Diagnostic> {
        let Some(code) = self.code else { return Some(self.unknown()) };
        let id = code.id;
        if code.severity == Severity::Error {
            let found = self.unused(format!("`{id}` is an error, and only warnings can be allowed"));
            return Some(found.help("mend what is wrong, and remove this comment"));
        }
        if self.allowance.node.is_none() {
            let found = self.unused("this comment stands above no node".to_owned());
            return Some(found.help("put it on a line of its own, directly above the node"));
        }
        let looked_for = complete && (reads_lua || !id.starts_with("script::"));
        (looked_for && !self.used).then(|| {
            let found = self.unused(format!("there is no `{id}` here to allow"));
            let found = found.help("remove this comment");
            match self.allowance.line.clone() {
                Some(line) => found.fix("remove the comment", Span::new(self.file, line), ""),
                None => found,
            }
        })
    }

    fn span(&self) -> Span {
        Span::new(self.file, self.allowance.at.clone())
    }

    fn unused(&self, message: String) -> Diagnostic {
        Diagnostic::new(&codes::ALLOW_UNUSED, message, self.span(), "allows nothing")
    }

    fn unknown(&self) -> Diagnostic {
        let written = &self.allowance.code;
        if written.is_empty() {
            let found = Diagnostic::new(&codes::ALLOW_UNKNOWN, "a code is missing here", self.span(), "of what?");
            return found.help("write the code behind it: moondock: allow CODE");
        }
        let known = || codes::ALL.iter().filter(|code| code.severity == Severity::Warning).map(|code| code.id);
        let message = format!("there is no code `{written}`");
        let found = Diagnostic::new(&codes::ALLOW_UNKNOWN, message, self.span(), "not a code");
        let found = found.help(
            suggest::help(written, known())
                .unwrap_or_else(|| "it is the code that `moondock check` shows with the warning".into()),
        );
        match suggest::certain(written, known()) {
            Some(meant) => found.fix(format!("write {meant}"), self.span(), meant),
            None => found,
        }
    }
}
