//! Which parts of a URL may be shown (G2): scheme, host, port, short path segments and parameter names. Hidden are user
//! and password, long path segments, path segments up to an `@`, parameter values and fragments.

use super::piece::{Piece, Position, push_plain};
use super::template::Part;
use crate::net::url::split_scheme;

/// Literal path segments of at least this many characters may be keys.
const LONG_SEGMENT: usize = 16;

/// Whether a path segment is so long that it may be a key.
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

/// Cuts an absolute URL into pieces.
pub(super) fn pieces(parts: &[Part]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut zone = Zone::Host;
    let [mut ats, mut ats_behind] = ats(parts);
    let marks_behind = marks_behind(parts);
    for (index, part) in parts.iter().enumerate() {
        let text = match part {
            Part::Literal(text) => text.as_str(),
            Part::Variable(variable) => {
                let is_first = || matches!(pieces.last(), Some(Piece::Plain(text)) if text.ends_with(['/', '@']));
                let position = match zone {
                    _ if ats > 0 => Position::UserInfo,
                    Zone::Host if is_first() => Position::Host,
                    _ => Position::Address,
                };
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
                // Text before an `@` may be the rest of a password that contains `/`, `?` or `#`.
                Zone::Path | Zone::Name if ats_behind > 0 || run.contains('@') => true,
                Zone::Path => is_long(run),
                // A parameter without `=` counts as a value. So does a long one followed only by `=`: that may be the
                // padding of base64.
                Zone::Name => {
                    let padded = after.trim_start_matches('=');
                    let is_end = padded.starts_with(['&', '#']) || padded.is_empty() && index + 1 == parts.len();
                    after.chars().next().or(marks_behind[index]) != Some('=') || is_long(run) && is_end
                }
                Zone::Value | Zone::Fragment => true,
            };
            if is_secret {
                push_secret(&mut pieces, Position::Address, run);
            } else {
                push_plain(&mut pieces, run);
            }
            ats_behind = ats_behind.saturating_sub(run.matches('@').count());
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

/// For each part, the first character after it that ends a parameter name; `None`: the URL ends before one.
fn marks_behind(parts: &[Part]) -> Vec<Option<char>> {
    let mark = |part: &Part| match part {
        Part::Literal(text) => text.chars().find(|letter| "=&#".contains(*letter)),
        Part::Variable(_) => None,
    };
    let mut marks = vec![None; parts.len()];
    for at in (1..parts.len()).rev() {
        marks[at - 1] = mark(&parts[at]).or(marks[at]);
    }
    marks
}

/// Counts the `@` before the path, the last of which ends the credentials, and those after it that may end the credentials as well: all
/// in the path, and everywhere if the host contains a colon, which may precede a password (`http://user:80/rest?@host/`).
fn ats(parts: &[Part]) -> [usize; 2] {
    let text: String = parts.iter().map(|part| if let Part::Literal(text) = part { text } else { "x" }).collect();
    let rest = split_scheme(&text).map_or("", |(_, rest)| rest);
    let (authority, behind) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let path = behind.split(['?', '#']).next().unwrap_or_default();
    [authority, if authority.contains(':') { behind } else { path }].map(|part| part.matches('@').count())
}

/// The URL that a relative `id` probably means.
pub(super) fn likely(mut id: Vec<Part>) -> Vec<Part> {
    let is_host = |text: &str| {
        let rest = text.strip_prefix("//").unwrap_or(text);
        !rest.starts_with(['/', '?', '.']) && rest.split(['/', '?']).next().is_some_and(is_likely_host)
    };
    let mut prefix = "https://your-host.example/";
    if let Some(Part::Literal(first)) = id.first_mut() {
        if is_host(first) {
            prefix = "https://";
        }
        *first = first.trim_start_matches('/').to_owned();
    }
    prepend(&mut id, prefix);
    id
}

pub(super) fn prepend(parts: &mut Vec<Part>, before: &str) {
    match parts.first_mut() {
        Some(Part::Literal(first)) => first.insert_str(0, before),
        _ => parts.insert(0, Part::Literal(before.to_owned())),
    }
}

/// Whether a text looks like a host and not like a key: short labels with a dot or a port.
fn is_likely_host(text: &str) -> bool {
    text.contains(['.', ':']) && text.split(['.', ':']).all(|label| label.len() < LONG_SEGMENT)
}
