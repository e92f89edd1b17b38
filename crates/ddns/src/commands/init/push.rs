//! `ddns init --push`: shows what to enter in a router so that it reports its address (F10m). Writes nothing.

use ddns_core::net::family::Family;

use crate::lookup::own_address;
use crate::output::{Ended, print, refuse};
use crate::platform::gateway;

/// The steps for all routers, then a section for each. `NAS` stands for this host, `GATEWAY` for the router.
const STEPS: &str = include_str!("push.txt");

pub(super) fn explain(router: &str) -> Ended {
    let (steps, forms) = STEPS.split_once("\n# ").unwrap_or_default();
    let forms = || forms.split("\n# ").filter_map(|form| form.split_once('\n'));
    let Some((_, form)) = forms().find(|(name, _)| name.eq_ignore_ascii_case(router)) else {
        let names = forms().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
        return Err(refuse(format!("--push does not know `{router}`"), format!("use one of {names}")));
    };
    let nas = own_address(Family::V4).map_or_else(|| "ADDRESS-OF-THIS-HOST".to_owned(), |ip| ip.to_string());
    let from = gateway().map_or_else(|_| "192.168.178.1".to_owned(), |gateway| gateway.ip.to_string());
    let warning = "The password crosses your network without encryption: use it for nothing else.";
    let text = format!("{steps}\n{}\n{warning}\n", form.trim_end());
    Ok(print(&text.replace("NAS", &nas).replace("GATEWAY", &from)))
}
