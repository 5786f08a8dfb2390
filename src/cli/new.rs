//! `moondock new`: a small working site to go on from. Never overwrites anything.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use super::output::Output;

/// The files of a new site: those of examples/new, which a test plays.
const FILES: &[(&str, &str)] = &[
    ("site.kdl", include_str!("../../examples/new/site.kdl")),
    ("lua/greet.lua", include_str!("../../examples/new/lua/greet.lua")),
    ("lua/greeting.lua", include_str!("../../examples/new/lua/greeting.lua")),
    (".gitignore", include_str!("../../examples/new/.gitignore")),
    (".editorconfig", include_str!("../../examples/new/.editorconfig")),
];

/// Makes a site in a folder: 0, or 2 when it could not. A folder that has one of the files stays as it is.
pub(super) fn run(output: &mut Output, folder: &Path) -> ExitCode {
    if let Some((taken, _)) = FILES.iter().find(|(name, _)| folder.join(name).symlink_metadata().is_ok()) {
        let taken = folder.join(taken);
        output.err(&format!("moondock: {} is there already; nothing was made\n", taken.display()));
        return ExitCode::from(2);
    }
    if let Err(error) = FILES.iter().try_for_each(|(name, text)| make(&folder.join(name), text)) {
        output.err(&format!("moondock: cannot make a site in {}: {error}\n", folder.display()));
        return ExitCode::from(2);
    }
    let site = folder.join("site.kdl");
    output.out(&format!("{} is made; to serve it:\n\n    moondock run {0}\n", site.display()));
    ExitCode::SUCCESS
}

/// Writes a file that must not be there, and the folders above it.
fn make(path: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
    fs::File::create_new(path)?.write_all(text.as_bytes())
}
