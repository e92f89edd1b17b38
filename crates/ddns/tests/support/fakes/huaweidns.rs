//! Huawei Cloud DNS, v2 and v2.1: the API reference and its `OpenAPI` definitions (parameters, error codes), the requests of
//! `NewFuture/DDNS` (`huaweidns.py`). A record set has a list of values.

use serde_json::{Value, json};

use super::{Answer, Call, Record, Service, ZONE, Zone, full, host_of, reply, text};
use crate::support::Response;
use crate::support::signatures::is_right;

pub const SERVICE: Service = Service {
    name: "huaweidns",
    answer,
    limit: || {
        reply(429, &json!({"error_code": "APIGW.0308", "error_msg": "The throttling threshold has been reached"}))
    },
};

const ZONE_ID: &str = "2c9eb155587194ec01587224c9f90149";

fn no(status: u16, code: &str, message: &str) -> Response {
    reply(status, &json!({"code": code, "message": message}))
}

fn shown(one: &Record) -> Value {
    json!({"id": id(one), "name": full(&one.name) + ".", "type": one.kind, "ttl": one.ttl, "records": [one.value],
        "zone_id": ZONE_ID, "zone_name": format!("{ZONE}."), "status": "ACTIVE", "line": "default_view", "default": false})
}

fn id(one: &Record) -> String {
    format!("{:032x}", one.id)
}

/// Whether a name is the one that is searched for, or like it.
fn is_found(name: &str, searched: Option<&String>, is_equal: bool) -> bool {
    searched.is_none_or(|text| if is_equal { name == text } else { name.contains(text.as_str()) })
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    let signed = call.header("authorization");
    let is_whole = signed.starts_with("SDK-HMAC-SHA256 Access=AKIDEXAMPLE, ") && !call.header("x-sdk-date").is_empty();
    if !is_whole || !signed.contains("x-sdk-date") || !is_right(call.received, "hw-s3cret") {
        let message = "Incorrect IAM authentication information: verify aksk signature fail";
        return Err(reply(401, &json!({"error_code": "APIGW.0301", "error_msg": message})));
    }
    let wrong = |what: String| no(400, "DNS.0002", &what);
    let (method, path) = call.route();
    if (method, path.as_slice()) == ("GET", &["v2", "zones"]) {
        let query = call.query("name search_mode limit offset marker status type").map_err(wrong)?;
        let is_equal = query.get("search_mode").is_some_and(|mode| mode == "equal");
        let zones = [("7b1c", "old-example.com."), (ZONE_ID, "example.com.")];
        let zones = zones.iter().filter(|(_, name)| is_found(name, query.get("name"), is_equal));
        let zones: Vec<_> = zones.map(|(id, name)| json!({"id": id, "name": name, "status": "ACTIVE"})).collect();
        return Ok(reply(200, &json!({"metadata": {"total_count": zones.len()}, "zones": zones})));
    }
    let ["v2.1", "zones", zone_id, "recordsets", record @ ..] = path.as_slice() else {
        return Err(reply(404, &json!({"error_code": "APIGW.0101", "error_msg": "The API does not exist"})));
    };
    if *zone_id != ZONE_ID {
        return Err(no(404, "DNS.0302", "This zone does not exist."));
    }
    match (method, record) {
        ("GET", []) => {
            let known = "name type search_mode limit offset marker status line_id id";
            let query = call.query(known).map_err(wrong)?;
            let is_equal = query.get("search_mode").is_some_and(|mode| mode == "equal");
            let is_it = |one: &&Record| {
                is_found(&(full(&one.name) + "."), query.get("name"), is_equal)
                    && query.get("type").is_none_or(|kind| *kind == one.kind)
            };
            let found: Vec<_> = zone.records.iter().filter(is_it).map(shown).collect();
            let total = zone.total(found.len());
            Ok(reply(200, &json!({"recordsets": found, "metadata": {"total_count": total}, "links": {}})))
        }
        ("PUT", [wanted]) => {
            let found = zone.records.iter().find(|one| id(one) == *wanted).cloned();
            let old = found.ok_or(no(404, "DNS.0004", "No record sets found."))?;
            let (name, kind, value, ttl) = read(call, "name type records[] ttl#? description?").map_err(wrong)?;
            let ttl = ttl.unwrap_or(old.ttl);
            let new = Record { id: old.id, name, kind, value, ttl };
            Ok(reply(202, &shown(&zone.change(old.id, |record| *record = new).map_err(wrong)?)))
        }
        ("POST", []) => {
            let fields = "name type records[] ttl#? line? description? weight#? status? tags[]?";
            let (name, kind, value, ttl) = read(call, fields).map_err(wrong)?;
            if !zone.of(&name, &kind).is_empty() {
                return Err(no(400, "DNS.0335", "Duplicate recordset exists."));
            }
            Ok(reply(202, &shown(&zone.add(&name, &kind, &value, ttl.unwrap_or(300)).map_err(wrong)?)))
        }
        _ => Err(reply(405, &json!({"error_code": "APIGW.0101", "error_msg": "The method is not allowed"}))),
    }
}

/// Name, type, the one value and the TTL of a body.
fn read(call: &Call, fields: &str) -> Result<(String, String, String, Option<u64>), String> {
    let body = call.json(fields)?;
    // A name without the dot at its end is no name.
    let name = text(&body, "name").strip_suffix('.').and_then(host_of).ok_or("name is wrong")?.to_owned();
    let value = body["records"][0].as_str().unwrap_or_default().to_owned();
    Ok((name, text(&body, "type").to_owned(), value, body["ttl"].as_u64()))
}
