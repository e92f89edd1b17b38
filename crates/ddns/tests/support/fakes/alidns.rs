//! Alibaba Cloud DNS, 2015-01-09, with signatures of version 3: the API reference of the three actions (their
//! parameters and error codes), and the requests of `NewFuture/DDNS` (`alidns.py`) and jeessy2/ddns-go.

use serde_json::json;

use super::{Answer, Call, Service, ZONE, Zone, full, host_of, reply, text};
use crate::support::Response;
use crate::support::signatures::is_right;

pub const SERVICE: Service = Service {
    name: "alidns",
    answer,
    limit: || no(400, "Throttling.User", "Request was denied due to user flow control."),
};

fn no(status: u16, code: &str, message: &str) -> Response {
    reply(status, &json!({"RequestId": "7", "HostId": "alidns.aliyuncs.com", "Code": code, "Message": message}))
}

const SIGNED: [&str; 6] =
    ["host", "x-acs-action", "x-acs-content-sha256", "x-acs-date", "x-acs-signature-nonce", "x-acs-version"];

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    let signed = call.header("authorization");
    if let Some(missing) = SIGNED.iter().find(|name| call.header(name).is_empty()) {
        return Err(no(400, &format!("Missing{missing}"), "It is mandatory for this action."));
    }
    if !signed.starts_with("ACS3-HMAC-SHA256 Credential=AKIDEXAMPLE,") {
        return Err(no(404, "InvalidAccessKeyId.NotFound", "Specified access key is not found."));
    }
    let names = signed.split_once("SignedHeaders=").map_or("", |(_, rest)| rest.split(',').next().unwrap_or_default());
    if !SIGNED.iter().all(|name| names.split(';').any(|one| one == *name)) || !is_right(call.received, "ali-s3cret") {
        return Err(no(400, "SignatureDoesNotMatch", "Specified signature is not matched with our calculation."));
    }
    if !zone.is_new(call.header("x-acs-signature-nonce")) {
        return Err(no(400, "SignatureNonceUsed", "Specified signature nonce was used already."));
    }
    if call.route() != ("POST", vec![""]) || call.header("x-acs-version") != "2015-01-09" {
        return Err(no(404, "InvalidVersion", "Specified parameter Version is not valid."));
    }
    let wrong = |what: String| no(400, "InvalidParameter", &what);
    let ttl = |text: &str| if text.is_empty() { Ok(600) } else { text.parse().map_err(|_| wrong("TTL".to_owned())) };
    match call.header("x-acs-action") {
        "DescribeSubDomainRecords" => {
            let body = call.form("SubDomain DomainName? Type? PageSize? PageNumber? Line? Lang?").map_err(wrong)?;
            let size = match text(&body, "PageSize") {
                "" => 20,
                size => {
                    size.parse().ok().filter(|size| (1..=500).contains(size)).ok_or(wrong("PageSize".to_owned()))?
                }
            };
            let name = host_of(text(&body, "SubDomain"));
            let (Some(name), "" | ZONE) = (name, text(&body, "DomainName")) else {
                return Err(no(400, "InvalidDomainName.NoExist", "The specified domain name does not exist."));
            };
            let kind = text(&body, "Type");
            let is_it = |kept: &&super::Record| kept.name == name && (kind.is_empty() || kept.kind == kind);
            let found: Vec<_> = zone.records.iter().filter(is_it).collect();
            let rows = found.iter().take(size).map(|one| {
                json!({"RecordId": one.id.to_string(), "RR": one.name, "Type": one.kind, "Value": one.value, "TTL": one.ttl,
                    "DomainName": ZONE, "Line": "default", "Status": "ENABLE", "Locked": false})
            });
            let rows: Vec<_> = rows.collect();
            let total = zone.total(found.len());
            let list = json!({"Record": rows});
            Ok(reply(200, &json!({"TotalCount": total, "PageSize": size, "PageNumber": 1, "DomainRecords": list})))
        }
        "UpdateDomainRecord" => {
            let body = call.form("RecordId RR Type Value TTL? Line? Priority? Lang?").map_err(wrong)?;
            let found = zone.find(text(&body, "RecordId"));
            let old = found.ok_or(no(400, "DomainRecordNotBelongToUser", "The record does not belong to you."))?;
            let ttl = ttl(text(&body, "TTL"))?;
            let [name, kind, value] = ["RR", "Type", "Value"].map(|field| text(&body, field).to_owned());
            let new = super::Record { id: old.id, name, kind, value, ttl };
            if new == old {
                return Err(no(400, "DomainRecordDuplicate", "The domain record already exists."));
            }
            let changed = zone.change(old.id, |record| *record = new).map_err(wrong)?;
            Ok(reply(200, &json!({"RequestId": "7", "RecordId": changed.id.to_string()})))
        }
        "AddDomainRecord" => {
            let body = call.form("DomainName RR Type Value TTL? Line? Priority? Lang?").map_err(wrong)?;
            let [name, kind, value] = ["RR", "Type", "Value"].map(|field| text(&body, field));
            if text(&body, "DomainName") != ZONE {
                return Err(no(400, "InvalidDomainName.NoExist", "The specified domain name does not exist."));
            }
            if zone.of(name, kind).iter().any(|record| record.value == value) {
                return Err(no(400, "DomainRecordDuplicate", &format!("{} is there already.", full(name))));
            }
            let ttl = ttl(text(&body, "TTL"))?;
            let made = zone.add(name, kind, value, ttl).map_err(wrong)?;
            Ok(reply(200, &json!({"RequestId": "7", "RecordId": made.id.to_string()})))
        }
        _ => Err(no(404, "InvalidAction.NotFound", "Specified api is not found.")),
    }
}
