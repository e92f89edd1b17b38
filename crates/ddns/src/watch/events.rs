//! Everything that can happen to a service, as one type: time, the kernel, signals, files, control requests.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use super::announcements::Announcements;
use super::control::{Control, ControlRequest};
use super::files::Files;
use crate::group::{Joined, LeaseNotice};
use crate::platform::{Kernel, Timer, Wake};
use crate::signals::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, Signals};
use crate::web::{PageServer, SiteRequest};

/// What happened.
pub(super) enum ServiceEvent {
    /// The time that was waited for has come.
    Time,
    /// Addresses, routes or interfaces changed: the families concerned, by [`Family::index`].
    Network([bool; 2]),
    /// The machine was suspended.
    Woke,
    /// Something happened to this host in its group.
    Group(LeaseNotice),
    /// SIGTERM or SIGINT.
    Stop,
    /// SIGHUP.
    Reload,
    /// A file of the configuration may have changed.
    Files,
    /// SIGUSR1.
    Synchronize,
    /// The page asks something.
    Web(SiteRequest),
    /// A request came through the control socket.
    Control(ControlRequest),
}

/// Where events come from.
pub(super) struct Events {
    timer: Timer,
    kernel: Option<Kernel>,
    /// `None` if no router is a source, or its announcements cannot be heard.
    pub(super) announcements: Option<Announcements>,
    signals: Signals,
    /// `None`: this host is in no group.
    pub(super) group: Option<Joined>,
    pub(super) files: Files,
    pub(super) control: Option<Control>,
    pub(super) web: Option<PageServer>,
}

impl Events {
    /// Listens from now on. The error says why the kernel does not report changes of addresses.
    pub(super) fn new() -> io::Result<(Self, Option<io::Error>)> {
        let (kernel, error) = match Kernel::listen() {
            Ok(kernel) => (Some(kernel), None),
            Err(error) => (None, Some(error)),
        };
        let events = Self {
            timer: Timer::new()?,
            kernel,
            announcements: None,
            signals: Signals::new(&[SIGTERM, SIGINT, SIGHUP, SIGUSR1])?,
            group: None,
            files: Files::default(),
            control: None,
            web: None,
        };
        Ok((events, error))
    }

    /// The next event. [`ServiceEvent::Time`] comes at `wake_at` on the steady clock.
    pub(super) async fn next(&mut self, wake_at: Option<Duration>) -> ServiceEvent {
        self.timer.set(wake_at);
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<ServiceEvent> {
        if let Poll::Ready(signal) = self.signals.poll(context) {
            return Poll::Ready(match signal {
                SIGHUP => ServiceEvent::Reload,
                SIGUSR1 => ServiceEvent::Synchronize,
                _ => ServiceEvent::Stop,
            });
        }
        if let Some(group) = &mut self.group
            && let Poll::Ready(change) = group.poll(context)
        {
            return Poll::Ready(ServiceEvent::Group(change));
        }
        if let Some(kernel) = &mut self.kernel
            && let Poll::Ready(changed) = kernel.poll(context)
        {
            return Poll::Ready(ServiceEvent::Network(changed));
        }
        if let Some(announcements) = &self.announcements
            && announcements.poll(context).is_ready()
        {
            return Poll::Ready(ServiceEvent::Network([true, false]));
        }
        match self.timer.poll(context) {
            Poll::Ready(Wake::Time) => return Poll::Ready(ServiceEvent::Time),
            Poll::Ready(Wake::Sleep) => return Poll::Ready(ServiceEvent::Woke),
            Poll::Pending => {}
        }
        if self.files.poll(context).is_ready() {
            return Poll::Ready(ServiceEvent::Files);
        }
        if let Some(web) = &mut self.web
            && let Poll::Ready(ask) = web.poll(context)
        {
            return Poll::Ready(ServiceEvent::Web(ask));
        }
        match &mut self.control {
            Some(control) => control.poll(context).map(ServiceEvent::Control),
            None => Poll::Pending,
        }
    }
}
