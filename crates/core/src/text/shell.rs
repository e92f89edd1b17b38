//! Words for a POSIX shell.

use super::screen;

/// A word, in quotes if it needs them. `printf` writes the characters that would control the terminal that shows it.
pub fn quote(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_@%+=:,./-".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let letter = |letter: char| match letter {
        '\'' => "'\\''".to_owned(),
        '\n' | '\t' => letter.into(),
        _ if screen::is_harmless(letter) => letter.into(),
        _ => {
            let octal: Vec<String> =
                letter.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\{byte:03o}")).collect();
            format!("'\"$(printf '{}')\"'", octal.concat())
        }
    };
    format!("'{}'", word.chars().map(letter).collect::<String>())
}

/// A command, ready to paste into a shell.
pub fn line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    words.into_iter().map(quote).collect::<Vec<_>>().join(" ")
}
