//! Checks the sites of the open texts, on a thread of its own: the loader that `check` and `run` use.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::kdl::schema::Schema;
use crate::site::load::{Loaded, Loader, Options};

use super::roots::{self, Texts};

/// What is to be checked.
pub(super) struct Job {
    /// Which state of the texts this is.
    pub(super) revision: u64,
    /// The open texts of files.
    pub(super) texts: Texts,
}

/// What was found.
#[derive(Default)]
pub(super) struct Checked {
    /// The state of the texts that was looked at.
    pub(super) revision: u64,
    /// Every site that has an open text.
    pub(super) sites: Vec<Site>,
}

/// A site that was checked.
pub(super) struct Site {
    /// Its site file.
    pub(super) root: PathBuf,
    /// What its load found. It keeps the compiled scripts, so that the next load does not compile them again.
    pub(super) loaded: Loaded,
}

impl Site {
    /// Whether the file had a part in what the site is.
    pub(super) fn reads(&self, path: &Path) -> bool {
        self.loaded.watch.contains(path)
    }
}

/// Starts the thread. It ends when nobody sends any more; of several jobs that wait it does the newest.
pub(super) fn start(options: Options, schema: Arc<Schema>) -> (Sender<Job>, Receiver<Checked>) {
    let (jobs, todo) = unbounded::<Job>();
    let (done, checked) = unbounded();
    thread::spawn(move || {
        let mut loaders = Loaders::new(options);
        while let Ok(job) = todo.recv() {
            let job = todo.try_iter().last().unwrap_or(job);
            let revision = job.revision;
            // A fault of ours must cost one round of findings, not the session.
            let found = catch_unwind(AssertUnwindSafe(|| loaders.check(job, &schema))).unwrap_or_else(|_| {
                loaders = Loaders::new(loaders.options.clone());
                Checked { revision, sites: Vec::new() }
            });
            if done.send(found).is_err() {
                break;
            }
        }
    });
    (jobs, checked)
}

/// The loaders, by site file: each remembers what it parsed and compiled.
struct Loaders {
    options: Options,
    by_site: BTreeMap<PathBuf, Loader>,
}

impl Loaders {
    fn new(options: Options) -> Self {
        Self { options, by_site: BTreeMap::new() }
    }

    fn check(&mut self, Job { revision, texts }: Job, schema: &Schema) -> Checked {
        let named = roots::nearest(&texts);
        let mut sites: Vec<Site> = named.iter().filter_map(|root| self.load(root, &texts)).collect();
        // A site of which nothing is open is nobody's business.
        sites.retain(|site| texts.keys().any(|path| site.reads(path)));
        let is_read = |path: &Path| sites.iter().any(|site| site.reads(path));
        let alone: Vec<PathBuf> = roots::alone(&texts, schema, is_read).into_iter().cloned().collect();
        let mut others: Vec<Site> = alone.iter().filter_map(|root| self.load(root, &texts)).collect();
        roots::without_includes(&mut others, |site, other| site.reads(&other.root));
        sites.extend(others);
        self.by_site.retain(|root, _| named.contains(root) || alone.contains(root));
        Checked { revision, sites }
    }

    /// Loads the site; `None` when its file cannot be read.
    fn load(&mut self, root: &Path, texts: &Texts) -> Option<Site> {
        let loader = self.by_site.entry(root.to_path_buf()).or_insert_with(|| Loader::with(self.options.clone()));
        loader.set_texts(texts.clone());
        let loaded = loader.load(root).ok()?;
        Some(Site { root: root.to_path_buf(), loaded })
    }
}
