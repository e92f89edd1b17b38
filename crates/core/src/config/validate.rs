//! Layers to a [`Config`], or everything that is wrong with them.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use super::entry::Maker;
use super::fields::{Field, Key};
use super::layers::Layers;
use super::raw::{Raw, Start, Written};
use super::read::Reader;
use super::{Concurrency, Config, Log};
use crate::net::proxy::System;
use crate::text::diagnostic::{Diagnostic, Place, has_errors, without_repeats};
use crate::text::log_format::{Level, LogFormat};

/// A shorter interval is a mistake.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(10);

/// So is a longer one.
const LONGEST_INTERVAL: Duration = Duration::from_secs(30 * 86_400);

/// What a file is layered with.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// The options of the command line.
    pub options: Raw,
    /// The variables of the environment.
    pub environment: Raw,
    /// The proxies that the environment names.
    pub proxies: Arc<System>,
}

impl Surroundings {
    /// What counts for an entry of a file, from what wins to what gives way (B11).
    pub(super) fn layers<'a>(&'a self, entry: &'a Raw, file: &'a Raw) -> Layers<'a> {
        Layers(vec![&self.options, entry, file, &self.environment])
    }
}

/// A configuration and what is doubtful about it.
pub type Valid = (Config, Vec<Diagnostic>);

/// Makes a configuration of one file, or of the surroundings alone. Fails with everything that is wrong or doubtful.
pub fn validate(name: &str, written: Option<Written>, around: &Surroundings) -> Result<Valid, Vec<Diagnostic>> {
    let empty = Raw::default();
    let place = if written.is_some() { Place::file(name) } else { Place::Nowhere };
    let Written { file, entries, mut diagnostics } = written.unwrap_or_default();
    // Without `providers` the file as a whole is the one entry.
    let entries = entries.unwrap_or_else(|| vec![(Raw::default(), Start::Whole(place))]);

    let layers = |entry| around.layers(entry, &file);
    let mut reader = Reader { layers: layers(&empty), diagnostics: &mut diagnostics };
    let (mut log, concurrency) = (log(&mut reader), concurrency(&mut reader));
    reader.text(Key::Schema);
    let interval = interval(&mut reader);

    let mut valid = Vec::new();
    for (raw, start) in &entries {
        let mut reader = Reader { layers: layers(raw), diagnostics: &mut diagnostics };
        // The log is one for the whole file: a detailed one is asked for by any of its entries.
        if reader.flag(Key::Debug) == Some(true) {
            log.level = Level::Debug;
        }
        let maker = Maker { reader, start, system: &around.proxies };
        valid.extend(maker.entry());
    }
    let diagnostics = without_repeats(diagnostics);
    if has_errors(&diagnostics) {
        Err(diagnostics)
    } else {
        Ok((Config { name: name.to_owned(), log, concurrency, interval, entries: valid }, diagnostics))
    }
}

fn log(reader: &mut Reader<'_>) -> Log {
    reader.refuse_fetched_path(Key::LogFile);
    let mut log = Log {
        level: Level::Info,
        file: reader.text(Key::LogFile),
        format: LogFormat::Short,
        datefmt: reader.text(Key::LogDatefmt),
    };
    // A line with the time: in a file, and where the form of the time was asked for.
    let has_time = log.file.is_some() || log.datefmt.is_some();
    let format = reader.text(Key::LogFormat).or_else(|| has_time.then(|| LogFormat::TIMED.to_owned()));
    if let Some(text) = format {
        let (format, unknown) = LogFormat::parse(&text);
        log.format = format;
        if !log.format.has_message() {
            let message = "`log.format` has no %(message)s: every line would be the same";
            reader.wrong_whole(Key::LogFormat, message, Some("e.g. %(asctime)s %(levelname)s %(message)s".to_owned()));
        }
        for part in unknown {
            let message = format!("`log.format`: {part} is unknown and stays as it is");
            let hint = "known are %(asctime)s, %(levelname)s, %(name)s, %(message)s, and `json` for the whole";
            reader.warn_whole(Key::LogFormat, message, hint);
        }
    }
    if let Some(name) = reader.text(Key::LogLevel) {
        log.level = Level::parse(&name).unwrap_or_else(|| {
            let message = format!("`log.level` must be {}, not `{name}`", Field::of(Key::LogLevel).allowed());
            reader.wrong_whole(Key::LogLevel, message, None);
            Level::Info
        });
    }
    log
}

fn concurrency(reader: &mut Reader<'_>) -> Concurrency {
    match reader.setting(Key::Concurrency).and_then(|setting| setting.node.value.text()) {
        Some(text) if text.trim().eq_ignore_ascii_case("auto") => Concurrency::Auto,
        _ => reader
            .number(Key::Concurrency, |number: &NonZeroU16| number.get() <= 1000)
            .map_or(Concurrency::Auto, Concurrency::Fixed),
    }
}

/// `interval`: minutes, or a number with its unit.
fn interval(reader: &mut Reader<'_>) -> Option<Duration> {
    let text = reader.digits(Key::Interval)?;
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let seconds = match text[number.len()..].to_ascii_lowercase().as_str() {
        "s" => Some(1),
        "" | "m" => Some(60),
        "h" => Some(3600),
        "d" => Some(86_400),
        _ => None,
    };
    let whole: Option<u64> = number.trim_end().parse().ok();
    let interval = seconds.zip(whole).map(|(seconds, whole)| Duration::from_secs(whole.saturating_mul(seconds)));
    let message = match interval {
        Some(interval) if (SHORTEST_INTERVAL..=LONGEST_INTERVAL).contains(&interval) => return Some(interval),
        Some(interval) if interval < SHORTEST_INTERVAL => format!(
            "`interval` is {} s, and less than {} s would wear out whoever is asked for the address",
            interval.as_secs(),
            SHORTEST_INTERVAL.as_secs()
        ),
        Some(_) => format!("`interval` is longer than {} days", LONGEST_INTERVAL.as_secs() / 86_400),
        None => format!("`interval` must be {}, not `{text}`", Field::of(Key::Interval).allowed()),
    };
    let hint = "changes of this host's own addresses are heard of at once, whatever the interval";
    reader.wrong_whole(Key::Interval, message, interval.map(|_| hint.to_owned()));
    None
}
