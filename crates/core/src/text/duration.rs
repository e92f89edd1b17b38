//! Reads and prints durations, in one way everywhere.

use std::time::Duration;

/// A duration for people: `0.5 s`, `12 s`, `4 min`, `3 h`, `2 days`; rounded to the nearest; only nothing is `0 s`.
pub fn duration(duration: Duration) -> String {
    let tenths = duration.saturating_add(Duration::from_millis(50)).as_millis() / 100;
    // "Within 0 s" would be no time at all.
    let tenths = tenths.max(u128::from(!duration.is_zero()));
    let seconds = duration.as_secs();
    match seconds {
        _ if tenths < 100 && !tenths.is_multiple_of(10) => format!("{}.{} s", tenths / 10, tenths % 10),
        _ if tenths < 1200 => format!("{} s", tenths / 10),
        0..7200 => format!("{} min", (seconds + 30) / 60),
        7200..172_800 => format!("{} h", (seconds + 1800) / 3600),
        _ => format!("{} days", seconds.saturating_add(43_200) / 86_400),
    }
}

/// A number of seconds for people, like [`duration()`].
pub fn seconds(seconds: u64) -> String {
    duration(Duration::from_secs(seconds))
}

/// A duration in seconds, rounded up.
pub fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

/// Reads a duration: a whole number with a unit (`s`, `m`, `h` or `d`), or minutes.
pub fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    let number = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match text[number.len()..].to_ascii_lowercase().as_str() {
        "s" => 1,
        "" | "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    let number: u64 = number.trim_end().parse().ok()?;
    Some(Duration::from_secs(number.saturating_mul(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_is_the_one_that_fits() {
        let cases = [
            (0, "0 s"),
            (1, "0.1 s"),
            (50, "0.1 s"),
            (500, "0.5 s"),
            (999, "1 s"),
            (1500, "1.5 s"),
            (9949, "9.9 s"),
            (9950, "10 s"),
            (10_400, "10 s"),
            (119_900, "119 s"),
            (119_950, "2 min"),
            (299_000, "5 min"),
            (7_199_000, "120 min"),
            (7_200_000, "2 h"),
            (172_799_000, "48 h"),
            (172_800_000, "2 days"),
            (216_000_000, "3 days"),
        ];
        for (milliseconds, expected) in cases {
            assert_eq!(duration(Duration::from_millis(milliseconds)), expected, "{milliseconds}");
        }
        assert_eq!(duration(Duration::MAX), "213503982334601 days");
    }

    #[test]
    fn a_duration_has_a_unit_or_is_in_minutes() {
        let cases = [("90s", 90), ("5", 300), ("5m", 300), (" 2 H ", 7200), ("1d", 86_400)];
        for (text, seconds) in cases {
            assert_eq!(parse(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "m", "1.5h", "-5", "5x", "5 5", "99999999999999999999"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("18446744073709551615d"), Some(Duration::from_secs(u64::MAX)));
    }
}
