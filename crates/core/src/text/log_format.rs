//! The levels of the log, and the format of its lines: `%(asctime)s %(levelname)s %(name)s %(message)s`, or one JSON
//! object for each line (G3).

use std::borrow::Cow;

use crate::object;
use crate::text::own_json::line;
use crate::text::vocabulary::vocabulary;

vocabulary! {
    /// How important a line of the log is; its key is what the log shows.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Level {
        /// Everything that helps to find a fault.
        Debug = "DEBUG",
        /// What happened.
        Info = "INFO",
        /// What may be wrong.
        Warning = "WARNING",
        /// What went wrong.
        Error = "ERROR",
        /// ddns logs nothing at this level: as a limit, it means silence.
        Critical = "CRITICAL",
    }
}

impl Level {
    /// Python's number of the level: 10 is DEBUG, 50 CRITICAL.
    fn number(self) -> u16 {
        10 * (self as u16 + 1)
    }

    /// Reads a name or one of its usual aliases, in any case, or a number: Python's level, or the next higher one.
    pub fn read(name: &str) -> Option<Self> {
        if let Ok(number) = name.trim().parse::<u16>() {
            return Some(Self::ALL.into_iter().find(|level| number <= level.number()).unwrap_or(Self::Critical));
        }
        match name.trim().to_ascii_uppercase().as_str() {
            "NOTSET" => Some(Self::Debug),
            "WARN" => Some(Self::Warning),
            "FATAL" => Some(Self::Critical),
            name => Self::parse(name),
        }
    }
}

/// A parsed `log.format`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogFormat {
    /// `warning: …`, without a time: for people at a terminal and for services that add the time themselves.
    Short,
    /// Pieces, one after the other.
    Pieces(Vec<LogPiece>),
    /// One JSON object for each line.
    Json,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogPiece {
    /// Text as written.
    Literal(String),
    /// A part of the record, how it is padded, to how many characters, and after how many it is cut.
    Part(LogPart, Side, usize, Option<usize>),
}

/// Where a part is padded, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Before it, with spaces.
    Before,
    /// Before it, with zeros.
    Zeros,
    /// Behind it, with spaces.
    Behind,
}

/// A part of a log record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogPart {
    /// `%(asctime)s`
    Time,
    /// `%(levelname)s`
    Level,
    /// `%(name)s`
    Name,
    /// `%(message)s`
    Message,
    /// `%(msecs)d`: the milliseconds of the time.
    Millis,
    /// `%(levelno)d`: Python's number of the level.
    LevelNumber,
    /// `%(funcName)s` and others: a place in the code of a Python program.
    CodePlace,
}

/// The time of a line.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogTime<'a> {
    /// In the format of `log.datefmt`.
    pub text: &'a str,
    /// Its milliseconds.
    pub millis: u16,
}

/// What a line shows for a place in the code.
const NO_PLACE: &str = "-";

/// The program's name in a log.
const NAME: &str = "ddns";

impl LogFormat {
    /// The default format of lines with a time.
    pub const TIMED: &'static str = "%(asctime)s %(levelname)s %(message)s";

    /// Reads a format. Unknown parts stay unchanged, and are returned too.
    pub fn parse(text: &str) -> (Self, Vec<String>) {
        if text.trim().eq_ignore_ascii_case("json") {
            return (Self::Json, Vec::new());
        }
        let (mut pieces, mut unknown) = (Vec::new(), Vec::new());
        let mut literal = String::new();
        let mut rest = text;
        while let Some(start) = rest.find('%') {
            literal.push_str(&rest[..start]);
            rest = &rest[start..];
            if let Some(after) = rest.strip_prefix("%%") {
                literal.push('%');
                rest = after;
            } else if let Some((part, length)) = part_at(rest) {
                if !literal.is_empty() {
                    pieces.push(LogPiece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(part);
                rest = &rest[length..];
            } else {
                let length = rest.find([')', ' ']).map_or(rest.len(), |at| at + 1);
                unknown.push(rest[..length].trim().to_owned());
                literal.push_str(&rest[..length]);
                rest = &rest[length..];
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(LogPiece::Literal(literal));
        }
        (Self::Pieces(pieces), unknown)
    }

    /// Whether a line needs the time.
    pub fn has_time(&self) -> bool {
        *self == Self::Json || self.has(LogPart::Time) || self.has(LogPart::Millis)
    }

    /// Whether a line contains the message.
    pub fn has_message(&self) -> bool {
        matches!(self, Self::Short | Self::Json) || self.has(LogPart::Message)
    }

    /// Whether a line contains a place in the code, which ddns does not have.
    pub fn has_code_place(&self) -> bool {
        self.has(LogPart::CodePlace)
    }

    fn has(&self, part: LogPart) -> bool {
        matches!(self, Self::Pieces(pieces) if pieces.iter().any(|piece| matches!(piece, LogPiece::Part(known, ..) if *known == part)))
    }

    /// One line, without a line end.
    pub fn line(&self, time: LogTime<'_>, level: Level, message: &str) -> String {
        match self {
            Self::Short if level == Level::Info => message.to_owned(),
            Self::Short => format!("{}: {message}", level.key().to_ascii_lowercase()),
            Self::Json => line(&object! { time: time.text, level: level.key(), name: NAME, message: message }),
            Self::Pieces(pieces) => {
                let mut line = String::new();
                for piece in pieces {
                    match piece {
                        LogPiece::Literal(text) => line += text,
                        LogPiece::Part(part, side, width, most) => {
                            let text: Cow<'_, str> = match part {
                                LogPart::Time => time.text.into(),
                                LogPart::Level => level.key().into(),
                                LogPart::Name => NAME.into(),
                                LogPart::Message => message.into(),
                                LogPart::Millis => Cow::Owned(time.millis.to_string()),
                                LogPart::LevelNumber => Cow::Owned(level.number().to_string()),
                                LogPart::CodePlace => NO_PLACE.into(),
                            };
                            let cut = |most: usize| text.chars().take(most).collect();
                            let text = most.map_or_else(|| text.clone(), cut);
                            line += &match side {
                                Side::Before => format!("{text:>width$}"),
                                Side::Zeros => format!("{text:0>width$}"),
                                Side::Behind => format!("{text:<width$}"),
                            };
                        }
                    }
                }
                line
            }
        }
    }
}

/// `%(name)-8s`, `%(levelname).1s` or `%(msecs)03d` at the start of a text: the part, and its length in the text.
fn part_at(text: &str) -> Option<(LogPiece, usize)> {
    let (name, rest) = text.strip_prefix("%(")?.split_once(')')?;
    let part = match name {
        "asctime" => LogPart::Time,
        "levelname" => LogPart::Level,
        // NewFuture/DDNS has modules; ddns is one program.
        "name" | "module" => LogPart::Name,
        "message" => LogPart::Message,
        "msecs" => LogPart::Millis,
        "levelno" => LogPart::LevelNumber,
        "funcName" | "lineno" | "filename" | "pathname" => LogPart::CodePlace,
        _ => return None,
    };
    let end = rest.find(['s', 'd'])?;
    let is_number = rest[end..].starts_with('d') && matches!(part, LogPart::Millis | LogPart::LevelNumber);
    let (shape, most) = rest[..end].split_once('.').map_or((&rest[..end], None), |(shape, most)| (shape, Some(most)));
    let (side, width) = match shape.strip_prefix('-') {
        Some(width) => (Side::Behind, width),
        None if rest.starts_with('0') && is_number => (Side::Zeros, shape),
        None => (Side::Before, shape),
    };
    let is_width = |text: &str| text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    let width = if width.is_empty() { 0 } else { width.parse().ok().filter(|_| is_width(width))? };
    let is_cut = |most: &&str| rest[end..].starts_with('s') && is_width(most);
    let most = most.map(|most| Some(most).filter(is_cut)?.parse::<usize>().ok());
    let is_known = width < 100 && most != Some(None);
    is_known.then_some((LogPiece::Part(part, side, width, most.flatten()), name.len() + 3 + end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(format: &str) -> String {
        LogFormat::parse(format).0.line(LogTime { text: "12:00", millis: 7 }, Level::Warning, "sent \"all\"")
    }

    #[test]
    fn g3_the_forms_of_a_line() {
        assert_eq!(line("%(asctime)s %(levelname)s [%(name)s]: %(message)s"), "12:00 WARNING [ddns]: sent \"all\"");
        assert_eq!(line("%(levelname)-9s|%(levelname)9s|100%%"), "WARNING  |  WARNING|100%");
        assert_eq!(line("%(levelname).1s|%(levelname)-3.1s|%(message).10s"), "W|W  |sent \"all\"");
        assert_eq!(line("%(message).4s"), "sent");
        let json = "{\"time\":\"12:00\",\"level\":\"WARNING\",\"name\":\"ddns\",\"message\":\"sent \\\"all\\\"\"}";
        assert_eq!(line("json"), json);
        let short = |level| LogFormat::Short.line(LogTime::default(), level, "a");
        assert_eq!((short(Level::Info), short(Level::Error)), ("a".to_owned(), "error: a".to_owned()));
    }

    #[test]
    fn b11_levels_have_names_and_numbers() {
        for (number, name) in [("0", "notset"), ("10", "DEBUG"), ("20", "Info"), ("30", "WARN"), ("40", "error")] {
            assert_eq!(Level::read(number), Level::read(name), "{number}");
        }
        assert_eq!((Level::read("25"), Level::read(" 50 ")), (Some(Level::Warning), Some(Level::Critical)));
        for wrong in ["", "-1", "1.5", "LOUD", "70000"] {
            assert_eq!(Level::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn g3_parts_of_a_python_program_are_filled_in() {
        assert_eq!(line("%(asctime)s.%(msecs)03d %(module)s"), "12:00.007 ddns");
        assert_eq!(line("%(msecs)d|%(msecs)5d|%(msecs)-3d|%(levelno)s|%(levelno)03d"), "7|    7|7  |30|030");
        assert_eq!(line("[%(filename)s:%(lineno)d %(funcName)5s] %(message)s"), "[-:-     -] sent \"all\"");
        assert!(LogFormat::parse("%(lineno)04d").0.has_code_place() && LogFormat::parse("%(msecs)d").0.has_time());
        for wrong in ["%(msecs).3f", "%(message)+s", "%(name)100s", "%(name)0000s", "%(msecs)", "%(msecs)--3d"] {
            let (format, unknown) = LogFormat::parse(wrong);
            assert_eq!((format.line(LogTime::default(), Level::Info, "m").as_str(), unknown.len()), (wrong, 1));
        }
    }

    #[test]
    fn an_unknown_part_stays_and_is_reported() {
        let (format, unknown) = LogFormat::parse("%(process)s %(message)s %");
        assert_eq!(format.line(LogTime::default(), Level::Info, "m"), "%(process)s m %");
        assert_eq!(unknown, ["%(process)", "%"]);
    }
}
