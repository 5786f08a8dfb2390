//! How secrets are kept: what is said when one could be read by those who should not.

use std::path::Path;

use crate::diag::{Diagnostic, Span, codes};
use crate::kdl::reader::Reader;
use crate::kdl::scalar::At;
use crate::site::outside::Values;

/// Where orchestrators put secrets, readable for all in a container that has one user.
const PROVIDED: [&str; 2] = ["/run/secrets", "/var/run/secrets"];

/// Looks at one entry of `secrets` that has a value.
pub(super) fn check(entry: &Reader<'_>, value: &At<String>, values: &Values) {
    let name = entry.name();
    if value.it.is_empty() {
        entry.report(empty(name, value.span));
        return;
    }
    match (entry.source(0), entry.written(0)) {
        (None, _) => entry.report(inline(name, value.span)),
        (Some("file"), Some(path)) if is_open(&values.path(value.span.file, path)) => {
            entry.report(world_readable(path, value.span));
        }
        _ => {}
    }
}

fn empty(name: &str, span: Span) -> Diagnostic {
    let help = "whoever checks with an empty secret believes everybody; give it a value, or leave it away";
    Diagnostic::new(&codes::SECRET_EMPTY, format!("the secret `{name}` is empty"), span, "empty").help(help)
}

fn inline(name: &str, span: Span) -> Diagnostic {
    let message = format!("the secret `{name}` stands here in plain text");
    let variable = name.to_ascii_uppercase().replace('-', "_");
    let help = format!("write (env){variable}, or (file)\"…\", and keep the value out of the site");
    Diagnostic::new(&codes::SECRET_INLINE, message, span, "whoever reads the site knows it").help(help)
}

fn world_readable(path: &str, span: Span) -> Diagnostic {
    let message = format!("everybody on this machine can read `{path}`");
    let found = Diagnostic::new(&codes::SECRET_WORLD_READABLE, message, span, "a secret");
    found.help(format!("let only the user of the server read it: chmod 600 {path}"))
}

/// Whether the rights of a file let every user read it.
fn is_open(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    const READ_BY_OTHERS: u32 = 0o004;
    let provided = PROVIDED.iter().any(|folder| path.starts_with(folder));
    let mode = std::fs::metadata(path).map_or(0, |file| file.permissions().mode());
    !provided && mode & READ_BY_OTHERS != 0
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    use crate::diag::codes;
    use crate::site::load::Loader;

    #[test]
    fn a_file_that_everybody_can_read_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let (site, key) = (folder.path().join("site.kdl"), folder.path().join("key"));
        write(&site, "secrets { key (file)key; }\nendpoint GET \"/\" { respond 200; }\n").unwrap();
        write(&key, "k").unwrap();
        for (mode, told) in [(0o600, false), (0o640, false), (0o644, true), (0o604, true), (0o622, false)] {
            set_permissions(&key, Permissions::from_mode(mode)).unwrap();
            let found = Loader::default().load(&site).unwrap().diagnostics.into_vec();
            let codes: Vec<&str> = found.iter().map(|found| found.code.id).collect();
            assert_eq!(codes, if told { vec![codes::SECRET_WORLD_READABLE.id] } else { vec![] }, "{mode:o}");
        }
    }
}
