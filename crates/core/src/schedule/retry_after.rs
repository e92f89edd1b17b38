//! `Retry-After`: how long an endpoint wants to be left alone.

use std::time::Duration;

use crate::text::calendar::days_since_epoch;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Reads a number of seconds, or a date. `now` is in seconds since the epoch. None where it is neither.
pub fn parse(text: &str, now: u64) -> Option<Duration> {
    let text = text.trim();
    let seconds = match text.parse::<u64>() {
        Ok(seconds) => seconds,
        Err(_) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => u64::MAX,
        Err(_) => date(text)?.saturating_sub(now),
    };
    Some(Duration::from_secs(seconds))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, and the two older forms that HTTP still allows:
/// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`. Seconds since the epoch.
fn date(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split([' ', '-']).filter(|word| !word.is_empty()).collect();
    let (day, month, year, time) = match *words.as_slice() {
        [weekday, day, month, year, time, "GMT"] if weekday.ends_with(',') => (day, month, year, time),
        [_, month, day, time, year] => (day, month, year, time),
        _ => return None,
    };
    let day: u64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = u64::try_from(MONTHS.iter().position(|name| *name == month)?).ok()? + 1;
    let year: u64 = match (year.len(), year.parse().ok()?) {
        (2, short @ 0..70) => 2000 + short,
        (2, short) => 1900 + short,
        (4, year) => year,
        _ => return None,
    };
    let mut clock = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if hour > 23 || minute > 59 || second > 60 || year < 1970 || clock.next().is_some() {
        return None;
    }
    Some(days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_understood_and_nonsense_is_not() {
        let now = 784_111_777 - 60;
        let cases = [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(60)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(60)),
            ("Sun Nov  6 08:49:37 1994", Some(60)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Mon, 29 Feb 2016 00:00:00 GMT", Some(1_456_704_000 - 784_111_717)),
            ("", None),
            ("-5", None),
            ("soon", None),
            ("Sun, 06 Nov 1994 25:49:37 GMT", None),
            ("Sun, 32 Nov 1994 08:49:37 GMT", None),
            ("Sun, 06 Nox 1994 08:49:37 GMT", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text, now), expected.map(Duration::from_secs), "{text}");
        }
    }
}
