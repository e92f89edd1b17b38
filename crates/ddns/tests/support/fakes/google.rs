//! Google Cloud DNS, v1: the reference of `resourceRecordSets` (`get`, `create`, `patch`), AIP-4111 for the token that the
//! service account signs itself, what users of external-dns report of the limit.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::RSA_PKCS1_2048_8192_SHA256;
use serde_json::{Value, json};

use super::{Answer, Call, Service, Zone, full, host_of, is_signed, reply, text};
use crate::support::Response;

pub const SERVICE: Service = Service {
    name: "google",
    answer,
    limit: || no(429, "rateLimitExceeded", "Resource has been exhausted (e.g. check quota)."),
};

fn no(status: u16, reason: &str, message: &str) -> Response {
    let errors = json!([{"message": message, "domain": "global", "reason": reason}]);
    reply(status, &json!({"error": {"code": status, "message": message, "errors": errors}}))
}

/// Whether the token is that of the service account for this host, now.
fn is_right(call: &Call) -> Option<bool> {
    let (signed, signature) = call.header("authorization").strip_prefix("Bearer ")?.rsplit_once('.')?;
    let (head, claims) = signed.split_once('.')?;
    let read = |part: &str| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(part).ok()?).ok();
    let (head, claims, signature) = (read(head)?, read(claims)?, URL_SAFE_NO_PAD.decode(signature).ok()?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let (from, until) = (claims["iat"].as_u64()?, claims["exp"].as_u64()?);
    let is_mine = [&claims["iss"], &claims["sub"]].iter().all(|name| **name == "ddns@my-project.example");
    let is_now = from <= now && now < until && until - from <= 3600;
    let is_head = head["alg"] == "RS256" && head["typ"] == "JWT" && head["kid"] == "7";
    let is_here = claims["aud"] == format!("http://{}/", call.header("host"));
    let is_signed = is_signed(&RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), &signature);
    Some(is_mine && is_now && is_head && is_here && is_signed)
}

fn shown(zone: &Zone, name: &str, kind: &str) -> Option<Value> {
    let found = zone.of(name, kind);
    let values: Vec<&str> = found.iter().map(|one| one.value.as_str()).collect();
    let ttl = found.first()?.ttl;
    Some(
        json!({"kind": "dns#resourceRecordSet", "name": full(name) + ".", "type": kind, "ttl": ttl, "rrdatas": values}),
    )
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    if is_right(call) != Some(true) {
        return Err(no(401, "authError", "Request had invalid authentication credentials."));
    }
    let wrong = |what: String| no(400, "invalid", &what);
    let (method, path) = call.route();
    let ["dns", "v1", "projects", project, "managedZones", managed, "rrsets", rest @ ..] = path.as_slice() else {
        return Err(no(404, "notFound", "Not Found"));
    };
    if (*project, *managed) != ("my-project", "example-com") {
        return Err(no(404, "notFound", "The 'parameters.managedZone' resource does not exist."));
    }
    // A name without the dot at its end is no name.
    let host = |name: &str| name.strip_suffix('.').and_then(host_of).map(str::to_owned);
    let gone = || no(404, "notFound", "The 'parameters.name' resource does not exist.");
    match (method, rest) {
        ("GET", [name, kind]) => {
            let name = host(name).ok_or_else(gone)?;
            Ok(reply(200, &shown(zone, &name, kind).ok_or_else(gone)?))
        }
        ("PATCH", [name, kind]) => {
            let body = call.json("name? type? ttl#? rrdatas[]? kind?").map_err(wrong)?;
            let named = [("name", *name), ("type", *kind)];
            if named.iter().any(|(field, value)| body[field].as_str().is_some_and(|other| other != *value)) {
                return Err(wrong("The name and the type are those of the path.".to_owned()));
            }
            let name = host(name).ok_or_else(gone)?;
            let old = zone.of(&name, kind);
            let ttl = body["ttl"].as_u64().unwrap_or(old.first().ok_or_else(gone)?.ttl);
            if let Some(values) = body["rrdatas"].as_array() {
                for value in values {
                    zone.add(&name, kind, value.as_str().unwrap_or_default(), ttl).map_err(wrong)?;
                }
                zone.records.retain(|record| !old.contains(record));
            }
            Ok(reply(200, &shown(zone, &name, kind).ok_or_else(gone)?))
        }
        ("POST", []) => {
            let body = call.json("name type rrdatas[] ttl#? kind?").map_err(wrong)?;
            let kind = text(&body, "type");
            let name = host(text(&body, "name")).ok_or_else(|| wrong("entity.rrset.name".to_owned()))?;
            if !zone.of(&name, kind).is_empty() {
                return Err(no(409, "alreadyExists", "The resource 'entity.rrset' already exists."));
            }
            for value in body["rrdatas"].as_array().into_iter().flatten() {
                let ttl = body["ttl"].as_u64().unwrap_or(0);
                zone.add(&name, kind, value.as_str().unwrap_or_default(), ttl).map_err(wrong)?;
            }
            Ok(reply(200, &shown(zone, &name, kind).ok_or_else(gone)?))
        }
        _ => Err(no(404, "notFound", "Not Found")),
    }
}
