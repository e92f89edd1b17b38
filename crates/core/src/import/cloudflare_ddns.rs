//! The environment of favonia/cloudflare-ddns.

use std::net::Ipv6Addr;

use super::cursor::TextCursor;
use super::entries::in_file;
use super::settings::{PeerError, PeerFile, PeerName, PeerSection, PeerSettings, cron, page, way};
use crate::text::json::Value;

/// Reads variables.
pub(super) fn read(mut variables: PeerSettings, file: &mut PeerFile) -> Result<(), PeerError> {
    let names = ["CLOUDFLARE_API_TOKEN", "CF_API_TOKEN", "CLOUDFLARE_API_TOKEN_FILE", "CF_API_TOKEN_FILE"];
    let line = names.iter().map(|name| variables.line(name)).find(|line| *line > 0).unwrap_or(0);
    let value_of = |name: &str| {
        let value = variables.get(name)?;
        Some(if name.ends_with("_FILE") { in_file(value) } else { value.to_owned() })
    };
    let mut tokens: Vec<String> = names.iter().filter_map(|name| value_of(name)).collect();
    tokens.dedup();
    if tokens.len() > 1 {
        return Err(PeerError::new(line, "the token is set in two ways that differ"));
    }
    let token = tokens.pop().unwrap_or_default();
    variables.set("token", token, line);
    let mut section = PeerSection { line, services: vec!["cloudflare".to_owned()], ..PeerSection::default() };
    for (place, family) in ["4", "6"].into_iter().enumerate() {
        let Some(source) = source(&variables, family, file) else { continue };
        section.sources[place] = vec![source];
        for name in ["DOMAINS".to_owned(), format!("IP{family}_DOMAINS")] {
            let line = variables.line(&name);
            section.names[place].extend(domains(variables.get(&name).unwrap_or_default(), line, file));
        }
    }
    let schedule = variables.get("UPDATE_CRON").unwrap_or("@every 5m");
    match cron(schedule) {
        Some(seconds) => file.every(Some(seconds)),
        None if schedule == "@once" => {}
        None => {
            file.every(Some(300));
            file.changed(
                variables.line("UPDATE_CRON"),
                "UPDATE_CRON",
                "every 5 minutes: ddns has intervals, no schedule",
            );
        }
    }
    section.settings = way(None, None, variables.seconds("UPDATE_TIMEOUT"), None, None);
    let push = |name: &str, separator: &str| {
        let url = variables.get(name)?.split('?').next()?.trim_end_matches('/');
        url.rsplit_once(separator).map(|(base, key)| (base.to_owned(), key.to_owned()))
    };
    file.notify.extend(
        push("HEALTHCHECKS", "/").map(|(base, check)| ("healthchecks", vec![("base", base), ("check", check)])),
    );
    file.notify.extend(
        push("UPTIMEKUMA", "/api/push/").map(|(base, token)| ("uptime-kuma", vec![("base", base), ("token", token)])),
    );
    section.fields = variables;
    file.sections.push(section);
    Ok(())
}

fn source(variables: &PeerSettings, family: &str, file: &mut PeerFile) -> Option<String> {
    let name = format!("IP{family}_PROVIDER");
    let old = format!("IP{family}_POLICY");
    let written = variables.get(&name).or_else(|| variables.get(&old)).unwrap_or("cloudflare.trace");
    let line = variables.line(&name).max(variables.line(&old));
    let (kind, rest) = written.split_once(':').unwrap_or((written, ""));
    Some(match kind {
        "none" => return None,
        "static.empty" => {
            file.changed(line, &name, "the family is off: ddns does not clear records");
            return None;
        }
        "local" => "default".to_owned(),
        "local.iface" => format!("interface:{rest}"),
        "url" => page(rest),
        "url.via4" | "url.via6" => {
            file.changed(line, &name, "`url:`; ddns connects over the family of the address where it can");
            page(rest)
        }
        "file" => format!("shell:cat {rest}"),
        "static" => {
            let mut addresses = rest.split(',').map(str::trim);
            let first = addresses.next().unwrap_or_default();
            if addresses.next().is_some() {
                file.changed(line, &name, format!("`shell:echo {first}`: ddns sends one address"));
            }
            format!("shell:echo {first}")
        }
        _ => "public".to_owned(),
    })
}

/// Names with commas between them, missing and extra ones included, each with `{hostid6=…}` behind it or not.
fn domains(list: &str, line: usize, file: &mut PeerFile) -> Vec<PeerName> {
    let (mut at, mut all) = (TextCursor::new(list), Vec::new());
    loop {
        at.take_while(|letter| letter.is_whitespace() || letter == ',');
        let name = at.take_while(|letter| !letter.is_whitespace() && !",{".contains(letter));
        if name.is_empty() {
            return all;
        }
        let mut own = PeerName::new(name.trim_end_matches('.'));
        if at.rest.trim_start().starts_with('{') {
            let option = at.skip_behind("}").trim().trim_matches(['{', '}']);
            let id = option.split_once('=').filter(|(key, _)| key.trim() == "hostid6").map(|(_, id)| id.trim());
            match id.map(|id| (id, host_id(id))) {
                Some((_, Some(id))) => own.rest.push(("interface_id", Value::String(id))),
                Some(("preserve", _)) => {}
                _ => file.left_out(line, &own.name, "ddns takes one host id for a domain (`interface_id`)"),
            }
        }
        all.push(own);
    }
}

/// The lower half of an address; one made of a hardware address, too.
fn host_id(text: &str) -> Option<String> {
    let Some(mac) = text.strip_prefix("mac(").and_then(|rest| rest.strip_suffix(')')) else {
        return text.parse::<Ipv6Addr>().ok().map(|id| id.to_string());
    };
    let bytes: Vec<u64> =
        mac.split(['-', ':']).map(|byte| u64::from_str_radix(byte, 16).ok()).collect::<Option<_>>()?;
    let (&[first, second, third], rest @ [_, _, _]) = bytes.split_first_chunk::<3>()? else { return None };
    let bytes = [&[first ^ 2, second, third, 0xff, 0xfe], rest].concat();
    let id = bytes.iter().fold(0, |id, byte| (id << 8) | u128::from(byte & 0xff));
    Some(Ipv6Addr::from(id).to_string())
}
