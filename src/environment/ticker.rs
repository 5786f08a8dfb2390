//! The ticker: tells a worker that its Lua code has run for a while, without the worker ever reading a clock.
//!
//! A thread wakes every now and then. It sees in each worker's [`Slot`] whether the worker is still in the slice of Lua
//! it was in at the last tick, and if so arms the interrupt callback of that Lua state. Code that ends earlier pays two
//! atomic stores. The thread looks often only while it finds something that runs long: each time it wakes, it takes
//! the core from a worker when there is none to spare. It parks when no worker runs Lua.
//!
//! # Invariants of the unsafe part
//! * `Slot::callbacks` is null, `LOCKED`, or points to the `lua_Callbacks` of the state that the slot's worker runs
//!   now. Only the worker sets it, and it takes it back before the state can be closed.
//! * The ticker writes through the pointer only between its own swap to `LOCKED` and its store back; the worker's way
//!   out spins until the pointer is back. So the ticker never touches a state that its worker has left.
//! * `lua_Callbacks::interrupt` may be set from any thread (Luau's lua.h says so); it is written as one aligned word.
#![expect(unsafe_code, reason = "arms a Luau callback from another thread; the invariants stand above")]

use std::cell::RefCell;
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::Thread;
use std::time::Duration;

use mlua::ffi;
use parking_lot::Mutex;

/// The callback that is armed.
pub(super) type Interrupt = unsafe extern "C-unwind" fn(*mut ffi::lua_State, c_int);

/// How often the ticker looks while a handler runs long. Slices of such a handler are between one and two ticks long.
const TICK: Duration = Duration::from_micros(500);
/// How often it looks while every handler is short; the first slice of a long one is at most twice as long.
const CALM_TICK: Duration = Duration::from_millis(2);
/// Ticks without a long handler before the ticker looks less often.
const CALM_AFTER: u32 = 40;
/// Calm ticks without any work before the ticker parks.
const IDLE_TICKS: u32 = 10;
/// Stands in a slot while the ticker holds its pointer.
const LOCKED: *mut ffi::lua_Callbacks = ptr::without_provenance_mut(1);

/// What one worker shares with the ticker.
struct Slot {
    callbacks: AtomicPtr<ffi::lua_Callbacks>,
    /// Grows with every slice, so that two slices of one state are told apart.
    slice: AtomicU64,
}

/// The slots of all workers and the ticker's thread: the one place of shared state that is not passed along, because
/// a slot is reached from inside Lua's interrupt, where nothing can be passed.
struct Registry {
    slots: Mutex<Vec<Weak<Slot>>>,
    parked: AtomicBool,
    thread: OnceLock<Thread>,
    interrupt: OnceLock<Interrupt>,
}

static REGISTRY: Registry = Registry {
    slots: Mutex::new(Vec::new()),
    parked: AtomicBool::new(false),
    thread: OnceLock::new(),
    interrupt: OnceLock::new(),
};

thread_local! {
    static SLOT: RefCell<Option<Arc<Slot>>> = const { RefCell::new(None) };
}

/// A slice of Lua on this thread; ends when dropped, and leaves the interrupt disarmed.
pub(super) struct Slice {
    /// The slot of this thread, which lives as long as the thread.
    slot: *const Slot,
    callbacks: *mut ffi::lua_Callbacks,
    outer: *mut ffi::lua_Callbacks,
}

impl Slice {
    /// Begins a slice in the state of these callbacks. Slices nest: a child fiber runs inside its parent's.
    ///
    /// # Safety
    /// `callbacks` must stay valid until the slice is dropped, on this thread.
    pub(super) unsafe fn begin(callbacks: *mut ffi::lua_Callbacks, interrupt: Interrupt) -> Self {
        let own = SLOT.with_borrow_mut(|slot| Arc::as_ptr(slot.get_or_insert_with(|| register(interrupt))));
        // SAFETY: the thread holds its slot.
        let slot = unsafe { &*own };
        let outer = slot.take();
        slot.next();
        slot.callbacks.store(callbacks, Ordering::SeqCst);
        if REGISTRY.parked.load(Ordering::SeqCst)
            && let Some(thread) = REGISTRY.thread.get()
        {
            thread.unpark();
        }
        Self { slot: own, callbacks, outer }
    }
}

impl Drop for Slice {
    fn drop(&mut self) {
        // SAFETY: as above; a slice is on the stack of its thread.
        let slot = unsafe { &*self.slot };
        slot.take();
        if self.outer.is_null() {
            // SAFETY: the state is still open, and the ticker has let go of it.
            unsafe { (*self.callbacks).interrupt = None };
        } else {
            slot.next();
            slot.callbacks.store(self.outer, Ordering::SeqCst);
        }
    }
}

impl Slot {
    /// Counts a slice; only the worker itself does.
    fn next(&self) {
        self.slice.store(self.slice.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// Takes the pointer out; waits the few nanoseconds in which the ticker holds it.
    fn take(&self) -> *mut ffi::lua_Callbacks {
        loop {
            let now = self.callbacks.load(Ordering::Acquire);
            if now == LOCKED {
                std::hint::spin_loop();
                continue;
            }
            let swapped = self.callbacks.compare_exchange(now, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed);
            if swapped.is_ok() {
                return now;
            }
        }
    }

    /// Arms the interrupt if the worker is still where `seen` was.
    fn arm(&self, seen: *mut ffi::lua_Callbacks, interrupt: Interrupt) {
        if self.callbacks.compare_exchange(seen, LOCKED, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return;
        }
        // SAFETY: the slot holds `LOCKED`, so the worker cannot leave the state before the store below.
        unsafe {
            let field = ptr::addr_of_mut!((*seen).interrupt).cast::<*mut ()>();
            AtomicPtr::from_ptr(field).store(interrupt as *mut (), Ordering::Release);
        }
        self.callbacks.store(seen, Ordering::Release);
    }
}

/// Gives this thread a slot, and starts the ticker with the first.
fn register(interrupt: Interrupt) -> Arc<Slot> {
    let slot = Arc::new(Slot { callbacks: AtomicPtr::new(ptr::null_mut()), slice: AtomicU64::new(0) });
    REGISTRY.interrupt.get_or_init(|| interrupt);
    let mut slots = REGISTRY.slots.lock();
    slots.retain(|slot| slot.strong_count() > 0);
    slots.push(Arc::downgrade(&slot));
    drop(slots);
    REGISTRY.thread.get_or_init(|| {
        let spawned = std::thread::Builder::new().name("ticker".into()).spawn(tick_for_ever);
        #[expect(clippy::expect_used, reason = "without the ticker no deadline holds, so nothing may run")]
        spawned.expect("a thread for the ticker").thread().clone()
    });
    slot
}

fn tick_for_ever() {
    let mut seen: Vec<(usize, u64)> = Vec::new();
    let (mut calm, mut idle) = (0, 0);
    loop {
        std::thread::park_timeout(if calm < CALM_AFTER { TICK } else { CALM_TICK });
        let found = tick(&mut seen);
        calm = if found == Found::Long { 0 } else { calm + 1 };
        idle = if found == Found::Nothing { idle + 1 } else { 0 };
        if calm > CALM_AFTER && idle > IDLE_TICKS {
            REGISTRY.parked.store(true, Ordering::SeqCst);
            // A slice that began before the store is seen here; one that begins after it unparks.
            if tick(&mut seen) == Found::Nothing {
                std::thread::park();
            }
            REGISTRY.parked.store(false, Ordering::SeqCst);
            idle = 0;
        }
    }
}

/// What the ticker sees.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    /// No worker runs Lua.
    Nothing,
    /// Every slice is younger than a tick.
    Short,
    /// A slice was there at the last tick already.
    Long,
}

/// Looks at every slot once; `seen` holds what was there at the last tick.
fn tick(seen: &mut Vec<(usize, u64)>) -> Found {
    let Some(interrupt) = REGISTRY.interrupt.get() else {
        return Found::Nothing;
    };
    let slots = REGISTRY.slots.lock();
    seen.resize(slots.len(), (0, 0));
    let mut found = Found::Nothing;
    for (slot, seen) in slots.iter().zip(seen) {
        let Some(slot) = slot.upgrade() else { continue };
        // Sequentially consistent, like the stores of a slice that begins and of `parked`: one of the two sees the other.
        let callbacks = slot.callbacks.load(Ordering::SeqCst);
        let now = (callbacks.addr(), slot.slice.load(Ordering::Acquire));
        if callbacks.is_null() || callbacks == LOCKED {
            *seen = (0, 0);
            continue;
        }
        found = found.max(if *seen == now { Found::Long } else { Found::Short });
        if *seen == now {
            slot.arm(callbacks, *interrupt);
        }
        *seen = now;
    }
    found
}
