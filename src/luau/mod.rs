//! What a Luau text names, found by reading it: undefined globals, misspelt host functions, a status returned bare.
//!
//! A leaf: it runs nothing and knows no file. It is asked only about texts that Luau has compiled. A text that its
//! grammar does not understand has an empty [`outline::Outline`]: nothing is said rather than something false.

pub mod known;
pub mod outline;
mod scope;
mod walk;

#[cfg(test)]
mod tests;
