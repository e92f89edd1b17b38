//! A configuration's text as a browser may see it (I2): without its secrets.

mod hide;
#[cfg(test)]
mod tests;

use crate::text::secrets::MASK;

/// Every secret is `***`, also in fields that are not known, and so is what comments say; everything else is as it was, byte for
/// byte.
pub fn mask(text: &str) -> String {
    let (mut masked, mut at) = (String::with_capacity(text.len()), 0);
    for hidden in hide::hidden(text) {
        masked.push_str(&text[at..hidden.range.start]);
        let quote = if hidden.is_bare { "\"" } else { "" };
        masked.extend([quote, MASK, quote]);
        at = hidden.range.end;
    }
    masked.push_str(&text[at..]);
    masked
}
