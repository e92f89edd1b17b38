//! The init script of `OpenWrt`: the one in `packaging/openwrt`, with what an installation changes in it.

use super::ServiceSpec;
use crate::text::shell;

/// Where it is: the package ddns-scripts has an `/etc/init.d/ddns` of its own.
pub const SCRIPT: &str = "/etc/init.d/ddns-watch";

/// The user that it runs as.
pub const USER: &str = "nobody";

/// `packaging/openwrt/ddns.init`
const PACKAGED: &str = include_str!("ddns.init");

/// How the packaged script starts the program.
const START: &str = "/usr/sbin/ddns watch -c /etc/ddns/config.json";

/// The script that `ddns service install` writes: the packaged one, but for its head and the program.
pub fn installed(service: &ServiceSpec) -> String {
    let (_, script) = PACKAGED.split_once("\n\n").unwrap_or_default();
    let script = script.replace(START, &shell::line(service.watching()));
    format!("#!/bin/sh /etc/rc.common\n# {}\n\n{script}", service.head("", ""))
}
