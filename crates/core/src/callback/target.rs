//! The URL of a request, made from `endpoint` and `id` (B1 to B5).

use super::address;
use super::piece::{self, Piece, Show};
use super::template::{self, Part};
use super::variables::{Values, Variable, Variables};
use crate::journal::Endpoint;
use crate::net::url::{Url, UrlError, has_unclear_host, masked, split_authority, split_scheme, wrong_host};
use crate::text::secrets::MASK;

/// The URL of a callback, with its placeholders. Always an http or https URL.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub(super) pieces: Vec<Piece>,
    /// `None`: host or port contain a placeholder, or credentials precede them.
    base: Option<Base>,
}

/// The part that is the same in every URL of a target.
#[derive(Debug, Clone, PartialEq)]
struct Base {
    url: Url,
    /// How many bytes precede the path.
    path_at: usize,
}

/// Why `endpoint` and `id` are not a valid URL. Shown as a phrase that follows the name of the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetError {
    /// Both are empty (B1).
    Empty,
    /// `id` is relative and `endpoint` is empty; the URL that was probably meant, redacted (B5).
    Relative(Option<String>),
    /// `endpoint` is not valid.
    Endpoint(UrlError),
    /// `id` is not valid.
    Id(UrlError),
}

impl Target {
    /// Merges the two (B3 to B5). Placeholders of `id` without a value are added to `unknown`.
    pub fn new(
        endpoint: &str,
        id: &str,
        variables: &Variables,
        unknown: &mut Vec<String>,
    ) -> Result<Self, TargetError> {
        let (endpoint, id) = (endpoint.trim(), id.trim());
        let id_parts = template::parse(id, variables, unknown);
        if split_scheme(id).is_some() {
            return Self::checked(id_parts).map_err(TargetError::Id);
        }
        if endpoint.is_empty() {
            return Err(if id.is_empty() {
                TargetError::Empty
            } else {
                let likely = is_clear(id).then(|| Self::checked(address::likely(id_parts)).ok()).flatten();
                TargetError::Relative(likely.map(|likely| piece::outline(&likely.pieces, variables)))
            });
        }
        Url::parse(endpoint).map_err(TargetError::Endpoint)?;
        // From here on, `endpoint` is a literal: its placeholders are not filled in (C2).
        let endpoint = endpoint.split('#').next().unwrap_or_default();
        let (base, base_query) = match endpoint.split_once('?') {
            Some((base, query)) => (base, Some(query)),
            None => (endpoint, None),
        };
        let (mut path, id_query) = split_query(id_parts);
        if path.is_empty() {
            path.push(Part::Literal(base.to_owned()));
        } else {
            if let Some(Part::Literal(first)) = path.first_mut() {
                *first = first.trim_start_matches('/').to_owned();
            }
            path.insert(0, Part::Literal(format!("{}/", base.trim_end_matches('/'))));
        }
        let query = match (base_query, id_query) {
            (None, query) => query,
            (Some(base), None) => Some(vec![Part::Literal(base.to_owned())]),
            (Some(base), Some(mut query)) => {
                let and = if base.is_empty() || base.ends_with('&') || query.is_empty() { "" } else { "&" };
                query.insert(0, Part::Literal(format!("{base}{and}")));
                Some(query)
            }
        };
        if let Some(query) = query {
            path.push(Part::Literal("?".to_owned()));
            path.extend(query);
        }
        Self::checked(path).map_err(TargetError::Id)
    }

    /// Joins adjacent literals, and tries the URL with sample values.
    pub(super) fn checked(parts: Vec<Part>) -> Result<Self, UrlError> {
        let mut joined: Vec<Part> = Vec::new();
        for part in parts {
            match (joined.last_mut(), part) {
                (_, Part::Literal(text)) if text.is_empty() => {}
                (Some(Part::Literal(before)), Part::Literal(text)) => before.push_str(&text),
                (_, part) => joined.push(part),
            }
        }
        // `http://::1:9/`: it is unclear which colon is that of the port. (An IPv6 address from a placeholder gets brackets.)
        if let Some(Part::Literal(first)) = joined.first()
            && let Some((_, rest)) = split_scheme(first)
        {
            let (authority, _) = split_authority(rest);
            let host = authority.rsplit('@').next().unwrap_or_default();
            if !host.starts_with('[') && host.matches(':').count() > 1 {
                return Err(wrong_host(host));
            }
        }
        // The kind of the values is not known: a host may be `__IP__`, a port `__TTL__`, or both may be of `extra`. It is
        // enough if one of these attempts is valid. The last text is for what follows a colon.
        let attempts = [("1", "1"), ("a", "a"), ("a", "1")];
        let attempts = attempts.iter().flat_map(|other| [("192.0.2.1", other), ("2001:db8::1", other)]);
        let mut tried = attempts.map(|(ip, (other, port))| {
            let mut sample = String::new();
            for part in &joined {
                sample += match part {
                    Part::Literal(text) => text,
                    Part::Variable(Variable::Ip) => ip,
                    Part::Variable(_) if sample.ends_with(':') => port,
                    Part::Variable(_) => other,
                };
            }
            Url::parse(&sample)
        });
        let first = tried.next().unwrap_or(Err(UrlError::Relative));
        first.or_else(|error| tried.find_map(Result::ok).ok_or(error))?;
        let pieces = address::pieces(&joined);
        Ok(Self { base: base(&pieces), pieces })
    }

    pub(super) fn render(&self, values: &Values<'_>, show: Show) -> Result<Url, UrlError> {
        let text = piece::render(&self.pieces, values, show);
        match self.base.as_ref().and_then(|base| Some((&base.url, text.get(base.path_at..)?))) {
            Some((url, path)) => Ok(url.with_path(path)),
            None => Url::parse(&text),
        }
    }

    /// The redacted URL with the port of the sent one, for a port that is no number once it is redacted.
    pub(super) fn render_path(&self, values: &Values<'_>, sent: &Url) -> Url {
        let text = piece::render(&self.pieces, values, Show::Redacted);
        let (authority, after) = split_authority(split_scheme(&text).map_or("", |(_, rest)| rest));
        let host = authority.rsplit('@').next().and_then(|host| host.split(':').next()).unwrap_or_default();
        let host = if host.contains(MASK) { MASK.to_owned() } else { sent.host.clone() };
        let credentials = sent.credentials.as_ref().map(|_| (MASK.to_owned(), MASK.to_owned()));
        Url { host, credentials, ..sent.with_path(after) }
    }

    /// Whether it is an https URL.
    pub fn is_secure(&self) -> bool {
        let Some(Piece::Plain(start)) = self.pieces.first() else { return false };
        start.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
    }

    /// The URL up to its first placeholder; `None`: host or port contain one.
    pub fn fixed_part(&self) -> Option<Url> {
        let (start, has_host) = self.start(|_| None);
        if let Some(base) = &self.base {
            return Some(base.url.with_path(&start[base.path_at..]));
        }
        has_host.then(|| Url::parse(&start).ok()).flatten()
    }

    /// The text up to the first placeholder that has no value here, and whether host and port are in it.
    fn start(&self, value: impl Fn(Variable) -> Option<String>) -> (String, bool) {
        let text = |piece: &Piece| match piece {
            Piece::Plain(text) | Piece::Secret(_, text) => Some(text.clone()),
            Piece::Variable(_, variable) => value(*variable),
        };
        let known: Vec<String> = self.pieces.iter().map_while(text).collect();
        let (start, is_all) = (known.concat(), known.len() == self.pieces.len());
        let has_host = split_scheme(&start).is_some_and(|(_, rest)| is_all || rest.contains(['/', '?', '#']));
        (start, has_host)
    }

    /// Scheme, host and port, if they are the same for all updates.
    pub fn fixed_origin(&self, variables: &Variables) -> Option<String> {
        let (start, has_host) = self.start(|variable| variables.constant(variable));
        let (_, rest) = split_scheme(&start).filter(|_| has_host)?;
        let end = start.len() - split_authority(rest).1.len();
        Url::parse(&start[..end]).ok().map(|url| url.origin())
    }

    /// Scheme, host and port as written, with placeholders by name: the receiver of the request.
    pub fn authority(&self, variables: &Variables) -> String {
        let text = piece::outline(&self.pieces, variables);
        let (scheme, rest) = split_scheme(&text).unwrap_or(("", &text));
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        format!("{scheme}://{}", authority.rsplit('@').next().unwrap_or_default())
    }

    /// The receiver of the requests and their redacted URL.
    pub(super) fn endpoint(&self, variables: &Variables) -> Endpoint {
        Endpoint { origin: self.origin(variables), address: piece::outline(&self.pieces, variables) }
    }

    /// The receiver of the requests: the origin, or what is written in its place.
    pub fn origin(&self, variables: &Variables) -> String {
        match &self.base {
            Some(base) => base.url.origin(),
            None => self.fixed_part().map_or_else(|| self.authority(variables), |url| url.origin()),
        }
    }

    /// The placeholders before the path.
    pub(super) fn host_variables(&self) -> impl Iterator<Item = Variable> {
        let mut is_path = false;
        self.pieces.iter().filter_map(move |piece| match piece {
            Piece::Plain(text) => {
                let rest = split_scheme(text).map_or(text.as_str(), |(_, rest)| rest);
                is_path |= rest.contains(['/', '?', '#']);
                None
            }
            Piece::Variable(_, variable) if !is_path => Some(*variable),
            Piece::Variable(..) | Piece::Secret(..) => None,
        })
    }

    /// Whether the URL contains a `#`: what follows it is never sent.
    pub fn has_fragment(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Plain(text) if text.contains('#')))
    }

    /// Everything the user typed that must stay hidden.
    pub fn secrets(&self) -> Vec<String> {
        piece::secrets(self.pieces.iter())
    }
}

/// Parses the fixed part once, not for each update.
fn base(pieces: &[Piece]) -> Option<Base> {
    let Some(Piece::Plain(start)) = pieces.first() else { return None };
    let (_, rest) = split_scheme(start)?;
    let (authority, after) = split_authority(rest);
    let is_whole = !after.is_empty() || pieces.len() == 1;
    let path_at = start.len() - after.len();
    let url = Url::parse(&start[..path_at]).ok().filter(|_| is_whole && !authority.contains('@'))?;
    Some(Base { url, path_at })
}

/// An `id` as it may be shown: as written, with placeholders by name, and what may be a key redacted.
pub fn outline(id: &str, variables: &Variables) -> String {
    outline_of(id.trim(), template::parse(id.trim(), variables, &mut Vec::new()), variables)
}

/// The same for an `endpoint`, in which nothing is a placeholder.
pub fn outline_literal(endpoint: &str) -> String {
    let endpoint = endpoint.trim();
    outline_of(endpoint, vec![Part::Literal(endpoint.to_owned())], &Variables::default())
}

fn outline_of(text: &str, mut parts: Vec<Part>, variables: &Variables) -> String {
    /// Turns a path into a URL, so that its parts are recognized.
    const BEFORE: &str = "http://h/";
    let is_relative = split_scheme(text).is_none();
    if is_relative && may_be_credentials(&parts) {
        return MASK.to_owned();
    }
    if has_unclear_host(text) {
        return masked(text);
    }
    if is_relative {
        address::prepend(&mut parts, BEFORE);
    }
    let Ok(target) = Target::checked(parts) else { return masked(text) };
    let outline = piece::outline(&target.pieces, variables);
    if is_relative { outline.strip_prefix(BEFORE).unwrap_or(MASK).to_owned() } else { outline }
}

/// Whether the text may contain user and password because somebody forgot or mistyped the scheme: the first segment of
/// a path has no colon.
pub(super) fn may_be_credentials(parts: &[Part]) -> bool {
    let literals: String = parts.iter().map(|part| if let Part::Literal(text) = part { text } else { "" }).collect();
    let is_start = literals.split(['/', '?', '#']).next().is_some_and(|first| first.contains(['@', ':']));
    is_start || literals.rsplit_once('@').is_some_and(|(before, _)| before.contains(':'))
}

/// Whether the parts of a URL without a scheme can be told apart: user and password can only come first.
fn is_clear(text: &str) -> bool {
    let is_scheme = |scheme: &&str| text.starts_with(*scheme);
    let has_scheme = text.contains(":/") || ["http:", "https:", "http/", "https/"].iter().any(is_scheme);
    let is_hidden = |(before, _): (&str, &str)| before.contains(':') && before.contains(['/', '?', '#']);
    !has_scheme && !text.rsplit_once('@').is_some_and(is_hidden)
}

/// Splits at the first `?`.
fn split_query(parts: Vec<Part>) -> (Vec<Part>, Option<Vec<Part>>) {
    let mut path = Vec::new();
    let mut query: Option<Vec<Part>> = None;
    for part in parts {
        match (&mut query, part) {
            (Some(query), part) => query.push(part),
            (None, Part::Literal(text)) => match text.split_once('?') {
                Some((before, after)) => {
                    path.push(Part::Literal(before.to_owned()));
                    query = Some(vec![Part::Literal(after.to_owned())]);
                }
                None => path.push(Part::Literal(text)),
            },
            (None, part) => path.push(part),
        }
    }
    path.retain(|part| !matches!(part, Part::Literal(text) if text.is_empty()));
    (path, query)
}
