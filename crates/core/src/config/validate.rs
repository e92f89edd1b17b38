//! Layers to a [`Config`], or everything that is wrong with them.

use std::num::NonZeroU16;

use super::entry::Maker;
use super::fields::{Field, Key};
use super::layers::Layers;
use super::raw::{Raw, Written};
use super::read::Reader;
use super::{Concurrency, Config, Log};
use crate::diagnostic::{Diagnostic, Place, has_errors, without_repeats};
use crate::log_format::{Level, LogFormat};

/// What a file is layered with.
#[derive(Debug, Default)]
pub struct Surroundings {
    /// The options of the command line.
    pub options: Raw,
    /// The variables of the environment.
    pub environment: Raw,
    /// The variables that name a proxy, where some do: for http addresses, and for https.
    pub environment_proxy: [Option<&'static str>; 2],
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
    let entries = entries.unwrap_or_else(|| vec![(Raw::default(), place)]);

    let layers = |entry| around.layers(entry, &file);
    let mut reader = Reader { layers: layers(&empty), diagnostics: &mut diagnostics };
    let (mut log, concurrency) = (log(&mut reader), concurrency(&mut reader));
    reader.text(Key::Schema);
    refuse_interval(&mut reader);

    let mut valid = Vec::new();
    for (raw, place) in &entries {
        let mut reader = Reader { layers: layers(raw), diagnostics: &mut diagnostics };
        // The log is one for the whole file: a detailed one is asked for by any of its entries.
        if reader.flag(Key::Debug) == Some(true) {
            log.level = Level::Debug;
        }
        let maker = Maker { reader, place, environment_proxy: around.environment_proxy };
        valid.extend(maker.entry());
    }
    let diagnostics = without_repeats(diagnostics);
    if has_errors(&diagnostics) {
        Err(diagnostics)
    } else {
        Ok((Config { name: name.to_owned(), log, concurrency, entries: valid }, diagnostics))
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

/// What is not there yet is refused, never ignored.
fn refuse_interval(reader: &mut Reader<'_>) {
    if reader.setting(Key::Interval).is_some() {
        let hint = "leave it out and run ddns from a timer (systemd, cron)";
        let message = "`interval` asks to keep running, which this version cannot do yet";
        reader.wrong_whole(Key::Interval, message, Some(hint.to_owned()));
    }
}
