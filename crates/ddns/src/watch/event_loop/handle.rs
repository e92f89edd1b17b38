//! What each event asks for.

use std::rc::Rc;
use std::time::Duration;

use ddns_core::net::family::Family;
use ddns_core::schedule::lookups;
use ddns_core::text::own_json::indented;
use ddns_core::update::domain::Domain;
use ddns_core::update::status::Status;

use super::EventLoop;
use crate::clock::steady_time;
use crate::load::{full_name, surroundings};
use crate::watch::control::{Command, ControlRequest};
use crate::watch::events::{Event, Events};
use crate::watch::service::Waiting;
use crate::web::{Ask, Configured};

impl EventLoop<'_, '_> {
    pub(super) fn handle(&mut self, event: Event, events: &mut Events) {
        let now = steady_time();
        match event {
            Event::Network(changed) => {
                for family in Family::ALL.into_iter().filter(|family| changed[family.index()]) {
                    let is_settling = events.is_settling(family);
                    self.log.debug(|| format!("{family}: the network of this host changed"));
                    self.schedule.on(lookups::Event::NetworkChanged { family, is_settling }, now);
                }
            }
            Event::Woke => {
                self.log.info("resumed after sleep: synchronizing");
                if let Some(group) = &events.group {
                    group.member.wake();
                }
                self.schedule.on(lookups::Event::Requested, now);
            }
            Event::Group(change) => self.changed(change, events),
            Event::Synchronize => self.synchronize(now),
            Event::Control(request) => self.answer(request, now),
            Event::Web(ask) => self.answer_page(ask, now),
            Event::Files => self.reload.schedule(now),
            Event::Reload => self.reload.begin(self.service, true),
            Event::Time | Event::Stop => {}
        }
    }

    /// Answers a client on the control socket.
    fn answer(&mut self, request: ControlRequest, now: Duration) {
        match request.command {
            Command::Status => request.respond(indented(&self.status())),
            Command::History => {
                self.history.save();
                let paths: Vec<String> = self.history.paths().iter().map(|path| path.display().to_string()).collect();
                request.respond(indented(&paths));
            }
            command @ (Command::Synchronize | Command::RetryStopped) => {
                if command == Command::RetryStopped {
                    self.sync.retry_stopped();
                }
                self.waiting.push(Waiting::Control(request));
                self.synchronize(now);
            }
        }
    }

    /// Answers the page.
    fn answer_page(&mut self, ask: Ask, now: Duration) {
        match ask {
            Ask::Status(respond) => {
                let _ = respond.send(self.status());
            }
            Ask::Warn(text) => self.log.warning(text),
            Ask::Configured(respond) => {
                let _ = respond.send(self.configured());
            }
            Ask::Reload(done) => {
                self.reloading.push(done);
                self.reload.begin(self.service, true);
            }
            Ask::Synchronize { retry_stopped, done } => {
                if retry_stopped {
                    self.sync.retry_stopped();
                }
                self.waiting.push(Waiting::Page(done));
                self.synchronize(now);
            }
            Ask::Previews(wanted, respond) => {
                let is_wanted = |domain: &Domain, family| wanted.includes(domain, family);
                let _ = respond.send(self.sync.previews(is_wanted, wanted.skip, wanted.take));
            }
            Ask::Histories(respond) => {
                self.history.save();
                let _ = respond.send(self.history.paths());
            }
            Ask::Alive(respond) => {
                let _ = respond.send(());
            }
            Ask::Ready(respond) => {
                let status = self.status();
                let _ = respond.send(self.metrics.as_ref().and_then(|metrics| metrics.objection(&status)));
            }
            Ask::Metrics(respond) => {
                let status = self.status();
                let _ = respond.send(self.metrics.as_ref().map_or_else(String::new, |metrics| metrics.text(&status)));
            }
            Ask::Configs(respond) => {
                let _ = respond.send(Rc::clone(self.configs));
            }
        }
    }

    fn configured(&self) -> Configured {
        Configured {
            names: self.configs.iter().map(|(config, _)| config.name.clone()).collect(),
            around: surroundings(&self.service.settings, self.service.environment),
            set_up: None,
        }
    }

    fn synchronize(&mut self, now: Duration) {
        self.log.info("synchronization requested");
        self.is_busy = true;
        self.schedule.on(lookups::Event::Requested, now);
    }

    pub(super) fn status(&self) -> Status {
        let status = Status {
            process: Some(std::process::id()),
            configs: self.configs.iter().map(|(config, _)| full_name(&config.name)).collect(),
            next: self.next_round().map(ddns_core::update::status::seconds),
            errors: self.reload.errors.clone(),
            rows: self.sync.rows(),
            group: None,
        };
        status.in_group(self.sync.membership())
    }
}
