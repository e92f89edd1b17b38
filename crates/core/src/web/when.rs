//! Moments in words, as the page shows them: `3 minutes ago`, `yesterday 21:14`, `12 Nov`.

const DAY: i64 = 86_400;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// What is needed to say when something was.
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
    /// In words, as seen from now.
    pub words: String,
    /// How many seconds ago, where the words say it that way.
    pub ago: Option<u64>,
    /// To the second, with the offset from UTC: `2026-11-15T21:14:05+01:00`.
    pub exact: String,
}

/// A moment as a clock on the wall and a calendar show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wall {
    /// Days since 1 January 1970.
    pub days: i64,
    /// The year.
    pub year: i64,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// Seconds since midnight.
    pub seconds: u32,
}

impl Wall {
    /// `offset` is that of local time, in seconds.
    pub fn of(at: u64, offset: i32) -> Self {
        // A time that no calendar shows is one of a file that was written by something else.
        let local = i64::try_from(at).unwrap_or(0).min(253_402_214_400).saturating_add(offset.into());
        let (days, seconds) = (local.div_euclid(DAY), local.rem_euclid(DAY));
        // Years that begin in March end with the leap day; 146,097 days are 400 years.
        let shifted = days + 719_468;
        let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let small = |number: i64| u8::try_from(number).unwrap_or(1);
        Self { days, year, month: small(month), day: small(day), seconds: u32::try_from(seconds).unwrap_or(0) }
    }

    /// `12 Nov`
    pub fn date(&self) -> String {
        format!("{} {}", self.day, MONTHS[usize::from(self.month - 1) % 12])
    }

    /// `21:14`
    pub fn time(&self) -> String {
        format!("{:02}:{:02}", self.seconds / 3600, self.seconds / 60 % 60)
    }
}

impl Clock<'_> {
    /// A moment on the wall.
    pub fn wall(&self, at: u64) -> Wall {
        Wall::of(at, (self.offset)(at))
    }

    /// A moment as it is shown.
    pub fn when(&self, at: u64) -> When {
        let ago = self.now.checked_sub(at).filter(|ago| *ago < 3600);
        When { words: self.words(at, ago), ago, exact: self.exact(at) }
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
        match today.days - then.days {
            0 => format!("today {}", then.time()),
            1 => format!("yesterday {}", then.time()),
            -1 => format!("tomorrow {}", then.time()),
            _ if then.year == today.year => format!("{} {}", then.date(), then.time()),
            _ => format!("{} {}", then.date(), then.year),
        }
    }

    fn exact(&self, at: u64) -> String {
        let (then, offset) = (self.wall(at), (self.offset)(at));
        let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs() / 60);
        format!(
            "{:04}-{:02}-{:02}T{}:{:02}{sign}{:02}:{:02}",
            then.year,
            then.month,
            then.day,
            then.time(),
            then.seconds % 60,
            minutes / 60,
            minutes % 60
        )
    }
}

/// A time that is left, as a clock that runs down shows it: `0:42`, `3:41`, `1:02:03`, `2 days`.
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
