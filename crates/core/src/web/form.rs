//! Forms and queries, `a=b&c=d`, as browsers send them.

use crate::net::url::percent_decode;

/// Names and values, in order.
pub fn fields(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    pairs(text).map(|(name, value)| (decoded(name), decoded(value)))
}

/// The first value of a name; `None` if it is not there.
pub fn value(text: &str, name: &str) -> Option<String> {
    pairs(text).find(|(known, _)| decoded(known) == name).map(|(_, value)| decoded(value))
}

fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// Decodes a name or value of a form.
fn decoded(text: &str) -> String {
    percent_decode(&text.replace('+', " "))
}

/// Whether a text is a path of this page that cannot lead to another host.
pub fn is_own_path(text: &str) -> bool {
    let is_plain = |byte: u8| (0x21..0x7f).contains(&byte) && byte != b'\\';
    text.starts_with('/') && !text.starts_with("//") && text.len() <= 2_000 && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i1_a_form_is_read_as_browsers_write_it() {
        let text = "a=1+2&b=%C3%A4%26%3D&a=second&c&=d&e=100%&f=%zz";
        let expected = [("a", "1 2"), ("b", "ä&="), ("a", "second"), ("c", ""), ("", "d"), ("e", "100%"), ("f", "%zz")];
        let read: Vec<(String, String)> = fields(text).collect();
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(value(text, "a").as_deref(), Some("1 2"), "the first counts");
        assert_eq!((value(text, "c").as_deref(), value(text, "z")), (Some(""), None));
    }
}
