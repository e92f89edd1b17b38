//! Masking of texts that come from elsewhere (an answer's body, an error of a library) and, as the last gate, of every
//! log line: what the user typed is found in any of its usual forms and replaced.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use crate::text::hex;
use crate::text::json::{is_placeholder_name, push_escaped};

/// What the masked part of a text shows as.
pub const MASK: &str = "***";

/// Shorter literals are words of every text (`on`, `1`): they are masked only where they stand alone.
const SHORT: usize = 4;

/// What must not be seen. Does not show itself when printed.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Matched letter by letter, each letter in any of its usual forms.
    plain: Vec<String>,
    /// Base64 and hexadecimal forms, matched as they are.
    encoded: Vec<String>,
}

impl Secrets {
    /// Collects literals. One that is part of a text in `public` (a configured domain, say), an address or the name of
    /// a placeholder is no secret: it is shown everywhere.
    pub fn new(literals: impl IntoIterator<Item = String>, public: &[&str]) -> Self {
        let is_public = |literal: &str| {
            let is_value =
                literal.parse::<std::net::IpAddr>().is_ok() || is_placeholder_name(&literal.to_ascii_uppercase());
            is_value || public.iter().any(|text| text.contains(literal))
        };
        let mut plain: Vec<String> = literals
            .into_iter()
            .map(|literal| literal.trim().to_owned())
            .filter(|literal| !literal.is_empty() && !is_public(literal))
            .collect();
        plain.sort_unstable();
        plain.dedup();
        let long = plain.iter().filter(|literal| literal.len() >= SHORT);
        // As it is, and as it stands in a JSON body: an endpoint may send the whole of it back.
        let both = long.flat_map(|literal| {
            let mut written = String::new();
            push_escaped(&mut written, literal);
            [literal.clone(), written]
        });
        let mut encoded: Vec<String> = both.flat_map(|text| encoded_forms(text.as_bytes())).collect();
        encoded.sort_unstable();
        encoded.dedup();
        Self { plain, encoded }
    }

    /// Only those of at least `length` bytes: fit for lines that are mostly our own words.
    #[must_use]
    pub fn longer_than(&self, length: usize) -> Self {
        let plain = self.plain.iter().filter(|secret| secret.len() >= length).cloned();
        Self { plain: plain.collect(), encoded: self.encoded.clone() }
    }

    /// Whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty()
    }

    /// The text with every secret replaced.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = String::new();
        let (mut shown, mut at) = (0, 0);
        while at < text.len() {
            let width = text[at..].chars().next().map_or(1, char::len_utf8);
            let Some(length) = self.length_at(text, at) else {
                at += width;
                continue;
            };
            masked.push_str(&text[shown..at]);
            masked.push_str(MASK);
            at += length;
            shown = at;
        }
        if shown == 0 {
            return Cow::Borrowed(text);
        }
        masked.push_str(&text[shown..]);
        Cow::Owned(masked)
    }

    /// How many bytes of `text` are a secret that begins at `at`: the longest one.
    fn length_at(&self, text: &str, at: usize) -> Option<usize> {
        let rest = &text[at..];
        let plain = self.plain.iter().filter_map(|secret| {
            let length = spelled(rest, secret)?;
            (secret.len() >= SHORT || stands_alone(text, at, at + length)).then_some(length)
        });
        let encoded = self.encoded.iter().filter(|form| rest.starts_with(form.as_str())).map(|form| {
            // The last letter of base64 may also hold bits of what follows; the padding belongs to it.
            let tail = &rest[form.len()..];
            let letter = usize::from(tail.as_bytes().get(1) == Some(&b'=') && tail.starts_with(is_base64));
            form.len() + letter + tail[letter..].bytes().take_while(|byte| *byte == b'=').count()
        });
        plain.chain(encoded).max()
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.plain.len())
    }
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    !is_word(text[..start].chars().next_back()) && !is_word(text[end..].chars().next())
}

fn is_base64(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '+' | '/' | '-' | '_')
}

/// How many bytes at the start of `text` spell `secret`. Several readings are followed at once: a backslash or a
/// percent sign may be itself or begin an escape.
fn spelled(text: &str, secret: &str) -> Option<usize> {
    let mut ends = vec![0];
    let mut next = Vec::new();
    for letter in secret.chars() {
        next.clear();
        for end in &ends {
            forms(&text[*end..], letter, |length| {
                if !next.contains(&(end + length)) {
                    next.push(end + length);
                }
            });
        }
        std::mem::swap(&mut ends, &mut next);
        if ends.is_empty() {
            return None;
        }
    }
    ends.into_iter().max()
}

/// Every way in which `text` may begin with a letter: as it is (in either case), percent-encoded once or twice, as form
/// data, escaped as in JSON, or as an entity of HTML. `found` is given the length of each.
fn forms(text: &str, letter: char, mut found: impl FnMut(usize)) {
    let Some(first) = text.chars().next() else { return };
    if first == letter || first.eq_ignore_ascii_case(&letter) || matches!((first, letter), ('+', ' ') | (' ', '+')) {
        found(first.len_utf8());
    }
    let mut buffer = [0; 4];
    match first {
        '%' => {
            for percent in ["%", "%25"] {
                let mut rest = text;
                let spells = |byte: &u8| {
                    let digits = rest.strip_prefix(percent).and_then(|after| after.get(..2));
                    let is_it = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) == Some(*byte);
                    if is_it {
                        rest = &rest[percent.len() + 2..];
                    }
                    is_it
                };
                if letter.encode_utf8(&mut buffer).as_bytes().iter().all(spells) {
                    found(text.len() - rest.len());
                }
            }
        }
        '\\' => {
            let short = match letter {
                '"' | '\\' | '/' => Some(letter),
                '\n' => Some('n'),
                '\r' => Some('r'),
                '\t' => Some('t'),
                _ => None,
            };
            if short.is_some() && text[1..].chars().next() == short {
                found(2);
            }
            let mut escaped = String::new();
            for unit in letter.encode_utf16(&mut [0; 2]) {
                escaped += &format!("\\u{unit:04x}");
            }
            if text.get(..escaped.len()).is_some_and(|start| start.eq_ignore_ascii_case(&escaped)) {
                found(escaped.len());
            }
        }
        '&' => {
            let Some((entity, _)) = text[1..].split_once(';').filter(|(entity, _)| entity.len() <= 8) else { return };
            let code = match entity.strip_prefix('#') {
                Some(number) => match number.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16).ok().and_then(char::from_u32),
                    None => number.parse().ok().and_then(char::from_u32),
                },
                None => [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')]
                    .into_iter()
                    .find(|(name, _)| *name == entity)
                    .map(|(_, letter)| letter),
            };
            if code == Some(letter) {
                found(entity.len() + 2);
            }
        }
        _ => {}
    }
}

/// Hexadecimal, and base64 alone or inside of something longer: for each of the three ways in which a secret can lie
/// across the groups of three bytes, the letters that depend on nothing else.
fn encoded_forms(secret: &[u8]) -> Vec<String> {
    let hex = hex::text(secret);
    let mut forms = vec![hex.to_uppercase(), hex];
    for shift in 0..3 {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(secret);
        let first = (shift * 8).div_ceil(6);
        let last = (shifted.len() * 8) / 6;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let text = engine.encode(&shifted);
            forms.extend(text.get(first..last).filter(|form| form.len() >= SHORT).map(str::to_owned));
        }
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g2_every_usual_form_of_a_secret_is_found() {
        let secrets = Secrets::new(["Q/S3+CR\"&ET%21ü".to_owned()], &[]);
        let forms = [
            "Q/S3+CR\"&ET%21ü",
            "q/s3+cr\"&et%21ü",
            "Q%2FS3%2BCR%22%26ET%2521%C3%BC",
            "Q%2fS3%2bCR%22%26ET%2521%c3%bc",
            "Q%252FS3%252BCR%2522%2526ET%252521%25C3%25BC",
            "Q/S3 CR\"&ET%21ü",
            "Q\\/S3+CR\\\"&ET%21\\u00fc",
            "Q/S3+CR&quot;&amp;ET%21&#252;",
            "Q&#x2F;S3&#43;CR&#34;&amp;ET%21&#xfc;",
        ];
        for form in forms {
            assert_eq!(secrets.mask(&format!("<{form}>")), "<***>", "{form}");
        }
        assert_eq!(secrets.mask(&hex::text("Q/S3+CR\"&ET%21ü".as_bytes())), "***");
        for before in ["", "1", "12"] {
            let body = format!("{before}{{\"k\":\"Q/S3+CR\\\"&ET%21ü\"}}");
            assert!(secrets.mask(&STANDARD_NO_PAD.encode(&body)).contains("***"), "{body} in base64");
        }
    }

    #[test]
    fn g2_a_short_secret_is_found_where_it_stands_alone() {
        let secrets = Secrets::new(["abc".to_owned()], &[]);
        assert_eq!(secrets.mask("{\"k\":\"abc\"} abcd xabc"), "{\"k\":\"***\"} abcd xabc");
    }

    #[test]
    fn g2_nothing_is_left_of_basic_credentials() {
        let secrets = Secrets::new(["user:pass1".to_owned(), "user:pass12".to_owned()], &[]);
        for pair in ["user:pass1", "user:pass12"] {
            let text = base64::engine::general_purpose::STANDARD.encode(pair);
            assert_eq!(secrets.mask(&format!("Basic {text}\n")), "Basic ***\n", "{text}");
        }
    }
}
