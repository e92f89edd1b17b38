//! OVH, API 1.0: the requests of qdm12/ddns-updater (`ovh`), the errors that users of php-ovh report. A change counts after
//! the refresh of the zone.

use serde_json::{Value, json};

use super::{Answer, Call, Record, Service, ZONE, Zone, at, bare, reply, text};
use crate::support::Response;
use crate::support::signatures::hex;

pub const SERVICE: Service =
    Service { name: "ovh", answer, limit: || no("429 Too Many Requests", "QUOTA_EXCEEDED", "Too many requests") };

fn no(status: &str, code: &str, message: &str) -> Response {
    let number = status.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(500);
    reply(number, &json!({"errorCode": code, "httpCode": status, "message": message}))
}

fn shown(one: &Record) -> Value {
    json!({"id": one.id, "zone": ZONE, "fieldType": one.kind, "subDomain": bare(&one.name), "target": one.value, "ttl": one.ttl})
}

/// The hash over the whole address and the body.
fn is_right(call: &Call) -> bool {
    let (one, time) = (call.received, call.header("x-ovh-timestamp"));
    let address = format!("http://{}{}", call.header("host"), one.target());
    let body = String::from_utf8_lossy(&one.body);
    let text = format!("ovh-s3cret+ovh-ck-s3cret+{}+{address}+{body}+{time}", one.method());
    let hash = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
    time.parse::<u64>().is_ok() && call.header("x-ovh-signature") == format!("$1${}", hex(hash.as_ref()))
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    if call.header("x-ovh-application") != "TDPKJdwZwAQPwKX2" {
        return Err(no("403 Forbidden", "INVALID_KEY", "This application key is invalid"));
    }
    if call.header("x-ovh-consumer") != "ovh-ck-s3cret" {
        return Err(no("403 Forbidden", "INVALID_CREDENTIAL", "This credential is not valid"));
    }
    if !is_right(call) {
        return Err(no("400 Bad Request", "INVALID_SIGNATURE", "Invalid signature"));
    }
    let wrong = |what: String| no("400 Bad Request", "INVALID_ARGUMENT", &what);
    let (method, path) = call.route();
    let ["1.0", "domain", "zone", name, rest @ ..] = path.as_slice() else {
        return Err(no("404 Not Found", "INVALID_PATH", "Got an invalid (or empty) URL"));
    };
    if *name != ZONE {
        return Err(no("404 Not Found", "NOT_FOUND", "This service does not exist"));
    }
    match (method, rest) {
        ("GET", ["record"]) => {
            let query = call.query("fieldType subDomain").map_err(wrong)?;
            let is_it = |one: &&Record| {
                query.get("fieldType").is_none_or(|kind| *kind == one.kind)
                    && query.get("subDomain").is_none_or(|name| name == bare(&one.name))
            };
            let ids: Vec<u64> = zone.records.iter().filter(is_it).map(|one| one.id).collect();
            Ok(reply(200, &json!(ids)))
        }
        ("POST", ["record"]) => {
            let body = call.json("fieldType target subDomain? ttl#?").map_err(wrong)?;
            let (name, ttl) = (at(text(&body, "subDomain")), body["ttl"].as_u64().unwrap_or(0));
            let made = zone.add(name, text(&body, "fieldType"), text(&body, "target"), ttl).map_err(wrong)?;
            Ok(reply(200, &shown(&made)))
        }
        ("PUT", ["record", id]) => {
            let body = call.json("target? subDomain? ttl#?").map_err(wrong)?;
            let old = zone.find(id).ok_or(no("404 Not Found", "NOT_FOUND", "This service does not exist"))?;
            let name = body["subDomain"].as_str().map_or(old.name.as_str(), at).to_owned();
            let value = body["target"].as_str().unwrap_or(&old.value).to_owned();
            let ttl = body["ttl"].as_u64().unwrap_or(old.ttl);
            let new = Record { id: old.id, name, kind: old.kind, value, ttl };
            zone.change(old.id, |record| *record = new).map_err(wrong)?;
            Ok(reply(200, &Value::Null))
        }
        ("POST", ["refresh"]) => {
            if !call.received.body.is_empty() {
                return Err(wrong("Received not described parameter".to_owned()));
            }
            zone.is_pending = false;
            Ok(reply(200, &Value::Null))
        }
        _ => Err(no("405 Method Not Allowed", "METHOD_NOT_ALLOWED", "The method is not allowed")),
    }
}
