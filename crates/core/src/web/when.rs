//! Moments in words, as the page shows them: `3 minutes ago`, `yesterday 21:14`, `12 Nov`.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// The current time and the time zone, to put moments into words.
#[derive(Clone, Copy)]
pub struct Clock<'a> {
    /// Seconds since the epoch.
    pub now: u64,
    /// By how many seconds local time is ahead of UTC at a moment.
    pub offset: &'a dyn Fn(u64) -> i32,
}

/// A moment as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    /// In words, relative to now.
    pub words: String,
    /// How many seconds ago; `None`: the words name a date or a time of day.
    pub ago: Option<u64>,
    /// To the second, with the offset from UTC: `2026-11-15T21:14:05+01:00`.
    pub exact: String,
}

impl Clock<'_> {
    /// A moment in local time.
    fn wall(&self, at: u64) -> DateTime {
        // A file from another program may contain an impossible time: it shows as 1970.
        let moment = i64::try_from(at).ok().and_then(|at| Timestamp::from_second(at).ok());
        Offset::from_seconds((self.offset)(at))
            .unwrap_or(Offset::UTC)
            .to_datetime(moment.unwrap_or(Timestamp::UNIX_EPOCH))
    }

    /// `12 Nov`
    pub fn date(&self, at: u64) -> String {
        self.wall(at).strftime("%-d %b").to_string()
    }

    /// A moment as it is shown.
    pub fn when(&self, at: u64) -> When {
        let ago = self.now.checked_sub(at).filter(|ago| *ago < 3600);
        When { words: self.words(at, ago), ago, exact: self.exact(at) }
    }

    /// The same, to follow the word `since`: `14:02`, `yesterday 21:14`.
    pub fn since(&self, at: u64) -> When {
        let words = self.words(at, None);
        When { words: words.trim_start_matches("today ").to_owned(), ago: None, exact: self.exact(at) }
    }

    fn words(&self, at: u64, ago: Option<u64>) -> String {
        let (then, today) = (self.wall(at), self.wall(self.now));
        let plural = |count: u64, unit: &str| format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" });
        match ago {
            Some(0..10) => return "just now".to_owned(),
            Some(ago @ 10..60) => return plural(ago, "second"),
            Some(ago) => return plural(ago / 60, "minute"),
            None => {}
        }
        let form = match (today.date() - then.date()).get_days() {
            0 => "today %H:%M",
            1 => "yesterday %H:%M",
            -1 => "tomorrow %H:%M",
            _ if then.year() == today.year() => "%-d %b %H:%M",
            _ => "%-d %b %Y",
        };
        then.strftime(form).to_string()
    }

    fn exact(&self, at: u64) -> String {
        let offset = (self.offset)(at);
        let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs() / 60);
        let then = self.wall(at).strftime("%Y-%m-%dT%H:%M:%S");
        format!("{then}{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// The time that is left, as a countdown shows it: `0:42`, `3:41`, `1:02:03`, `2 days`.
pub fn countdown(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (hours @ 1..48, minutes, seconds) => format!("{hours}:{minutes:02}:{seconds:02}"),
        (hours, ..) => format!("{} days", hours / 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-15T19:03:32Z, a Sunday.
    const NOW: u64 = 1_794_769_412;

    fn words(at: u64, offset: i32) -> String {
        Clock { now: NOW, offset: &|_| offset }.when(at).words
    }

    #[test]
    fn i1_a_moment_is_told_as_a_person_would() {
        let cases = [
            (0, 0, "just now"),
            (12, 0, "12 seconds ago"),
            (60, 0, "1 minute ago"),
            (3599, 0, "59 minutes ago"),
            (3600, 0, "today 18:03"),
            (86_400, 0, "yesterday 19:03"),
            (3600 * 20, 0, "yesterday 23:03"),
            (3600 * 20, 3600, "today 00:03"),
            (86_400 * 3, 3600, "12 Nov 20:03"),
            (86_400 * 400, 0, "11 Oct 2025"),
        ];
        for (ago, offset, expected) in cases {
            assert_eq!(words(NOW - ago, offset), expected, "{ago} {offset}");
        }
        assert_eq!(words(NOW + 3600, 0), "today 20:03", "a clock was set");
        assert_eq!(words(NOW + 86_400, 0), "tomorrow 19:03");
        assert_eq!(words(u64::MAX, 0), "1 Jan 1970", "a file may say anything");
    }

    #[test]
    fn i1_the_exact_time_has_its_offset() {
        let exact = |at, offset| Clock { now: NOW, offset: &|_| offset }.when(at).exact;
        assert_eq!(exact(NOW, 0), "2026-11-15T19:03:32+00:00");
        assert_eq!(exact(NOW, 3600), "2026-11-15T20:03:32+01:00");
        assert_eq!(exact(NOW, -12_600), "2026-11-15T15:33:32-03:30");
        assert_eq!(exact(951_825_600, 0), "2000-02-29T12:00:00+00:00", "a leap day");
        assert_eq!(exact(0, -1), "1969-12-31T23:59:59-00:00");
    }

    #[test]
    fn i1_what_is_left_runs_down_to_zero() {
        let cases = [(0, "0:00"), (42, "0:42"), (221, "3:41"), (3599, "59:59"), (3723, "1:02:03"), (200_000, "2 days")];
        for (seconds, expected) in cases {
            assert_eq!(countdown(seconds), expected);
        }
    }
}
