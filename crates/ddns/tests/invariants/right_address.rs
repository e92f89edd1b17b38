//! A random walk of one host: addresses change, go and come back, domains move between entries, callbacks change and change back, requests are
//! refused, lost or never sent, by single runs and by a service that is reloaded and restarted. Two things hold at every step:
//!
//! - If a run ends with 0, or `ddns status` does, the endpoint's last value of each domain and type is the address (A5, E3, E4, E7, H7, I6).
//! - No request has an empty or other address for a family that has one (A8, H7).

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::random::{Random, try_for_a_while};
use crate::support::watching::{SOON, Watch, host, ms, until};
use crate::support::{Received, Receiver, Response, Sandbox};

const DOMAINS: [&str; 2] = ["a.example.com", "b.example.com"];
const TYPES: [&str; 2] = ["A", "AAAA"];
/// Few, so that a host comes back to one soon.
const ADDRESSES: [[&str; 2]; 2] = [["203.0.113.1", "203.0.113.2"], ["2001:db8::1", "2001:db8::2"]];

/// What the endpoint does with requests.
#[derive(Clone, Copy, Debug, Default)]
enum Reply {
    #[default]
    Accept,
    /// 500, and it took them or not.
    Refuse {
        takes: bool,
    },
    /// It took them, and says nothing.
    Close,
    Stop,
    Wait,
}

#[derive(Default)]
struct Endpoint {
    reply: Reply,
    /// By type: what the host has now.
    addresses: [Option<&'static str>; 2],
    /// By type: what lookups returned, the last two.
    found: [VecDeque<Option<&'static str>>; 2],
    /// A service may be about to take in what a lookup returned.
    is_service: bool,
    /// The last value of a domain and type.
    values: BTreeMap<(String, &'static str), String>,
    /// Requests that must not be.
    wrong: Vec<String>,
}

impl Endpoint {
    fn respond(&mut self, request: &Received) -> Response {
        if let Some(family) = ["/4", "/6"].iter().position(|path| *path == request.target()) {
            let found = self.addresses[family];
            self.found[family].push_back(found);
            while self.found[family].len() > 2 {
                self.found[family].pop_front();
            }
            return found.map_or(Response::status(404), |ip| Response::with_body(200, ip));
        }
        let takes = !matches!(self.reply, Reply::Refuse { takes: false } | Reply::Stop | Reply::Wait);
        let get = |name| parameter(request.target(), name);
        for (family, kind) in TYPES.into_iter().enumerate() {
            let Some(sent) =
                (if get("t").is_some() { get("ip").filter(|_| get("t") == Some(kind)) } else { get(kind) })
            else {
                continue;
            };
            let known = &self.found[family];
            let recent = if self.is_service { 2 } else { 1 };
            let mut recent = known.iter().rev().take(recent).copied();
            let is_right = recent.any(|found| found.map_or(get("missing"), Some) == Some(sent));
            if !is_right {
                self.wrong.push(format!("{} while lookups gave {known:?}", request.target()));
            }
            for domain in get("d").unwrap_or_default().split(',').filter(|_| takes) {
                self.values.insert((domain.to_owned(), kind), sent.to_owned());
            }
        }
        match self.reply {
            Reply::Accept => Response::with_body(200, "good"),
            Reply::Refuse { .. } => Response::status(500),
            Reply::Close => Response::Close,
            Reply::Stop => Response::with_body(200, "STOP"),
            Reply::Wait => Response::with_body(200, "WAIT"),
        }
    }
}

fn parameter<'a>(target: &'a str, name: &str) -> Option<&'a str> {
    let query = target.split_once('?')?.1;
    query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

/// One callback: which of several, and what goes in one request.
#[derive(Clone, Copy)]
struct Variant(usize);

impl Variant {
    const COUNT: usize = 7;

    fn entry(self, receiver: &Receiver, domains: &[&str]) -> Value {
        let (id, combine) = match self.0 {
            0 | 1 => ("d=__DOMAIN__&t=__RECORDTYPE__&ip=__IP__", Value::Null),
            2 => ("d=__DOMAIN__&A=__IPV4__&AAAA=__IPV6__", json!({"families": true})),
            3 | 4 => ("d=__DOMAIN__&A=__IPV4__&AAAA=__IPV6__&missing=", json!({"families": true, "missing": ""})),
            5 => ("d=__DOMAINS__&A=__IPV4__&AAAA=__IPV6__", json!({"families": true, "domains": 5})),
            _ => (
                "d=__DOMAINS__&A=__IPV4__&AAAA=__IPV6__&missing=none",
                json!({"families": true, "domains": 5, "missing": "none"}),
            ),
        };
        json!({
            "provider": "callback", "id": receiver.url(&format!("/{}?{id}", self.0)),
            "ipv4": domains, "ipv6": domains, "combine": combine,
        })
    }
}

struct Walk<'a> {
    random: &'a mut Random,
    sandbox: Sandbox,
    receiver: Receiver,
    endpoint: Arc<Mutex<Endpoint>>,
    service: Option<Watch>,
    /// The entry of each domain.
    places: [usize; 2],
    variants: [Variant; 2],
    /// Those that there are.
    menu: [Variant; 3],
    /// Whether requests find no way.
    is_cut_off: bool,
    /// Whether services stop updates and ask to wait.
    has_holds: bool,
    steps: String,
}

impl<'a> Walk<'a> {
    fn new(random: &'a mut Random, has_holds: bool) -> Self {
        let endpoint: Arc<Mutex<Endpoint>> = Arc::default();
        let shared = Arc::clone(&endpoint);
        let receiver =
            Receiver::responding(move |request| shared.lock().expect("no test thread failed").respond(request));
        let menu = [0; 3].map(|_| Variant(random.below(Variant::COUNT)));
        let (places, variants) = ([0, 1], [menu[0], menu[1]]);
        let (sandbox, service, steps) = (host(), None, String::new());
        let is_cut_off = false;
        let walk =
            Self { random, sandbox, receiver, endpoint, service, places, variants, menu, is_cut_off, has_holds, steps };
        walk.endpoint().addresses = [Some(ADDRESSES[0][0]), Some(ADDRESSES[1][0])];
        walk.write();
        walk
    }

    fn endpoint(&self) -> MutexGuard<'_, Endpoint> {
        self.endpoint.lock().expect("no test thread failed")
    }

    /// Writes the configuration; a service takes it before this returns.
    fn write(&self) {
        let domains = |place: usize| {
            let is_here = |(_, of): &(&&'static str, &usize)| **of == place;
            DOMAINS.iter().zip(&self.places).filter(is_here).map(|(domain, _)| *domain).collect::<Vec<_>>()
        };
        let entries: Vec<Value> = [0, 1]
            .into_iter()
            .filter(|place| !domains(*place).is_empty())
            .map(|place| self.variants[place].entry(&self.receiver, &domains(place)))
            .collect();
        let source = |family: usize| match self.endpoint().addresses[family] {
            // Lookups take the proxy, too.
            Some(ip) if self.is_cut_off => format!("cmd:echo {ip}"),
            _ => format!("url:{}", self.receiver.url(["/4", "/6"][family])),
        };
        let mut config = json!({
            "index4": source(0), "index6": source(1), "proxy": if self.is_cut_off { "http://127.0.0.1:9" } else { "DIRECT" },
            "timeout": 2, "providers": entries,
        });
        if self.has_holds {
            config["expect"] =
                json!({"stop": {"body": "STOP", "until": "address"}, "wait": {"body": "WAIT", "for": "1s"}});
        }
        let taken = |watch: &Watch| watch.lines_with(": reloading") + watch.lines_with("has not changed");
        let before = self.service.as_ref().map(taken);
        self.sandbox.write("config.json", config.to_string());
        if let Some(watch) = &self.service {
            // One that comes while another configuration takes over is heard, and nothing is said of it.
            let mut asked: Option<Instant> = None;
            until(SOON, "the configuration is read", || {
                if asked.is_none_or(|asked| asked.elapsed() > ms(1000)) {
                    watch.signal(Signal::HUP);
                    asked = Some(Instant::now());
                }
                Some(taken(watch)) > before
            });
        }
    }

    /// Something changes.
    fn change(&mut self) {
        let choice = self.random.below(10);
        match choice {
            0..3 => {
                let (family, ip) = (self.random.below(2), self.random.below(3));
                self.endpoint().addresses[family] = ADDRESSES[family].get(ip).copied();
            }
            3 | 4 => self.places[self.random.below(2)] = self.random.below(2),
            5 | 6 => self.variants[self.random.below(2)] = self.menu[self.random.below(3)],
            // A service would try again and again.
            7 => self.is_cut_off = self.service.is_none() && self.random.below(2) == 0,
            _ => {
                let held = if self.has_holds { [Reply::Stop, Reply::Wait] } else { [Reply::Accept; 2] };
                let replies = [
                    Reply::Accept,
                    Reply::Accept,
                    Reply::Refuse { takes: true },
                    Reply::Refuse { takes: false },
                    Reply::Close,
                    held[0],
                    held[1],
                ];
                let reply = replies[self.random.below(replies.len())];
                self.endpoint().reply = reply;
            }
        }
        let state = {
            let endpoint = self.endpoint();
            format!("\n{:?} {:?}", endpoint.addresses, endpoint.reply)
        };
        let variants = self.variants.map(|variant| variant.0);
        let _ = write!(self.steps, "{state} in {:?} of {variants:?}, cut off: {}", self.places, self.is_cut_off);
        if choice >= 3 || self.is_cut_off {
            self.write();
        }
    }

    /// A single run, or a synchronization of the service; whether all is well then, as it says.
    fn synchronize(&mut self) -> bool {
        let code = if self.service.is_some() {
            self.sandbox.run(&["sync"]);
            self.sandbox.run(&["status", "-c", "config.json"]).code
        } else if self.has_holds && self.random.below(8) == 0 {
            self.sandbox.run(&["-c", "config.json", "--retry-stopped"]).code
        } else {
            self.sandbox.run(&["-c", "config.json"]).code
        };
        let _ = write!(self.steps, ": {}{code}", if self.service.is_some() { "service " } else { "" });
        code == 0
    }

    /// A service is started, or stopped.
    fn turn(&mut self) {
        if let Some(watch) = self.service.take() {
            watch.stop();
        } else {
            self.is_cut_off = false;
            self.write();
            let watch = Watch::again(&self.sandbox);
            until(SOON, "the service answers", || self.sandbox.run(&["status", "--alive"]).code == 0);
            self.service = Some(watch);
        }
        let is_service = self.service.is_some();
        self.endpoint().is_service = is_service;
    }

    /// What holds at every step.
    fn check(&self, is_well: bool) -> Result<(), String> {
        let endpoint = self.endpoint();
        if let Some(wrong) = endpoint.wrong.first() {
            return Err(format!("{wrong}{}", self.steps));
        }
        for (domain, (kind, ip)) in DOMAINS
            .iter()
            .flat_map(|domain| TYPES.into_iter().zip(endpoint.addresses).map(move |about| (*domain, about)))
        {
            let value = endpoint.values.get(&(domain.to_owned(), kind)).map(String::as_str);
            if is_well && (ip.is_none() || value != ip) {
                return Err(format!("the endpoint has {value:?} for {domain} {kind}, not {ip:?}{}", self.steps));
            }
        }
        Ok(())
    }

    fn walk(mut self) -> Result<(), String> {
        for _ in 0..30 {
            if self.random.below(12) == 0 {
                self.turn();
            }
            for _ in 0..=self.random.below(2) {
                self.change();
            }
            let is_well = self.synchronize();
            self.check(is_well)?;
        }
        if self.has_holds {
            return Ok(());
        }
        // Everything heals: then all is well.
        self.steps += "\nhealed";
        self.is_cut_off = false;
        self.endpoint().reply = Reply::Accept;
        let first = [ADDRESSES[0][0], ADDRESSES[1][0]].map(Some);
        self.endpoint().addresses = first;
        self.write();
        let begun = Instant::now();
        while !self.synchronize() {
            if begun.elapsed() > 3 * SOON {
                return Err(format!("it is not well in the end{}", self.steps));
            }
        }
        self.check(true)
    }
}

#[test]
fn e3_e4_h7_i6_if_all_is_well_the_endpoint_has_the_address() {
    try_for_a_while("the endpoint has the address", |random| Walk::new(random, false).walk());
}

#[test]
fn a8_h5_h7_no_request_has_an_empty_or_other_address_for_a_family_that_has_one() {
    try_for_a_while("no empty or other address", |random| Walk::new(random, true).walk());
}
