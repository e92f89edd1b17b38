//! The grammar of `index4` and `index6`: where to look up an address. This only parses; the program does the lookup.

mod dns_source;
mod push_source;

use std::fmt;
use std::net::Ipv4Addr;
use std::slice;

use regex_lite::Regex;

use crate::callback::{Target, Variables, is_long};
use crate::net::stun;
use crate::net::url::{Url, bracketed, has_unclear_host, masked, split_authority};
use crate::text::diagnostic::nearest;
use crate::text::secrets::MASK;

pub use dns_source::{DnsSource, host_and_port};
pub use push_source::{PushSource, is_name as is_push_name};

/// One place to look for the host's address. Prints itself without secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// The address the kernel would use toward the internet.
    Default,
    /// The address that services on the internet see.
    Public,
    /// An address in the text of a web page.
    Url(String),
    /// The Nth interface that has a usable address, from 0.
    Number(usize),
    /// The interface of this name.
    Interface(String),
    /// The first local address that matches a pattern.
    Pattern(Pattern),
    /// The output of a program that runs without a shell: the program and its arguments.
    Command(Vec<String>),
    /// The output of a command that `sh -c` runs.
    Shell(String),
    /// The address that a STUN server sees: its host and port.
    Stun(String, u16),
    /// The external address that a router reports: the router at this address, or `None`: the router of the default route.
    Router(Option<Ipv4Addr>),
    /// The address that another host pushed to the service (F10).
    Push(PushSource),
    /// The address that a DNS server sees; `None`: the built-in servers, in turn (F8).
    Dns(Option<DnsSource>),
    /// The address that at least this many of these sources agree on. Contains no other quorum, and at least as many sources as must
    /// agree.
    Quorum(usize, Vec<Source>),
}

/// A valid regular expression. Two patterns are equal if their texts are.
#[derive(Debug, Clone)]
pub struct Pattern(pub Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

/// The forms of a source, for messages.
pub const FORMS: &str = "default, public, url:ADDRESS, a number (0, 1, …), interface:NAME, regex:PATTERN, cmd:PROGRAM, \
                         shell:COMMAND, stun:HOST, dns, dns:SERVER/NAME, router, push, push:NAME, quorum:N(SOURCE, …), or false";

/// The forms that may stand without a colon.
const PLAIN_SOURCES: [&str; 5] = ["default", "public", "dns", "router", "push"];

/// The forms that may have a value after a colon.
const PREFIXES: [&str; 10] = ["url", "interface", "regex", "cmd", "shell", "stun", "quorum", "dns", "router", "push"];

/// Longer `regex:` patterns are refused.
const MAX_PATTERN_BYTES: usize = 500;

/// The value of these forms runs to the end of the text, separators included (B9).
const UNSPLIT_PREFIXES: [&str; 4] = ["url:", "regex:", "cmd:", "shell:"];

impl Source {
    /// Reads one source. The error is a sentence to put after the name of the field.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (form, rest) = match text.split_once(':') {
            Some((form, rest)) => (form.trim().to_ascii_lowercase(), Some(rest.trim())),
            None => (text.to_ascii_lowercase(), None),
        };
        match (form.as_str(), rest) {
            // NewFuture/DDNS says `local`.
            ("default" | "local", None) => Ok(Self::Default),
            ("public", None) => Ok(Self::Public),
            ("router", None) => Ok(Self::Router(None)),
            ("router", Some(ip)) => ip.parse().map(|ip| Self::Router(Some(ip))).map_err(|_| {
                let alone = "`router` alone asks that of the default route";
                format!("`router:` needs the IPv4 address of a router after the colon; {alone}")
            }),
            ("push", None) => Ok(Self::Push(PushSource::default())),
            ("push", Some(name)) => PushSource::parse(name).map(Self::Push),
            ("dns", None) => Ok(Self::Dns(None)),
            (form, None | Some("")) if PREFIXES.contains(&form) => {
                Err(format!("`{form}:` needs a value after the colon"))
            }
            ("url", Some(url)) => address(url),
            ("interface", Some(name)) => Ok(Self::Interface(name.to_owned())),
            ("regex", Some(pattern)) => expression(pattern),
            ("shell", Some(command)) => Ok(Self::Shell(command.to_owned())),
            ("cmd", Some(command)) => match words(command)? {
                words if words.first().is_some_and(|program| program.contains('=')) => {
                    Err("`cmd:` begins with a variable, which only a shell understands: use `shell:`".to_owned())
                }
                words => Ok(Self::Command(words)),
            },
            ("stun", Some(server)) => host_and_port(server, stun::PORT)
                .map(|(host, port)| Self::Stun(host, port))
                .map_err(|why| format!("the server after `stun:` {why}")),
            ("dns", Some(rest)) => DnsSource::parse(rest).map(|source| Self::Dns(Some(source))),
            ("quorum", Some(rest)) => quorum(rest, text.len() - rest.len()),
            (digits, None) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().map(Self::Number).map_err(|_| format!("there is no interface number {digits}"))
            }
            ("http" | "https", Some(_)) => Err(format!("a URL needs `url:` in front of it{}", suggestion(text))),
            ("false" | "none", None) => Err(format!("`{text}` switches the family off and can only stand alone")),
            _ if text.parse::<std::net::IpAddr>().is_ok() => {
                Err(format!("`{text}` is an address, not a source of one: did you mean `cmd:echo {text}`?"))
            }
            _ => {
                // Do not repeat what follows a colon, nor a long word: either may contain a key.
                let named = match rest {
                    _ if is_long(&form) || !form.bytes().all(is_of_word) => "this".to_owned(),
                    Some(_) => format!("`{form}:…`"),
                    None => format!("`{text}`"),
                };
                let is_interface =
                    text.starts_with(['e', 'w', 'b', 'p', 't', 'u']) && text.ends_with(|c: char| c.is_ascii_digit());
                let is_no = rest.is_none() && matches!(&*form, "no" | "n" | "f" | "off");
                let known = PLAIN_SOURCES.into_iter().chain(["false"]).chain(PREFIXES);
                let near = if is_no { Some("false") } else { nearest(&form, known) };
                let meant = match near {
                    Some(near) if PLAIN_SOURCES.contains(&near) || near == "false" => {
                        format!(": did you mean `{near}`?")
                    }
                    Some(near) => format!(": did you mean `{near}:`?"),
                    None if rest.is_none() && named != "this" && is_interface => {
                        format!(": did you mean `interface:{text}`?")
                    }
                    None => String::new(),
                };
                Err(format!("{named} is not a source of addresses{meant}"))
            }
        }
    }

    /// The sources of a quorum, or this source itself.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Quorum(_, sources) => sources,
            _ => slice::from_ref(self),
        }
    }

    /// The secrets in the URLs of pages: query, credentials and long parts of the path.
    pub fn secrets(&self) -> Vec<String> {
        let of_url = |source: &Self| match source {
            Self::Url(url) => Target::new("", url, &Variables::default(), &mut Vec::new()).ok(),
            _ => None,
        };
        self.parts().iter().filter_map(of_url).flat_map(|page| page.secrets()).collect()
    }

    /// Whether the result depends on the addresses of this host: it is one of them, or what a server sees of this host.
    pub fn is_of_this_host(&self) -> bool {
        let is_elsewhere =
            |part: &Self| matches!(part, Self::Command(_) | Self::Shell(_) | Self::Push(_) | Self::Router(_));
        !self.parts().iter().all(is_elsewhere)
    }

    /// Whether the URL of a page contains a secret.
    pub fn has_secret(&self) -> bool {
        self.parts().iter().any(|part| matches!(part, Self::Url(url) if without_secrets(url) != *url))
    }

    /// The router that this source asks (F9): `Some(None)` is the router of the default route; `None`: this source asks no router.
    pub fn router(&self) -> Option<Option<Ipv4Addr>> {
        if let Self::Router(router) = self { Some(*router) } else { None }
    }

    /// Whether this source asks a router, which knows only IPv4.
    pub fn asks_router(&self) -> bool {
        self.parts().iter().any(|part| part.router().is_some())
    }

    /// The parts that take what other hosts push (F10).
    pub fn pushes(&self) -> Vec<&PushSource> {
        let parts = self.parts().iter();
        parts.filter_map(|part| if let Self::Push(source) = part { Some(source) } else { None }).collect()
    }

    /// The same parts, to be completed from the configuration.
    pub(crate) fn pushes_mut(&mut self) -> Vec<&mut PushSource> {
        match self {
            Self::Push(source) => vec![source],
            Self::Quorum(_, sources) => sources.iter_mut().flat_map(Self::pushes_mut).collect(),
            _ => Vec::new(),
        }
    }

    /// A word of a `cmd:` source that only a shell understands, such as `|`.
    pub(crate) fn sign_for_shell(&self) -> Option<&str> {
        const SHELL_OPERATORS: [&str; 9] = ["|", "||", "&&", ";", ">", ">>", "<", "2>&1", "2>/dev/null"];
        let Self::Command(words) = self else { return None };
        words.iter().map(String::as_str).find(|word| SHELL_OPERATORS.contains(word))
    }

    /// Whether this source runs a program, which is refused in a configuration from a URL (B12).
    pub fn runs_a_program(&self) -> bool {
        self.parts().iter().any(|part| matches!(part, Self::Command(_) | Self::Shell(_)))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The name of a source in messages, redacted: commands and the query of a URL may contain keys.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Public => f.write_str("public"),
            Self::Url(url) => write!(f, "url:{}", without_secrets(url)),
            Self::Number(number) => write!(f, "interface number {number}"),
            Self::Interface(name) => write!(f, "interface:{name}"),
            Self::Pattern(pattern) => write!(f, "regex:{}", pattern.0.as_str()),
            Self::Command(words) => write!(f, "cmd:{}", words.first().map_or("", |word| file_name(word))),
            Self::Shell(_) => f.write_str("shell:…"),
            Self::Router(None) => f.write_str("router"),
            Self::Router(Some(ip)) => write!(f, "router:{ip}"),
            Self::Push(source) => source.fmt(f),
            Self::Stun(host, port) => write!(f, "stun:{}:{port}", bracketed(host)),
            Self::Dns(None) => f.write_str("dns"),
            Self::Dns(Some(source)) => write!(f, "dns:{source}"),
            Self::Quorum(need, sources) => {
                let names: Vec<String> = sources.iter().map(ToString::to_string).collect();
                write!(f, "quorum:{need}({})", names.join(", "))
            }
        }
    }
}

/// `url:`: an absolute URL, checked when the configuration is read.
fn address(url: &str) -> Result<Source, String> {
    if !url.contains("://") {
        return Err(format!("`url:` needs an absolute URL{}", suggestion(&format!("https://{url}"))));
    }
    Url::parse(url).map(|_| Source::Url(url.to_owned())).map_err(|why| format!("the address after `url:` {why}"))
}

/// `regex:`. The error names the character after the longest valid beginning of the pattern.
fn expression(pattern: &str) -> Result<Source, String> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(format!("the pattern after `regex:` is longer than {MAX_PATTERN_BYTES} bytes"));
    }
    Regex::new(pattern).map(|regex| Source::Pattern(Pattern(regex))).map_err(|error| {
        let mut ends = pattern.char_indices().map(|(at, _)| at).rev();
        let right = ends.find(|at| Regex::new(&pattern[..*at]).is_ok()).unwrap_or(0);
        let character = pattern[..right].chars().count() + 1;
        let looks_around = LOOK_AROUND.iter().any(|form| pattern.contains(form));
        let instead = if looks_around { "; `interface:NAME` takes the best address of one interface" } else { "" };
        format!("the pattern after `regex:` is wrong at character {character}: {error}{instead}")
    })
}

/// Look-around, which patterns of other clients use to leave out addresses.
const LOOK_AROUND: [&str; 4] = ["(?=", "(?!", "(?<=", "(?<!"];

/// `quorum:N(source, source, …)`. `before` is the number of bytes before `text` in the source.
fn quorum(text: &str, before: usize) -> Result<Source, String> {
    let wrong = |at: usize, why: &str| {
        let character = before + text.get(..at).unwrap_or(text).chars().count() + 1;
        Err(format!("`quorum:` is wrong at character {character}: {why}"))
    };
    let Some((number, rest)) = text.split_once('(') else {
        return wrong(text.len(), "a `(` is missing: quorum:2(source, source, source)");
    };
    let Some(inside) = rest.strip_suffix(')') else {
        return wrong(text.len(), "the closing `)` is missing");
    };
    let mut sources = Vec::new();
    let mut at = number.len() + 1;
    for item in split_sources(inside) {
        let start = at + item.len() - item.trim_start().len();
        if item.trim().is_empty() {
            return wrong(at, "a source is missing");
        }
        match Source::parse(item) {
            Ok(Source::Quorum(..)) => return wrong(start, "a quorum cannot contain another quorum"),
            Ok(source) => sources.push(source),
            Err(why) => return wrong(start, &why),
        }
        at += item.len() + 1;
    }
    match number.trim().parse() {
        Ok(need) if (1..=sources.len()).contains(&need) => Ok(Source::Quorum(need, sources)),
        Ok(_) => wrong(0, &format!("the number must be between 1 and {}, the number of its sources", sources.len())),
        Err(_) => wrong(0, "a number is missing: quorum:2(source, source, source)"),
    }
}

/// Splits the inside of a quorum at commas. The values of `url:`, `regex:`, `cmd:` and `shell:` may contain commas, so these end
/// only at a comma that is followed by another source.
fn split_sources(text: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut start, mut from) = (0, 0);
    while let Some(comma) = text[from..].find(',').map(|skip| from + skip) {
        let takes_all = UNSPLIT_PREFIXES.iter().any(|form| starts_with(text[start..].trim_start(), form));
        if !takes_all || begins_a_source(&text[comma + 1..]) {
            items.push(&text[start..comma]);
            start = comma + 1;
        }
        from = comma + 1;
    }
    items.push(&text[start..]);
    items
}

fn begins_a_source(text: &str) -> bool {
    let item = text.split(',').next().unwrap_or_default().trim();
    let (form, is_alone) = item.split_once(':').map_or((item, true), |(form, _)| (form.trim(), false));
    let is = |word: &&str| form.eq_ignore_ascii_case(word);
    if is_alone { PLAIN_SOURCES.iter().any(is) || is(&"local") } else { PREFIXES.iter().any(is) }
}

/// The name of a program without its folders.
pub fn file_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

/// Suggests the source that is probably meant; empty if the URL is not valid, or an `@` after its host may end a password.
fn suggestion(url: &str) -> String {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let has_at = rest.split_once(['/', '?', '#']).is_some_and(|(_, path)| path.contains('@'));
    let is_clear = Url::parse(url).is_ok() && !has_at;
    if is_clear { format!(": did you mean `url:{}`?", without_secrets(url)) } else { String::new() }
}

/// A valid URL without its credentials, its query and the parts of its path that may be keys.
fn without_secrets(url: &str) -> String {
    if has_unclear_host(url) {
        return masked(url);
    }
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (authority, behind) = split_authority(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let path = behind.split(['?', '#']).next().unwrap_or_default();
    // An `@` in the path may end a password that contains a `/`. If the authority contains a colon, so may an `@` after the path.
    let has_at = if authority.contains(':') { behind } else { path }.contains('@');
    let is_hidden = |segment: &str| is_long(segment) || (has_at && !segment.is_empty());
    let mut shown = String::with_capacity(url.len());
    shown.extend([scheme, "://", host]);
    for (at, segment) in path.split('/').enumerate() {
        shown.push_str(if at == 0 { "" } else { "/" });
        shown.push_str(if is_hidden(segment) { MASK } else { segment });
    }
    shown
}

/// Splits a string list at commas and semicolons (B9). What follows `url:`, `regex:`, `cmd:` or `shell:` stays whole.
pub fn split_list(text: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let takes_all = UNSPLIT_PREFIXES.iter().any(|form| starts_with(rest, form));
        let end = match () {
            () if takes_all => None,
            // Separators within the parentheses of a quorum belong to it.
            () if starts_with(rest, "quorum:") => {
                let close = closing(rest).or_else(|| rest.rfind(')')).unwrap_or(rest.len());
                rest[close..].find([',', ';']).map(|at| close + at)
            }
            () => rest.find([',', ';']),
        };
        let (item, next) = end.map_or((rest, None), |at| (&rest[..at], Some(&rest[at + 1..])));
        if !item.trim().is_empty() {
            items.push(item.trim());
        }
        match next {
            Some(next) => rest = next,
            None => return items,
        }
    }
}

/// The byte at which the first parenthesis of a text is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(at),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn starts_with(text: &str, form: &str) -> bool {
    text.get(..form.len()).is_some_and(|start| start.eq_ignore_ascii_case(form))
}

/// Splits a command line into words at spaces, except within single or double quotes. As in a shell, a backslash escapes the next
/// character, within double quotes only `"`, `\`, `$` and a backquote, and within single quotes none.
fn words(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = letters.next().ok_or("`cmd:` ends in a backslash")?;
                let word = word.get_or_insert_default();
                word.extend((quote.is_some() && !matches!(next, '"' | '\\' | '$' | '`')).then_some(letter));
                word.push(next);
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(open) = quote {
        return Err(format!("`cmd:` has a {open} that is not closed"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f6_a_command_is_split_into_words_as_a_shell_would() {
        let cases: [(&str, &[&str]); 6] = [
            ("cmd:ip addr", &["ip", "addr"]),
            ("cmd: a  'b c' \"d 'e'\" f\\ g", &["a", "b c", "d 'e'", "f g"]),
            ("cmd:a ''", &["a", ""]),
            ("cmd:a x'y'z", &["a", "xyz"]),
            ("cmd:'C:\\x'", &["C:\\x"]),
            (r#"cmd:sed "s/\([0-9.]*\).*/\1/" "\"\\\$\`" \(x\)"#, &["sed", r"s/\([0-9.]*\).*/\1/", r#""\$`"#, "(x)"]),
        ];
        for (text, expected) in cases {
            let expected = expected.iter().map(ToString::to_string).collect();
            assert_eq!(Source::parse(text), Ok(Source::Command(expected)), "{text}");
        }
        assert!(Source::parse("cmd:a 'b").is_err());
    }

    #[test]
    fn b9_what_follows_a_prefix_is_taken_whole() {
        assert_eq!(split_list("default, url:http://h/?a=1,2;3"), ["default", "url:http://h/?a=1,2;3"]);
        assert_eq!(split_list("a.example,b.example; c.example,"), ["a.example", "b.example", "c.example"]);
        assert_eq!(split_list("SHELL:a;b"), ["SHELL:a;b"]);
        assert!(split_list(" , ").is_empty());
    }

    #[test]
    fn an_unknown_form_is_refused_and_an_address_is_completed() {
        assert!(Source::parse("nonsense").is_err());
        assert!(Source::parse("defualt").unwrap_err().contains("did you mean `default`"));
        assert!(Source::parse("No").unwrap_err().contains("did you mean `false`"));
        assert!(Source::parse("interfaces:x").unwrap_err().contains("did you mean `interface:`"));
        assert!(Source::parse("url:ip.example/").unwrap_err().contains("url:https://ip.example/"));
        assert!(Source::parse("url:").is_err());
    }

    #[test]
    fn f5_and_stun_forms_are_understood() {
        assert_eq!(Source::parse(" 2 "), Ok(Source::Number(2)));
        assert_eq!(Source::parse("interface:eth0"), Ok(Source::Interface("eth0".into())));
        let stun = |host: &str, port| Ok(Source::Stun(host.into(), port));
        assert_eq!(Source::parse("stun:s.example"), stun("s.example", 3478));
        assert_eq!(Source::parse("stun:s.example:80"), stun("s.example", 80));
        assert_eq!(Source::parse("stun:[2001:db8::1]"), stun("2001:db8::1", 3478));
        assert_eq!(Source::parse("stun:[2001:db8::1]:5"), stun("2001:db8::1", 5));
        assert_eq!(Source::parse("stun:2001:db8::1"), stun("2001:db8::1", 3478));
        for wrong in
            ["stun:a b", "stun:h:99999", "stun:h/x", "stun:u@h", "url:http://", "url:ftp://h/", "99999999999999999999"]
        {
            assert!(Source::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn f10a_push_has_a_name_or_none() {
        for (text, name) in [("push", None), (" PUSH ", None), ("push:fritz-box_1.a", Some("fritz-box_1.a"))] {
            let name = name.map(str::to_owned);
            let parsed = Source::parse(text).expect(text);
            assert_eq!(parsed, Source::Push(PushSource { name, ..PushSource::default() }), "{text}");
            assert_eq!(Source::parse(&parsed.to_string()), Ok(parsed.clone()));
        }
        let two = Source::parse("quorum:1(url:https://h/?a=1, push, push:b)").expect("a quorum");
        assert_eq!(two.pushes().len(), 2);
        for wrong in ["push:", "push:a b", "push:ä", "push:a/b", &format!("push:{}", "a".repeat(65))] {
            assert!(Source::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_wrong_pattern_points_at_the_character() {
        for (pattern, character) in [("10\\.(0", 5), ("[0-", 1), ("*a", 1), ("a)b", 2), ("ab{3,1}", 3), ("ü(", 2)] {
            let error = Source::parse(&format!("regex:{pattern}")).expect_err(pattern);
            assert!(error.contains(&format!("at character {character}:")), "{pattern}: {error}");
        }
    }

    #[test]
    fn b11_a_pattern_that_looks_around_gets_a_hint_at_an_interface() {
        for pattern in ["(?!fe80).*", "2001(?=:)", "(?<=2).*", "^(?<!f).*"] {
            let error = Source::parse(&format!("regex:{pattern}")).expect_err(pattern);
            assert!(error.contains("look-around is not supported; `interface:NAME`"), "{pattern}: {error}");
        }
        assert!(!Source::parse("regex:[").expect_err("no pattern").contains("interface:"));
    }

    #[test]
    fn f_quorum_is_read_and_mistakes_are_pointed_at() {
        let two = Source::parse("quorum:2(default, url:https://h/a, stun:s.example:5)").expect("a quorum");
        assert!(matches!(&two, Source::Quorum(2, sources) if sources.len() == 3));
        assert_eq!(two.to_string(), "quorum:2(default, url:https://h/a, stun:s.example:5)");
        let two_with_commas = [
            "quorum:2(shell:echo $(a, b), shell:(c))",
            "quorum:2(url:https://h/?a=1,2, default)",
            "quorum:2(regex:[(], default)",
            "quorum:2(shell:curl -d a,s3cr3t x, public)",
            "quorum:2(shell:test a, false, dns)",
        ];
        for text in two_with_commas {
            let two = Source::parse(text).expect(text);
            assert!(matches!(&two, Source::Quorum(2, sources) if sources.len() == 2), "{text}: {two:?}");
        }
        assert!(Source::parse(&format!("regex:({}", "a".repeat(30_000))).is_err());
        let items = ["quorum:1(default, public)", "default"];
        assert_eq!(split_list("quorum:1(default, public), default"), items);
        let wrong = [
            ("quorum:2", 9, "`(` is missing"),
            ("quorum:2(a", 11, "`)` is missing"),
            ("quorum:2(default,,public)", 18, "a source is missing"),
            ("quorum:1(default, nonsense)", 19, "not a source"),
            ("quorum:3(default, public)", 8, "between 1 and 2"),
            ("quorum:0(default)", 8, "between 1 and 1"),
            ("quorum:x(default)", 8, "a number is missing"),
            ("quorum:1(quorum:1(default))", 10, "cannot contain another quorum"),
        ];
        for (text, character, why) in wrong {
            let error = Source::parse(text).expect_err(text);
            assert!(error.contains(&format!("at character {character}:")) && error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn g2_a_source_is_named_without_keys() {
        let named = |text| Source::parse(text).expect("a source").to_string();
        assert_eq!(named("url:https://u:pw@h.example/ip?key=s3cret"), "url:https://h.example/ip");
        assert_eq!(named("shell:curl -H key:s3cret x"), "shell:…");
        assert_eq!(named("cmd:curl -H s3cret"), "cmd:curl");
    }
}
