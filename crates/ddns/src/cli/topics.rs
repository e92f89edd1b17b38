//! The topics that `ddns help` explains besides the commands.

use ddns_core::config::fields::FIELDS;

use super::rows;
use super::table::{self, ALONE, NEGATIONS, negation_help, usage_of};
use crate::output::layout::{broken, fitted};

/// A page of help about one thing.
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    /// As a heading of the manual page.
    pub(crate) title: &'static str,
    /// For a screen of this width.
    pub(crate) page: fn(usize) -> String,
}

/// All of them, in the order of the help.
pub(crate) const TOPICS: [Topic; 5] = [
    Topic { name: "options", title: "OPTIONS", page: options },
    Topic { name: "config", title: "CONFIGURATION", page: |width| fitted(CONFIG, width) },
    Topic { name: "placeholders", title: "PLACEHOLDERS", page: |width| fitted(PLACEHOLDERS, width) },
    Topic { name: "sources", title: "SOURCES OF THE ADDRESS", page: |width| fitted(SOURCES, width) },
    Topic { name: "exit-codes", title: "EXIT STATUS", page: |width| fitted(EXIT_CODES, width) },
];

fn options(width: usize) -> String {
    let mut help = broken("Options of `ddns` and of every command that reads a configuration:", 0, width);
    help += &rows::lettered(&table::CONFIG, width);
    help += &rows::lettered(&table::QUIET, width);
    for field in &FIELDS {
        if let Some(usage) = usage_of(field) {
            help += &rows::option(&usage, field.help, width);
        }
    }
    for (option, key) in NEGATIONS {
        help += &rows::option(&format!("--{option}"), &negation_help(key), width);
    }
    for choice in &ALONE {
        help += &rows::option(&choice.usage(), choice.help, width);
    }
    let note = "Each can also be set in the configuration file or in the environment (DDNS_ID, DDNS_TOKEN, …): see \
                `ddns help config`. An option that takes a list can have several values, and can be repeated.";
    help + "\n" + &broken(note, 0, width)
}

const CONFIG: &str = "\
A configuration is a JSON object; comments and trailing commas are allowed.

  {
    \"dns\": \"callback\",
    \"id\": \"https://example.com/update?name=__DOMAIN__&ip=__IP__&key=my-key\",
    \"ipv4\": [\"home.example.com\"]
  }

Without `token`, ddns sends a GET; with it, a POST with `token` as the JSON body.
Use `method`, `headers` and `format` for any other request.
For several callbacks use `providers`, each with `provider` instead of `dns`.

Without -c and DDNS_CONFIG, ddns uses the first of these files:
  config.json   ~/.ddns/config.json   ~/.ddns.json
  /etc/ddns/config.json   /etc/ddns.json

Each field can also be set by an option (--id, --log-level) or an environment
variable (DDNS_ID, DDNS_LOG_LEVEL). The command line overrides the file, and the
file overrides the environment. DDNS_TOKEN_FILE, DDNS_ID_FILE and DDNS_SIGN_FILE
name files that contain the value. Write a list as JSON, or separated by commas.

All fields: `ddns help options`. Placeholders: `ddns help placeholders`.
";

const PLACEHOLDERS: &str = "\
Replaced wherever they appear in `id`, and in values of `token` and `headers`:

  __DOMAIN__      the domain
  __IP__          its address; IPv6 in canonical text
  __RECORDTYPE__  A for a domain in `ipv4`, AAAA for one in `ipv6`
  __TTL__         `ttl` of the configuration; empty if not set
  __LINE__        `line` of the configuration; empty if not set
  __TIMESTAMP__   seconds since the epoch, with a fractional part
  __OLDIP__       the address accepted last; empty if there is none

If `zone` is set, also:

  __ZONE__        the zone of the domain
  __HOST__        the name inside the zone; @ for the zone itself
  __SUBDOMAIN__   the same; empty for the zone itself

In `notify`, use these: __EVENT__, __MESSAGE__, __DOMAINS__, __IP__, __OLDIP__,
__RECORDTYPE__, __TIMESTAMP__.

Define your own in `extra`: { \"__KEY__\": \"my-key\" }.

In a URL, a value is encoded so that it can neither end nor add a parameter;
in JSON, it is escaped. If `token` is a string, a placeholder outside quotes
becomes a bare value: {\"ttl\": __TTL__} sends {\"ttl\":600}, or null.
Nothing is replaced in `endpoint` and in the keys of `token`. Unknown names are
sent unchanged.
";

const SOURCES: &str = "\
`index4` and `index6` list sources. ddns tries them in order and uses the first
usable address. The default is `default`.

  default             the address this host uses toward the internet; no packet
                      is sent; for IPv6 the stable one, not a temporary one
  public              the address that services on the internet see, over https
  url:URL             the first address in the text of a web page
  stun:HOST[:PORT]    the address that a STUN server sees
  dns                 the address that a DNS server on the internet sees
  dns:SERVER/NAME     the same, by your own server and name; add /TXT or /TXT/CH
                      to the name if the address is in a text record
  router[:ADDRESS]    the address that the router has on the internet (IPv4)
  push[:NAME]         the address that a router or another host told
                      `ddns watch --web`; `ddns init --push ROUTER` explains it
  0, 1, …             the best address of the Nth interface that has one
  interface:NAME      the best address of that interface
  regex:PATTERN       the first local address that matches, from its start
  cmd:PROGRAM ARGS    the first address in the output of a program
  shell:COMMAND       the same, run by `sh -c`
  quorum:N(A, B, …)   an address that N of these sources agree on
  false               turns this family off

`ddns addresses` shows what each source returns now, and which one is used.
";

const EXIT_CODES: &str = "\
The exit status of `ddns`, and of its commands where they apply:

  0   every update was accepted or already up to date
  1   an update failed, or no address was found; the others were still sent,
      and the next run sends the failed ones again
  2   the configuration or the command line is wrong, or several
      services match; nothing was sent
  3   `ddns status`: no service responds; `ddns verify`: it cannot be told

An update is accepted if the endpoint responds with a status from 200 to 299.
The text of the response only matters if you set `expect`.
";
