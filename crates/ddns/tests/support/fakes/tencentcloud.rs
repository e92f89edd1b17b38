//! Tencent Cloud `DNSPod`, API 3.0 of 2021-03-23: its pages of error codes and of the three actions, and the requests of
//! `NewFuture/DDNS` (`tencentcloud.py`). Errors come with status 200.

use serde_json::{Value, json};

use super::{Answer, Call, Service, ZONE, Zone, reply, text};
use crate::support::Response;
use crate::support::signatures::is_right;

pub const SERVICE: Service = Service { name: "tencentcloud", answer, limit: || no("RequestLimitExceeded", "Too many") };

const LINE: &str = "默认";

fn no(code: &str, message: &str) -> Response {
    reply(200, &json!({"Response": {"Error": {"Code": code, "Message": message}, "RequestId": "7"}}))
}

fn yes(more: &Value) -> Response {
    let mut response = json!({"RequestId": "7"});
    response.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    reply(200, &json!({"Response": response}))
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    let signed = call.header("authorization");
    if !signed.starts_with("TC3-HMAC-SHA256 Credential=") {
        return Err(no("AuthFailure.InvalidAuthorization", "Authorization is not right"));
    }
    if !signed.contains(" Credential=AKIDEXAMPLE/") {
        return Err(no("AuthFailure.SecretIdNotFound", "The SecretId is not found"));
    }
    let names = signed.contains("SignedHeaders=content-type;host");
    if !names || !signed.contains("/dnspod/tc3_request") || !is_right(call.received, "tc-s3cret") {
        return Err(no("AuthFailure.SignatureFailure", "The provided credentials could not be validated."));
    }
    if call.route() != ("POST", vec![""]) || call.header("x-tc-version") != "2021-03-23" {
        return Err(no("NoSuchVersion", "The version does not exist"));
    }
    let more = "SubDomain? RecordLineId? DomainId#? MX#? TTL#? Weight#? Status? Remark?";
    let fields = match call.header("x-tc-action") {
        "DescribeRecordList" => "Domain Subdomain? RecordType? RecordLine? ErrorOnEmpty? Limit#? Offset#? DomainId#?",
        "ModifyRecord" => &format!("Domain RecordId# RecordType RecordLine Value {more}"),
        "CreateRecord" => &format!("Domain RecordType RecordLine Value {more}"),
        _ => return Err(no("InvalidAction", "The action does not exist")),
    };
    // What is missing has a code of its own, and so has what is unknown.
    let wrong = |what: String| match what.rsplit(' ').next() {
        Some("missing") => no("MissingParameter", &what),
        Some("unknown") => no("UnknownParameter", &what),
        _ => no("InvalidParameter", &what),
    };
    let body = call.json(fields).map_err(wrong)?;
    if text(&body, "Domain") != ZONE {
        return Err(no("ResourceNotFound.NoDataOfDomain", "The domain does not exist"));
    }
    if call.header("x-tc-action") == "DescribeRecordList" {
        return list(zone, &body);
    }
    if text(&body, "RecordLine") != LINE {
        return Err(no("InvalidParameter.RecordLineInvalid", "The line is wrong"));
    }
    let [name, kind, value] = ["SubDomain", "RecordType", "Value"].map(|field| text(&body, field).to_owned());
    let name = if name.is_empty() { "@".to_owned() } else { name };
    let ttl = body["TTL"].as_u64().unwrap_or(600);
    if let Some(id) = body["RecordId"].as_u64() {
        if zone.find(&id.to_string()).is_none() {
            return Err(no("InvalidParameter.RecordIdInvalid", "The record does not exist"));
        }
        let new = super::Record { id, name, kind, value, ttl };
        zone.change(id, |record| *record = new).map_err(wrong)?;
        return Ok(yes(&json!({"RecordId": id})));
    }
    if zone.of(&name, &kind).iter().any(|record| record.value == value) {
        return Err(no("InvalidParameter.DomainRecordExist", "The record exists"));
    }
    Ok(yes(&json!({"RecordId": zone.add(&name, &kind, &value, ttl).map_err(wrong)?.id})))
}

fn list(zone: &Zone, body: &Value) -> Answer {
    let fits = |field: &str, value: &str| body[field].as_str().is_none_or(|wanted| wanted == value);
    let found = zone.records.iter().filter(|one| fits("Subdomain", &one.name) && fits("RecordType", &one.kind));
    let found: Vec<_> = found.collect();
    let limit = body["Limit"].as_u64().unwrap_or(100);
    if !(1..=3000).contains(&limit) {
        return Err(no("InvalidParameter.ResultMoreThan500", "The limit is too high"));
    }
    if found.is_empty() && text(body, "ErrorOnEmpty") != "no" {
        return Err(no("ResourceNotFound.NoDataOfRecord", "There are no records"));
    }
    let rows = found.iter().take(usize::try_from(limit).unwrap_or(1)).map(|one| {
        json!({"RecordId": one.id, "Name": one.name, "Type": one.kind, "Value": one.value, "TTL": one.ttl, "Line": LINE,
            "LineId": "0", "Status": "ENABLE", "MX": 0, "DefaultNS": false})
    });
    let rows: Vec<_> = rows.collect();
    let count = json!({"SubdomainCount": found.len(), "ListCount": rows.len(), "TotalCount": zone.total(found.len())});
    Ok(yes(&json!({"RecordCountInfo": count, "RecordList": rows})))
}
