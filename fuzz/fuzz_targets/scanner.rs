//! The scanner and the check of the grammar, against the kdl crate.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| moondock::trial::scanner(input));
