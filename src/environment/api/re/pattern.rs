//! Compiled regular expressions, shared by all runspaces of the process and bounded in number and size.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use regex::bytes::{Regex, RegexBuilder};

/// The longest pattern, in bytes.
const LONGEST: usize = 8 * 1024;

/// The most memory of one compiled pattern, in bytes; it also bounds how long one byte of text can take.
const LARGEST: usize = 256 * 1024;

/// How deep the groups of a pattern may nest.
const DEEPEST: u32 = 100;

/// How many compiled patterns are kept.
const MOST: usize = 256;

/// The patterns that were used last.
#[derive(Default)]
pub struct Patterns(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    entries: HashMap<Box<str>, Entry>,
    /// Counts uses, as the age of entries.
    clock: u64,
}

struct Entry {
    regex: Arc<Regex>,
    used: u64,
}

impl Patterns {
    /// The pattern, compiled; at most once while it is kept.
    ///
    /// # Errors
    /// A sentence on what is wrong with the pattern, and where.
    pub fn get(&self, pattern: &str) -> Result<Arc<Regex>, String> {
        if let Some(regex) = self.0.lock().find(pattern) {
            return Ok(regex);
        }
        let regex = Arc::new(compile(pattern)?);
        self.0.lock().keep(pattern, &regex);
        Ok(regex)
    }
}

impl Kept {
    fn find(&mut self, pattern: &str) -> Option<Arc<Regex>> {
        self.clock += 1;
        let entry = self.entries.get_mut(pattern)?;
        entry.used = self.clock;
        Some(Arc::clone(&entry.regex))
    }

    fn keep(&mut self, pattern: &str, regex: &Arc<Regex>) {
        if self.entries.len() >= MOST {
            self.forget_half();
        }
        self.entries.insert(pattern.into(), Entry { regex: Arc::clone(regex), used: self.clock });
    }

    /// Forgets the half that was not used for longest, so that the search for it is rare.
    fn forget_half(&mut self) {
        let mut ages: Vec<u64> = self.entries.values().map(|entry| entry.used).collect();
        let middle = ages.len() / 2;
        let (_, limit, _) = ages.select_nth_unstable(middle);
        let limit = *limit;
        self.entries.retain(|_, entry| entry.used > limit);
    }
}

fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > LONGEST {
        return Err(format!("a pattern can be at most {LONGEST} bytes long, this one has {}", pattern.len()));
    }
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(LARGEST).dfa_size_limit(LARGEST).nest_limit(DEEPEST);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            format!("the pattern {pattern:?} is too large: repeat less, or match in steps")
        }
        error => wrong(pattern, &error.to_string()),
    })
}

/// One sentence of the several lines that the crate draws: a line of carets under the pattern, then `error: why`.
fn wrong(pattern: &str, drawn: &str) -> String {
    let mut message = format!("the pattern {pattern:?} is wrong");
    let caret = drawn.lines().find(|line| line.trim_start().starts_with('^'));
    if let Some(column) = caret.and_then(|line| line.chars().position(|character| character == '^')) {
        message.push_str(&format!(" at character {}", column.saturating_sub(3)));
    }
    let why = drawn.lines().rev().find_map(|line| line.strip_prefix("error: ")).unwrap_or("it cannot be read");
    message.push_str(&format!(": {why}"));
    message
}
