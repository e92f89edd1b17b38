//! Walks through a text, letter by letter, and knows the line.

/// A place in a text.
pub(super) struct TextCursor<'a> {
    pub(super) rest: &'a str,
    /// From 1.
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

    /// So many bytes.
    pub(super) fn skip(&mut self, bytes: usize) -> &'a str {
        let (before, rest) = self.rest.split_at(bytes);
        self.line += before.matches('\n').count();
        self.rest = rest;
        before
    }

    pub(super) fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        self.skip(self.rest.find(|letter| !belongs(letter)).unwrap_or(self.rest.len()))
    }

    /// Everything up to a text, and that; all that is left where there is none.
    pub(super) fn skip_behind(&mut self, end: &str) -> &'a str {
        self.skip(self.rest.find(end).map_or(self.rest.len(), |at| at + end.len()))
    }

    /// A letter by its number, of so many digits at most.
    pub(super) fn code(&mut self, radix: u32, digits: usize) -> char {
        let length = self.rest.chars().take(digits).take_while(|letter| letter.is_digit(radix)).count();
        let number = u32::from_str_radix(self.skip(length), radix).ok();
        number.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}
