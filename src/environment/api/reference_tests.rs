//! The reference of the host functions as a test: its examples give what it says, and it leaves no function out.

use mlua::{Lua, Table, Value};
use slog::Logger;

use crate::environment::api::MODULES;
use crate::environment::api::testing::{host, in_fiber, state_of};

const REFERENCE: &str = include_str!("../../../docs/reference/lua.md");

/// Between an expression and what it gives.
const GIVES: &str = "-->";

fn everything() -> Lua {
    state_of(MODULES, &host())
}

/// The Lua blocks, with the line where each begins.
fn blocks() -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in REFERENCE.lines().enumerate() {
        match (&mut open, line) {
            (None, "```lua") => open = Some((number + 2, String::new())),
            (Some(_), "```") => blocks.extend(open.take()),
            (Some((_, text)), line) => text.push_str(&format!("{line}\n")),
            (None, _) => {}
        }
    }
    blocks
}

#[test]
fn every_example_gives_what_it_says() {
    let lua = everything();
    let logger = Logger::root(slog::Discard, slog::o!());
    let mut shown = 0;
    for (first, text) in blocks() {
        for (offset, line) in text.lines().enumerate() {
            let Some((code, wanted)) = line.split_once(GIVES) else {
                continue;
            };
            let code = code.trim();
            assert_eq!(in_fiber(&lua, &logger, code), wanted.trim(), "line {}: {code}", first + offset);
            shown += 1;
        }
    }
    assert!(shown > 50, "only {shown} examples were found");
}

#[test]
fn every_other_block_can_be_compiled() {
    let lua = everything();
    for (first, text) in blocks().into_iter().filter(|(_, text)| !text.contains(GIVES)) {
        let compiled = lua.load(&text).into_function();
        assert!(compiled.is_ok(), "line {first}: {compiled:?}");
    }
}

#[test]
fn every_function_is_there() {
    let lua = everything();
    for module in MODULES {
        let name = module.name;
        assert!(REFERENCE.contains(&format!("`{name}")), "{name} is missing");
        let Value::Table(table) = lua.globals().get(name).unwrap() else {
            continue;
        };
        for field in fields(&table) {
            let written = format!("{name}.{field}");
            assert!(name == "vars" || REFERENCE.contains(&format!("`{written}")), "{written} is missing");
        }
    }
}

fn fields(table: &Table) -> Vec<String> {
    table.pairs::<String, Value>().map(|pair| pair.unwrap().0).collect()
}
