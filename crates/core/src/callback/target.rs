//! Where a request goes: `endpoint` and `id` made one address (B1 to B5), and which parts of it may be seen (G2).

use super::template::{Piece, Template, Values, Variable, Variables};
use crate::net::url::{Url, UrlError, percent_decode, push_kept, push_value, split_scheme};
use crate::text::secrets::MASK;

/// A literal of so many characters in the path may be a key.
const LONG_SEGMENT: usize = 16;

/// Whether a segment of a path is so long that it may be a key.
pub fn is_long(segment: &str) -> bool {
    segment.chars().count() >= LONG_SEGMENT
}

/// The address of a callback, placeholders and all. Refuses to hold anything that is no http or https address.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    template: Template,
}

/// Why `endpoint` and `id` make no address. Each is a sentence that goes on from the field's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetError {
    /// Both are empty (B1).
    Empty,
    /// `id` is relative and there is no `endpoint`; the likely address, masked (B5).
    Relative(String),
    /// `endpoint` is wrong.
    Endpoint(UrlError),
    /// `id` is wrong.
    Id(UrlError),
}

impl Target {
    /// Merges the two (B3 to B5). Placeholders of `id` that have no value are added to `unknown`.
    pub fn new(
        endpoint: &str,
        id: &str,
        variables: &Variables,
        unknown: &mut Vec<String>,
    ) -> Result<Self, TargetError> {
        let (endpoint, id) = (endpoint.trim(), id.trim());
        let id_template = Template::parse(id, variables, unknown);
        if split_scheme(id).is_some() {
            return Self::checked(id_template.pieces).map_err(TargetError::Id);
        }
        if endpoint.is_empty() {
            return Err(if id.is_empty() { TargetError::Empty } else { TargetError::Relative(likely(&id_template)) });
        }
        Url::parse(endpoint).map_err(TargetError::Endpoint)?;
        // From here on `endpoint` is a literal: it is never substituted (C2).
        let endpoint = endpoint.split('#').next().unwrap_or_default();
        let (base, base_query) = match endpoint.split_once('?') {
            Some((base, query)) => (base, Some(query)),
            None => (endpoint, None),
        };
        let (mut path, id_query) = split_query(id_template.pieces);
        if path.is_empty() {
            path.push(Piece::Literal(base.to_owned()));
        } else {
            if let Some(Piece::Literal(first)) = path.first_mut() {
                *first = first.trim_start_matches('/').to_owned();
            }
            path.insert(0, Piece::Literal(format!("{}/", base.trim_end_matches('/'))));
        }
        let query = match (base_query, id_query) {
            (None, query) => query,
            (Some(base), None) => Some(vec![Piece::Literal(base.to_owned())]),
            (Some(base), Some(mut query)) => {
                let and = if base.is_empty() || base.ends_with('&') || query.is_empty() { "" } else { "&" };
                query.insert(0, Piece::Literal(format!("{base}{and}")));
                Some(query)
            }
        };
        if let Some(query) = query {
            path.push(Piece::Literal("?".to_owned()));
            path.extend(query);
        }
        Self::checked(path).map_err(TargetError::Id)
    }

    /// Joins neighbouring literals and tries the address once with values that are possible everywhere.
    fn checked(pieces: Vec<Piece>) -> Result<Self, UrlError> {
        let mut joined: Vec<Piece> = Vec::new();
        for piece in pieces {
            match (joined.last_mut(), piece) {
                (_, Piece::Literal(text)) if text.is_empty() => {}
                (Some(Piece::Literal(before)), Piece::Literal(text)) => before.push_str(&text),
                (_, piece) => joined.push(piece),
            }
        }
        // `http://::1:9/`: which colon is the port's? (A placeholder that becomes an IPv6 address leaves no such doubt.)
        if let Some(Piece::Literal(first)) = joined.first()
            && let Some((_, rest)) = split_scheme(first)
        {
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let host = authority.rsplit('@').next().unwrap_or_default();
            if !host.starts_with('[') && host.matches(':').count() > 1 {
                return Err(UrlError::Host(host.to_owned()));
            }
        }
        // Whatever the values will be, some of these stand for them: a host may be `__IP__`, a port `__TTL__`.
        let attempts = [("192.0.2.1", "1"), ("2001:db8::1", "1"), ("192.0.2.1", "a"), ("2001:db8::1", "a")];
        let mut tried = attempts.into_iter().map(|(ip, other)| {
            let sample = joined.iter().map(|piece| match piece {
                Piece::Literal(text) => text.as_str(),
                Piece::Variable(Variable::Ip) => ip,
                Piece::Variable(_) => other,
            });
            Url::parse(&sample.collect::<String>())
        });
        let first = tried.next().unwrap_or(Err(UrlError::Relative));
        first.or_else(|error| tried.find_map(Result::ok).ok_or(error))?;
        Ok(Self { template: Template { pieces: joined } })
    }

    pub(super) fn render(&self, values: &Values<'_>) -> Result<Url, UrlError> {
        let mut text = String::new();
        self.template.render(&mut text, values, String::push_str, push_value);
        Url::parse(&text)
    }

    /// The address as [`Target::render`] makes it, but with the origin of another: for one whose masked origin is none.
    pub(super) fn render_path(&self, values: &Values<'_>, origin: &Url) -> Url {
        let mut text = String::new();
        self.template.render(&mut text, values, String::push_str, push_value);
        let rest = split_scheme(&text).map_or("", |(_, rest)| rest).split('#').next().unwrap_or_default();
        let mut path = String::new();
        push_kept(&mut path, rest.find(['/', '?']).map_or("", |at| &rest[at..]));
        if !path.starts_with('/') {
            path.insert(0, '/');
        }
        let credentials = origin.credentials.as_ref().map(|_| (MASK.to_owned(), MASK.to_owned()));
        Url { path, credentials, ..origin.clone() }
    }

    /// Whether it is an https address.
    pub fn is_secure(&self) -> bool {
        self.template
            .literals()
            .next()
            .is_some_and(|text| text.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("https:")))
    }

    /// The address up to its first placeholder, where host and port stand before that.
    pub fn fixed_part(&self) -> Option<Url> {
        let Some(Piece::Literal(first)) = self.template.pieces.first() else { return None };
        let (_, rest) = split_scheme(first)?;
        let is_whole = self.template.pieces.len() == 1 || rest.contains(['/', '?', '#']);
        is_whole.then(|| Url::parse(first).ok()).flatten()
    }

    /// What the user wrote behind a `#`: never sent, so worth a warning.
    pub fn has_fragment(&self) -> bool {
        self.template.literals().any(|text| text.contains('#'))
    }

    pub(super) fn masked(&self) -> Self {
        let pieces = walk(&self.template.pieces, |part, text| match part {
            Part::Plain => text.to_owned(),
            Part::Secret => MASK.to_owned(),
        });
        Self { template: Template { pieces } }
    }

    /// What the user typed that must not be seen.
    pub fn literals(&self, into: &mut Vec<String>) {
        walk(&self.template.pieces, |part, text| {
            if part == Part::Secret {
                // As written, as it is sent, and as it was meant: any of them may come back in an answer.
                let mut sent = String::new();
                push_kept(&mut sent, text);
                into.extend([text.to_owned(), percent_decode(text), sent]);
            }
            String::new()
        });
        if let Some((user, password)) = self.credentials() {
            into.extend([format!("{user}:{password}"), user, password]);
        }
    }

    /// User and password, decoded, where they are literal.
    fn credentials(&self) -> Option<(String, String)> {
        let Some(Piece::Literal(first)) = self.template.pieces.first() else { return None };
        Url::parse(first).ok()?.credentials
    }

    pub(super) fn describe(&self, into: &mut String) {
        self.template.describe(into);
    }
}

/// The pieces before and after the first `?`.
fn split_query(pieces: Vec<Piece>) -> (Vec<Piece>, Option<Vec<Piece>>) {
    let mut path = Vec::new();
    let mut query: Option<Vec<Piece>> = None;
    for piece in pieces {
        match (&mut query, piece) {
            (Some(query), piece) => query.push(piece),
            (None, Piece::Literal(text)) => match text.split_once('?') {
                Some((before, after)) => {
                    path.push(Piece::Literal(before.to_owned()));
                    query = Some(vec![Piece::Literal(after.to_owned())]);
                }
                None => path.push(Piece::Literal(text)),
            },
            (None, piece) => path.push(piece),
        }
    }
    path.retain(|piece| !matches!(piece, Piece::Literal(text) if text.is_empty()));
    (path, query)
}

/// The address that a relative `id` probably means, fit to be shown.
fn likely(id: &Template) -> String {
    let mut pieces = id.pieces.clone();
    let starts_with_host = matches!(pieces.first(), Some(Piece::Literal(text))
        if !text.starts_with(['/', '?', '.']) && text.split(['/', '?']).next().is_some_and(is_likely_host));
    let prefix = if starts_with_host { "https://" } else { "https://your-host.example/" };
    if let Some(Piece::Literal(first)) = pieces.first_mut() {
        *first = format!("{prefix}{}", first.trim_start_matches('/'));
    } else {
        pieces.insert(0, Piece::Literal(prefix.to_owned()));
    }
    let masked = walk(&pieces, |part, text| if part == Part::Plain { text.to_owned() } else { MASK.to_owned() });
    let shown = masked.iter().map(|piece| match piece {
        Piece::Literal(text) => text.as_str(),
        Piece::Variable(variable) => variable.name(),
    });
    shown.collect()
}

/// What may be shown of an `id` as it was written: placeholders by their names, what may be a key masked.
pub fn outline(id: &str, variables: &Variables) -> String {
    masked_outline(Template::parse(id.trim(), variables, &mut Vec::new()).pieces, variables)
}

/// The same for an `endpoint`, in which nothing is a placeholder.
pub fn outline_literal(endpoint: &str) -> String {
    masked_outline(vec![Piece::Literal(endpoint.trim().to_owned())], &Variables::default())
}

fn masked_outline(mut pieces: Vec<Piece>, variables: &Variables) -> String {
    /// What makes a whole address of a path, so that its parts can be told from each other.
    const BEFORE: &str = "http://h/";
    let is_whole = matches!(pieces.first(), Some(Piece::Literal(text)) if split_scheme(text).is_some());
    if !is_whole {
        pieces.insert(0, Piece::Literal(BEFORE.to_owned()));
        // Who forgot the scheme may have written user and password all the same.
        let mut front = pieces.iter().map(|piece| if let Piece::Literal(text) = piece { text } else { "" });
        let path: String = front.by_ref().skip(1).collect();
        if path.split(['/', '?', '#']).next().is_some_and(|first| first.contains('@')) {
            return MASK.to_owned();
        }
        if let [Piece::Literal(before), Piece::Literal(text), ..] = &mut pieces[..] {
            before.push_str(text);
            pieces.remove(1);
        }
    }
    let masked = walk(&pieces, |part, text| if part == Part::Plain { text.to_owned() } else { MASK.to_owned() });
    let shown: String = masked
        .iter()
        .map(|piece| match piece {
            Piece::Literal(text) => text.as_str(),
            Piece::Variable(variable) => variables.name_of(*variable),
        })
        .collect();
    if is_whole { shown } else { shown.strip_prefix(BEFORE).unwrap_or(MASK).to_owned() }
}

/// A host rather than a key: short labels with a dot or a port.
fn is_likely_host(text: &str) -> bool {
    text.contains(['.', ':']) && text.split(['.', ':']).all(|label| label.len() < LONG_SEGMENT)
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// May be seen: scheme, host, port, short path segments, names of parameters, punctuation.
    Plain,
    /// May be a key: user and password, long path segments, values of parameters.
    Secret,
}

#[derive(Clone, Copy, PartialEq)]
enum Zone {
    Authority,
    Path,
    Name,
    Value,
    Fragment,
}

/// Goes through the literals of an address in order and replaces each run by what `replace` makes of it. Placeholders
/// stay where they are.
fn walk(pieces: &[Piece], mut replace: impl FnMut(Part, &str) -> String) -> Vec<Piece> {
    let mut zone = Zone::Authority;
    let mut ats = ats_of_credentials(pieces);
    let mut result = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let Piece::Literal(text) = piece else {
            result.push(piece.clone());
            continue;
        };
        let mut out = String::new();
        let mut rest = text.as_str();
        if index == 0
            && let Some((scheme, after)) = split_scheme(text)
        {
            out += &replace(Part::Plain, &format!("{scheme}://"));
            rest = after;
        }
        while !rest.is_empty() {
            let ends: &[char] = match zone {
                Zone::Authority if ats > 0 => &[':', '@'],
                Zone::Authority | Zone::Path => &['/', '?', '#'],
                Zone::Name => &['=', '&', '#'],
                Zone::Value => &['&', '#'],
                Zone::Fragment => &[],
            };
            let length = rest.find(ends).unwrap_or(rest.len());
            let (run, after) = rest.split_at(length);
            // A parameter without `=` is all value.
            let bare = zone == Zone::Name && !after.starts_with('=') && !(after.is_empty() && index + 1 < pieces.len());
            let secret = match zone {
                Zone::Authority => ats > 0,
                Zone::Path => is_long(run),
                Zone::Name => bare,
                Zone::Value | Zone::Fragment => true,
            };
            if !run.is_empty() {
                out += &replace(if secret { Part::Secret } else { Part::Plain }, run);
            }
            let Some(mark) = after.chars().next() else { break };
            match (zone, mark) {
                (Zone::Authority, '@') => ats = ats.saturating_sub(1),
                (Zone::Authority | Zone::Path, '/') => zone = Zone::Path,
                (Zone::Authority | Zone::Path, '?') | (Zone::Value | Zone::Name, '&') => zone = Zone::Name,
                (Zone::Name, '=') => zone = Zone::Value,
                (_, '#') => zone = Zone::Fragment,
                _ => {}
            }
            out += &replace(Part::Plain, &mark.to_string());
            rest = &after[mark.len_utf8()..];
        }
        result.push(Piece::Literal(out));
    }
    result
}

/// How many `@` stand before the path begins: the last one ends the credentials.
fn ats_of_credentials(pieces: &[Piece]) -> usize {
    let text: String = pieces.iter().map(|piece| if let Piece::Literal(text) = piece { text } else { "x" }).collect();
    let authority = split_scheme(&text).map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    authority.matches('@').count()
}
