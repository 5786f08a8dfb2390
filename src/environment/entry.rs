//! The way into a script and back: its globals, its `req`, the call, and the answers that most handlers give.
//!
//! Everything happens in one protected call on the raw stack, since each step by mlua's safe values would cost as much
//! as the whole. What an answer means is [`answer`](super::answer)'s business; here values only become bytes.
//!
//! The globals of a clean runspace are made anew only when the last script left something in them, which is found out
//! by looking: most set no global, and need no new table, no copy of their function and no collection of either.
//!
//! # Invariants of the unsafe part
//! * [`Entry::run`] is called on the runspace's main state while no other call runs in it. What it does outside of the
//!   protected call cannot raise: it pushes into slots that it has asked for, and writes into slots of the desk that are
//!   there already.
//! * [`enter`] is called by it alone, with the address of a [`Work`] that outlives the call. It is a C function and has
//!   20 slots; a walk through a value, and whoever pushes after the script has run, asks for more.
//! * An error of the script is a C++ exception: it passes through [`enter`], which owns nothing, and is caught by Lua.
//! * The script may suspend the native stack that this runs on. Nothing thread-local is borrowed meanwhile; what is
//!   borrowed belongs to the caller, on the same native stack.
#![expect(unsafe_code, reason = "works on Lua's stack directly; the invariants stand above")]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use mlua::{Error, Lua, MultiValue, Result, Table, Value, ffi};

use super::call::CallContext;
use super::fiber;
use super::json_write::{self, Form};
use super::reference::Reference;

/// Where the globals and the function are on the stack of [`enter`], and where what it gives begins.
const GLOBALS: c_int = 1;
const FUNCTION: c_int = 2;

/// What [`enter`] keeps.
const REQUEST: c_int = ffi::lua_upvalueindex(1);
const DESK: c_int = ffi::lua_upvalueindex(2);

/// On the desk: the globals of the running or next script, or false.
const AT_GLOBALS: c_int = 1;
/// On the desk: the metatable of globals that are made anew, or false when they stay.
const AT_METATABLE: c_int = 2;
/// On the desk: what a call left for the way out, or false.
const AT_LEFT: c_int = 3;

/// Globals that seem untouched are made anew all the same after this many calls, so that what a script filled and
/// emptied does not slow its successors for ever.
const RENEWED_AFTER: u32 = 128;

/// How Lua says that it has no memory; nothing can be added to that.
const NO_MEMORY: &[u8] = b"not enough memory";

/// What every call in a runspace needs.
pub(super) struct Entry {
    desk: Table,
    desk_reference: Reference,
    /// [`enter`] and [`explain`] as functions of Lua.
    enter: Reference,
    explain: Reference,
    /// The metatable of arrays.
    marker: *const c_void,
    /// The main state, which lives as long as the runspace.
    main: *mut ffi::lua_State,
    calls: AtomicU32,
}

// SAFETY: the marker is only compared, never followed; the state is used by whoever runs the runspace, one at a time;
// the rest may move between threads.
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
        self.0.raw_get(AT_GLOBALS)
    }
}

/// One call.
struct Work<'a> {
    function: &'a Reference,
    call: &'a CallContext,
    form: Form,
    renew: bool,
    given: Option<Given>,
    /// How many values lie on the desk, when they are not what most handlers give.
    values: c_int,
}

impl Entry {
    /// Makes the entry, once for each runspace. `request` is the metatable of `req`.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub(super) fn install(lua: &Lua, request: Table) -> Result<Self> {
        let desk = lua.create_sequence_from([false; AT_LEFT as usize])?;
        lua.set_app_data(Current(desk.clone()));
        // SAFETY: the arguments are all that is on the stack, and become the upvalues.
        let enter = unsafe {
            lua.exec_raw::<Value>((request, &desk), |state| {
                ffi::lua_pushcclosurek(state, enter, c"enter".as_ptr(), 2, None);
            })?
        };
        // SAFETY: a plain push.
        let explain = unsafe {
            lua.exec_raw::<Value>((), |state| {
                ffi::lua_pushcclosurek(state, explain, c"explain".as_ptr(), 0, None);
            })?
        };
        Ok(Self {
            desk_reference: Reference::new(lua, &desk)?,
            desk,
            enter: Reference::new(lua, enter)?,
            explain: Reference::new(lua, explain)?,
            marker: super::api::value::array_metatable(lua)?.to_pointer(),
            main: lua.state(),
            calls: AtomicU32::new(0),
        })
    }

    /// From now on every script has these globals.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub(super) fn keep_globals(&self, globals: &Table) -> Result<()> {
        self.desk.raw_set(AT_METATABLE, false)?;
        self.desk.raw_set(AT_GLOBALS, globals)
    }

    /// From now on every script has globals in which nobody left anything, with this metatable.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub(super) fn renew_globals(&self, metatable: &Table) -> Result<()> {
        self.desk.raw_set(AT_GLOBALS, false)?;
        self.desk.raw_set(AT_METATABLE, metatable)
    }

    /// The callbacks of the state.
    pub(super) fn callbacks(&self) -> *mut ffi::lua_Callbacks {
        // SAFETY: the state is open.
        unsafe { ffi::lua_callbacks(self.main) }
    }

    /// The bytes that the state uses, garbage included.
    pub(super) fn used_memory(&self) -> usize {
        // SAFETY: the state is open.
        unsafe { ffi::lua_totalbytes(self.main, -1) }
    }

    /// Runs a function as a script, with `req` if there is a request.
    ///
    /// # Errors
    /// The script raised an error, or Lua has no memory left.
    pub(super) fn run(&self, function: &Reference, call: &CallContext) -> Result<Given> {
        let limit = fiber::limits().map_or(usize::MAX, |limits| limits.memory).min(json_write::LONGEST);
        let form = Form { marker: self.marker, limit, pretty: false };
        let renew = self.calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(RENEWED_AFTER);
        let mut work = Work { function, call, form, renew, given: None, values: 0 };
        // SAFETY: see the invariants of this module.
        let status = unsafe { self.call(self.main, &mut work) };
        match (status, work.given) {
            (ffi::LUA_OK, Some(given)) => Ok(given),
            (ffi::LUA_OK, None) => self.values(work.values).map(Given::Values),
            (ffi::LUA_ERRMEM, _) => Err(Error::MemoryError(String::from_utf8_lossy(NO_MEMORY).into_owned())),
            _ => Err(self.error()),
        }
    }

    /// Calls [`enter`]; leaves an error on the desk.
    unsafe fn call(&self, state: *mut ffi::lua_State, work: &mut Work<'_>) -> c_int {
        // SAFETY: see the invariants of this module.
        unsafe {
            if ffi::lua_checkstack(state, 4) == 0 {
                return ffi::LUA_ERRMEM;
            }
            let below = ffi::lua_gettop(state);
            self.explain.push(state);
            self.enter.push(state);
            ffi::lua_pushlightuserdata(state, ptr::from_mut(work).cast());
            let status = ffi::lua_pcall(state, 1, 0, below + 1);
            if status != ffi::LUA_OK {
                self.desk_reference.push(state);
                ffi::lua_insert(state, -2);
                ffi::lua_rawseti_(state, -2, AT_LEFT);
                forget_globals(state, ffi::lua_gettop(state));
            }
            ffi::lua_settop(state, below);
            status
        }
    }

    /// The values that a call left.
    fn values(&self, count: c_int) -> Result<MultiValue> {
        let left: Table = self.desk.raw_get(AT_LEFT)?;
        self.desk.raw_set(AT_LEFT, false)?;
        (1..=count).map(|at| left.raw_get::<Value>(at)).collect()
    }

    /// The error that a call left. A panic of a host function goes on from here.
    fn error(&self) -> Error {
        let left = self.desk.raw_get::<Value>(AT_LEFT);
        let emptied = self.desk.raw_set(AT_LEFT, false);
        match (left, emptied) {
            (Ok(Value::Error(error)), Ok(())) => *error,
            (Ok(value), Ok(())) => Error::RuntimeError(value.to_string().unwrap_or_else(|error| error.to_string())),
            (Err(error), _) | (_, Err(error)) => error,
        }
    }
}

/// The protected part of a call.
unsafe extern "C-unwind" fn enter(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: see the invariants of this module.
    unsafe {
        let work = ffi::lua_tolightuserdata(state, 1).cast::<Work<'_>>();
        ffi::lua_settop(state, 0);
        push_globals(state);
        (*work).function.push(state);
        ffi::lua_pushvalue(state, GLOBALS);
        ffi::lua_setfenv(state, FUNCTION);
        let arguments = push_request(state, (*work).call);
        ffi::lua_call(state, arguments, ffi::LUA_MULTRET);
        ffi::luaL_checkstack(state, 4, ptr::null());
        (*work).given = take(state, GLOBALS, (*work).form);
        if (*work).given.is_none() {
            (*work).values = leave_values(state, GLOBALS);
        }
        if (*work).renew || !is_untouched(state) {
            forget_globals(state, DESK);
        }
    }
    0
}

/// Pushes the globals of the script; makes them when there are none.
unsafe fn push_globals(state: *mut ffi::lua_State) {
    // SAFETY: see the invariants of this module; a fresh table can be set.
    unsafe {
        if ffi::lua_rawgeti_(state, DESK, AT_GLOBALS) == ffi::LUA_TTABLE {
            return;
        }
        ffi::lua_settop(state, 0);
        ffi::lua_createtable(state, 0, 2);
        ffi::lua_pushvalue(state, GLOBALS);
        ffi::lua_rawsetfield(state, GLOBALS, c"_G".as_ptr());
        ffi::lua_rawgeti_(state, DESK, AT_METATABLE);
        ffi::lua_setmetatable(state, GLOBALS);
        ffi::lua_setsafeenv(state, GLOBALS, 1);
        ffi::lua_pushvalue(state, GLOBALS);
        ffi::lua_rawseti_(state, DESK, AT_GLOBALS);
    }
}

/// Whether nothing is left in the globals that the next script could find: they hold themselves and nothing else.
unsafe fn is_untouched(state: *mut ffi::lua_State) -> bool {
    // SAFETY: see the invariants of this module; each step leaves two values, and there is room for four. Iterating
    // does not change the table.
    unsafe {
        let first = ffi::lua_rawiter(state, GLOBALS, 0);
        if first < 0 || ffi::lua_getreadonly(state, GLOBALS) != 0 {
            return false;
        }
        let is_itself = ffi::lua_rawequal(state, -1, GLOBALS) != 0 && is_own_name(state, -2);
        is_itself && ffi::lua_rawiter(state, GLOBALS, first) < 0
    }
}

/// Whether there is `_G` at the index.
unsafe fn is_own_name(state: *mut ffi::lua_State, index: c_int) -> bool {
    // SAFETY: there is a value at the index; only a string is read, which stays where it is.
    unsafe {
        let mut length = 0;
        ffi::lua_type(state, index) == ffi::LUA_TSTRING && {
            let start = ffi::lua_tolstring(state, index, &mut length).cast::<u8>();
            std::slice::from_raw_parts(start, length) == b"_G"
        }
    }
}

/// Lets go of the globals on the desk at this index, unless they are to stay.
unsafe fn forget_globals(state: *mut ffi::lua_State, desk: c_int) {
    // SAFETY: there is room for a value; the slot is there already.
    unsafe {
        if ffi::lua_rawgeti_(state, desk, AT_METATABLE) == ffi::LUA_TTABLE {
            ffi::lua_pushboolean(state, 0);
            ffi::lua_rawseti_(state, desk, AT_GLOBALS);
        }
    }
}

/// Puts what lies above `below` onto the desk; gives how many values that are.
unsafe fn leave_values(state: *mut ffi::lua_State, below: c_int) -> c_int {
    // SAFETY: see the invariants of this module; the fresh table takes one value after the other.
    unsafe {
        let count = ffi::lua_gettop(state) - below;
        ffi::lua_createtable(state, count, 0);
        ffi::lua_insert(state, below + 1);
        for at in (1..=count).rev() {
            ffi::lua_rawseti_(state, below + 1, at);
        }
        ffi::lua_rawseti_(state, DESK, AT_LEFT);
        count
    }
}

/// Adds to the text of an error where it happened. What mlua wraps knows that already.
unsafe extern "C-unwind" fn explain(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: the error is the only argument. Lua calls this for the lack of memory too, when nothing can be made.
    unsafe {
        let is_memory = ffi::lua_type(state, 1) == ffi::LUA_TSTRING && {
            let mut length = 0;
            let start = ffi::lua_tolstring(state, 1, &mut length).cast::<u8>();
            std::slice::from_raw_parts(start, length) == NO_MEMORY
        };
        if is_memory || ffi::lua_isuserdata(state, 1) != 0 {
            return 1;
        }
        ffi::luaL_tolstring(state, 1, ptr::null_mut());
        if ffi::lua_checkstack(state, ffi::LUA_TRACEBACK_STACK) != 0 {
            // Put together here, since the text may have a NUL in it.
            ffi::lua_pushlstring(state, c"\n".as_ptr(), 1);
            ffi::luaL_traceback(state, state, ptr::null(), 0);
            ffi::lua_concat(state, 3);
        }
    }
    1
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
