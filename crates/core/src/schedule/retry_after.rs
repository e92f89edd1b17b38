//! `Retry-After`: how long an endpoint asks ddns to pause.

use std::time::{Duration, UNIX_EPOCH};

use crate::callback::expect::MAX_PAUSE;

/// Reads a number of seconds, or a date in any of the three forms of HTTP; `None` if it is neither. `now`: seconds since the
/// epoch, by the clock that made the date.
pub fn parse(text: &str, now: u64) -> Option<Duration> {
    let text = text.trim();
    let seconds = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().unwrap_or(u64::MAX)
    } else {
        http_seconds(text)?.saturating_sub(now)
    };
    Some(Duration::from_secs(seconds).min(MAX_PAUSE))
}

/// An HTTP date in seconds since the epoch; `None` if it is not one.
pub fn http_seconds(text: &str) -> Option<u64> {
    let date = httpdate::parse_http_date(text.trim()).ok()?;
    Some(date.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

/// How long to wait if an endpoint asked for this pause: up to twice as long, but no more than `most` longer, so that hosts
/// that were given the same date do not return in the same second. `jitter` is from 0 to 1.
pub fn spread(requested: Duration, most: Duration, jitter: f64) -> Duration {
    requested + requested.min(most).mul_f64(jitter.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn seconds_and_dates_are_understood_and_nonsense_is_not() {
        let now = 784_111_777 - 60;
        let cases = [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("99999999999999999999999", Some(86_400)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(60)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(60)),
            ("Sun Nov  6 08:49:37 1994", Some(60)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Mon, 29 Feb 2016 00:00:00 GMT", Some(86_400)),
            ("", None),
            ("-5", None),
            ("soon", None),
            ("Sun, 06 Nov 1994 25:49:37 GMT", None),
            ("Sun, 32 Nov 1994 08:49:37 GMT", None),
            ("Mon, 31 Feb 2016 00:00:00 GMT", None),
            ("Mon, 06 Nov 1994 08:49:37 GMT", None),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(86_400)),
            ("Sun, 06 Nox 1994 08:49:37 GMT", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text, now), expected.map(Duration::from_secs), "{text}");
        }
    }

    #[test]
    fn what_was_asked_for_is_spread_by_as_much_again_but_no_more_than_the_most() {
        let most = Duration::from_secs(300);
        for (requested, jitter, expected) in
            [(0, 0.9, 0), (2, 0.5, 3), (300, 0.5, 450), (3600, 0.5, 3750), (60, 0.0, 60)]
        {
            assert_eq!(spread(Duration::from_secs(requested), most, jitter), Duration::from_secs(expected));
        }
    }

    proptest! {
        #[test]
        fn no_text_does_harm(
            weekday in "(Sun|Mon|Friday)?", day in 0..40_u8, month in "(Jan|Feb|Dec|Nox)", year in 0..10_001_u16,
            time in "[0-9]{1,2}:[0-9]{2}:[0-9]{2}", any in any::<String>(), now in any::<u64>(),
        ) {
            for text in [
                format!("{weekday}, {day:02} {month} {year:04} {time} GMT"),
                format!("{weekday}, {day:02}-{month}-{:02} {time} GMT", year % 100),
                format!("{weekday} {month} {day:>2} {time} {year:04}"),
                any,
            ] {
                parse(&text, now);
            }
        }
    }
}
