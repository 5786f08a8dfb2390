//! The way into a script and back: its globals, its `req`, the call, and the answers that most handlers give.
//!
//! Everything happens in one protected call on the raw stack, since each step by mlua's safe values would cost as much
//! as the whole. What an answer means is [`answer`](super::answer)'s business; here values only become bytes.
//!
//! # Invariants of the unsafe part
//! * Every raw call happens inside [`Lua::exec_raw`], in a protected call on the state's current thread. The pointer to
//!   the state never leaves the closure.
//! * The stack begins with the four arguments at the indexes named below; they are what their names say. `room` for
//!   everything else that is pushed here is asked for first, and a walk through a value asks for its own.
//! * An error of the script is a C++ exception: it passes through the closure, which owns nothing, and is caught by
//!   mlua.
//! * The script may suspend the native stack that this runs on. Nothing thread-local is borrowed meanwhile; what the
//!   closure borrows belongs to the caller, on the same native stack.
#![expect(unsafe_code, reason = "works on Lua's stack directly; the invariants stand above")]

use std::ffi::{c_int, c_void};

use bytes::Bytes;
use mlua::{Function, Lua, MultiValue, Result, Table, ffi};

use super::call::CallContext;
use super::fiber;
use super::json_write::{self, Form};

/// Where the arguments are.
const FUNCTION: c_int = 1;
const GROUND: c_int = 2;
const REQUEST: c_int = 3;
const CURRENT: c_int = 4;

/// What the globals of a script are.
#[derive(Clone, Copy)]
pub(super) enum Ground<'a> {
    /// A fresh table with this metatable.
    Fresh(&'a Table),
    /// This table, which stays.
    Kept(&'a Table),
}

/// What every call in a runspace needs.
pub(super) struct Entry {
    /// The metatable of `req`.
    request: Table,
    /// Holds the globals of the running script, weakly, so that `require` finds them.
    current: Table,
    /// The metatable of arrays.
    marker: *const c_void,
}

// SAFETY: the pointer is only compared, never followed; the tables are mlua's, which may move between threads.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

/// What a script gave back.
pub(super) enum Given {
    /// A text, and nothing or a status.
    Text(Bytes, Option<u16>),
    /// A table as JSON text, or why it cannot be written, and nothing or a status.
    Json(std::result::Result<Vec<u8>, String>, Option<u16>),
    /// Anything else.
    Values(MultiValue),
}

/// The globals of the running script, kept where `require` finds them.
pub(super) struct Current(Table);

impl Current {
    /// The globals of the script that runs now.
    ///
    /// # Errors
    /// None runs.
    pub(super) fn globals(&self) -> Result<Table> {
        self.0.raw_get(1)
    }
}

impl Entry {
    /// Makes the entry, once for each runspace.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub(super) fn install(lua: &Lua, request: Table) -> Result<Self> {
        let current = lua.create_table()?;
        let weak = lua.create_table_from([("__mode", "v")])?;
        current.set_metatable(Some(weak))?;
        lua.set_app_data(Current(current.clone()));
        let marker = super::api::value::array_metatable(lua)?.to_pointer();
        Ok(Self { request, current, marker })
    }

    /// Runs a function as a script, with `req` if there is a request.
    ///
    /// # Errors
    /// The script raised an error, or Lua has no memory left.
    pub(super) fn run(&self, lua: &Lua, function: &Function, ground: Ground<'_>, call: &CallContext) -> Result<Given> {
        let limit = fiber::limits().map_or(usize::MAX, |limits| limits.memory).min(json_write::LONGEST);
        let form = Form { marker: self.marker, limit, pretty: false };
        let (is_fresh, table) = match ground {
            Ground::Fresh(metatable) => (true, metatable),
            Ground::Kept(globals) => (false, globals),
        };
        let mut given = None;
        // SAFETY: see the invariants of this module.
        let values = unsafe {
            lua.exec_raw::<MultiValue>((function, table, &self.request, &self.current), |state| {
                ffi::luaL_checkstack(state, 8, std::ptr::null());
                push_function(state, is_fresh);
                let arguments = push_request(state, call);
                let below = ffi::lua_gettop(state) - arguments - 1;
                ffi::lua_call(state, arguments, ffi::LUA_MULTRET);
                given = take(state, below, form);
                (0..below).for_each(|_| ffi::lua_remove(state, 1));
            })?
        };
        Ok(given.unwrap_or(Given::Values(values)))
    }
}

/// Pushes the function to call, with its globals. In fresh globals it is a copy, so that nothing of it stays either.
unsafe fn push_function(state: *mut ffi::lua_State, is_fresh: bool) {
    // SAFETY: see the invariants of this module; a fresh table can be set, and so can the list of the current globals.
    unsafe {
        if is_fresh {
            ffi::lua_createtable(state, 0, 2);
            ffi::lua_pushvalue(state, -1);
            ffi::lua_rawsetfield(state, -2, c"_G".as_ptr());
            ffi::lua_pushvalue(state, GROUND);
            ffi::lua_setmetatable(state, -2);
            ffi::lua_setsafeenv(state, -1, 1);
            ffi::lua_clonefunction(state, FUNCTION);
            ffi::lua_insert(state, -2);
        } else {
            ffi::lua_pushvalue(state, FUNCTION);
            ffi::lua_pushvalue(state, GROUND);
        }
        // The function below holds its globals, and so the weak list does for as long as it runs.
        ffi::lua_pushvalue(state, -1);
        ffi::lua_rawseti_(state, CURRENT, 1);
        ffi::lua_setfenv(state, -2);
    }
}

/// Pushes `req`, which from now on is the only one that answers; gives how many arguments there are.
unsafe fn push_request(state: *mut ffi::lua_State, call: &CallContext) -> c_int {
    if call.request.is_none() {
        return 0;
    }
    // SAFETY: see the invariants of this module.
    unsafe {
        ffi::lua_createtable(state, 0, 4);
        ffi::lua_pushvalue(state, REQUEST);
        ffi::lua_setmetatable(state, -2);
        call.table.set(ffi::lua_topointer(state, -1));
    }
    1
}

/// Takes what lies above `below`, if it is one of the answers that most handlers give.
unsafe fn take(state: *mut ffi::lua_State, below: c_int, form: Form) -> Option<Given> {
    // SAFETY: only values that are there are looked at; what is read of a string is copied at once.
    unsafe {
        let (body, status) = (below + 1, below + 2);
        let status = match ffi::lua_gettop(state) - below {
            1 => None,
            2 => Some(plain_status(state, status)?),
            _ => return None,
        };
        let given = match ffi::lua_type(state, body) {
            ffi::LUA_TSTRING => {
                let mut length = 0;
                let start = ffi::lua_tolstring(state, body, &mut length).cast::<u8>();
                Given::Text(Bytes::copy_from_slice(std::slice::from_raw_parts(start, length)), status)
            }
            ffi::LUA_TTABLE => {
                let mut text = Vec::with_capacity(512);
                ffi::lua_settop(state, body);
                let done = json_write::write_top(state, form, &mut text);
                Given::Json(done.map(|()| text), status)
            }
            _ => return None,
        };
        ffi::lua_settop(state, below);
        Some(given)
    }
}

/// A status that can be sent; everything else is for those who tell what is wrong with it.
unsafe fn plain_status(state: *mut ffi::lua_State, index: c_int) -> Option<u16> {
    // SAFETY: there is a value at the index.
    let status = unsafe {
        if ffi::lua_type(state, index) != ffi::LUA_TNUMBER {
            return None;
        }
        ffi::lua_tonumber(state, index)
    };
    let whole = status as u16;
    (super::answer::STATUSES.contains(&i64::from(whole)) && f64::from(whole) == status).then_some(whole)
}
