//! The language server, hearing anything at all.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| moondock::trial::wire(input));
