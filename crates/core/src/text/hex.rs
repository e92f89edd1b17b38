//! Bytes as pairs of hexadecimal digits, and back.

/// Two lowercase digits for each byte.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    push(&mut text, bytes);
    text
}

/// Appends [`text`].
pub(crate) fn push(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
}

/// The bytes of pairs of digits; `None` if the text has anything else.
pub(crate) fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 2);
    for pair in text.as_bytes().chunks(2) {
        bytes.push(byte(pair)?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_survive() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(super::bytes(&super::text(&all)), Some(all));
        assert_eq!(super::bytes("0"), None);
        assert_eq!(super::bytes("0g"), None);
    }
}
