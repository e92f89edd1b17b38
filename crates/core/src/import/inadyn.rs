//! The configuration of inadyn, in the grammar of libconfuse.

use super::cursor::TextCursor;
use super::settings::{
    NotePart, PeerError, PeerFile, PeerName, PeerSection, PeerSettings, PeerSurroundings, credentials, of_family, page,
    way,
};
use super::table::PeerTable;
use crate::text::json::Value;

#[cfg(test)]
mod tests;

/// No include is deeper.
const MAX_DEPTH: usize = 10;

/// Answers of a server of one's own that mean success.
const RESPONSES: &str = "OK,good,true,updated,success,nochg";

/// A `provider` or a `custom`.
struct TitledSection {
    is_custom: bool,
    title: String,
    line: usize,
    settings: PeerSettings,
}

#[derive(Debug, PartialEq)]
enum ConfuseToken {
    Mark(char),
    Word(String),
}

struct ConfuseReader<'a> {
    around: &'a PeerSurroundings<'a>,
    file: &'a mut PeerFile,
    sections: Vec<TitledSection>,
}

/// Reads a file.
pub(super) fn read(
    text: &str,
    around: &PeerSurroundings<'_>,
    file: &mut PeerFile,
    table: PeerTable,
) -> Result<(), PeerError> {
    let mut reader = ConfuseReader { around, file, sections: Vec::new() };
    let globals = reader.block(&mut TextCursor::new(text), 0, false)?;
    let sections = reader.sections;
    file.every(Some(globals.seconds("period").unwrap_or(120).clamp(30, 864_000)));
    for section in sections {
        let section = self::section(section, &globals, table, file);
        file.sections.push(section);
    }
    file.globals = globals;
    Ok(())
}

impl ConfuseReader<'_> {
    fn token(&self, at: &mut TextCursor<'_>) -> Result<Option<ConfuseToken>, PeerError> {
        loop {
            match at.peek() {
                None => return Ok(None),
                Some('#') => drop(at.skip_behind("\n")),
                Some('/') if at.rest.starts_with("//") => drop(at.skip_behind("\n")),
                Some('/') if at.rest.starts_with("/*") => drop(at.skip_behind("*/")),
                // A bare `*` is dropped without a word there, and so it is here.
                Some(letter) if letter.is_whitespace() || letter == '*' => drop(at.take()),
                Some(quote @ ('"' | '\'')) => {
                    at.take();
                    return self.quoted(at, quote).map(|word| Some(ConfuseToken::Word(word)));
                }
                Some('{' | '}' | '(' | ')' | '=' | '+' | ',') => return Ok(at.take().map(ConfuseToken::Mark)),
                Some('$') if at.rest.starts_with("${") => {
                    return Ok(Some(ConfuseToken::Word(self.with_variables(at.skip_behind("}")))));
                }
                Some(_) => {
                    let word = at.take_while(|letter| !letter.is_whitespace() && !"#\"'={}()+,*".contains(letter));
                    return Ok(Some(ConfuseToken::Word(word.to_owned())));
                }
            }
        }
    }

    fn quoted(&self, at: &mut TextCursor<'_>, quote: char) -> Result<String, PeerError> {
        let (start, mut text) = (at.line, String::new());
        loop {
            match (at.take(), quote) {
                (None, _) => return Err(PeerError::new(start, "a quote is not closed")),
                (Some(letter), _) if letter == quote => break,
                (Some('\\'), '\'') if !at.rest.starts_with(['\\', '\'']) => text.push('\\'),
                (Some('\\'), '\'') => text.extend(at.take()),
                (Some('\\'), _) if at.rest.starts_with(|letter: char| letter.is_digit(8)) => text.push(at.code(8, 3)),
                (Some('\\'), _) => match at.take() {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('x') => text.push(at.code(16, 2)),
                    Some('\n') => {}
                    other => text.extend(other),
                },
                (Some(letter), _) => text.push(letter),
            }
        }
        Ok(if quote == '"' { self.with_variables(&text) } else { text })
    }

    /// `${NAME}` and `${NAME:-text}`.
    fn with_variables(&self, text: &str) -> String {
        let mut parts = text.split("${");
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (inner, rest) = part.split_once('}').unwrap_or((part, ""));
            let (name, default) = inner.split_once(":-").unwrap_or((inner, ""));
            filled += &(self.around.variable)(name).unwrap_or_else(|| default.to_owned());
            filled += rest;
        }
        filled
    }

    fn word(&self, at: &mut TextCursor<'_>, what: &str) -> Result<String, PeerError> {
        match self.token(at)? {
            Some(ConfuseToken::Word(word)) => Ok(word),
            _ => Err(PeerError::new(at.line, format!("{what} is missing"))),
        }
    }

    fn mark(&self, at: &mut TextCursor<'_>, mark: char) -> Result<(), PeerError> {
        let line = at.line;
        match self.token(at)? {
            Some(ConfuseToken::Mark(found)) if found == mark => Ok(()),
            _ => Err(PeerError::new(line, format!("`{mark}` is missing"))),
        }
    }

    /// The settings up to the end of the text, or of the section.
    fn block(&mut self, at: &mut TextCursor<'_>, depth: usize, is_section: bool) -> Result<PeerSettings, PeerError> {
        let mut settings = PeerSettings::default();
        loop {
            let token = self.token(at)?;
            let line = at.line;
            let name = match token {
                None if is_section => return Err(PeerError::new(line, "a section is not closed: `}` is missing")),
                Some(ConfuseToken::Mark('}')) if is_section => return Ok(settings),
                None => return Ok(settings),
                Some(ConfuseToken::Mark(mark)) => {
                    return Err(PeerError::new(line, format!("`{mark}` is out of place")));
                }
                Some(ConfuseToken::Word(name)) => name,
            };
            match name.as_str() {
                "provider" | "custom" if !is_section => {
                    let title = self.word(at, "the name of the provider")?;
                    self.mark(at, '{')?;
                    let inner = self.block(at, depth, true)?;
                    if let Some(place) = self.sections.iter().position(|known| known.title == title) {
                        let earlier = self.sections.remove(place).line;
                        let why = "inadyn ignores it: a section of the same name follows; write `NAME:1` and `NAME:2`";
                        self.file.note(NotePart::Dropped, earlier, &title, why);
                    }
                    let section = TitledSection { is_custom: name == "custom", title, line, settings: inner };
                    self.sections.push(section);
                }
                "include" => {
                    self.mark(at, '(')?;
                    let path = self.word(at, "the name of the file")?;
                    self.mark(at, ')')?;
                    self.include(&path, line, depth, &mut settings)?;
                }
                _ => {
                    let is_more = at.rest.trim_start().starts_with('+');
                    if is_more {
                        self.mark(at, '+')?;
                    }
                    self.mark(at, '=')?;
                    let mut value = self.value(at)?;
                    if let Some(known) = settings.get(&name).filter(|_| is_more) {
                        value = format!("{known},{value}");
                    }
                    settings.set(&name, value, line);
                }
            }
        }
    }

    /// A word, or a list, with commas.
    fn value(&self, at: &mut TextCursor<'_>) -> Result<String, PeerError> {
        let line = at.line;
        match self.token(at)? {
            Some(ConfuseToken::Word(word)) => Ok(word),
            Some(ConfuseToken::Mark('{')) => {
                let mut words = Vec::new();
                loop {
                    match self.token(at)? {
                        Some(ConfuseToken::Word(word)) => words.push(word),
                        Some(ConfuseToken::Mark(',')) => {}
                        Some(ConfuseToken::Mark('}')) => return Ok(words.join(",")),
                        _ => return Err(PeerError::new(at.line, "a list is not closed: `}` is missing")),
                    }
                }
            }
            _ => Err(PeerError::new(line, "a value is missing")),
        }
    }

    /// Adds what another file says; its lines are that of the include.
    fn include(&mut self, path: &str, line: usize, depth: usize, into: &mut PeerSettings) -> Result<(), PeerError> {
        if depth >= MAX_DEPTH {
            return Err(PeerError::new(line, format!("files include each other more than {MAX_DEPTH} deep")));
        }
        match (self.around.read)(path) {
            Err(why) => self.file.note(NotePart::Dropped, line, &format!("include {path}"), format!("the file {why}")),
            Ok(text) => {
                let known = self.sections.len();
                let at = &mut TextCursor::new(&text);
                let inner = self.block(at, depth + 1, false).map_err(|error| {
                    PeerError::new(line, format!("in {path}, line {}: {}", error.line, error.message))
                })?;
                inner.0.iter().for_each(|setting| into.set(&setting.name, setting.value.clone(), line));
                self.sections.iter_mut().skip(known).for_each(|section| section.line = line);
            }
        }
        Ok(())
    }
}

fn section(section: TitledSection, globals: &PeerSettings, table: PeerTable, file: &mut PeerFile) -> PeerSection {
    let TitledSection { is_custom, title, line, settings: fields } = section;
    let name = title.split(':').next().unwrap_or_default().to_lowercase();
    let plain = name.split_once('@').map_or(name.as_str(), |(_, rest)| rest);
    // inadyn takes the first provider whose name contains what was written.
    let known = table.services().find(|known| *known == plain);
    let known = known.or_else(|| table.services().find(|known| plain.len() > 3 && known.contains(plain)));
    let services = match (is_custom, fields.get("ddns-server")) {
        (true, Some(server)) => {
            vec![server.split(':').next().unwrap_or_default().to_owned(), format!("custom {title}")]
        }
        _ => vec![known.unwrap_or(plain).to_owned()],
    };
    let source = source(&fields, globals);
    let is_v6 = name.starts_with("ipv6@") || name == "default@dynv6.com" || {
        let is_allowed = globals.flag("allow-ipv6") == Some(true);
        let labels = || source.split(['/', '.', ':', ' ']);
        let is_v6 = labels().any(|part| matches!(part, "-6" | "inet6" | "ipv6" | "ip6" | "v6" | "dns64"));
        if is_allowed && !is_v6 && source != "public" {
            file.changed(line, "allow-ipv6", "`ipv4`; inadyn takes whichever address it finds, IPv6 first");
        }
        is_allowed && is_v6
    };
    let is_id = |host: &&str| host.len() == 32 && host.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hosts = fields.get("hostname").unwrap_or_default().split(',').map(str::trim).filter(|host| !host.is_empty());
    if hosts.clone().any(|host| is_id(&host)) {
        file.left_out(line, &title, "`hostname` is the id of a record; ddns needs the name of the domain");
    }
    let hosts = hosts.filter(|host| !is_id(host));
    let names = of_family(is_v6, hosts.map(PeerName::new).collect());
    let sources = of_family(is_v6, vec![source]);
    let secure = globals.flag("secure-ssl") == Some(false);
    let ssl = globals.get("ca-trust-file").map(Value::string).or_else(|| secure.then_some(Value::Bool(false)));
    let request = is_custom.then(|| request(&fields)).flatten();
    let settings = way(None, ssl, None, None, globals.seconds("forced-update"));
    PeerSection { line, services, fields, names, sources, settings, request }
}

fn source(fields: &PeerSettings, globals: &PeerSettings) -> String {
    let interface = || fields.get("iface").or_else(|| globals.get("iface")).map(|name| format!("interface:{name}"));
    let server = || {
        let server = fields.get("checkip-server").filter(|server| *server != "default")?;
        let scheme = if fields.flag("checkip-ssl") == Some(false) { "http" } else { "https" };
        Some(page(&format!("{scheme}://{server}{}", fields.get("checkip-path").unwrap_or("/"))))
    };
    let command = fields.get("checkip-command").map(|command| format!("shell:{command}"));
    command.or_else(interface).or_else(server).unwrap_or_else(|| "public".to_owned())
}

/// The request of a `custom` section.
fn request(fields: &PeerSettings) -> Option<Vec<(&'static str, Value)>> {
    let scheme = if fields.flag("ssl") == Some(false) { "http" } else { "https" };
    let mut path = fields.get("ddns-path").unwrap_or("/").to_owned();
    if !path.contains('%') {
        path += if fields.flag("append-myip") == Some(true) { "%i" } else { "%h" };
    }
    let marks = [("%u", "__USER__"), ("%p", "__PASSWORD__"), ("%h", "__DOMAIN__"), ("%i", "__IP__"), ("%%", "%")];
    for (mark, name) in marks {
        path = path.replace(mark, name);
    }
    let responses = fields.get("ddns-response").unwrap_or(RESPONSES).split(',').map(regex_lite::escape);
    let accept = format!("(?i){}", responses.collect::<Vec<_>>().join("|"));
    let id = format!("{scheme}://__USER__:__PASSWORD__@{}{path}", fields.get("ddns-server")?);
    let accept = Value::object([("accept", Value::String(accept))]);
    Some(vec![("id", Value::String(id)), ("expect", accept), ("extra", credentials(fields, "username", "password"))])
}
