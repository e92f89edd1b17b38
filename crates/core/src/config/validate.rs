//! Turns layers into a [`Config`], or reports everything that is wrong with them.

use std::num::NonZeroU16;
use std::time::Duration;

use super::entry::EntryBuilder;
use super::fields::{Field, Key};
use super::files::named_in;
use super::group::group;
use super::notify::notify;
use super::raw::{self, Document, FileLayers, Raw, Start};
use super::read::SettingReader;
use super::value::is_auto;
use super::web::web;
use super::{Concurrency, Config, LogSettings};
use crate::net::proxy::Proxies;
use crate::net::ssl::Ssl;
use crate::text::diagnostic::{Diagnostic, Place};
use crate::text::diagnostics::Diagnostics;
use crate::text::duration;
use crate::text::log_format::{Level, LogFormat};

pub use super::layers::Surroundings;

/// The shortest `interval`.
const MIN_INTERVAL: Duration = Duration::from_secs(10);

/// Beyond this, a number without a unit was probably meant to be seconds.
const UNIT_WANTED: Duration = Duration::from_secs(3600);

/// The longest `interval`.
const MAX_INTERVAL: Duration = Duration::from_secs(30 * 86_400);

/// A configuration and the warnings about it.
pub type Valid = (Config, Vec<Diagnostic>);

/// Makes a configuration from one file, or from the surroundings alone. Fails with all errors and warnings.
pub fn validate(name: &str, written: Option<FileLayers>, around: &Surroundings) -> Result<Valid, Vec<Diagnostic>> {
    let empty = Raw::default();
    let place = if written.is_some() { Place::file(name) } else { Place::Nowhere };
    let written = written.unwrap_or_default();
    let mut files = named_in(&written);
    files.extend(around.named_files());
    let FileLayers { file, entries, mut diagnostics } = written;
    // Without `providers`, the whole file is one entry.
    let entries = entries.unwrap_or_else(|| vec![(Raw::default(), Start::Whole(place.clone()))]);

    let layers = |entry| around.layers(entry, &file);
    let mut reader = SettingReader { layers: layers(&empty), diagnostics: &mut diagnostics };
    let (log, concurrency) = (log(&mut reader), concurrency(&mut reader));
    reader.text(Key::Schema);
    let interval = interval(&mut reader);
    let web = web(&mut reader, &around.files);
    let group = group(&mut reader, &around.files);

    let (mut valid, mut is_debug) = (Vec::new(), false);
    for (raw, start) in &entries {
        let mut reader = SettingReader { layers: layers(raw), diagnostics: &mut diagnostics };
        // The whole file has one log, which `debug` in any of its entries makes detailed.
        is_debug |= reader.flag(Key::Debug) == Some(true);
        reader.text(Key::Recipe);
        let maker = EntryBuilder { reader, start, around };
        valid.extend(maker.entry());
    }
    let notify = notify(around, &file, (&valid, interval.is_some()), &mut diagnostics);
    let is_right = diagnostics.errors() == 0;
    let diagnostics = diagnostics.into_vec(&place);
    match (log, concurrency) {
        (Some(mut log), Some(concurrency)) if is_right => {
            if is_debug {
                log.level = Level::Debug;
            }
            let name = name.to_owned();
            let config = Config { name, log, concurrency, interval, web, group, files, entries: valid, notify };
            Ok((config, diagnostics))
        }
        _ => Err(diagnostics),
    }
}

/// Validates a text of this host, without options or environment.
pub fn validate_text(name: &str, text: &str) -> Result<Valid, Vec<Diagnostic>> {
    let written = raw::read(&Document::local(name, text)).map_err(|error| vec![error])?;
    validate(name, Some(written), &Surroundings::default())
}

/// How to fetch a configuration: with `proxy` and `ssl` from options and environment. Fails with their errors; their
/// warnings are reported later, with those about the file.
pub fn for_fetching(around: &Surroundings) -> Result<(Proxies, Ssl), Vec<Diagnostic>> {
    let (empty, mut diagnostics) = (Raw::default(), Diagnostics::default());
    let reader = SettingReader { layers: around.layers(&empty, &empty), diagnostics: &mut diagnostics };
    let mut maker = EntryBuilder { reader, start: &Start::Whole(Place::Nowhere), around };
    let (proxies, ssl) = (maker.proxy(None), maker.ssl());
    match ssl {
        Some(ssl) if diagnostics.errors() == 0 => Ok((proxies, ssl)),
        _ => Err(diagnostics.into_vec(&Place::Nowhere)),
    }
}

fn log(reader: &mut SettingReader<'_>) -> Option<LogSettings> {
    let file = reader.text(Key::LogFile);
    if file.is_some() {
        reader.refuse_fetched_path(Key::LogFile);
    }
    let (level, datefmt) = (level(reader), reader.text(Key::LogDatefmt));
    // By default, a line has the time if it goes to a file, or if `log.datefmt` is set.
    let has_time = file.is_some() || reader.is_set(Key::LogDatefmt);
    let mut format = LogFormat::Short;
    let written = reader.text(Key::LogFormat).or_else(|| has_time.then(|| LogFormat::TIMED.to_owned()));
    if let Some(text) = written {
        let (parsed, unknown) = LogFormat::parse(&text);
        format = parsed;
        if !format.has_message() {
            let message = "`log.format` has no %(message)s: every line would be the same";
            reader.wrong_whole(Key::LogFormat, message, "e.g. %(asctime)s %(levelname)s %(message)s");
        }
        if format.has_code_place() {
            let message =
                "`log.format` asks for a place in the code (funcName, lineno, filename, pathname): it shows as `-`";
            reader.warn_whole(Key::LogFormat, message, "leave it out");
        }
        for part in unknown {
            let message = format!("`log.format`: {part} is unknown and is left unchanged");
            let hint = "known: %(asctime)s, %(msecs)03d, %(levelname)s, %(name)s, %(message)s; or `json` alone";
            reader.warn_whole(Key::LogFormat, message, hint);
        }
    }
    Some(LogSettings { level: level?, file, format, datefmt: datefmt? })
}

fn level(reader: &mut SettingReader<'_>) -> Option<Level> {
    let name = reader.digits(Key::LogLevel)?;
    reader.or_wrong(Key::LogLevel, name, Level::read(name))
}

fn concurrency(reader: &mut SettingReader<'_>) -> Option<Concurrency> {
    if reader.digits(Key::Concurrency).is_some_and(is_auto) {
        return Some(Concurrency::Auto);
    }
    reader.number(Key::Concurrency, |number: &NonZeroU16| number.get() <= 1000).map(Concurrency::Fixed)
}

/// `interval`: minutes, or a number with a unit.
fn interval(reader: &mut SettingReader<'_>) -> Option<Duration> {
    let text = reader.digits(Key::Interval)?;
    let interval = duration::parse(text);
    let message = match interval {
        Some(interval) if (MIN_INTERVAL..=MAX_INTERVAL).contains(&interval) => {
            if interval > UNIT_WANTED && text.bytes().all(|byte| byte.is_ascii_digit()) {
                let length = duration::seconds(interval.as_secs());
                let message =
                    format!("`interval` is {text} minutes, which is {length}: a number without a unit counts minutes");
                let hint = format!("write \"{text}s\" for seconds, or \"{text}m\" if minutes are meant");
                reader.warn_whole(Key::Interval, message, &hint);
            }
            return Some(interval);
        }
        Some(interval) if interval < MIN_INTERVAL => {
            format!(
                "`interval` is {} s; less than {} s would put too much load on the sources of the address",
                interval.as_secs(),
                MIN_INTERVAL.as_secs()
            )
        }
        Some(_) => format!("`interval` is longer than {} days", MAX_INTERVAL.as_secs() / 86_400),
        None => format!("`interval` must be {}, not `{text}`", Field::of(Key::Interval).allowed),
    };
    let hint = "ddns notices changes of this host's own addresses at once, whatever the interval";
    reader.wrong_whole(Key::Interval, message, interval.map_or("", |_| hint));
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::fields::FIELDS;
    use super::super::raw::Origin;
    use super::*;
    use crate::address::source::Source;
    use crate::config::Cache;
    use crate::text::json::{Node, Value};

    fn with(more: &[(Key, &str)]) -> Config {
        let least = [(Key::Dns, "callback"), (Key::Id, "https://h.example/"), (Key::Ipv4, "a.example")];
        let mut around = Surroundings::default();
        for (key, text) in least.iter().chain(more) {
            around.options.set(*key, Node::synthetic(Value::string(*text)), Origin::Option(String::new()));
        }
        validate("c.json", None, &around).expect("it is valid").0
    }

    /// Each default in the table has the same effect as leaving the field out.
    #[test]
    fn b_defaults_are_those_of_the_table() {
        let plain = with(&[]);
        for field in FIELDS.iter().filter(|field| !field.default.is_empty()) {
            let mut written = with(&[(field.key, field.default)]);
            if field.key == Key::LogDatefmt {
                // Setting `log.datefmt` adds the time to each line.
                written.log.format = LogFormat::Short;
            }
            assert_eq!(written, plain, "{}", field.name);
        }
        let entry = &plain.entries[0];
        assert_eq!((entry.timeout, entry.cache_max_age), (Duration::from_secs(30), Duration::from_secs(259_200)));
        assert_eq!((&entry.ssl, &entry.cache), (&Ssl::Auto, &Cache::Standard));
        assert_eq!(entry.sources, [vec![Source::Default], vec![Source::Default]]);
        assert_eq!(entry.proxies, Proxies::system(&Arc::default()));
        assert_eq!((plain.concurrency, plain.interval, plain.log.level), (Concurrency::Auto, None, Level::Info));
        for blank in ["", " "] {
            let blank: Vec<(Key, &str)> =
                FIELDS.iter().filter(|field| !field.default.is_empty()).map(|field| (field.key, blank)).collect();
            assert_eq!(with(&blank), plain);
        }
        assert_eq!(with(&[(Key::Index4, " , "), (Key::Proxy, "[]")]), plain);
    }
}
