//! The configuration of ddclient.

use std::collections::HashMap;

use regex_lite::Regex;

use super::settings::{
    PeerError, PeerFile, PeerName, PeerSection, PeerSettings, PeerSurroundings, credentials, page, percent_encoded,
    seconds, way,
};
use crate::net::family::Family;
use crate::text::json::Value;

#[cfg(test)]
mod tests;

/// A password is cut out of its line before anything else is read: it may contain every character.
const PASSWORD: &str = r"^([^#]*\s)?([^#]*?password)\s*=\s*('.*'|[^'\s]\S*)(.*)$";

/// Reads a file.
pub(super) fn read(text: &str, around: &PeerSurroundings<'_>, file: &mut PeerFile) -> Result<(), PeerError> {
    let hosts = hosts(text, around, file)?;
    if hosts.is_empty() {
        return Err(PeerError::new(0, "it names no host"));
    }
    for (host, line, settings) in hosts {
        let section = section(&host, line, settings, file);
        file.sections.push(section);
    }
    // Debian's package keeps it there.
    let defaults = || (around.read)("/etc/default/ddclient").ok().filter(|_| around.file == "/etc/ddclient.conf");
    let packaged = || {
        let defaults = defaults()?;
        let line = defaults.lines().find_map(|line| line.trim().strip_prefix("daemon_interval="))?;
        seconds(line.trim_matches(['"', '\'']))
    };
    let every = file.globals.seconds("daemon").or_else(packaged);
    file.every(every);
    Ok(())
}

/// The hosts and what counts for each, in the order of the file.
fn hosts(
    text: &str,
    around: &PeerSurroundings<'_>,
    file: &mut PeerFile,
) -> Result<Vec<(String, usize, PeerSettings)>, PeerError> {
    let pattern = Regex::new(PASSWORD).map_err(|_| PeerError::new(0, "it cannot be read"))?;
    let (mut all, mut places) = (Vec::<(String, usize, PeerSettings)>::new(), HashMap::<String, usize>::new());
    let (mut logical, mut start, mut passwords) = (String::new(), 0, Vec::<(String, String, usize)>::new());
    for (line, physical) in text.lines().enumerate().map(|(place, line)| (place + 1, line)) {
        let mut own = physical.trim_end_matches('\r').to_owned();
        if let Some(found) = pattern.captures(&own) {
            let part = |place| found.get(place).map_or("", |part| part.as_str());
            let (key, value) = (part(2).trim_start(), part(3));
            let value = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(value);
            let name = key.rsplit(',').next().unwrap_or(key);
            if name != key {
                file.changed(line, name, "taken as it was meant; ddclient itself needs a space before it");
            }
            passwords.push((name.to_owned(), value.to_owned(), line));
            own = format!("{}{}=x{}", part(1), part(2), part(4));
        }
        let own = own.split('#').next().unwrap_or_default().trim();
        start = if logical.is_empty() { line } else { start };
        if let Some(more) = own.strip_suffix('\\') {
            logical += &format!("{more} ");
            continue;
        }
        let whole = std::mem::take(&mut logical) + own;
        let whole = whole.split_whitespace().collect::<Vec<_>>().join(" ");
        let (locals, rest) = assignments(&whole, start, around, file);
        let mut locals = locals;
        for (name, value, line) in std::mem::take(&mut passwords) {
            locals.set(&name, value, line);
        }
        let rest = rest.split(',').map(str::trim).collect::<Vec<_>>().join(",");
        let mut words = rest.split(' ').map(|word| word.trim_matches(',')).filter(|word| !word.is_empty());
        let named = locals.get("host").map(str::to_owned);
        let hosts = words.next().map(str::to_owned).into_iter().chain(named).collect::<Vec<_>>().join(",");
        if hosts.is_empty() {
            locals.0.iter().for_each(|setting| file.globals.put(setting));
            continue;
        }
        for (name, word) in ["login", "password"].into_iter().zip(words) {
            locals.set(name, word, start);
        }
        locals.add_unset(&file.globals);
        for host in hosts.split(',').filter(|host| !host.is_empty()) {
            // What the first line of a host says stays.
            let place = *places.entry(host.to_owned()).or_insert(all.len());
            if place == all.len() {
                all.push((host.to_owned(), start, PeerSettings::default()));
            }
            all[place].2.add_unset(&locals);
        }
    }
    // A global that comes later counts for what has no such value.
    for (_, _, settings) in &mut all {
        settings.add_unset(&file.globals);
    }
    Ok(all)
}

/// The settings in front of a line, and what follows them.
fn assignments<'a>(
    text: &'a str,
    line: usize,
    around: &PeerSurroundings<'_>,
    file: &mut PeerFile,
) -> (PeerSettings, &'a str) {
    let (mut settings, mut rest) = (PeerSettings::default(), text);
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        let is_name = |name: &str| {
            name.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        let Some((name, behind)) = rest.split_once('=').filter(|(name, _)| is_name(name)) else {
            return (settings, rest);
        };
        let (mut value, mut quote, mut is_escaped, mut end) = (String::new(), None, false, behind.len());
        for (at, letter) in behind.char_indices() {
            match letter {
                _ if is_escaped => {
                    value.push(letter);
                    is_escaped = false;
                }
                '\\' => is_escaped = true,
                '\'' | '"' if quote == Some(letter) => quote = None,
                '\'' | '"' if quote.is_none() => quote = Some(letter),
                ' ' | ',' if quote.is_none() => {
                    end = at;
                    break;
                }
                _ => value.push(letter),
            }
        }
        rest = &behind[end..];
        match name.strip_suffix("_env") {
            Some(name) => match (around.variable)(&value) {
                Some(value) => settings.set(name, value, line),
                None => file.changed(line, &format!("{name}_env"), "not set: this process does not have the variable"),
            },
            None => settings.set(name, value, line),
        }
    }
}

fn section(host: &str, line: usize, mut fields: PeerSettings, file: &mut PeerFile) -> PeerSection {
    let protocol = fields.get("protocol").unwrap_or("dyndns2").to_owned();
    fields.set("host", host, line);
    fields.get("host");
    if let Some(key) =
        fields.get("dynurl").and_then(|url| url.split(['?', '&']).find_map(|part| part.strip_prefix("q=")))
    {
        let key = key.to_owned();
        fields.set("dynurl-q", key, line);
    }
    if protocol == "hetzner" && fields.get("password").is_some_and(|token| token.len() == 32) {
        let text = "taken over; but a token of 32 characters is for the old console, which was shut down: create one in the \
                    Hetzner Console";
        file.changed(fields.line("password"), "password", text);
    }
    let server = fields.get("server").unwrap_or("members.dyndns.org").to_owned();
    let script = fields.get("script").unwrap_or("/nic/update");
    let is_plain = fields.flag("ssl") == Some(false);
    if is_plain {
        file.changed(fields.line("ssl"), "ssl=no", "https for every service that has a recipe");
    }
    let services = match (protocol.as_str(), script) {
        ("dyndns2", "/nic/update") if !is_plain => vec![server.clone(), protocol],
        ("dyndns2", _) => vec![server.clone()],
        _ => vec![protocol],
    };
    // Where the table has no recipe: a server of one's own.
    let request = (services[0] == server).then(|| {
        let scheme = if is_plain { "http" } else { "https" };
        let id = format!("{scheme}://__USER__:__PASSWORD__@{server}{script}?hostname=__DOMAIN__&myip=__IP__");
        vec![
            ("id", Value::String(id)),
            ("expect", Value::string("dyndns2")),
            ("extra", credentials(&fields, "login", "password")),
        ]
    });
    let sources = Family::ALL.map(|family| source(&fields, family, file));
    if sources.iter().all(Option::is_none) {
        let why = "ddclient finds no address for it: neither `use`, `usev4` nor `usev6` is set";
        file.left_out(line, host, why);
    }
    let names = [0, 1].map(|family| sources[family].iter().map(|_| PeerName::new(host)).collect());
    let proxy = fields.get("proxy").map(|proxy| format!("http://{proxy}"));
    let ssl = fields.get("ssl_ca_file").map(Value::string);
    let [timeout, least, most] = ["timeout", "min-interval", "max-interval"].map(|name| fields.seconds(name));
    PeerSection {
        line,
        services,
        names,
        sources: sources.map(|source| source.into_iter().collect()),
        settings: way(proxy, ssl, timeout, least, most),
        request,
        fields,
    }
}

/// Where the address of a family comes from; nothing where it is off.
fn source(fields: &PeerSettings, family: Family, file: &mut PeerFile) -> Option<String> {
    let version = ["v4", "v6"][family.index()];
    let own = format!("use{version}");
    let (setting, written) = match (fields.get(&own), family) {
        (Some(word), _) => (own.as_str(), word),
        (None, Family::V4) => ("use", fields.get("use").filter(|_| fields.get("usev6").is_none())?),
        _ => return None,
    };
    let line = fields.line(setting);
    let word = written.strip_suffix(version).unwrap_or(written);
    let part = |name: &str| fields.get(&format!("{name}{version}")).or_else(|| fields.get(name)).map(str::to_owned);
    if setting == "usev4" && word == written && word != "disabled" {
        file.changed(line, &format!("usev4={written}"), format!("taken as `{written}v4`, which it should be"));
    }
    if setting == "use" && word == "web" {
        let text = "`ipv4`; ddclient takes whichever address the page shows, so add `ipv6` if you need it";
        file.changed(line, "use=web", text);
    }
    let with_scheme =
        |page: &str, scheme: &str| if page.contains("://") { page.to_owned() } else { format!("{scheme}://{page}") };
    Some(match word {
        "disabled" | "no" => return None,
        "web" => match part("web") {
            Some(url) if url.contains(['.', '/']) && !url.ends_with("-ipv4") && !url.ends_with("-ipv6") => {
                page(&with_scheme(&url, if fields.flag("ssl") == Some(false) { "http" } else { "https" }))
            }
            _ => "public".to_owned(),
        },
        "if" => match part("if") {
            Some(name) => format!("interface:{name}"),
            None if setting == "use" => "interface:ppp0".to_owned(),
            None => "default".to_owned(),
        },
        "cmd" => format!("shell:{}", part("cmd")?),
        "ip" => format!("shell:echo {}", part("ip")?),
        "fw" => {
            let url = with_scheme(&part("fw")?, "http");
            match (fields.get("fw-login"), fields.get("fw-password")) {
                (Some(user), Some(password)) => {
                    format!(
                        "url:{}",
                        url.replacen("://", &format!("://{}:{}@", percent_encoded(user), percent_encoded(password)), 1)
                    )
                }
                _ => format!("url:{url}"),
            }
        }
        _ => {
            let text = "`public`; ddns does not read the status pages of routers";
            file.changed(line, &format!("{setting}={written}"), text);
            "public".to_owned()
        }
    })
}
