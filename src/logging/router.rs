//! The router: a slog drain that hands a record to the targets whose filter takes it.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::feature::{Feature, Level};
use super::filter::Filter;
use super::format::Style;
use super::mask::Mask;
use super::record::Entry;
use super::settings::{Destination, LoggingSettings, Overflow, TargetSettings};
use super::target;
use super::writer::Writer;

/// The live targets of one generation. Writers whose destination stays are shared with the generation before, so that no
/// record is lost or doubled by a save; a writer ends with the last router that has it.
pub struct Router {
    core: Arc<Core>,
    logger: slog::Logger,
}

/// One request answered, as the `api` feature tells it. Borrowed: nothing is formatted unless a target takes it.
pub struct ApiRecord<'a> {
    /// The method.
    pub method: &'a str,
    /// The path as sent.
    pub path: &'a str,
    /// The endpoint's pattern; empty when none matched.
    pub route: &'a str,
    /// The status sent.
    pub status: u16,
    /// Bytes of the answer's body.
    pub bytes: u64,
    /// From the head's arrival to the answer's hand-over.
    pub duration: Duration,
    /// How long it waited for a runspace.
    pub waited: Duration,
    /// The client.
    pub remote: IpAddr,
    /// The request id.
    pub id: &'a str,
}

impl ApiRecord<'_> {
    /// Its level, which follows from the status.
    pub fn level(&self) -> Level {
        Level::of_status(self.status)
    }
}

impl Router {
    /// Opens the targets, taking over from `previous` what did not change. `secrets` are values never to be written.
    /// Starts nothing: the thread of a new writer begins with its first record.
    ///
    /// # Errors
    /// A target that cannot be opened.
    pub fn build(settings: &LoggingSettings, previous: Option<&Router>, secrets: Vec<String>) -> io::Result<Self> {
        let mask = Arc::new(Mask::new(&secrets, &settings.mask));
        let mut targets: Vec<Target> = Vec::with_capacity(settings.targets.len());
        for target in &settings.targets {
            let known = writer_of(&targets, target).or_else(|| writer_of(&previous?.core.targets, target));
            let writer = known.map_or_else(|| open(&target.destination), Ok)?;
            targets.push(Target::new(target, writer, mask.clone()));
        }
        Ok(Self::of(targets))
    }

    fn of(targets: Vec<Target>) -> Self {
        let core = Arc::new(Core::new(targets));
        let logger = slog::Logger::root(slog::Fuse(Drain(core.clone())), slog::o!());
        Self { core, logger }
    }

    /// The logger that everything is passed.
    pub fn logger(&self) -> slog::Logger {
        self.logger.clone()
    }

    /// Whether any target takes such a record of this endpoint (empty for none): a comparison.
    pub fn takes(&self, feature: Feature, level: Level, endpoint: &str) -> bool {
        self.core.may_take(feature, level)
            && (!self.core.by_endpoint || self.core.takers(feature, level, endpoint).next().is_some())
    }

    /// Writes the record of a request answered.
    pub fn api(&self, record: &ApiRecord<'_>) {
        if self.takes(Feature::Api, record.level(), record.route) {
            self.core.hand_out(&Arc::new(Entry::api(record)));
        }
    }

    /// Records dropped because a queue was full, counted by the writers of this router since they were opened.
    pub fn dropped(&self) -> u64 {
        self.core.writers().map(Writer::dropped).sum()
    }

    /// Waits until everything logged so far is written, `within` at most; returns whether it was.
    pub fn flush(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        let late = self.core.writers().filter(|writer| !writer.flush(deadline));
        // Every writer gets its chance, also when one before it was late.
        late.count() == 0
    }
}

/// The writer that serves the destination of `target` already.
fn writer_of(targets: &[Target], target: &TargetSettings) -> Option<Arc<Writer>> {
    targets.iter().find(|known| known.destination == target.destination).map(|known| known.writer.clone())
}

fn open(destination: &Destination) -> io::Result<Arc<Writer>> {
    Ok(Arc::new(Writer::new(&destination.address, target::open(destination)?)))
}

/// A target with its writer.
struct Target {
    destination: Destination,
    filter: Filter,
    style: Arc<Style>,
    queue: usize,
    overflow: Overflow,
    writer: Arc<Writer>,
}

impl Target {
    fn new(settings: &TargetSettings, writer: Arc<Writer>, mask: Arc<Mask>) -> Self {
        let style = Style { format: settings.format, coloured: writer.coloured, mask };
        Self {
            destination: settings.destination.clone(),
            filter: settings.filter.clone(),
            style: Arc::new(style),
            queue: settings.queue,
            overflow: settings.overflow,
            writer,
        }
    }
}

/// What the router and its logger share.
struct Core {
    targets: Vec<Target>,
    /// For each level the features that some target takes, whatever the endpoint.
    taken: [u8; Level::ALL.len()],
    /// Whether some target looks at the endpoint.
    by_endpoint: bool,
}

impl Core {
    fn new(targets: Vec<Target>) -> Self {
        let taken = Level::ALL.map(|level| {
            let features =
                Feature::ALL.iter().filter(|feature| targets.iter().any(|it| it.filter.may_take(**feature, level)));
            features.fold(0, |set, feature| set | feature.bit())
        });
        let by_endpoint = targets.iter().any(|target| !target.filter.endpoints.is_empty());
        Self { targets, taken, by_endpoint }
    }

    fn may_take(&self, feature: Feature, level: Level) -> bool {
        self.taken[level as usize] & feature.bit() != 0
    }

    fn takers<'c>(&'c self, feature: Feature, level: Level, endpoint: &'c str) -> impl Iterator<Item = &'c Target> {
        self.targets
            .iter()
            .filter(move |target| target.filter.may_take(feature, level) && target.filter.takes_endpoint(endpoint))
    }

    fn hand_out(&self, entry: &Arc<Entry>) {
        for target in self.takers(entry.feature, entry.level, entry.endpoint()) {
            target.writer.push(entry, &target.style, target.queue, target.overflow);
        }
    }

    /// Every writer once.
    fn writers(&self) -> impl Iterator<Item = &Writer> {
        let first = |(index, target): &(usize, &Target)| {
            !self.targets.iter().take(*index).any(|before| Arc::ptr_eq(&before.writer, &target.writer))
        };
        self.targets.iter().enumerate().filter(first).map(|(_, target)| &*target.writer)
    }
}

/// The router as slog sees it.
struct Drain(Arc<Core>);

/// A panic of the caller leaves nothing half done here: a queue is changed under its lock by steps that cannot panic.
impl std::panic::RefUnwindSafe for Drain {}
impl std::panic::UnwindSafe for Drain {}

impl slog::Drain for Drain {
    type Ok = ();
    type Err = slog::Never;

    fn log(&self, record: &slog::Record<'_>, context: &slog::OwnedKVList) -> Result<(), slog::Never> {
        // A record without a known tag is the server's own.
        let feature = Feature::named(record.tag()).unwrap_or(Feature::Server);
        if self.0.may_take(feature, record.level().into()) {
            self.0.hand_out(&Arc::new(Entry::event(feature, record, context)));
        }
        Ok(())
    }

    fn is_enabled(&self, level: slog::Level) -> bool {
        self.0.taken[Level::from(level) as usize] != 0
    }
}

#[cfg(test)]
mod tests;
