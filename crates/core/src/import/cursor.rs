//! Walks through a text letter by letter, and counts its lines.

/// A place in a text.
pub(super) struct TextCursor<'a> {
    pub(super) rest: &'a str,
    /// The current line, from 1.
    pub(super) line: usize,
}

impl<'a> TextCursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, line: 1 }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    pub(super) fn take(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.skip(letter.len_utf8());
        Some(letter)
    }

    /// Skips and returns this number of bytes.
    pub(super) fn skip(&mut self, bytes: usize) -> &'a str {
        let (before, rest) = self.rest.split_at(bytes);
        self.line += before.matches('\n').count();
        self.rest = rest;
        before
    }

    pub(super) fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        self.skip(self.rest.find(|letter| !belongs(letter)).unwrap_or(self.rest.len()))
    }

    /// Skips and returns everything up to and including `end`, or the rest of the text if `end` does not follow.
    pub(super) fn skip_behind(&mut self, end: &str) -> &'a str {
        self.skip(self.rest.find(end).map_or(self.rest.len(), |at| at + end.len()))
    }

    /// A letter from its number, which has at most `digits` digits.
    fn code(&mut self, radix: u32, digits: usize) -> char {
        let length = self.rest.chars().take(digits).take_while(|letter| letter.is_digit(radix)).count();
        let number = u32::from_str_radix(self.skip(length), radix).ok();
        number.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// The text up to the closing quote; if there is none, the error is the rest of the text. `escapes` are the letters that a backslash
    /// may escape, and `*` if it may escape all others, which then mean themselves; `\$` becomes a NUL. Before any other letter, a
    /// backslash means itself.
    pub(super) fn quoted(&mut self, quote: char, escapes: &str) -> Result<String, String> {
        let mut text = String::new();
        while let Some(letter) = self.take() {
            let next = self.peek().filter(|next| escapes.contains([*next, '*']));
            match (letter, next) {
                _ if letter == quote => return Ok(text),
                ('\\', Some('0'..='7')) if escapes.contains('0') => text.push(self.code(8, 3)),
                ('\\', Some(next)) => {
                    self.take();
                    match next {
                        _ if !escapes.contains(next) => text.push(next),
                        'n' => text.push('\n'),
                        'r' => text.push('\r'),
                        't' => text.push('\t'),
                        'x' => text.push(self.code(16, 2)),
                        'u' => text.push(self.code(16, 4)),
                        'U' => text.push(self.code(16, 8)),
                        '\n' => {}
                        '$' => text.push('\0'),
                        _ => text.push(next),
                    }
                }
                _ => text.push(letter),
            }
        }
        Err(text)
    }

    /// A word of bare and quoted parts, up to one of the letters in `ends`; `None` if one of them is next. `single` are the escapes
    /// within single quotes. If a quote is not closed, the error is the word so far.
    pub(super) fn word(&mut self, ends: &str, single: &str) -> Result<Option<String>, String> {
        let mut word = None::<String>;
        while let Some(letter) = self.peek().filter(|letter| !ends.contains(*letter)) {
            self.take();
            let word = word.get_or_insert_default();
            match letter {
                '\'' | '"' => match self.quoted(letter, if letter == '"' { "*" } else { single }) {
                    Ok(part) => *word += &part,
                    Err(rest) => return Err(format!("{word}{rest}")),
                },
                '\\' => word.extend(self.take()),
                _ => word.push(letter),
            }
        }
        Ok(word)
    }
}
