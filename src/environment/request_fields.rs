//! The fields of `req` that handlers read most, made by the raw stack.
//!
//! A field is made at its first use and kept in the table. What is rare, and every mistake, is left to the function of
//! [`request`](super::request) that was given for it.
//!
//! # Invariants of the unsafe part
//! * Those of [`push`](super::push). The functions here are called by Lua alone, and so in a protected call on the current
//!   thread, with 20 free slots; their upvalues are set by this module and cannot be reached by a script.
//! * What is read of a string stays where it is, since the string is an argument.
//! * The request is borrowed from the running call, which lives longer than any call of Lua in it.
#![expect(unsafe_code, reason = "called by Lua with its raw stack; the invariants stand above")]

use std::ffi::{CStr, c_int};
use std::time::UNIX_EPOCH;

use mlua::{Function, Lua, Result, Table, ffi};

use super::api::value::array_metatable;
use super::fiber;
use super::form;
use super::json_read;
use super::push::Stack;
use crate::exchange::Request;

/// Where the arguments of the functions here are.
const SELF: c_int = 1;
const NAME: c_int = 2;

/// What the functions here keep.
const MARKER: c_int = ffi::lua_upvalueindex(1);
const SLOW: c_int = ffi::lua_upvalueindex(2);
const HEADERS: c_int = ffi::lua_upvalueindex(3);

/// The `__index` of `req`. `slow` is called for what is not made here; `headers` is the metatable of `req.headers`.
///
/// # Errors
/// Lua has no memory left.
pub(super) fn index(lua: &Lua, slow: Function, headers: Table) -> Result<Function> {
    closure(lua, c"req", index_raw, (array_metatable(lua)?, slow, headers))
}

/// `req:json()`. `slow` is called for what is no JSON.
///
/// # Errors
/// Lua has no memory left.
pub(super) fn json(lua: &Lua, slow: Function) -> Result<Function> {
    closure(lua, c"json", json_raw, (array_metatable(lua)?, slow, ()))
}

/// The `__index` of `req.headers`, which finds them however their names are written.
///
/// # Errors
/// Lua has no memory left.
pub(super) fn headers_index(lua: &Lua) -> Result<Function> {
    closure(lua, c"headers", headers_raw, ())
}

/// A function of Lua with these upvalues.
fn closure(
    lua: &Lua,
    name: &'static CStr,
    function: ffi::lua_CFunction,
    upvalues: impl mlua::IntoLuaMulti,
) -> Result<Function> {
    // SAFETY: the upvalues are all that is on the stack, and become those of the function.
    unsafe {
        lua.exec_raw::<Function>(upvalues, |state| {
            ffi::lua_pushcclosurek(state, function, name.as_ptr(), ffi::lua_gettop(state), None);
        })
    }
}

unsafe extern "C-unwind" fn index_raw(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: see the invariants of this module.
    unsafe {
        let stack = Stack::new(state, MARKER);
        let made = match stack.text_at(NAME) {
            Some(name) => with_request(state, |request| push_field(stack, request, name)),
            None => None,
        };
        if made != Some(true) {
            return slow(state);
        }
        ffi::lua_pushvalue(state, NAME);
        ffi::lua_pushvalue(state, -2);
        ffi::lua_rawset(state, SELF);
    }
    1
}

/// Reads something of the request that the first argument stands for; `None` when it stands for none that runs.
unsafe fn with_request<R>(state: *mut ffi::lua_State, read: impl FnOnce(&Request) -> R) -> Option<R> {
    // SAFETY: any index may be asked for its address.
    let table = unsafe { ffi::lua_topointer(state, SELF) };
    let read = |call: &super::call::CallContext| {
        let request = call.request.as_ref().filter(|_| !table.is_null() && call.table.get() == table);
        request.map(|request| read(request))
    };
    fiber::with_call(read).flatten()
}

/// Calls the slow function with the arguments as they are, and gives what it gives.
unsafe fn slow(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: there are arguments, and a slot for the function.
    unsafe {
        ffi::lua_pushvalue(state, SLOW);
        ffi::lua_insert(state, 1);
        ffi::lua_call(state, ffi::lua_gettop(state) - 1, ffi::LUA_MULTRET);
        ffi::lua_gettop(state)
    }
}

/// Pushes the value of a field; false, and nothing pushed, if it is not one of those made here.
fn push_field(stack: Stack, request: &Request, name: &[u8]) -> bool {
    match name {
        b"method" => stack.bytes(request.head.method().as_bytes()),
        b"path" => stack.bytes(request.head.path().as_bytes()),
        b"route" => stack.bytes(request.route.as_bytes()),
        b"scheme" => stack.bytes(request.scheme.as_bytes()),
        b"host" => stack.bytes(request.head.host().as_bytes()),
        b"id" => stack.bytes(request.id.0.as_bytes()),
        b"ip" => stack.bytes(request.ip.to_string().as_bytes()),
        b"time" => {
            stack.number(request.head.time().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64()))
        }
        b"body" => stack.bytes(&request.body),
        b"params" => push_params(stack, request),
        b"query" => push_query(stack, request),
        b"headers" => push_headers(stack, request),
        _ => return false,
    }
    true
}

fn push_params(stack: Stack, request: &Request) {
    stack.begin_record(request.params.len());
    for (name, value) in &request.params {
        stack.bytes(name.as_bytes());
        stack.typed(value);
        stack.set_field();
    }
    stack.freeze();
}

/// Everything that was sent, of several values with one name the first; then the declared parameters over it.
fn push_query(stack: Stack, request: &Request) {
    let query = request.head.query().as_bytes();
    stack.begin_record(request.query.len() + 4);
    if query.iter().any(|byte| matches!(byte, b'%' | b'+')) || !query.is_ascii() {
        let sent: Vec<_> = form::pairs(query).collect();
        for (name, value) in sent.iter().rev() {
            push_pair(stack, name.as_bytes(), value.as_bytes());
        }
    } else {
        // Nothing is encoded, so the pairs are the bytes themselves.
        for pair in query.rsplit(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let at = pair.iter().position(|byte| *byte == b'=');
            let (name, value) = at.map_or((pair, &b""[..]), |at| (&pair[..at], &pair[at + 1..]));
            push_pair(stack, name, value);
        }
    }
    for (name, value) in &request.query {
        stack.bytes(name.as_bytes());
        stack.typed(value);
        stack.set_field();
    }
    stack.freeze();
}

/// The first line of each header that was sent; then the declared ones over it.
fn push_headers(stack: Stack, request: &Request) {
    stack.begin_record(16);
    let mut last = "";
    request.head.each_header(&mut |name, value| {
        // Lines with one name follow each other.
        if name != last {
            push_pair(stack, name.as_bytes(), value);
            last = name;
        }
    });
    for (name, value) in &request.headers {
        stack.bytes(name.as_bytes());
        stack.typed(value);
        stack.set_field();
    }
    // SAFETY: the table is on top; setting a metatable on a fresh table cannot fail.
    unsafe {
        ffi::lua_pushvalue(stack.state, HEADERS);
        ffi::lua_setmetatable(stack.state, -2);
    }
    stack.freeze();
}

fn push_pair(stack: Stack, name: &[u8], value: &[u8]) {
    stack.bytes(name);
    stack.bytes(value);
    stack.set_field();
}

unsafe extern "C-unwind" fn headers_raw(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: see the invariants of this module; `__index` is called with the table itself, but a script could call
    // nothing else, since the metatable is closed.
    unsafe {
        let stack = Stack::new(state, 0);
        let Some(name) = stack.text_at(NAME) else {
            return 0;
        };
        let (mut short, mut long) = ([0; 64], Vec::new());
        let usual = match short.get_mut(..name.len()) {
            Some(short) => short,
            None => {
                long.resize(name.len(), 0);
                &mut long[..]
            }
        };
        for (to, from) in usual.iter_mut().zip(name) {
            *to = if *from == b'_' { b'-' } else { from.to_ascii_lowercase() };
        }
        if *usual == *name {
            return 0;
        }
        stack.bytes(usual);
        ffi::lua_rawget(state, SELF);
    }
    1
}

unsafe extern "C-unwind" fn json_raw(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: see the invariants of this module.
    unsafe {
        let stack = Stack::new(state, MARKER);
        let top = ffi::lua_gettop(state);
        let done = with_request(state, |request| {
            let body = &*request.body;
            if body.trim_ascii().is_empty() {
                ffi::lua_pushnil(state);
                return true;
            }
            json_read::push_json(stack, body).is_ok()
        });
        if done != Some(true) {
            ffi::lua_settop(state, top);
            return slow(state);
        }
    }
    1
}
