//! The configuration of ddns-go.

use super::settings::{NotePart, PeerError, PeerFile, PeerName, PeerSection, PeerSettings, line_at, number, page};
use super::yaml;
use crate::text::json::{Dialect, Node, Value, parse};

/// What a TTL is there where none is set.
const TTL: &str = "600";

/// Reads a file.
pub(super) fn read(text: &str, file: &mut PeerFile) -> Result<(), PeerError> {
    let root = yaml::parse(text)?;
    let elements: Vec<&Node> = match root.value.member("dnsconf") {
        Some(Value::Array(items)) => items.iter().collect(),
        _ => vec![&root],
    };
    if root.value.member("dnsconf").is_some() {
        file.globals = PeerSettings::of_object(&root, text);
        file.globals.0.retain(|setting| setting.name != "dnsconf");
    }
    // It stands in the unit (`-f`), not in the file.
    file.every(Some(300));
    for element in elements {
        let fields = PeerSettings::of_object(element, text);
        let section = section(line_at(text, element.span.start), fields, file);
        file.sections.extend(section);
    }
    Ok(())
}

fn section(line: usize, fields: PeerSettings, file: &mut PeerFile) -> Option<PeerSection> {
    let service = fields.get("dns.name").unwrap_or("alidns").to_lowercase();
    fields.get("name");
    let mut names: [Vec<PeerName>; 2] = Default::default();
    let mut sources: [Vec<String>; 2] = Default::default();
    for (place, family) in ["ipv4", "ipv6"].into_iter().enumerate() {
        let get = |name: &str| fields.get(&format!("{family}.{name}")).map(str::to_owned);
        let all = ["enable", "gettype", "url", "netinterface", "cmd", "domains", "ipv6reg"].map(get);
        let [enable, kind, url, interface, command, domains, pattern] = all;
        let is_on = fields.flag(&format!("{family}.enable")) == Some(true);
        let domains: Vec<PeerName> = domains.iter().flat_map(|list| list.split(',')).filter_map(domain).collect();
        if !is_on || domains.is_empty() {
            if enable.is_some() && !domains.is_empty() {
                file.note(NotePart::Dropped, line, family, "it is switched off there (`enable: false`)");
            }
            continue;
        }
        let source = match (kind.as_deref(), interface, pattern) {
            (Some("url"), ..) => url.iter().flat_map(|urls| urls.split(',')).map(|url| page(url.trim())).collect(),
            (Some("netInterface"), _, Some(pattern)) if !pattern.starts_with('@') => {
                let text = "`regex:` looks at the addresses of all interfaces, from their start";
                file.changed(fields.line("ipv6.ipv6reg"), "ipv6reg", text);
                vec![format!("regex:.*{pattern}")]
            }
            (Some("netInterface"), Some(name), pattern) => {
                if pattern.is_some() {
                    let text = format!("`interface:{name}`, which takes the best address, not the Nth");
                    file.changed(fields.line("ipv6.ipv6reg"), "ipv6reg", text);
                }
                vec![format!("interface:{name}")]
            }
            (Some("cmd"), ..) => vec![format!("shell:{}", command.unwrap_or_default())],
            _ => {
                file.left_out(
                    line,
                    family,
                    "ddns-go finds no address for it: `gettype` is not url, netInterface or cmd",
                );
                continue;
            }
        };
        for source in source {
            if !sources[place].contains(&source) {
                sources[place].push(source);
            }
        }
        names[place] = domains;
    }
    if service == "dynv6" {
        let is_below = |name: &PeerName| name.name.split('.').count() > 3;
        for name in names.iter_mut().flat_map(|names| names.extract_if(.., |name| is_below(name))) {
            let why = "a name below a zone of dynv6 needs its API; the recipe updates the zone itself";
            file.left_out(line, &format!("dynv6 ({})", name.name), why);
        }
    }
    let request = if service == "callback" { Some(request(&fields, line, file)?) } else { None };
    let services = vec![service];
    Some(PeerSection { line, services, fields, names, sources, settings: Vec::new(), request })
}

/// `www.example.com`, `www:example.com`, and parameters behind either.
fn domain(written: &str) -> Option<PeerName> {
    let (name, parameters) = written.trim().split_once('?').unwrap_or((written.trim(), ""));
    let mut own = match name.split_once(':') {
        Some((host, zone)) => {
            let host = if host.is_empty() { "@" } else { host };
            let name = if host == "@" { zone.to_owned() } else { format!("{host}.{zone}") };
            PeerName { zone: Some(zone.to_owned()), ..PeerName::new(&name) }
        }
        None => PeerName::new(name),
    };
    let pairs: Vec<(String, Value)> = parameters
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (variable(key), Value::string(value)))
        .collect();
    if !pairs.is_empty() {
        let extra = Value::object(pairs.iter().map(|(key, value)| (key.as_str(), value.clone())));
        own.rest.push(("extra", extra));
    }
    Some(own).filter(|own| !own.name.is_empty())
}

fn variable(key: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
    format!("__P_{}__", key.chars().map(plain).collect::<String>())
}

fn request(fields: &PeerSettings, line: usize, file: &mut PeerFile) -> Option<Vec<(&'static str, Value)>> {
    let [id, body] = ["dns.id", "dns.secret"].map(|name| fields.get(name).unwrap_or_default().to_owned());
    let has_ttl = id.contains("#{ttl}") || body.contains("#{ttl}");
    let filled = |text: &str| {
        let known = [("ip", "__IP__"), ("domain", "__DOMAIN__"), ("recordType", "__RECORDTYPE__"), ("ttl", "__TTL__")];
        let mut parts = text.split("#{");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once('}')?;
            if matches!(name, "ipv4Addr" | "ipv6Addr" | "timestamp") {
                return None;
            }
            let known = known.iter().find(|(known, _)| *known == name).map(|(_, mark)| (*mark).to_owned());
            filled += &known.unwrap_or_else(|| variable(name));
            filled += rest;
        }
        Some(filled)
    };
    let (Some(id), Some(body)) = (filled(&id), filled(&body)) else {
        let why = "`#{ipv4Addr}`, `#{ipv6Addr}` and `#{timestamp}` have no counterpart; see docs/placeholders.md";
        file.left_out(line, "callback", why);
        return None;
    };
    let mut request = vec![("id", Value::String(id))];
    if !body.trim().is_empty() {
        if parse(&body, Dialect::TOKEN).is_err() {
            request.push(("format", Value::string("form")));
        }
        request.push(("token", Value::String(body)));
    }
    if has_ttl {
        request.extend(fields.get("ttl").unwrap_or(TTL).parse().ok().map(|ttl| ("ttl", number(ttl))));
    }
    Some(request)
}
