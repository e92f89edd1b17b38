//! The runtime log (G): lines to standard error or a file, masked once more before they are written.
//!
//! A log is a value, not a global: each configuration of a run has its own. A line that cannot be written is lost and
//! changes nothing else: sending the address matters more.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal as _, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ddns_core::config::Config;
use ddns_core::config::validate::Valid;
use ddns_core::text::log_format::{Level, LogFormat, LogTime};
use ddns_core::text::screen;
use ddns_core::text::secrets::Secrets;
use jiff::fmt::strtime;
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::layout::{folded, width_of};
use super::progress::Progress;
use super::{say, say_or_skip};
use crate::clock::{local_time, unix_time};
use crate::environment::Environment;
use crate::open_file::{bits, folder_of, reason};

/// Shorter secrets are masked in text from outside, but not in our own sentences: they match ordinary words.
const MIN_MASKED_BYTES: usize = 8;

/// How many sessions of services are masked; older ones are forgotten.
const MAX_SESSIONS: usize = 256;

/// How many lines are kept for the page.
const MAX_RECENT: usize = 100;

/// The latest lines of a service, masked. They survive a reload.
#[derive(Default)]
pub(crate) struct RecentLines(RefCell<VecDeque<RecentLine>>);

#[derive(Clone)]
pub(crate) struct RecentLine {
    /// In seconds since the epoch.
    pub(crate) at: u64,
    pub(crate) level: Level,
    pub(crate) text: String,
}

impl RecentLines {
    fn add(&self, level: Level, text: &str) {
        let mut lines = self.0.borrow_mut();
        if lines.len() >= MAX_RECENT {
            lines.pop_front();
        }
        lines.push_back(RecentLine { at: unix_time().seconds, level, text: text.to_owned() });
    }

    /// The latest first.
    pub(crate) fn latest(&self) -> Vec<RecentLine> {
        self.0.borrow().iter().rev().cloned().collect()
    }
}

/// The log of one configuration.
pub(crate) struct Log<'a> {
    level: Level,
    format: LogFormat,
    datefmt: String,
    /// Whether no format was chosen: at a terminal, lines are then wrapped and colored.
    is_plain: bool,
    may_colour: bool,
    /// Whether standard error is a terminal; found out with the first line.
    is_terminal: OnceCell<bool>,
    secrets: Mask<'a>,
    sink: RefCell<Sink>,
    /// `None`: there is no log file.
    path: Option<PathBuf>,
    progress: Rc<Progress>,
    /// `None` outside a service.
    recent: Option<Rc<RecentLines>>,
}

/// The secrets to mask; collected when the first line is written, and not at all in a run without one.
struct Mask<'a> {
    config: &'a Config,
    all: OnceCell<Secrets>,
    long: OnceCell<Secrets>,
    /// Secrets that were found later: sessions of services.
    found: RefCell<Vec<String>>,
}

impl Mask<'_> {
    fn all(&self) -> &Secrets {
        self.all.get_or_init(|| self.config.secrets())
    }

    fn without_found<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.found.borrow();
        if found.is_empty() {
            return text.into();
        }
        Secrets::new(found.iter().cloned(), &[]).mask(text).into_owned().into()
    }

    fn long(&self) -> &Secrets {
        self.long.get_or_init(|| self.all().longer_than(MIN_MASKED_BYTES))
    }
}

enum Sink {
    Stderr,
    File {
        file: File,
        /// Whether the last line was lost, or only its beginning was written.
        is_broken: bool,
    },
}

impl<'a> Log<'a> {
    /// Opens the log of one configuration, and logs its warnings. If the file cannot be opened, ddns warns and uses
    /// standard error instead.
    pub(crate) fn open(valid: &'a Valid, environment: &Environment) -> Self {
        Self::with(valid, valid.0.log.format.clone(), environment, None)
    }

    /// The same for a service: lines have the time, unless systemd's journal adds it, or a format was chosen.
    pub(crate) fn of_service(valid: &'a Valid, environment: &Environment, recent: &Rc<RecentLines>) -> Self {
        let format = match &valid.0.log.format {
            LogFormat::Short if !environment.has_journal() => LogFormat::parse(LogFormat::TIMED).0,
            chosen => chosen.clone(),
        };
        Self::with(valid, format, environment, Some(Rc::clone(recent)))
    }

    /// A log that writes nothing, for callers that show results in another way.
    pub(crate) fn silent(config: &'a Config, environment: &Environment) -> Self {
        Self { level: Level::Critical, path: None, ..Self::new(config, LogFormat::Short, environment, None) }
    }

    fn new(config: &'a Config, format: LogFormat, environment: &Environment, recent: Option<Rc<RecentLines>>) -> Self {
        let settings = &config.log;
        Self {
            level: settings.level,
            format,
            datefmt: settings.datefmt.clone(),
            is_plain: settings.format == LogFormat::Short,
            may_colour: environment.allows_colour(),
            is_terminal: OnceCell::new(),
            secrets: Mask { config, all: OnceCell::new(), long: OnceCell::new(), found: RefCell::default() },
            sink: RefCell::new(Sink::Stderr),
            path: settings.file.as_deref().map(|file| environment.path(file)),
            progress: Rc::default(),
            recent,
        }
    }

    fn with(
        (config, warnings): &'a Valid,
        format: LogFormat,
        environment: &Environment,
        recent: Option<Rc<RecentLines>>,
    ) -> Self {
        let log = Self::new(config, format, environment, recent);
        log.open_file();
        for warning in warnings {
            log.warning(warning.one_line());
        }
        log
    }

    /// Opens the file, or opens it again: log rotation puts another one in its place.
    pub(crate) fn open_file(&self) {
        let Some(path) = &self.path else { return };
        match open_for_append(path) {
            Ok(file) => {
                let sink = &mut *self.sink.borrow_mut();
                // It may be the same file, which ends with a partial line.
                let is_broken = matches!(sink, Sink::File { is_broken: true, .. });
                *sink = Sink::File { file, is_broken };
            }
            Err(error) => {
                *self.sink.borrow_mut() = Sink::Stderr;
                let (path, why) = (path.display(), reason(&error));
                self.warning(format!("{path}: the log file cannot be opened ({why}); logging to standard error"));
            }
        }
    }

    /// Masks these secrets from now on.
    pub(crate) fn hide(&self, secrets: Vec<String>) {
        let found = &mut *self.secrets.found.borrow_mut();
        found.retain(|known| !secrets.contains(known));
        found.extend(secrets);
        // Forget sessions that ended long ago.
        found.drain(..found.len().saturating_sub(MAX_SESSIONS));
    }

    /// Keeps the progress line below the lines of this log.
    pub(crate) fn above(mut self, progress: &Rc<Progress>) -> Self {
        self.progress = Rc::clone(progress);
        self
    }

    /// Whether lines of a level are written. Callers can skip work that only a line needs.
    pub(crate) fn shows(&self, level: Level) -> bool {
        level >= self.level
    }

    /// Whether lines go to a file.
    pub(crate) fn is_file(&self) -> bool {
        matches!(*self.sink.borrow(), Sink::File { .. })
    }

    pub(crate) fn error(&self, message: impl AsRef<str>) {
        self.write(Level::Error, message.as_ref());
    }

    pub(crate) fn warning(&self, message: impl AsRef<str>) {
        self.write(Level::Warning, message.as_ref());
    }

    pub(crate) fn info(&self, message: impl AsRef<str>) {
        self.write(Level::Info, message.as_ref());
    }

    pub(crate) fn debug(&self, message: impl FnOnce() -> String) {
        self.line(Level::Debug, message);
    }

    /// Makes the message only if it is written.
    pub(crate) fn line(&self, level: Level, message: impl FnOnce() -> String) {
        if self.shows(level) {
            self.write(level, &message());
        }
    }

    /// A text from outside (a response, an error of a library) with every secret masked.
    pub(crate) fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.secrets.all().mask(text) {
            masked if self.secrets.found.borrow().is_empty() => masked,
            masked => self.secrets.without_found(&masked).into_owned().into(),
        }
    }

    fn write(&self, level: Level, message: &str) {
        if !self.shows(level) {
            return;
        }
        let message = self.secrets.long().mask(message);
        let message = self.secrets.without_found(&message);
        if let Some(recent) = &self.recent {
            recent.add(level, &screen::escaped(&message));
        }
        let (time, millis) = if self.format.has_time() { now(&self.datefmt) } else { (String::new(), 0) };
        let mut line = self.format.line(LogTime { text: &time, millis }, level, &screen::escaped(&message));
        if self.is_plain && *self.is_terminal.get_or_init(|| io::stderr().is_terminal()) {
            line = folded(&line, width_of(io::stderr())).join("\n");
            line = if self.may_colour { coloured(level, &line) } else { line };
        }
        line.push('\n');
        // One write per line: lines of two processes do not mix, and a closed pipe is no reason to stop.
        let sink = &mut *self.sink.borrow_mut();
        if let Sink::File { file, is_broken } = sink {
            let was_broken = *is_broken;
            let end = if was_broken { "\n" } else { "" };
            let written = file.write_all(format!("{end}{line}").as_bytes());
            *is_broken = written.is_err();
            match (written, &self.path) {
                (Ok(()), _) => return,
                // The disk may be full: lines go to standard error until there is room again.
                (Err(error), Some(path)) if !was_broken => {
                    let (path, why) = (path.display(), reason(&error));
                    say(&format!(
                        "warning: {path}: the log file cannot be written ({why}); logging to standard error\n"
                    ));
                }
                _ => {}
            }
        }
        // A single run waits for its reader.
        if self.recent.is_some() {
            say_or_skip(&line);
        } else {
            let _ = io::stderr().write_all(self.progress.below(line).as_bytes());
        }
    }
}

fn open_for_append(path: &Path) -> io::Result<File> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    // A pipe that nobody reads must not stop ddns: neither when it is opened nor when it is full.
    let mut flags = OFlags::NONBLOCK;
    let is_shared = fs::metadata(folder).is_ok_and(|folder| folder.mode() & 0o022 != 0);
    if is_shared {
        // A link that another user made could lead to any file of this user.
        flags |= OFlags::NOFOLLOW;
    }
    OpenOptions::new().create(true).append(true).custom_flags(bits(flags)).open(path).map_err(|error| {
        let is_link = is_shared && error.raw_os_error() == Some(Errno::LOOP.raw_os_error());
        if is_link { io::Error::other("it is a link in a folder that other users can write to") } else { error }
    })
}

fn coloured(level: Level, line: &str) -> String {
    let code = match level {
        Level::Debug => "2",
        Level::Info => return line.to_owned(),
        Level::Warning => "33",
        Level::Error | Level::Critical => "31",
    };
    format!("\u{1b}[{code}m{line}\u{1b}[0m")
}

/// The time in a format, and its milliseconds.
fn now(format: &str) -> (String, u16) {
    let now = local_time();
    let config = strtime::Config::new().lenient(true);
    let text = strtime::BrokenDownTime::from(&now).to_string_with_config(&config, format).unwrap_or_default();
    (text, now.millisecond().unsigned_abs())
}
