//! The services and settings of other clients, and what they mean for ddns, as data (L18). Each client has a table:
//!
//! ```text
//! ~ PATTERN && PATTERN               what a file of the client has: each of the patterns, of one row
//! * user=login                      what the questions of all recipes are called in the file
//! NAME,NAME [?GUARD] RECIPE [Q=V…]  services, the recipe (`=`: of the same name), and what its questions are called
//! NAME [?GUARD] - WHY               services without a recipe
//! : NAME[=DEFAULT],… WHY            settings that are not taken over; `*`: whatever they say, nobody misses them
//! > KEY [?GUARD…] TEXT [;; NOTE]    what a section means (see `rules`): of the rows of a key the first that holds
//! % MARK OURS [FIELD]               what stands in its requests, what does here, and the field that holds the value
//! @ PATH                            where its file is
//! & NAME                            what its process is called, where that tells it from others
//! ! COMMAND                         how to stop the client; `NAME` is the name of its container
//! ```
//!
//! A guard is `?field` (it is set), `?!field` (it is not set), `?+field` and `?-field` (it means yes, or no), `?field=text` (it is
//! this text) or `?field~pattern` (it matches, in any case; `{1}` is then the first group). A text may contain `{field}`, or
//! `{field|other|'text'}` for the first that is set; if none is set, the row does not apply. `$NAME` is a variable. After a colon
//! comes a change to the value (`lower`, `encoded`, `any`, `path`). A row with `<n>` means two rows, with 4 and with 6. In a row of services,
//! V is a text, or the inside of one pair of braces. There, `@` is the name that the entry is for, and `*` what follows its first
//! dot; `name=` sets that name. If a field contains several names, use `@` for an answer about each of them.

use regex_lite::Regex;

use crate::net::url::percent_encoded;

#[cfg(test)]
mod tests;

/// The words for yes and no.
const YES: &str = "1|yes|true|on|t|y";
const NO: &str = "0|no|false|off|f|n";

/// Whether a text means yes.
pub(super) fn is_yes(text: &str) -> bool {
    YES.split('|').any(|word| word.eq_ignore_ascii_case(text.trim()))
}

/// Looks up a field.
pub(super) type FieldOf<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The table of one client.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerTable(pub(super) &'static str);

/// What a table says about a service.
#[derive(Debug)]
pub(super) enum ServiceRow {
    /// The recipe, and for each question the setting with its answer.
    Recipe(&'static str, Vec<(&'static str, &'static str)>),
    /// Why there is no recipe.
    Nothing(&'static str),
}

/// A row `>`, which says what a section means.
#[derive(Debug)]
pub(super) struct MeaningRow {
    pub(super) key: String,
    guards: Vec<RowGuard>,
    text: String,
    /// The note for the report, and its mark: `;`, `-` or `!`.
    pub(super) note: Option<(char, String)>,
}

/// A condition: a field that must match a pattern, or must not be set.
#[derive(Debug)]
struct RowGuard {
    field: String,
    is_unset: bool,
    pattern: Regex,
}

impl RowGuard {
    /// The guards at the beginning of a text, and the rest.
    fn parse(mut text: &str) -> Option<(Vec<Self>, &str)> {
        let mut all = Vec::new();
        while let Some(guarded) = text.strip_prefix('?') {
            let (guard, behind) = guarded.split_once(' ').unwrap_or((guarded, ""));
            let (name, word) = guard.split_at(guard.find(['=', '~']).unwrap_or(guard.len()));
            let field = name.trim_start_matches(['!', '+', '-']);
            let pattern = match (&name[..name.len() - field.len()], word.get(..1)) {
                (_, Some("~")) => word[1..].to_owned(),
                (_, Some(_)) => format!("^{}$", regex_lite::escape(&word[1..])),
                ("+", _) => format!("^(?:{YES})$"),
                ("-", _) => format!("^(?:{NO})$"),
                _ => String::new(),
            };
            let pattern = Regex::new(&format!("(?i){pattern}")).ok()?;
            all.push(Self { field: field.to_owned(), is_unset: name.starts_with('!'), pattern });
            text = behind.trim_start();
        }
        Some((all, text))
    }

    /// The groups of the pattern if the guard holds.
    fn groups(&self, field: FieldOf<'_>) -> Option<Vec<Option<String>>> {
        match field(&self.field).filter(|value| !value.is_empty()) {
            None => self.is_unset.then(Vec::new),
            Some(_) if self.is_unset => None,
            Some(value) => {
                let groups = self.pattern.captures(&value)?;
                Some(groups.iter().map(|group| group.map(|group| group.as_str().to_owned())).collect())
            }
        }
    }
}

/// A text with the values of its fields; `None` if one of them is not set.
pub(super) fn filled(text: &str, field: FieldOf<'_>) -> Option<String> {
    let (mut all, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once('{') {
        let (inner, after) = behind.split_once('}')?;
        let (names, change) = inner.rsplit_once(':').filter(|(_, it)| !it.starts_with('/')).unwrap_or((inner, ""));
        let value = names.split('|').find_map(|name| match name.strip_prefix('\'') {
            Some(literal) => Some(literal.trim_end_matches('\'').to_owned()),
            None if name.is_empty() => Some(String::new()),
            None => field(name).filter(|value| !value.is_empty()),
        })?;
        all += before;
        all += &match change {
            "lower" => value.to_lowercase(),
            "encoded" => percent_encoded(value.as_bytes()),
            // Like inadyn, send these letters, which mean something else in a URL.
            "path" => value.replace('+', "%2b").replace('#', "%23"),
            "any" => value.lines().map(regex_lite::escape).collect::<Vec<_>>().join("|"),
            _ => value,
        };
        rest = after;
    }
    Some(all + rest)
}

impl MeaningRow {
    fn parse(row: &str) -> Option<Self> {
        let (key, rest) = row.split_once(' ')?;
        let (guards, text) = RowGuard::parse(rest.trim_start())?;
        let note = [';', '-', '!'].into_iter().find_map(|mark| Some((mark, text.split_once(&format!(";{mark} "))?)));
        let text = note.map_or(text, |(_, (text, _))| text).trim();
        let note = note.map(|(mark, (_, note))| (mark, note.to_owned()));
        Some(Self { key: key.to_owned(), guards, text: text.to_owned(), note })
    }

    /// The text and the note of the row, if all guards hold and all fields in the text are set.
    pub(super) fn holds(&self, field: FieldOf<'_>) -> Option<(String, String)> {
        let mut groups = Vec::new();
        for guard in &self.guards {
            let found = guard.groups(field)?;
            groups = if found.len() < 2 { groups } else { found };
        }
        let field = |name: &str| match name.parse::<usize>() {
            Ok(group) => groups.get(group).cloned().flatten(),
            Err(_) => field(name),
        };
        let note = self.note.as_ref().map_or("", |(_, note)| note);
        Some((filled(&self.text, &field)?, filled(note, &field).unwrap_or_default()))
    }
}

impl PeerTable {
    /// The rows that begin with a mark, without it.
    pub(super) fn lines(self, mark: &'static str) -> impl Iterator<Item = &'static str> {
        self.0.lines().filter_map(move |line| line.strip_prefix(mark)).map(str::trim)
    }

    /// The rows `>`, in order.
    pub(super) fn meanings(self) -> Vec<MeaningRow> {
        let both = |row: &str| ["4", "6"].map(|version| MeaningRow::parse(&row.replace("<n>", version)));
        let count = |row: &str| if row.contains("<n>") { 2 } else { 1 };
        self.lines("> ").flat_map(|row| both(row).into_iter().take(count(row)).flatten()).collect()
    }

    /// The rows of services: their names, and the rest.
    fn rows(self) -> impl Iterator<Item = (std::str::Split<'static, char>, &'static str)> {
        let rows = self.0.lines().filter(|line| !line.starts_with(['~', '*', ':', '!', '#', '>', '%', '@', '&']));
        rows.filter_map(|line| line.split_once(' ')).map(|(names, rest)| (names.split(','), rest.trim()))
    }

    /// The first row for a service whose guards hold.
    pub(super) fn row(self, service: &str, field: FieldOf<'_>) -> Option<ServiceRow> {
        self.rows().find_map(|(mut names, rest)| {
            let name = names.find(|known| known.eq_ignore_ascii_case(service))?;
            let (guards, rest) = RowGuard::parse(rest)?;
            if guards.iter().any(|guard| guard.groups(field).is_none()) {
                return None;
            }
            if let Some(why) = rest.strip_prefix("- ") {
                return Some(ServiceRow::Nothing(why));
            }
            let mut words = rest.split(' ').filter(|word| !word.is_empty());
            let recipe = words.next().map(|recipe| if recipe == "=" { name } else { recipe })?;
            let everywhere = self.lines("* ").flat_map(|line| line.split(' '));
            Some(ServiceRow::Recipe(recipe, words.chain(everywhere).filter_map(|word| word.split_once('=')).collect()))
        })
    }

    /// The names of all services.
    pub(super) fn services(self) -> impl Iterator<Item = &'static str> {
        self.rows().flat_map(|(names, _)| names)
    }

    /// Whether a row reads a setting, for some service.
    pub(super) fn reads(self, setting: &str) -> bool {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let rows = self.lines("> ").chain(self.lines("* ")).filter_map(|row| row.split(" ;").next());
        rows.flat_map(|row| row.split(|letter| !is_word(letter))).any(|word| word == setting)
    }

    /// Why a setting is not taken over; empty if it has its default, and `None` if the table does not mention it.
    pub(super) fn why_not(self, setting: &str, value: &str) -> Option<&'static str> {
        self.lines(": ").filter_map(|line| line.split_once(' ')).find_map(|(names, why)| {
            let mut names = names.split(',').map(|name| name.split_once('=').unwrap_or((name, "")));
            let matches = |known: &str| match known.strip_suffix('*') {
                Some(start) => setting.starts_with(start),
                None => known == setting,
            };
            let (_, default) = names.find(|(name, _)| matches(name))?;
            let is_default = value.trim().is_empty()
                || default.split('|').any(|word| word == "*" || word.eq_ignore_ascii_case(value));
            Some(if is_default { "" } else { why.trim() })
        })
    }
}
