//! The one table of everything that can be set, objects inside of fields included.
//!
//! Names of options and environment variables, their help, the JSON schema, the configuration reference, what may be seen of a
//! value, who may set it and who takes it all come from here; a test fails when a generated file drifts, and another one looks at
//! what each column does. What a value means is decided in `validate`.

use crate::text::json::Value;

/// What a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// One of its words.
    Word,
    /// A JSON object, or a string that holds a JSON document.
    Document,
    /// A list of strings, or one string with separators.
    List,
    /// The same; each may be in a file of its own.
    Secrets,
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
    /// An object of scalars; each may be in a file of its own.
    Values,
    /// An object with parts.
    Object,
    /// An object of strings, or lines of the form `Name: value`.
    Headers,
    /// An object with parts, or a string with a meaning of its own (`dyndns2`).
    ObjectOrText,
    /// A boolean, an object with parts, or a string with a meaning of its own (an address).
    FlagObjectOrText,
    /// A list of objects.
    Entries,
    /// A list of objects, or one object.
    Callbacks,
}

impl Kind {
    /// Whether it is a list, which options add to.
    pub fn is_list(self) -> bool {
        matches!(self, Self::List | Self::Secrets | Self::Domains | Self::Sources)
    }

    /// Whether an item of the list may be an object: a domain (H9), or the file of a secret (H13).
    pub(super) fn has_objects(self) -> bool {
        matches!(self, Self::Domains | Self::Secrets)
    }
}

/// Where a field may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldScope {
    /// Inside or outside of `providers`.
    Entry,
    /// Outside of `providers` only: it holds for the whole file.
    File,
    /// The same; inside it is no mistake.
    FileOrEntry,
}

/// What of a value may be seen, in listings, messages and on the page (G2, I2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// All of it, unless it is an object.
    Plain,
    /// All of it, objects included.
    Deep,
    /// An address without its keys; placeholders are filled in.
    Url,
    /// An address without its keys.
    BaseUrl,
    /// Names, placeholders, and what is no string or number.
    Body,
    /// Names, and values that are known to be no keys.
    Headers,
    /// Addresses without user and password.
    Proxies,
    /// Addresses without their keys, and the names of programs.
    Sources,
    /// Names, and what their parts say.
    Domains,
    /// Nothing but the path of a file that holds it.
    Never,
    /// What was read as a file, or looks like a path: the secret itself may stand there by mistake.
    Path,
    /// All of it, unless there is a user in it.
    WithoutUser,
    /// What its parts say.
    Parts,
    /// What its parts say, or all of it where it is no object.
    PlainOrParts,
    /// What the fields inside say.
    Fields,
}

impl Visibility {
    /// Whether a value may hold a key: a message shows neither it nor its line.
    pub fn is_secret(self, value: &Value) -> bool {
        match self {
            Self::Plain | Self::Deep | Self::Domains => false,
            Self::PlainOrParts => value.members().is_some() || value.text().is_some_and(|text| text.contains('{')),
            _ => true,
        }
    }
}

/// What the page may do with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditRight {
    /// Set it.
    Free,
    /// Set it, but to no program (`cmd:`, `shell:`).
    NoProgram,
    /// Set it, but to no path.
    NoPath,
    /// Nothing: it belongs to the host.
    Host,
}

/// What part a field has in a request: who gets what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestPart {
    /// It makes the request, or judges its response. An entry that the page adds has its own: nobody gets what was meant for
    /// somebody else.
    Content,
    /// It is the way to the endpoint; a notification inherits it.
    Way,
    /// None that could give something away.
    Nothing,
}

/// What else takes a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldUse {
    /// The key of the cache: where it changes, updates are sent again (E3). The encoding itself is in `callback::key`.
    CacheKey = 1,
    /// A recipe may fill it. It fills nothing that runs a program, names a file or belongs to the host.
    Recipe = 2,
    /// A notification has it, too (I5).
    Notify = 4,
    /// A request around the update has it, too (H14).
    Step = 8,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// How the code refers to it.
    pub key: Key,
    /// The name in a file; a dot stands for an object inside.
    pub name: &'static str,
    /// What the page calls it; empty where it has no place there.
    pub label: &'static str,
    /// The name of the environment variable; `None` if only a file can set it.
    pub variable: Option<&'static str>,
    /// The environment variable that names a file which holds the value; `None` if the value is rarely a secret.
    pub file_variable: Option<&'static str>,
    /// The name of the option, without its dashes; `None` if only a file can set it.
    pub option: Option<&'static str>,
    /// What it takes.
    pub kind: Kind,
    /// The words that it takes, or the most usual ones.
    pub words: &'static [&'static str],
    /// Where it may stand.
    pub scope: FieldScope,
    /// What of it may be seen.
    pub shown: Visibility,
    /// What the page may do with it.
    pub edit: EditRight,
    /// What part it has in a request.
    pub request: RequestPart,
    /// What else takes it.
    uses: u8,
    /// What its objects consist of.
    pub parts: &'static [SubField],
    /// How the value is called in help texts.
    pub value: &'static str,
    /// What it is where it is not set, as one would type it behind the option; empty where it is nothing then.
    pub default: &'static str,
    /// What it could be, as JSON; empty where that is the default.
    pub example: &'static str,
    /// What is allowed, for a sentence that ends in it.
    pub allowed: &'static str,
    /// One line for people.
    pub help: &'static str,
}

/// What a part of a field takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubKind {
    /// A string.
    Text,
    /// A boolean.
    Flag,
    /// A boolean, or an object with parts.
    FlagOrObject,
    /// A whole number.
    Whole,
    /// A whole number, or a string that is one or has a unit.
    WholeOrText,
    /// A list of strings, or one string with separators.
    List,
    /// An object of scalars; each may be in a file of its own.
    Values,
    /// A string, or an object that names a file with it.
    Secret,
    /// The path of a file.
    Path,
    /// The path of a file for its owner alone.
    SecretPath,
    /// A status, a range of them, or a list of both.
    Statuses,
    /// An object of JSON pointers and values.
    Pointers,
    /// A regular expression, an object with parts, or a list of both.
    Conditions,
    /// Words of events, or one of them.
    Events,
    /// An object with parts.
    Object,
    /// An object of names that the user chooses, each an object with parts.
    Named,
}

/// A row of an object inside of a field. Where it may stand and what part it has in a request is said by the field; the page sets it where it
/// sets the field, unless it is a path.
#[derive(Debug, Clone, Copy)]
pub struct SubField {
    /// The name in the object.
    pub name: &'static str,
    /// What it takes.
    pub kind: SubKind,
    /// Whether the object is none without it.
    pub is_needed: bool,
    /// What of it may be seen.
    pub shown: Visibility,
    /// What else takes it.
    uses: u8,
    /// What its objects consist of.
    pub parts: &'static [SubField],
    /// One line for editors; empty where the name says it.
    pub help: &'static str,
}

impl Field {
    /// Which fields its objects have besides their parts; `None` if they have none.
    pub fn inside(&self) -> Option<FieldUse> {
        match self.key {
            Key::Notify => Some(FieldUse::Notify),
            Key::Before | Key::Absent | Key::After => Some(FieldUse::Step),
            _ => None,
        }
    }

    /// The row of a key.
    pub fn of(key: Key) -> &'static Self {
        &FIELDS[key as usize]
    }

    /// The field of a name, as files and entries have it; `provider` is `dns` there.
    pub fn written(name: &str) -> Option<&'static Self> {
        let name = if name == "provider" { "dns" } else { name };
        FIELDS.iter().find(|field| field.name == name)
    }

    /// Whether something takes it.
    pub fn is_for(&self, what: FieldUse) -> bool {
        self.uses & what as u8 != 0
    }

    /// Whether an option, typed without its dashes, sets it. Its name, with `_` for a dot too, is what users of other clients
    /// have in their scripts.
    pub fn is_set_by(&self, typed: &str) -> bool {
        let fits = |(typed, written): (u8, u8)| typed == written || (typed, written) == (b'_', b'.');
        let is_name = || typed.len() == self.name.len() && typed.bytes().zip(self.name.bytes()).all(fits);
        self.option.is_some_and(|option| option == typed || is_name())
    }
}

impl SubField {
    /// Whether something takes it.
    pub fn is_for(&self, what: FieldUse) -> bool {
        self.uses & what as u8 != 0
    }
}

/// The fields that something takes.
pub fn used_by(what: FieldUse) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |field| field.is_for(what))
}

/// The field of a name, where something takes it.
pub fn used(what: FieldUse, name: &str) -> Option<&'static Field> {
    used_by(what).find(|field| field.name == name)
}

/// The fields that may be read from a file, each with the environment variable that names it.
pub fn file_variables() -> impl Iterator<Item = (&'static Field, &'static str)> {
    FIELDS.iter().filter_map(|field| Some((field, field.file_variable?)))
}

/// The part of a name.
pub fn part(parts: &'static [SubField], name: &str) -> Option<&'static SubField> {
    parts.iter().find(|part| part.name == name)
}

/// The names of parts.
pub fn names(parts: &'static [SubField]) -> impl Iterator<Item = &'static str> {
    parts.iter().map(|part| part.name)
}

/// The names of parts in backticks, for a sentence.
pub(super) fn quoted(parts: &'static [SubField], last: &str) -> String {
    let names: Vec<String> = names(parts).map(|name| format!("`{name}`")).collect();
    names.split_last().map(|(end, others)| format!("{}{last}{end}", others.join(", "))).unwrap_or_default()
}

/// Makes rows of parts: name, kind, whether it must be there, what may be seen, uses, the parts inside, and help.
macro_rules! parts {
    (@needed must) => { true };
    (@needed may) => { false };
    ($($name:literal $kind:ident $needed:ident $shown:ident [$($use:ident)*] $parts:ident $($help:literal)?;)*) => {
        &[$(SubField {
            name: $name,
            kind: SubKind::$kind,
            is_needed: parts!(@needed $needed),
            shown: Visibility::$shown,
            uses: 0 $(| FieldUse::$use as u8)*,
            parts: $parts,
            help: concat!($($help)?),
        }),*]
    };
}

const NONE: &[SubField] = &[];

/// What every object has that names a file in place of a value (H13).
pub const FILE: &[SubField] = parts! { "file" SecretPath must Path [] NONE; };

const SIGN: &[SubField] = parts! {
    "file" SecretPath may Path [] NONE "A file that contains a secret `whsec_…` on one line";
    "scheme" Text may Never [CacheKey Recipe Notify] NONE "`aws4`, `tc3`, `acs3`, `huawei`, `ovh`, `google` or `rsa-sha512`";
    "id" Text may Never [CacheKey Recipe Notify] NONE "The public id of the key";
    "secret" Secret may Never [Recipe Notify] NONE;
    "region" Text may Never [CacheKey Recipe Notify] NONE;
    "service" Text may Never [CacheKey Recipe Notify] NONE;
    "consumer" Secret may Never [CacheKey Recipe Notify] NONE;
    "token" Secret may Never [Recipe Notify] NONE "The session token of temporary credentials";
    "key" Secret may Never [CacheKey Recipe Notify] NONE "A private key in PEM, or the JSON file of a service account";
    "header" Text may Never [Recipe Notify] NONE "The header for the signature of `rsa-sha512`; not set: `Signature`";
    "audience" Text may Never [Recipe Notify] NONE "The audience of a token of `google`; not set: the origin";
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
    "name" Text must Domains [] NONE;
    "extra" Values may Never [CacheKey Recipe] FILE;
    "interface_id" Text may Plain [] NONE;
    "verify" FlagOrObject may Deep [] VERIFY;
};

const CONDITION: &[SubField] = parts! {
    "status" Statuses may Deep [CacheKey Recipe Notify] NONE;
    "body" Text may Deep [CacheKey Recipe Notify] NONE;
    "json" Pointers may Deep [CacheKey Recipe Notify] NONE;
    "for" Text may Deep [CacheKey Recipe Notify] NONE;
    "until" Text may Deep [CacheKey Recipe Notify] NONE;
    "all" Flag may Deep [CacheKey Recipe Notify] NONE;
};

const EXPECT: &[SubField] = parts! {
    "stop" Conditions may Deep [CacheKey Recipe Notify] CONDITION;
    "wait" Conditions may Deep [CacheKey Recipe Notify] CONDITION;
    "reject" Conditions may Deep [CacheKey Recipe Notify] CONDITION;
    "accept" Conditions may Deep [CacheKey Recipe Notify] CONDITION;
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
    "families" Flag may Deep [CacheKey Recipe] NONE;
    "domains" Whole may Deep [CacheKey Recipe] NONE;
    "missing" Text may Deep [CacheKey Recipe] NONE;
};

const PUSH: &[SubField] = parts! {
    "user" Text may WithoutUser [] NONE "The user that the router sends; not set: the name";
    "password_file" SecretPath must Path [] NONE "A file with its password (16 characters or more), or with a hash made by `ddns password`";
    "from" List may WithoutUser [] NONE "Addresses or networks that may push; not set: any";
    "max_age" WholeOrText may WithoutUser [] NONE "How long an address counts without another push, e.g. `12h`; not set: until the next one";
};

const WEB: &[SubField] = parts! {
    "listen" Text may WithoutUser [] NONE;
    "password_file" SecretPath may Path [] NONE;
    "token_file" SecretPath may Path [] NONE;
    "allow_edit" Flag may WithoutUser [] NONE;
    "hosts" List may WithoutUser [] NONE;
    "proxies" List may WithoutUser [] NONE;
    "certificate" Path may Path [] NONE;
    "key" SecretPath may Path [] NONE;
    "push" Named may Parts [] PUSH "Routers and other hosts that may push their address, each with a name: the source `push:NAME`";
};

const GROUP: &[SubField] = parts! {
    "store" Text must WithoutUser [] NONE;
    "name" Text must WithoutUser [] NONE;
    "lease" WholeOrText may WithoutUser [] NONE;
    "member" Text may WithoutUser [] NONE;
    "prefer" WholeOrText may WithoutUser [] NONE;
    "ca" Path may Path [] NONE;
    "certificate" Path may Path [] NONE;
    "key" SecretPath may Path [] NONE;
    "user" Text may WithoutUser [] NONE;
    "password_file" SecretPath may Path [] NONE;
};

const NOTIFICATION: &[SubField] = parts! {
    "on" Events may Deep [Recipe] NONE "Events to report; not set: `changed`, `failed`, `recovered` and `stopped`";
    "after" Whole may Deep [Recipe] NONE "Failures in a row before `failed` is sent; not set: 3";
};

/// Makes [`Key`] and [`FIELDS`]. A row has: how the code refers to it, the name, what the page calls it; how it is set besides in files (the variable, the option,
/// and `FILE` where a variable names a file with the value); kind, words, scope; what may be seen, what the page may do, its part in a
/// request, uses, parts; how the value is called, default, example, what is allowed; help.
macro_rules! fields {
    ($($key:ident $name:literal $label:literal $set:tt $kind:ident $words:tt $scope:ident $shown:ident $edit:ident $request:ident
        [$($use:ident)*] $parts:ident; $value:literal $default:literal $example:literal $allowed:literal; $help:literal)*) => {
        /// A field. The order is that of [`FIELDS`] and of the reference.
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
        "SECONDS" "" "300" "a whole number of seconds"; "The value of `__TTL__`"
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
    Proxy "proxy" "Proxies" ("DDNS_PROXY" "proxy") List [] Entry Proxies Free Way [Notify] NONE;
        "PROXY" "SYSTEM" "[\"DIRECT\"]" "a list of strings, or one string";
        "Proxies for callbacks, tried in order: `http://`, `https://`, `socks5://`, `socks5h://`, `DIRECT`, `SYSTEM`"
    Ssl "ssl" "Certificate check" ("DDNS_SSL" "ssl") FlagOrText ["auto", "true", "false"] Entry Plain NoPath Way [Notify] NONE;
        "MODE" "auto" "" "`auto`, `true`, `false` or the path of a CA file";
        "How to verify https certificates: `auto`, `true`, `false`, or a CA file to trust as well"
    Cache "cache" "Cache" ("DDNS_CACHE" "cache") FlagOrText ["true", "false"] Entry Plain NoPath Nothing [] NONE;
        "PATH" "true" "" "`true`, `false` or the path of a file"; "Remember what was accepted: `true`, `false`, or the file to use"
    CacheMaxAge "cache_max_age" "Send again after" ("DDNS_CACHE_MAX_AGE" "cache-max-age") Whole [] Entry Plain Free Nothing [Recipe] NONE;
        "SECONDS" "259200" "" "a whole number of seconds"; "Send an unchanged address again after this long; 0: always"
    Timeout "timeout" "Time limit" ("DDNS_TIMEOUT" "timeout") Number [] Entry Plain Free Way [Notify] NONE;
        "SECONDS" "30" "" "a number of seconds, more than 0 and at most 3600";
        "Time limit for one request, from connecting to the status of the response"
    MinInterval "min_interval" "Least time between requests" ("DDNS_MIN_INTERVAL" "min-interval") WholeOrText [] Entry Plain Free Nothing [Recipe] NONE;
        "TIME" "" "\"10m\"" "minutes as a whole number, or a string such as `90s`, `5m`, `1h`";
        "Minimum time between two requests for one update: minutes, or e.g. 90s, 10m, 1h"
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
        "Keep running and synchronize this often: minutes, or e.g. 90s, 5m, 1h"
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b11_names_of_options_and_variables_follow_from_the_field() {
        for field in &FIELDS {
            let plain = field.name.replace('.', "_");
            assert!(!field.help.is_empty() && field.key == Field::of(field.key).key, "{}", field.name);
            let (Some(variable), Some(option)) = (field.variable, field.option) else {
                assert_eq!((field.variable, field.option), (None, None), "{}", field.name);
                continue;
            };
            assert_eq!(variable, format!("DDNS_{}", plain.to_uppercase()));
            assert!(field.file_variable.is_none_or(|name| name.strip_suffix("_FILE") == Some(variable)));
            // `--header` sets one of them.
            assert_eq!(option, if field.key == Key::Headers { "header".to_owned() } else { plain.replace('_', "-") });
            for spelling in [option, field.name, &plain] {
                let is_set_by = |field: &&Field| field.is_set_by(spelling);
                assert_eq!(FIELDS.iter().find(is_set_by).map(|field| field.key), Some(field.key), "{spelling}");
            }
        }
        for other in ["log.Level", "log-leve", "group", "$schema", "cache.max_age", ""] {
            assert!(!FIELDS.iter().any(|field| field.is_set_by(other)), "{other}");
        }
    }
}
