//! `TransIP`, API v6: its documentation of `/auth` and of DNS entries, and what users of win-acme and go-transip-dyndns
//! report. The login is signed; an entry is known by its name, expiry and type.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::RSA_PKCS1_2048_8192_SHA512;
use serde_json::{Value, json};

use super::{Answer, Call, Service, ZONE, Zone, fits, is_signed, reply, text};
use crate::support::Response;

pub const SERVICE: Service =
    Service { name: "transip", answer, limit: || no(429, "Rate limit exceeded").header("X-Rate-Limit-Remaining", "0") };

fn no(status: u16, message: &str) -> Response {
    reply(status, &json!({"error": message}))
}

fn log_in(zone: &mut Zone, call: &Call) -> Answer {
    let fields = "login nonce read_only!? expiration_time? label? global_key!?";
    let body = call.json(fields).map_err(|what| no(400, &what))?;
    let signature = STANDARD.decode(call.header("signature")).unwrap_or_default();
    let is_signed = is_signed(&RSA_PKCS1_2048_8192_SHA512, &call.received.body, &signature);
    if text(&body, "login") != "me" || !is_signed {
        return Err(no(401, "Invalid API signature, signature does not match the request body."));
    }
    if !(6..=32).contains(&text(&body, "nonce").len()) || !zone.is_new(text(&body, "nonce")) {
        return Err(no(401, "The nonce is not 6 to 32 characters, or it was used before."));
    }
    let expires = text(&body, "expiration_time");
    if !expires.is_empty() && !["second", "minute", "hour", "day"].iter().any(|unit| expires.contains(unit)) {
        return Err(no(406, "The expiration time is not valid."));
    }
    let token = zone.log_in();
    // A token that is not global is for the addresses on a list, and this host is not on it.
    if body["global_key"] != true {
        zone.sessions.pop();
    }
    Ok(reply(201, &json!({"token": token})))
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    let (method, path) = call.route();
    if (method, path.as_slice()) == ("POST", &["v6", "auth"]) {
        return log_in(zone, call);
    }
    if !zone.sessions.iter().any(|token| call.bears("Bearer", token)) {
        return Err(no(401, "Your access token is invalid."));
    }
    let ["v6", "domains", name, "dns"] = path.as_slice() else {
        return Err(no(404, "The requested resource does not exist."));
    };
    if *name != ZONE {
        return Err(no(404, &format!("Domain with name '{name}' not found")));
    }
    if method == "GET" {
        let rows = zone.records.iter();
        let rows = rows.map(|one| json!({"name": one.name, "expire": one.ttl, "type": one.kind, "content": one.value}));
        return Ok(reply(200, &json!({"dnsEntries": rows.collect::<Vec<Value>>()})));
    }
    let wrong = |what: String| no(400, &what);
    let body = call.json("dnsEntry{}").map_err(wrong)?;
    let entry = &body["dnsEntry"];
    fits(entry, "name expire# type content").map_err(wrong)?;
    let [name, kind, value] = ["name", "type", "content"].map(|field| text(entry, field));
    let ttl = entry["expire"].as_u64().unwrap_or(0);
    let same: Vec<_> = zone.of(name, kind).into_iter().filter(|record| record.ttl == ttl).collect();
    match (method, same.as_slice()) {
        ("PATCH", [old]) => {
            zone.change(old.id, |record| value.clone_into(&mut record.value)).map_err(wrong)?;
            Ok(Response::status(204))
        }
        ("PATCH", _) => Err(no(404, "Dns entry not found, or more than one.")),
        ("POST", same) if same.iter().any(|record| record.value == value) => Err(no(406, "The entry exists already.")),
        ("POST", _) => {
            zone.add(name, kind, value, ttl).map_err(wrong)?;
            Ok(Response::status(201))
        }
        _ => Err(no(405, "The method is not allowed.")),
    }
}
