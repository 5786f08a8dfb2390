//! Handlers on native stacks of their own: any host function can wait anywhere in Lua, and long handlers give way.
//!
//! A [`Fiber`] is a future that runs a closure on its own stack. Inside, [`wait`] suspends until another future is
//! ready, and the interrupt (armed by the [`ticker`](super::ticker)) suspends to let others run, or raises an error when
//! time or memory is up or the request was cancelled.
//!
//! # Invariants of the unsafe part
//! * A stack never leaves the thread that made its fiber: [`Fiber`] is neither `Send` nor `Sync` (it holds raw
//!   pointers), and workers poll it on their own `LocalSet`.
//! * One fiber tree runs in one Lua state at a time: the pool hands a runspace to one request. Children of `all` run on
//!   Lua threads of their own and touch mlua only in callbacks that begin after their last wait (see [`waiting`](
//!   super::waiting)), because mlua's notion of the current Lua thread follows callbacks, not native stacks.
//! * [`CURRENT`] points to the frame of the innermost fiber that runs on this thread, and is put back whenever control
//!   comes back from it. A frame is boxed in its fiber, so the pointer is valid while the fiber runs.
//! * No borrow of thread-local state is held across a suspension; [`with_frame`] hands out no reference beyond its
//!   closure.
//! * A panic on a fiber's stack is caught there and becomes a value. An error raised by the interrupt (a C++ exception)
//!   passes only through Lua and mlua, which expect it: the interrupt itself owns nothing that needs dropping.
//! * A fiber dropped while suspended is resumed with `Cancel` until it has unwound. One that does not unwind within
//!   [`UNWIND_TRIES`] is abandoned: its stack is reset without dropping what is on it, and its runspace with it.
#![expect(unsafe_code, reason = "switches native stacks and is called by Lua; the invariants stand above")]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_int};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::ptr;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use mlua::ffi;

use super::call::CallContext;
use super::held::Held;
use super::places;
use super::ticker::Slice;
use super::turns::let_others_run;

/// Address space of a handler's stack; only touched pages cost memory. 768 KiB passes every recursion attack in release
/// builds (design measurements), debug builds need more for each frame.
const STACK_SIZE: usize = if cfg!(debug_assertions) { 8 << 20 } else { 1 << 20 };
/// Stacks kept for the next handlers, for each worker.
const SPARE_STACKS: usize = 64;
/// How often a cancelled handler is resumed before it is abandoned.
const UNWIND_TRIES: usize = 1000;

/// How many functions of the host may stand above the innermost one of the user's, where a handler is found to be.
const MAX_LEVELS: c_int = 64;

/// What a fiber is resumed with.
#[derive(Clone, Copy, PartialEq)]
enum Resume {
    Run,
    Cancel,
}

/// Why a fiber gives control back before its end.
#[derive(Clone, Copy, PartialEq)]
enum Pause {
    /// It waits for a future.
    Waiting,
    /// It ran for a whole slice.
    Preempted,
}

/// Why a handler is being ended from outside. From then on every interrupt raises, so that `pcall` cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Its time is up.
    Deadline,
    /// Its runspace uses too much memory.
    Memory,
    /// Nobody wants its answer any more.
    Cancelled,
    /// It called `abort`.
    Aborted,
}

/// The limits a fiber runs under.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// When its time is up.
    pub(super) deadline: Instant,
    /// Live bytes of the runspace.
    pub(super) memory: usize,
}

/// What a running fiber and its host functions know of each other.
pub(super) struct Frame {
    yielder: *const Yielder<Resume, Pause>,
    waker: *const Waker,
    limits: Limits,
    stop: Option<Stop>,
    /// Where Lua was when it was stopped, as chunk name and line.
    place: Option<(String, u32)>,
    preemptions: u32,
    call: Option<Rc<CallContext>>,
    /// What one part of a waiting function leaves for the next.
    kept: Option<Box<dyn Any>>,
    /// Let go with the fiber, however it ends.
    held: Held,
}

impl Frame {
    fn new(limits: Limits, call: Option<Rc<CallContext>>) -> Self {
        let (yielder, waker) = (ptr::null(), ptr::null());
        Self {
            yielder,
            waker,
            limits,
            stop: None,
            place: None,
            preemptions: 0,
            call,
            kept: None,
            held: Held::default(),
        }
    }
}

thread_local! {
    static CURRENT: Cell<*mut Frame> = const { Cell::new(ptr::null_mut()) };
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// The handler was cancelled while it waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// Waits for a future from inside a handler, wherever in Lua the caller stands; the worker serves others meanwhile.
///
/// # Errors
/// The handler was stopped (deadline, client gone), or nothing that could wait runs here.
pub fn wait<F: Future>(future: F) -> Result<F::Output, Cancelled> {
    let mut future = pin!(future);
    loop {
        let frame = CURRENT.get();
        if frame.is_null() {
            return Err(Cancelled);
        }
        // SAFETY: the frame belongs to the fiber that runs this code, and so outlives it; the yielder and waker are
        // set for as long as it runs. No reference is held across the suspension.
        unsafe {
            if (*frame).stop.is_some() {
                return Err(Cancelled);
            }
            let mut context = Context::from_waker(&*(*frame).waker);
            if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                return Ok(value);
            }
            if suspend(frame, Pause::Waiting).is_err() {
                return Err(Cancelled);
            }
        }
    }
}

/// Gives control back; `Err` when the handler is to end.
///
/// # Safety
/// `frame` is the current one.
unsafe fn suspend(frame: *mut Frame, why: Pause) -> Result<(), Cancelled> {
    // SAFETY: the yielder is that of the running fiber.
    let resumed = unsafe { (*(*frame).yielder).suspend(why) };
    if resumed == Resume::Cancel {
        // SAFETY: as above; the fiber runs again.
        unsafe { (*frame).stop.get_or_insert(Stop::Cancelled) };
        return Err(Cancelled);
    }
    Ok(())
}

/// What the running handler was called with; `None` outside of a request.
pub fn with_call<R>(read: impl FnOnce(&CallContext) -> R) -> Option<R> {
    let call = with_frame(|frame| frame.call.clone()).flatten()?;
    Some(read(&call))
}

/// Lets the host end the running handler: from here on nothing in it runs for long.
pub(super) fn stop(why: Stop) {
    with_frame(|frame| {
        frame.stop.get_or_insert(why);
    });
}

/// The limits of the running handler, for its children.
pub(super) fn limits() -> Option<Limits> {
    with_frame(|frame| frame.limits)
}

/// The call that the running handler serves, for its children.
pub(super) fn call() -> Option<Rc<CallContext>> {
    with_frame(|frame| frame.call.clone()).flatten()
}

/// Leaves a value for the next part of a waiting function; `None` when nothing that could wait runs here.
pub(super) fn keep(value: Box<dyn Any>) -> Option<()> {
    with_frame(|frame| frame.kept = Some(value))
}

/// Takes the value that the part before left.
pub(super) fn take_kept() -> Option<Box<dyn Any>> {
    with_frame(|frame| frame.kept.take()).flatten()
}

/// What the running handler's host functions hold; `None` when nothing that could wait runs here.
pub(super) fn held<R>(read: impl FnOnce(&mut Held) -> R) -> Option<R> {
    with_frame(|frame| read(&mut frame.held))
}

fn with_frame<R>(read: impl FnOnce(&mut Frame) -> R) -> Option<R> {
    let frame = CURRENT.get();
    // SAFETY: the current frame is valid while its fiber runs, and `read` cannot suspend with the borrow, because it
    // is given nothing to suspend with but `wait`, which none of the callers in this module reach.
    (!frame.is_null()).then(|| read(unsafe { &mut *frame }))
}

/// Arms the interrupt of a state, so that the next call or loop in it raises when the handler is stopped.
pub(super) fn arm(lua: &mlua::Lua) {
    // SAFETY: the callbacks belong to the open state.
    unsafe { (*callbacks(lua)).interrupt = Some(interrupt) };
}

/// The callbacks of a state.
pub(super) fn callbacks(lua: &mlua::Lua) -> *mut ffi::lua_Callbacks {
    // SAFETY: the state is open while `lua` lives.
    unsafe { ffi::lua_callbacks(lua.state()) }
}

/// Runs a Lua thread that was never started to its end, on the stack of the caller. Gives whether it returned true.
///
/// mlua's own resume leaves marks on the stack of whichever Lua thread is current, which interleaved children would
/// find changed; this touches only the given thread.
pub(super) fn resume(thread: &mlua::Thread) -> bool {
    let state = thread.to_pointer().cast_mut().cast::<ffi::lua_State>();
    // SAFETY: a thread value's pointer is its state, and the handle keeps it alive. It holds its function and nothing
    // else, and runs on this stack alone.
    unsafe {
        let status = ffi::lua_resume(state, ptr::null_mut(), 0, ptr::null_mut());
        status == ffi::LUA_OK && ffi::lua_gettop(state) > 0 && ffi::lua_toboolean(state, -1) != 0
    }
}

/// Called by Luau at calls and loops once the ticker has armed it.
unsafe extern "C-unwind" fn interrupt(state: *mut ffi::lua_State, gc: c_int) {
    let frame = CURRENT.get();
    if gc >= 0 || frame.is_null() {
        return;
    }
    // SAFETY: Luau calls this on the thread and stack that run the state; the frame is that of the running fiber.
    unsafe {
        let callbacks = ffi::lua_callbacks(state);
        (*callbacks).interrupt = None;
        if let Some(message) = must_stop(state, frame) {
            // It stays armed, so that code which catches the error ends at its next call or loop.
            (*callbacks).interrupt = Some(interrupt);
            ffi::lua_rawcheckstack(state, 8);
            ffi::luaL_error(state, message.as_ptr());
        }
    }
}

/// The time, memory and cancel checks of one interrupt, and the suspension that lets others run.
///
/// # Safety
/// `state` runs on this thread, `frame` is the current one.
unsafe fn must_stop(state: *mut ffi::lua_State, frame: *mut Frame) -> Option<&'static CStr> {
    // SAFETY: as the caller says.
    unsafe {
        if (*frame).stop.is_none() {
            if over_memory(state, (*frame).limits.memory) {
                (*frame).stop = Some(Stop::Memory);
            } else if Instant::now() >= (*frame).limits.deadline {
                (*frame).stop = Some(Stop::Deadline);
            } else {
                (*frame).preemptions += 1;
                let _unless_stopped = suspend(frame, Pause::Preempted);
            }
        }
        let stop = (*frame).stop?;
        if (*frame).place.is_none() {
            (*frame).place = place_of(state);
        }
        Some(match stop {
            Stop::Deadline => c"the time limit of the handler is reached",
            Stop::Memory => c"the memory limit of the runspace is reached",
            Stop::Cancelled => c"the request was cancelled",
            Stop::Aborted => c"the handler was aborted",
        })
    }
}

/// Luau collects no garbage in an emergency, so a full collection decides whether the live bytes are too many.
unsafe fn over_memory(state: *mut ffi::lua_State, limit: usize) -> bool {
    // SAFETY: the state runs on this thread; a collection is allowed at an interrupt.
    unsafe {
        if ffi::lua_totalbytes(state, -1) <= limit {
            return false;
        }
        ffi::lua_gc(state, ffi::LUA_GCCOLLECT, 0);
        ffi::lua_totalbytes(state, -1) > limit
    }
}

/// The chunk and line of the innermost function of the user's scripts: what the host has in Lua is not his.
unsafe fn place_of(state: *mut ffi::lua_State) -> Option<(String, u32)> {
    for level in 0..MAX_LEVELS {
        // SAFETY: a zeroed record is what Luau fills; the names point into the state and are copied at once.
        unsafe {
            let mut record: ffi::lua_Debug = std::mem::zeroed();
            if ffi::lua_getinfo(state, level, c"sl".as_ptr(), &mut record) == 0 {
                return None;
            }
            if record.currentline > 0 && !record.short_src.is_null() {
                let name = CStr::from_ptr(record.short_src).to_string_lossy();
                if places::is_script(&name) {
                    return Some((name.into_owned(), record.currentline as u32));
                }
            }
        }
    }
    None
}

/// How a fiber ended.
pub(super) struct Ended<R> {
    /// What its closure gave, or its panic.
    pub(super) result: Result<R, Box<dyn Any + Send>>,
    /// Why it was stopped, if it was.
    pub(super) stop: Option<Stop>,
    /// Where Lua was then.
    pub(super) place: Option<(String, u32)>,
    /// How many whole slices it ran.
    pub(super) preemptions: u32,
}

/// A closure on a native stack of its own, as a future.
pub(super) struct Fiber<R: 'static> {
    coroutine: Option<Coroutine<Resume, Pause, std::thread::Result<R>, DefaultStack>>,
    frame: Box<Frame>,
    callbacks: *mut ffi::lua_Callbacks,
    /// Wakes a handler that waits when its time is up; made at the first wait.
    timer: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl<R: 'static> Fiber<R> {
    /// A fiber that will run `work` in the state of `callbacks`.
    ///
    /// # Errors
    /// There is no memory for a stack.
    pub(super) fn new(
        callbacks: *mut ffi::lua_Callbacks,
        limits: Limits,
        call: Option<Rc<CallContext>>,
        work: impl FnOnce() -> R + 'static,
    ) -> std::io::Result<Self> {
        let spare = STACKS.with_borrow_mut(Vec::pop);
        let stack = spare.map_or_else(|| DefaultStack::new(STACK_SIZE), Ok)?;
        let mut frame = Box::new(Frame::new(limits, call));
        let inside: *mut Frame = &mut *frame;
        let coroutine = Coroutine::with_stack(stack, move |yielder, _| {
            // SAFETY: the frame outlives the coroutine, which is dropped first.
            unsafe { (*inside).yielder = yielder };
            catch_unwind(AssertUnwindSafe(work))
        });
        Ok(Self { coroutine: Some(coroutine), frame, callbacks, timer: None })
    }

    /// Runs the fiber until it pauses or ends.
    fn step(&mut self, waker: &Waker, resume: Resume) -> Option<CoroutineResult<Pause, std::thread::Result<R>>> {
        let coroutine = self.coroutine.as_mut()?;
        self.frame.waker = waker;
        let outer = CURRENT.replace(&mut *self.frame);
        let result = {
            // SAFETY: the caller's runspace keeps the state open while the fiber exists.
            let _slice = unsafe { Slice::begin(self.callbacks, interrupt) };
            if self.frame.stop.is_some() {
                // SAFETY: as above. A stopped handler is to meet the interrupt at once.
                unsafe { (*self.callbacks).interrupt = Some(interrupt) };
            }
            coroutine.resume(resume)
        };
        CURRENT.set(outer);
        Some(result)
    }

    fn end(&mut self, result: std::thread::Result<R>) -> Ended<R> {
        self.keep_stack();
        let frame = &mut self.frame;
        frame.held = Held::default();
        Ended { result, stop: frame.stop, place: frame.place.take(), preemptions: frame.preemptions }
    }

    fn keep_stack(&mut self) {
        if let Some(coroutine) = self.coroutine.take() {
            let stack = coroutine.into_stack();
            STACKS.with_borrow_mut(|stacks| {
                if stacks.len() < SPARE_STACKS {
                    stacks.push(stack);
                }
            });
        }
    }

    /// Polls the deadline of a handler that waits; true when it has come.
    fn is_due(&mut self, context: &mut Context<'_>) -> bool {
        let deadline = self.frame.limits.deadline;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline.into())));
        timer.as_mut().poll(context).is_ready()
    }
}

impl<R: 'static> Future for Fiber<R> {
    type Output = Ended<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut resume = Resume::Run;
        loop {
            match self.step(context.waker(), resume) {
                // A future is not polled after its end.
                None => return Poll::Pending,
                Some(CoroutineResult::Return(result)) => return Poll::Ready(self.end(result)),
                Some(CoroutineResult::Yield(Pause::Preempted)) => {
                    let_others_run(context.waker());
                    return Poll::Pending;
                }
                Some(CoroutineResult::Yield(Pause::Waiting)) => {
                    if !self.is_due(context) {
                        return Poll::Pending;
                    }
                    self.frame.stop.get_or_insert(Stop::Deadline);
                    resume = Resume::Cancel;
                }
            }
        }
    }
}

impl<R: 'static> Unpin for Fiber<R> {}

impl<R: 'static> Drop for Fiber<R> {
    fn drop(&mut self) {
        let Some(coroutine) = &self.coroutine else {
            return;
        };
        if !coroutine.started() {
            return;
        }
        self.frame.stop.get_or_insert(Stop::Cancelled);
        for _ in 0..UNWIND_TRIES {
            match self.step(Waker::noop(), Resume::Cancel) {
                Some(CoroutineResult::Yield(_)) => {}
                // What it gave (a runspace) is dropped here, which gives it back.
                Some(CoroutineResult::Return(_)) | None => return self.keep_stack(),
            }
        }
        if let Some(coroutine) = &mut self.coroutine {
            // SAFETY: nothing on the stack is used again: the runspace that it holds is lost with it.
            unsafe { coroutine.force_reset() };
        }
    }
}

/// How long a slice is at most, for what is told about it.
pub(super) const SLICE: Duration = Duration::from_millis(1);

/// Runs `work` as if inside of a handler that was called like this. Nothing in it can wait.
#[cfg(test)]
pub(super) fn with_test_call<R>(call: Rc<CallContext>, work: impl FnOnce() -> R) -> (R, Option<Stop>) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut frame = Frame::new(Limits { deadline, memory: 1 << 30 }, Some(call));
    let outer = CURRENT.replace(&mut frame);
    let result = work();
    CURRENT.set(outer);
    (result, frame.stop)
}
