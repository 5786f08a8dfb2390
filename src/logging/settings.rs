//! What a site file says about logging, decoded and validated.

use super::feature::{Feature, Level, Scope, one_of};
use super::filter::Filter;
use super::format::Format;
use super::target::{self, console};
use crate::kdl::reader::Reader;
use crate::kdl::scalar::{At, Bad, Plain, Scalar};

/// How many records wait for a target unless it says otherwise.
pub const QUEUE: usize = 8192;

/// The `logging` block.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggingSettings {
    /// Every target in order; `system` is one of them.
    pub targets: Vec<TargetSettings>,
    /// More names whose values are never written.
    pub mask: Vec<String>,
}

/// Without a block: the console from level info.
impl Default for LoggingSettings {
    fn default() -> Self {
        let destination = Destination { kind: "console", address: console::STANDARD_OUTPUT.to_owned() };
        Self { targets: vec![TargetSettings::new(destination, Filter::from_level(Level::Info))], mask: Vec::new() }
    }
}

/// One target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetSettings {
    /// Where its lines go.
    pub destination: Destination,
    /// What it takes.
    pub filter: Filter,
    /// How its lines look; default pretty.
    pub format: Format,
    /// How many records may wait; default [`QUEUE`].
    pub queue: usize,
    /// What happens to the next one; default drop.
    pub overflow: Overflow,
}

impl TargetSettings {
    fn new(destination: Destination, filter: Filter) -> Self {
        Self { destination, filter, format: Format::default(), queue: QUEUE, overflow: Overflow::default() }
    }
}

/// What tells destinations apart. Targets with equal destinations share one writer, also over reloads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Destination {
    /// The name of its kind.
    pub kind: &'static str,
    /// Which one of its kind, in words.
    pub address: String,
}

/// What happens to a record when the queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// It is dropped and counted.
    #[default]
    Drop,
    /// Whoever logs waits, also a request.
    Block,
}

impl Scalar for Overflow {
    fn read(value: &Plain) -> Result<Self, Bad> {
        let named = |name: &str| match name {
            "drop" => Some(Self::Drop),
            "block" => Some(Self::Block),
            _ => None,
        };
        one_of(value, "way to overflow", named, || vec!["drop", "block"])
    }
}

/// A pattern of endpoints, such as `/hook/*`.
struct Endpoints(glob::Pattern);

impl Scalar for Endpoints {
    fn read(value: &Plain) -> Result<Self, Bad> {
        let bad = |message: String| Bad {
            message,
            label: "not a pattern of endpoints".to_owned(),
            help: Some("write a path; `*` stands for anything, such as \"/hook/*\"".to_owned()),
            part: None,
        };
        match value {
            Plain::Text(text) => {
                glob::Pattern::new(text).map(Self).map_err(|error| bad(format!("`{text}`: {}", error.msg)))
            }
            _ => Err(bad("a pattern of endpoints is text".to_owned())),
        }
    }
}

/// Any text.
struct Word(String);

impl Scalar for Word {
    fn read(value: &Plain) -> Result<Self, Bad> {
        match value {
            Plain::Text(text) => Ok(Self(text.clone())),
            _ => {
                Err(Bad { message: "a name is text".to_owned(), label: "not text".to_owned(), help: None, part: None })
            }
        }
    }
}

/// A number of records that may wait.
struct Queue(usize);

impl Scalar for Queue {
    fn read(value: &Plain) -> Result<Self, Bad> {
        let number = match value {
            Plain::Integer(number) => usize::try_from(*number).ok().filter(|number| (1..=QUEUE_LIMIT).contains(number)),
            _ => None,
        };
        number.map(Self).ok_or_else(|| Bad {
            message: format!("a queue holds 1 to {QUEUE_LIMIT} records"),
            label: "not a length of a queue".to_owned(),
            help: None,
            part: None,
        })
    }
}

/// The longest queue, in records.
const QUEUE_LIMIT: usize = 1 << 20;

impl LoggingSettings {
    /// Reads a `logging` block.
    pub fn decode(reader: &Reader<'_>) -> Self {
        let system = reader.each("system").into_iter().filter_map(|node| system(&node));
        let targets = system.chain(reader.each("target").into_iter().filter_map(|node| decode_target(&node))).collect();
        Self { targets, mask: reader.list::<Word>("mask").into_iter().map(|word| word.it.0).collect() }
    }

    /// What goes to standard output goes to standard error, for commands whose output is something else.
    pub fn to_standard_error(&mut self) {
        let targets = self.targets.iter_mut().map(|target| &mut target.destination);
        let output = targets.filter(|to| to.kind == "console" && to.address == console::STANDARD_OUTPUT);
        output.for_each(|to| to.address = console::STANDARD_ERROR.to_owned());
    }
}

/// `system`: the server's own messages on standard error. With a path it is a file target, which the schema reports.
fn system(node: &Reader<'_>) -> Option<TargetSettings> {
    if node.plain(0).is_some() {
        return None;
    }
    let level = node.get("level").map_or(Level::Info, |level| level.it);
    let destination = Destination { kind: "console", address: console::STANDARD_ERROR.to_owned() };
    Some(TargetSettings::new(destination, Filter::new(level, &[], &[Scope::System])))
}

fn decode_target(node: &Reader<'_>) -> Option<TargetSettings> {
    let kind = target::kind(&node.arg::<Word>(0)?.it.0)?;
    let destination = Destination { kind: kind.name, address: (kind.address)(node)? };
    let level = node.get("level").map_or(Level::Info, |level| level.it);
    let features: Vec<Feature> = values(node.list("feature"));
    let scopes: Vec<Scope> = values(node.list("scope"));
    let mut settings = TargetSettings::new(destination, Filter::new(level, &features, &scopes));
    settings.filter.endpoints = node.list::<Endpoints>("endpoint").into_iter().map(|pattern| pattern.it.0).collect();
    settings.format = node.get("format").map_or(settings.format, |format| format.it);
    if let Some(queue) = node.child("queue") {
        settings.queue = queue.arg::<Queue>(0).map_or(QUEUE, |queue| queue.it.0);
        settings.overflow = queue.get("overflow").map_or(settings.overflow, |overflow| overflow.it);
    } else if let Some(queue) = node.get::<Queue>("queue") {
        settings.queue = queue.it.0;
    }
    Some(settings)
}

fn values<T>(list: Vec<At<T>>) -> Vec<T> {
    list.into_iter().map(|value| value.it).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_block_the_console_hears_from_info_up() {
        let settings = LoggingSettings::default();
        assert_eq!(settings.targets.len(), 1);
        assert_eq!(settings.targets[0].destination.address, console::STANDARD_OUTPUT);
        assert!(settings.targets[0].filter.may_take(Feature::Api, Level::Info));
        assert!(!settings.targets[0].filter.may_take(Feature::Api, Level::Debug));
    }

    #[test]
    fn scalars() {
        let text = |text: &str| Plain::Text(text.to_owned());
        assert_eq!(Overflow::read(&text("block")), Ok(Overflow::Block));
        assert!(Overflow::read(&text("wait")).is_err());
        assert!(Endpoints::read(&text("/hook/*")).is_ok());
        assert!(Endpoints::read(&text("/hook/[")).is_err());
        assert!(Queue::read(&Plain::Integer(0)).is_err());
        assert!(Queue::read(&Plain::Integer(1)).is_ok());
    }
}
