//! `DigitalOcean`, API v2: digitalocean/openapi (`domains`), the requests of qdm12/ddns-updater. A filter by name wants
//! the whole name; a PATCH wants the type.

use serde_json::{Value, json};

use super::{Answer, Call, Record, Service, ZONE, Zone, full, reply, text};
use crate::support::Response;

pub const SERVICE: Service = Service {
    name: "digitalocean",
    answer,
    limit: || no(429, "too_many_requests", "API Rate limit exceeded.").header("Retry-After", "60"),
};

fn no(status: u16, id: &str, message: &str) -> Response {
    reply(status, &json!({"id": id, "message": message, "request_id": "7"}))
}

fn shown(one: &Record) -> Value {
    json!({"id": one.id, "type": one.kind, "name": one.name, "data": one.value, "ttl": one.ttl, "priority": null,
        "port": null, "weight": null, "flags": null, "tag": null})
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    if !call.bears("Bearer", "do-s3cret") {
        return Err(no(401, "unauthorized", "Unable to authenticate you"));
    }
    let (method, path) = call.route();
    let gone = || no(404, "not_found", "The resource you were accessing could not be found.");
    let ["v2", "domains", ZONE, "records", id @ ..] = path.as_slice() else {
        return Err(gone());
    };
    let wrong = |what: String| no(422, "unprocessable_entity", &what);
    match (method, id) {
        ("GET", []) => {
            let query = call.query("name type per_page page").map_err(wrong)?;
            let size = query.get("per_page").map_or(Some(20), |text| text.parse().ok());
            let size = size.filter(|size| (1..=200).contains(size)).ok_or_else(|| wrong("per_page".to_owned()))?;
            let is_it = |one: &&Record| {
                query.get("type").is_none_or(|kind| *kind == one.kind)
                    && query.get("name").is_none_or(|name| *name == full(&one.name))
            };
            let found: Vec<_> = zone.records.iter().filter(is_it).map(shown).collect();
            let total = zone.total(found.len());
            let page: Vec<_> = found.into_iter().take(size).collect();
            Ok(reply(200, &json!({"domain_records": page, "links": {}, "meta": {"total": total}})))
        }
        ("POST", []) => {
            let body = call.json("type name data ttl#? priority#? port#? weight#?").map_err(wrong)?;
            let ttl = body["ttl"].as_u64().unwrap_or(1800);
            let made = zone.add(text(&body, "name"), text(&body, "type"), text(&body, "data"), ttl).map_err(wrong)?;
            Ok(reply(201, &json!({"domain_record": shown(&made)})))
        }
        ("PATCH", [id]) => {
            let body = call.json("type name? data? ttl#? priority#? port#? weight#?").map_err(wrong)?;
            let old = zone.find(id).ok_or_else(gone)?;
            if text(&body, "type") != old.kind {
                return Err(wrong("Type cannot be changed".to_owned()));
            }
            let or = |field: &str, old: &str| body[field].as_str().unwrap_or(old).to_owned();
            let (name, value, ttl) = (or("name", &old.name), or("data", &old.value), body["ttl"].as_u64());
            let new = Record { id: old.id, name, kind: old.kind, value, ttl: ttl.unwrap_or(old.ttl) };
            let changed = zone.change(old.id, |record| *record = new).map_err(wrong)?;
            Ok(reply(200, &json!({"domain_record": shown(&changed)})))
        }
        _ => Err(no(405, "method_not_allowed", "Method not allowed")),
    }
}
