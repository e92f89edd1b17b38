//! Spaceship, API v1: the requests, limits and errors of qdm12/ddns-updater (`spaceship`), jeessy2/ddns-go and the
//! fixtures of lego. A record is known by its type, name and value: to save another value adds a record.

use serde_json::{Value, json};

use super::{Answer, Call, Service, ZONE, Zone, fits, reply, text};
use crate::support::Response;

pub const SERVICE: Service =
    Service { name: "spaceship", answer, limit: || no(429, "Too many requests: 300 within 300 seconds.") };

fn no(status: u16, detail: &str) -> Response {
    reply(status, &json!({"detail": detail}))
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    if (call.header("x-api-key"), call.header("x-api-secret")) != ("sp-key-s3cret", "sp-secret-s3cret") {
        return Err(no(401, "Unauthorized.").header("Spaceship-Error-Code", "unauthorized"));
    }
    let (method, path) = call.route();
    let ["api", "v1", "dns", "records", name] = path.as_slice() else {
        return Err(no(404, "Not found."));
    };
    if *name != ZONE {
        return Err(no(404, &format!("SOA record for domain {name} not found.")));
    }
    let wrong =
        |what: String| reply(422, &json!({"detail": "Validation failed.", "data": [{"field": "", "details": what}]}));
    match method {
        "GET" => {
            let query = call.query("take skip orderBy").map_err(wrong)?;
            let number = |name: &str| query.get(name).and_then(|text| text.parse::<usize>().ok());
            let (Some(take @ 1..=500), Some(skip)) = (number("take"), number("skip")) else {
                return Err(wrong("take and skip are required, take up to 500".to_owned()));
            };
            let rows = zone.records.iter().skip(skip).take(take).map(|one| {
                let value = if one.kind == "TXT" { "value" } else { "address" };
                json!({"type": one.kind, "name": one.name, value: one.value, "ttl": one.ttl, "group": {"type": "custom"}})
            });
            let rows: Vec<Value> = rows.collect();
            Ok(reply(200, &json!({"items": rows, "total": zone.total(zone.records.len())})))
        }
        "PUT" => {
            let body = call.json("items[] force!?").map_err(wrong)?;
            for item in body["items"].as_array().into_iter().flatten() {
                fits(item, "type name address ttl#?").map_err(wrong)?;
                let [name, kind, value] = ["name", "type", "address"].map(|field| text(item, field));
                let ttl = item["ttl"].as_u64().unwrap_or(3600);
                if !(60..=3600).contains(&ttl) {
                    return Err(wrong("ttl".to_owned()));
                }
                let old = zone.of(name, kind).into_iter().find(|record| record.value == value);
                match old {
                    Some(old) => zone.change(old.id, |record| record.ttl = ttl),
                    None => zone.add(name, kind, value, ttl),
                }
                .map_err(wrong)?;
            }
            Ok(Response::status(204))
        }
        "DELETE" => {
            let is_json = call.header("content-type").starts_with("application/json");
            let body: Option<Value> = serde_json::from_slice(&call.received.body).ok().filter(|_| is_json);
            let items = body.as_ref().and_then(Value::as_array).filter(|list| !list.is_empty());
            for item in items.ok_or_else(|| wrong("no list".to_owned()))? {
                fits(item, "type name address").map_err(wrong)?;
                let [name, kind, value] = ["name", "type", "address"].map(|field| text(item, field));
                let old = zone.of(name, kind).into_iter().find(|record| record.value == value);
                let old = old.ok_or(no(404, "Record not found."))?;
                zone.records.retain(|record| *record != old);
            }
            Ok(Response::status(204))
        }
        _ => Err(no(405, "Method not allowed.")),
    }
}
