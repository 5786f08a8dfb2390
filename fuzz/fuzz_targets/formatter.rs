//! `moondock fmt`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| moondock::trial::formatter(input));
