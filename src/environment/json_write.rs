//! Lua values as JSON text, by the raw stack.
//!
//! Says exactly where a value is that JSON cannot hold; decides nothing about answers.
//!
//! # Invariants of the unsafe part
//! * Every raw call happens in a protected call, inside [`Lua::exec_raw`] or a C function that Lua called. The pointer to
//!   the state never leaves it.
//! * The walk only reads: no metamethod runs, no value is converted in place (`lua_tolstring` is called on strings only,
//!   since on a number it would change the key that an iteration stands on), no table is changed. So an iteration by
//!   `lua_rawiter` stays valid, and what is read of a string stays where it is while the string is on the stack.
//! * Each level asks for its stack slots first and leaves the stack as it found it, except on a fault, after which nothing
//!   is read but what the levels above put there; the closure then cuts the stack back.
//! * The only Lua error that the calls used here can raise is "not enough memory" when the Lua stack grows. It is a C++
//!   exception: it drops what the frames in between own, and every function in between may unwind.
#![expect(unsafe_code, reason = "reads Lua's stack directly; the invariants stand above")]

use std::ffi::{c_int, c_void};
use std::fmt::Write as _;
use std::ptr;
use std::slice;

use mlua::{Lua, Value, ffi};

use super::api::value::{DEPTH, array_metatable};
use super::fiber;
use super::json_quote::quote;

/// The largest text that becomes a string of Lua, in bytes.
pub(super) const LONGEST: usize = 1 << 30;

/// Below this whole numbers are exact, and are written without a fraction or an exponent.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// How many steps of a long path are told at its beginning and at its end.
const TOLD_STEPS: usize = 6;

/// Writes a value as JSON text.
///
/// # Errors
/// Outside: Lua has no memory left. Inside: JSON cannot hold the value; the sentence names the place, such as
/// `value.items[3].price: NaN is not a JSON number`.
pub(super) fn write(lua: &Lua, value: &Value, pretty: bool) -> mlua::Result<Result<Vec<u8>, String>> {
    let limit = fiber::limits().map_or(LONGEST, |limits| limits.memory.min(LONGEST));
    let mut text = Vec::with_capacity(256);
    Ok(write_within(lua, value, pretty, limit, &mut text)?.map(|()| text))
}

/// Appends at most about `limit` bytes.
pub(super) fn write_within(
    lua: &Lua,
    value: &Value,
    pretty: bool,
    limit: usize,
    text: &mut Vec<u8>,
) -> mlua::Result<Result<(), String>> {
    if let Value::Integer(value) = value {
        // mlua would hand it over as a double.
        text.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes());
        return Ok(Ok(()));
    }
    let marker = array_metatable(lua)?.to_pointer();
    let mut done = Ok(());
    // SAFETY: see the invariants of this module.
    unsafe {
        lua.exec_raw::<()>(value, |state| {
            done = write_top(state, Form { marker, limit, pretty }, text);
            ffi::lua_settop(state, 0);
        })?;
    }
    Ok(done)
}

/// How a value is written.
#[derive(Clone, Copy)]
pub(super) struct Form {
    /// The metatable of arrays.
    pub(super) marker: *const c_void,
    /// The most bytes of text.
    pub(super) limit: usize,
    /// Whether it is for people.
    pub(super) pretty: bool,
}

/// Writes the value on top of the stack and leaves it there.
///
/// # Errors
/// As [`write`].
///
/// # Safety
/// The state is the current one, in a protected call, and has a value on top.
pub(super) unsafe fn write_top(state: *mut ffi::lua_State, form: Form, text: &mut Vec<u8>) -> Result<(), String> {
    let mut holders = [ptr::null(); DEPTH];
    let start = text.len();
    let mut walk = Walk { state, text, holders: &mut holders, form, strict: false };
    let mut done = walk.value(0);
    // One look at the whole text is several times faster than one at each string.
    if done.is_ok() && std::str::from_utf8(&walk.text[start..]).is_err() {
        walk.text.truncate(start);
        walk.strict = true;
        done = walk.value(0);
    }
    done.map_err(|fault| fault.tell())
}

/// Why a value cannot be written.
struct Fault {
    why: String,
    /// How to come to the value, innermost step first.
    path: Vec<Step>,
}

enum Step {
    Index(usize),
    Key(Vec<u8>),
}

type Written = Result<(), Box<Fault>>;

#[cold]
fn fault(why: impl Into<String>) -> Written {
    Err(Box::new(Fault { why: why.into(), path: Vec::new() }))
}

impl Fault {
    fn tell(&self) -> String {
        let mut told = String::from("value");
        let steps = self.path.len();
        for (index, step) in self.path.iter().rev().enumerate() {
            if steps > 2 * TOLD_STEPS && (TOLD_STEPS..steps - TOLD_STEPS).contains(&index) {
                if index == TOLD_STEPS {
                    told.push_str(" … ");
                }
                continue;
            }
            step.tell(&mut told);
        }
        told.push_str(": ");
        told.push_str(&self.why);
        told
    }
}

impl Step {
    fn tell(&self, told: &mut String) {
        let written = match self {
            Self::Index(index) => write!(told, "[{index}]"),
            Self::Key(key) if is_name(key) => write!(told, ".{}", String::from_utf8_lossy(key)),
            Self::Key(key) => write!(told, "[{:?}]", String::from_utf8_lossy(key)),
        };
        debug_assert!(written.is_ok(), "text takes everything");
    }
}

fn is_name(key: &[u8]) -> bool {
    key.first().is_some_and(|first| !first.is_ascii_digit())
        && key.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

struct Walk<'a> {
    state: *mut ffi::lua_State,
    text: &'a mut Vec<u8>,
    /// The tables around the current value, outermost first.
    holders: &'a mut [*const c_void; DEPTH],
    form: Form,
    /// Whether each string is checked to be UTF-8, to say which one is not.
    strict: bool,
}

impl Walk<'_> {
    /// Writes the value on top of the stack and leaves it there.
    fn value(&mut self, depth: usize) -> Written {
        let state = self.state;
        // SAFETY: see the invariants of this module; each read is of the type that was asked for.
        unsafe {
            match ffi::lua_type(state, -1) {
                ffi::LUA_TSTRING => self.string(),
                ffi::LUA_TNUMBER => self.number(ffi::lua_tonumber(state, -1)),
                ffi::LUA_TTABLE => self.table(depth),
                ffi::LUA_TBOOLEAN => {
                    let word: &[u8] = if ffi::lua_toboolean(state, -1) != 0 { b"true" } else { b"false" };
                    self.text.extend_from_slice(word);
                    Ok(())
                }
                ffi::LUA_TINTEGER => {
                    let value = ffi::lua_tointeger64(state, -1, ptr::null_mut());
                    self.text.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
                    Ok(())
                }
                ffi::LUA_TNIL => self.null(),
                ffi::LUA_TLIGHTUSERDATA if ffi::lua_touserdata(state, -1).is_null() => self.null(),
                other => fault(format!("{} cannot be written as JSON", kind(other))),
            }
        }
    }

    fn null(&mut self) -> Written {
        self.text.extend_from_slice(b"null");
        Ok(())
    }

    fn number(&mut self, value: f64) -> Written {
        if value.abs() < EXACT && value.trunc() == value {
            self.text.extend_from_slice(itoa::Buffer::new().format(value as i64).as_bytes());
        } else if value.is_finite() {
            let mut buffer = zmij::Buffer::new();
            let digits = buffer.format_finite(value);
            self.text.extend_from_slice(digits.strip_suffix(".0").unwrap_or(digits).as_bytes());
        } else {
            let name = if value.is_nan() { "NaN" } else { "infinity" };
            return fault(format!("{name} is not a JSON number"));
        }
        Ok(())
    }

    /// The bytes of the string at an index of the stack.
    ///
    /// # Safety
    /// There is a string, and it stays on the stack while the bytes are used.
    unsafe fn bytes<'s>(&self, index: c_int) -> &'s [u8] {
        let mut length = 0;
        // SAFETY: as the caller says; a string of Lua is never null.
        unsafe {
            let start = ffi::lua_tolstring(self.state, index, &mut length);
            slice::from_raw_parts(start.cast::<u8>(), length)
        }
    }

    fn string(&mut self) -> Written {
        // SAFETY: the caller saw a string on top, and it stays there.
        let bytes = unsafe { self.bytes(-1) };
        self.quoted(bytes)
    }

    fn quoted(&mut self, bytes: &[u8]) -> Written {
        if self.strict && std::str::from_utf8(bytes).is_err() {
            return fault("a string that is not valid UTF-8; encode bytes with base64 or hex first");
        }
        if self.text.len() + bytes.len() > self.form.limit {
            return fault(format!("the JSON text would be larger than {} bytes", self.form.limit));
        }
        quote(bytes, self.text);
        Ok(())
    }

    /// Writes the table on top of the stack.
    fn table(&mut self, depth: usize) -> Written {
        // SAFETY: there is a table on top.
        unsafe {
            let table = ffi::lua_topointer(self.state, -1);
            if self.holders[..depth].contains(&table) {
                return fault("a cycle: this table holds itself");
            }
            if depth == DEPTH {
                return fault(format!("nested deeper than {DEPTH} levels"));
            }
            self.holders[depth] = table;
            if ffi::lua_checkstack(self.state, 8) == 0 {
                return fault("no room left on the stack of Lua");
            }
            if self.text.len() > self.form.limit {
                return fault(format!("the JSON text would be larger than {} bytes", self.form.limit));
            }
            let marked = ffi::lua_getmetatablepointer(self.state, -1) == self.form.marker;
            let length = ffi::lua_objlen(self.state, -1);
            if marked || length > 0 { self.list(length, depth + 1) } else { self.object(depth + 1) }
        }
    }

    /// Writes the items in the order in which the table holds them, which nearly always is theirs.
    ///
    /// # Safety
    /// There is a table on top.
    unsafe fn list(&mut self, length: usize, depth: usize) -> Written {
        let start = self.text.len();
        self.text.push(b'[');
        let mut expected = 0_usize;
        let mut at = 0;
        // SAFETY: as the caller says; the walk does not change the table.
        unsafe {
            loop {
                at = ffi::lua_rawiter(self.state, -1, at);
                if at < 0 {
                    break;
                }
                expected += 1;
                if !self.is_index(expected) {
                    ffi::lua_pop(self.state, 2);
                    self.text.truncate(start);
                    return self.scattered(length, depth);
                }
                self.separate(expected == 1, depth);
                self.step(depth, || Step::Index(expected))?;
                ffi::lua_pop(self.state, 2);
            }
        }
        self.close(expected == 0, depth, b']');
        Ok(())
    }

    /// Whether the key below the top is this index.
    unsafe fn is_index(&self, index: usize) -> bool {
        // SAFETY: a key and a value are on top.
        unsafe {
            ffi::lua_type(self.state, -2) == ffi::LUA_TNUMBER && ffi::lua_tonumber(self.state, -2) == index as f64
        }
    }

    /// Writes a list whose items are not stored in their order, after a look at all of its keys.
    ///
    /// # Safety
    /// There is a table on top.
    unsafe fn scattered(&mut self, length: usize, depth: usize) -> Written {
        // SAFETY: as the caller says.
        unsafe {
            let (mut count, mut others, mut at) = (0_usize, 0_usize, 0);
            loop {
                at = ffi::lua_rawiter(self.state, -1, at);
                if at < 0 {
                    break;
                }
                count += 1;
                let key = ffi::lua_tonumber(self.state, -2);
                let is_number = ffi::lua_type(self.state, -2) == ffi::LUA_TNUMBER;
                others += usize::from(!is_number || key < 1.0 || key.trunc() != key);
                ffi::lua_pop(self.state, 2);
            }
            if others > 0 {
                return fault("a table with list items and named fields; JSON has either");
            }
            if count != length {
                return fault("a list with holes; fill them with json.null");
            }
            self.text.push(b'[');
            for index in 1..=length {
                ffi::lua_rawgeti_(self.state, -1, index as c_int);
                // The same height as in an iteration: a key and a value.
                ffi::lua_pushnumber(self.state, index as f64);
                ffi::lua_insert(self.state, -2);
                self.separate(index == 1, depth);
                self.step(depth, || Step::Index(index))?;
                ffi::lua_pop(self.state, 2);
            }
        }
        self.close(length == 0, depth, b']');
        Ok(())
    }

    /// Writes named fields.
    ///
    /// # Safety
    /// There is a table on top.
    unsafe fn object(&mut self, depth: usize) -> Written {
        self.text.push(b'{');
        let mut first = true;
        let mut at = 0;
        // SAFETY: as the caller says; the walk does not change the table.
        unsafe {
            loop {
                at = ffi::lua_rawiter(self.state, -1, at);
                if at < 0 {
                    break;
                }
                let found = ffi::lua_type(self.state, -2);
                if found != ffi::LUA_TSTRING {
                    return odd_key(found);
                }
                self.separate(first, depth);
                first = false;
                let key = self.bytes(-2);
                self.quoted(key)?;
                self.text.extend_from_slice(if self.form.pretty { b": " } else { b":" });
                self.step(depth, || Step::Key(key.to_vec()))?;
                ffi::lua_pop(self.state, 2);
            }
        }
        self.close(first, depth, b'}');
        Ok(())
    }

    /// Writes the value on top, and says where it was if it cannot.
    fn step(&mut self, depth: usize, step: impl FnOnce() -> Step) -> Written {
        self.value(depth).map_err(|mut fault| {
            fault.path.push(step());
            fault
        })
    }

    fn separate(&mut self, first: bool, depth: usize) {
        if !first {
            self.text.push(b',');
        }
        if self.form.pretty {
            self.line(depth);
        }
    }

    fn close(&mut self, empty: bool, depth: usize, bracket: u8) {
        if self.form.pretty && !empty {
            self.line(depth - 1);
        }
        self.text.push(bracket);
    }

    fn line(&mut self, depth: usize) {
        self.text.push(b'\n');
        self.text.resize(self.text.len() + 2 * depth, b' ');
    }
}

#[cold]
fn odd_key(found: c_int) -> Written {
    match found {
        ffi::LUA_TNUMBER | ffi::LUA_TINTEGER => {
            fault("a table with holes or with numbers as keys; JSON keys are strings, so use tostring")
        }
        other => fault(format!("a table with {} as a key; JSON keys are strings", kind(other))),
    }
}

fn kind(found: c_int) -> &'static str {
    match found {
        ffi::LUA_TBOOLEAN => "a boolean",
        ffi::LUA_TTABLE => "a table",
        ffi::LUA_TFUNCTION => "a function",
        ffi::LUA_TTHREAD => "a coroutine",
        ffi::LUA_TVECTOR => "a vector",
        ffi::LUA_TBUFFER => "a buffer",
        ffi::LUA_TLIGHTUSERDATA => "json.null",
        _ => "a userdata",
    }
}
