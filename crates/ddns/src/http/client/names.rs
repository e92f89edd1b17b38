//! From a name to addresses. The C library may take half a minute for one name. So each lookup has its own thread, and
//! quick names wait for no others: a name that is never resolved holds up only its own updates.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::pin;
use std::rc::Rc;
use std::thread;
use std::time::Duration;

use ddns_core::net::family::{Family, interleaved};
use ddns_core::text::order;
use futures_util::future::{FutureExt as _, LocalBoxFuture, Shared};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_local;
use tokio::time::timeout;

use super::how::AddressFamilies;
use crate::environment::max_files_per_kind;

/// How many names are looked up at once, each with a thread and an open file; the others wait in the order in which they came.
const MAX_LOOKUPS: usize = 512;

/// A lookup that takes no longer than this is quick.
const QUICK: Duration = Duration::from_secs(1);

/// How many quick names are remembered: redirects may lead to any name.
const MAX_KNOWN: usize = 10_000;

/// The addresses of a host, or a sentence about why there are none. Callers share a lookup that is under way.
type LookUp = Shared<LocalBoxFuture<'static, Result<Vec<IpAddr>, String>>>;

/// Remembers for one synchronization the addresses of hosts, and which hosts have none: many updates to a host that
/// cannot be looked up do not each wait for a lookup of their own.
#[derive(Default)]
pub(super) struct Names {
    known: RefCell<HashMap<String, LookUp>>,
    /// Lookups from before this synchronization, perhaps still under way.
    old: RefCell<HashMap<String, LookUp>>,
    places: Rc<LookupSlots>,
}

/// Limits concurrent lookups. Names that have proved to be quick do not wait for others.
struct LookupSlots {
    quick: Semaphore,
    others: Semaphore,
    /// Names whose last lookup was quick.
    quick_names: RefCell<HashSet<String>>,
}

impl Default for LookupSlots {
    fn default() -> Self {
        let most = MAX_LOOKUPS.min(max_files_per_kind());
        let quick = most.div_ceil(4);
        Self { quick: Semaphore::new(quick), others: Semaphore::new(most - quick), quick_names: RefCell::default() }
    }
}

impl LookupSlots {
    async fn look_up(&self, host: &str) -> io::Result<Vec<SocketAddr>> {
        let is_quick = self.quick_names.borrow().contains(host);
        let mut _place = if is_quick { self.quick.acquire().await } else { self.others.acquire().await };
        let mut found = pin!(in_thread(host.to_owned()));
        if let Ok(found) = timeout(QUICK, &mut found).await {
            if self.quick_names.borrow().len() < MAX_KNOWN {
                self.quick_names.borrow_mut().insert(host.to_owned());
            }
            return found;
        }
        if self.quick_names.borrow_mut().remove(host)
            && let Ok(other) = self.others.try_acquire()
        {
            _place = Ok(other);
        }
        found.await
    }
}

impl Names {
    /// Forgets the addresses of hosts. A lookup under way continues for its callers. A second one may start beside it,
    /// because the network may have changed meanwhile, but no third: the threads would pile up.
    pub(super) fn refresh(&self) {
        let mut old = self.old.borrow_mut();
        old.retain(|_, look_up| is_under_way(look_up));
        self.known.borrow_mut().retain(|host, look_up| {
            if !is_under_way(look_up) {
                return false;
            }
            let is_second = old.contains_key(host);
            if !is_second {
                old.insert(host.clone(), look_up.clone());
            }
            is_second
        });
    }

    /// The addresses of a host, in the order in which to try them; at least one.
    pub(super) async fn look_up(&self, host: &str, over: AddressFamilies) -> Result<Vec<IpAddr>, String> {
        if let Ok(ip) = host.parse::<IpAddr>() {
            let fits = !matches!(over, AddressFamilies::Only(family) if Family::of(ip) != Some(family));
            return if fits { Ok(vec![ip]) } else { Err(no_address(host, over)) };
        }
        let mut addresses = self.all_addresses(host).await?;
        match over {
            AddressFamilies::Any => addresses = interleaved(addresses),
            AddressFamilies::Prefer(family) => order::sort_by_key(&mut addresses, |ip| Family::of(*ip) != Some(family)),
            AddressFamilies::Only(family) => {
                addresses.retain(|ip| Family::of(*ip) == Some(family));
                if addresses.is_empty() {
                    return Err(no_address(host, over));
                }
            }
        }
        Ok(addresses)
    }

    async fn all_addresses(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        let known = self.known.borrow().get(host).cloned();
        let look_up = known.unwrap_or_else(|| {
            // A task of its own: it continues even if nobody waits any more, and then frees its slot.
            let task = spawn_local(ask(host.to_owned(), self.places.clone()));
            let not_ended = cannot(host, "the lookup was abandoned");
            let new = task.map(|ended| ended.unwrap_or(Err(not_ended))).boxed_local().shared();
            self.known.borrow_mut().insert(host.to_owned(), new.clone());
            new
        });
        look_up.await
    }
}

fn is_under_way(look_up: &LookUp) -> bool {
    look_up.clone().now_or_never().is_none()
}

fn no_address(host: &str, over: AddressFamilies) -> String {
    match over {
        AddressFamilies::Only(family) => format!("{host} has no {family} address"),
        AddressFamilies::Any | AddressFamilies::Prefer(_) => format!("the name {host} has no address"),
    }
}

fn cannot(host: &str, why: &str) -> String {
    format!("the name {host} cannot be looked up ({why})")
}

/// Asks the system for the addresses of a host.
async fn ask(host: String, places: Rc<LookupSlots>) -> Result<Vec<IpAddr>, String> {
    let found = places.look_up(&host).await.map_err(|error| {
        let text = error.to_string();
        cannot(&host, text.trim_start_matches("failed to lookup address information: "))
    })?;
    let mut addresses: Vec<IpAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address.ip()) {
            addresses.push(address.ip());
        }
    }
    if addresses.is_empty() { Err(no_address(&host, AddressFamilies::Any)) } else { Ok(addresses) }
}

/// Does not use tokio's thread pool, which panics if the system has no thread left.
async fn in_thread(host: String) -> io::Result<Vec<SocketAddr>> {
    let (found, result) = oneshot::channel();
    thread::Builder::new().spawn(move || {
        let addresses = (host.as_str(), 0).to_socket_addrs();
        let _ = found.send(addresses.map(Iterator::collect));
    })?;
    result.await.unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}
