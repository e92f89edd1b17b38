//! Masks texts from outside (the body of a response, an error of a library) and, as a last defense, every log line:
//! finds what the user typed in any of its usual forms, and replaces it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use crate::text::hex;
use crate::text::json::{is_placeholder_name, push_escaped};

/// What replaces a secret in a text.
pub const MASK: &str = "***";

/// Shorter secrets match ordinary words (`on`, `1`): they are masked only as whole words.
const SHORT: usize = 4;

/// Shorter parts of a literal are not masked on their own, unless they are values.
const MIN_PART_CHARS: usize = 8;

/// How many steps a search may take for each byte of a text. Ordinary texts take two or three; a hostile one, made of
/// the characters that a secret begins with, could take the square of the secret's length.
const STEPS: usize = 16;

/// The bytes that begin an escape: see [`readings`].
const ESCAPES: [u8; 3] = *b"%\\&";

/// This many bytes are added to the length of a text, so that a short text has enough steps.
const SPARE: usize = 2048;

/// What must not be shown; `Debug` does not show it either.
#[derive(Clone, Default)]
pub struct Secrets {
    /// [`folded`]; matched character by character, each in any of its usual forms.
    plain: Sorted,
    /// Base64 and hexadecimal forms, matched exactly.
    encoded: Sorted,
    /// The bytes that a form of a secret can begin with, and those that can follow.
    first: Bytes,
    second: Bytes,
}

impl Secrets {
    /// Collects literals, except those that are shown everywhere: parts of a text in `public` (such as a configured
    /// domain), IP addresses and names of placeholders.
    pub fn new(literals: impl IntoIterator<Item = String>, public: &[&str]) -> Self {
        let literals = literals.into_iter().flat_map(|literal| {
            let parts: Vec<String> = parts(&literal).map(str::to_owned).collect();
            parts.into_iter().chain([literal.trim().to_owned()])
        });
        // Masking a single character would hide nothing, and make every response unreadable.
        let all = Sorted::new(literals.filter(|literal| literal.chars().nth(1).is_some()));
        // Masking ignores case, so `Example.COM` would hide the domain `example.com`.
        let fold = |text: &str| text.chars().map(folded).collect::<String>();
        let alike = Sorted::new(all.0.iter().map(|literal| fold(literal)));
        let found = alike.found_in(public);
        let is_public = |literal: &str| alike.0.binary_search(&fold(literal)).is_ok_and(|at| found[at]);
        let mut plain = all.0;
        plain.retain(|literal| {
            let is_value =
                literal.parse::<std::net::IpAddr>().is_ok() || is_placeholder_name(&literal.to_ascii_uppercase());
            !is_public(literal) && !is_value
        });
        let long = plain.iter().filter(|literal| literal.len() >= SHORT);
        // As typed, and as escaped in a JSON body, because an endpoint may send the whole body back, encoded.
        let both = long.flat_map(|literal| {
            let mut written = String::new();
            push_escaped(&mut written, literal);
            let other = (written != *literal).then_some(written);
            [Some(literal.clone()), other].into_iter().flatten()
        });
        let encoded = Sorted::new(both.flat_map(|text| encoded_forms(text.as_bytes())));
        let plain = Sorted::new(plain.iter().map(|literal| fold(literal)));
        Self::of(plain, encoded)
    }

    fn of(plain: Sorted, encoded: Sorted) -> Self {
        let [first, second] = [0, 1].map(|at| {
            let plain = plain.bytes_at(at).flat_map(|byte| [byte, byte.to_ascii_uppercase()]);
            // A plus sign may be a space, and other letters may be escaped.
            Bytes::of(plain.chain(encoded.bytes_at(at)).chain([b'+']).chain(ESCAPES))
        });
        Self { plain, encoded, first, second }
    }

    /// Only the secrets of at least `length` bytes, for lines that are mostly our own words.
    #[must_use]
    pub fn longer_than(&self, length: usize) -> Self {
        let plain = self.plain.0.iter().filter(|secret| secret.len() >= length).cloned();
        Self::of(Sorted::new(plain), self.encoded.clone())
    }

    /// Whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.plain.0.is_empty()
    }

    /// The text with every secret replaced.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let (mut masked, mut shown) = (String::new(), 0);
        for found in self.found(text) {
            masked.push_str(&text[shown..found.start]);
            masked.push_str(MASK);
            shown = found.end;
        }
        if shown == 0 {
            return Cow::Borrowed(text);
        }
        masked.push_str(&text[shown..]);
        Cow::Owned(masked)
    }

    /// Where a text contains secrets, in order. If the search takes too long, the rest of the text counts as a secret.
    pub fn found(&self, text: &str) -> Vec<Range<usize>> {
        let (mut found, mut at) = (Vec::new(), 0);
        let mut steps = STEPS * (text.len() + SPARE);
        while !self.is_empty() && at < text.len() {
            if !self.may_begin(&text.as_bytes()[at..]) {
                at += 1;
                continue;
            }
            let length = self.length_at(text, at, &mut steps);
            if steps == 0 {
                found.push(at..text.len());
                break;
            }
            if let Some(length) = length {
                found.push(at..at + length);
                at += length;
            } else {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        found
    }

    /// Whether a form of a secret may begin here. Every log line is searched; its first two bytes rule out most places.
    fn may_begin(&self, text: &[u8]) -> bool {
        let is_escaped = || ESCAPES.contains(&text[0]);
        self.first.has(text[0]) && (text.get(1).is_some_and(|second| self.second.has(*second)) || is_escaped())
    }

    /// The length in bytes of the longest secret that begins at `at`, unless the `steps` run out.
    fn length_at(&self, text: &str, at: usize, steps: &mut usize) -> Option<usize> {
        let rest = &text[at..];
        let counts = |secret: usize, length: usize| secret >= SHORT || stands_alone(text, at, at + length);
        let plain = self.plain.longest(rest, steps, readings, counts);
        let as_written = |text: &str, found: &mut dyn FnMut(char, usize)| {
            text.chars().next().into_iter().for_each(|letter| found(letter, letter.len_utf8()));
        };
        let encoded = self.encoded.longest(rest, steps, as_written, |_, _| true).map(|length| {
            // The last base64 character may also contain bits of what follows, and the padding belongs to it.
            let tail = &rest[length..];
            let letter = usize::from(tail.as_bytes().get(1) == Some(&b'=') && tail.starts_with(is_base64));
            length + letter + tail[letter..].bytes().take_while(|byte| *byte == b'=').count()
        });
        plain.max(encoded)
    }
}

/// The parts of a literal that may be keys on their own, because an answer may repeat one of them alone: in
/// `sso-key KEY:SECRET`, `session=KEY; a=b` or `user=U;pw=SECRET`. An ordinary word counts only as a value.
fn parts(literal: &str) -> impl Iterator<Item = &str> {
    let is_mark = |letter: char| letter.is_whitespace() || ":;,&=<>\"'|()[]{}".contains(letter);
    let mut is_value = false;
    literal.split_inclusive(is_mark).filter_map(move |run| {
        let part = run.trim_end_matches(is_mark);
        let counts = if is_value { part.len() >= SHORT } else { part.len() >= MIN_PART_CHARS && !is_word(part) };
        let is_quote = part.is_empty() && run.ends_with(['"', '\'']);
        is_value = run.ends_with(['=', ':', '>']) || is_value && is_quote;
        counts.then_some(part)
    })
}

/// Whether a text is an ordinary word: letters, of which only the first may be a capital, and marks as in `e-mail`.
fn is_word(text: &str) -> bool {
    let is_usual = |letter: char| letter.is_alphabetic() && !letter.is_uppercase() || "-_./!?*".contains(letter);
    text.starts_with(char::is_alphabetic) && text.chars().skip(1).all(is_usual)
}

/// Sorted texts, so that those with a common beginning are compared together: at most places of a long text, the first
/// character rules out all of them.
#[derive(Clone, Default)]
struct Sorted(Vec<String>);

/// A set of bytes: some of ASCII, and all others.
#[derive(Clone, Copy, Default)]
struct Bytes([u64; 4]);

impl Bytes {
    fn of(bytes: impl Iterator<Item = u8>) -> Self {
        let mut set = [0, 0, u64::MAX, u64::MAX];
        for byte in bytes {
            set[usize::from(byte / 64)] |= 1 << (byte % 64);
        }
        Self(set)
    }

    fn has(self, byte: u8) -> bool {
        self.0[usize::from(byte / 64)] >> (byte % 64) & 1 == 1
    }
}

/// The secrets that begin with the characters matched so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Matching {
    /// The position in the searched text. It is the first field, so that a match sorts before all that follow from it.
    end: usize,
    /// How many bytes of the secrets were matched.
    depth: usize,
    first: usize,
    /// One past the last.
    last: usize,
}

impl Sorted {
    fn new(texts: impl IntoIterator<Item = String>) -> Self {
        let mut texts: Vec<String> = texts.into_iter().collect();
        texts.sort_unstable();
        texts.dedup();
        Self(texts)
    }

    /// The bytes of all texts at this place.
    fn bytes_at(&self, at: usize) -> impl Iterator<Item = u8> {
        self.0.iter().filter_map(move |text| text.as_bytes().get(at).copied())
    }

    /// How many bytes at the start of `text` spell one of the secrets: the longest that `counts`, which is given the
    /// lengths of the secret and of its spelling. Several readings are followed at once, because a backslash or a
    /// percent sign may be itself or begin an escape. Each place and reading takes one of the `steps`; when none are
    /// left, the search ends.
    fn longest(
        &self,
        text: &str,
        steps: &mut usize,
        readings: impl Fn(&str, &mut dyn FnMut(char, usize)),
        counts: impl Fn(usize, usize) -> bool,
    ) -> Option<usize> {
        let mut longest = None;
        // Each match is followed once, however many readings lead to it: in this order, none comes again.
        let mut left = BTreeSet::new();
        let mut next = Some(Matching { end: 0, depth: 0, first: 0, last: self.0.len() });
        while let Some(matching) = next.filter(|_| *steps > 0) {
            *steps -= 1;
            readings(&text[matching.end..], &mut |letter, length| {
                let Some(next) = self.narrowed(matching, letter, length) else { return };
                let secret = &self.0[next.first];
                if secret.len() == next.depth && counts(secret.len(), next.end) {
                    longest = longest.max(Some(next.end));
                }
                left.insert(next);
            });
            next = left.pop_first();
        }
        longest
    }

    /// Those of the matching texts that continue with `letter`; `None` if no text does.
    fn narrowed(&self, matching: Matching, letter: char, length: usize) -> Option<Matching> {
        let Matching { end, mut depth, first, last } = matching;
        let mut texts = first..last;
        for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
            texts = self.continued(texts, depth, byte);
            depth += 1;
        }
        (!texts.is_empty()).then_some(Matching { end: end + length, depth, first: texts.start, last: texts.end })
    }

    /// Of some texts, which are equal up to `depth`, those with this byte there.
    fn continued(&self, texts: Range<usize>, depth: usize, byte: u8) -> Range<usize> {
        let here = &self.0[texts.clone()];
        let first = here.partition_point(|text| text.as_bytes().get(depth).is_none_or(|other| *other < byte));
        let count = here[first..].partition_point(|text| text.as_bytes()[depth] == byte);
        texts.start + first..texts.start + first + count
    }

    /// Which of the texts, which are [`folded`], are part of one of `others`. If the search takes too long, a text is
    /// not, and so stays a secret.
    fn found_in(&self, others: &[&str]) -> Vec<bool> {
        let mut found = vec![false; self.0.len()];
        let first = Bytes::of(self.bytes_at(0));
        for other in others {
            let mut steps = STEPS * (other.len() + SPARE);
            let folded = |byte: u8| if byte == b'+' { b' ' } else { byte.to_ascii_lowercase() };
            for start in (0..other.len()).filter(|start| first.has(folded(other.as_bytes()[*start]))) {
                let mut texts = 0..self.0.len();
                for (depth, byte) in other.bytes().skip(start).map(folded).enumerate().take(steps) {
                    steps -= 1;
                    texts = self.continued(texts, depth, byte);
                    if texts.is_empty() {
                        break;
                    }
                    found[texts.start] |= self.0[texts.start].len() == depth + 1;
                }
            }
        }
        found
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.plain.0.len())
    }
}

fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    !is_word(text[..start].chars().next_back()) && !is_word(text[end..].chars().next())
}

fn is_base64(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '+' | '/' | '-' | '_')
}

/// One character for all that count as the same: either case, and, as in form data, a plus sign for a space.
fn folded(letter: char) -> char {
    if letter == '+' { ' ' } else { letter.to_ascii_lowercase() }
}

/// The longest HTML entity between `&` and `;`, in bytes.
const MAX_ENTITY_BYTES: usize = 8;

/// Every character that the start of `text` may mean, in [`folded`] form: itself, or what it spells if it is
/// percent-encoded once or twice, escaped as in JSON, or an HTML entity. `found` is given the character and the bytes
/// that it takes.
fn readings(text: &str, found: &mut dyn FnMut(char, usize)) {
    let Some(first) = text.chars().next() else { return };
    let mut found = |letter, length| found(folded(letter), length);
    found(first, first.len_utf8());
    match first {
        '%' => {
            for percent in ["%", "%25"] {
                if let Some((letter, length)) = percent_encoded(text, percent) {
                    found(letter, length);
                }
            }
        }
        '\\' => {
            // A string may contain JSON itself: `\\n`, `\\\"`.
            for at in 0..text.bytes().take(3).take_while(|byte| *byte == b'\\').count() {
                if let Some((letter, length)) = escaped(&text[at..]) {
                    found(letter, at + length);
                }
            }
        }
        '&' => {
            let bytes = text.as_bytes().iter().skip(1).take(MAX_ENTITY_BYTES + 1);
            let end = bytes.enumerate().find_map(|(at, byte)| (*byte == b';').then_some(at));
            if let Some(entity) = end.and_then(|end| text.get(1..=end))
                && let Some(letter) = entity_letter(entity)
            {
                found(letter, entity.len() + 2);
            }
        }
        _ => {}
    }
}

/// A character of one to four bytes, each written as `percent` and two hexadecimal digits.
fn percent_encoded(text: &str, percent: &str) -> Option<(char, usize)> {
    let mut bytes = [0; 4];
    let mut rest = text;
    for count in 1..=4 {
        let digits = rest.strip_prefix(percent)?.get(..2)?;
        bytes[count - 1] = u8::from_str_radix(digits, 16).ok()?;
        rest = &rest[percent.len() + 2..];
        if let Ok(letter) = std::str::from_utf8(&bytes[..count]) {
            return Some((letter.chars().next()?, text.len() - rest.len()));
        }
    }
    None
}

/// A character that is escaped as in JSON.
fn escaped(text: &str) -> Option<(char, usize)> {
    let short = match text.chars().nth(1)? {
        letter @ ('"' | '\\' | '/') => letter,
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        _ => return unicode_escape(text),
    };
    Some((short, 2))
}

/// `\u00fc`, or two of these for a character that needs a surrogate pair.
fn unicode_escape(text: &str) -> Option<(char, usize)> {
    const LENGTH: usize = 6;
    let unit = |at: usize| {
        let digits = text.get(at..at + LENGTH)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let first = unit(0)?;
    match char::decode_utf16([first]).next()? {
        Ok(letter) => Some((letter, LENGTH)),
        Err(_) => Some((char::decode_utf16([first, unit(LENGTH)?]).next()?.ok()?, 2 * LENGTH)),
    }
}

/// The character that an entity stands for: `amp`, `#252`, `#xfc`.
fn entity_letter(entity: &str) -> Option<char> {
    match entity.strip_prefix('#') {
        Some(number) => match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok().and_then(char::from_u32),
            None => number.parse().ok().and_then(char::from_u32),
        },
        None => match entity {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => None,
        },
    }
}

/// Hexadecimal, and base64 alone or inside something longer: for each of the three offsets that a secret can have in
/// base64's groups of three bytes, the characters that depend on the secret alone.
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

    /// The first two bytes rule out most places of a text: never one where a secret begins.
    #[test]
    fn g2_a_secret_is_found_whatever_it_begins_with() {
        let letters = || (b'!'..=b'~').map(char::from).chain(['ü', 'ß', '€']);
        for (one, two) in letters().flat_map(|one| letters().map(move |two| (one, two))) {
            let secret = format!("{one}{two}zq9");
            let secrets = Secrets::new([secret.clone()], &[]);
            let spelled = |spell: fn(char) -> String| secret.chars().map(spell).collect::<Vec<_>>().concat();
            let percent = secret.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat();
            let json = spelled(|letter| format!("\\u{:04x}", u32::from(letter)));
            let html = spelled(|letter| format!("&#{};", u32::from(letter)));
            let shouted = secret.to_ascii_uppercase();
            for form in [&secret, &shouted, &secret.replace('+', " "), &percent, &json, &html] {
                assert_eq!(secrets.mask(&format!("({form})")), format!("({MASK})"), "{secret} as {form}");
            }
            let body = STANDARD_NO_PAD.encode(format!("user:{secret}"));
            assert!(secrets.mask(&body).contains(MASK), "{secret} in {body}");
        }
    }

    #[test]
    fn g2_json_in_a_string_of_json_shows_no_secret() {
        let secrets = Secrets::new(["a\"b\\c/dü9".to_owned()], &[]);
        for form in [r#"a\\\"b\\\\c/dü9"#, r#"a\\\"b\\\\c\\/d\\u00fc9"#, r#"a\\\"b\\\\c\\\/dü9"#] {
            assert_eq!(secrets.mask(&format!("<{form}>")), "<***>", "{form}");
        }
    }

    #[test]
    fn g2_a_part_of_a_secret_is_found_alone() {
        for (literal, part) in [
            ("sso-key dLf3kj9a:Kje3vb7Q", "dLf3kj9a"),
            ("sso-key dLf3kj9a:Kje3vb7Q", "Kje3vb7Q"),
            ("session=abc123; theme=dark", "abc123"),
            ("user=router;pw=hunter2;ip=", "hunter2"),
            ("<user>nas</user><password>hunter2</password>", "hunter2"),
            ("{\"pw\":\"hunter2\"}", "hunter2"),
            ("key dXNlcjpwdzEyMw==", "dXNlcjpwdzEyMw"),
            ("update nas with 0123abcd99", "0123abcd99"),
        ] {
            let secrets = Secrets::new([literal.to_owned()], &[]);
            for form in [part.to_owned(), hex::text(part.as_bytes())] {
                assert_eq!(secrets.mask(&format!("wrong: {form}!")), "wrong: ***!", "{form} of {literal}");
            }
        }
        let prose = Secrets::new(["Dynamic DNS: the update was accepted, Address: ".to_owned()], &["nas.example"]);
        assert_eq!(prose.mask("the update was accepted"), "the update was accepted");
        let named = Secrets::new(["host=nas.example;ip=203.0.113.7".to_owned()], &["nas.example"]);
        assert_eq!(named.mask("nas.example has 203.0.113.7"), "nas.example has 203.0.113.7");
    }

    #[test]
    fn g2_a_short_secret_is_found_where_it_stands_alone() {
        let secrets = Secrets::new(["abc".to_owned()], &[]);
        assert_eq!(secrets.mask("{\"k\":\"abc\"} abcd xabc"), "{\"k\":\"***\"} abcd xabc");
    }

    #[test]
    fn g2_among_our_own_words_long_secrets_are_found_in_every_form() {
        let secrets = Secrets::new(["abc".to_owned(), "sesame-1".to_owned(), "sesame-22".to_owned()], &[]);
        let long = secrets.longer_than("sesame-1".len());
        let hex = hex::text("sesame-22".as_bytes());
        assert_eq!(long.mask(&format!("abc SESAME-1 sesame%2D22 {hex}zz")), "abc *** *** ***zz");
    }

    #[test]
    fn g2_nothing_is_left_of_basic_credentials() {
        let secrets = Secrets::new(["user:pass1".to_owned(), "user:pass12".to_owned()], &[]);
        for pair in ["user:pass1", "user:pass12"] {
            let text = base64::engine::general_purpose::STANDARD.encode(pair);
            assert_eq!(secrets.mask(&format!("Basic {text}\n")), "Basic ***\n", "{text}");
        }
    }

    /// A hostile text and many secrets: each place of the text is compared with few of them.
    #[test]
    fn g2_masking_takes_time_in_proportion_to_the_text() {
        let many: Vec<String> = (0..2000).map(|number| format!("&key-{number:05}-{}", number * 7919)).collect();
        let secrets = Secrets::new(many.clone(), &[]);
        for text in ["&", "%25", "\\u0026", "&key-0", "&amp;"].map(|part| part.repeat(65_536 / part.len())) {
            assert!(!secrets.mask(&text).contains(MASK));
        }
        assert_eq!(secrets.mask(&many.concat()), MASK.repeat(many.len()));
    }

    /// A backslash is itself or begins an escape, so a text has as many readings as ways to take one or two at a time.
    #[test]
    fn g2_a_secret_of_backslashes_is_found_in_any_form_and_in_time() {
        let secret = "\\".repeat(60);
        let secrets = Secrets::new([secret.clone(), format!("{secret}x")], &[]);
        assert_eq!(secrets.mask(&format!("{secret} {secret}{secret}x")), "*** ***");
        assert_eq!(secrets.mask(&"\\".repeat(59)), "\\".repeat(59));
    }

    /// A text made of the characters of secrets, with as many readings as possible. What the search does not reach in
    /// time is not shown.
    #[test]
    fn g2_a_hostile_text_shows_no_secret_and_takes_no_longer() {
        for (letter, form) in [("\\", "\\"), ("%", "%25"), ("&", "&amp;")] {
            let text = format!("shown {}{}0x", form.repeat(2048 / form.len()), letter.repeat(300));
            for (length, count) in [(40, 1), (300, 1), (3000, 1), (300, 40)] {
                let literals: Vec<String> = (0..count).map(|end| format!("{}{end}x", letter.repeat(length))).collect();
                let masked = Secrets::new(literals.clone(), &[]).mask(&text).into_owned();
                assert!(masked.starts_with("shown "), "{count} of {length} {letter}");
                assert!(masked.ends_with(MASK), "{count} of {length} {letter}");
                assert!(!literals.iter().any(|literal| masked.contains(literal)), "{count} of {length} {letter}");
            }
        }
    }

    #[test]
    fn g2_what_is_part_of_a_domain_is_no_secret() {
        let domains: Vec<String> = (0..5000).map(|number| format!("host{number}.example.com")).collect();
        let public: Vec<&str> = domains.iter().map(String::as_str).collect();
        let literals = [
            "com",
            "Host17",
            "EXAMPLE.com",
            "e",
            "t1",
            "ample.net",
            "xyz",
            "q",
            "hos",
            "203.0.113.7",
            "__IP__",
            "__domain__",
        ];
        let secrets = Secrets::new(literals.map(str::to_owned), &public);
        assert_eq!(secrets.plain.0, ["ample.net", "xyz"], "one letter hides nothing");
        // Made of parts of the domains, but not part of any.
        let many = (0..5000).map(|number| format!("host{number}.example.comhost{number}"));
        assert_eq!(Secrets::new(many, &public).plain.0.len(), 5000);
        let long = "a".repeat(200_000);
        assert_eq!(Secrets::new([format!("{long}b")], &[&long]).plain.0.len(), 1);
    }
}
