//! A site from any text, what is told of it, and what `check --fix` makes of it.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| moondock::trial::reader(input));
