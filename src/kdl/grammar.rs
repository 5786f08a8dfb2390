//! Whether tokens form nodes, before the parser sees them.
//!
//! The parser recurses over what it cannot read, so it is only shown what it can: a run of tokens that passes here is
//! KDL. A test holds the two against each other. This check walks once over the tokens with a stack of its own.

use super::lex::{Kind, Token};

/// What a bare word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordKind {
    /// A name, or text without quotes.
    Text,
    /// A number that the parser can hold.
    Number,
    /// A whole number beyond 128 bits.
    TooLarge,
    /// A word that begins like a number and is none.
    NoNumber,
    /// `#true` and its like.
    Keyword,
    /// A `#` with other words.
    NoKeyword,
    /// `true` and its like without the `#`.
    BareKeyword,
}

/// The keywords, without their `#`.
pub(super) const KEYWORDS: [&str; 6] = ["true", "false", "null", "inf", "-inf", "nan"];

/// What the word is.
pub(super) fn word_kind(word: &str) -> WordKind {
    if let Some(keyword) = word.strip_prefix('#') {
        return if KEYWORDS.contains(&keyword) { WordKind::Keyword } else { WordKind::NoKeyword };
    }
    if KEYWORDS.contains(&word) {
        return WordKind::BareKeyword;
    }
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let numeric = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if !numeric(unsigned) && !unsigned.strip_prefix('.').is_some_and(numeric) {
        return WordKind::Text;
    }
    number_kind(word, unsigned)
}

fn number_kind(word: &str, unsigned: &str) -> WordKind {
    let (digits, radix) = match unsigned.get(..2) {
        Some("0x") => (&unsigned[2..], 16),
        Some("0o") => (&unsigned[2..], 8),
        Some("0b") => (&unsigned[2..], 2),
        _ => (unsigned, 10),
    };
    let all = |text: &str| {
        text.starts_with(|c: char| c.is_digit(radix)) && text.chars().all(|c| c == '_' || c.is_digit(radix))
    };
    if all(digits) {
        let sign = if word.starts_with('-') { "-" } else { "" };
        let plain = format!("{sign}{}", digits.replace('_', ""));
        let fits = i128::from_str_radix(&plain, radix).is_ok();
        return if fits { WordKind::Number } else { WordKind::TooLarge };
    }
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let fine = radix == 10 && all(whole) && all(fraction) && all(exponent);
    if fine { WordKind::Number } else { WordKind::NoNumber }
}

/// What stands between two things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    Nothing,
    Space,
    Line,
}

#[derive(Clone, Copy)]
struct Item {
    kind: Kind,
    gap: Gap,
    at: usize,
}

/// Where in a node the walk is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// A node may begin.
    Begin,
    /// After its name: values, properties, a block.
    Entries,
    /// After a block that is switched off: no more values.
    AfterSlashed,
    /// After its block.
    AfterBlock,
}

struct Walk<'a> {
    text: &'a str,
    tokens: &'a [Token],
    items: Vec<Item>,
    next: usize,
    /// The state to go on with after each open block.
    blocks: Vec<State>,
    state: State,
}

/// Checks the tokens of a chunk.
///
/// # Errors
/// The index of the token that cannot stand where it stands; the number of tokens when something is missing at the end.
pub(super) fn check(text: &str, tokens: &[Token]) -> Result<(), usize> {
    let items = items(tokens)?;
    let mut walk = Walk { text, tokens, items, next: 0, blocks: Vec::new(), state: State::Begin };
    while walk.next < walk.items.len() {
        walk.step()?;
    }
    if walk.blocks.is_empty() { Ok(()) } else { Err(tokens.len()) }
}

/// The solid tokens, each with what stands before it.
fn items(tokens: &[Token]) -> Result<Vec<Item>, usize> {
    let mut items = Vec::with_capacity(tokens.len());
    let mut gap = Gap::Line;
    let mut continued = None;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Space if gap == Gap::Nothing => gap = Gap::Space,
            Kind::Space | Kind::LineComment => {}
            Kind::Newline if continued.take().is_some() => gap = if gap == Gap::Line { gap } else { Gap::Space },
            Kind::Newline => gap = Gap::Line,
            _ if continued.is_some() => return Err(continued.unwrap_or(at)),
            Kind::Continuation => continued = Some(at),
            kind => {
                items.push(Item { kind, gap, at });
                gap = Gap::Nothing;
            }
        }
    }
    Ok(items)
}

impl Walk<'_> {
    fn peek(&self) -> Option<Item> {
        self.items.get(self.next).copied()
    }

    fn kind(&self) -> Option<Kind> {
        self.peek().map(|item| item.kind)
    }

    fn fail<T>(&self) -> Result<T, usize> {
        Err(self.peek().map_or(self.tokens.len(), |item| item.at))
    }

    /// Takes the next item when it is of the kind.
    fn take(&mut self, kind: Kind) -> Result<(), usize> {
        if self.kind() != Some(kind) {
            return self.fail();
        }
        self.next += 1;
        Ok(())
    }

    fn step(&mut self) -> Result<(), usize> {
        let Some(item) = self.peek() else {
            return Ok(());
        };
        if self.state != State::Begin && item.gap == Gap::Line {
            self.state = State::Begin;
        }
        match (self.state, item.kind) {
            (_, Kind::Close) => self.leave(),
            (State::Begin, Kind::Slashdash) => {
                self.next += 1;
                self.begin()
            }
            (State::Begin, _) => self.begin(),
            (_, Kind::Semicolon) => {
                self.next += 1;
                self.state = State::Begin;
                Ok(())
            }
            (State::Entries | State::AfterSlashed, Kind::Open) => self.enter(State::AfterBlock),
            (_, Kind::Slashdash) => self.slashed(),
            (State::Entries, _) if item.gap != Gap::Nothing => self.entry(),
            _ => self.fail(),
        }
    }

    fn begin(&mut self) -> Result<(), usize> {
        self.annotation()?;
        self.name()?;
        self.state = State::Entries;
        Ok(())
    }

    fn enter(&mut self, after: State) -> Result<(), usize> {
        self.next += 1;
        self.blocks.push(after);
        self.state = State::Begin;
        Ok(())
    }

    fn leave(&mut self) -> Result<(), usize> {
        let Some(after) = self.blocks.pop() else {
            return self.fail();
        };
        self.next += 1;
        self.state = after;
        Ok(())
    }

    /// `/-` inside a node: before a value, a property or a block.
    fn slashed(&mut self) -> Result<(), usize> {
        if self.peek().is_some_and(|item| item.gap == Gap::Nothing) {
            return self.fail();
        }
        self.next += 1;
        match (self.kind(), self.state) {
            (Some(Kind::Open), State::AfterBlock) => self.enter(State::AfterBlock),
            (Some(Kind::Open), _) => self.enter(State::AfterSlashed),
            (_, State::Entries) => self.entry(),
            _ => self.fail(),
        }
    }

    /// A name, or text that names: never a number or a keyword.
    fn name(&mut self) -> Result<(), usize> {
        match self.peek() {
            Some(item) if item.kind == Kind::Quoted => {}
            Some(item) if item.kind == Kind::Word && self.word(item) == WordKind::Text => {}
            _ => return self.fail(),
        }
        self.next += 1;
        Ok(())
    }

    fn word(&self, item: Item) -> WordKind {
        word_kind(&self.text[self.tokens[item.at].range()])
    }

    /// `(name)`, if there is one; what follows it stands on the same line.
    fn annotation(&mut self) -> Result<(), usize> {
        if self.kind() != Some(Kind::ParenOpen) {
            return Ok(());
        }
        self.next += 1;
        self.on_this_line()?;
        self.name()?;
        self.on_this_line()?;
        self.take(Kind::ParenClose)?;
        self.on_this_line()
    }

    fn on_this_line(&self) -> Result<(), usize> {
        if self.peek().is_some_and(|item| item.gap == Gap::Line) { self.fail() } else { Ok(()) }
    }

    fn value(&mut self) -> Result<(), usize> {
        self.annotation()?;
        let fine = match self.peek() {
            Some(item) if item.kind == Kind::Quoted => true,
            Some(item) if item.kind == Kind::Word => {
                matches!(self.word(item), WordKind::Text | WordKind::Number | WordKind::Keyword)
            }
            _ => false,
        };
        if !fine {
            return self.fail();
        }
        self.next += 1;
        Ok(())
    }

    /// A value, or a property.
    fn entry(&mut self) -> Result<(), usize> {
        let first = self.next;
        self.value()?;
        let equals = self.peek().is_some_and(|item| item.kind == Kind::Equals && item.gap != Gap::Line);
        if !equals {
            return Ok(());
        }
        let end = std::mem::replace(&mut self.next, first);
        self.name()?;
        if self.next != end {
            return self.fail();
        }
        self.next += 1;
        self.on_this_line()?;
        self.value()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kdl::trial::scanner;

    #[test]
    fn words_are_told_apart() {
        for (word, expected) in [
            ("5", WordKind::Number),
            ("-0x1F", WordKind::Number),
            ("1_000.5e-3", WordKind::Number),
            ("5s", WordKind::NoNumber),
            ("127.0.0.1:80", WordKind::NoNumber),
            (".5", WordKind::NoNumber),
            ("0xZ", WordKind::NoNumber),
            ("99999999999999999999999999999999999999999", WordKind::TooLarge),
            ("a5", WordKind::Text),
            ("-", WordKind::Text),
            ("#true", WordKind::Keyword),
            ("#True", WordKind::NoKeyword),
            ("nan", WordKind::BareKeyword),
        ] {
            assert_eq!(word_kind(word), expected, "{word}");
        }
    }

    /// Pieces of KDL, right and wrong.
    fn piece() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            " ",
            " ",
            " ",
            " ",
            "\n",
            ";",
            "{",
            "}",
            "{",
            "}",
            "(",
            ")",
            "(a)",
            "=",
            "a",
            "b",
            "\"c\"",
            "1",
            "#true",
            "/-",
            "/- ",
            "\\\n",
            " \\ // x\n",
            "/* c */",
            "// d\n",
            "a=1",
            "a=\"x\"",
            "(t)v",
            "-1",
            "1.5e3",
            "0x1f",
            "#inf",
            "#\"r\"#",
            "k = 2",
            "\t",
            "true",
            "5s",
            "[",
            "/",
            "+",
            ".",
            "-.5",
            "1e999",
            "0b2",
            "1_",
            "_1",
            "\r\n",
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_check_and_the_parser_agree(pieces in prop::collection::vec(piece(), 0..14)) {
            scanner(&pieces.concat());
        }
    }
}
