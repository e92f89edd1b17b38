//! A domain name as a user configures it.

use std::fmt;
use std::rc::Rc;

/// The longest name, in bytes.
const MAX_NAME: usize = 253;
/// The longest label, in bytes.
const MAX_LABEL: usize = 63;

/// A domain name: trimmed, in small letters, Unicode as written. `*.example.com` and `_x.example.com` are allowed.
///
/// Never empty; contains no empty label, whitespace or control character, no label of more than 63 bytes, and at most 253 bytes.
///
/// Reference-counted: the configuration, the plan and the state share each name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Domain(Rc<str>);

/// Why a text is not a domain name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DomainError {
    /// The text is empty or only spaces.
    Empty,
    /// It contains a space.
    Blank,
    /// It contains a control character.
    Control,
    /// It ends with a dot.
    FinalDot,
    /// It has two dots in a row, or a dot at the start.
    EmptyLabel,
    /// A label has this many bytes, which is too long.
    LongLabel(usize),
    /// The name has this many bytes, which is too long.
    LongName(usize),
}

impl Domain {
    /// Checks and normalizes a name.
    pub fn parse(text: &str) -> Result<Self, DomainError> {
        let name = text.trim();
        if is_plain(name) {
            return Ok(Self(name.into()));
        }
        let name = name.to_lowercase();
        if name.is_empty() {
            return Err(DomainError::Empty);
        }
        if name.chars().any(char::is_control) {
            return Err(DomainError::Control);
        }
        if name.contains(char::is_whitespace) {
            return Err(DomainError::Blank);
        }
        if name.ends_with('.') && !name.ends_with("..") && name.len() > 1 {
            return Err(DomainError::FinalDot);
        }
        for label in name.split('.') {
            match label.len() {
                0 => return Err(DomainError::EmptyLabel),
                length if length > MAX_LABEL => return Err(DomainError::LongLabel(length)),
                _ => {}
            }
        }
        if name.len() > MAX_NAME {
            return Err(DomainError::LongName(name.len()));
        }
        Ok(Self(name.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a name is valid and already normalized. Most are, and there may be many thousands, so each byte is read only once.
fn is_plain(name: &str) -> bool {
    let mut label = 0;
    for byte in name.bytes() {
        match byte {
            b'.' if label == 0 => return false,
            b'.' => label = 0,
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'*' => label += 1,
            _ => return false,
        }
        if label > MAX_LABEL {
            return false;
        }
    }
    label > 0 && name.len() <= MAX_NAME
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for DomainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::Blank => f.write_str("it contains a space"),
            Self::Control => f.write_str("it contains a control character"),
            Self::FinalDot => f.write_str("leave out the dot at its end"),
            Self::EmptyLabel => f.write_str("it begins with a dot or has two dots in a row"),
            Self::LongLabel(length) => {
                write!(f, "one of its labels has {length} bytes; at most {MAX_LABEL} are allowed")
            }
            Self::LongName(length) => write!(f, "it has {length} bytes; at most {MAX_NAME} are allowed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b10_names_are_trimmed_and_lower_cased() {
        let cases = [
            (" Home.Example.COM ", "home.example.com"),
            ("*.example.com", "*.example.com"),
            ("_acme.example.com", "_acme.example.com"),
            ("BÜCHER.example", "bücher.example"),
            ("localhost", "localhost"),
        ];
        for (text, name) in cases {
            assert_eq!(Domain::parse(text).map(|domain| domain.to_string()).as_deref(), Ok(name), "{text:?}");
        }
    }

    #[test]
    fn b10_impossible_names_are_refused() {
        let long_label = format!("{}.example", "a".repeat(64));
        let long_name = format!("{}example", "abcdefg.".repeat(32));
        let cases = [
            ("", DomainError::Empty),
            ("  ", DomainError::Empty),
            ("a b.example", DomainError::Blank),
            ("a\u{7}b.example", DomainError::Control),
            ("a\nb.example", DomainError::Control),
            ("a..example", DomainError::EmptyLabel),
            (".example", DomainError::EmptyLabel),
            ("example.", DomainError::FinalDot),
            (&long_label, DomainError::LongLabel(64)),
            (&long_name, DomainError::LongName(263)),
        ];
        for (text, error) in cases {
            assert_eq!(Domain::parse(text), Err(error), "{text:?}");
        }
        assert!(Domain::parse(&format!("{}.example", "a".repeat(63))).is_ok());
    }
}
