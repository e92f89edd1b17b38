//! The init script for `OpenWrt`: the one in `packaging/openwrt`, with the changes of an installation.

use super::ServiceSpec;
use crate::text::shell;

/// The path of the script. `/etc/init.d/ddns` belongs to the package ddns-scripts.
pub const SCRIPT: &str = "/etc/init.d/ddns-watch";

/// The user that the service runs as.
pub const USER: &str = "nobody";

/// `packaging/openwrt/ddns.init`
const PACKAGED: &str = include_str!("ddns.init");

/// How the packaged script starts the program.
const START: &str = "/usr/sbin/ddns watch -c /etc/ddns/config.json";

/// The script that `ddns service install` writes: the packaged one with another head and program.
pub fn installed(service: &ServiceSpec) -> String {
    let (_, script) = PACKAGED.split_once("\n\n").unwrap_or_default();
    let script = script.replace(START, &shell::line(service.watching()));
    format!("#!/bin/sh /etc/rc.common\n# {}\n\n{script}", service.head("", ""))
}
