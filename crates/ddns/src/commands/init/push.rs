//! `ddns init --push`: what to type into a router, so that it tells its address (F10m). Nothing is written.

use ddns_core::net::family::Family;

use super::wrong;
use crate::lookup::own_address;
use crate::output::{Ended, print};
use crate::platform::gateway;

/// Where a router has the fields, and what belongs into them, `NAS` for this host.
struct RouterForm {
    name: &'static str,
    place: &'static str,
    fields: &'static [(&'static str, &'static str)],
    note: &'static str,
}

const FORMS: [RouterForm; 3] = [
    RouterForm {
        name: "fritzbox",
        place: "the FRITZ!Box: Internet > Permit Access > DynDNS, provider \"User-defined\"",
        fields: &[
            (
                "Update URL",
                "http://NAS:9876/nic/update?hostname=<domain>&myip=<ipaddr>&myipv6=<ip6addr>&ip6lanprefix=<ip6lanprefix>",
            ),
            ("Domain name", "home.example.com"),
            ("User name", "router"),
            ("Password", "the text in push.password"),
        ],
        note: "Type the words in <…> as they are. All fields must be filled in. The box compares the name in DNS with its own\n\
               address later, and shows an error where the name belongs to another host or a proxy: that is harmless.",
    },
    RouterForm {
        name: "unifi",
        place: "UniFi: Settings > Internet > your WAN > Dynamic DNS, service \"custom\" or \"dyndns\"",
        fields: &[
            ("Hostname", "home.example.com"),
            ("Username", "router"),
            ("Password", "the text in push.password"),
            ("Server", "NAS:9876/nic/update?hostname=%h&myip=%i"),
        ],
        note: "It tells the address of its WAN: where that is private, because another router is in front, ddns refuses it.",
    },
    RouterForm {
        name: "openwrt",
        place: "OpenWrt: Services > Dynamic DNS, service \"custom\", one for each family",
        fields: &[
            ("Custom update-URL", "http://[USERNAME]:[PASSWORD]@NAS:9876/nic/update?hostname=[DOMAIN]&myip=[IP]"),
            ("Lookup hostname, domain", "home.example.com"),
            ("Username", "router"),
            ("Password", "the text in push.password"),
        ],
        note: "Type the words in […] as they are. Private addresses are not told unless you allow it.",
    },
];

pub(super) fn explain(router: &str) -> Ended {
    let names = FORMS.map(|form| form.name).join(", ");
    let form = FORMS.into_iter().find(|form| form.name.eq_ignore_ascii_case(router));
    let form =
        form.ok_or_else(|| wrong(&format!("--push does not know `{router}`"), &format!("use one of {names}")))?;
    let nas = own_address(Family::V4).map_or_else(|| "ADDRESS-OF-THIS-HOST".to_owned(), |ip| ip.to_string());
    let from = gateway().map_or_else(|_| "192.168.178.1".to_owned(), |gateway| gateway.ip.to_string());
    let width = form.fields.iter().map(|(label, _)| label.len()).max().unwrap_or_default();
    let fields = form.fields.iter().map(|(label, text)| format!("    {label:width$}  {}", text.replace("NAS", &nas)));
    let fields = fields.collect::<Vec<_>>().join("\n");
    let (place, note) = (form.place, form.note);
    Ok(print(&format!(
        "1. On this host, make a password for the router and one for the page, beside your config.json:\n\n    \
         (umask 077; head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \\n' > push.password)\n    \
         ddns password > web.password\n\n\
         2. Add this to config.json; `index6` only if the router knows IPv6:\n\n    \
         \"index4\": \"push:router\",\n    \
         \"index6\": \"push:router\",\n    \
         \"web\": {{\n      \
         \"listen\": \"0.0.0.0:9876\",\n      \
         \"password_file\": \"web.password\",\n      \
         \"push\": {{ \"router\": {{ \"password_file\": \"push.password\", \"from\": [\"{from}\"] }} }}\n    \
         }}\n\n\
         3. Start `ddns watch`.\n\n\
         4. Type this into {place}:\n\n{fields}\n\n{note}\n\
         The password crosses your network without encryption: use it for nothing else.\n"
    )))
}
