//! Values into Lua by the raw stack: JSON text becomes tables, and named values become tables.
//!
//! mlua's safe values cost a reference each; a document of a thousand values is several times faster without. Nothing
//! here decides what a request or an answer means; it only moves values.
//!
//! # Invariants of the unsafe part
//! * Those of [`push`](super::push). Every raw call happens in a protected call, inside [`Lua::exec_raw`] or a C function
//!   that Lua called; the pointer to the state never leaves it.
//! * Space on the Lua stack is asked for before it is used: [`Walk::room`] once for each level of nesting, and every
//!   level leaves as many slots as it found plus one, the value it made. On an error the level just returns; whoever
//!   began the walk then cuts the stack back.
#![expect(unsafe_code, reason = "fills Lua's stack directly; the invariants stand above")]

use std::ffi::c_int;
use std::fmt;

use mlua::{Lua, Table, Value, ffi};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::api::value::{DEPTH, array_metatable};
use super::push::Stack;
use crate::exchange::Typed;

/// Where the array marker is on the stack of a walk: its only argument.
const MARKER: c_int = 1;

/// Makes the value of a JSON text. The text must have no byte order mark.
///
/// # Errors
/// Outside: Lua has no memory left. Inside: the text is not JSON, or deeper than [`DEPTH`].
pub(super) fn read(lua: &Lua, text: &[u8]) -> mlua::Result<Result<Value, serde_json::Error>> {
    let mut done = Ok(());
    let marker = array_metatable(lua)?;
    // SAFETY: see the invariants of this module; the marker is the only argument.
    let value = unsafe {
        lua.exec_raw::<Value>(marker, |state| {
            done = push_json(Stack::new(state, MARKER), text);
            if done.is_err() {
                ffi::lua_settop(state, MARKER);
                ffi::lua_pushnil(state);
            }
            ffi::lua_remove(state, MARKER);
        })?
    };
    Ok(done.map(|()| value))
}

/// Pushes the value of a JSON text without a byte order mark. After an error more or less than one value may be there.
///
/// # Errors
/// The text is not JSON, or deeper than [`DEPTH`].
pub(super) fn push_json(stack: Stack, text: &[u8]) -> Result<(), serde_json::Error> {
    let walk = Walk { stack, depth: 0 };
    // Text that is UTF-8 as a whole need not be looked at again for each string in it.
    match std::str::from_utf8(text) {
        Ok(text) => push_from(serde_json::Deserializer::from_str(text), walk),
        Err(_) => push_from(serde_json::Deserializer::from_slice(text), walk),
    }
}

fn push_from<'de, R: serde_json::de::Read<'de>>(
    mut parser: serde_json::Deserializer<R>,
    walk: Walk,
) -> Result<(), serde_json::Error> {
    // The walk counts levels itself, so that the limit is the same both ways.
    parser.disable_recursion_limit();
    walk.deserialize(&mut parser)?;
    parser.end()
}

/// A value of a field of a request.
pub(super) enum Item<'a> {
    /// Bytes as they came.
    Raw(&'a [u8]),
    /// A declared one.
    Typed(&'a Typed),
}

/// Makes a table of named values; of several values with one name the first is kept.
///
/// # Errors
/// Lua has no memory left.
pub(super) fn record<'a>(
    lua: &Lua,
    fields: impl DoubleEndedIterator<Item = (&'a [u8], Item<'a>)> + ExactSizeIterator,
) -> mlua::Result<Table> {
    let mut fields = fields.rev();
    let count = fields.len();
    let marker = array_metatable(lua)?;
    // SAFETY: see the invariants of this module; the iterator is only lent.
    unsafe {
        lua.exec_raw::<Table>(marker, |state| {
            let stack = Stack::new(state, MARKER);
            stack.begin_record(count);
            for (name, item) in &mut fields {
                stack.bytes(name);
                push_item(stack, &item);
                stack.set_field();
            }
            ffi::lua_remove(state, MARKER);
        })
    }
}

/// Makes a list of values that stays one when it is empty.
///
/// # Errors
/// Lua has no memory left.
pub(super) fn list<'a>(lua: &Lua, mut items: impl Iterator<Item = Item<'a>>) -> mlua::Result<Table> {
    let marker = array_metatable(lua)?;
    // SAFETY: see the invariants of this module; the iterator is only lent.
    unsafe {
        lua.exec_raw::<Table>(marker, |state| {
            let stack = Stack::new(state, MARKER);
            stack.begin_list(0);
            for (index, item) in (1..).zip(&mut items) {
                push_item(stack, &item);
                stack.set_item(index);
            }
            ffi::lua_remove(state, MARKER);
        })
    }
}

fn push_item(stack: Stack, item: &Item<'_>) {
    match item {
        Item::Raw(bytes) => stack.bytes(bytes),
        Item::Typed(value) => stack.typed(value),
    }
}

/// A walk through a document.
#[derive(Clone, Copy)]
struct Walk {
    stack: Stack,
    /// How many tables are around the value that comes next.
    depth: usize,
}

impl Walk {
    /// The walk inside of one more table, with room for what one level needs.
    fn room<E: Error>(self) -> Result<Self, E> {
        if self.depth == DEPTH {
            return Err(E::custom(format_args!("nested deeper than {DEPTH} levels")));
        }
        // SAFETY: see the invariants of this module.
        if unsafe { ffi::lua_checkstack(self.stack.state, 8) } == 0 {
            return Err(E::custom("no room left on the stack of Lua"));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Walk {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<(), D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        self.stack.boolean(value);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.stack.integer(value);
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => self.visit_f64(value as f64),
        }
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.stack.number(value);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.stack.bytes(text.as_bytes());
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.stack.null();
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inside = self.room()?;
        self.stack.begin_list(4);
        let mut index: c_int = 0;
        while items.next_element_seed(inside)?.is_some() {
            index = index.checked_add(1).ok_or_else(|| A::Error::custom("too many items"))?;
            self.stack.set_item(index);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let inside = self.room()?;
        self.stack.begin_record(8);
        while fields.next_key_seed(inside)?.is_some() {
            fields.next_value_seed(inside)?;
            self.stack.set_field();
        }
        Ok(())
    }
}
