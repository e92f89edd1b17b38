//! `GoDaddy`, API v1: its Swagger description of domains (`recordGet`, `recordReplaceTypeName`, codes), the fixtures of
//! lego (`godaddy/internal`). A PUT replaces all records of a type and name.

use serde_json::{Value, json};

use super::{Answer, Call, Record, Service, ZONE, Zone, fits, reply, text};
use crate::support::Response;

pub const SERVICE: Service = Service {
    name: "godaddy",
    answer,
    limit: || reply(429, &json!({"code": "TOO_MANY_REQUESTS", "message": "Too many requests", "retryAfterSec": 30})),
};

fn no(status: u16, code: &str, message: &str) -> Response {
    reply(status, &json!({"code": code, "message": message}))
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    if !call.bears("sso-key", "gd-key-s3cret:gd-secret-s3cret") {
        return Err(no(401, "UNABLE_TO_AUTHENTICATE", "Unauthorized : Could not authenticate API key/secret"));
    }
    let (method, path) = call.route();
    let ["v1", "domains", domain, "records", kind, name] = path.as_slice() else {
        return Err(no(404, "NOT_FOUND", "Not Found"));
    };
    if *domain != ZONE {
        return Err(no(404, "UNKNOWN_DOMAIN", "The given domain is not registered, or does not have a zone file"));
    }
    if method == "GET" {
        call.query("offset limit").map_err(|what| no(422, "INVALID_QUERY", &what))?;
        let shown = |one: &Record| json!({"name": one.name, "type": one.kind, "data": one.value, "ttl": one.ttl});
        return Ok(reply(200, &zone.of(name, kind).iter().map(shown).collect::<Value>()));
    }
    if method != "PUT" {
        return Err(no(405, "METHOD_NOT_ALLOWED", "Method Not Allowed"));
    }
    let wrong = |what: String| no(422, "INVALID_BODY", &what);
    let is_json = call.header("content-type").starts_with("application/json");
    let body: Option<Value> = serde_json::from_slice(&call.received.body).ok().filter(|_| is_json);
    let Some(rows) = body.as_ref().and_then(Value::as_array).filter(|rows| !rows.is_empty()) else {
        return Err(wrong("Request body doesn't fulfill schema, see details in `fields`".to_owned()));
    };
    let old = zone.of(name, kind);
    for row in rows {
        fits(row, "data ttl#? name? type? port#? priority#? protocol? service? weight#?").map_err(wrong)?;
        let ttl = row["ttl"].as_u64().unwrap_or(3600);
        if ttl < 600 {
            return Err(wrong("ttl must be at least 600".to_owned()));
        }
        zone.add(name, kind, text(row, "data"), ttl).map_err(wrong)?;
    }
    zone.records.retain(|record| !old.contains(record));
    Ok(Response::status(200))
}
