//! Standard output and standard error. A reader that has gone (`moondock routes | head`) is no error.

use std::io::{self, IsTerminal, Write};

use crate::diag::render::Style;

/// When colours are used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

/// Where commands write.
pub(super) struct Output {
    color: Color,
}

impl Output {
    pub(super) fn new(color: Color) -> Self {
        Self { color }
    }

    /// Writes text to standard output.
    pub(super) fn out(&mut self, text: &str) {
        write(&mut io::stdout().lock(), text);
    }

    /// Writes bytes to standard output.
    pub(super) fn out_bytes(&mut self, bytes: &[u8]) {
        let _gone = io::stdout().lock().write_all(bytes).and_then(|()| io::stdout().flush());
    }

    /// Writes text to standard error.
    pub(super) fn err(&mut self, text: &str) {
        write(&mut io::stderr().lock(), text);
    }

    /// The style of diagnostics on standard output.
    pub(super) fn out_style(&self) -> Style {
        self.style(io::stdout().is_terminal())
    }

    /// The style of diagnostics on standard error.
    pub(super) fn err_style(&self) -> Style {
        self.style(io::stderr().is_terminal())
    }

    fn style(&self, terminal: bool) -> Style {
        let wanted = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let color = match self.color {
            Color::Auto => wanted,
            Color::Always => true,
            Color::Never => false,
        };
        Style { color, unicode: !terminal || speaks_utf8(), ..Style::default() }
    }
}

/// Whether the locale says that the terminal shows more than ASCII.
fn speaks_utf8() -> bool {
    let locale =
        ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| std::env::var(name).ok().filter(|it| !it.is_empty()));
    locale.is_some_and(|locale| locale.to_lowercase().replace('-', "").contains("utf8"))
}

fn write(to: &mut dyn Write, text: &str) {
    // There is nobody left to tell when the reader has gone.
    let _gone = to.write_all(text.as_bytes()).and_then(|()| to.flush());
}
