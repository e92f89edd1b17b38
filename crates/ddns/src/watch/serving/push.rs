//! Takes in what another host pushes (F10): remembers it, and lets the engine look up addresses again. A push chooses
//! nothing but the address of its source.

use std::collections::BTreeSet;

use ddns_core::address::source::PushSource;
use ddns_core::config::Config;
use ddns_core::text::duration::seconds;
use ddns_core::web::push::{PushAnswer, PushRequest};

use super::Serving;
use crate::clock::unix_time;
use crate::store::{recall, remember};

impl Serving<'_, '_> {
    /// The answer, and the families whose addresses changed.
    pub(super) fn take_push(&mut self, name: &str, request: &PushRequest) -> (PushAnswer, [bool; 2]) {
        let configs = || self.configs.iter().map(|(config, _)| config);
        let push = match request.judge(name, configs()) {
            Ok(push) => push,
            Err((answer, why)) => {
                self.log.warning(format!("push:{name} changes nothing ({}): {why}", answer.text()));
                return (answer, [false; 2]);
            }
        };
        let own: BTreeSet<_> = sources(configs())
            .filter(|source| source.name.as_deref() == Some(name))
            .filter_map(|source| Some((source.file.clone()?, source.max_age)))
            .collect();
        let (mut is_news, mut is_broken) = (false, false);
        for (file, max_age) in own {
            // A damaged file is written anew.
            let mut memory = recall(&file).unwrap_or_default();
            is_news |= memory.take(name, &push, max_age, unix_time().seconds);
            if let Err(error) = remember(&file, &memory) {
                self.log.error(format!("what push:{name} told cannot be remembered in {} ({error})", file.display()));
                is_broken = true;
            }
        }
        self.service.silent.remove(name);
        if let Some(ip) = request.ignored.filter(|ip| is_news && ![push.ipv4, push.ipv6].contains(&Some(*ip))) {
            let known = "`myip`, `myipv6` and `ip6lanprefix`";
            self.log.warning(format!("push:{name}: {ip} is in a parameter that is not read: use {known}"));
        }
        let hosts = request.hosts.as_ref().map_or(0, Vec::len);
        self.log.debug(|| format!("push:{name} told {push}"));
        let families = if is_news { push.families() } else { [false; 2] };
        match (is_broken, is_news) {
            // What other files remember is sent all the same.
            (true, _) => (PushAnswer::Broken, families),
            (false, true) => (PushAnswer::Good(push, hosts), families),
            (false, false) => (PushAnswer::NoChange(push, hosts), families),
        }
    }

    /// Warns once if nothing was pushed for long (F10i).
    pub(super) fn warn_of_silence(&mut self) {
        let mut seen = BTreeSet::new();
        for source in sources(self.configs.iter().map(|(config, _)| config)) {
            let Some((name, file)) = source.name.as_ref().zip(source.file.as_ref()) else { continue };
            if self.service.silent.contains(name) || !seen.insert((name, file)) {
                continue;
            }
            let memory = recall(file).unwrap_or_default();
            if let Some(age) = memory.silence(source, unix_time().seconds).map(seconds) {
                self.service.silent.insert(name.clone());
                self.log.warning(format!("{source}: nothing was pushed for {age}: is the router still set up?"));
            }
        }
    }
}

fn sources<'a>(configs: impl Iterator<Item = &'a Config>) -> impl Iterator<Item = &'a PushSource> {
    let entries = configs.flat_map(|config| &config.entries);
    entries.flat_map(|entry| entry.sources.iter().flatten()).flat_map(|source| source.pushes())
}
