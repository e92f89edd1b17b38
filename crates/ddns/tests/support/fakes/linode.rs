//! Linode, API v4: its reference of domains, records, pages and filters, the requests and errors of qdm12/ddns-updater
//! (`linode`).

use serde_json::{Value, json};

use super::{Answer, Call, Record, Service, ZONE, Zone, at, bare, reply, text};
use crate::support::Response;

pub const SERVICE: Service =
    Service { name: "linode", answer, limit: || no(429, "Too many requests").header("Retry-After", "60") };

fn no(status: u16, reason: &str) -> Response {
    reply(status, &json!({"errors": [{"reason": reason}]}))
}

fn list(rows: &[Value], total: usize) -> Response {
    reply(200, &json!({"data": rows, "page": 1, "pages": 1, "results": total}))
}

fn shown(one: &Record) -> Value {
    json!({"id": one.id, "type": one.kind, "name": bare(&one.name), "target": one.value, "ttl_sec": one.ttl,
        "priority": 0, "weight": 0, "port": 0, "service": null, "protocol": null, "tag": null})
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    if !call.bears("Bearer", "linode-s3cret") {
        return Err(no(401, "Invalid Token"));
    }
    let wrong = |what: String| no(400, &what);
    let (method, path) = call.route();
    let ["v4", "domains", rest @ ..] = path.as_slice() else {
        return Err(no(404, "Not found"));
    };
    let query = call.query("page page_size").map_err(wrong)?;
    let size = query.get("page_size").map_or(Some(100), |text| text.parse::<usize>().ok());
    let size = size.filter(|size| (25..=500).contains(size)).ok_or(no(400, "Must be 25-500"))?;
    match (method, rest) {
        ("GET", []) => {
            let filter: Value = match call.header("x-filter") {
                "" => json!({}),
                text => serde_json::from_str(text).map_err(|_| no(400, "Cannot filter on X-Filter"))?,
            };
            let zones = [(1230, "example.org"), (1234, ZONE)];
            let zones = zones.iter().filter(|(_, name)| filter["domain"].as_str().is_none_or(|wanted| wanted == *name));
            let rows: Vec<_> = zones.map(|(id, name)| json!({"id": id, "domain": name, "type": "master"})).collect();
            Ok(list(&rows, rows.len()))
        }
        (_, [id, "records", ..]) if *id != "1234" => Err(no(404, "Not found")),
        ("GET", [_, "records"]) => {
            let rows: Vec<_> = zone.records.iter().take(size).map(shown).collect();
            Ok(list(&rows, zone.total(zone.records.len())))
        }
        ("POST", [_, "records"]) => {
            let fields = "type target name? ttl_sec#? priority#? weight#? port#? service? protocol? tag?";
            let body = call.json(fields).map_err(wrong)?;
            let (name, ttl) = (at(text(&body, "name")), body["ttl_sec"].as_u64().unwrap_or(0));
            let made = zone.add(name, text(&body, "type"), text(&body, "target"), ttl).map_err(wrong)?;
            Ok(reply(200, &shown(&made)))
        }
        ("PUT", [_, "records", id]) => {
            let body = call.json("target? name? ttl_sec#? priority#? weight#? port#?").map_err(wrong)?;
            let old = zone.find(id).ok_or(no(404, "Not found"))?;
            let name = body["name"].as_str().map_or(old.name.as_str(), at).to_owned();
            let value = body["target"].as_str().unwrap_or(&old.value).to_owned();
            let ttl = body["ttl_sec"].as_u64().unwrap_or(old.ttl);
            let new = Record { id: old.id, name, kind: old.kind, value, ttl };
            Ok(reply(200, &shown(&zone.change(old.id, |record| *record = new).map_err(wrong)?)))
        }
        _ => Err(no(405, "Method Not Allowed")),
    }
}
