//! Route 53, 2013-04-01: the API reference of `ChangeResourceRecordSets` and of its common errors, and the requests and
//! responses of qdm12/ddns-updater and its tests.

use super::{Answer, Call, Service, Zone, host_of};
use crate::support::Response;
use crate::support::signatures::is_right;

pub const SERVICE: Service =
    Service { name: "route53", answer, limit: || no(400, "Sender", "Throttling", "Rate exceeded") };

const XMLNS: &str = "https://route53.amazonaws.com/doc/2013-04-01/";

fn xml(status: u16, name: &str, inside: &str) -> Response {
    let text = format!("<?xml version=\"1.0\"?>\n<{name} xmlns=\"{XMLNS}\">{inside}</{name}>\n");
    Response::with_body(status, &text).header("Content-Type", "text/xml")
}

fn no(status: u16, kind: &str, code: &str, message: &str) -> Response {
    let error = format!("<Error><Type>{kind}</Type><Code>{code}</Code><Message>{message}</Message></Error>");
    xml(status, "ErrorResponse", &format!("{error}<RequestId>7</RequestId>"))
}

fn answer(zone: &mut Zone, call: &Call) -> Answer {
    let no = |status, code, message: &str| no(status, "Sender", code, message);
    let signed = call.header("authorization");
    if !signed.starts_with("AWS4-HMAC-SHA256 Credential=") {
        return Err(no(403, "MissingAuthenticationToken", "Missing Authentication Token"));
    }
    if !signed.contains(" Credential=AKIDEXAMPLE") {
        return Err(no(403, "InvalidClientTokenId", "The security token included in the request is invalid."));
    }
    let is_here = signed.contains("/us-east-1/route53/aws4_request");
    if !is_here || !signed.contains("host") || !is_right(call.received, "aws-s3cret") {
        return Err(no(403, "SignatureDoesNotMatch", "The request signature we calculated does not match."));
    }
    match call.route() {
        ("POST", path) if path.len() == 4 && path[..2] == ["2013-04-01", "hostedzone"] && path[3] == "rrset" => {
            if path[2] != "Z0123456789ABCDEFGHIJ" {
                return Err(no(404, "NoSuchHostedZone", &format!("No hosted zone found with ID: {}", path[2])));
            }
        }
        _ => return Err(no(404, "UnknownOperationException", "Unknown")),
    }
    let body = call.received.text();
    let [action, name, kind, ttl, value] = ["Action", "Name", "Type", "TTL", "Value"].map(|tag| inside(body, tag));
    // Written again from its values: whatever else is in it, or missing, makes a difference.
    let records = format!("<ResourceRecords><ResourceRecord><Value>{value}</Value></ResourceRecord></ResourceRecords>");
    let set = format!("<Name>{name}</Name><Type>{kind}</Type><TTL>{ttl}</TTL>{records}");
    let change = format!("<Change><Action>{action}</Action><ResourceRecordSet>{set}</ResourceRecordSet></Change>");
    let batch = format!("<ChangeBatch><Changes>{change}</Changes></ChangeBatch>");
    let request = "ChangeResourceRecordSetsRequest";
    if format!("<{request} xmlns=\"{XMLNS}\">{batch}</{request}>") != body {
        return Err(no(400, "MalformedInput", "Unexpected element or end of list"));
    }
    let (Ok(ttl), "UPSERT") = (ttl.parse(), action) else {
        return Err(no(400, "InvalidInput", "Invalid XML"));
    };
    let bad = |message: String| no(400, "InvalidChangeBatch", &message);
    let name = host_of(name).ok_or_else(|| bad(format!("RRSet with DNS name {name} is not permitted in zone")))?;
    let old = zone.of(name, kind);
    zone.add(name, kind, value, ttl).map_err(bad)?;
    zone.records.retain(|record| !old.contains(record));
    let info = "<ChangeInfo><Id>/change/C7</Id><Status>PENDING</Status></ChangeInfo>";
    Ok(xml(200, "ChangeResourceRecordSetsResponse", info))
}

/// What stands in the first element of this name.
fn inside<'a>(text: &'a str, tag: &str) -> &'a str {
    let rest = text.split_once(&format!("<{tag}>")).map_or("", |(_, rest)| rest);
    rest.split_once(&format!("</{tag}>")).map_or("", |(inside, _)| inside)
}
