//! Handles each event.

use std::path::{self, PathBuf};
use std::rc::Rc;

use ddns_core::engine::{self, LeaseEvent};
use ddns_core::journal::Status;
use ddns_core::lease::status::MemberStatus;
use ddns_core::net::family::Family;
use ddns_core::text::duration::whole_seconds;
use ddns_core::text::own_json::indented;

use super::{Serving, tell};
use crate::clock::steady_time;
use crate::group::LeaseNotice;
use crate::load::{full_name, surroundings};
use crate::watch::control::{Command, ControlRequest};
use crate::watch::events::{Events, ServiceEvent};
use crate::web::{Configured, SiteRequest, answer};

impl Serving<'_, '_> {
    pub(super) fn handle(&mut self, event: ServiceEvent, events: &mut Events) {
        match event {
            ServiceEvent::Network(changed) => {
                // Kept connections may use an address that is gone.
                self.service.client.rest();
                for family in Family::ALL.into_iter().filter(|family| changed[family.index()]) {
                    self.log.debug(|| format!("{family}: the network of this host changed"));
                    self.driver.on(engine::Event::Network(family));
                }
            }
            ServiceEvent::Woke => {
                self.log.info("resumed after sleep: synchronizing");
                self.service.client.rest();
                if let Some(group) = &events.group {
                    group.member.wake();
                }
                self.driver.on(engine::Event::Synchronize);
            }
            ServiceEvent::Group(notice) => self.on_lease(notice, events),
            ServiceEvent::Synchronize => self.synchronize(),
            ServiceEvent::Control(request) => self.answer(request),
            ServiceEvent::Web(SiteRequest::Push { name, push, done }) => {
                let (told, changed) = self.take_push(&name, &push);
                answer(done, told);
                self.handle(ServiceEvent::Network(changed), events);
            }
            ServiceEvent::Web(ask) => self.answer_page(ask),
            ServiceEvent::Files => self.reload.schedule(steady_time()),
            ServiceEvent::Reload => self.reload.begin(self.service, true),
            ServiceEvent::Time => {
                self.driver.on(engine::Event::Time);
                tell(events);
            }
            ServiceEvent::Stop => {}
        }
    }

    /// Answers a client on the control socket.
    fn answer(&mut self, request: ControlRequest) {
        match request.command {
            Command::Status => request.respond(indented(&self.status())),
            Command::History => {
                self.history.save();
                // The client may be in another folder.
                let absolute = |path: PathBuf| path::absolute(&path).unwrap_or(path).display().to_string();
                let paths: Vec<String> = self.history.paths().into_iter().map(absolute).collect();
                request.respond(indented(&paths));
            }
            command @ (Command::Synchronize | Command::RetryStopped) => {
                if command == Command::RetryStopped {
                    self.driver.on(engine::Event::RetryStopped);
                }
                self.service.waiting.push(Box::new(|result| request.respond(indented(&result))));
                self.synchronize();
            }
        }
    }

    /// Answers the page.
    fn answer_page(&mut self, ask: SiteRequest) {
        match ask {
            SiteRequest::Status(respond) => answer(respond, self.status()),
            SiteRequest::Warn(text) => self.log.warning(text),
            SiteRequest::Configured(respond) => answer(respond, self.configured()),
            SiteRequest::Reload(done) => {
                self.service.reloading.push(done);
                self.reload.begin(self.service, true);
            }
            SiteRequest::Synchronize { retry_stopped, done } => {
                if retry_stopped {
                    self.driver.on(engine::Event::RetryStopped);
                }
                self.service.waiting.push(Box::new(|result| answer(done, result)));
                self.synchronize();
            }
            SiteRequest::Previews { is_wanted, skip, take, done } => {
                answer(done, self.driver.engine.previews(is_wanted, skip, take));
            }
            SiteRequest::Addresses(respond) => answer(respond, self.driver.engine.addresses()),
            SiteRequest::Histories(respond) => {
                self.history.save();
                answer(respond, self.history.paths());
            }
            SiteRequest::Alive(respond) => answer(respond, ()),
            SiteRequest::Ready(respond) => {
                let status = self.status();
                answer(respond, self.service.metrics.as_ref().and_then(|metrics| metrics.objection(&status)));
            }
            SiteRequest::Metrics(respond) => {
                let status = self.status();
                let metrics = self.service.metrics.as_ref();
                answer(respond, metrics.map_or_else(String::new, |metrics| metrics.text(&status)));
            }
            SiteRequest::Configs(respond) => answer(respond, Rc::clone(self.configs)),
            // Handled in `handle`.
            SiteRequest::Push { .. } => {}
            SiteRequest::Log(respond) => answer(respond, self.service.recent.latest()),
        }
    }

    fn configured(&self) -> Configured {
        Configured {
            names: self.configs.iter().map(|(config, _)| config.name.clone()).collect(),
            around: surroundings(&self.service.settings, self.service.environment),
            set_up: None,
        }
    }

    fn synchronize(&mut self) {
        self.log.info("synchronization requested");
        self.driver.on(engine::Event::Synchronize);
    }

    pub(super) fn status(&mut self) -> Status {
        // Bring the engine up to the current time: the status contains times.
        self.driver.on(engine::Event::Time);
        let status = Status {
            process: Some(std::process::id()),
            configs: self.configs.iter().map(|(config, _)| full_name(&config.name)).collect(),
            next: self.next_round().map(whole_seconds),
            errors: self.reload.errors.clone(),
            rows: self.driver.engine.rows(),
            group: None,
        };
        status.in_group(self.membership())
    }

    /// Handles a change of this host's state in its group.
    pub(super) fn on_lease(&mut self, notice: LeaseNotice, events: &mut Events) {
        match notice {
            LeaseNotice::Lease(event) => self.driver.on(engine::Event::Lease(event)),
            LeaseNotice::MemberStatus(now) => self.say(*now, events),
            LeaseNotice::Left => {}
        }
        tell(events);
    }

    /// Reports the state of this host in its group: to log, engine and history.
    pub(super) fn say(&mut self, now: MemberStatus, events: &mut Events) {
        if let Some(change) = events.group.as_mut().and_then(|group| group.say(now, self.log)) {
            self.driver.on(engine::Event::Lease(LeaseEvent::Changed(change)));
            self.hand_on();
            self.history.save();
        }
    }
}
