//! What host functions hold over calls into Lua, where a value on their own stack could not be: let go by its number,
//! or with the fiber, however it ends.

use std::any::Any;

use super::fiber;

/// The values that one fiber holds.
#[derive(Default)]
pub(super) struct Held(Vec<(u64, Box<dyn Any>)>);

/// Holds a value under a number; `None` when nothing that could wait runs here.
pub(super) fn hold(number: u64, value: Box<dyn Any>) -> Option<()> {
    fiber::held(|held| held.0.push((number, value)))
}

/// Takes back the value under a number.
pub(super) fn let_go(number: u64) -> Option<Box<dyn Any>> {
    fiber::held(|held| {
        let place = held.0.iter().position(|(other, _)| *other == number)?;
        Some(held.0.swap_remove(place).1)
    })?
}

/// Whether a value is held under a number.
pub(super) fn holds(number: u64) -> bool {
    fiber::held(|held| held.0.iter().any(|(other, _)| *other == number)).unwrap_or(false)
}
