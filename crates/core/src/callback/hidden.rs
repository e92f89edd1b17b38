//! Which parts of a text of a configuration the user typed where a key may stand (G2): byte ranges, for who shows the text itself.
//! Placeholders are known by their form: which of them have a value does not matter here.

use std::ops::Range;

use super::address;
use super::body::Body;
use super::header::Header;
use super::piece::Piece;
use super::target::{Target, may_be_credentials};
use super::template::{self, Part};
use super::variables::Variables;
use crate::net::url::{has_unclear_host, split_scheme};
use crate::text::json::is_placeholder_name;

/// In an address; `fills` where placeholders are filled in. All of an address that is not understood.
pub fn hidden_in_address(text: &str, fills: bool) -> Vec<Range<usize>> {
    /// Makes an absolute address of a path, so that its parts are known.
    const BEFORE: &str = "http://h/";
    let trimmed = text.trim();
    let start = text.len() - text.trim_start().len();
    let whole = || std::iter::once(start..start + trimmed.len()).filter(|all| !all.is_empty()).collect();
    let variables = if fills { placeholders_in(trimmed) } else { Variables::default() };
    let mut parts = if fills {
        template::parse(trimmed, &variables, &mut Vec::new())
    } else {
        vec![Part::Literal(trimmed.to_owned())]
    };
    let is_relative = split_scheme(trimmed).is_none();
    if is_relative && may_be_credentials(&parts) || has_unclear_host(trimmed) {
        return whole();
    }
    if is_relative {
        address::prepend(&mut parts, BEFORE);
    }
    let Ok(target) = Target::checked(parts) else { return whole() };
    let before = if is_relative { BEFORE.len() } else { 0 };
    let ranges = ranges(&target.pieces, &variables).into_iter();
    ranges.map(|range| range.start + start - before..range.end + start - before).collect()
}

/// In the value of a header; all of a value that no header can have.
pub fn hidden_in_header(name: &str, value: &str) -> Vec<Range<usize>> {
    let variables = placeholders_in(value);
    let start = value.len() - value.trim_start_matches([' ', '\t']).len();
    match Header::new(name, value, &variables, &mut Vec::new()) {
        Ok(header) => {
            let ranges = ranges(&header.pieces, &variables).into_iter();
            ranges.map(|range| range.start + start..range.end + start).collect()
        }
        Err(_) => hidden_in_text(value),
    }
}

/// In a form that is written as a text.
pub fn hidden_in_form(text: &str) -> Vec<Range<usize>> {
    let variables = placeholders_in(text);
    ranges(&Body::form_text(text, &variables, &mut Vec::new()).pieces, &variables)
}

/// In any other text: everything but placeholders.
pub fn hidden_in_text(text: &str) -> Vec<Range<usize>> {
    let variables = placeholders_in(text);
    ranges(&Body::text(text, &variables, &mut Vec::new()).pieces, &variables)
}

/// Whatever has the form of a placeholder in a text.
fn placeholders_in(text: &str) -> Variables {
    let (mut variables, mut unknown) = (Variables::default(), Vec::new());
    template::parse(text, &variables, &mut unknown);
    unknown.sort_unstable();
    unknown.dedup();
    for name in unknown.iter().filter(|name| is_placeholder_name(name)).take(Variables::MAX_EXTRA) {
        variables.declare(name);
    }
    variables
}

/// Where the secrets among pieces stand; the pieces are the text, one after the other.
fn ranges(pieces: &[Piece], variables: &Variables) -> Vec<Range<usize>> {
    let (mut ranges, mut at) = (Vec::new(), 0);
    for piece in pieces {
        let length = match piece {
            Piece::Plain(text) => text.len(),
            Piece::Secret(_, text) => {
                ranges.push(at..at + text.len());
                text.len()
            }
            Piece::Variable(_, variable) => variables.name_of(*variable).len(),
        };
        at += length;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str, ranges: &[Range<usize>]) -> String {
        let (mut out, mut at) = (String::new(), 0);
        for range in ranges {
            out += &text[at..range.start];
            out += "***";
            at = range.end;
        }
        out + &text[at..]
    }

    #[test]
    fn g2_what_is_hidden_in_an_address() {
        let cases = [
            ("https://h.example/a?k=s3cret&ip=__IP__&x", "https://h.example/a?k=***&ip=__IP__&***"),
            (" https://me:s3cret@h.example/__KEY__ ", " https://***@h.example/__KEY__ "),
            ("https://h.example/s3cret-s3cret-s3cret/b#c", "https://h.example/***/b#***"),
            ("/hook?k=s3cret__TTL__", "/hook?k=***__TTL__"),
            ("?k=s3cret", "?k=***"),
            ("me:s3cret@h.example/x", "***"),
            ("https://me:s3/cret@h.example/x", "***"),
            ("ftp://h/?k=s3cret", "***"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(masked(text, &hidden_in_address(text, true)), expected, "{text}");
        }
        assert_eq!(masked("https://h/?a=__IP__", &hidden_in_address("https://h/?a=__IP__", false)), "https://h/?a=***");
    }

    #[test]
    fn g2_what_is_hidden_in_headers_and_bodies() {
        for (name, value, expected) in [
            ("Authorization", " Bearer s3cret ", " Bearer *** "),
            ("Accept", "text/plain", "text/plain"),
            ("X Y", "s3cret", "***"),
            ("X", "a__IP__b", "***__IP__***"),
        ] {
            assert_eq!(masked(value, &hidden_in_header(name, value)), expected, "{name}");
        }
        let form = "a=1&ip=__IP__&b=x__TTL__y&c";
        assert_eq!(masked(form, &hidden_in_form(form)), "a=***&ip=__IP__&b=***__TTL__***&***");
        assert_eq!(masked("s __IP__ s", &hidden_in_text("s __IP__ s")), "***__IP__***");
    }
}
