//! The one table of everything that can be set.
//!
//! Names of options and environment variables, their help, the JSON schema and the configuration reference all come
//! from here; a test fails when a generated file drifts. What a value means is decided in `validate`.

/// A field. The order is that of [`FIELDS`] and of the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each is described in the table")]
pub enum Key {
    Dns,
    Id,
    Endpoint,
    Token,
    Method,
    Headers,
    Format,
    Ipv4,
    Ipv6,
    Index4,
    Index6,
    Ttl,
    Line,
    Extra,
    Zone,
    Sign,
    Proxy,
    Ssl,
    Cache,
    CacheMaxAge,
    Timeout,
    MinInterval,
    Expect,
    Combine,
    Concurrency,
    Interval,
    Web,
    Group,
    Debug,
    LogLevel,
    LogFile,
    LogFormat,
    LogDatefmt,
    Notify,
    Providers,
    Schema,
}

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// A JSON object, or a string that holds a JSON document.
    Document,
    /// A list of strings, or one string with separators.
    List,
    /// A list of domains, one domain, or one string with separators.
    Domains,
    /// A list of sources, one source, or `false`.
    Sources,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// A boolean.
    Flag,
    /// A boolean, or a string with a meaning of its own (`auto`, a path).
    FlagOrText,
    /// A whole number, or a string with a meaning of its own (`auto`, `90s`).
    WholeOrText,
    /// An object of scalars.
    Object,
    /// An object of strings, or lines of the form `Name: value`.
    Headers,
    /// An object, or a string with a meaning of its own (`dyndns2`).
    ObjectOrText,
    /// A boolean, an object, or a string with a meaning of its own (an address).
    FlagObjectOrText,
    /// A list of objects.
    Objects,
    /// A list of objects, or one object.
    Callbacks,
}

impl Kind {
    /// Whether it is a list, which options add to.
    pub fn is_list(self) -> bool {
        matches!(self, Self::List | Self::Domains | Self::Sources)
    }
}

/// Where a field may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldScope {
    /// Inside or outside of `providers`.
    Entry,
    /// Events of `providers` only: it holds for the whole file.
    File,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// How the code refers to it.
    pub key: Key,
    /// The name in a file; a dot stands for an object inside.
    pub name: &'static str,
    /// The name of the environment variable; `None` if only a file can set it.
    pub variable: Option<&'static str>,
    /// The environment variable that names a file which holds the value; `None` if the value is rarely a secret.
    pub file_variable: Option<&'static str>,
    /// The name of the option, without its dashes; `None` if only a file can set it.
    pub option: Option<&'static str>,
    /// Other spellings of the option that users of other clients have in their scripts.
    pub aliases: &'static [&'static str],
    /// What it takes.
    pub kind: Kind,
    /// Where it may stand.
    pub scope: FieldScope,
    /// Whether the value may be a key and is never shown.
    pub secret: bool,
    /// How the value is called in help texts.
    pub value: &'static str,
    /// What it is where it is not set, as one would type it behind the option; empty where it is nothing then.
    pub default: &'static str,
    /// One line for people.
    pub help: &'static str,
}

impl Field {
    /// The row of a key.
    pub fn of(key: Key) -> &'static Self {
        &FIELDS[key as usize]
    }

    /// The field of a name, as files and entries have it; `provider` is `dns` there.
    pub fn written(name: &str) -> Option<&'static Self> {
        let name = if name == "provider" { "dns" } else { name };
        FIELDS.iter().find(|field| field.name == name)
    }

    /// What is allowed, for a sentence that ends in it.
    pub fn allowed(&self) -> &'static str {
        match (self.key, self.kind) {
            (Key::Ssl, _) => "`auto`, `true`, `false` or the path of a CA file",
            (Key::Cache, _) => "`true`, `false` or the path of a file",
            (Key::Concurrency, _) => "`auto` or a whole number from 1 to 1000",
            (Key::Method, _) => "one of GET, POST, PUT, PATCH, DELETE",
            (Key::Format, _) => "`json`, `form` or `text`",
            (Key::Group, _) => "an object with `store`, `name`, `lease` and the like",
            (Key::Combine, _) => "an object with `families`, `domains` and `missing`",
            (Key::Expect, _) => "`dyndns2`, or an object with `stop`, `wait`, `reject` and `accept`",
            (Key::Interval | Key::MinInterval, _) => "minutes as a whole number, or a text such as `90s`, `5m`, `1h`",
            (Key::Zone, _) => "a domain name, or a list of them",
            (Key::Sign, _) => "a secret `whsec_…`, a list of them, or files (`{\"file\": \"path\"}`)",
            (Key::LogLevel, _) => "one of DEBUG, INFO, WARNING, ERROR, CRITICAL",
            (Key::Timeout, _) => "a number of seconds, more than 0 and at most 3600",
            (Key::Ttl | Key::CacheMaxAge, _) => "a whole number of seconds",
            (_, Kind::Text) => "a string",
            (_, Kind::Document) => "an object, or a string that holds a JSON object or list",
            (_, Kind::List) => "a list of strings, or one string",
            (_, Kind::Domains) => "a list of domains, or one domain",
            (_, Kind::Sources) => "a list of sources, one source, or `false`",
            (_, Kind::Whole | Kind::WholeOrText) => "a whole number",
            (_, Kind::Number) => "a number",
            (_, Kind::Flag | Kind::FlagOrText) => "`true` or `false`",
            (_, Kind::ObjectOrText) => "an object, or a string",
            (_, Kind::Object) => "an object of strings, numbers, booleans and files (`{\"file\": \"path\"}`)",
            (_, Kind::Headers) => "an object of strings",
            (_, Kind::Objects) => "a list of objects",
            (_, Kind::FlagObjectOrText) => "`true`, an address to listen on, or an object",
            (_, Kind::Callbacks) => "an object, or a list of objects",
        }
    }
}

/// A field that is set everywhere: in files, in the environment, on the command line.
const fn field(
    key: Key,
    name: &'static str,
    names: (&'static str, &'static str),
    kind: Kind,
    scope: FieldScope,
) -> Field {
    let (variable, option) = (Some(names.0), Some(names.1));
    Field {
        key,
        name,
        variable,
        file_variable: None,
        option,
        aliases: &[],
        kind,
        scope,
        secret: false,
        value: "",
        default: "",
        help: "",
    }
}

impl Field {
    const fn in_files_only(self) -> Self {
        Self { variable: None, option: None, ..self }
    }

    const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    const fn also_in_file(self, variable: &'static str) -> Self {
        Self { file_variable: Some(variable), ..self }
    }

    const fn secret(self) -> Self {
        Self { secret: true, ..self }
    }

    const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    const fn help(self, value: &'static str, help: &'static str) -> Self {
        Self { value, help, ..self }
    }
}

/// The fields that may be read from a file, each with the environment variable that names it.
pub fn file_variables() -> impl Iterator<Item = (&'static Field, &'static str)> {
    FIELDS.iter().filter_map(|field| Some((field, field.file_variable?)))
}

/// Every field, in the order of the reference.
pub const FIELDS: [Field; 36] = {
    use FieldScope::{Entry, File};
    use Key as K;
    use Kind::{
        Callbacks, Document, Domains, Flag, FlagObjectOrText, FlagOrText, Headers, List, Number, Object, ObjectOrText,
        Objects, Sources, Text, Whole, WholeOrText,
    };

    [
        field(K::Dns, "dns", ("DDNS_DNS", "dns"), Text, Entry).help("NAME", "The provider: always `callback`"),
        field(K::Id, "id", ("DDNS_ID", "id"), Text, Entry).secret().also_in_file("DDNS_ID_FILE").help(
            "URL",
            "Address of the callback, or a path that is appended to `endpoint`; placeholders are filled in",
        ),
        field(K::Endpoint, "endpoint", ("DDNS_ENDPOINT", "endpoint"), Text, Entry)
            .secret()
            .help("URL", "Base address; placeholders in it are not filled in"),
        field(K::Token, "token", ("DDNS_TOKEN", "token"), Document, Entry)
            .secret()
            .also_in_file("DDNS_TOKEN_FILE")
            .help("JSON", "JSON body of a POST; placeholders are filled in; without it a GET is sent"),
        field(K::Method, "method", ("DDNS_METHOD", "method"), Text, Entry)
            .help("METHOD", "Method of the request; not set: POST with a `token`, GET without"),
        // The option sets one header, and may be repeated.
        field(K::Headers, "headers", ("DDNS_HEADERS", "header"), Headers, Entry)
            .secret()
            .aliases(&["headers"])
            .help("HEADER", "Headers of the request, e.g. `Authorization: Bearer KEY`; placeholders are filled in"),
        field(K::Format, "format", ("DDNS_FORMAT", "format"), Text, Entry)
            .default("json")
            .help("FORMAT", "What `token` is sent as: `json`, `form` (a web form) or `text`"),
        field(K::Ipv4, "ipv4", ("DDNS_IPV4", "ipv4"), Domains, Entry)
            .help("DOMAIN", "Domains to update with your IPv4 address (A)"),
        field(K::Ipv6, "ipv6", ("DDNS_IPV6", "ipv6"), Domains, Entry)
            .help("DOMAIN", "Domains to update with your IPv6 address (AAAA)"),
        // Secret: the address of a page or a command may hold a key.
        field(K::Index4, "index4", ("DDNS_INDEX4", "index4"), Sources, Entry)
            .secret()
            .default("default")
            .help("SOURCE", "Where the IPv4 address comes from, tried in order; `false`: no IPv4"),
        field(K::Index6, "index6", ("DDNS_INDEX6", "index6"), Sources, Entry)
            .secret()
            .default("default")
            .help("SOURCE", "Where the IPv6 address comes from, tried in order; `false`: no IPv6"),
        field(K::Ttl, "ttl", ("DDNS_TTL", "ttl"), Whole, Entry).help("SECONDS", "The value of `__TTL__`"),
        field(K::Line, "line", ("DDNS_LINE", "line"), Text, Entry).help("TEXT", "The value of `__LINE__`"),
        field(K::Extra, "extra", ("DDNS_EXTRA", "extra"), Object, Entry)
            .secret()
            .help("JSON", "Placeholders of your own: an object with keys such as `__KEY__`"),
        field(K::Zone, "zone", ("DDNS_ZONE", "zone"), List, Entry)
            .help("ZONE", "Zone of the domains: gives `__ZONE__`, `__HOST__` (`@` for the zone itself) and `__SUBDOMAIN__`"),
        field(K::Sign, "sign", ("DDNS_SIGN", "sign"), List, Entry)
            .secret()
            .also_in_file("DDNS_SIGN_FILE")
            .help("SECRET", "Sign requests with this secret (Standard Webhooks): `whsec_…`; several while it is replaced"),
        field(K::Proxy, "proxy", ("DDNS_PROXY", "proxy"), List, Entry)
            .default("SYSTEM")
            .secret()
            .help("PROXY", "Proxies for callbacks, tried in order: `http://`, `https://`, `socks5://`, `socks5h://`, `DIRECT`, `SYSTEM`"),
        field(K::Ssl, "ssl", ("DDNS_SSL", "ssl"), FlagOrText, Entry)
            .default("auto")
            .help("MODE", "How https certificates are verified: `auto`, `true`, `false`, or a CA file to trust as well"),
        field(K::Cache, "cache", ("DDNS_CACHE", "cache"), FlagOrText, Entry)
            .default("true")
            .help("PATH", "Remember what was accepted: `true`, `false`, or the file to use"),
        field(K::CacheMaxAge, "cache_max_age", ("DDNS_CACHE_MAX_AGE", "cache-max-age"), Whole, Entry)
            .aliases(&["cache_max_age"])
            .default("259200")
            .help("SECONDS", "Send an unchanged address again after this long; 0: always"),
        field(K::Timeout, "timeout", ("DDNS_TIMEOUT", "timeout"), Number, Entry)
            .default("30")
            .help("SECONDS", "Time limit for one request, from connecting to the status of the response"),
        field(K::MinInterval, "min_interval", ("DDNS_MIN_INTERVAL", "min-interval"), WholeOrText, Entry)
            .aliases(&["min_interval"])
            .help("TIME", "Least time between two requests for one update: minutes, or e.g. 90s, 10m, 1h"),
        field(K::Expect, "expect", ("DDNS_EXPECT", "expect"), ObjectOrText, Entry)
            .help("RULE", "What the response must say: `dyndns2`, or an object with `stop`, `wait`, `reject`, `accept`"),
        field(K::Combine, "combine", ("DDNS_COMBINE", "combine"), Object, Entry)
            .help("JSON", "Several updates in one request: an object with `families`, `domains`, `missing`"),
        field(K::Concurrency, "concurrency", ("DDNS_CONCURRENCY", "concurrency"), WholeOrText, File)
            .default("auto")
            .help("NUMBER", "Requests at the same time: `auto` or a number; 1: strictly one after the other"),
        field(K::Interval, "interval", ("DDNS_INTERVAL", "interval"), WholeOrText, File)
            .help("TIME", "Keep running and synchronize this often: minutes, or e.g. 90s, 5m, 1h"),
        field(K::Web, "web", ("DDNS_WEB", "web"), FlagObjectOrText, File)
            .help("ADDRESS", "A page that shows how `ddns watch` stands: where it listens (127.0.0.1:9876), or an object"),
        // Secret: a password may have been written here by mistake.
        field(K::Group, "group", ("", ""), Object, File)
            .in_files_only()
            .secret()
            .help("", "Several hosts, one name: an object with `store` (`etcd://HOST:PORT,…`) and `name`; one of the group sends"),
        field(K::Debug, "debug", ("DDNS_DEBUG", "debug"), Flag, File)
            .default("false")
            .help("", "Detailed log: requests and responses, secrets masked"),
        field(K::LogLevel, "log.level", ("DDNS_LOG_LEVEL", "log-level"), Text, File)
            .aliases(&["log.level", "log_level"])
            .default("INFO")
            .help("LEVEL", "Lowest level to log: DEBUG, INFO, WARNING, ERROR, CRITICAL"),
        field(K::LogFile, "log.file", ("DDNS_LOG_FILE", "log-file"), Text, File)
            .aliases(&["log.file", "log_file"])
            .help("PATH", "Log to this file instead of standard error"),
        field(K::LogFormat, "log.format", ("DDNS_LOG_FORMAT", "log-format"), Text, File)
            .aliases(&["log.format", "log_format"])
            .help("FORMAT", "Format of a log line: `%(asctime)s %(levelname)s %(name)s %(message)s`, or `json`"),
        field(K::LogDatefmt, "log.datefmt", ("DDNS_LOG_DATEFMT", "log-datefmt"), Text, File)
            .aliases(&["log.datefmt", "log_datefmt"])
            .default("%Y-%m-%dT%H:%M:%S%z")
            .help("FORMAT", "Format of the time in a log line, as in strftime"),
        field(K::Notify, "notify", ("DDNS_NOTIFY", "notify"), Callbacks, File)
            .secret()
            .help("JSON", "Callbacks that tell what happens: `id` and the like, `on` (`changed`, `failed`, …) and `after`"),
        field(K::Providers, "providers", ("", ""), Objects, File)
            .in_files_only()
            .help("", "Several callbacks in one file: each entry has `provider` in place of `dns` and its own fields"),
        field(K::Schema, "$schema", ("", ""), Text, File)
            .in_files_only()
            .help("", "Address of a JSON schema, for editors"),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_stands_at_the_place_of_its_key() {
        for (at, field) in FIELDS.iter().enumerate() {
            assert_eq!(field.key as usize, at, "{}", field.name);
            assert!(!field.help.is_empty(), "{}", field.name);
        }
    }

    #[test]
    fn b11_names_of_options_and_variables_follow_from_the_field() {
        for field in &FIELDS {
            let plain = field.name.replace('.', "_");
            if matches!(field.key, Key::Group | Key::Providers | Key::Schema) {
                assert_eq!((field.variable, field.option), (None, None), "{}", field.name);
                continue;
            }
            let variable = format!("DDNS_{}", plain.to_uppercase());
            assert_eq!(field.variable, Some(variable.as_str()));
            assert!(field.file_variable.is_none_or(|name| name.strip_suffix("_FILE") == Some(&variable)));
            // `--header` sets one of them.
            let option = if field.key == Key::Headers { "header".to_owned() } else { plain.replace('_', "-") };
            assert_eq!(field.option, Some(option.as_str()));
            let mut spellings = vec![field.name.to_owned(), plain];
            spellings.dedup();
            spellings.retain(|spelling| *spelling != option);
            assert_eq!(field.aliases, spellings, "{}", field.name);
        }
    }
}
