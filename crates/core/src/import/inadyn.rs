//! Reads the configuration of inadyn, which has the grammar of libconfuse.

use super::cursor::TextCursor;
use super::settings::{NotePart, PeerError, PeerFile, PeerInput, PeerSection, PeerSettings, PeerSurroundings};

#[cfg(test)]
mod tests;

/// Includes must not be nested deeper.
const MAX_DEPTH: usize = 10;

/// Each may include others: without a limit, ten levels of them are millions.
const MAX_INCLUDES: usize = 100;

/// About a letter that hardly means what it should.
const UNQUOTED: &str = "outside of quotes, inadyn drops `*` and keeps `;`: put quotes (\"…\") around the value itself";

#[derive(Debug, PartialEq)]
enum ConfuseToken {
    Mark(char),
    Word(String),
}

struct ConfuseReader<'a> {
    around: &'a PeerSurroundings<'a>,
    file: &'a mut PeerFile,
    includes: usize,
}

pub(super) fn read(input: &PeerInput<'_>, file: &mut PeerFile) -> Result<(), PeerError> {
    let reader = &mut ConfuseReader { around: input.around, file, includes: 0 };
    let globals = reader.block(&mut TextCursor::new(input.text), 0, false)?;
    file.globals = globals;
    for section in &mut file.sections {
        let title = section.fields.get("title").unwrap_or_default();
        let name = title.split(':').next().unwrap_or_default().to_lowercase();
        let plain = name.split_once('@').map_or(name.as_str(), |(_, rest)| rest);
        // Like inadyn, take the first provider whose name contains the title.
        let known = input.table.services().find(|known| *known == plain);
        let is_meant = |known: &str| plain.len() > 3 && known.contains(plain) || known.split('.').next() == Some(plain);
        let known = known.or_else(|| input.table.services().find(|known| is_meant(known)));
        section.fields.give("service", known.unwrap_or(plain));
        section.fields.give("name", name.as_str());
        // An empty text is in every response.
        if section.fields.find("ddns-response").is_some_and(|setting| setting.value.is_empty()) {
            section.fields.give("any-response", "yes");
        }
        section.fields.add_unset(&file.globals);
        // A copied file may name a certificate that exists only on the other host.
        let ca = section.fields.find("ca-trust-file").map(|setting| setting.value.clone());
        if let Some(ca) = ca.filter(|ca| (input.around.read)(ca).is_ok()) {
            let _ = section.fields.get("ca-trust-file");
            section.fields.give("ca", ca);
        }
    }
    Ok(())
}

fn missing<T>(line: usize, what: &str) -> Result<T, PeerError> {
    Err(PeerError::new(line, format!("{what} is missing")))
}

impl ConfuseReader<'_> {
    fn token(&mut self, at: &mut TextCursor<'_>) -> Result<Option<ConfuseToken>, PeerError> {
        let word = |word| Ok(Some(ConfuseToken::Word(word)));
        loop {
            let line = at.line;
            match at.peek() {
                None => return Ok(None),
                Some('#') => drop(at.skip_behind("\n")),
                Some('/') if at.rest.starts_with("//") => drop(at.skip_behind("\n")),
                Some('/') if at.rest.starts_with("/*") => drop(at.skip_behind("*/")),
                Some('*') => {
                    at.take();
                    self.file.note(NotePart::Changed, line, "`*`", UNQUOTED);
                }
                Some(letter) if letter.is_whitespace() => drop(at.take()),
                Some(quote @ ('"' | '\'')) => {
                    at.take();
                    // `\$` is no variable: a NUL stands for it until these are replaced.
                    let text = at.quoted(quote, if quote == '"' { "ntx01234567\n$*" } else { "\\'" });
                    let text = text.map_err(|_| PeerError::new(line, "a quote is not closed"))?;
                    return word(if quote == '"' { self.with_variables(&text).replace('\0', "$") } else { text });
                }
                Some('{' | '}' | '(' | ')' | '=' | '+' | ',') => return Ok(at.take().map(ConfuseToken::Mark)),
                Some('$') if at.rest.starts_with("${") => return word(self.with_variables(at.skip_behind("}"))),
                Some(_) => {
                    let bare = at.take_while(|letter| !letter.is_whitespace() && !"#\"'={}()+,*".contains(letter));
                    if bare.ends_with(';') {
                        self.file.note(NotePart::Changed, line, "`;`", UNQUOTED);
                    }
                    return word(bare.to_owned());
                }
            }
        }
    }

    /// Replaces `${NAME}` and `${NAME:-default}` by the values of variables.
    fn with_variables(&self, text: &str) -> String {
        let mut parts = text.split("${");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |filled, part| {
            let (inner, rest) = part.split_once('}').unwrap_or((part, ""));
            let (name, default) = inner.split_once(":-").unwrap_or((inner, ""));
            filled + &(self.around.variable)(name).unwrap_or_else(|| default.to_owned()) + rest
        })
    }

    fn word(&mut self, at: &mut TextCursor<'_>, what: &str) -> Result<String, PeerError> {
        match self.token(at)? {
            Some(ConfuseToken::Word(word)) => Ok(word),
            _ => missing(at.line, what),
        }
    }

    fn mark(&mut self, at: &mut TextCursor<'_>, mark: char) -> Result<(), PeerError> {
        let line = at.line;
        if self.token(at)? == Some(ConfuseToken::Mark(mark)) { Ok(()) } else { missing(line, &format!("`{mark}`")) }
    }

    /// Reads the settings up to the end of the text or section.
    fn block(&mut self, at: &mut TextCursor<'_>, depth: usize, is_section: bool) -> Result<PeerSettings, PeerError> {
        let mut settings = PeerSettings::default();
        loop {
            let token = self.token(at)?;
            let line = at.line;
            let name = match token {
                None if is_section => return missing(line, "a section is not closed: `}`"),
                None => return Ok(settings),
                Some(ConfuseToken::Mark('}')) if is_section => return Ok(settings),
                Some(ConfuseToken::Mark(mark)) => {
                    return Err(PeerError::new(line, format!("`{mark}` is out of place")));
                }
                Some(ConfuseToken::Word(name)) => name,
            };
            match name.as_str() {
                "provider" | "custom" if !is_section => {
                    let title = self.word(at, "the name of the provider")?;
                    self.mark(at, '{')?;
                    let mut fields = self.block(at, depth, true)?;
                    let is_same = |known: &PeerSection| known.fields.get("title") == Some(&title);
                    for earlier in self.file.sections.extract_if(.., |known| is_same(known)).collect::<Vec<_>>() {
                        let why = "inadyn ignores it: a section of the same name follows; write `NAME:1` and `NAME:2`";
                        self.file.note(NotePart::Dropped, earlier.line, &title, why);
                    }
                    fields.give("title", title);
                    fields.give("kind", name);
                    self.file.add(line, fields);
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
                        value = format!("{known}\n{value}");
                    }
                    settings.set(&name, value, line);
                }
            }
        }
    }

    /// A word, or the words of a list, each on a line.
    fn value(&mut self, at: &mut TextCursor<'_>) -> Result<String, PeerError> {
        let line = at.line;
        match self.token(at)? {
            Some(ConfuseToken::Word(word)) => return Ok(word),
            Some(ConfuseToken::Mark('{')) => {}
            _ => return missing(line, "a value"),
        }
        let mut words = Vec::new();
        loop {
            match self.token(at)? {
                Some(ConfuseToken::Word(word)) => words.push(word),
                Some(ConfuseToken::Mark(',')) => {}
                Some(ConfuseToken::Mark('}')) => return Ok(words.join("\n")),
                _ => return missing(at.line, "a list is not closed: `}`"),
            }
        }
    }

    /// Adds the settings and sections of another file. They get the line of the include.
    fn include(&mut self, path: &str, line: usize, depth: usize, into: &mut PeerSettings) -> Result<(), PeerError> {
        if depth >= MAX_DEPTH {
            return Err(PeerError::new(line, format!("files include each other more than {MAX_DEPTH} deep")));
        }
        self.includes += 1;
        if self.includes > MAX_INCLUDES {
            return Err(PeerError::new(line, format!("more than {MAX_INCLUDES} files are included")));
        }
        let text = match (self.around.read)(path) {
            Ok(text) => text,
            Err(why) => {
                self.file.note(NotePart::Dropped, line, &format!("include {path}"), format!("the file {why}"));
                return Ok(());
            }
        };
        let (known, notes) = (self.file.sections.len(), self.file.notes.len());
        let inner = self.block(&mut TextCursor::new(&text), depth + 1, false);
        let inner = inner.map_err(|error| error.within(line, path))?;
        inner.0.values().for_each(|setting| into.set(&setting.name, setting.value.clone(), line));
        self.file.sections.iter_mut().skip(known).for_each(|section| section.line = line);
        for note in self.file.notes.split_off(notes) {
            self.file.note(note.part, line, &note.what, note.text);
        }
        Ok(())
    }
}
