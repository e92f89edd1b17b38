//! Levels of the log, and the form of its lines: `%(asctime)s %(levelname)s %(name)s %(message)s`, or one JSON object a line (G3).

use crate::text::json::push_string;

/// How important a line of the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Everything that helps to find a fault.
    Debug,
    /// What happened.
    Info,
    /// What may be wrong.
    Warning,
    /// What went wrong.
    Error,
    /// Nothing of this program's: silence.
    Critical,
}

impl Level {
    /// The name in capitals, as it stands in a log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
            Self::Critical => "CRITICAL",
        }
    }

    /// Reads a name, in any case, with its usual other forms, or one of Python's numbers: 10 is DEBUG, 50 CRITICAL.
    pub fn parse(name: &str) -> Option<Self> {
        if let Ok(number) = name.trim().parse::<u16>() {
            return Some(match number {
                0..=10 => Self::Debug,
                11..=20 => Self::Info,
                21..=30 => Self::Warning,
                31..=40 => Self::Error,
                _ => Self::Critical,
            });
        }
        match name.trim().to_ascii_uppercase().as_str() {
            "DEBUG" | "NOTSET" => Some(Self::Debug),
            "INFO" => Some(Self::Info),
            "WARNING" | "WARN" => Some(Self::Warning),
            "ERROR" => Some(Self::Error),
            "CRITICAL" | "FATAL" => Some(Self::Critical),
            _ => None,
        }
    }
}

/// A parsed `log.format`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogFormat {
    /// `warning: …`, without a time: for people at a terminal and for services that add the time themselves.
    Short,
    /// Pieces in a row.
    Pieces(Vec<Piece>),
    /// One JSON object a line.
    Json,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text as it was written.
    Literal(String),
    /// A part of the record; a width pads it with blanks, on the right where it is negative.
    Part(Part, i16),
}

/// A part of a log record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `%(asctime)s`
    Time,
    /// `%(levelname)s`
    Level,
    /// `%(name)s`
    Name,
    /// `%(message)s`
    Message,
}

/// The program's name in a log.
const NAME: &str = "ddns";

impl LogFormat {
    /// The form of lines with a time where none is set.
    pub const TIMED: &'static str = "%(asctime)s %(levelname)s %(message)s";

    /// Reads a format. An unknown part stays as it is and is returned too.
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
            } else if let Some((part, width, length)) = part_at(rest) {
                if !literal.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(Piece::Part(part, width));
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
            pieces.push(Piece::Literal(literal));
        }
        (Self::Pieces(pieces), unknown)
    }

    /// Whether a line needs the time.
    pub fn has_time(&self) -> bool {
        *self == Self::Json || self.has(Part::Time)
    }

    /// Whether a line holds the message.
    pub fn has_message(&self) -> bool {
        matches!(self, Self::Short | Self::Json) || self.has(Part::Message)
    }

    fn has(&self, part: Part) -> bool {
        matches!(self, Self::Pieces(pieces) if pieces.iter().any(|piece| matches!(piece, Piece::Part(known, _) if *known == part)))
    }

    /// One line, without its end.
    pub fn line(&self, time: &str, level: Level, message: &str) -> String {
        match self {
            Self::Short if level == Level::Info => message.to_owned(),
            Self::Short => format!("{}: {message}", level.as_str().to_ascii_lowercase()),
            Self::Json => {
                let mut line = String::from("{");
                let members = [("time", time), ("level", level.as_str()), ("name", NAME), ("message", message)];
                for (at, (key, value)) in members.into_iter().enumerate() {
                    line += if at == 0 { "" } else { "," };
                    push_string(&mut line, key);
                    line.push(':');
                    push_string(&mut line, value);
                }
                line + "}"
            }
            Self::Pieces(pieces) => {
                let mut line = String::new();
                for piece in pieces {
                    match piece {
                        Piece::Literal(text) => line += text,
                        Piece::Part(part, width) => {
                            let text = match part {
                                Part::Time => time,
                                Part::Level => level.as_str(),
                                Part::Name => NAME,
                                Part::Message => message,
                            };
                            let size = usize::from(width.unsigned_abs());
                            line += &if *width < 0 { format!("{text:<size$}") } else { format!("{text:>size$}") };
                        }
                    }
                }
                line
            }
        }
    }
}

/// `%(name)-8s` at the start of a text: the part, the width, the length.
fn part_at(text: &str) -> Option<(Part, i16, usize)> {
    let (name, rest) = text.strip_prefix("%(")?.split_once(')')?;
    let part = match name {
        "asctime" => Part::Time,
        "levelname" => Part::Level,
        "name" => Part::Name,
        "message" => Part::Message,
        _ => return None,
    };
    let digits = rest.find('s')?;
    let width = if digits == 0 { 0 } else { rest[..digits].parse().ok().filter(|width| (-99..100).contains(width))? };
    Some((part, width, name.len() + 3 + digits + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(format: &str) -> String {
        LogFormat::parse(format).0.line("12:00", Level::Warning, "sent \"all\"")
    }

    #[test]
    fn g3_the_forms_of_a_line() {
        assert_eq!(line("%(asctime)s %(levelname)s [%(name)s]: %(message)s"), "12:00 WARNING [ddns]: sent \"all\"");
        assert_eq!(line("%(levelname)-9s|%(levelname)9s|100%%"), "WARNING  |  WARNING|100%");
        let json = "{\"time\":\"12:00\",\"level\":\"WARNING\",\"name\":\"ddns\",\"message\":\"sent \\\"all\\\"\"}";
        assert_eq!(line("json"), json);
        assert_eq!(LogFormat::Short.line("", Level::Info, "a"), "a");
        assert_eq!(LogFormat::Short.line("", Level::Error, "a"), "error: a");
    }

    #[test]
    fn b11_levels_have_names_and_numbers() {
        for (number, name) in [("0", "notset"), ("10", "DEBUG"), ("20", "Info"), ("30", "WARN"), ("40", "error")] {
            assert_eq!(Level::parse(number), Level::parse(name), "{number}");
        }
        assert_eq!((Level::parse("25"), Level::parse(" 50 ")), (Some(Level::Warning), Some(Level::Critical)));
        for wrong in ["", "-1", "1.5", "LOUD", "70000"] {
            assert_eq!(Level::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_unknown_part_stays_and_is_reported() {
        let (format, unknown) = LogFormat::parse("%(funcName)s %(message)s %");
        assert_eq!(format.line("", Level::Info, "m"), "%(funcName)s m %");
        assert_eq!(unknown, ["%(funcName)", "%"]);
    }
}
