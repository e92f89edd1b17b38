//! The configuration of qdm12/ddns-updater.

use std::net::Ipv6Addr;

use super::settings::{
    PeerError, PeerFile, PeerName, PeerSection, PeerSettings, PeerSurroundings, line_at, of_family, percent_encoded,
    way,
};
use crate::text::json::{Dialect, Value, parse};

/// Reads a file; variables are those of the file that it stands in, or of this process.
pub(super) fn read(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    file: &mut PeerFile,
) -> Result<(), PeerError> {
    let root = parse(text, Dialect::CONFIG).map_err(|error| {
        PeerError::new(line_at(text, error.span.start), format!("it is not valid JSON: {}", error.message))
    })?;
    let Some(Value::Array(items)) = root.value.member("settings") else {
        return Err(PeerError::new(0, "`settings` is not a list"));
    };
    let seconds = |name: &str| super::settings::seconds(&variable(name)?);
    file.every(seconds("PERIOD").or(Some(300)));
    let settings = way(None, None, seconds("HTTP_TIMEOUT"), seconds("UPDATE_COOLDOWN_PERIOD"), None);
    for item in items {
        let line = line_at(text, item.span.start);
        let fields = PeerSettings::of_object(item, text);
        let mut section = section(line, fields, file);
        section.settings.clone_from(&settings);
        for (place, name) in ["PUBLICIPV4_HTTP_PROVIDERS", "PUBLICIPV6_HTTP_PROVIDERS"].into_iter().enumerate() {
            let pages = variable(name).or_else(|| variable("PUBLICIP_HTTP_PROVIDERS")).unwrap_or_default();
            let pages = pages.split(',').filter(|page| page.trim().starts_with("url:"));
            section.sources[place] = pages.map(|page| super::settings::page(&page.trim()[4..])).collect();
            if section.sources[place].is_empty() {
                section.sources[place].push("public".to_owned());
            }
        }
        file.sections.push(section);
    }
    if let Some(check) = variable("HEALTH_HEALTHCHECKSIO_UUID") {
        let base = variable("HEALTH_HEALTHCHECKSIO_BASE_URL").unwrap_or_else(|| "https://hc-ping.com".to_owned());
        file.notify.push(("healthchecks", vec![("base", base), ("check", check)]));
    }
    Ok(())
}

/// The same from variables: the whole JSON is in one of them.
pub(super) fn of_variables(
    variables: &PeerSettings,
    around: &PeerSurroundings<'_>,
    file: &mut PeerFile,
) -> Result<(), PeerError> {
    let known = |name: &str| variables.get(name).map(str::to_owned).or_else(|| (around.variable)(name));
    let text = known("CONFIG").ok_or_else(|| PeerError::new(0, "`CONFIG` is not set"))?;
    let line = variables.line("CONFIG");
    read(&text, &known, file)
        .map_err(|error| PeerError::new(line, format!("in CONFIG, line {}: {}", error.line, error.message)))?;
    file.globals.0.extend(variables.0.iter().cloned());
    Ok(())
}

fn section(line: usize, mut fields: PeerSettings, file: &mut PeerFile) -> PeerSection {
    let service = fields.get("provider").unwrap_or_default().to_lowercase();
    let domain = fields.get("domain").unwrap_or_default().to_owned();
    let owners = fields.get("host").or_else(|| fields.get("owner")).map(str::to_owned);
    let mut names: Vec<PeerName> = match &owners {
        // Before version 2.7 names stood below the domain.
        Some(owners) => {
            let named = |owner: &str| if owner == "@" { domain.clone() } else { format!("{owner}.{domain}") };
            let named = owners.split(',').map(|owner| PeerName::new(&named(owner.trim())));
            named.map(|name| PeerName { zone: Some(domain.clone()), ..name }).collect()
        }
        None => domain.split(',').map(PeerName::new).collect(),
    };
    let registered = owners.is_some().then(|| domain.clone());
    let registered = registered.unwrap_or_else(|| super::entries::guessed(names.first().map_or("", |name| &name.name)));
    fields.set("registered", registered, line);
    fields.get("registered");
    let version = fields.get("ip_version").unwrap_or("ipv4 or ipv6").to_lowercase();
    if version == "ipv4 or ipv6" {
        let text = "`ipv4`; ddns-updater takes whichever address it finds, so add `ipv6` if you need it";
        file.changed(line, &format!("ip_version of {domain}"), text);
    }
    if let Some(id) = fields.get("ipv6_suffix").and_then(interface_id) {
        for name in &mut names {
            name.rest.push(("interface_id", Value::String(id.clone())));
        }
    }
    let is_v6 = version == "ipv6";
    let names = of_family(is_v6, names);
    let request = (service == "custom").then(|| request(&fields, is_v6)).flatten();
    PeerSection { line, services: vec![service], fields, names, request, ..PeerSection::default() }
}

/// The last bits of an address: `::1:2/64` are 64 bits there.
fn interface_id(suffix: &str) -> Option<String> {
    let (address, bits) = suffix.split_once('/')?;
    let bits: u32 = bits.parse().ok().filter(|bits| (1..=128).contains(bits))?;
    let mask = u128::MAX >> (128 - bits);
    let id = Ipv6Addr::from(address.parse::<Ipv6Addr>().ok()?.to_bits() & mask);
    Some(format!("{id}/{}", 128 - bits))
}

fn request(fields: &PeerSettings, is_v6: bool) -> Option<Vec<(&'static str, Value)>> {
    let mut id = fields.get("url")?.to_owned();
    let key = fields.get(if is_v6 { "ipv6key" } else { "ipv4key" });
    if let Some(key) = key {
        id += if id.contains('?') { "&" } else { "?" };
        id += &format!("{}=__IP__", percent_encoded(key));
    }
    let accept =
        fields.get("success_regex").map(|accept| ("expect", Value::object([("accept", Value::string(accept))])));
    Some([("id", Value::String(id))].into_iter().chain(accept).collect())
}
