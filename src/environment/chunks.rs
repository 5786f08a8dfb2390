//! The compiled scripts that a runspace has loaded: handlers and modules, each once.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua};

use crate::script::{Script, ScriptId};

/// Loaded scripts above which those of no living site are dropped.
const PRUNE_ABOVE: usize = 64;

/// The scripts of one runspace; kept in its app data, where `require` finds it.
#[derive(Default)]
pub(super) struct Chunks {
    loaded: HashMap<ScriptId, Loaded>,
    /// How many there were after the last pruning.
    kept: usize,
}

struct Loaded {
    script: Weak<Script>,
    function: Function,
}

impl Chunks {
    /// The function of a script, loaded at its first use in this runspace. It belongs to the runspace: whoever runs it
    /// clones it first, or owns the runspace's one environment.
    pub(super) fn function(&mut self, lua: &Lua, script: &Arc<Script>) -> mlua::Result<&Function> {
        if !self.loaded.contains_key(&script.id) {
            let function = load(lua, script)?;
            self.prune();
            self.loaded.insert(script.id, Loaded { script: Arc::downgrade(script), function });
        }
        let loaded = self.loaded.get(&script.id).map(|loaded| &loaded.function);
        loaded.ok_or_else(|| mlua::Error::runtime("the script was not loaded"))
    }

    /// Drops scripts that no site has any more, once the number has doubled.
    fn prune(&mut self) {
        if self.loaded.len() > PRUNE_ABOVE.max(2 * self.kept) {
            self.loaded.retain(|_, loaded| loaded.script.strong_count() > 0);
            self.kept = self.loaded.len();
        }
    }

    /// The script of this number, if it is still part of a site.
    pub(super) fn script(&self, number: u64) -> Option<Arc<Script>> {
        self.loaded.get(&ScriptId(number)).and_then(|loaded| loaded.script.upgrade())
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
