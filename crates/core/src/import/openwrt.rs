//! The configuration of `OpenWrt`'s ddns-scripts, in the grammar of UCI.

use super::cursor::TextCursor;
use super::settings::{
    NotePart, PeerError, PeerFile, PeerName, PeerSection, PeerSettings, PeerSurroundings, of_family, page,
    percent_encoded, way,
};
use super::table::PeerTable;
use crate::text::json::{Dialect, Value, parse};

#[cfg(test)]
mod tests;

/// A shorter interval is this one there, in seconds.
const MIN_CHECK: u64 = 300;

/// A section: its type, its name, and its settings.
struct UciSection {
    kind: String,
    name: String,
    line: usize,
    settings: PeerSettings,
}

/// Reads a file.
pub(super) fn read(
    text: &str,
    around: &PeerSurroundings<'_>,
    file: &mut PeerFile,
    table: PeerTable,
) -> Result<(), PeerError> {
    let sections = sections(text)?;
    for UciSection { name, line, settings, .. } in sections.into_iter().filter(|section| section.kind == "service") {
        if settings.flag("enabled") == Some(true) {
            let section = section(&name, line, settings, around, file, table);
            file.sections.push(section);
        } else {
            file.note(NotePart::Dropped, line, &name, "it is switched off there (`enabled` is not 1)");
        }
    }
    Ok(())
}

fn sections(text: &str) -> Result<Vec<UciSection>, PeerError> {
    let (mut all, mut current) = (Vec::<UciSection>::new(), None);
    let mut at = TextCursor::new(text);
    while !at.rest.is_empty() {
        let line = at.line;
        let words = command(&mut at)?;
        let mut words = words.iter().map(String::as_str);
        let wrong = |message: &str| Err(PeerError::new(line, message));
        match (words.next(), words.next(), words.next()) {
            (Some("config" | "c"), Some(kind), name) => {
                let name = name.map_or_else(|| format!("service in line {line}"), str::to_owned);
                let place = all.iter().position(|known| known.name == name).unwrap_or(all.len());
                if place == all.len() {
                    all.push(UciSection { kind: kind.to_owned(), name, line, settings: PeerSettings::default() });
                }
                current = Some(place);
            }
            (Some("option" | "o" | "list" | "l"), Some(name), Some(value)) => match current {
                Some(place) => all[place].settings.set(name, value, line),
                None => return wrong("an option is outside of any section"),
            },
            (None | Some("package" | "p"), ..) => {}
            _ => return wrong("it is neither `config TYPE 'NAME'` nor `option NAME 'VALUE'`"),
        }
    }
    Ok(all)
}

/// The words of one command.
fn command(at: &mut TextCursor<'_>) -> Result<Vec<String>, PeerError> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    loop {
        let line = at.line;
        match at.take() {
            None | Some('\n' | ';') => break,
            Some('#') => {
                at.skip_behind("\n");
                break;
            }
            Some(letter) if letter.is_whitespace() => words.extend(word.take()),
            Some('\'') => {
                let inner = at.skip_behind("'");
                let inner = inner.strip_suffix('\'').ok_or_else(|| PeerError::new(line, "a quote is not closed"))?;
                *word.get_or_insert_default() += inner;
            }
            Some('"') => loop {
                let word = word.get_or_insert_default();
                match at.take() {
                    None => return Err(PeerError::new(line, "a quote is not closed")),
                    Some('"') => break,
                    Some('\\') => word.extend(at.take()),
                    Some(letter) => word.push(letter),
                }
            },
            Some('\\') => word.get_or_insert_default().extend(at.take()),
            Some(letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

fn section(
    name: &str,
    line: usize,
    mut fields: PeerSettings,
    around: &PeerSurroundings<'_>,
    file: &mut PeerFile,
    table: PeerTable,
) -> PeerSection {
    let family = usize::from(fields.flag("use_ipv6") == Some(true));
    let service = fields.get("service_name").unwrap_or(if fields.get("update_script").is_some() {
        "update_script"
    } else {
        name
    });
    let mut services = vec![service.to_owned()];
    let every = |name: &str, unit: &str, default: (u64, &str)| {
        let number = fields.get(name).map_or(Some(default.0), |text| text.parse().ok())?;
        let factor = match fields.get(unit).unwrap_or(default.1) {
            "seconds" => 1,
            "hours" => 3600,
            "days" => 86_400,
            _ => 60,
        };
        u64::checked_mul(number, factor)
    };
    file.every(every("check_interval", "check_unit", (10, "minutes")).map(|seconds| seconds.max(MIN_CHECK)));
    let force = fields.get("force_interval").and_then(|_| every("force_interval", "force_unit", (72, "hours")));
    if force == Some(0) {
        file.changed(
            fields.line("force_interval"),
            "force_interval",
            "not set: ddns keeps running; plain `ddns` sends once",
        );
    }
    // A name without a dot stands for one of the service's own.
    let written = fields.get("domain").unwrap_or_default().to_owned();
    let lookup =
        fields.get("lookup_host").filter(|host| !written.contains('.') && host.contains('.')).map(str::to_owned);
    let mut own = PeerName::new(lookup.as_deref().unwrap_or(&written));
    if let Some((host, zone)) = written.split_once('@') {
        own = PeerName { zone: Some(zone.to_owned()), ..PeerName::new(if host.is_empty() { "@" } else { host }) };
    }
    let source = source(&fields, family, around, file);
    let request = request(&fields, family, around);
    if request.is_some() && fields.get("update_url").is_some() && table.row(service, |_| None).is_none() {
        services = vec![format!("the URL of `{name}`")];
    }
    let proxy = fields.get("proxy").map(|proxy| format!("http://{proxy}"));
    let ssl = match fields.get("cacert") {
        Some("IGNORE") => Some(Value::Bool(false)),
        // What ends in a slash, or has no suffix, is a folder: the system's certificates count.
        Some(path) if path.contains('.') => Some(Value::string(path)),
        _ => None,
    };
    fields.set("name", name, line);
    fields.get("name");
    let (names, sources) = (of_family(family == 1, vec![own]), of_family(family == 1, vec![source]));
    PeerSection { line, services, names, sources, settings: way(proxy, ssl, None, None, force), request, fields }
}

fn source(fields: &PeerSettings, family: usize, around: &PeerSurroundings<'_>, file: &mut PeerFile) -> String {
    match fields.get("ip_source").unwrap_or("network") {
        "web" => fields.get("ip_url").map_or_else(|| "public".to_owned(), page),
        "script" => format!("shell:{}", fields.get("ip_script").unwrap_or_default()),
        "interface" => format!("interface:{}", fields.get("ip_interface").unwrap_or("eth1")),
        _ => {
            let network = fields.get("ip_network").unwrap_or(["wan", "wan6"][family]);
            if matches!(network, "wan" | "wan6") {
                return "default".to_owned();
            }
            let networks = (around.read)("/etc/config/network").ok().and_then(|text| sections(&text).ok());
            let known =
                networks.iter().flatten().find(|section| section.name == network).map(|section| &section.settings);
            let device = known.and_then(|settings| match settings.get("proto") {
                Some("pppoe") => Some(format!("pppoe-{network}")),
                _ => settings.get("device").or_else(|| settings.get("ifname")).map(str::to_owned),
            });
            let line = fields.line("ip_network");
            let unknown = || "`default`; /etc/config/network does not say which device it is".to_owned();
            let known = |device: &String| format!("`interface:{device}`, the device of {network}");
            file.changed(line, "ip_network", device.as_ref().map_or_else(unknown, known));
            device.map_or_else(|| "default".to_owned(), |device| format!("interface:{device}"))
        }
    }
}

/// The request of `update_url`, or of the list of services on the router.
fn request(fields: &PeerSettings, family: usize, around: &PeerSurroundings<'_>) -> Option<Vec<(&'static str, Value)>> {
    let listed = || {
        let service = fields.get("service_name")?;
        let is_plain = service.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
        let folders = ["custom", "default"].into_iter().filter(|_| is_plain);
        let mut texts =
            folders.filter_map(|folder| (around.read)(&format!("/usr/share/ddns/{folder}/{service}.json")).ok());
        let list = texts.find_map(|text| parse(&text, Dialect::CONFIG).ok())?.value;
        let own = list.member(["ipv4", "ipv6"][family])?;
        let answer = own.member("answer").or_else(|| list.member("answer")).and_then(Value::text).map(str::to_owned);
        Some((own.member("url")?.text()?.to_owned(), answer))
    };
    let own = fields.get("update_url").map(|url| (url.to_owned(), None));
    let (mut url, answer) = own.or_else(listed).filter(|(url, _)| url.starts_with("http"))?;
    if fields.flag("use_https") == Some(true) {
        url = url.replacen("http:", "https:", 1);
    }
    let mut extra = Vec::new();
    for (mark, name, field) in [
        ("[USERNAME]", "__USER__", "username"),
        ("[PASSWORD]", "__PASSWORD__", "password"),
        ("[PARAMENC]", "__PARAMETER__", "param_enc"),
    ] {
        if url.contains(mark) {
            url = url.replace(mark, name);
            extra.push((name, Value::string(fields.get(field).unwrap_or_default())));
        }
    }
    url = url.replace("[PARAMOPT]", fields.get("param_opt").unwrap_or_default());
    url = url.replace("[DOMAIN]", "__DOMAIN__").replace("[IP]", "__IP__");
    let url: String =
        url.chars().map(|letter| if letter == ' ' { percent_encoded(" ") } else { letter.to_string() }).collect();
    let mut request = vec![("id", Value::String(url))];
    request.extend(answer.map(|answer| ("expect", Value::object([("accept", Value::String(answer))]))));
    request.extend((!extra.is_empty()).then(|| ("extra", Value::object(extra))));
    Some(request)
}
