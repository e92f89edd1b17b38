//! Which parts of an address may be seen (G2): scheme, host, port, short path segments and names of parameters may; user and
//! password, long path segments, values of parameters and fragments may not.

use super::piece::{self, Piece, Position, push_plain};
use super::template::{self, Part};
use super::variables::Variables;
use crate::net::url::split_scheme;
use crate::text::secrets::MASK;

/// A literal of so many characters in the path may be a key.
const LONG_SEGMENT: usize = 16;

/// Whether a segment of a path is so long that it may be a key.
pub fn is_long(segment: &str) -> bool {
    segment.chars().count() >= LONG_SEGMENT
}

#[derive(Clone, Copy, PartialEq)]
enum Zone {
    Host,
    Path,
    Name,
    Value,
    Fragment,
}

/// Cuts an absolute address into pieces.
pub(super) fn pieces(parts: &[Part]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut zone = Zone::Host;
    let mut ats = ats_of_credentials(parts);
    for (index, part) in parts.iter().enumerate() {
        let text = match part {
            Part::Literal(text) => text.as_str(),
            Part::Variable(variable) => {
                let position = if ats > 0 { Position::UserInfo } else { Position::Address };
                pieces.push(Piece::Variable(position, *variable));
                continue;
            }
        };
        let mut rest = text;
        if index == 0
            && let Some((_, after)) = split_scheme(text)
        {
            rest = after;
            push_plain(&mut pieces, &text[..text.len() - after.len()]);
        }
        if ats > 0 {
            let marks: Vec<usize> = rest.match_indices('@').map(|(at, _)| at).take(ats).collect();
            ats -= marks.len();
            let end = marks.last().copied().filter(|_| ats == 0).unwrap_or(rest.len());
            push_secret(&mut pieces, Position::UserInfo, &rest[..end]);
            rest = &rest[end..];
        }
        while !rest.is_empty() {
            let ends: &[char] = match zone {
                Zone::Host | Zone::Path => &['/', '?', '#'],
                Zone::Name => &['=', '&', '#'],
                Zone::Value => &['&', '#'],
                Zone::Fragment => &[],
            };
            let (run, after) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
            let is_secret = match zone {
                Zone::Host => false,
                Zone::Path => is_long(run),
                // A parameter without `=` is all value.
                Zone::Name => mark_after(after, &parts[index + 1..]) != Some('='),
                Zone::Value | Zone::Fragment => true,
            };
            if is_secret {
                push_secret(&mut pieces, Position::Address, run);
            } else {
                push_plain(&mut pieces, run);
            }
            let Some(mark) = after.chars().next() else { break };
            zone = match (zone, mark) {
                (Zone::Host | Zone::Path, '/') => Zone::Path,
                (Zone::Host | Zone::Path, '?') | (Zone::Value | Zone::Name, '&') => Zone::Name,
                (Zone::Name, '=') => Zone::Value,
                (_, '#') => Zone::Fragment,
                _ => zone,
            };
            let (mark, after) = after.split_at(mark.len_utf8());
            push_plain(&mut pieces, mark);
            rest = after;
        }
    }
    pieces
}

fn push_secret(pieces: &mut Vec<Piece>, position: Position, text: &str) {
    if !text.is_empty() {
        pieces.push(Piece::Secret(position, text.to_owned()));
    }
}

/// The mark that ends the name of a parameter; none where the address ends first.
fn mark_after(rest: &str, parts: &[Part]) -> Option<char> {
    let later = parts.iter().map(|part| if let Part::Literal(text) = part { text } else { "" });
    std::iter::once(rest).chain(later).find_map(|text| text.chars().find(|letter| "=&#".contains(*letter)))
}

/// How many `@` stand before the path begins: the last one ends the credentials.
fn ats_of_credentials(parts: &[Part]) -> usize {
    let text: String = parts.iter().map(|part| if let Part::Literal(text) = part { text } else { "x" }).collect();
    let authority = split_scheme(&text).map_or("", |(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
    authority.matches('@').count()
}

/// What may be seen of an `id` as it was written: placeholders by their names, what may be a key redacted.
pub fn outline(id: &str, variables: &Variables) -> String {
    outline_of(template::parse(id.trim(), variables, &mut Vec::new()), variables)
}

/// The same for an `endpoint`, in which nothing is a placeholder.
pub fn outline_literal(endpoint: &str) -> String {
    outline_of(vec![Part::Literal(endpoint.trim().to_owned())], &Variables::default())
}

fn outline_of(mut parts: Vec<Part>, variables: &Variables) -> String {
    /// Makes an absolute address of a path, so that its zones are known.
    const BEFORE: &str = "http://h/";
    if matches!(parts.first(), Some(Part::Literal(text)) if split_scheme(text).is_some()) {
        return piece::outline(&pieces(&parts), variables);
    }
    // Who forgot the scheme may have written user and password all the same.
    let literals = parts.iter().map(|part| if let Part::Literal(text) = part { text } else { "" });
    if literals.collect::<String>().split(['/', '?', '#']).next().is_some_and(|first| first.contains('@')) {
        return MASK.to_owned();
    }
    prepend(&mut parts, BEFORE);
    let outline = piece::outline(&pieces(&parts), variables);
    outline.strip_prefix(BEFORE).unwrap_or(MASK).to_owned()
}

/// The address that a relative `id` probably means, redacted.
pub(super) fn likely(mut id: Vec<Part>, variables: &Variables) -> String {
    let is_host =
        |text: &str| !text.starts_with(['/', '?', '.']) && text.split(['/', '?']).next().is_some_and(is_likely_host);
    let mut prefix = "https://your-host.example/";
    if let Some(Part::Literal(first)) = id.first_mut() {
        if is_host(first) {
            prefix = "https://";
        }
        *first = first.trim_start_matches('/').to_owned();
    }
    prepend(&mut id, prefix);
    piece::outline(&pieces(&id), variables)
}

fn prepend(parts: &mut Vec<Part>, before: &str) {
    match parts.first_mut() {
        Some(Part::Literal(first)) => first.insert_str(0, before),
        _ => parts.insert(0, Part::Literal(before.to_owned())),
    }
}

/// A host rather than a key: short labels with a dot or a port.
fn is_likely_host(text: &str) -> bool {
    text.contains(['.', ':']) && text.split(['.', ':']).all(|label| label.len() < LONG_SEGMENT)
}
