//! A tiny runspace for the tests of host modules: the modules, and lines of Lua with what they must answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mlua::{Error, Lua, MultiValue, Value};

use crate::environment::api::{Host, Module, ProcessHost};
use crate::environment::settings::{Environment, EnvironmentSettings};
use crate::exchange::Typed;

/// A host with a variable of each type, one secret, node `here`, generation 3.
pub fn host() -> Arc<Host> {
    let texts = Typed::Many(vec![Typed::Text("a".into()), Typed::Text("b".into())]);
    let variables = [
        ("greeting", Typed::Text("hello".into())),
        ("limit", Typed::Integer(10)),
        ("ratio", Typed::Number(0.5)),
        ("debug", Typed::Boolean(true)),
        ("hosts", texts),
    ];
    let environment = Environment {
        name: "main".into(),
        settings: EnvironmentSettings::default(),
        variables: variables
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        secrets: [("api_key".to_owned(), "k-123".to_owned())].into(),
        modules: BTreeMap::new(),
        module_folders: Vec::new(),
        startup: None,
    };
    let process = ProcessHost {
        generation: AtomicU64::new(3),
        node: "here".into(),
        ..ProcessHost::default()
    };
    Arc::new(Host {
        environment: Arc::new(environment),
        process: Arc::new(process),
    })
}

/// A state with these modules as globals.
pub fn state(modules: &[Module]) -> Lua {
    state_of(modules, &host())
}

/// A state with these modules as globals, of this host.
pub fn state_of(modules: &[Module], host: &Arc<Host>) -> Lua {
    let lua = Lua::new();
    for module in modules {
        lua.globals()
            .set(module.name, (module.install)(&lua, host).unwrap())
            .unwrap();
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
        Value::Table(table) if table.metatable().is_none() => {
            let items: Vec<String> = table
                .sequence_values::<Value>()
                .map(|item| shown(&item.unwrap()))
                .collect();
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
