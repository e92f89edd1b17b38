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

impl Domain {
    /// Checks and normalizes a name; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let name = text.trim();
        if is_plain(name) {
            return Ok(Self(name.into()));
        }
        let name = name.to_lowercase();
        let why = if name.is_empty() {
            "it is empty"
        } else if name.chars().any(char::is_control) {
            "it contains a control character"
        } else if name.contains(char::is_whitespace) {
            "it contains a space"
        } else if name.ends_with('.') && !name.ends_with("..") && name.len() > 1 {
            "leave out the dot at its end"
        } else if name.split('.').any(str::is_empty) {
            "it begins with a dot or has two dots in a row"
        } else if let Some(long) = name.split('.').map(str::len).find(|length| *length > MAX_LABEL) {
            return Err(format!("one of its labels has {long} bytes; at most {MAX_LABEL} are allowed"));
        } else if name.len() > MAX_NAME {
            return Err(format!("it has {} bytes; at most {MAX_NAME} are allowed", name.len()));
        } else {
            return Ok(Self(name.into()));
        };
        Err(why.to_owned())
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
            ("", "it is empty"),
            ("  ", "it is empty"),
            ("a b.example", "it contains a space"),
            ("a\u{7}b.example", "it contains a control character"),
            ("a\nb.example", "it contains a control character"),
            ("a..example", "it begins with a dot or has two dots in a row"),
            (".example", "it begins with a dot or has two dots in a row"),
            ("example.", "leave out the dot at its end"),
            (&long_label, "one of its labels has 64 bytes; at most 63 are allowed"),
            (&long_name, "it has 263 bytes; at most 253 are allowed"),
        ];
        for (text, error) in cases {
            assert_eq!(Domain::parse(text), Err(error.to_owned()), "{text:?}");
        }
        assert!(Domain::parse(&format!("{}.example", "a".repeat(63))).is_ok());
    }
}
