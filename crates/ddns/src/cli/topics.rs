//! What `ddns help` explains beside the commands.

use super::help;

/// A page of help about one thing.
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    /// As a heading of the manual page.
    pub(crate) title: &'static str,
    pub(crate) page: fn() -> String,
}

/// All of them, in the order of the help.
pub(crate) const TOPICS: [Topic; 5] = [
    Topic { name: "options", title: "OPTIONS", page: help::options },
    Topic { name: "config", title: "CONFIGURATION", page: || CONFIG.to_owned() },
    Topic { name: "placeholders", title: "PLACEHOLDERS", page: || PLACEHOLDERS.to_owned() },
    Topic { name: "sources", title: "SOURCES OF THE ADDRESS", page: || SOURCES.to_owned() },
    Topic { name: "exit-codes", title: "EXIT STATUS", page: || EXIT_CODES.to_owned() },
];

const CONFIG: &str = "\
A configuration is a JSON object; comments and trailing commas are allowed.

  {
    \"dns\": \"callback\",
    \"id\": \"https://example.com/update?name=__DOMAIN__&ip=__IP__&key=my-key\",
    \"ipv4\": [\"home.example.com\"]
  }

Without `token` a GET is sent; with it a POST, and the token is its JSON body.
Several callbacks go into `providers`, each with `provider` in place of `dns`.

Where it is looked for, without -c and DDNS_CONFIG; the first one counts:
  config.json   ~/.ddns/config.json   ~/.ddns.json
  /etc/ddns/config.json   /etc/ddns.json

Each field can also be set by an option (--id, --log-level) or a variable of
the environment (DDNS_ID, DDNS_LOG_LEVEL). The command line wins over the file,
the file over the environment. DDNS_TOKEN_FILE and DDNS_ID_FILE name files that
hold the value. A list is JSON, or separated by commas.

All fields: `ddns help options`. What is filled in: `ddns help placeholders`.
";

const PLACEHOLDERS: &str = "\
Filled in wherever they stand in `id` and in the values of `token`:

  __DOMAIN__      the domain that is told
  __IP__          its address; IPv6 in canonical text
  __RECORDTYPE__  A for a domain in `ipv4`, AAAA for one in `ipv6`
  __TTL__         `ttl` of the configuration; empty where it is not set
  __LINE__        `line` of the configuration; empty where it is not set
  __TIMESTAMP__   seconds since the epoch, with a fractional part

Placeholders of your own go into `extra`: { \"__ZONE__\": \"example.com\" }.

In an address a value is encoded so that it can neither end a parameter nor add
one; in JSON it is escaped. In a token that is a text, a placeholder outside
quotes becomes a bare value: {\"ttl\": __TTL__} sends {\"ttl\":600}, or null.
`endpoint` and the keys of `token` are never filled in; unknown names stay.
";

const SOURCES: &str = "\
`index4` and `index6` name sources, tried in order; the first usable address
wins. Without any it is `default`.

  default             the address that the kernel uses toward the internet; no
                      packet is sent; for IPv6 the stable one, not the temporary
  public              what services on the internet see, over https
  url:ADDRESS         the first address in the text of a page
  stun:HOST[:PORT]    what a STUN server sees
  0, 1, …             the best address of the Nth interface with a usable one
  interface:NAME      the best address of that interface
  regex:PATTERN       the first local address that matches from its start
  cmd:PROGRAM ARGS    the first address in the output of a program
  shell:COMMAND       the same for a line of shell
  quorum:N(A, B, …)   an address that N of these sources agree on
  false               this family is switched off

`ddns addresses` shows what each of them says now, and which one wins.
";

const EXIT_CODES: &str = "\
The exit status of a synchronization, and of a command as far as it applies:

  0   every update was accepted, or known already
  1   at least one failed, or no address was found; the rest was done all the
      same, and the next run sends it again
  2   the configuration or the command line is wrong; nothing was sent

Accepted means: the endpoint answered with a status from 200 to 299. What it
says beside the status does not count.
";
