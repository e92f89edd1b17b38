//! Reads the configuration of `OpenWrt`'s ddns-scripts, which has the grammar of UCI.

use super::cursor::TextCursor;
use super::settings::{NotePart, PeerError, PeerFile, PeerInput, PeerSection, PeerSettings, PeerSurroundings};
use super::table::is_yes;
use crate::text::json::{Dialect, Value, parse};

#[cfg(test)]
mod tests;

pub(super) fn read(input: &PeerInput<'_>, file: &mut PeerFile) -> Result<(), PeerError> {
    let networks = networks(input.around);
    for mut section in sections(input.text)? {
        let fields = &mut section.fields;
        let name = fields.get(".name").unwrap_or_default().to_owned();
        match fields.get(".kind") {
            Some("service") => {}
            // The section `global`.
            Some("ddns") => {
                file.globals.add_unset(fields);
                continue;
            }
            _ => continue,
        }
        if !fields.get("enabled").is_some_and(is_yes) {
            file.note(NotePart::Dropped, section.line, &name, "it is switched off there (`enabled` is not 1)");
            continue;
        }
        let is_network = fields.get("ip_source").is_none_or(|source| source == "network");
        let network = if is_network { fields.get("ip_network") } else { None };
        if let Some((network, (path, networks))) = network.map(str::to_owned).zip(networks.as_ref()) {
            fields.give("network_file", *path);
            fields.give("device", device(&network, networks).unwrap_or_default());
        }
        let family = if fields.get("use_ipv6").is_some_and(is_yes) { "ipv6" } else { "ipv4" };
        if let Some((url, answer)) =
            fields.get("service_name").and_then(|service| listed(service, family, input.around))
        {
            fields.give("listed_url", url);
            fields.give("listed_answer", answer.unwrap_or_default());
        }
        file.sections.push(section);
    }
    Ok(())
}

fn sections(text: &str) -> Result<Vec<PeerSection>, PeerError> {
    let (mut all, mut current) = (Vec::<PeerSection>::new(), None);
    let mut at = TextCursor::new(text);
    while !at.rest.is_empty() {
        let line = at.line;
        let wrong = |message: &str| PeerError::new(line, message);
        let words = command(&mut at).map_err(|_| wrong("a quote is not closed"))?;
        let mut words = words.iter().map(String::as_str);
        match (words.next(), words.next(), words.next()) {
            (Some("config" | "c"), Some(kind), name) => {
                let name = name.map_or_else(|| format!("service in line {line}"), str::to_owned);
                let is_same = |known: &PeerSection| known.fields.get(".name") == Some(&name);
                let place = all.iter().position(is_same).unwrap_or(all.len());
                if place == all.len() {
                    let mut fields = PeerSettings::default();
                    fields.give(".kind", kind);
                    fields.give(".name", name);
                    all.push(PeerSection { line, fields, ..PeerSection::default() });
                }
                current = Some(place);
            }
            (Some("option" | "o" | "list" | "l"), Some(name), Some(value)) => match current {
                Some(place) => all[place].fields.set(name, value, line),
                None => return Err(wrong("an option is outside of any section")),
            },
            (None | Some("package" | "p"), ..) => {}
            _ => return Err(wrong("it is neither `config TYPE 'NAME'` nor `option NAME 'VALUE'`")),
        }
    }
    Ok(all)
}

/// Reads the words of one command.
fn command(at: &mut TextCursor<'_>) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    loop {
        at.take_while(|letter| letter.is_whitespace() && letter != '\n');
        let Some(word) = at.word(" \t\r\n;#", "")? else { break };
        words.push(word);
    }
    if at.take() == Some('#') {
        at.skip_behind("\n");
    }
    Ok(words)
}

/// The networks of the router, and the file that contains them: `network` in the same folder, or the router's own.
fn networks(around: &PeerSurroundings<'_>) -> Option<(&'static str, Vec<PeerSection>)> {
    let mut texts = ["network", "/etc/config/network"].into_iter().map(|path| (path, (around.read)(path)));
    texts.find_map(|(path, text)| Some((path, sections(&text.ok()?).ok()?)))
}

/// The device of a network.
fn device(network: &str, networks: &[PeerSection]) -> Option<String> {
    let own = &networks.iter().find(|section| section.fields.get(".name") == Some(network))?.fields;
    match own.get("proto") {
        Some("pppoe") => Some(format!("pppoe-{network}")),
        _ => own.get("device").or_else(|| own.get("ifname")).map(str::to_owned),
    }
}

/// The URL of a service in the lists on the router, and its expected response.
fn listed(service: &str, family: &str, around: &PeerSurroundings<'_>) -> Option<(String, Option<String>)> {
    let is_plain = service.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    let folders = ["custom", "default"].into_iter().filter(|_| is_plain);
    let mut texts =
        folders.filter_map(|folder| (around.read)(&format!("/usr/share/ddns/{folder}/{service}.json")).ok());
    let list = texts.find_map(|text| parse(&text, Dialect::CONFIG).ok())?.value;
    let own = list.member(family)?;
    let answer = own.member("answer").or_else(|| list.member("answer")).and_then(Value::text).map(str::to_owned);
    Some((own.member("url")?.text()?.to_owned(), answer))
}
