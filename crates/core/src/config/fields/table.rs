//! The rows: every field, and the parts of objects inside fields. The types of the columns explain them.

use super::{EditRight, Field, FieldScope, FieldUse, Kind, RequestPart, SubField, SubKind, Visibility};

/// Makes rows of parts: name, kind, whether it is required, what may be shown, uses, the parts inside, and help.
macro_rules! parts {
    (@needed must) => { true };
    (@needed may) => { false };
    ($($name:literal $kind:ident $needed:ident $shown:ident [$($use:ident)*] $parts:ident $help:literal;)*) => {
        &[$(SubField {
            name: $name,
            kind: SubKind::$kind,
            is_needed: parts!(@needed $needed),
            shown: Visibility::$shown,
            uses: 0 $(| FieldUse::$use as u8)*,
            parts: $parts,
            help: $help,
        }),*]
    };
}

const NONE: &[SubField] = &[];

/// The part of an object that names a file in place of a value (H13).
pub const FILE: &[SubField] = parts! { "file" SecretPath must Path [] NONE "A file with the value on one line"; };

const SIGN: &[SubField] = parts! {
    "file" SecretPath may Path [] NONE "A file that contains a secret `whsec_…` on one line";
    "scheme" Text may Never [CacheKey Recipe Notify] NONE "`aws4`, `tc3`, `acs3`, `huawei`, `ovh`, `google` or `rsa-sha512`";
    "id" Text may Never [CacheKey Recipe Notify] NONE "The public id of the key";
    "secret" Secret may Never [CacheKey Recipe Notify] NONE "The secret of the key; for `ovh`, the application secret";
    "region" Text may Never [CacheKey Recipe Notify] NONE "The region of the service, such as `us-east-1`";
    "service" Text may Never [CacheKey Recipe Notify] NONE "The service, such as `route53`";
    "consumer" Secret may Never [CacheKey Recipe Notify] NONE "The consumer key of `ovh`";
    "token" Secret may Never [CacheKey Recipe Notify] NONE "The session token of temporary credentials";
    "key" Secret may Never [CacheKey Recipe Notify] NONE "A private key in PEM, or the JSON file of a service account";
    "header" Text may Never [CacheKey Recipe Notify] NONE "The header for the signature of `rsa-sha512`; not set: `Signature`";
    "audience" Text may Never [CacheKey Recipe Notify] NONE "The audience of a token of `google`; not set: the origin";
};

const VERIFY: &[SubField] = parts! {
    "ask" Text may Deep [] NONE "Who is asked: `zone` (its own servers; the default) or `resolver`";
    "server" List may Deep [] NONE "Servers to ask in place of the zone's: hosts or addresses";
    "resolver" List may Deep [] NONE "Addresses of resolvers in place of the system's";
    "within" WholeOrText may Deep [] NONE "How long it may take until an accepted address is visible; not set: 15m";
    "every" WholeOrText may Deep [] NONE "How often a visible address is looked at; not set: 1h";
    "repair" Flag may Deep [] NONE "Whether an address that DNS no longer has is sent again";
    "proxied" Flag may Deep [] NONE "The name is behind a proxy: any public address is right";
    "exact" Flag may Deep [] NONE "The address must be the only one of its type";
};

const DOMAIN: &[SubField] = parts! {
    "name" Text must Domains [] NONE "The domain name";
    "extra" Values may Never [CacheKey Recipe] FILE "Your own placeholders for this domain alone";
    "interface_id" Text may Plain [] NONE "The lower bits of another host's IPv6 address: ddns takes the prefix from the address it found";
    "verify" FlagOrObject may Deep [] VERIFY "Whether DNS is asked about this domain, and how";
};

const CONDITION: &[SubField] = parts! {
    "status" Statuses may Deep [CacheKey Recipe Notify] NONE "Statuses, such as 404, or a list of them";
    "body" Text may Deep [CacheKey Recipe Notify] NONE "A regular expression that the text of the response must match";
    "json" Pointers may Deep [CacheKey Recipe Notify] NONE "Values that the response must have: JSON pointers and values";
    "for" Text may Deep [CacheKey Recipe Notify] NONE "How long to wait, e.g. `30m`";
    "until" Text may Deep [CacheKey Recipe Notify] NONE "`address`: only until the address changes";
    "all" Flag may Deep [CacheKey Recipe Notify] NONE "For all updates of the entry, not only this one";
};

const EXPECT: &[SubField] = parts! {
    "stop" Conditions may Deep [CacheKey Recipe Notify] CONDITION "The service refuses the update permanently: ddns stops sending it";
    "wait" Conditions may Deep [CacheKey Recipe Notify] CONDITION "The service asks for a pause";
    "reject" Conditions may Deep [CacheKey Recipe Notify] CONDITION "The update failed, and is sent again later";
    "accept" Conditions may Deep [CacheKey Recipe Notify] CONDITION "The update is accepted only if one of these holds";
    "forget" Conditions may Deep [CacheKey Recipe] CONDITION "The kept values are outdated: look them up again";
    "none" Conditions may Deep [CacheKey Recipe] CONDITION "In a step: the service has no such entry";
};

const NEXT: &[SubField] = parts! {
    "at" Text must Deep [CacheKey Recipe] NONE "Where the response has the value for the next page: a JSON pointer";
    "as" Text must Deep [CacheKey Recipe] NONE "The query parameter that takes this value";
};

const STEP: &[SubField] = parts! {
    "in" Text may Deep [CacheKey Recipe] NONE "The list in the response: a JSON pointer; not set: the whole response";
    "where" Pointers may Deep [CacheKey Recipe] NONE "Choose the entry with these values: JSON pointers and values";
    "not" Pointers may Deep [CacheKey Recipe] NONE "Leave out entries with these values";
    "total" Text may Deep [CacheKey Recipe] NONE "Where the response says how many entries the list has: a JSON pointer";
    "next" Object may Deep [CacheKey Recipe] NEXT "How to ask for further pages";
    "same" Pointers may Deep [CacheKey Recipe] NONE "Send nothing if the entry has these values";
    "take" Pointers may Deep [CacheKey Recipe] NONE "Values of the entry for later requests: JSON pointers and names such as `__ID__`";
    "secret" Pointers may Deep [CacheKey Recipe] NONE "Like `take`, but never shown";
    "keep" Text may Deep [Recipe] NONE "How long to reuse the result, e.g. `10m`";
};

const COMBINE: &[SubField] = parts! {
    "families" Flag may Deep [CacheKey Recipe] NONE "One request for both addresses of a domain";
    "domains" Whole may Deep [CacheKey Recipe] NONE "One request for up to this many domains";
    "missing" Text may Deep [CacheKey Recipe] NONE "The text to send for an address that was not found; not set: nothing is sent";
};

const PUSH: &[SubField] = parts! {
    "user" Text may WithoutUser [] NONE "The user that the router sends; not set: the name";
    "password_file" SecretPath must Path [] NONE "A file with its password (16 characters or more), or with a hash made by `ddns password`";
    "from" List may WithoutUser [] NONE "Addresses or networks that may push; not set: any";
    "max_age" WholeOrText may WithoutUser [] NONE "How long an address counts without another push, e.g. `12h`; not set: until the next one";
};

const WEB: &[SubField] = parts! {
    "listen" Text may WithoutUser [] NONE "The address to listen on; not set: 127.0.0.1:9876";
    "password_file" SecretPath may Path [] NONE "A file with the hash that `ddns password` printed";
    "token_file" SecretPath may Path [] NONE "A file with a token (16 characters or more) for programs";
    "allow_edit" Flag may WithoutUser [] NONE "Whether the page may edit the configuration";
    "hosts" List may WithoutUser [] NONE "Further names of the page, such as that of a reverse proxy";
    "proxies" List may WithoutUser [] NONE "Addresses or networks of reverse proxies: only their `X-Forwarded-…` headers count";
    "certificate" Path may Path [] NONE "A PEM file with the certificate: the page speaks https";
    "key" SecretPath may Path [] NONE "A PEM file with the private key of the certificate";
    "push" Named may Parts [] PUSH "Routers and other hosts that may push their address, each with a name: the source `push:NAME`";
};

const GROUP: &[SubField] = parts! {
    "store" Text must WithoutUser [] NONE "The nodes of etcd: `etcd://HOST:PORT,…`, or `etcds://…` for TLS";
    "name" Text must WithoutUser [] NONE "The name of the group";
    "lease" WholeOrText may WithoutUser [] NONE "How long the others wait for a host that does not respond, 5s to 10m; not set: 15s";
    "member" Text may WithoutUser [] NONE "The name of this host in the group; not set: the host name and a random part";
    "prefer" WholeOrText may WithoutUser [] NONE "0 to 100: the host with the highest number takes the lease back";
    "ca" Path may Path [] NONE "A PEM file with the certificate authority of etcd";
    "certificate" Path may Path [] NONE "A PEM file with this host's certificate for etcd";
    "key" SecretPath may Path [] NONE "A PEM file with the private key of that certificate";
    "user" Text may WithoutUser [] NONE "The user of etcd";
    "password_file" SecretPath may Path [] NONE "A file with the password of that user";
};

const NOTIFICATION: &[SubField] = parts! {
    "on" Events may Deep [Recipe] NONE "Events to report; not set: `changed`, `failed`, `recovered` and `stopped`";
    "after" Whole may Deep [Recipe] NONE "Failures in a row before `failed` is sent; not set: 3";
};

/// Makes [`Key`] and [`FIELDS`]. A row has: key, name, label on the page; environment variable and option, and `FILE`
/// if another variable names a file with the value; kind, words, scope; what may be shown, what the page may do, role
/// in a request, uses, parts; name of the value, default, example, allowed values; help.
macro_rules! fields {
    ($($key:ident $name:literal $label:literal $set:tt $kind:ident $words:tt $scope:ident $shown:ident $edit:ident $request:ident
        [$($use:ident)*] $parts:ident; $value:literal $default:literal $example:literal $allowed:literal; $help:literal)*) => {
        /// A field, in the order of [`FIELDS`] and of the reference.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "each is described in the table")]
        pub enum Key { $($key),* }

        /// Every field, in the order of the reference.
        pub static FIELDS: [Field; [$(stringify!($key)),*].len()] = [$(Field {
            key: Key::$key,
            name: $name,
            label: $label,
            variable: fields!(@variable $set),
            file_variable: fields!(@file $set),
            option: fields!(@option $set),
            kind: Kind::$kind,
            words: &$words,
            scope: FieldScope::$scope,
            shown: Visibility::$shown,
            edit: EditRight::$edit,
            request: RequestPart::$request,
            uses: 0 $(| FieldUse::$use as u8)*,
            parts: $parts,
            value: $value,
            default: $default,
            example: $example,
            allowed: $allowed,
            help: $help,
        }),*];
    };
    (@variable ()) => { None };
    (@variable ($variable:literal $($rest:tt)*)) => { Some($variable) };
    (@option ()) => { None };
    (@option ($variable:literal $option:literal $($rest:tt)*)) => { Some($option) };
    (@file ($variable:literal $option:literal FILE)) => { Some(concat!($variable, "_FILE")) };
    (@file $set:tt) => { None };
}

fields! {
    Dns "dns" "" ("DDNS_DNS" "dns") Word ["callback"] Entry Plain Free Nothing [] NONE;
        "NAME" "" "\"callback\"" "a string"; "The provider: always `callback`"
    Id "id" "URL" ("DDNS_ID" "id" FILE) Text [] Entry Url Free Content [CacheKey Recipe Notify Step] NONE;
        "URL" "" "\"/hook?ip=__IP__\"" "a string";
        "URL of the callback, or a path to append to `endpoint`; may contain placeholders"
    Endpoint "endpoint" "Base URL" ("DDNS_ENDPOINT" "endpoint") Text [] Entry BaseUrl Free Content [CacheKey Recipe Notify] NONE;
        "URL" "" "\"https://example.com/api/\"" "a string"; "Base URL; placeholders are not filled in here"
    Token "token" "Body" ("DDNS_TOKEN" "token" FILE) Document [] Entry Body Free Content [CacheKey Recipe Notify Step] NONE;
        "JSON" "" "{ \"domain\": \"__DOMAIN__\", \"ip\": \"__IP__\" }" "an object, or a string that contains a JSON object or list";
        "JSON body of a POST; may contain placeholders; without it ddns sends a GET"
    Method "method" "Method" ("DDNS_METHOD" "method") Word ["GET", "POST", "PUT", "PATCH", "DELETE"] Entry Plain Free Content [CacheKey Recipe Notify Step] NONE;
        "METHOD" "" "\"GET\"" "one of GET, POST, PUT, PATCH, DELETE";
        "Request method; not set: POST with a `token`, GET without"
    // The option sets one header, and may be repeated.
    Headers "headers" "Headers" ("DDNS_HEADERS" "header") Headers [] Entry Headers Free Content [CacheKey Recipe Notify Step] NONE;
        "HEADER" "" "{ \"Authorization\": \"Bearer my-key\" }" "an object of strings";
        "Request headers, e.g. `Authorization: Bearer KEY`; may contain placeholders"
    Format "format" "Format of the body" ("DDNS_FORMAT" "format") Word ["json", "form", "text"] Entry Plain Free Content [CacheKey Recipe Notify Step] NONE;
        "FORMAT" "json" "" "`json`, `form` or `text`"; "How to send `token`: `json`, `form` (a web form) or `text`"
    Ipv4 "ipv4" "IPv4 domains" ("DDNS_IPV4" "ipv4") Domains [] Entry Domains Free Content [] DOMAIN;
        "DOMAIN" "" "[\"home.example.com\"]" "a list of domains, or one domain"; "Domains to update with your IPv4 address (A)"
    Ipv6 "ipv6" "IPv6 domains" ("DDNS_IPV6" "ipv6") Domains [] Entry Domains Free Content [] DOMAIN;
        "DOMAIN" "" "[\"home.example.com\"]" "a list of domains, or one domain"; "Domains to update with your IPv6 address (AAAA)"
    Index4 "index4" "IPv4 address from" ("DDNS_INDEX4" "index4") Sources ["default", "public", "false"] Entry Sources NoProgram Nothing [] NONE;
        "SOURCE" "default" "" "a list of sources, one source, or `false`";
        "Where the IPv4 address comes from, tried in order; `false`: no IPv4"
    Index6 "index6" "IPv6 address from" ("DDNS_INDEX6" "index6") Sources ["default", "public", "false"] Entry Sources NoProgram Nothing [] NONE;
        "SOURCE" "default" "" "a list of sources, one source, or `false`";
        "Where the IPv6 address comes from, tried in order; `false`: no IPv6"
    Ttl "ttl" "TTL" ("DDNS_TTL" "ttl") Whole [] Entry Plain Free Nothing [CacheKey Recipe] NONE;
        "SECONDS" "" "300" "a whole number of seconds up to 4294967295"; "The value of `__TTL__`"
    Line "line" "Line" ("DDNS_LINE" "line") Text [] Entry Plain Free Nothing [CacheKey Recipe] NONE;
        "TEXT" "" "\"default\"" "a string"; "The value of `__LINE__`"
    Extra "extra" "Values of your own" ("DDNS_EXTRA" "extra") Values [] Entry Never Free Content [CacheKey Recipe Notify] FILE;
        "JSON" "" "{ \"__KEY__\": \"my-key\" }" "an object of strings, numbers, booleans and files (`{\"file\": \"path\"}`)";
        "Your own placeholders: an object with keys such as `__KEY__`"
    Zone "zone" "Zone" ("DDNS_ZONE" "zone") List [] Entry Plain Free Content [CacheKey Recipe] NONE;
        "ZONE" "" "\"example.com\"" "a domain name, or a list of them";
        "Zone of the domains; sets `__ZONE__`, `__HOST__` (`@` for the zone itself) and `__SUBDOMAIN__`"
    Sign "sign" "Signature" ("DDNS_SIGN" "sign" FILE) Secrets [] Entry Never Free Content [CacheKey Recipe Notify Step] SIGN;
        "SECRET" "" "\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"" "a secret `whsec_…`, a list of them, files (`{\"file\": \"path\"}`), or a scheme (`{\"scheme\": \"aws4\", …}`)";
        "Sign requests: with a secret `whsec_…` (Standard Webhooks), or the way a service requires (`scheme`)"
    Proxy "proxy" "Proxies" ("DDNS_PROXY" "proxy") List [] Entry Proxies Free Transport [Notify] NONE;
        "PROXY" "SYSTEM" "[\"DIRECT\"]" "a list of strings, or one string";
        "Proxies for callbacks, tried in order: `http://`, `https://`, `socks5://`, `socks5h://`, `DIRECT`, `SYSTEM`"
    Ssl "ssl" "Certificate check" ("DDNS_SSL" "ssl") FlagOrText ["auto", "true", "false"] Entry Plain NoPath Transport [Notify] NONE;
        "MODE" "auto" "" "`auto`, `true`, `false` or the path of a CA file";
        "How to verify https certificates: `auto`, `true`, `false`, or a CA file to trust as well"
    Cache "cache" "Cache" ("DDNS_CACHE" "cache") FlagOrText ["true", "false"] Entry Plain NoPath Nothing [] NONE;
        "PATH" "true" "" "`true`, `false` or the path of a file"; "Remember what was accepted: `true`, `false`, or the file to use"
    CacheMaxAge "cache_max_age" "Send again after" ("DDNS_CACHE_MAX_AGE" "cache-max-age") Whole [] Entry Plain Free Nothing [Recipe] NONE;
        "SECONDS" "259200" "" "a whole number of seconds"; "Send an unchanged address again after this long; 0: always"
    Timeout "timeout" "Time limit" ("DDNS_TIMEOUT" "timeout") Number [] Entry Plain Free Transport [Notify] NONE;
        "SECONDS" "30" "" "a number of seconds, more than 0 and at most 3600";
        "Time limit for one request, from connecting to the status of the response"
    MinInterval "min_interval" "Least time between requests" ("DDNS_MIN_INTERVAL" "min-interval") WholeOrText [] Entry Plain Free Nothing [Recipe] NONE;
        "TIME" "" "\"10m\"" "minutes as a whole number, or a string such as `90s`, `5m`, `1h`";
        "Minimum time between two requests for one update: minutes, or e.g. 90s, 10m, 1h; up to 30d"
    Expect "expect" "Expected response" ("DDNS_EXPECT" "expect") ObjectOrText [] Entry Deep Free Content [CacheKey Recipe Notify Step] EXPECT;
        "RULE" "" "\"dyndns2\"" "`dyndns2`, or an object with `stop`, `wait`, `reject`, `accept` and `forget`";
        "What the response must say: `dyndns2`, or an object with `stop`, `wait`, `reject`, `accept`"
    Combine "combine" "Combined requests" ("DDNS_COMBINE" "combine") Object [] Entry Deep Free Content [CacheKey Recipe] COMBINE;
        "JSON" "" "{ \"families\": false }" "an object with `families`, `domains` and `missing`";
        "Several updates in one request: an object with `families`, `domains`, `missing`"
    Verify "verify" "Check in DNS" () FlagObjectOrText ["true", "false"] Entry Deep Free Nothing [] VERIFY;
        "" "false" "true" "`true`, `false`, or an object with `ask`, `server`, `within` and the like";
        "Ask the zone's own DNS servers whether an accepted address is visible: `true`, or an object"
    Before "before" "Lookups before the update" ("DDNS_BEFORE" "before") Callbacks [] Entry Fields Free Content [CacheKey Recipe] STEP;
        "JSON" "" "{ \"id\": \"/records?name=__DOMAIN__\", \"in\": \"/records\", \"take\": { \"/id\": \"__RECORD_ID__\" } }" "an object, or a list of up to three objects";
        "Requests that look something up before the update, e.g. a record ID: `id` and other request fields, `in`, `where`, `take`, `same`"
    Absent "absent" "Request if there is no record" ("DDNS_ABSENT" "absent") Callbacks [] Entry Fields Free Content [CacheKey Recipe] NONE;
        "JSON" "" "{ \"method\": \"POST\", \"id\": \"/records\" }" "an object";
        "Request to send instead of the update if `before` finds nothing; inherits the fields of the entry"
    After "after" "Request after the update" ("DDNS_AFTER" "after") Callbacks [] Entry Fields Free Content [CacheKey Recipe] NONE;
        "JSON" "" "{ \"method\": \"POST\", \"id\": \"/refresh\", \"token\": null }" "an object";
        "Request to send after the update; inherits the fields of the entry"
    Concurrency "concurrency" "Requests at once" ("DDNS_CONCURRENCY" "concurrency") WholeOrText ["auto"] File Plain Free Nothing [Recipe] NONE;
        "NUMBER" "auto" "" "`auto` or a whole number from 1 to 1000";
        "How many requests to send at once: `auto` or a number; 1: one after the other"
    Interval "interval" "Interval" ("DDNS_INTERVAL" "interval") WholeOrText [] File Plain Free Nothing [] NONE;
        "TIME" "" "\"5m\"" "minutes as a whole number, or a string such as `90s`, `5m`, `1h`";
        "Keep running and synchronize this often: minutes, or e.g. 90s, 5m, 1h; 10s to 30d"
    Web "web" "This page" ("DDNS_WEB" "web") FlagObjectOrText [] File PlainOrParts Host Nothing [] WEB;
        "ADDRESS" "" "\"127.0.0.1:9876\"" "`true`, an address to listen on, or an object";
        "A page with the state of `ddns watch`: the address to listen on (127.0.0.1:9876), or an object"
    Group "group" "Group" () Object [] File Parts Host Nothing [] GROUP;
        "" "" "{ \"store\": \"etcd://10.0.0.1:2379\", \"name\": \"home\" }" "an object with `store`, `name`, `lease` and other fields";
        "Several hosts, one name, and one host that sends: an object with `store` (`etcd://HOST:PORT,…`) and `name`"
    Debug "debug" "Detailed log" ("DDNS_DEBUG" "debug") Flag [] FileOrEntry Plain Free Nothing [] NONE;
        "" "false" "" "`true` or `false`"; "Detailed log: requests and responses, secrets masked"
    LogLevel "log.level" "Log level" ("DDNS_LOG_LEVEL" "log-level") Text ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] File Plain Free Nothing [] NONE;
        "LEVEL" "INFO" "" "one of DEBUG, INFO, WARNING, ERROR, CRITICAL";
        "Lowest level to log: DEBUG, INFO, WARNING, ERROR, CRITICAL"
    LogFile "log.file" "Log file" ("DDNS_LOG_FILE" "log-file") Text [] File Plain NoPath Nothing [] NONE;
        "PATH" "" "\"ddns.log\"" "a string"; "Log to this file instead of standard error"
    LogFormat "log.format" "Log format" ("DDNS_LOG_FORMAT" "log-format") Text ["json"] File Plain Free Nothing [] NONE;
        "FORMAT" "" "\"%(asctime)s %(levelname)s %(message)s\"" "a string";
        "Format of a log line: `%(asctime)s %(levelname)s %(name)s %(message)s`, or `json`"
    LogDatefmt "log.datefmt" "Time format of the log" ("DDNS_LOG_DATEFMT" "log-datefmt") Text [] File Plain Free Nothing [] NONE;
        "FORMAT" "%Y-%m-%dT%H:%M:%S%z" "" "a string"; "Format of the time in a log line, as in strftime"
    Notify "notify" "Notifications" ("DDNS_NOTIFY" "notify") Callbacks [] File Fields Host Nothing [] NOTIFICATION;
        "JSON" "" "{ \"id\": \"https://ntfy.sh/TOPIC/publish?message=__MESSAGE__\" }" "an object, a list of objects, or a URL";
        "Callbacks that report what happens: `id` and other request fields, `on` (`changed`, `failed`, …) and `after`; a URL alone gets the message as `text`"
    Providers "providers" "" () Entries [] File Fields Free Nothing [] NONE;
        "" "" "[{\"provider\": \"callback\", \"id\": \"https://a.example/__IP__\"}]" "a list of objects";
        "Several callbacks in one file: each entry has `provider` instead of `dns`, and its own fields"
    Recipe "recipe" "" () Text [] FileOrEntry Plain Free Nothing [] NONE;
        "" "" "\"cloudflare@2\"" "a string"; "The recipe, with its version, that wrote this configuration; does not affect what is sent"
    Schema "$schema" "" () Text [] FileOrEntry Plain Free Nothing [] NONE;
        "" "" "\"ddns.schema.json\"" "a string"; "URL or path of a JSON schema, for editors"
}
