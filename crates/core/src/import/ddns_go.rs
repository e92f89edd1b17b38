//! Reads the configuration of ddns-go.

use super::settings::{PeerError, PeerFile, PeerInput, PeerSettings, line_at};
use super::yaml;
use crate::text::json::{Node, Value};

#[cfg(test)]
mod tests;

pub(super) fn read(input: &PeerInput<'_>, file: &mut PeerFile) -> Result<(), PeerError> {
    let (text, root) = (input.text, yaml::parse(input.text)?);
    if root.value.member("dnsconf").is_some() {
        file.globals = PeerSettings::of_object(&root, text);
        file.globals.0.remove("dnsconf");
    }
    // Before version 5, the file contained the keys of one element at the top level.
    let elements: Vec<&Node> = match root.value.member("dnsconf") {
        Some(Value::Array(items)) => items.iter().collect(),
        _ => vec![&root],
    };
    for element in elements {
        file.add(line_at(text, element.span.start), PeerSettings::of_object(element, text));
    }
    Ok(())
}
