//! Vultr, API v2: its reference of DNS and of pages by a cursor, the requests and errors of qdm12/ddns-updater (`vultr`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Answer, Call, Record, Service, ZONE, Zone, at, bare, reply, text};
use crate::support::Response;

pub const SERVICE: Service = Service { name: "vultr", answer, limit: || no(429, "Rate limit reached") };

fn no(status: u16, error: &str) -> Response {
    reply(status, &json!({"error": error, "status": status}))
}

fn shown(one: &Record) -> Value {
    json!({"id": uuid(one), "type": one.kind, "name": bare(&one.name), "data": one.value, "priority": -1, "ttl": one.ttl})
}

fn uuid(one: &Record) -> String {
    format!("cb676a46-66fd-4dfb-b839-{:012x}", one.id)
}

fn cursor(start: usize) -> String {
    STANDARD.encode(format!("next__{start}"))
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    if !call.bears("Bearer", "vultr-s3cret") {
        return Err(no(401, "Invalid API token."));
    }
    let (method, path) = call.route();
    let ["v2", "domains", name, "records", id @ ..] = path.as_slice() else {
        return Err(no(404, "Invalid API endpoint"));
    };
    if *name != ZONE {
        return Err(no(404, "Invalid domain"));
    }
    let wrong = |what: String| no(400, &what);
    match (method, id) {
        ("GET", []) => {
            let query = call.query("per_page cursor").map_err(wrong)?;
            let size = query.get("per_page").map_or(Some(100), |text| text.parse::<usize>().ok());
            let size = size.filter(|size| (1..=500).contains(size)).ok_or(no(400, "Invalid per_page"))?;
            let (all, mut starts) = (zone.records.len(), 0..zone.records.len().max(1));
            let asked = query.get("cursor").filter(|text| !text.is_empty());
            let start = asked.map_or(Some(0), |text| starts.find(|start| cursor(*start) == *text));
            let start = start.ok_or(no(400, "Invalid cursor"))?;
            let page: Vec<_> = zone.records.iter().skip(start).take(size).map(shown).collect();
            let next = if start + size < all { cursor(start + size) } else { String::new() };
            let meta = json!({"total": zone.total(all), "links": {"next": next, "prev": ""}});
            Ok(reply(200, &json!({"records": page, "meta": meta})))
        }
        ("POST", []) => {
            let body = call.json("type name data ttl#? priority#?").map_err(wrong)?;
            let (name, ttl) = (at(text(&body, "name")), body["ttl"].as_u64().unwrap_or(300));
            let made = zone.add(name, text(&body, "type"), text(&body, "data"), ttl).map_err(wrong)?;
            Ok(reply(201, &json!({"record": shown(&made)})))
        }
        ("PATCH", [id]) => {
            let body = call.json("name? data? ttl#? priority#?").map_err(wrong)?;
            let found = zone.records.iter().find(|one| uuid(one) == *id).cloned();
            let old = found.ok_or(no(404, "Invalid record"))?;
            let name = body["name"].as_str().map_or(old.name.as_str(), at).to_owned();
            let value = body["data"].as_str().unwrap_or(&old.value).to_owned();
            let ttl = body["ttl"].as_u64().unwrap_or(old.ttl);
            let new = Record { id: old.id, name, kind: old.kind, value, ttl };
            zone.change(old.id, |record| *record = new).map_err(wrong)?;
            Ok(Response::status(204))
        }
        _ => Err(no(405, "Method not allowed")),
    }
}
