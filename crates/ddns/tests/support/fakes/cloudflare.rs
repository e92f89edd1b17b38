//! Cloudflare, API v4: its reference of zones and DNS records, the fixtures of lego (`cloudflare/internal`), the codes that
//! users of ddns-go and other clients report.

use serde_json::{Value, json};

use super::{Answer, Call, Record, Service, ZONE, Zone, full, host_of, reply, text};
use crate::support::Response;

pub const SERVICE: Service = Service {
    name: "cloudflare",
    answer,
    limit: || no(429, 971, "Please wait and consider throttling your request speed").header("Retry-After", "60"),
};

const ZONE_ID: &str = "023e105f4ecef8ad9ca31a8372d0c353";

fn no(status: u16, code: u32, message: &str) -> Response {
    let errors = json!([{"code": code, "message": message}]);
    reply(status, &json!({"success": false, "errors": errors, "messages": [], "result": null}))
}

fn yes(result: &Value) -> Response {
    reply(200, &json!({"success": true, "errors": [], "messages": [], "result": result}))
}

/// A page of a list.
fn list(rows: &[Value], total: usize) -> Response {
    let info = json!({"page": 1, "per_page": 100, "count": rows.len(), "total_count": total, "total_pages": 1});
    reply(200, &json!({"success": true, "errors": [], "messages": [], "result": rows, "result_info": info}))
}

fn shown(one: &Record) -> Value {
    json!({"id": format!("{:032x}", one.id), "name": full(&one.name), "type": one.kind, "content": one.value,
        "ttl": one.ttl, "proxied": false, "proxiable": true, "tags": [], "comment": null})
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    if call.header("authorization").is_empty() {
        return Err(no(400, 9106, "Missing X-Auth-Key, X-Auth-Email or Authorization headers"));
    }
    if !call.bears("Bearer", "cf-s3cret") {
        return Err(no(403, 9109, "Invalid access token"));
    }
    let wrong = |what: String| no(400, 9000, &what);
    let (method, path) = call.route();
    let ["client", "v4", "zones", rest @ ..] = path.as_slice() else {
        return Err(no(404, 7000, "No route for that URI"));
    };
    match (method, rest) {
        ("GET", []) => {
            let query = call.query("name status page per_page order direction account.id").map_err(wrong)?;
            let zones = [("353105f4ecef8ad9ca31a8372d0c0231", "example.org"), (ZONE_ID, ZONE)];
            let zones = zones.iter().filter(|(_, name)| query.get("name").is_none_or(|wanted| wanted == name));
            let rows: Vec<_> = zones.map(|(id, name)| json!({"id": id, "name": name, "status": "active"})).collect();
            Ok(list(&rows, rows.len()))
        }
        (_, [id, "dns_records", ..]) if *id != ZONE_ID => {
            Err(no(404, 7003, "Could not route, perhaps your object identifier is invalid?"))
        }
        ("GET", [_, "dns_records"]) => {
            let query = call.query("type name content page per_page order direction match").map_err(wrong)?;
            let is_it = |one: &&Record| {
                query.get("type").is_none_or(|kind| *kind == one.kind)
                    && query.get("name").is_none_or(|name| *name == full(&one.name))
            };
            let rows: Vec<_> = zone.records.iter().filter(is_it).map(shown).collect();
            Ok(list(&rows, zone.total(rows.len())))
        }
        ("POST", [_, "dns_records"]) => {
            let body = call.json("type name content ttl#? proxied!? comment? tags[]? priority#?").map_err(wrong)?;
            let [name, kind, value] = ["name", "type", "content"].map(|field| text(&body, field));
            let name = host_of(name).ok_or_else(|| wrong("DNS name is invalid.".to_owned()))?;
            if zone.of(name, kind).iter().any(|record| record.value == value) {
                return Err(no(400, 81058, "An identical record already exists."));
            }
            Ok(yes(&shown(&zone.add(name, kind, value, body["ttl"].as_u64().unwrap_or(1)).map_err(wrong)?)))
        }
        ("PATCH", [_, "dns_records", id]) => {
            let body = call.json("type? name? content? ttl#? proxied!? comment? tags[]?").map_err(wrong)?;
            let found = zone.records.iter().find(|one| format!("{:032x}", one.id) == *id).cloned();
            let old = found.ok_or(no(404, 81044, "Record does not exist."))?;
            let name = body["name"].as_str().map_or(Some(old.name.as_str()), host_of);
            let name = name.ok_or_else(|| wrong("DNS name is invalid.".to_owned()))?.to_owned();
            let or = |field: &str, old: &str| body[field].as_str().unwrap_or(old).to_owned();
            let (kind, value) = (or("type", &old.kind), or("content", &old.value));
            let new = Record { id: old.id, name, kind, value, ttl: body["ttl"].as_u64().unwrap_or(old.ttl) };
            Ok(yes(&shown(&zone.change(old.id, |record| *record = new).map_err(wrong)?)))
        }
        _ => Err(no(405, 10000, "Method not allowed for this authentication scheme")),
    }
}
