//! Names with other letters than ASCII, as DNS and most services know them: `münchen` is `xn--mnchen-3ya` (RFC 3492).

const DIGITS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// The longest name that DNS knows. A longer text from outside is not encoded: that takes time.
const MAX_NAME_LENGTH: usize = 253;

/// A name in small letters, each of its labels in ASCII.
pub fn ascii_name(name: &str) -> String {
    if name.len() > MAX_NAME_LENGTH {
        return name.to_lowercase();
    }
    let labels = name.split('.').map(|label| {
        let label = label.to_lowercase();
        if label.is_ascii() { label } else { format!("xn--{}", encoded(&label)) }
    });
    labels.collect::<Vec<_>>().join(".")
}

/// Whether the letters of a name are those that DNS knows: no marks of their own over a letter, no wide letters or stops,
/// for which another spelling counts.
pub fn is_composed(name: &str) -> bool {
    !name.contains(|letter| matches!(letter, '\u{300}'..='\u{36f}' | '\u{3002}' | '\u{ff00}'..='\u{ffef}'))
}

/// A label without its prefix: its ASCII letters, then the places and numbers of the others.
fn encoded(label: &str) -> String {
    let mut text: String = label.chars().filter(char::is_ascii).collect();
    let plain = u32::try_from(text.len()).unwrap_or(u32::MAX);
    if plain > 0 {
        text.push('-');
    }
    let (mut done, mut from, mut delta, mut bias) = (plain, 128u32, 0u32, 72u32);
    while let Some(next) = label.chars().map(u32::from).filter(|letter| *letter >= from).min() {
        delta = delta.saturating_add((next - from).saturating_mul(done + 1));
        for letter in label.chars().map(u32::from) {
            delta = delta.saturating_add(u32::from(letter < next));
            if letter == next {
                push_number(&mut text, delta, bias);
                bias = adapted(delta, done + 1, done == plain);
                (delta, done) = (0, done + 1);
            }
        }
        (delta, from) = (delta.saturating_add(1), next + 1);
    }
    text
}

/// A number in digits of 36 letters, the last of which is below its threshold.
fn push_number(text: &mut String, mut number: u32, bias: u32) {
    let digit = |value: u32| DIGITS.get(value as usize).copied().map(char::from);
    for place in (36u32..).step_by(36) {
        let threshold = place.saturating_sub(bias).clamp(1, 26);
        if number < threshold {
            break;
        }
        text.extend(digit(threshold + (number - threshold) % (36 - threshold)));
        number = (number - threshold) / (36 - threshold);
    }
    text.extend(digit(number));
}

fn adapted(delta: u32, count: u32, is_first: bool) -> u32 {
    let mut delta = if is_first { delta / 700 } else { delta / 2 };
    delta += delta / count;
    let mut bias = 0;
    while delta > 455 {
        (delta, bias) = (delta / 35, bias + 36);
    }
    bias + 36 * delta / (delta + 38)
}

#[cfg(test)]
mod tests {
    use super::ascii_name;

    /// The first ones are from RFC 3492, section 7.1.
    #[test]
    fn a_name_is_encoded_label_by_label() {
        for (name, expected) in [
            ("他们为什么不说中文", "xn--ihqwcrb4cv8a8dqg056pqjye"),
            ("Pročprostěnemluvíčesky", "xn--proprostnemluvesky-uyb24dma41a"),
            ("почемужеонинеговорятпорусски", "xn--b1abfaaepdrnnbgefbadotcwatmq2g4l"),
            ("MÜNCHEN.example.com", "xn--mnchen-3ya.example.com"),
            ("Plain.Example.", "plain.example."),
            ("ü", "xn--tda"),
        ] {
            assert_eq!(ascii_name(name), expected, "{name}");
        }
        let long = "他".repeat(100_000);
        assert_eq!(ascii_name(&long), long, "a text from outside takes no time");
    }
}
