//! The `moondock` program: hands its arguments to the commands.

use std::process::ExitCode;

/// Measured on JSON answers: 17 % more requests than with the system's allocator (docs/performance.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    moondock::cli::main(std::env::args_os())
}
