//! `time`: the clocks, and times as text. A time is seconds since 1970 in UTC, as a number with a fraction.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::{rfc2822, strtime};
use jiff::tz::TimeZone;
use mlua::{Lua, Result, Value};

use crate::environment::api::arguments::{misuse, number, text};
use crate::environment::api::error::{Failure, Outcome};
use crate::environment::api::{Host, Module};

/// The module.
pub const MODULE: Module = Module { name: "time", install };

/// The longest text that can be a time, with a zone's name.
const LONGEST: usize = 128;

/// The longest format.
const LONGEST_FORMAT: usize = 1024;

/// When the process began; what `time.mono` counts from.
pub struct Beginning(Instant);

impl Default for Beginning {
    fn default() -> Self {
        Self(Instant::now())
    }
}

fn install(lua: &Lua, host: &Arc<Host>) -> Result<Value> {
    let module = lua.create_table()?;
    module.raw_set("now", lua.create_function(|_, ()| Ok(now()))?)?;
    let process = Arc::clone(&host.process);
    module.raw_set("mono", lua.create_function(move |_, ()| Ok(process.beginning.0.elapsed().as_secs_f64()))?)?;
    module.raw_set("iso", lua.create_function(|_, time: Value| Ok(moment("time.iso", &time)?.to_string()))?)?;
    module.raw_set("http", lua.create_function(|_, time: Value| http(&time))?)?;
    module.raw_set("parse", lua.create_function(|_, text: Value| parse(&text))?)?;
    module.raw_set(
        "format",
        lua.create_function(|_, (time, format, zone): (Value, Value, Value)| formatted(&time, &format, &zone))?,
    )?;
    Ok(Value::Table(module))
}

/// Seconds since 1970; negative when the clock stands before.
fn now() -> f64 {
    match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => since.as_secs_f64(),
        Err(before) => -before.duration().as_secs_f64(),
    }
}

/// The moment of an argument; now when it is left out. To the microsecond, which is what a number of seconds can tell.
fn moment(function: &str, time: &Value) -> Result<Timestamp> {
    if time.is_nil() {
        return Ok(Timestamp::now());
    }
    let seconds = number(function, "time", time)?;
    let micros = (seconds * 1e6).round();
    let outside = || misuse(function, format_args!("time {seconds} is outside of the years -9999 to 9999"));
    if micros.abs() > 1e18 {
        return Err(outside());
    }
    Timestamp::from_microsecond(micros as i64).map_err(|_| outside())
}

fn http(time: &Value) -> Result<String> {
    let moment = moment("time.http", time)?;
    let printed = rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&moment);
    printed.map_err(|_| misuse("time.http", "a date of HTTP needs a year from 0 to 9999"))
}

fn parse(value: &Value) -> Result<Outcome<f64>> {
    let text = text("time.parse", "text", value)?;
    let moment = if text.len() > LONGEST { None } else { read(&text) };
    Ok(moment.map(seconds).ok_or_else(|| {
        let shown: String = text.chars().take(LONGEST).collect();
        Failure::new(
            "invalid-time",
            format!("{shown:?} is not a time such as \"2026-11-30T10:00:00Z\" or \"Mon, 30 Nov 2026 10:00:00 GMT\""),
        )
    }))
}

/// A moment as ISO 8601 with its offset, as a date of mail or HTTP, or as a civil date or time in UTC.
fn read(text: &str) -> Option<Timestamp> {
    let exact = text.parse::<Timestamp>().ok();
    let mail = || rfc2822::parse(text).ok().map(|zoned| zoned.timestamp());
    let civil = || text.parse::<DateTime>().ok()?.to_zoned_datetime(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    exact.or_else(mail).or_else(civil)
}

fn seconds(moment: Timestamp) -> f64 {
    moment.as_microsecond() as f64 / 1e6
}

fn formatted(time: &Value, format: &Value, zone: &Value) -> Result<Outcome<String>> {
    let moment = moment("time.format", time)?;
    let format = text("time.format", "format", format)?;
    if format.len() > LONGEST_FORMAT {
        return Err(misuse("time.format", format_args!("format must be at most {LONGEST_FORMAT} bytes long")));
    }
    let zone = match zone {
        Value::Nil => TimeZone::UTC,
        zone => {
            let name = text("time.format", "time zone", zone)?;
            match TimeZone::get(&name) {
                Ok(zone) => zone,
                Err(_) => {
                    return Ok(Err(Failure::new("unknown-time-zone", format!("there is no time zone {:?}", &*name))));
                }
            }
        }
    };
    let printed = strtime::format(&*format, &moment.to_zoned_datetime(zone));
    printed
        .map(Ok)
        .map_err(|error| misuse("time.format", format_args!("format {:?} cannot be used: {error}", &*format)))
}

#[cfg(test)]
mod tests {
    use crate::environment::api::testing::{check, state};

    #[test]
    fn clocks_run_on() {
        let lua = state(&[super::MODULE]);
        let code = "local a, b = time.mono(), time.mono() assert(b >= a and a >= 0)
                    assert(math.abs(time.now() - os.time()) < 5)
                    assert(math.abs(time.parse(time.iso()) - time.now()) < 5)";
        lua.load(code).exec().unwrap();
    }

    #[test]
    fn text_of_a_time() {
        check(
            &[super::MODULE],
            &[
                ("time.iso(0)", "1970-01-01T00:00:00Z"),
                ("time.iso(1700000000.123)", "2023-11-14T22:13:20.123Z"),
                ("time.iso(-1)", "1969-12-31T23:59:59Z"),
                ("time.http(784111777)", "Sun, 06 Nov 1994 08:49:37 GMT"),
                ("time.format(0, '%Y-%m-%d %H:%M:%S')", "1970-01-01 00:00:00"),
                ("time.format(1700000000, '%H:%M %Z', 'Europe/Paris')", "23:13 CET"),
                ("time.format(1720000000, '%H:%M %z', 'America/New_York')", "05:46 -0400"),
                ("time.format(0, '100%% \\0') == '100% \\0'", "true"),
                ("time.format(0, '')", ""),
            ],
        );
    }

    #[test]
    fn time_of_a_text() {
        check(
            &[super::MODULE],
            &[
                ("time.parse('1970-01-01T00:00:00Z')", "0"),
                ("time.parse('2023-11-14T23:13:20.5+01:00')", "1700000000.5"),
                ("time.parse('2023-11-14')", "1699920000"),
                ("time.parse('2023-11-14 22:13:20')", "1700000000"),
                ("time.parse('Sun, 06 Nov 1994 08:49:37 GMT')", "784111777"),
                ("time.parse(time.iso(1700000000.25))", "1700000000.25"),
                ("select(2, time.parse('yesterday')).code", "invalid-time"),
                ("(time.parse(''))", "nil"),
                ("(time.parse('2023-13-01'))", "nil"),
                ("(time.parse('2023-02-30T00:00:00Z'))", "nil"),
                ("(time.parse('\\0'))", "nil"),
                ("#select(2, time.parse(string.rep('9', 1000000))).message < 300", "true"),
            ],
        );
    }

    #[test]
    fn mistakes() {
        check(
            &[super::MODULE],
            &[
                ("time.iso(1e12)", "raises time.iso: time 1000000000000 is outside of the years -9999 to 9999"),
                ("time.iso(2^62)", "raises time.iso: time 4611686018427388000 is outside of the years -9999 to 9999"),
                ("time.iso(0/0)", "raises time.iso: time must be a finite number, not NaN"),
                ("time.iso(1/0)", "raises time.iso: time must be a finite number, not inf"),
                ("time.iso('now')", "raises time.iso: time must be a number, not a string"),
                ("time.http(-1e11)", "raises time.http: a date of HTTP needs a year from 0 to 9999"),
                ("time.parse(0)", "raises time.parse: text must be a string, not a number"),
                ("time.format(0)", "raises time.format: format must be a string, not nil"),
                ("time.format(0, '%Y', 'Mars/Olympus')", "nil, there is no time zone \"Mars/Olympus\""),
                ("time.format(0, '%Y', '../../etc/passwd')", "nil, there is no time zone \"../../etc/passwd\""),
                ("time.format(0, '%Y', 1)", "raises time.format: time zone must be a string, not a number"),
                ("tostring(select(2, pcall(time.format, 0, '%'))):find('cannot be used', 1, true) ~= nil", "true"),
                ("tostring(select(2, pcall(time.format, 0, '%!'))):find('cannot be used', 1, true) ~= nil", "true"),
            ],
        );
    }
}
