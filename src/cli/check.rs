//! `moondock check`: every mistake of a site in one run. Runs no Lua, opens no port, writes nothing unless `--fix` is
//! given.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::diag::policy::Policy;
use crate::diag::render::{FORMATS, Format, Report};
use crate::diag::{Code, Severity};
use crate::site::load::{Counts, Loaded, Loader, Options};

use super::output::Output;
use super::{env_file, mend};

/// The name that stands for standard input.
const STDIN: &str = "-";
/// The name of standard input in messages.
const STDIN_SHOWN: &str = "<stdin>";

/// What can be asked of a check.
#[derive(clap::Args)]
pub(super) struct Flags {
    /// Site files, or folders with a site.kdl; `-` reads a site from standard input
    #[arg(default_value = super::DEFAULT_SITE)]
    sites: Vec<PathBuf>,
    /// How findings are written
    #[arg(long, value_parser = formats(), default_value = FORMATS[0].name)]
    format: &'static Format,
    /// A code that counts as an error, or `warnings` for all of them; may be repeated
    #[arg(long, value_name = "CODE")]
    deny: Vec<String>,
    /// A warning that is left out; may be repeated
    #[arg(long, value_name = "CODE")]
    allow: Vec<String>,
    /// How many findings of a site are shown, 0 for all; `human` shows 50 unless this says otherwise, the others all
    #[arg(long, value_name = "N")]
    max_errors: Option<usize>,
    /// Do not look at Lua
    #[arg(long)]
    no_scripts: bool,
    /// Use no network; nothing in a check does so today, so this changes nothing
    #[arg(long)]
    offline: bool,
    /// KEY=VALUE lines that (env) finds before the environment of the process
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Apply every fix that is certain, then check again; with `-` the mended text goes to standard output
    #[arg(long)]
    fix: bool,
}

/// A site that was looked at.
struct Checked {
    shown: String,
    loaded: Loaded,
}

/// Checks the sites one after the other; the worst of them decides the exit code.
pub(super) fn run(output: &mut Output, flags: &Flags) -> ExitCode {
    let (policy, options) = match policy(flags).and_then(|policy| Ok((policy, options(flags)?))) {
        Ok(wanted) => wanted,
        Err(why) => {
            output.err(&format!("moondock: {why}\n"));
            return ExitCode::from(2);
        }
    };
    let mut worst = 0;
    let mut checked = Vec::new();
    for site in &flags.sites {
        match check(output, site, flags, &policy, &options) {
            Ok(one) => {
                worst = worst.max(u8::from(one.loaded.diagnostics.has_errors()));
                checked.push(one);
            }
            Err(why) => {
                worst = 2;
                output.err(&why);
            }
        }
    }
    write(output, flags, &checked);
    ExitCode::from(worst)
}

/// Checks one site, and mends it before when that is asked for.
///
/// # Errors
/// Why it could not be looked at or mended, as the lines to print.
fn check(
    output: &mut Output,
    site: &Path,
    flags: &Flags,
    policy: &Policy,
    options: &Options,
) -> Result<Checked, String> {
    let stdin = site == Path::new(STDIN);
    let path = if stdin { PathBuf::from(STDIN_SHOWN) } else { super::site_file(site) };
    let mut look = Look { path: &path, policy, loader: Loader::with(options.clone()) };
    let text = if stdin { Some(read_stdin().map_err(|error| look.failed(&error))?) } else { None };
    let loaded = match (flags.fix, text) {
        (false, text) => look.load(text)?,
        (true, None) => {
            let mended = mend::files(|| look.load(None))?;
            tell(output, flags, &mended.notes);
            mended.loaded
        }
        (true, Some(text)) => {
            let mended = mend::text(text, |text| look.load(Some(text)))?;
            output.err(&mended.notes);
            output.out(&mended.loaded.sources.get(mend::SITE).text);
            mended.loaded
        }
    };
    Ok(Checked { shown: path.display().to_string(), loaded })
}

/// How a site is looked at.
struct Look<'a> {
    path: &'a Path,
    policy: &'a Policy,
    loader: Loader,
}

impl Look<'_> {
    /// Loads the site, or this text in its place.
    fn load(&mut self, text: Option<Arc<str>>) -> Result<Loaded, String> {
        let loaded = match text {
            Some(text) => self.loader.load_text(self.path, text),
            None => self.loader.load(self.path),
        };
        let mut loaded = loaded.map_err(|error| self.failed(&error))?;
        loaded.diagnostics = self.policy.apply(loaded.diagnostics);
        Ok(loaded)
    }

    fn failed(&self, error: &io::Error) -> String {
        super::could_not_look(self.path, error)
    }
}

fn read_stdin() -> io::Result<Arc<str>> {
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text)?;
    Ok(text.into())
}

impl Flags {
    /// Whether standard output belongs to a mended text, and all else goes to standard error.
    fn gives_text(&self) -> bool {
        self.fix && self.sites.iter().any(|site| site == Path::new(STDIN))
    }
}

/// What was done goes where the findings go when a person reads them, and aside when a program does.
fn tell(output: &mut Output, flags: &Flags, notes: &str) {
    match flags.format.for_people && !flags.gives_text() {
        true => output.out(notes),
        false => output.err(notes),
    }
}

fn write(output: &mut Output, flags: &Flags, checked: &[Checked]) {
    let aside = flags.gives_text();
    let mut style = if aside { output.err_style() } else { output.out_style() };
    style.max = match flags.max_errors {
        None => flags.format.max,
        Some(0) => usize::MAX,
        Some(max) => max,
    };
    let summaries: Vec<String> = checked.iter().map(summary).collect();
    let report = |(one, summary)| {
        let Checked { loaded, .. }: &Checked = one;
        Report { diagnostics: &loaded.diagnostics, sources: &loaded.sources, style, summary }
    };
    let reports: Vec<Report<'_>> = checked.iter().zip(summaries.iter().map(String::as_str)).map(report).collect();
    let text = (flags.format.write)(&reports);
    match aside {
        true => output.err(&text),
        false => output.out(&text),
    }
    if !flags.format.for_people {
        output.err(&reports.iter().map(Report::more).collect::<String>());
    }
}

/// The parser of format names: the table of formats as clap wants it.
fn formats() -> impl TypedValueParser<Value = &'static Format> {
    let names = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.about));
    PossibleValuesParser::new(names)
        .map(|name| FORMATS.iter().find(|format| format.name == name).unwrap_or(&FORMATS[0]))
}

/// What the flags say about codes.
///
/// # Errors
/// A code that does not exist, or that cannot be treated so.
fn policy(flags: &Flags) -> Result<Policy, String> {
    let mut policy = Policy::default();
    for name in &flags.deny {
        match name.as_str() {
            "warnings" => policy.deny_warnings = true,
            name => policy.deny.push(code("--deny", name)?),
        }
    }
    for name in &flags.allow {
        let code = code("--allow", name)?;
        if code.severity == Severity::Error {
            return Err(format!("--allow {name}: this is an error, and only warnings can be left out"));
        }
        if policy.deny.contains(&code) {
            return Err(format!("{name} cannot be denied and allowed at once"));
        }
        policy.allow.push(code);
    }
    Ok(policy)
}

fn code(flag: &str, name: &str) -> Result<&'static Code, String> {
    super::explain::code(name).map_err(|why| format!("{flag}: {why}"))
}

/// What the flags say about loading.
///
/// # Errors
/// The file of variables cannot be read.
fn options(flags: &Flags) -> Result<Options, String> {
    let environment = match &flags.env_file {
        Some(path) => variables(path)?,
        None => BTreeMap::new(),
    };
    Ok(Options { environment, without_scripts: flags.no_scripts })
}

/// The variables of a file.
///
/// # Errors
/// It cannot be read, or is no such file.
pub(super) fn variables(path: &Path) -> Result<BTreeMap<String, String>, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    env_file::parse(&text).map_err(|(line, why)| format!("{shown}:{line}: {why}"))
}

/// The last line: what was found, or what the site has.
fn summary(checked: &Checked) -> String {
    let Checked { shown, loaded } = checked;
    let (errors, warnings) = (loaded.diagnostics.errors(), loaded.diagnostics.warnings());
    match (errors, warnings) {
        (0, 0) => format!("{shown} is fine: {}\n", contents(&loaded.counts)),
        (0, warnings) => format!("{shown}: {}\n", plural(warnings, "warning")),
        (errors, 0) => format!("{shown}: {}\n", plural(errors, "error")),
        (errors, warnings) => format!("{shown}: {}, {}\n", plural(errors, "error"), plural(warnings, "warning")),
    }
}

fn contents(counts: &Counts) -> String {
    let parts = [(counts.endpoints, "endpoint"), (counts.environments, "environment"), (counts.scripts, "script")];
    let parts: Vec<String> = parts.iter().map(|(count, what)| plural(*count, what)).collect();
    parts.join(", ")
}

fn plural(count: usize, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {what}{end}")
}
