//! The key under which the cache remembers what an endpoint accepted (E3): a salted hash of everything that shapes a callback's
//! requests. The encoding is written down here, so that renaming something in the code cannot change the keys.
//!
//! The encoding is a sequence of records, each
//!
//! ```text
//! FIELD KIND LENGTH:BYTES↵
//! ```
//!
//! FIELD is the name in the configuration, LENGTH the number of bytes (decimal), and each record ends with a line feed.
//! The fields have this order; a field that is not set adds no record:
//!
//! | FIELD | KIND | BYTES |
//! |---|---|---|
//! | `address` | `text` | the URL (`endpoint` and `id` merged, as written) between two placeholders |
//! | `address` | `placeholder` | the name of a placeholder in the URL, e.g. `__IP__` |
//! | `body` | `text` | the JSON body without spaces, between two placeholders; characters escaped only where JSON requires it |
//! | `body` | `placeholder` | the name of a placeholder in the body |
//! | `extra` | `name`, then `string`, `number` or `boolean` | a variable and its value; sorted by name; without those that only single domains have |
//! | `ttl` | `number` | decimal |
//! | `line` | `string` | as written |
//! | `method` | `word` | unless it is the one that the body implies (A2): `PUT` |
//! | `headers` | `name`, then `text` and `placeholder` | a header, as it is sent, and its value; sorted by name |
//! | `format` | `word` | unless the body is JSON: `form` or `text` |
//! | `expect` | `preset` | `dyndns2` |
//! | `expect` | `json` | the object, as a JSON text indented by two spaces for each level |
//! | `zone` | `name` | a zone; sorted |
//! | `combine` | `families`, `domains`, then `missing` | `true` or `false`; decimal; as written, if it is set |
//! | `sign` | `key` | a key, in hexadecimal digits; in the order of the configuration |
//! | `sign` | `scheme`, then `audience`, `header`, `id`, `region`, `service` | the word of a scheme, then the parts that are set, as written |
//! | `sign` | `consumer`, `key`, `secret`, `token` | the same, in hexadecimal digits |
//! | `before N …`, `absent …`, `after …` | | the requests around the update (H14): `address`, `body`, `method`, `headers`, `format`, `expect` and `sign` of each, as above, with this prefix |
//! | `before N finds` | `json` | the other parts of step N except `keep`, as a JSON text indented by two spaces for each level |
//!
//! The key is the first 16 bytes of SHA-256 over the salt and the records. A domain with its own `extra` has its own
//! key: the first 16 bytes of SHA-256 over the callback's key, in place of the salt, and the records of that `extra`.
//! New fields go after these and add nothing if they are not set, so that the keys of existing configurations stay the
//! same. A test below contains keys that must never change.
//!
//! The maker of claims is identified by such a hash, too: over the salt and the records `file` `name` and `origin` `text`.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::expect::Expect;
use super::piece::Piece;
use super::variables::{Variables, scalar_text};
use super::{Callback, Format, Header, Method, RequestTemplate, Signing};
use crate::net::family::Family;
use crate::text::hex;
use crate::text::json::Value;
use crate::text::number::push_number;
use crate::update::domain::Domain;
use crate::update::state::Fingerprint;

impl Callback {
    /// The key of the cache for this callback (E3).
    pub fn fingerprint(&self, salt: &[u8]) -> Fingerprint {
        hash(salt, &encoded(self))
    }

    /// The key for one domain: its own variables change its requests (H9).
    pub fn fingerprint_of(&self, callback: Fingerprint, domain: &Domain, family: Family) -> Fingerprint {
        // Called a dozen times for each update.
        if !self.variables.has_own(family) {
            return callback;
        }
        let records = self.own_text(domain, family);
        if records.is_empty() { callback } else { hash(callback.as_bytes(), &records) }
    }

    /// The key of what a notification remembers of an entry (I5). A text names the entry.
    pub fn fingerprint_for(&self, salt: &[u8], entry: &str) -> Fingerprint {
        hash(self.fingerprint(salt).as_bytes(), entry)
    }

    /// Identifies the maker of the claims of its requests: a configuration file, and the origin as written (E3).
    pub fn maker(&self, salt: &[u8], file: &str) -> Fingerprint {
        let origin = self.request.target.origin(&self.variables);
        let mut records = String::with_capacity(file.len() + origin.len() + 32);
        push(&mut records, "file", "name", file);
        push(&mut records, "origin", "text", &origin);
        hash(salt, &records)
    }

    /// The values of `extra` for a domain: its own, and those of the entry for the others.
    pub fn values_of(&self, domain: &Domain, family: Family) -> Vec<&Value> {
        let own: Vec<(&str, &Value)> = self.variables.own(domain, family).collect();
        let of = |name: &str| own.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
        self.variables.extra.iter().map(|(name, value)| of(name).unwrap_or(value)).collect()
    }

    /// A domain's own variables, as a text that is equal for equal values.
    pub fn own_text(&self, domain: &Domain, family: Family) -> String {
        let mut records = String::new();
        push_extra(&mut records, self.variables.own(domain, family));
        records
    }
}

fn hash(salt: &[u8], records: &str) -> Fingerprint {
    short(&Sha256::new().chain_update(salt).chain_update(records).finalize())
}

/// The first 16 bytes of a hash.
pub(super) fn short(hash: &[u8]) -> Fingerprint {
    let mut short = [0; 16];
    short.copy_from_slice(&hash[..16]);
    Fingerprint::new(short)
}

/// The records of a callback.
fn encoded(callback: &Callback) -> String {
    let Callback { request, variables, around } = callback;
    let mut records = String::with_capacity(256);
    push_pieces(&mut records, "address", &request.target.pieces, variables);
    if let Some(body) = &request.body {
        push_pieces(&mut records, "body", &body.pieces, variables);
    }
    push_extra(&mut records, variables.extra.iter().map(|(name, value)| (name.as_str(), value)));
    if let Some(ttl) = variables.ttl {
        push(&mut records, "ttl", "number", &ttl.to_string());
    }
    if let Some(line) = &variables.line {
        push(&mut records, "line", "string", line);
    }
    push_head(&mut records, "", request, variables);
    let mut zones: Vec<&str> = variables.zones.iter().map(Domain::as_str).collect();
    zones.sort_unstable();
    for zone in zones {
        push(&mut records, "zone", "name", zone);
    }
    if let Some(combine) = variables.combine.as_ref().filter(|combine| combine.joins()) {
        push(&mut records, "combine", "families", if combine.families { "true" } else { "false" });
        push(&mut records, "combine", "domains", &combine.domains.to_string());
        if let Some(missing) = &combine.missing {
            push(&mut records, "combine", "missing", missing);
        }
    }
    push_sign(&mut records, "", request);
    let Some(around) = around else { return records };
    for (at, step) in around.before.iter().enumerate() {
        let prefix = format!("before {} ", at + 1);
        push_template(&mut records, &prefix, &step.request, variables);
        push(&mut records, &format!("{prefix}finds"), "json", &step.written);
    }
    for (prefix, template) in [("absent ", &around.absent), ("after ", &around.after)] {
        if let Some(template) = template {
            push_template(&mut records, prefix, template, variables);
        }
    }
    records
}

/// Adds a request around the update.
fn push_template(records: &mut String, prefix: &str, template: &RequestTemplate, variables: &Variables) {
    push_pieces(records, &format!("{prefix}address"), &template.target.pieces, variables);
    if let Some(body) = &template.body {
        push_pieces(records, &format!("{prefix}body"), &body.pieces, variables);
    }
    push_head(records, prefix, template, variables);
    push_sign(records, prefix, template);
}

/// Adds method, headers, format and `expect`.
fn push_head(records: &mut String, prefix: &str, template: &RequestTemplate, variables: &Variables) {
    let RequestTemplate { method, headers, body, expect, .. } = template;
    let field = |name: &'static str| prefixed(prefix, name);
    if let Some(method) = method.filter(|method| *method != Method::of_body(body.is_some())) {
        push(records, &field("method"), "word", method.as_str());
    }
    let mut headers: Vec<&Header> = headers.iter().collect();
    headers.sort_unstable_by_key(|header| header.name());
    for header in headers {
        push(records, &field("headers"), "name", header.name());
        push_pieces(records, &field("headers"), &header.pieces, variables);
    }
    if let Some(format) = body.as_ref().map(|body| body.format).filter(|format| *format != Format::Json) {
        push(records, &field("format"), "word", format.key());
    }
    match expect {
        None => {}
        Some(Expect::Dyndns2) => push(records, &field("expect"), "preset", "dyndns2"),
        Some(Expect::Conditions(conditions)) => push(records, &field("expect"), "json", &conditions.written),
    }
}

fn push_sign(records: &mut String, prefix: &str, template: &RequestTemplate) {
    let field = prefixed(prefix, "sign");
    match &template.sign {
        None => {}
        Some(Signing::Webhooks(keys)) => {
            for key in keys {
                push(records, &field, "key", &hex::text(key.as_bytes()));
            }
        }
        Some(Signing::Scheme(signing)) => {
            for (kind, text) in signing.records() {
                push(records, &field, kind, &text);
            }
        }
    }
}

fn prefixed<'a>(prefix: &str, name: &'a str) -> Cow<'a, str> {
    if prefix.is_empty() { name.into() } else { [prefix, name].concat().into() }
}

/// Adds variables and their values, sorted.
fn push_extra<'a>(records: &mut String, extra: impl Iterator<Item = (&'a str, &'a Value)>) {
    let mut extra: Vec<(&str, &Value)> = extra.collect();
    extra.sort_unstable_by_key(|(name, _)| *name);
    for (name, value) in extra {
        let kind = match value {
            Value::Number(_) => "number",
            Value::Bool(_) => "boolean",
            Value::Null => continue,
            _ => "string",
        };
        push(records, "extra", "name", name);
        push(records, "extra", kind, &scalar_text(value));
    }
}

/// The key does not depend on which part of a text is secret: adjacent pieces are joined to one text.
fn push_pieces(records: &mut String, field: &str, pieces: &[Piece], variables: &Variables) {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Plain(plain) => text.push_str(plain),
            Piece::Secret(position, literal) => position.push_literal(&mut text, literal),
            Piece::Variable(_, variable) => {
                push_text(records, field, &mut text);
                push(records, field, "placeholder", variables.name_of(*variable));
            }
        }
    }
    push_text(records, field, &mut text);
}

fn push_text(records: &mut String, field: &str, text: &mut String) {
    if !text.is_empty() {
        push(records, field, "text", text);
        text.clear();
    }
}

fn push(records: &mut String, field: &str, kind: &str, bytes: &str) {
    records.extend([field, " ", kind, " "]);
    push_number(records, bytes.len() as u64);
    records.extend([":", bytes, "\n"]);
}

#[cfg(test)]
mod tests {
    use super::super::tests::callback;
    use super::super::{Body, SigningKey};
    use super::*;
    use crate::net::family::Family;

    #[test]
    fn e3_everything_that_shapes_a_request_changes_the_fingerprint() {
        let base = callback("", "http://h/?a=__IP__", Some(r#"{"a":"b"}"#), Variables::new(Some(1), None));
        let mut in_zone = Variables::new(Some(1), None);
        in_zone.zones.push(domain("h.example"));
        let mut extra = Variables::new(Some(1), None);
        extra.add("__A__", Value::string("1")).expect("a variable");
        let others = [
            callback("", "http://h/?b=__IP__", Some(r#"{"a":"b"}"#), Variables::new(Some(1), None)),
            callback("", "http://h/?a=__IP__", Some(r#"{"a":"c"}"#), Variables::new(Some(1), None)),
            callback("", "http://h/?a=__IP__", None, Variables::new(Some(1), None)),
            callback("", "http://h/?a=__IP__", Some(r#"{"a":"b"}"#), Variables::new(Some(2), None)),
            callback("", "http://h/?a=__IP__", Some(r#"{"a":"b"}"#), Variables::new(Some(1), Some(String::new()))),
            callback("", "http://h/?a=__IP__", Some(r#"{"a":"b"}"#), extra),
            changed(&base, |request| request.method = Some(Method::Put)),
            with_header(base.clone(), "X-Key", "a"),
            with_header(base.clone(), "X-Key", "b"),
            with_header(base.clone(), "X-Other", "a"),
            with_header(base.clone(), "X-Key", "__IP__"),
            Callback { variables: in_zone, ..base.clone() },
            changed(&base, |request| {
                let key = SigningKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a key");
                request.sign = Some(Signing::Webhooks(vec![key]));
            }),
            changed(&base, |request| {
                request.body = Some(Body::text(r#"{"a":"b"}"#, &Variables::default(), &mut Vec::new()));
            }),
        ];
        let all: Vec<_> = others.iter().map(|other| other.fingerprint(b"salt")).collect();
        assert!((1..all.len()).all(|at| !all[..at].contains(&all[at])), "{all:?}");
        let print = base.fingerprint(b"salt");
        assert_eq!(print, base.clone().fingerprint(b"salt"));
        assert_ne!(print, base.fingerprint(b"pepper"));
        for (at, other) in others.iter().enumerate() {
            assert_ne!(print, other.fingerprint(b"salt"), "{at}");
        }
        assert_eq!(Fingerprint::parse(&print.to_string()), Some(print));
    }

    #[test]
    fn e3_a_domain_with_variables_of_its_own_has_its_own_key() {
        let (one, other) = (domain("a.example"), domain("b.example"));
        let key = |value: Value, of: &Domain, family| {
            let mut variables = Variables::default();
            variables.add("__A__", Value::string("1")).expect("a variable");
            variables.add_own(Family::V4, &one, "__ID__", value).expect("a variable");
            let callback = callback("", "http://h/__ID__", None, variables);
            let plain = callback.fingerprint(b"salt");
            (callback.fingerprint_of(plain, of, family), plain)
        };
        let (own, plain) = key(Value::string("17"), &one, Family::V4);
        assert_ne!(own, plain);
        assert_eq!(key(Value::string("17"), &other, Family::V4), (plain, plain));
        assert_eq!(key(Value::string("17"), &one, Family::V6), (plain, plain));
        assert_ne!(key(Value::string("18"), &one, Family::V4).0, own);
        assert_ne!(key(Value::Number("17".into()), &one, Family::V4).0, own);
        assert_eq!(key(Value::string("18"), &one, Family::V4).1, plain, "others stay as they are");
        // Changing this makes every installation send these addresses once more.
        assert_eq!(own.to_string(), "ede13971ed1a914c11d1bbcf2c679538");
    }

    fn changed(callback: &Callback, change: impl FnOnce(&mut RequestTemplate)) -> Callback {
        let mut callback = callback.clone();
        change(&mut callback.request);
        callback
    }

    fn domain(name: &str) -> Domain {
        Domain::parse(name).expect("a domain")
    }

    fn records(callback: &Callback) -> String {
        encoded(callback)
    }

    fn with_header(mut callback: Callback, name: &str, value: &str) -> Callback {
        let header = Header::new(name, value, &callback.variables, &mut Vec::new()).expect("a header");
        callback.request.headers.push(header);
        callback
    }

    fn everything() -> Callback {
        let mut variables = Variables::new(Some(600), Some("line ü".to_owned()));
        for (name, value) in [
            ("__ZONE__", Value::string("z\n1")),
            ("__KEY__", Value::Number("1.10".to_owned())),
            ("__ON__", Value::Bool(true)),
        ] {
            variables.add(name, value).expect("a variable");
        }
        let token = r#"{"k\u00e9y": "a\"__IP__\n", "n": [1.10, null, __TTL__], "z": "__ZONE__", "e": {}}"#;
        callback("https://u:p@h/api/?k=1", "x/__DOMAIN__?ip=__IP__&t=__TIMESTAMP__", Some(token), variables)
    }

    #[test]
    fn e3_the_encoding_is_what_is_written_down() {
        let expected = [
            "address text 20:https://u:p@h/api/x/",
            "address placeholder 10:__DOMAIN__",
            "address text 8:?k=1&ip=",
            "address placeholder 6:__IP__",
            "address text 3:&t=",
            "address placeholder 13:__TIMESTAMP__",
            "body text 12:{\"kéy\":\"a\\\"",
            "body placeholder 6:__IP__",
            "body text 19:\\n\",\"n\":[1.10,null,",
            "body placeholder 7:__TTL__",
            "body text 7:],\"z\":\"",
            "body placeholder 8:__ZONE__",
            "body text 9:\",\"e\":{}}",
            "extra name 7:__KEY__",
            "extra number 4:1.10",
            "extra name 6:__ON__",
            "extra boolean 4:true",
            "extra name 8:__ZONE__",
            "extra string 3:z\n1",
            "ttl number 3:600",
            "line string 7:line ü",
            "",
        ];
        assert_eq!(records(&everything()), expected.join("\n"));
    }

    /// Changing one of these makes every installation send every address once more.
    #[test]
    fn e3_keys_never_change() {
        let plain = |endpoint, id, token| callback(endpoint, id, token, Variables::default());
        let cases = [
            (plain("", "http://h/", None), "d3ec334acc2ec0a8fa0b4d75485d180e"),
            (plain("", "https://h.example/update?name=__DOMAIN__&ip=__IP__", None), "7f1cb19b5743a3682d4b6d88a4decc16"),
            (plain("https://h.example/api?k=s3cret", "/__DOMAIN__", None), "3d5d2af6e0628cf2224083e816dec788"),
            (plain("https://h.example/", "", Some("{}")), "6aa1000f0966f886171321ee526181a6"),
            (
                plain("https://h.example/", "", Some(r#"{"ip": "__IP__", "ttl": __TTL__}"#)),
                "774629de8285271bae5015fcf5cd8d90",
            ),
            (everything(), "24d0f8722708736786a41e829e4efab0"),
        ];
        for (callback, key) in cases {
            assert_eq!(callback.fingerprint(b"a salt of 16 byt").to_string(), key, "{}", records(&callback));
        }
    }

    /// Changing this makes claims of callbacks that are no longer configured count again.
    #[test]
    fn e3_who_makes_claims_is_told_by_file_and_origin() {
        let maker =
            |id, file| callback("", id, None, Variables::default()).maker(b"a salt of 16 byt", file).to_string();
        let one = maker("https://h.example/a?key=1", "/etc/ddns.json");
        assert_eq!(one, "f0b1a543c14d56cd76df1b1d01603f9f");
        assert_eq!(one, maker("https://H.example:443/b", "/etc/ddns.json"));
        assert_ne!(one, maker("http://h.example/a", "/etc/ddns.json"));
        assert_ne!(one, maker("https://h.example/a", "/etc/other.json"));
        assert_ne!(maker("https://__DOMAIN__/", "f"), maker("https://__IP__/", "f"));
    }

    /// The fields of section H, in the order of the table.
    #[test]
    fn e3_the_encoding_of_any_service_is_what_is_written_down() {
        let base = callback("", "http://h/", None, Variables::default());
        let mut callback = with_header(with_header(base, "x-b", "Bearer __IP__!"), "ACCEPT", "a/b");
        callback.request.method = Some(Method::Delete);
        callback.request.body = Some(Body::form_text("a=__IP__", &callback.variables, &mut Vec::new()));
        let expected = [
            "address text 9:http://h/",
            "body text 2:a=",
            "body placeholder 6:__IP__",
            "method word 6:DELETE",
            "headers name 6:Accept",
            "headers text 3:a/b",
            "headers name 3:X-B",
            "headers text 7:Bearer ",
            "headers placeholder 6:__IP__",
            "headers text 1:!",
            "format word 4:form",
            "",
        ];
        assert_eq!(records(&callback), expected.join("\n"));
    }

    /// Writing down the default method must not send anything again.
    #[test]
    fn e3_a_default_that_is_written_down_adds_nothing() {
        for (token, method) in [(None, Method::Get), (Some("{}"), Method::Post)] {
            let plain = callback("", "http://h/", token, Variables::default());
            let written = changed(&plain, |request| request.method = Some(method));
            assert_eq!(plain.fingerprint(b"salt"), written.fingerprint(b"salt"));
        }
    }

    /// The form and the order in the file do not change the callback.
    #[test]
    fn e3_the_key_is_about_the_request() {
        let key = |token: &str, names: [&str; 2]| {
            let mut variables = Variables::default();
            for name in names {
                variables.add(name, Value::string("x")).expect("a variable");
            }
            callback("", "http://h/__A____B__", Some(token), variables).fingerprint(b"salt")
        };
        let one = key(r#"{"a":["__A__",1]}"#, ["__A__", "__B__"]);
        assert_eq!(one, key(r#"{ "a" : [ "__\u0041__" , 1 ] }"#, ["__B__", "__A__"]));
        assert_ne!(one, key(r#"{"a":["__B__",1]}"#, ["__A__", "__B__"]));
        assert_ne!(one, key(r#"{"a":["__A__",1.0]}"#, ["__A__", "__B__"]));
        assert_ne!(one, key(r#"{"a":["__A__","1"]}"#, ["__A__", "__B__"]));
    }
}
