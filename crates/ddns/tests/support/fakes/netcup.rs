//! netcup's CCP API, JSON: requests, responses and codes of lego (`netcup/internal`), and what users of lego, nc-dnsapi and
//! acme.sh report. Errors come with status 200. A wrong key is answered as too many requests are.

use serde_json::{Value, json};

use super::{Answer, Call, Service, ZONE, Zone, fits, reply, text};
use crate::support::Response;

pub const SERVICE: Service = Service { name: "netcup", answer, limit: || no("login", 4013, LIMIT) };

const LIMIT: &str = "More than 180 requests per minute. Please wait and retry later.";

fn said(action: &str, code: u16, message: &str, data: &Value) -> Response {
    let status = if code == 2000 { "success" } else { "error" };
    reply(
        200,
        &json!({"serverrequestid": "7", "clientrequestid": "", "action": action, "status": status, "statuscode": code,
            "shortmessage": message, "longmessage": message, "responsedata": data}),
    )
}

fn no(action: &str, code: u16, message: &str) -> Response {
    said(action, code, message, &json!(""))
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    let is_right = call.received.line.starts_with("POST /run/webservice/servers/endpoint.php?JSON ");
    if !is_right {
        // Without the parameter it speaks SOAP.
        return Err(Response::with_body(
            500,
            "<SOAP-ENV:Fault><faultcode>SOAP-ENV:Client</faultcode></SOAP-ENV:Fault>",
        ));
    }
    let body = call.json("action param{}").map_err(|what| no("", 4013, &what))?;
    let (action, param) = (text(&body, "action"), &body["param"]);
    let fields = match action {
        "login" => "customernumber apikey apipassword clientrequestid?",
        "infoDnsRecords" => "domainname customernumber apikey apisessionid clientrequestid?",
        "updateDnsRecords" => "domainname customernumber apikey apisessionid clientrequestid? dnsrecordset{}",
        _ => return Err(no(action, 4013, "The action is not known.")),
    };
    let wrong = |what: String| no(action, 4013, &what);
    fits(param, fields).map_err(wrong)?;
    let is_known = (text(param, "customernumber"), text(param, "apikey")) == ("12345", "nc-key-s3cret");
    if action == "login" {
        if !is_known || text(param, "apipassword") != "nc-pw-s3cret" {
            return Err(no(action, 4013, LIMIT));
        }
        let session = zone.log_in();
        return Ok(said(action, 2000, "Login successful", &json!({"apisessionid": session})));
    }
    if !is_known || !zone.sessions.iter().any(|open| open == text(param, "apisessionid")) {
        return Err(no(action, 4001, "The session id is not in a valid format."));
    }
    if text(param, "domainname") != ZONE {
        return Err(no(action, 5028, "The zone could not be found."));
    }
    if action == "updateDnsRecords" {
        fits(&param["dnsrecordset"], "dnsrecords[]").map_err(wrong)?;
        for one in param["dnsrecordset"]["dnsrecords"].as_array().into_iter().flatten() {
            fits(one, "id? hostname type destination priority? deleterecord!? state?").map_err(wrong)?;
            let [name, kind, value] = ["hostname", "type", "destination"].map(|field| text(one, field).to_owned());
            if one["id"].is_null() {
                zone.add(&name, &kind, &value, 86400).map_err(wrong)?;
                continue;
            }
            let old = zone.find(text(one, "id")).ok_or_else(|| wrong("The id is not known.".to_owned()))?;
            let new = super::Record { id: old.id, name, kind, value, ttl: old.ttl };
            zone.change(old.id, |record| *record = new).map_err(wrong)?;
        }
    }
    let rows = zone.records.iter().map(|one| {
        json!({"id": one.id.to_string(), "hostname": one.name, "type": one.kind, "priority": "0",
            "destination": one.value, "deleterecord": false, "state": "yes"})
    });
    Ok(said(action, 2000, "DNS records found", &json!({"dnsrecords": rows.collect::<Vec<_>>()})))
}
