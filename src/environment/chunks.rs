//! The compiled scripts that a runspace has loaded: handlers and modules, each once.

use std::sync::{Arc, Weak};

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua};
use parking_lot::Mutex;

use super::reference::Reference;
use crate::script::{Script, ScriptId};

/// Loaded scripts above which those of no living site are dropped.
const PRUNE_ABOVE: usize = 64;

/// The scripts of one runspace; kept in its app data too, where `require` finds it.
pub(super) type SharedChunks = Arc<Mutex<Chunks>>;

/// The scripts of one runspace.
#[derive(Default)]
pub(super) struct Chunks {
    /// In the order of their numbers, which grow: a later script is nearly always added at the end.
    loaded: Vec<Loaded>,
    /// How many there were after the last pruning.
    kept: usize,
}

struct Loaded {
    id: ScriptId,
    script: Weak<Script>,
    function: Arc<Reference>,
}

impl Chunks {
    /// The function of a script, loaded at its first use in this runspace. It belongs to the runspace: whoever runs it
    /// gives it globals first, or runs a copy.
    pub(super) fn function(&mut self, lua: &Lua, script: &Arc<Script>) -> mlua::Result<Arc<Reference>> {
        if let Ok(at) = self.find(script.id) {
            return Ok(self.loaded[at].function.clone());
        }
        let function = Arc::new(Reference::new(lua, load(lua, script)?)?);
        self.prune(lua)?;
        let loaded = Loaded { id: script.id, script: Arc::downgrade(script), function: function.clone() };
        let at = self.find(script.id).unwrap_or_else(|at| at);
        self.loaded.insert(at, loaded);
        Ok(function)
    }

    fn find(&self, id: ScriptId) -> Result<usize, usize> {
        self.loaded.binary_search_by_key(&id.0, |loaded| loaded.id.0)
    }

    /// Drops scripts that no site has any more, once the number has doubled.
    fn prune(&mut self, lua: &Lua) -> mlua::Result<()> {
        if self.loaded.len() <= PRUNE_ABOVE.max(2 * self.kept) {
            return Ok(());
        }
        // A function that runs now keeps its number.
        let is_needed = |it: &mut Loaded| it.script.strong_count() > 0 || Arc::strong_count(&it.function) > 1;
        let dropped: Vec<Loaded> = self.loaded.extract_if(.., |it| !is_needed(it)).collect();
        self.kept = self.loaded.len();
        dropped.into_iter().filter_map(|it| Arc::into_inner(it.function)).try_for_each(|it| it.release(lua))
    }

    /// The script of this number, if it is still part of a site.
    pub(super) fn script(&self, number: u64) -> Option<Arc<Script>> {
        let at = self.find(ScriptId(number)).ok()?;
        self.loaded[at].script.upgrade()
    }
}

/// Loads bytecode. Native code is made only where the script asks for it: it costs 150 µs for each chunk.
fn load(lua: &Lua, script: &Script) -> mlua::Result<Function> {
    lua.enable_jit(script.native);
    let chunk = lua.load(&script.bytecode[..]).set_mode(ChunkMode::Binary);
    chunk.set_name(chunk_name(script)).into_function()
}

/// The name that Luau puts before lines of a chunk: the file, and the number that leads back to the script.
fn chunk_name(script: &Script) -> String {
    format!("={}#{}", script.origin, script.id.0)
}
