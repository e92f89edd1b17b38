//! Hetzner Cloud DNS, API v1: the requests and responses of qdm12/ddns-updater (`hetznercloud`), the fixtures of lego
//! (`hetznerv1`), the codes of hcloud-go. A set that exists is not made again (409).

use serde_json::{Value, json};

use super::{Answer, Call, Service, ZONE, Zone, fits, reply, text};
use crate::support::Response;

pub const SERVICE: Service = Service {
    name: "hetzner",
    answer,
    limit: || no(429, "rate_limit_exceeded", "limit of 3600 requests per hour reached"),
};

fn no(status: u16, code: &str, message: &str) -> Response {
    reply(status, &json!({"error": {"code": code, "message": message, "details": null}}))
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    if !call.bears("Bearer", "hz-s3cret") {
        return Err(no(401, "unauthorized", "unable to authenticate"));
    }
    let wrong = |what: String| no(422, "invalid_input", &what);
    let (method, path) = call.route();
    let ["v1", "zones", name, "rrsets", rest @ ..] = path.as_slice() else {
        return Err(no(404, "not_found", "page not found"));
    };
    if *name != ZONE {
        return Err(no(404, "not_found", "zone not found"));
    }
    let set = |zone: &Zone, name: &str, kind: &str| {
        let found = zone.of(name, kind);
        let ttl = found.first().map(|record| record.ttl)?;
        let records: Vec<Value> = found.iter().map(|one| json!({"value": one.value, "comment": ""})).collect();
        Some(json!({"id": format!("{name}/{kind}"), "name": name, "type": kind, "ttl": ttl, "records": records}))
    };
    let values = |body: &Value| -> Result<Vec<String>, String> {
        let records = body["records"].as_array().ok_or("records")?;
        records.iter().try_for_each(|record| fits(record, "value comment?"))?;
        Ok(records.iter().map(|record| text(record, "value").to_owned()).collect())
    };
    let action =
        |command: &str| json!({"id": 1, "command": command, "status": "running", "progress": 0, "error": null});
    match (method, rest) {
        ("GET", [name, kind]) => {
            let found = set(zone, name, kind).ok_or(no(404, "not_found", "rrset not found"))?;
            Ok(reply(200, &json!({"rrset": found})))
        }
        ("POST", [name, kind, "actions", "set_records"]) => {
            let body = call.json("records[]").map_err(wrong)?;
            let old = zone.of(name, kind);
            let ttl = old.first().ok_or(no(404, "not_found", "rrset not found"))?.ttl;
            for value in values(&body).map_err(wrong)? {
                zone.add(name, kind, &value, ttl).map_err(wrong)?;
            }
            zone.records.retain(|record| !old.contains(record));
            Ok(reply(201, &json!({"action": action("set_rrset_records")})))
        }
        ("POST", []) => {
            let body = call.json("name type records[] ttl#? labels{}?").map_err(wrong)?;
            let (name, kind) = (text(&body, "name"), text(&body, "type"));
            if !zone.of(name, kind).is_empty() {
                return Err(no(409, "uniqueness_error", "rrset exists already"));
            }
            for value in values(&body).map_err(wrong)? {
                zone.add(name, kind, &value, body["ttl"].as_u64().unwrap_or(3600)).map_err(wrong)?;
            }
            Ok(reply(201, &json!({"rrset": set(zone, name, kind), "action": action("create_rrset")})))
        }
        _ => Err(no(405, "method_not_allowed", "the method is not allowed")),
    }
}
