//! What the kernel reports: that addresses change, and that time has passed, also while the machine slept.
//!
//! On other systems than Linux there is only the time.

#[cfg(target_os = "linux")]
pub(super) use linux::{Kernel, Timer};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{Kernel, Timer};

/// Why a timer ends its wait.
pub(super) enum Wake {
    /// The time has come.
    Time,
    /// The machine has slept.
    Sleep,
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::task::{Context, Poll, ready};
    use std::time::Duration;

    use ddns_core::net::family::Family;
    use ddns_core::net::netlink::{GROUPS, Monitor};
    use rustix::net::netlink::SocketAddrNetlink;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
    use rustix::time::{
        ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_create,
        timerfd_settime,
    };

    use super::super::readable::Readable;
    use super::Wake;
    use crate::clock::steady_time;

    /// A notification is a few hundred bytes long; one that is longer is not understood, and so counts as a change.
    const BUFFER: usize = 4 * 1024;

    /// A shorter sleep is none.
    const SLEEP: Duration = Duration::from_secs(2);

    /// The kernel's notifications of addresses, routes and interfaces.
    pub(in super::super) struct Kernel {
        socket: Readable,
        monitor: Monitor,
    }

    impl Kernel {
        pub(in super::super) fn listen() -> io::Result<Self> {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
            bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
            Ok(Self { socket: Readable::new(socket)?, monitor: Monitor::default() })
        }

        /// The families whose addresses changed.
        pub(in super::super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<[bool; 2]> {
            let mut buffer = [0; BUFFER];
            loop {
                let changed = if let Ok(length) = ready!(self.socket.poll(context, &mut buffer)) {
                    self.monitor.take(&buffer[..length])
                } else {
                    // Notifications were lost: anything may have changed, and what is known is old.
                    self.monitor = Monitor::default();
                    [true; 2]
                };
                if changed != [false; 2] {
                    return Poll::Ready(changed);
                }
            }
        }

        pub(in super::super) fn is_settling(&self, family: Family) -> bool {
            self.monitor.is_settling(family)
        }
    }

    /// Wakes at a time, and when the machine has slept; in between, never.
    pub(in super::super) struct Timer {
        alarm: Readable,
        /// Ends its wait whenever the time of day jumps, which it does when the machine wakes up.
        clock: Readable,
        /// How long the machine had slept since it was started, when this was last looked at.
        slept: Duration,
        set: Option<Duration>,
    }

    impl Timer {
        pub(in super::super) fn new() -> io::Result<Self> {
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
        pub(in super::super) fn set(&mut self, at: Option<Duration>) {
            if self.set != at {
                self.set = at;
                // Zero would switch it off.
                let at = at.map_or(Duration::ZERO, |at| at.max(Duration::from_nanos(1)));
                let _ = timerfd_settime(self.alarm.get(), TimerfdTimerFlags::ABSTIME, &once(at));
            }
        }

        pub(in super::super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Wake> {
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
        let at =
            Timespec { tv_sec: i64::try_from(at.as_secs()).unwrap_or(i64::MAX), tv_nsec: at.subsec_nanos().into() };
        Itimerspec { it_interval: zero, it_value: at }
    }

    /// How long the machine has slept since it was started: one of its clocks stands still then.
    fn slept() -> Duration {
        let awake = clock_gettime(ClockId::Monotonic);
        let awake = Duration::new(awake.tv_sec.try_into().unwrap_or(0), awake.tv_nsec.try_into().unwrap_or(0));
        steady_time().saturating_sub(awake)
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use std::future::Future as _;
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::time::Duration;

    use ddns_core::net::family::Family;
    use tokio::time::{Instant, Sleep, sleep_until};

    use super::Wake;
    use crate::clock::steady_time;

    /// Never there.
    pub(in super::super) enum Kernel {}

    impl Kernel {
        pub(in super::super) fn listen() -> io::Result<Self> {
            Err(io::Error::new(io::ErrorKind::Unsupported, "not on this system"))
        }

        pub(in super::super) fn poll(&mut self, _: &mut Context<'_>) -> Poll<[bool; 2]> {
            match *self {}
        }

        pub(in super::super) fn is_settling(&self, _: Family) -> bool {
            match *self {}
        }
    }

    /// Wakes at a time.
    pub(in super::super) struct Timer(Option<Pin<Box<Sleep>>>);

    impl Timer {
        #[expect(clippy::unnecessary_wraps, reason = "where there is more to it, it can fail")]
        pub(in super::super) fn new() -> io::Result<Self> {
            Ok(Self(None))
        }

        pub(in super::super) fn set(&mut self, at: Option<Duration>) {
            self.0 = at.map(|at| Box::pin(sleep_until(Instant::now() + at.saturating_sub(steady_time()))));
        }

        pub(in super::super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Wake> {
            match &mut self.0 {
                Some(sleep) => sleep.as_mut().poll(context).map(|()| Wake::Time),
                None => Poll::Pending,
            }
        }
    }
}
