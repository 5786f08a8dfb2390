//! Files and folders that a value can name, relative to the file that names them.

use std::path::Path;

use gen_lsp_types::CompletionItemKind;

use crate::kdl::format::Format;
use crate::kdl::outline::value;

use super::{Place, Proposal};

/// How many entries of a folder are looked at.
const MOST_ENTRIES: usize = 1000;

/// The files and folders whose path begins with what is written; `format` says which are meant.
pub(super) fn files(place: &Place<'_>, format: Option<Format>) -> Vec<Proposal> {
    let Some(base) = place.document.path.as_deref().and_then(Path::parent) else { return Vec::new() };
    let half = value(&place.document.text.all, &place.spot.half);
    let folder = half.rfind('/').map_or("", |at| &half[..=at]);
    let Ok(entries) = std::fs::read_dir(base.join(folder)) else { return Vec::new() };
    let mut found: Vec<(bool, String)> = entries
        .flatten()
        .take(MOST_ENTRIES)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok().filter(|name| is_plain(name))?;
            let is_folder = entry.path().is_dir();
            (is_folder || is_meant(&name, format)).then_some((!is_folder, name))
        })
        .collect();
    found.sort();
    let proposal = |(is_file, name): &(bool, String)| {
        let (end, kind) = if *is_file { ("", CompletionItemKind::File) } else { ("/", CompletionItemKind::Folder) };
        Proposal::new(format!("\"{folder}{name}{end}\""), kind)
    };
    found.iter().map(proposal).collect()
}

/// Whether a name needs no escapes, and is not hidden.
fn is_plain(name: &str) -> bool {
    !name.starts_with('.') && !name.ends_with('~') && !name.contains(['"', '\\']) && !name.contains(char::is_control)
}

fn is_meant(name: &str, format: Option<Format>) -> bool {
    match format {
        Some(Format::Script) => name.ends_with(".lua") || name.ends_with(".luau"),
        Some(Format::Glob) => name.ends_with(".kdl"),
        // A path that is no script is a folder here: of static files, of modules.
        Some(Format::Path) => false,
        _ => true,
    }
}
