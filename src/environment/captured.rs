//! What Lua functions have captured: the values outside of them that they go on using.
//!
//! Luau copies a captured variable into the function unless it is assigned again; then all functions that use it
//! share it, and one call can leave in it what the next one finds. This module sees and sets such variables; what
//! follows from them is [`sandbox`](super::sandbox)'s business.
//!
//! # Invariants of the unsafe part
//! * Every raw call happens inside [`Lua::exec_raw`], on the state's current thread, in a protected call; space on the
//!   Lua stack is asked for first.
//! * Only functions written in Lua are looked into: the index of a captured variable is checked by Luau, which gives
//!   null beyond the last.
//! * The clone that tells shared from copied variables is never called, and what is put into a shared variable is taken
//!   out before anything can run.
#![expect(unsafe_code, reason = "Luau's captured variables have no safe interface; the invariants stand above")]

use std::ffi::{c_int, c_void};
use std::ptr;

use mlua::{Function, Lua, MultiValue, Value, ffi};

/// A variable that a function has captured.
pub(super) struct Captured {
    /// Its number in the function, from 1.
    pub(super) number: c_int,
    /// What is in it.
    pub(super) value: Value,
    /// Whether it is a variable that can change, rather than a copy.
    pub(super) shared: bool,
}

/// The address of this stands in a variable for a moment, as a value that no script can have.
static MARK: u8 = 0;

/// The variables that a function has captured; none for a function of the host.
///
/// # Errors
/// Lua has no memory left.
pub(super) fn list(lua: &Lua, function: &Function) -> mlua::Result<Vec<Captured>> {
    // SAFETY: see the invariants of this module; the function is the only argument, at index 1.
    let found = unsafe { lua.exec_raw::<MultiValue>(function, |state| push_captured(state))? };
    let mut found = found.into_iter();
    let mut captured = Vec::new();
    for number in 1.. {
        let (Some(value), Some(shared)) = (found.next(), found.next()) else {
            break;
        };
        captured.push(Captured { number, value, shared: shared.as_boolean().unwrap_or_default() });
    }
    Ok(captured)
}

/// Leaves, for each captured variable of the function at index 1, its value and whether it is shared.
unsafe fn push_captured(state: *mut ffi::lua_State) {
    const FUNCTION: c_int = 1;
    const CLONE: c_int = 2;
    // SAFETY: as the invariants say; each round leaves two values more, and asks for their space and its own first.
    unsafe {
        if ffi::lua_iscfunction(state, FUNCTION) != 0 {
            return ffi::lua_settop(state, 0);
        }
        ffi::lua_clonefunction(state, FUNCTION);
        let mark = ptr::addr_of!(MARK).cast_mut().cast::<c_void>();
        for number in 1.. {
            ffi::luaL_checkstack(state, 4, ptr::null());
            if ffi::lua_getupvalue(state, FUNCTION, number).is_null() {
                break;
            }
            ffi::lua_pushlightuserdata(state, mark);
            ffi::lua_setupvalue(state, CLONE, number);
            ffi::lua_getupvalue(state, FUNCTION, number);
            let shared = ffi::lua_touserdata(state, -1) == mark;
            ffi::lua_pop(state, 1);
            ffi::lua_pushvalue(state, -1);
            ffi::lua_setupvalue(state, CLONE, number);
            ffi::lua_pushboolean(state, c_int::from(shared));
        }
        ffi::lua_remove(state, CLONE);
        ffi::lua_remove(state, FUNCTION);
    }
}

/// Puts a value into a variable that a function has captured.
///
/// # Errors
/// Lua has no memory left.
pub(super) fn set(lua: &Lua, function: &Function, number: c_int, value: &Value) -> mlua::Result<()> {
    // SAFETY: see the invariants of this module; the function is at index 1 and the value above it.
    unsafe {
        lua.exec_raw::<()>((function, value), |state| {
            if ffi::lua_setupvalue(state, 1, number).is_null() {
                ffi::lua_pop(state, 1);
            }
            ffi::lua_settop(state, 0);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_variables_are_told_from_copies() {
        let lua = Lua::new();
        let function: Function = lua
            .load("local copy, shared, list = tostring(1), 1, {} return function() shared += 1 return copy, shared, list end")
            .call(())
            .unwrap();
        let found = list(&lua, &function).unwrap();
        let told: Vec<_> = found.iter().map(|one| (one.value.type_name(), one.shared)).collect();
        assert_eq!(told, [("integer", true), ("string", false), ("table", false)]);
        assert_eq!(function.call::<(String, i64)>(()).unwrap(), ("1".into(), 2), "nothing was left in them");
        set(&lua, &function, found[0].number, &Value::Number(10.0)).unwrap();
        assert_eq!(function.call::<(String, i64)>(()).unwrap(), ("1".into(), 11));
    }

    #[test]
    fn functions_of_the_host_have_none() {
        let lua = Lua::new();
        let print: Function = lua.globals().get("print").unwrap();
        assert!(list(&lua, &print).unwrap().is_empty());
        let host = lua.create_function(|_, ()| Ok(1)).unwrap();
        assert!(list(&lua, &host).unwrap().is_empty());
    }
}
