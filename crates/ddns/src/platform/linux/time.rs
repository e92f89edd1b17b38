//! A clock that also runs during suspend, and a timer on it.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_create,
    timerfd_settime,
};

use super::readable::Readable;
use crate::platform::wake::Wake;

/// Shorter suspends do not count.
const SLEEP: Duration = Duration::from_secs(2);

/// Wakes at a time, and after the machine was suspended; in between, never.
pub(crate) struct Timer {
    alarm: Readable,
    /// Becomes ready whenever the time of day jumps, as it does after a suspend.
    clock: Readable,
    /// How long the machine had been suspended since it was started, at the last check.
    slept: Duration,
    set: Option<Duration>,
}

impl Timer {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = Self {
            alarm: Readable::new(timerfd_create(TimerfdClockId::Boottime, flags)?)?,
            clock: Readable::new(timerfd_create(TimerfdClockId::Realtime, flags)?)?,
            slept: slept(),
            set: None,
        };
        timer.watch_clock();
        Ok(timer)
    }

    /// When to wake, on the steady clock.
    pub(crate) fn set(&mut self, at: Option<Duration>) {
        if self.set != at {
            self.set = at;
            // Zero would turn it off.
            let at = at.map_or(Duration::ZERO, |at| at.max(Duration::from_nanos(1)));
            let _ = timerfd_settime(self.alarm.get(), TimerfdTimerFlags::ABSTIME, &once(at));
        }
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Wake> {
        let mut ticks = [0; 8];
        if self.alarm.poll(context, &mut ticks).is_ready() {
            self.set = None;
            return Poll::Ready(Wake::Time);
        }
        while self.clock.poll(context, &mut ticks).is_ready() {
            self.watch_clock();
            let before = std::mem::replace(&mut self.slept, slept());
            if self.slept > before + SLEEP {
                return Poll::Ready(Wake::Sleep);
            }
        }
        Poll::Pending
    }

    fn watch_clock(&self) {
        let never = Duration::from_secs(u64::from(u32::MAX) * 2);
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        let _ = timerfd_settime(self.clock.get(), flags, &once(never));
    }
}

fn once(at: Duration) -> Itimerspec {
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    // 32 bits are enough, and mipsel has no more.
    let nanoseconds = i32::try_from(at.subsec_nanos()).unwrap_or(0);
    let at = Timespec { tv_sec: i64::try_from(at.as_secs()).unwrap_or(i64::MAX), tv_nsec: nanoseconds.into() };
    Itimerspec { it_interval: zero, it_value: at }
}

/// The time since a fixed moment before this process began. The clock also runs during suspend, and cannot be set.
pub(crate) fn steady_time() -> Duration {
    reading(ClockId::Boottime)
}

/// How long the machine was suspended since it was started: one of its clocks stops then.
fn slept() -> Duration {
    steady_time().saturating_sub(reading(ClockId::Monotonic))
}

fn reading(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}
