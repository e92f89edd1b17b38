//! The time of day, the time zone and the steady clock.

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{env, fs};

use ddns_core::callback::Timestamp;
use jiff::Zoned;
use jiff::tz::TimeZone;

pub(crate) use crate::platform::steady_time;

/// The time of day; zero if the clock of this host is before 1970.
pub(crate) fn unix_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp { seconds: since.as_secs(), micros: since.subsec_micros() }
}

/// The time zone of this host. To find the one in `TZ`, jiff would first list all zones: that reads two dozen folders,
/// and costs a service 130 KB of memory.
pub(crate) fn zone() -> TimeZone {
    static NAMED: OnceLock<Option<TimeZone>> = OnceLock::new();
    let named = NAMED.get_or_init(|| zone_named(&env::var("TZ").ok()?));
    named.clone().unwrap_or_else(TimeZone::system)
}

/// Reads a zone by its name (`Europe/Berlin`) or the path of its file. `None` for a rule (`CET-1CEST`), which jiff
/// parses.
fn zone_named(name: &str) -> Option<TimeZone> {
    let name = name.strip_prefix(':').unwrap_or(name);
    let folder = env::var_os("TZDIR").unwrap_or_else(|| "/usr/share/zoneinfo".into());
    TimeZone::tzif(name, &fs::read(Path::new(&folder).join(name)).ok()?).ok()
}

/// The current time in the zone of this host.
pub(crate) fn local_time() -> Zoned {
    jiff::Timestamp::now().to_zoned(zone())
}

/// How many seconds local time is ahead of UTC at `at`, a time in seconds since the epoch.
pub(crate) fn local_offset(at: u64) -> i32 {
    let moment = i64::try_from(at).ok().and_then(|at| jiff::Timestamp::from_second(at).ok());
    moment.map_or(0, |moment| zone().to_offset(moment).seconds())
}
