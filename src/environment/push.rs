//! Plain values onto the raw stack of Lua.
//!
//! mlua's safe values cost a reference each; what moves many of them (JSON, the fields of a request) is several times
//! faster without. Nothing here decides what a value means.
//!
//! # Invariants of the unsafe part
//! * A [`Stack`] is made only inside a protected call, on the state's current thread, and does not outlive it.
//! * Whoever pushes has asked for the space: Lua promises 20 slots to a C function, and a nested walk asks again for
//!   each level.
//! * The only Lua errors that these calls can raise are "not enough memory" and "string too long". Luau raises by C++
//!   exceptions, which drop what the frames in between own, and every function in between may unwind.
//! * Strings are copied by Lua when they are pushed, so nothing on its stack points into Rust's memory. The empty string
//!   is pushed with a valid pointer, which `lua_pushlstring` of mlua sees to.
//! * A garbage collection may run at any push. Whatever was made is on the Lua stack, and so is kept.
#![expect(unsafe_code, reason = "fills Lua's stack directly; the invariants stand above")]

use std::ffi::{c_char, c_int};
use std::ptr;
use std::slice;

use mlua::ffi;

use crate::exchange::Typed;

/// The largest whole number below which a Lua number tells all from their neighbours.
const EXACT: u64 = 1 << 53;

/// The stack of a Lua state that a C function works on.
#[derive(Clone, Copy)]
pub(super) struct Stack {
    pub(super) state: *mut ffi::lua_State,
    /// Where the metatable of arrays is.
    marker: c_int,
}

impl Stack {
    /// The stack of a state, with the index at which the metatable of arrays lies.
    ///
    /// # Safety
    /// As the invariants of this module say.
    pub(super) unsafe fn new(state: *mut ffi::lua_State, marker: c_int) -> Self {
        Self { state, marker }
    }

    /// Pushes a string.
    pub(super) fn bytes(self, bytes: &[u8]) {
        // SAFETY: Lua copies the bytes.
        unsafe { ffi::lua_pushlstring(self.state, bytes.as_ptr().cast::<c_char>(), bytes.len()) };
    }

    /// Pushes a whole number, as one of Lua's numbers where that is exact.
    pub(super) fn integer(self, value: i64) {
        // SAFETY: a plain push.
        unsafe {
            if value.unsigned_abs() <= EXACT {
                ffi::lua_pushnumber(self.state, value as f64);
            } else {
                ffi::lua_pushinteger64(self.state, value);
            }
        }
    }

    /// Pushes a number.
    pub(super) fn number(self, value: f64) {
        // SAFETY: a plain push.
        unsafe { ffi::lua_pushnumber(self.state, value) };
    }

    /// Pushes a boolean.
    pub(super) fn boolean(self, value: bool) {
        // SAFETY: a plain push.
        unsafe { ffi::lua_pushboolean(self.state, c_int::from(value)) };
    }

    /// Pushes what mlua calls NULL.
    pub(super) fn null(self) {
        // SAFETY: a plain push.
        unsafe { ffi::lua_pushlightuserdatatagged(self.state, ptr::null_mut(), 0) };
    }

    /// Pushes an empty table for named values.
    pub(super) fn begin_record(self, fields: usize) {
        // SAFETY: a plain push.
        unsafe { ffi::lua_createtable(self.state, 0, fields.min(64) as c_int) };
    }

    /// Pushes a list that is marked as one.
    pub(super) fn begin_list(self, capacity: usize) {
        // SAFETY: the marker is at its place; setting a metatable on a fresh table cannot fail.
        unsafe {
            ffi::lua_createtable(self.state, capacity.min(64) as c_int, 0);
            ffi::lua_pushvalue(self.state, self.marker);
            ffi::lua_setmetatable(self.state, -2);
        }
    }

    /// Puts the value on top into the list below it.
    pub(super) fn set_item(self, index: c_int) {
        // SAFETY: a list that this made is below the value; it is neither frozen nor has it metamethods.
        unsafe { ffi::lua_rawseti_(self.state, -2, index) };
    }

    /// Puts the value on top into the table below its key.
    pub(super) fn set_field(self) {
        // SAFETY: a table that this made is below a string and the value.
        unsafe { ffi::lua_rawset(self.state, -3) };
    }

    /// Makes the table on top one that cannot be changed.
    pub(super) fn freeze(self) {
        // SAFETY: a table that this made is on top.
        unsafe { ffi::lua_setreadonly(self.state, -1, 1) };
    }

    /// Pushes a declared value. Declared lists hold no lists, so this needs a few slots only.
    pub(super) fn typed(self, value: &Typed) {
        match value {
            Typed::Text(text) => self.bytes(text.as_bytes()),
            Typed::Integer(value) => self.integer(*value),
            Typed::Number(value) => self.number(*value),
            Typed::Boolean(value) => self.boolean(*value),
            Typed::Many(values) => {
                self.begin_list(values.len());
                for (index, value) in (1..).zip(values) {
                    self.typed(value);
                    self.set_item(index);
                }
                self.freeze();
            }
        }
    }

    /// The bytes of the string at an index; `None` for another kind of value, which is left as it is.
    ///
    /// # Safety
    /// The value stays where it is while the bytes are used.
    pub(super) unsafe fn text_at<'s>(self, index: c_int) -> Option<&'s [u8]> {
        let mut length = 0;
        // SAFETY: as the caller says; only a string is asked for its bytes, and they are never null.
        unsafe {
            if ffi::lua_type(self.state, index) != ffi::LUA_TSTRING {
                return None;
            }
            let start = ffi::lua_tolstring(self.state, index, &mut length);
            Some(slice::from_raw_parts(start.cast::<u8>(), length))
        }
    }
}
