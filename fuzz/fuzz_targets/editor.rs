//! The language server, while a text is typed.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| moondock::trial::editor(input));
