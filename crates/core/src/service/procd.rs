//! The init script of `OpenWrt`. The one in `packaging/openwrt` is this text: a test compares them.

use super::ServiceSpec;
use crate::text::shell;

/// Where it is: the package ddns-scripts has an `/etc/init.d/ddns` of its own.
pub const SCRIPT: &str = "/etc/init.d/ddns-watch";

/// The user that it runs as.
pub const USER: &str = "nobody";

/// `packaging/openwrt/ddns.init`
pub fn packaged(service: &ServiceSpec) -> String {
    script(service, "Install as /etc/init.d/ddns-watch: the package ddns-scripts has an /etc/init.d/ddns of its own.")
}

/// The script that `ddns service install` writes.
pub fn installed(service: &ServiceSpec) -> String {
    script(service, &service.head("", "").replace('\n', "\n# "))
}

fn script(service: &ServiceSpec, head: &str) -> String {
    let command = shell::line(service.watching());
    format!(
        "\
#!/bin/sh /etc/rc.common
# {head}

START=95
STOP=10
USE_PROCD=1

# Both are in memory, to spare the flash; after the router restarts, the address is sent once more.
STATE=/var/lib/ddns
RUNTIME=/var/run/ddns

start_service() {{
	mkdir -p \"$STATE\" \"$RUNTIME\"
	chown {USER} \"$STATE\" \"$RUNTIME\"
	chmod 0700 \"$STATE\" \"$RUNTIME\"

	procd_open_instance
	procd_set_param command {command}
	procd_set_param env STATE_DIRECTORY=\"$STATE\" RUNTIME_DIRECTORY=\"$RUNTIME\"
	procd_set_param user {USER}
	procd_set_param no_new_privs 1
	procd_set_param stderr 1
	procd_set_param respawn 3600 10 5
	procd_set_param term_timeout 10
	procd_close_instance
}}

reload_service() {{
	procd_send_signal ddns-watch '*' HUP
}}
"
    )
}
