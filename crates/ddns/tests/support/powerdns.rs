//! A real `PowerDNS` with an empty database, where it is installed.

use std::cell::Cell;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::Sandbox;
use crate::support::programs::free_port;
use crate::support::tools::{Ended, skipped, started, tool};

/// Where Debian has the tables of an empty database.
const SCHEMA: &str = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql";

/// A server, ended with this.
pub struct PowerDns {
    _server: Ended,
    pub api: u16,
    pub dns: u16,
}

impl PowerDns {
    /// One that has a zone and its API. It listens at this address for DNS, on the port that is given or a free one.
    pub fn start(place: &Sandbox, zone: &str, (address, port): (&str, u16)) -> Option<Self> {
        let tools = ["pdns_server", "pdnsutil", "sqlite3"].map(tool);
        let ([Some(program), Some(util), Some(sqlite)], true) = (tools, Path::new(SCHEMA).exists()) else {
            skipped("`pdns_server` with its backend for SQLite, or `sqlite3`, is not installed");
            return None;
        };
        let folder = place.path("").display().to_string();
        let place_of_config = format!("--config-dir={folder}");
        let configure = |api: u16, dns: u16| {
            let text = format!(
                "launch=gsqlite3\ngsqlite3-database={folder}/zones.sqlite\nsocket-dir={folder}\nsecurity-poll-suffix=\n\
                 local-address={address}\nlocal-port={dns}\n\
                 cache-ttl=0\nquery-cache-ttl=0\nnegquery-cache-ttl=0\nzone-cache-refresh-interval=0\n\
                 api=yes\napi-key=SecretKey123\nwebserver-address=127.0.0.1\nwebserver-port={api}\n"
            );
            place.write("pdns.conf", text);
        };
        configure(0, 0);
        run(Command::new(sqlite).arg(place.path("zones.sqlite")).arg(format!(".read {SCHEMA}")));
        run(Command::new(util).args([place_of_config.as_str(), "create-zone", zone, &format!("ns.{zone}")]));
        let dns = Cell::new(0);
        let (server, api) = started(|api| {
            dns.set(if port == 0 { free_port() } else { port });
            configure(api, dns.get());
            let mut command = Command::new(&program);
            command.arg(&place_of_config);
            command
        });
        Some(Self { _server: server, api, dns: dns.get() })
    }

    /// Somebody changes a record by hand.
    pub fn tamper(place: &Sandbox, name: &str, ip: &str) {
        let sql = format!("update records set content='{ip}' where name='{name}' and type='A'");
        run(Command::new("sqlite3").arg(place.path("zones.sqlite")).arg(sql));
    }
}

/// Fails the test where the program fails.
#[track_caller]
fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {output:?}");
}
