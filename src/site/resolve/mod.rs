//! The rules across nodes: one function for each, and [`resolve`], which makes a site of a decoded one.
//!
//! Every rule reports what it finds and goes on; a site comes out only when nothing was wrong.

mod endpoints;
mod environments;
mod foreign;
mod lua;
mod modules;
mod names;
mod params;
mod part;
mod paths;
mod routes;
mod statics;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics, FileId, Span, codes};
use crate::endpoint::Place;
use crate::exchange::Typed;
use crate::kdl::allow::Allowance;
use crate::kdl::suggest;
use crate::script::{LineMap, Script, ScriptId};
use crate::site::Site;
use crate::site::config::Config;
use crate::site::files::{FileText, Files};
use crate::site::outlines::Outlines;
use crate::site::scripts::{ScriptCache, syntax_diagnostic};
use crate::site::server::Bind;

/// What the rules share: the decoded site, the files, and where findings go.
pub(super) struct Resolver<'a> {
    pub(super) config: &'a Config,
    pub(super) files: &'a mut Files,
    pub(super) scripts: &'a mut ScriptCache,
    pub(super) outlines: &'a mut Outlines,
    pub(super) sink: &'a mut Diagnostics,
    /// Script files of this load by path, so that one file named twice is read once; `None` was reported.
    pub(super) read: BTreeMap<PathBuf, Option<Arc<Script>>>,
    /// The files of scripts, and their ids among the sources as soon as something was told about them.
    pub(super) script_files: HashMap<ScriptId, (PathBuf, Option<FileId>)>,
    /// Comments of scripts that allow a warning.
    pub(super) allowances: Vec<(FileId, Allowance)>,
}

/// Makes a site of a decoded one, and gives the comments of its scripts that allow something. The site is of use only when
/// the sink holds no error.
pub(super) fn resolve(mut resolver: Resolver<'_>) -> (Site, Vec<(FileId, Allowance)>) {
    let config = resolver.config;
    let variables = names::variables(&mut resolver);
    let secrets = names::secrets(&mut resolver);
    let environments = environments::resolve(&mut resolver, &variables, &secrets);
    let endpoints = endpoints::resolve(&mut resolver, &environments);
    let statics = statics::resolve(&mut resolver);
    routes::conflicts(&mut resolver, &endpoints, &statics);
    environments::unused(&mut resolver, &environments, &endpoints);
    binds(&mut resolver);
    something(&mut resolver);
    let environments = environments::finish(&mut resolver, environments, &endpoints);
    let mut server = config.server.clone();
    for bind in &mut server.binds {
        if let Bind::Unix(path) = &mut bind.it {
            *path = resolver.files.beside(bind.span.file, &path.display().to_string());
        }
    }
    let site = Site {
        title: config.title.clone(),
        version: config.version.clone(),
        folder: resolver.files.folder.clone(),
        texts: resolver.texts(),
        server,
        server_places: config.server_places.iter().map(|(name, span)| (*name, resolver.place(*span))).collect(),
        environments,
        endpoints: endpoints.into_iter().map(|resolved| resolved.endpoint).collect(),
        statics: statics.into_iter().map(|resolved| Arc::new(resolved.folder)).collect(),
        logging: config.logging.clone(),
        secret_values: secrets.into_values().flatten().collect(),
    };
    (site, resolver.allowances)
}

impl Resolver<'_> {
    /// Reports an error or warning.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.sink.push(diagnostic);
    }

    /// The place of a node, for people.
    fn place(&self, span: Span) -> Place {
        let sources = &self.files.sources;
        let (line, _) = sources.line_column(span.file, span.start);
        Place { file: sources.get(span.file).name.clone(), line, span }
    }

    /// The name and text of every file of the site language.
    fn texts(&self) -> Vec<(Arc<str>, Arc<str>)> {
        let sources = self.files.documents.iter().map(|read| self.files.sources.get(read.id));
        sources.map(|source| (source.name.clone(), source.text.clone())).collect()
    }

    /// Whether a node of this kind with this name stands in a block that could not be read.
    pub(super) fn is_broken(&self, node: &str, name: &str) -> bool {
        self.config.broken.get(node).is_some_and(|names| names.iter().any(|broken| broken == name))
    }

    /// The compiled script of a file that the site names at `span`.
    pub(super) fn script_file(&mut self, span: Span, relative: &str) -> Option<Arc<Script>> {
        let path = self.files.beside(span.file, relative);
        if !path.starts_with(&self.files.folder) && self.files.has(&path) {
            self.report(outside(&path, span, relative));
        }
        if let Some(known) = self.read.get(&path) {
            return known.clone();
        }
        let script = match self.files.text(&path) {
            FileText::Text(text) => self.compile_file(&path, text),
            FileText::Missing => {
                self.report(missing_script(&path, span, relative));
                // Each place that names a missing file is a mistake of its own, so this is not remembered.
                return None;
            }
            FileText::Unreadable(why) => {
                let message = format!("this script cannot be read: {why}");
                let found = Diagnostic::new(&codes::SCRIPT_UNREADABLE, message, span, "named here");
                self.report(found.help(format!("it is {}", path.display())));
                None
            }
        };
        self.read.insert(path, script.clone());
        script
    }

    /// Compiles the text of a script file; a syntax error is told at its line there.
    pub(super) fn compile_file(&mut self, path: &Path, text: Arc<str>) -> Option<Arc<Script>> {
        let origin = self.files.inside(path);
        match self.scripts.intern(&origin, text.clone(), LineMap::default()) {
            Ok(script) => {
                self.script_files.insert(script.id, (path.to_path_buf(), None));
                Some(script)
            }
            Err(error) => {
                let file = self.files.sources.add(self.files.shown(path), text.clone());
                let found = syntax_diagnostic(&text, &error, |range| Span::new(file, range));
                self.report(found);
                None
            }
        }
    }

    /// The source of a script that has a file.
    fn source(&mut self, script: &Script) -> Option<FileId> {
        let (path, id) = self.script_files.get_mut(&script.id)?;
        if id.is_none() {
            *id = Some(self.files.sources.add(self.files.shown(path), script.text.clone()));
        }
        *id
    }
}

/// A script that is not where the site is.
fn outside(path: &Path, span: Span, relative: &str) -> Diagnostic {
    let message = format!("`{relative}` lies outside of the site's folder");
    let found = Diagnostic::new(&codes::SCRIPT_OUTSIDE, message, span, "named here");
    let help =
        format!("it is {}; put it below the folder of the site, so that both are moved together", path.display());
    found.help(help)
}

/// A script that is not there, with the nearest name of its folder.
fn missing_script(path: &Path, span: Span, relative: &str) -> Diagnostic {
    let wanted = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entries = path.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let names: Vec<String> = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".lua") || name.ends_with(".luau"))
        .collect();
    let near = names::nearest(&wanted, names.iter().map(String::as_str));
    let help = match near {
        Some(near) => format!("did you mean `{}`? (looked for {})", relative.replace(&wanted, near), path.display()),
        None => format!("looked for {}", path.display()),
    };
    let message = format!("there is no file `{relative}`");
    let found = Diagnostic::new(&codes::SCRIPT_MISSING, message, span, "named here").help(help);
    let plain = |path: &String| !path.contains(['"', '\\', '\n']);
    let meant = suggest::certain(&wanted, names.iter().map(String::as_str));
    let meant = meant.and_then(|meant| Some(format!("{}{meant}", relative.strip_suffix(&wanted)?)));
    match meant.filter(plain) {
        Some(meant) => found.fix(format!("write {meant}"), span, format!("\"{meant}\"")),
        None => found,
    }
}

/// Two listeners cannot share an address.
fn binds(resolver: &mut Resolver<'_>) {
    let binds = &resolver.config.server.binds;
    let system_chooses = |bind: &Bind| matches!(bind, Bind::Tcp(address) if address.port() == 0);
    let twice: Vec<_> = binds
        .iter()
        .enumerate()
        .filter(|(_, at)| !system_chooses(&at.it))
        .filter_map(|(index, at)| binds[..index].iter().find(|earlier| earlier.it == at.it).map(|first| (at, first)))
        .map(|(at, first)| {
            Diagnostic::new(&codes::SERVER_BIND_TWICE, "one address is listened on twice", at.span, "again here")
                .also(first.span, "given here first")
                .help("remove one of them")
        })
        .collect();
    resolver.sink.extend(twice);
}

/// A site that answers nothing is surely not meant.
fn something(resolver: &mut Resolver<'_>) {
    let nothing =
        |group: &crate::endpoint::settings::GroupSettings| group.endpoints.is_empty() && group.groups.is_empty();
    let config = resolver.config;
    // A node of an unknown name may be meant to answer.
    let unknown = [&codes::NODE_UNKNOWN, &codes::NODE_MISPLACED, &codes::NODE_NOT_YET];
    let unknown = resolver.sink.iter().any(|found| unknown.contains(&found.code));
    let unread = config.incomplete || config.answers_unread || unknown;
    if unread || !nothing(&config.root) || !config.statics.is_empty() {
        return;
    }
    let file = resolver.files.documents[0].id;
    let help = "add an endpoint:  endpoint GET \"/hello\" { lua \"return 'hello'\"; }";
    let span = Span { file, start: 0, end: 0 };
    resolver.report(
        Diagnostic::new(&codes::SITE_EMPTY, "this site answers nothing", span, "no endpoint, no static folder")
            .help(help),
    );
}

/// The values that an environment sees, by their Lua name; `None` for an optional one that is absent.
pub(super) type Variables = BTreeMap<String, Option<Typed>>;
/// The secrets that an environment sees, by their Lua name; `None` for an optional one that is absent.
pub(super) type Secrets = BTreeMap<String, Option<String>>;
