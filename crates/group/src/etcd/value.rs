//! Reads values from etcd's responses.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ddns_core::text::json::{Dialect, Node, Value, parse};

/// The response is not one that etcd would send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sent a response that etcd would not send: is it etcd?")
    }
}

/// Reads a response, which must be a JSON object.
pub(super) fn object(body: &[u8]) -> Result<Value, Malformed> {
    let text = std::str::from_utf8(body).map_err(|_| Malformed)?;
    let value = parse(text, Dialect::IN_TEXT).map_err(|_| Malformed)?.value;
    if value.members().is_some() { Ok(value) } else { Err(Malformed) }
}

/// The value of a field. `None`: the field is absent or null.
pub(super) fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.member(name).filter(|value| **value != Value::Null)
}

pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Node] {
    match field(value, name) {
        Some(Value::Array(items)) => items,
        _ => &[],
    }
}

/// A number, with or without quotes; zero if the field is absent.
pub(super) fn number<T: Default + FromStr>(value: &Value, name: &str) -> Result<T, Malformed> {
    match field(value, name) {
        None => Ok(T::default()),
        Some(Value::String(text) | Value::Number(text)) => text.parse().map_err(|_| Malformed),
        Some(_) => Err(Malformed),
    }
}

pub(super) fn bytes(value: &Value, name: &str) -> Result<Vec<u8>, Malformed> {
    let text = field(value, name).map_or(Ok(""), |value| value.text().ok_or(Malformed))?;
    STANDARD.decode(text).map_err(|_| Malformed)
}

pub(super) fn text(value: &Value, name: &str) -> Result<String, Malformed> {
    bytes(value, name).map(|bytes| {
        String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    })
}
