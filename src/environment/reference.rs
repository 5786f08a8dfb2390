//! Values that a runspace keeps for raw code: a number in Lua's registry each.
//!
//! mlua's own references cost a lock and a comparison of states at each use; what every request needs is pushed by its
//! number instead.
//!
//! # Invariants of the unsafe part
//! * A reference is made and let go in a protected call, by [`Lua::exec_raw`].
//! * It is pushed only onto the state that it was made in, by somebody who has asked for the slot.
#![expect(unsafe_code, reason = "uses Lua's registry directly; the invariants stand above")]

use std::ffi::c_int;

use mlua::{FromLua, IntoLua, Lua, Result, ffi};

/// A value that its runspace keeps until it ends, or until it is let go.
#[derive(Debug)]
pub(super) struct Reference(c_int);

impl Reference {
    /// Keeps a value.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub(super) fn new(lua: &Lua, value: impl IntoLua) -> Result<Self> {
        let mut number = 0;
        // SAFETY: see the invariants of this module; the value is the only argument.
        unsafe {
            lua.exec_raw::<()>(value, |state| {
                number = ffi::lua_ref(state, 1);
                ffi::lua_settop(state, 0);
            })?;
        }
        Ok(Self(number))
    }

    /// The value again.
    ///
    /// # Errors
    /// It is of another kind, or Lua has no memory left.
    pub(super) fn get<T: FromLua>(&self, lua: &Lua) -> Result<T> {
        // SAFETY: see the invariants of this module; a protected call has room for one value.
        unsafe { lua.exec_raw::<T>((), |state| self.push(state)) }
    }

    /// Keeps it no longer.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub(super) fn release(self, lua: &Lua) -> Result<()> {
        // SAFETY: see the invariants of this module.
        unsafe {
            lua.exec_raw::<()>((), |state| {
                ffi::lua_unref(state, self.0);
            })
        }
    }

    /// Pushes the value.
    ///
    /// # Safety
    /// As the invariants of this module say.
    pub(super) unsafe fn push(&self, state: *mut ffi::lua_State) {
        // SAFETY: the registry holds the value; there is a slot.
        unsafe { ffi::lua_rawgeti_(state, ffi::LUA_REGISTRYINDEX, self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_until_they_are_let_go() {
        let lua = Lua::new();
        let (one, two) = (Reference::new(&lua, "one").unwrap(), Reference::new(&lua, 2).unwrap());
        lua.gc_collect().unwrap();
        assert_eq!((one.get::<String>(&lua).unwrap(), two.get::<i64>(&lua).unwrap()), ("one".to_owned(), 2));
        let number = one.0;
        one.release(&lua).unwrap();
        assert_eq!(Reference::new(&lua, "three").unwrap().0, number, "its number is free again");
    }
}
