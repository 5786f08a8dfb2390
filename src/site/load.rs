//! The one loader: start, reload and `check` use it, so that they never differ.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diag::{Diagnostics, Sources};
use crate::kdl::document::Parser;
use crate::site::Site;
use crate::site::allowed;
use crate::site::config::Config;
use crate::site::files::{self, Files};
use crate::site::outlines::Outlines;
use crate::site::outside::Values;
use crate::site::read::Given;
use crate::site::resolve::{Resolver, resolve};
use crate::site::scripts::ScriptCache;

/// What a load found. The watch set is there even when the load failed, so that mending a broken include is enough.
pub struct Loaded {
    /// The site, when there was no error.
    pub site: Option<Arc<Site>>,
    /// Everything that is wrong, sorted.
    pub diagnostics: Diagnostics,
    /// The files the diagnostics point into.
    pub sources: Sources,
    /// Files and folders (of globs and modules) whose contents decide, whether they exist or not.
    pub watch: BTreeSet<PathBuf>,
    /// What the summary of `check` counts.
    pub counts: Counts,
}

/// What a site has, for the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files of the site language read.
    pub files: usize,
    /// Endpoints declared.
    pub endpoints: usize,
    /// Environments declared, or the built-in one.
    pub environments: usize,
    /// Script files, modules included, and inline handlers.
    pub scripts: usize,
}

/// What a check may ask for that a start never does.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Variables that `(env)` finds before those of the process.
    pub environment: BTreeMap<String, String>,
    /// Whether no Lua is looked at. No site comes out then, for its scripts were not compiled.
    pub without_scripts: bool,
}

/// Loads sites, and remembers parsed chunks and compiled scripts from one load to the next.
#[derive(Default)]
pub struct Loader {
    parser: Parser,
    scripts: ScriptCache,
    outlines: Outlines,
    given: Arc<Given>,
}

impl Loader {
    /// A loader that heeds the options of a check.
    pub fn with(options: Options) -> Self {
        let scripts = ScriptCache::new(options.without_scripts);
        let given = Given { environment: options.environment, ..Given::default() };
        Self { scripts, given: Arc::new(given), ..Self::default() }
    }

    /// From now on these texts stand in the place of the files at their absolute paths, whether these exist or not:
    /// what an editor has open and not saved. They take the place of those that were given before.
    pub fn set_texts(&mut self, texts: BTreeMap<PathBuf, Arc<str>>) {
        self.given = Arc::new(Given { environment: self.given.environment.clone(), texts });
    }

    /// Loads the site at `path`. Runs no Lua, opens nothing but files to read, writes nothing.
    ///
    /// # Errors
    /// The site file itself cannot be read (not there, no right, no UTF-8).
    pub fn load(&mut self, path: &Path) -> io::Result<Loaded> {
        self.load_text(path, files::site_text(path, &self.given)?)
    }

    /// Loads the site of this text, as if it stood at `path`: what it includes and names is looked for from there.
    ///
    /// # Errors
    /// There is no current folder for a relative path.
    pub fn load_text(&mut self, path: &Path, text: Arc<str>) -> io::Result<Loaded> {
        let mut found = Diagnostics::default();
        let mut files = Files::read(path, text, &self.given, &mut self.parser, &mut found)?;
        let folders = files.documents.iter().map(|read| read.path.parent().unwrap_or(Path::new("/")).to_path_buf());
        let broken = files.documents.iter().flat_map(|read| read.document.broken());
        let complete = broken.into_iter().all(|broken| broken.name.as_deref() != Some("secrets"));
        let values = Values::new(&files.folder, folders.collect(), complete, &self.given);
        let config = Config::decode(&files, &values, &mut found);
        let resolver = Resolver {
            config: &config,
            files: &mut files,
            scripts: &mut self.scripts,
            outlines: &mut self.outlines,
            sink: &mut found,
            read: BTreeMap::new(),
            script_files: HashMap::new(),
            allowances: Vec::new(),
        };
        let (site, allowances) = resolve(resolver);
        let counts = count(&files, &site);
        allowed::apply(&files, allowances, &mut found, self.scripts.compiles());
        let site = (!found.has_errors() && self.scripts.compiles()).then(|| Arc::new(site));
        self.parser.prune();
        self.scripts.prune();
        self.outlines.prune();
        let mut watch = std::mem::take(&mut files.watch);
        watch.extend(values.files());
        Ok(Loaded { site, diagnostics: found.sorted(), sources: files.sources, watch, counts })
    }
}

fn count(files: &Files, site: &Site) -> Counts {
    let mut scripts = BTreeSet::new();
    for endpoint in &site.endpoints {
        if let crate::endpoint::Action::Script { script, .. } = &endpoint.action {
            scripts.insert(script.id);
        }
    }
    for environment in &site.environments {
        scripts.extend(environment.modules.values().map(|module| module.id));
        scripts.extend(environment.startup.iter().map(|startup| startup.id));
    }
    Counts {
        files: files.documents.len(),
        endpoints: site.endpoints.len(),
        environments: site.environments.len(),
        scripts: scripts.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_texts_stand_in_the_place_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("site.kdl"), "include \"a.kdl\"\n").unwrap();
        let mut loader = Loader::default();
        assert!(loader.load(&at("site.kdl")).unwrap().diagnostics.has_errors());
        let include = "endpoint GET \"/\" { script \"new.lua\"; }\n";
        let script = "return require \"lib.more\"";
        let texts = [("a.kdl", include), ("new.lua", script), ("lib/more.lua", "return 1")];
        loader.set_texts(texts.map(|(name, text)| (at(name), text.into())).into());
        let loaded = loader.load(&at("site.kdl")).unwrap();
        assert_eq!((loaded.diagnostics.iter().count(), loaded.counts.files, loaded.counts.scripts), (0, 2, 2));
        loader.set_texts(BTreeMap::new());
        assert!(loader.load(&at("site.kdl")).unwrap().diagnostics.has_errors());
    }
}
