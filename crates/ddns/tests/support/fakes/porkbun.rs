//! Porkbun, API v3: its documentation, the requests of qdm12/ddns-updater (`porkbun/api.go`), and what its users report of
//! an edit that changes nothing. Everything is a POST with the keys in its body.

use serde_json::json;

use super::{Answer, Call, Service, ZONE, Zone, at, full, reply, text};
use crate::support::Response;

pub const SERVICE: Service = Service {
    name: "porkbun",
    answer,
    limit: || reply(429, &json!({"status": "ERROR", "code": "RATE_LIMIT_EXCEEDED", "message": "Too many requests."})),
};

fn no(message: &str) -> Response {
    reply(400, &json!({"status": "ERROR", "message": message}))
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    let (method, path) = call.route();
    let (["api", "json", "v3", "dns", command, rest @ ..], "POST") = (path.as_slice(), method) else {
        return Err(reply(404, &json!({"status": "ERROR", "message": "Not found."})));
    };
    let more = if *command == "retrieveByNameType" { "" } else { "type content name? ttl? prio? notes?" };
    let body = call.json(&format!("apikey? secretapikey? {more}")).map_err(|what| no(&what))?;
    if (text(&body, "apikey"), text(&body, "secretapikey")) != ("pb-key-s3cret", "pb-secret-s3cret") {
        return Err(no("Invalid API key. (002)"));
    }
    if rest.first() != Some(&ZONE) {
        return Err(no("Invalid domain."));
    }
    // A name that is left out is the zone itself.
    let (name, kind, value) = (at(text(&body, "name")), text(&body, "type"), text(&body, "content"));
    let ttl = text(&body, "ttl").parse().unwrap_or(0).max(600);
    match (*command, rest) {
        ("retrieveByNameType", [_, kind, name @ ..]) if name.len() < 2 => {
            let found = zone.of(at(name.first().unwrap_or(&"")), kind);
            let rows = found.iter().map(|one| {
                json!({"id": one.id.to_string(), "name": full(&one.name), "type": one.kind, "content": one.value,
                    "ttl": one.ttl.to_string(), "prio": "0", "notes": ""})
            });
            Ok(reply(200, &json!({"status": "SUCCESS", "records": rows.collect::<Vec<_>>()})))
        }
        ("create", [_]) => {
            if zone.of(name, kind).iter().any(|record| record.value == value) {
                return Err(no("Create error: We were unable to create the DNS record."));
            }
            let made = zone.add(name, kind, value, ttl).map_err(|what| no(&what))?;
            Ok(reply(200, &json!({"status": "SUCCESS", "id": made.id.to_string()})))
        }
        ("edit", [_, id]) => {
            let old = zone.find(id).ok_or(no("Invalid record ID."))?;
            let (name, kind, value) = (name.to_owned(), kind.to_owned(), value.to_owned());
            let new = super::Record { id: old.id, name, kind, value, ttl };
            if new == old {
                return Err(no("Edit error: We were unable to edit the DNS record."));
            }
            zone.change(old.id, |record| *record = new).map_err(|what| no(&what))?;
            Ok(reply(200, &json!({"status": "SUCCESS"})))
        }
        _ => Err(no("Unknown command.")),
    }
}
