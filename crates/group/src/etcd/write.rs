//! The bodies of requests.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Compare, LeaseId, Operation, Range, Transaction};
use ddns_core::text::json::push_string;

/// Reads at most so many keys; as they were at a revision, where one is given.
pub fn range_body(range: &Range, most: u32, revision: Option<i64>) -> String {
    let mut body = "{".to_owned();
    push_range(&mut body, range);
    push_number(&mut body, "limit", most.into());
    if let Some(revision) = revision {
        push_number(&mut body, "revision", revision);
    }
    close(&mut body, "}");
    body
}

/// Asks for a lease of so many seconds.
pub fn grant_body(seconds: u64) -> String {
    format!(r#"{{"TTL":"{seconds}"}}"#)
}

/// Names a lease that is renewed or revoked.
pub fn lease_body(lease: LeaseId) -> String {
    format!(r#"{{"ID":"{}"}}"#, lease.0)
}

/// Asks for a token.
pub fn authenticate_body(user: &str, password: &str) -> String {
    let mut body = r#"{"name":"#.to_owned();
    push_string(&mut body, user);
    body += r#","password":"#;
    push_string(&mut body, password);
    body + "}"
}

/// Asks for all changes from a revision on; each range is a message of its own.
pub fn watch_body(ranges: &[Range], from: i64) -> String {
    let mut body = String::new();
    for range in ranges {
        body += r#"{"create_request":{"#;
        push_range(&mut body, range);
        push_number(&mut body, "start_revision", from);
        close(&mut body, "}}\n");
    }
    body
}

/// A transaction.
pub fn transaction_body(transaction: &Transaction) -> String {
    let mut body = r#"{"compare":["#.to_owned();
    for compare in &transaction.compares {
        push_compare(&mut body, compare);
    }
    for (name, operations) in [("success", &transaction.then), ("failure", &transaction.otherwise)] {
        close(&mut body, &format!(r#"],"{name}":["#));
        for operation in operations {
            push_operation(&mut body, operation);
        }
    }
    close(&mut body, "]}");
    body
}

fn push_compare(body: &mut String, compare: &Compare) {
    let (target, key) = match compare {
        Compare::Created(key, _) => ("CREATE", key),
        Compare::Value(key, _) => ("VALUE", key),
    };
    *body += &format!(r#"{{"result":"EQUAL","target":"{target}","#);
    push_bytes(body, "key", key.as_bytes());
    match compare {
        Compare::Created(_, revision) => push_number(body, "create_revision", *revision),
        Compare::Value(_, value) => push_bytes(body, "value", value.as_bytes()),
    }
    close(body, "},");
}

fn push_operation(body: &mut String, operation: &Operation) {
    match operation {
        Operation::Put(key, value, lease) => {
            *body += r#"{"request_put":{"#;
            push_bytes(body, "key", key.as_bytes());
            push_bytes(body, "value", value.as_bytes());
            if let Some(lease) = lease {
                push_number(body, "lease", lease.0);
            }
        }
        Operation::Delete(range) => {
            *body += r#"{"request_delete_range":{"#;
            push_range(body, range);
        }
        Operation::Get(range, most) => {
            *body += r#"{"request_range":{"#;
            push_range(body, range);
            push_number(body, "limit", (*most).into());
        }
    }
    close(body, "}},");
}

fn push_range(body: &mut String, range: &Range) {
    push_bytes(body, "key", &range.from);
    if !range.to.is_empty() {
        push_bytes(body, "range_end", &range.to);
    }
}

fn push_bytes(body: &mut String, name: &str, bytes: &[u8]) {
    *body += &format!(r#""{name}":""#);
    STANDARD.encode_string(bytes, body);
    *body += r#"","#;
}

fn push_number(body: &mut String, name: &str, number: i64) {
    *body += &format!(r#""{name}":"{number}","#);
}

/// Ends what a comma may stand behind.
fn close(body: &mut String, end: &str) {
    body.truncate(body.trim_end_matches(',').len());
    *body += end;
}
