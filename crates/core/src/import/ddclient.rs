//! Reads the configuration of ddclient: its hosts, and the settings of each.

use std::collections::HashMap;
use std::rc::Rc;

use regex_lite::Regex;

use super::cursor::TextCursor;
use super::entries::MAX_DOMAINS;
use super::settings::{NotePart, PeerError, PeerFile, PeerInput, PeerSettings, PeerSurroundings};

#[cfg(test)]
mod tests;

/// Cuts a password out of its line before anything else is parsed, because it may contain any character.
const PASSWORD: &str = r"^([^#]*\s)?([^#]*?password)\s*=\s*('.*'|[^'\s]\S*)(.*)$";

pub(super) fn read(input: &PeerInput<'_>, file: &mut PeerFile) -> Result<(), PeerError> {
    let around = input.around;
    let pattern = Regex::new(PASSWORD).map_err(|_| PeerError::new(0, "it cannot be read"))?;
    let mut places = HashMap::<String, usize>::new();
    let (mut logical, mut start, mut passwords) = (String::new(), 0, Vec::<(String, String, usize)>::new());
    for (line, physical) in input.text.lines().enumerate().map(|(place, line)| (place + 1, line)) {
        let mut own = physical.trim_end_matches('\r').to_owned();
        if let Some(found) = pattern.captures(&own) {
            let part = |place| found.get(place).map_or("", |part| part.as_str());
            let (key, value) = (part(2).trim_start(), part(3));
            let value = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')).unwrap_or(value);
            let name = key.rsplit(',').next().unwrap_or(key);
            if value.starts_with('"') && !value.trim_end_matches(',').ends_with('"') {
                let why = "begins with a double quote, so ddclient ends it at the space and takes the rest for a host; put single \
                           quotes ('…') around it";
                return Err(PeerError::new(line, format!("`{name}` {why}")));
            }
            if part(3).ends_with(',') {
                let text = "taken over with the comma at its end, as ddclient reads it; if the comma is not part of it, put a \
                            space before the comma, or quotes ('…') around the password, and import again";
                file.note(NotePart::Changed, line, name, text);
            }
            if name != key {
                let text = "taken as it was meant; ddclient itself needs a space before it";
                file.note(NotePart::Changed, line, name, text);
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
        let (mut locals, rest) = assignments(&whole, start, around, file);
        for (name, value, line) in std::mem::take(&mut passwords) {
            locals.set(&name, value, line);
        }
        let rest = rest.split(',').map(str::trim).collect::<Vec<_>>().join(",");
        let mut words = rest.split(' ').map(|word| word.trim_matches(',')).filter(|word| !word.is_empty());
        let hosts = [words.next(), locals.get("host")].into_iter().flatten().collect::<Vec<_>>().join(",");
        if hosts.is_empty() {
            locals.0.values().for_each(|setting| file.globals.put(setting));
            continue;
        }
        for (name, word) in ["login", "password"].into_iter().zip(words) {
            locals.set(name, word, start);
        }
        locals.add_unset(&file.globals);
        for host in hosts.split(',').filter(|host| !host.is_empty()) {
            // The first line of a host wins.
            let place = *places.entry(host.to_owned()).or_insert(file.sections.len());
            if place == file.sections.len() {
                file.add(start, PeerSettings::default());
                file.sections[place].fields.give("host", host);
            }
            note_lost(place, host, &locals, file);
            file.sections[place].fields.add_unset(&locals);
            if file.sections.len() > MAX_DOMAINS {
                return Err(PeerError::new(
                    start,
                    format!("it names more than {MAX_DOMAINS} hosts; an import takes {MAX_DOMAINS} at most"),
                ));
            }
        }
    }
    if file.sections.is_empty() {
        return Err(PeerError::new(0, "it names no host"));
    }
    // The Debian package sets the interval in this file.
    let defaults = Some("/etc/default/ddclient")
        .filter(|_| around.file == "/etc/ddclient.conf" && file.globals.get("daemon").is_none());
    let defaults = defaults.and_then(|path| (around.read)(path).ok()).unwrap_or_default();
    if let Some(every) = defaults.lines().find_map(|line| line.trim().strip_prefix("daemon_interval=")) {
        file.globals.give("daemon", every.trim_matches(['"', '\'']));
    }
    // A later global setting applies to hosts without that setting.
    file.sections.iter_mut().for_each(|section| section.fields.add_unset(&file.globals));
    Ok(())
}

/// Notes the settings in a later line of a host that ddclient ignores, because the first line wins.
fn note_lost(place: usize, host: &str, later: &PeerSettings, file: &mut PeerFile) {
    for setting in later.0.values().filter(|setting| setting.name != "host") {
        let Some(known) = file.sections[place].fields.find(&setting.name) else { continue };
        if Rc::ptr_eq(known, setting) {
            continue;
        }
        let (line, is_same) = (known.line, known.value == setting.value);
        setting.is_used.set(true);
        if !is_same {
            let text = format!("as ddclient does, ignored for {host}: line {line} comes first");
            file.note(NotePart::Dropped, setting.line, &setting.name, text);
        }
    }
}

/// The settings at the beginning of a line, and the rest of the line.
fn assignments<'a>(
    text: &'a str,
    line: usize,
    around: &PeerSurroundings<'_>,
    file: &mut PeerFile,
) -> (PeerSettings, &'a str) {
    let (mut settings, mut at) = (PeerSettings::default(), TextCursor::new(text));
    loop {
        at.take_while(|letter| matches!(letter, ' ' | ','));
        let is_name = |name: &str| {
            name.starts_with(|letter: char| letter.is_ascii_alphabetic())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        let Some((name, _)) = at.rest.split_once('=').filter(|(name, _)| is_name(name)) else {
            return (settings, at.rest);
        };
        at.skip(name.len() + 1);
        let value = at.word(" ,", "*").map_or_else(|rest| rest, Option::unwrap_or_default);
        match name.strip_suffix("_env").map(|own| (own, (around.variable)(&value))) {
            Some((own, Some(value))) => settings.set(own, value, line),
            Some((own, None)) => {
                file.note(NotePart::Changed, line, name, "not set: this process does not have the variable");
                // Empty: the value of another host may be the secret of another service.
                settings.set(own, "", line);
                settings.give(name, value);
            }
            None => settings.set(name, value, line),
        }
    }
}
