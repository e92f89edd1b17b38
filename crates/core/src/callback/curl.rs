//! A request as a curl command that sends the same bytes, to try it by hand or to show it to the operator of the
//! endpoint. Quoted for a POSIX shell.

use crate::callback::{Method, Redacted};
use crate::net::ssl::Ssl;
use crate::text::shell::{line as on_one_line, quote};

/// The words of the command. Options switch off what curl would add or change by itself, where that is possible.
pub fn words(request: &Redacted, ssl: &Ssl) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut add = |more: &[&str]| words.extend(more.iter().map(|&word| word.to_owned()));
    // Ignore curl's own configuration and the proxy of the environment; send the URL as it is, brackets and dots included.
    add(&["curl", "-q", "-i", "-g", "--path-as-is"]);
    match &request.proxy {
        None => add(&["--noproxy", "*"]),
        Some(proxy) => {
            add(&["--noproxy", "", "--proxy", &proxy.address]);
            if let Some((user, password)) = &proxy.credentials {
                add(&["--proxy-user", &format!("{user}:{password}")]);
            }
        }
    }
    if request.url.secure {
        add(&["--http1.1"]);
        match ssl {
            Ssl::Auto | Ssl::Verify => {}
            Ssl::Off => add(&["-k"]),
            Ssl::Ca(path) => add(&["--cacert", path]),
        }
    }
    for (name, value) in &request.headers {
        match (name.as_ref(), &request.url.credentials) {
            // curl makes these from the URL and the body.
            ("Host", _) => {}
            ("Content-Length", _) if request.body.is_some() => {}
            // curl leaves out a header without a value unless it ends with a semicolon.
            (name, _) if value.is_empty() => add(&["-H", &format!("{name};")]),
            ("User-Agent", _) => add(&["-A", value]),
            ("Authorization", Some((user, password))) if !has_control(user) && !has_control(password) => {
                add(&["-u", &format!("{user}:{password}")]);
            }
            _ => add(&["-H", &format!("{name}: {value}")]),
        }
    }
    if let Some(body) = &request.body {
        add(&["-H", "Expect:", "--data-raw", body]);
    }
    if request.method != Method::of_body(request.body.is_some()) {
        add(&["-X", request.method.as_str()]);
    }
    add(&[&request.url.to_string()]);
    words
}

/// A control character could end a line or drive a terminal: such credentials are shown in base64, as a header.
fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

/// Quotes the words for a shell. With a `width`, longer lines are broken with a backslash, even inside a word, without
/// changing the meaning.
pub fn quoted(words: &[String], width: Option<usize>) -> String {
    let Some(width) = width else {
        return on_one_line(words.iter().map(String::as_str));
    };
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for (at, word) in words.iter().enumerate() {
        let whole = quote(word);
        let begun = if line.is_empty() { String::new() } else { format!("{line} ") };
        // An option and its value stay on one line if both fit.
        let value = words.get(at + 1).filter(|next| word.starts_with('-') && !next.starts_with('-'));
        let both = length(&whole) + value.map_or(0, |value| 1 + length(&quote(value)));
        let need = if both + 4 <= width { both } else { length(&whole) };
        // Two columns for the space and the backslash after it.
        if length(&begun) + need + 2 <= width {
            line = begun + &whole;
            continue;
        }
        if !line.is_empty() {
            lines.push(format!("{line} \\"));
        }
        let mut pieces = pieces(word, width - 4).into_iter();
        line = format!("  {}", pieces.next().unwrap_or_else(|| quote("")));
        for piece in pieces {
            // No space before the rest: it would start a new word.
            lines.push(format!("{line}\\"));
            line = piece;
        }
    }
    lines.push(line);
    lines.join("\n")
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Splits a word into parts that take at most `most` columns when they are quoted.
fn pieces(word: &str, most: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let (mut start, mut columns) = (0, 2);
    for (at, letter) in word.char_indices() {
        // The space forces quotes; they and the space are not counted.
        let more = length(&quote(&format!(" {letter}"))) - 3;
        if columns + more > most && start < at {
            pieces.push(quote(&word[start..at]));
            (start, columns) = (at, 2);
        }
        columns += more;
    }
    if start < word.len() {
        pieces.push(quote(&word[start..]));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses a command like a shell, with just enough rules for the commands made here.
    fn unquoted(text: &str) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut word: Option<String> = None;
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            match letter {
                ' ' => words.extend(word.take()),
                '\'' => word.get_or_insert_default().extend(letters.by_ref().take_while(|letter| *letter != '\'')),
                // `"$(printf '\033')"`
                '"' => {
                    let digits: Vec<char> = letters.by_ref().take_while(|letter| *letter != '"').collect();
                    let digits: String =
                        digits.iter().filter(|letter| **letter == '\\' || letter.is_ascii_digit()).collect();
                    let bytes =
                        digits.split('\\').skip(1).filter_map(|byte| u8::from_str_radix(byte, 8).ok()).collect();
                    word.get_or_insert_default().push_str(&String::from_utf8(bytes).expect("UTF-8"));
                }
                '\\' => match letters.next() {
                    Some('\n') | None => {}
                    Some(letter) => word.get_or_insert_default().push(letter),
                },
                letter => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        words
    }

    proptest! {
        #[test]
        fn a_shell_reads_the_words_back(
            words in proptest::collection::vec("\\PC{0,200}|['\\\\ \"$`\n]{0,60}|[a\u{1b}\r\u{9b}\u{202e}]{0,9}", 1..6), width in 40_usize..100,
        ) {
            prop_assert_eq!(unquoted(&quoted(&words, None)), words.clone());
            let broken = quoted(&words, Some(width));
            prop_assert_eq!(unquoted(&broken), words.clone(), "{}", broken);
            if !words.iter().any(|word| word.contains('\n')) {
                for line in broken.lines() {
                    prop_assert!(line.chars().count() <= width, "{} columns: {line}", line.chars().count());
                }
            }
        }
    }

    #[test]
    fn only_what_needs_quotes_has_them() {
        let words = ["curl", "-H", "Expect:", "https://h/?a=1", "it's", ""].map(str::to_owned);
        assert_eq!(quoted(&words, None), "curl -H Expect: 'https://h/?a=1' 'it'\\''s' ''");
    }
}
