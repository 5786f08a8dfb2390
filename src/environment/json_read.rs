//! Values into Lua by the raw stack: JSON text becomes tables, and fields of a request become tables.
//!
//! mlua's safe values cost a reference each; a document of a thousand values is several times faster without. Nothing
//! here decides what a request or an answer means; it only moves values.
//!
//! # Invariants of the unsafe part
//! * Every raw call happens inside [`Lua::exec_raw`], which runs the closure in a protected call on the state's current
//!   thread and gives back exactly what is left on its stack. The pointer to the state never leaves the closure.
//! * Space on the Lua stack is asked for before it is used: [`Stack::room`] once for each level of nesting, and every
//!   level leaves as many slots as it found plus one, the value it made. On an error the level just returns; the
//!   closure then cuts the stack back.
//! * What Rust owns (the parser with its buffer, the error) lives in the caller of `exec_raw` and is lent to the closure.
//!   The only Lua errors the calls used here can raise are "not enough memory" and "string too long": pushes of
//!   plain values cannot fail, and tables made here are neither frozen nor have metamethods while they are filled,
//!   and their keys are strings or indexes, never nil or NaN. Such an error is a C++ exception; it passes through
//!   frames that own nothing and through functions declared `C-unwind`.
//! * Strings are copied by Lua when they are pushed, so nothing on its stack points into Rust's memory. The empty string
//!   is pushed with a valid pointer, which `lua_pushlstring` of mlua sees to.
//! * A garbage collection may run at any push. Whatever was made is on the Lua stack, and so is kept.
#![expect(unsafe_code, reason = "fills Lua's stack directly; the invariants stand above")]

use std::ffi::{c_char, c_int};
use std::fmt;
use std::ptr;

use mlua::{Lua, Table, Value, ffi};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::api::value::{DEPTH, array_metatable};
use crate::exchange::Typed;

/// The largest whole number below which a Lua number tells all from their neighbours.
const EXACT: u64 = 1 << 53;

/// Where the array marker is on the stack of a walk: its only argument.
const MARKER: c_int = 1;

/// Makes the value of a JSON text. The text must have no byte order mark.
///
/// # Errors
/// Outside: Lua has no memory left. Inside: the text is not JSON, or deeper than [`DEPTH`].
pub(super) fn read(lua: &Lua, text: &[u8]) -> mlua::Result<Result<Value, serde_json::Error>> {
    let mut parser = serde_json::Deserializer::from_slice(text);
    // The seed counts levels itself, so that the limit is the same both ways.
    parser.disable_recursion_limit();
    let mut failed = None;
    let marker = array_metatable(lua)?;
    // SAFETY: see the invariants of this module; the marker is the only argument.
    let value = unsafe {
        lua.exec_raw::<Value>(marker, |state| {
            let stack = Stack { state, depth: 0 };
            let done = stack.deserialize(&mut parser).and_then(|()| parser.end());
            if let Err(error) = done {
                failed = Some(error);
                ffi::lua_settop(state, MARKER);
                ffi::lua_pushnil(state);
            }
            ffi::lua_remove(state, MARKER);
        })?
    };
    Ok(failed.map_or(Ok(value), Err))
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
    let count = c_int::try_from(fields.len()).unwrap_or(c_int::MAX);
    let marker = array_metatable(lua)?;
    // SAFETY: see the invariants of this module; the iterator is only lent.
    unsafe {
        lua.exec_raw::<Table>(marker, |state| {
            let stack = Stack { state, depth: 0 };
            ffi::lua_createtable(state, 0, count.min(64));
            for (name, item) in &mut fields {
                stack.push_bytes(name);
                stack.push_item(&item);
                ffi::lua_rawset(state, -3);
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
            let stack = Stack { state, depth: 0 };
            stack.begin_list(0);
            for (index, item) in (1..).zip(&mut items) {
                stack.push_item(&item);
                ffi::lua_rawseti_(state, -2, index);
            }
            ffi::lua_remove(state, MARKER);
        })
    }
}

/// The stack of a walk, with the marker of arrays at its bottom.
#[derive(Clone, Copy)]
struct Stack {
    state: *mut ffi::lua_State,
    /// How many tables are around the value that comes next.
    depth: usize,
}

impl Stack {
    /// The stack inside of one more table, with room for what one level needs.
    fn room<E: Error>(self) -> Result<Self, E> {
        if self.depth == DEPTH {
            return Err(E::custom(format_args!("nested deeper than {DEPTH} levels")));
        }
        // SAFETY: see the invariants of this module.
        if unsafe { ffi::lua_checkstack(self.state, 8) } == 0 {
            return Err(E::custom("no room left on the stack of Lua"));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }

    fn push_bytes(self, bytes: &[u8]) {
        // SAFETY: Lua copies the bytes.
        unsafe { ffi::lua_pushlstring(self.state, bytes.as_ptr().cast::<c_char>(), bytes.len()) };
    }

    fn push_integer(self, value: i64) {
        // SAFETY: a plain push.
        unsafe {
            if value.unsigned_abs() <= EXACT {
                ffi::lua_pushnumber(self.state, value as f64);
            } else {
                ffi::lua_pushinteger64(self.state, value);
            }
        }
    }

    /// Pushes a list that is marked as one.
    fn begin_list(self, capacity: usize) {
        // SAFETY: the marker is at its place; setting a metatable on a fresh table cannot fail.
        unsafe {
            ffi::lua_createtable(self.state, capacity.min(64) as c_int, 0);
            ffi::lua_pushvalue(self.state, MARKER);
            ffi::lua_setmetatable(self.state, -2);
        }
    }

    fn push_item(self, item: &Item<'_>) {
        match item {
            Item::Raw(bytes) => self.push_bytes(bytes),
            Item::Typed(value) => self.push_typed(value),
        }
    }

    /// Declared lists hold no lists, so the minimal stack that Lua promises is enough.
    fn push_typed(self, value: &Typed) {
        match value {
            Typed::Text(text) => self.push_bytes(text.as_bytes()),
            Typed::Integer(value) => self.push_integer(*value),
            // SAFETY: plain pushes.
            Typed::Number(value) => unsafe { ffi::lua_pushnumber(self.state, *value) },
            Typed::Boolean(value) => unsafe {
                ffi::lua_pushboolean(self.state, c_int::from(*value));
            },
            Typed::Many(values) => {
                self.begin_list(values.len());
                for (index, value) in (1..).zip(values) {
                    self.push_typed(value);
                    // SAFETY: the list is below the value.
                    unsafe { ffi::lua_rawseti_(self.state, -2, index) };
                }
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for Stack {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<(), D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Stack {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        // SAFETY: a plain push.
        unsafe { ffi::lua_pushboolean(self.state, c_int::from(value)) };
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.push_integer(value);
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => self.visit_f64(value as f64),
        }
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        // SAFETY: a plain push.
        unsafe { ffi::lua_pushnumber(self.state, value) };
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.push_bytes(text.as_bytes());
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        // SAFETY: a plain push. This is what mlua calls NULL.
        unsafe { ffi::lua_pushlightuserdatatagged(self.state, ptr::null_mut(), 0) };
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inside = self.room()?;
        self.begin_list(4);
        let mut index: c_int = 0;
        while items.next_element_seed(inside)?.is_some() {
            index = index.checked_add(1).ok_or_else(|| A::Error::custom("too many items"))?;
            // SAFETY: the list is below the value that the seed pushed.
            unsafe { ffi::lua_rawseti_(self.state, -2, index) };
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let inside = self.room()?;
        // SAFETY: there is room.
        unsafe { ffi::lua_createtable(self.state, 0, 4) };
        while fields.next_key_seed(inside)?.is_some() {
            fields.next_value_seed(inside)?;
            // SAFETY: the table is below the key and the value.
            unsafe { ffi::lua_rawset(self.state, -3) };
        }
        Ok(())
    }
}
