//! A tiny runspace for the tests of host modules: the modules, and lines of Lua with what they must answer.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mlua::{Error, Lua, MultiValue, Value};
use slog::{KV, Level, Logger};

use crate::environment::api::{Host, Module, ProcessHost};
use crate::environment::call::CallContext;
use crate::environment::fiber::{Fiber, Limits, callbacks};
use crate::environment::settings::{Environment, EnvironmentSettings};
use crate::exchange::Typed;
use crate::script::{LineMap, Script, ScriptId};

/// A host with a variable of each type and one that is absent, two secrets of which one is absent, node `here`,
/// generation 3.
pub fn host() -> Arc<Host> {
    let texts = Typed::Many(vec![Typed::Text("a".into()), Typed::Text("b".into())]);
    let variables = [
        ("greeting", Typed::Text("hello".into())),
        ("limit", Typed::Integer(10)),
        ("ratio", Typed::Number(0.5)),
        ("debug", Typed::Boolean(true)),
        ("hosts", texts),
        ("large", Typed::Integer((1 << 53) + 1)),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), Some(value)));
    let environment = Environment {
        name: "main".into(),
        settings: EnvironmentSettings::default(),
        variables: variables.into_iter().chain([("absent".to_owned(), None)]).collect(),
        secrets: [("api_key".to_owned(), Some("k-123".to_owned())), ("absent".to_owned(), None)].into(),
        modules: BTreeMap::new(),
        module_folders: Vec::new(),
        startup: None,
    };
    let process = ProcessHost { generation: AtomicU64::new(3), node: "here".into(), ..ProcessHost::default() };
    Arc::new(Host { environment: Arc::new(environment), process: Arc::new(process) })
}

/// A state with these modules as globals.
pub fn state(modules: &[Module]) -> Lua {
    state_of(modules, &host())
}

/// A state with these modules as globals, of this host.
pub fn state_of(modules: &[Module], host: &Arc<Host>) -> Lua {
    let lua = Lua::new();
    for module in modules {
        lua.globals().set(module.name, (module.install)(&lua, host).unwrap()).unwrap();
    }
    lua
}

/// Evaluates each expression and compares what it answers: values joined by `, `, or `raises` and the message.
pub fn check(modules: &[Module], cases: &[(&str, &str)]) {
    let lua = state(modules);
    for (code, wanted) in cases {
        assert_eq!(answer(&lua, code), *wanted, "{code}");
    }
}

/// What an expression answers.
pub fn answer(lua: &Lua, code: &str) -> String {
    match lua.load(code).set_name("=case").eval::<MultiValue>() {
        Ok(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        Err(error) => format!("raises {}", message(&error)),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Table(table) if table.metatable().is_none_or(|found| !found.contains_key("__tostring").unwrap()) => {
            let items: Vec<String> = table.sequence_values::<Value>().map(|item| shown(&item.unwrap())).collect();
            format!("{{{}}}", items.join(", "))
        }
        other => other.to_string().unwrap(),
    }
}

/// The message alone, without place and traceback.
pub fn message(error: &Error) -> String {
    match error {
        Error::CallbackError { cause, .. } => message(cause),
        Error::RuntimeError(text) => {
            let first = text.lines().next().unwrap_or_default();
            first
                .split_once(": ")
                .filter(|(place, _)| place.starts_with("case:"))
                .map_or(first, |(_, rest)| rest)
                .to_owned()
        }
        other => other.to_string(),
    }
}

/// Like [`check`], for functions that wait: each expression runs as a handler does, on a stack of its own.
pub fn check_waiting(modules: &[Module], cases: &[(&str, &str)]) {
    let lua = state(modules);
    let logger = Logger::root(slog::Discard, slog::o!());
    for (code, wanted) in cases {
        assert_eq!(in_fiber(&lua, &logger, code), *wanted, "{code}");
    }
}

/// What an expression answers that runs as a handler does.
pub fn in_fiber(lua: &Lua, logger: &Logger, code: &str) -> String {
    on_worker(async { fiber(lua, logger, code).await.result.unwrap() })
}

/// A handler that answers an expression; it has a minute.
pub(in crate::environment) fn fiber(lua: &Lua, logger: &Logger, code: &str) -> Fiber<String> {
    let call = CallContext {
        request: None,
        log: logger.clone().into(),
        made: OnceCell::new(),
        side_by_side: Cell::new(0),
        script: Arc::new(Script {
            id: ScriptId(0),
            origin: "case".into(),
            text: "".into(),
            bytecode: Arc::new([]),
            lines: LineMap::default(),
            native: false,
        }),
        table: Cell::new(std::ptr::null()),
        aborted: RefCell::new(None),
        loaded: RefCell::new(None),
    };
    let limits = Limits { deadline: Instant::now() + Duration::from_secs(60), memory: 64 << 20 };
    let (state, code) = (lua.clone(), code.to_owned());
    Fiber::new(callbacks(lua), limits, Some(Rc::new(call)), move || answer(&state, &code)).unwrap()
}

/// Runs a future as a worker does.
pub fn on_worker<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

/// What is recorded from a level upward while `run` runs: level, tag, message and fields of each record.
pub fn recorded<R>(level: Level, run: impl FnOnce(Logger) -> R) -> (Vec<String>, R) {
    let records = Arc::new(Mutex::new(Vec::new()));
    let result = run(Logger::root(slog::Fuse(Recorder { records: Arc::clone(&records), level }), slog::o!()));
    let records = std::mem::take(&mut *records.lock().unwrap());
    (records, result)
}

struct Recorder {
    records: Arc<Mutex<Vec<String>>>,
    level: Level,
}

impl slog::Drain for Recorder {
    type Ok = ();
    type Err = slog::Error;

    fn log(&self, record: &slog::Record<'_>, _: &slog::OwnedKVList) -> Result<(), slog::Error> {
        assert!(self.is_enabled(record.level()), "a record that nobody takes is not made");
        let mut text = Text(format!("{} {} {}", record.level(), record.tag(), record.msg()));
        record.kv().serialize(record, &mut text)?;
        self.records.lock().unwrap().push(text.0);
        Ok(())
    }

    fn is_enabled(&self, level: Level) -> bool {
        level.is_at_least(self.level)
    }
}

struct Text(String);

impl slog::Serializer for Text {
    fn emit_arguments(&mut self, key: slog::Key, value: &std::fmt::Arguments<'_>) -> slog::Result {
        self.0.push_str(&format!(" {key}={value}"));
        Ok(())
    }

    fn emit_serde(&mut self, key: slog::Key, value: &dyn slog::SerdeValue) -> slog::Result {
        let json = serde_json::to_string(value.as_serde()).map_err(|_| slog::Error::Other)?;
        self.0.push_str(&format!(" {key}={json}"));
        Ok(())
    }
}
