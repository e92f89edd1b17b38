//! The grammar of `index4` and `index6`: where an address is looked for. Parsing only; asking is the shell's.

use std::fmt;

/// One place to look for the host's address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// The address the kernel would use toward the internet.
    Default,
    /// The text of a web page.
    Url(String),
    /// The output of a program, run without a shell: its words.
    Command(Vec<String>),
    /// The output of `sh -c`.
    Shell(String),
}

/// The forms a source may have, for messages.
pub const FORMS: &str = "default, url:ADDRESS, cmd:PROGRAM, shell:COMMAND, or false";

/// Forms of the contract that this version does not have yet.
const PLANNED: [&str; 3] = ["public", "regex:", "interface:"];

/// Whatever follows one of these is taken whole, separators included (B9).
const TAKES_ALL: [&str; 4] = ["url:", "regex:", "cmd:", "shell:"];

impl Source {
    /// Reads one source. The error is a sentence that goes on from the name of the field.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (form, rest) = match text.split_once(':') {
            Some((form, rest)) => (form.to_ascii_lowercase(), Some(rest.trim())),
            None => (text.to_ascii_lowercase(), None),
        };
        match (form.as_str(), rest) {
            ("default", None) => Ok(Self::Default),
            ("url" | "cmd" | "shell", None | Some("")) => Err(format!("`{form}:` needs something behind the colon")),
            ("url", Some(url)) => {
                let scheme = url.split("://").next().unwrap_or_default().to_ascii_lowercase();
                if url.contains("://") && matches!(scheme.as_str(), "http" | "https") {
                    Ok(Self::Url(url.to_owned()))
                } else {
                    Err(format!("`url:` needs a whole address: did you mean `url:https://{url}`?"))
                }
            }
            ("shell", Some(command)) => Ok(Self::Shell(command.to_owned())),
            ("cmd", Some(command)) => words(command).map(Self::Command),
            _ if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() => {
                Err(format!("the interface number `{text}` is a source that this version does not have yet"))
            }
            _ if PLANNED.iter().any(|planned| *planned == form || planned.strip_suffix(':') == Some(&form)) => {
                Err(format!("`{form}` is a source that this version does not have yet"))
            }
            _ => Err(format!("`{text}` is no source of addresses")),
        }
    }

    /// Whether it runs a program: refused in a configuration that was fetched (B12).
    pub fn runs_a_program(&self) -> bool {
        matches!(self, Self::Command(_) | Self::Shell(_))
    }
}

/// How a source is named in messages. Commands and the query of an address may hold keys and are not shown.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Url(url) => write!(f, "url:{}", without_secrets(url)),
            Self::Command(words) => write!(f, "cmd:{}", words.first().map_or("", String::as_str)),
            Self::Shell(_) => f.write_str("shell:…"),
        }
    }
}

/// An address without its credentials and query.
fn without_secrets(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let authority_end = rest[..end].find('/').unwrap_or(end);
    let host_start = rest[..authority_end].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[host_start..end])
}

/// Splits a string list at commas and semicolons (B9). What follows `url:`, `regex:`, `cmd:` or `shell:` stays whole.
pub fn split_list(text: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let takes_all =
            TAKES_ALL.iter().any(|form| rest.get(..form.len()).is_some_and(|start| start.eq_ignore_ascii_case(form)));
        let end = if takes_all { None } else { rest.find([',', ';']) };
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

/// Splits a command line into words: blanks separate, single and double quotes hold together, a backslash outside single
/// quotes takes the next character as it is.
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
                word.get_or_insert_default().push(next);
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
        let cases: [(&str, &[&str]); 5] = [
            ("cmd:ip addr", &["ip", "addr"]),
            ("cmd: a  'b c' \"d 'e'\" f\\ g", &["a", "b c", "d 'e'", "f g"]),
            ("cmd:a ''", &["a", ""]),
            ("cmd:a x'y'z", &["a", "xyz"]),
            ("cmd:'C:\\x'", &["C:\\x"]),
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
        assert!(Source::parse("public").unwrap_err().contains("not have yet"));
        assert!(Source::parse("0").unwrap_err().contains("not have yet"));
        assert!(Source::parse("url:ip.example/").unwrap_err().contains("url:https://ip.example/"));
        assert!(Source::parse("url:").is_err());
    }

    #[test]
    fn g2_a_source_is_named_without_keys() {
        let named = |text| Source::parse(text).expect("a source").to_string();
        assert_eq!(named("url:https://u:pw@h.example/ip?key=s3cret"), "url:https://h.example/ip");
        assert_eq!(named("shell:curl -H key:s3cret x"), "shell:…");
        assert_eq!(named("cmd:curl -H s3cret"), "cmd:curl");
    }
}
