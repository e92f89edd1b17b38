//! Reads the configuration of qdm12/ddns-updater.

use std::net::Ipv6Addr;

use super::settings::{PeerError, PeerFile, PeerInput, PeerSettings, line_at};
use super::variables;
use crate::recipe::likely_zone;
use crate::text::json::{Dialect, Value, parse};

#[cfg(test)]
mod tests;

/// Reads JSON, or variables of which `CONFIG` contains that JSON.
pub(super) fn read(input: &PeerInput<'_>, file: &mut PeerFile) -> Result<(), PeerError> {
    if input.text.trim_start().starts_with('{') {
        return read_settings(input.text, file);
    }
    file.globals = variables::parse(input.text, file)?;
    let text = file.globals.get("CONFIG").map(str::to_owned).or_else(|| (input.around.variable)("CONFIG"));
    let text = text.ok_or_else(|| PeerError::new(0, "`CONFIG` is not set"))?;
    let line = file.globals.line("CONFIG");
    read_settings(&text, file).map_err(|error| error.within(line, "CONFIG"))
}

fn read_settings(text: &str, file: &mut PeerFile) -> Result<(), PeerError> {
    let root = parse(text, Dialect::CONFIG).map_err(|error| {
        PeerError::new(line_at(text, error.span.start), format!("it is not valid JSON: {}", error.message))
    })?;
    let Some(Value::Array(items)) = root.value.member("settings") else {
        return Err(PeerError::new(0, "`settings` is not a list"));
    };
    for item in items {
        let mut fields = PeerSettings::of_object(item, text);
        let domain = fields.get("domain").unwrap_or_default().to_owned();
        let is_ipv6 = fields.find("ip_version").is_some_and(|version| version.value.eq_ignore_ascii_case("ipv6"));
        let suffix = if is_ipv6 { fields.get("ipv6_suffix") } else { None };
        let id = suffix.and_then(interface_id).map(|id| format!(";{id}")).unwrap_or_default();
        // Before version 2.7, `host` and `owner` contained the names below the domain.
        let owners = fields.get("owner").or_else(|| fields.get("host"));
        let below = if owners.is_some() { format!("~{}", domain.replace(',', "~")) } else { String::new() };
        let names = owners.unwrap_or(&domain).split(',').map(|name| format!("{}{below}{id}", name.trim()));
        let names = names.collect::<Vec<_>>().join(",");
        let first = domain.split(',').next().unwrap_or_default().trim();
        let registered = if below.is_empty() { likely_zone(first).to_owned() } else { domain.clone() };
        fields.give("names", names);
        fields.give("registered", registered);
        fields.add_unset(&file.globals);
        file.add(line_at(text, item.span.start), fields);
    }
    Ok(())
}

/// An interface id. In ddns-updater, the length counts the host's bits: `::1:2/64` means the last 64 bits.
fn interface_id(suffix: &str) -> Option<String> {
    let (address, bits) = suffix.split_once('/')?;
    let bits: u32 = bits.parse().ok().filter(|bits| (1..=128).contains(bits))?;
    let mask = u128::MAX >> (128 - bits);
    let id = Ipv6Addr::from(address.parse::<Ipv6Addr>().ok()?.to_bits() & mask);
    Some(format!("{id}/{}", 128 - bits))
}
