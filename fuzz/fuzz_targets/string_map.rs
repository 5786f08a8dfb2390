//! Values of texts, and where each character came from.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &str| moondock::trial::string_map(input));
