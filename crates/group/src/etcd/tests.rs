use proptest::prelude::*;

use super::*;

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn requests_are_what_the_gateway_reads() {
    let range = Range::prefix("a/");
    assert_eq!(range_body(&range, 500, None), r#"{"key":"YS8=","range_end":"YTA=","limit":"500"}"#);
    let next = range.behind(b"a/7");
    assert_eq!(range_body(&next, 2, Some(9)), r#"{"key":"YS83AA==","range_end":"YTA=","limit":"2","revision":"9"}"#);
    assert_eq!(range_body(&Range::key("a"), 1, None), r#"{"key":"YQ==","limit":"1"}"#);
    assert_eq!(grant_body(15), r#"{"TTL":"15"}"#);
    assert_eq!(lease_body(LeaseId(-3)), r#"{"ID":"-3"}"#);
    assert_eq!(authenticate_body("a\"b", "c\\d"), r#"{"name":"a\"b","password":"c\\d"}"#);
    let two = [Range::key("a"), Range::between("b", "c")];
    let expected = "{\"create_request\":{\"key\":\"YQ==\",\"start_revision\":\"4\"}}\n\
         {\"create_request\":{\"key\":\"Yg==\",\"range_end\":\"Yw==\",\"start_revision\":\"4\"}}\n";
    assert_eq!(watch_body(&two, 4), expected);
}

#[test]
fn a_transaction_has_all_its_parts() {
    let transaction = Transaction {
        compares: vec![Compare::absent("a"), Compare::Value("a".to_owned(), "b".to_owned())],
        then: vec![
            Operation::Put("a".to_owned(), "b".to_owned(), Some(LeaseId(6))),
            Operation::Put("a".to_owned(), String::new(), None),
        ],
        otherwise: vec![Operation::Get(Range::key("a"), 1), Operation::Delete(Range::prefix("a"))],
    };
    let expected = serde_json::json!({
        "compare": [
            {"result": "EQUAL", "target": "CREATE", "key": "YQ==", "create_revision": "0"},
            {"result": "EQUAL", "target": "VALUE", "key": "YQ==", "value": "Yg=="},
        ],
        "success": [
            {"request_put": {"key": "YQ==", "value": "Yg==", "lease": "6"}},
            {"request_put": {"key": "YQ==", "value": ""}},
        ],
        "failure": [
            {"request_range": {"key": "YQ==", "limit": "1"}},
            {"request_delete_range": {"key": "YQ==", "range_end": "Yg=="}},
        ],
    });
    assert_eq!(json(&transaction_body(&transaction)), expected);
    let nothing = serde_json::json!({"compare": [], "success": [], "failure": []});
    assert_eq!(json(&transaction_body(&Transaction::default())), nothing);
}

fn pair(key: &str, value: &str, lease: Option<i64>, created: i64) -> KeyValue {
    KeyValue { key: key.to_owned(), value: value.to_owned(), lease: lease.map(LeaseId), created }
}

fn at(cluster: u64, revision: i64) -> StoreStamp {
    StoreStamp { cluster, revision }
}

#[test]
fn j7_a_store_that_was_further_or_is_another_one_went_back() {
    let known = Some(at(1, 7));
    let cases = [(None, at(1, 1), false), (known, at(1, 7), false), (known, at(1, 8), false)];
    let back = [(known, at(1, 6), true), (known, at(2, 8), true)];
    for (known, now, expected) in cases.into_iter().chain(back) {
        assert_eq!(now.went_back(known), expected, "{known:?} {now:?}");
    }
}

#[test]
fn what_etcd_leaves_out_is_zero_and_what_is_not_known_is_passed_over() {
    let text = br#"{"header":{"cluster_id":"14841639068965178418","revision":"7","raft_term":"2"},"kvs":[
        {"key":"YQ==","create_revision":"2","mod_revision":"3","version":"2","value":"Yg==","lease":"5"},
        {"key":"/w==","create_revision":4}],"more":true,"count":"9","new":{"x":[1]}}"#;
    let expected = RangePage {
        found: vec![pair("a", "b", Some(5), 2), pair("\u{fffd}", "", None, 4)],
        revision: 7,
        last: Some(vec![255]),
    };
    assert_eq!(page(text), Ok((expected, at(14_841_639_068_965_178_418, 7))));
    let empty = RangePage { found: Vec::new(), revision: 1, last: None };
    assert_eq!(page(br#"{"header":{"revision":"1"},"kvs":null}"#), Ok((empty, at(0, 1))));
    let done = transaction(br#"{"header":{"revision":"2"},"succeeded":true,"responses":[{"response_put":{}}]}"#);
    assert_eq!(done, Ok((Done { succeeded: true, revision: 2, found: vec![Vec::new()] }, at(0, 2))));
    let text = br#"{"header":{"revision":"2"},"responses":[{"response_range":{"kvs":[{"key":"YQ=="}],"count":"1"}}]}"#;
    let expected = Done { succeeded: false, revision: 2, found: vec![vec![pair("a", "", None, 0)]] };
    assert_eq!(transaction(text), Ok((expected, at(0, 2))));
    let lease = Grant { lease: LeaseId(8), seconds: 15 };
    assert_eq!(grant(br#"{"header":{"revision":"3"},"ID":"8","TTL":"15"}"#), Ok((lease, at(0, 3))));
    assert_eq!(token(br#"{"header":{},"token":"abc.7"}"#), Ok("abc.7".to_owned()));
}

#[test]
fn a_renewal_tells_a_lease_that_is_gone_from_one_that_lasts() {
    assert_eq!(renewal(br#"{"result":{"header":{"revision":"2"},"ID":"8","TTL":"15"}}"#), Ok(Ok((Some(15), at(0, 2)))));
    assert_eq!(renewal(br#"{"result":{"header":{"revision":"2"},"ID":"8"}}"#), Ok(Ok((None, at(0, 2)))));
    let stream = br#"{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader","http_status":"x"}}"#;
    assert_eq!(renewal(stream), Ok(Err(Problem::Unavailable("no leader".to_owned()))));
    assert_eq!(renewal(br#"{"result":{}}"#), Err(Malformed));
}

#[test]
fn what_another_server_sends_is_not_taken_for_etcd() {
    let texts: [&[u8]; 8] = [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff",
        br#"{"header":{}}"#,
        br#"{"header":{"revision":"1"},"kvs":[{"key":"*"}]}"#,
        br#"{"header":{"revision":"99999999999999999999"}}"#,
    ];
    for text in texts {
        let shown = String::from_utf8_lossy(text);
        assert_eq!(page(text), Err(Malformed), "{shown}");
        assert_eq!(grant(text), Err(Malformed), "{shown}");
        assert_eq!(renewal(text), Err(Malformed), "{shown}");
        assert_eq!(token(text), Err(Malformed), "{shown}");
        assert_eq!(watched(text), Err(Malformed), "{shown}");
    }
    assert_eq!(transaction(b"{}"), Err(Malformed));
    assert_eq!(token(br#"{"token":"a\r\nHost: b"}"#), Err(Malformed));
}

#[test]
fn messages_of_a_watch_are_changes_or_its_end() {
    let event = |text: &str| watched(text.as_bytes());
    assert_eq!(event(r#"{"result":{"header":{"revision":"5"},"created":true}}"#), Ok(WatchEvent::Created(5)));
    assert_eq!(event(r#"{"result":{"header":{"revision":"5"},"watch_id":"-1"}}"#), Ok(WatchEvent::Progress));
    let changes = r#"{"result":{"header":{"revision":"9"},"events":[
        {"kv":{"key":"YQ==","create_revision":"6","mod_revision":"6","version":"1","value":"Yg=="}},
        {"type":"DELETE","kv":{"key":"YQ==","mod_revision":"7"}}]}}"#;
    let changes = changes.replace('\n', "");
    let batch = WatchBatch {
        revision: 7,
        changes: vec![KeyChange::Put(pair("a", "b", None, 6)), KeyChange::Deleted("a".to_owned())],
    };
    assert_eq!(event(&changes), Ok(WatchEvent::Changed(batch)));
    let ends = [
        (r#"{"result":{"header":{},"canceled":true,"compact_revision":"4"}}"#, Problem::Compacted),
        (
            r#"{"result":{"created":true,"canceled":true,"cancel_reason":"rpc error: code = PermissionDenied desc = x"}}"#,
            Problem::Permission,
        ),
        (r#"{"result":{"canceled":true}}"#, Problem::Other("the watch was cancelled".to_owned())),
        (r#"{"error":{"code":14,"message":"etcdserver: no leader"}}"#, Problem::Unavailable("no leader".to_owned())),
        (r#"{"error":{}}"#, Problem::Other("it does not say why".to_owned())),
    ];
    for (text, problem) in ends {
        assert_eq!(event(text), Ok(WatchEvent::Ended(problem)), "{text}");
    }
}

#[test]
fn problems_are_told_apart_by_their_words_and_numbers() {
    let of = |message: &str, code: i64| {
        let body = format!(r#"{{"error":"{message}","message":"{message}","code":{code}}}"#);
        problem(400, body.as_bytes())
    };
    let cases = [
        ("etcdserver: invalid auth token", 16, Problem::Token),
        ("auth: revision in header is old", 3, Problem::Token),
        ("etcdserver: revision of auth store is old", 3, Problem::Token),
        ("etcdserver: authentication is not enabled", 9, Problem::NoUsers),
        ("etcdserver: authentication failed, invalid user ID or password", 3, Problem::Login),
        ("etcdserver: user name is empty", 3, Problem::NeedsUser),
        ("etcdserver: permission denied", 7, Problem::Permission),
        ("etcdserver: requested lease not found", 5, Problem::LeaseGone),
        ("etcdserver: mvcc: required revision has been compacted", 11, Problem::Compacted),
        ("etcdserver: request timed out", 14, Problem::Unavailable("request timed out".to_owned())),
        ("etcdserver: leader changed", 14, Problem::Unavailable("leader changed".to_owned())),
        ("context deadline exceeded", 4, Problem::Unavailable("context deadline exceeded".to_owned())),
        ("etcdserver: duplicate key given", 3, Problem::Other("duplicate key given".to_owned())),
        ("a\\u001bb", 3, Problem::Other("a\u{fffd}b".to_owned())),
    ];
    for (message, code, expected) in cases {
        assert_eq!(of(message, code), expected, "{message}");
    }
    let plain = [
        (404, Problem::NoGateway),
        (401, Problem::NeedsUser),
        (403, Problem::Permission),
        (502, Problem::Unavailable("HTTP status 502".to_owned())),
        (500, Problem::Other("HTTP status 500".to_owned())),
    ];
    for (status, expected) in plain {
        assert_eq!(problem(status, b"<html>"), expected);
    }
    let text = b"CommonName of client sending a request against gateway will be ignored and not used as expected\n";
    assert_eq!(problem(400, text), Problem::CommonName);
    let Problem::Other(long) = of(&"x".repeat(10_000), 3) else { panic!("it is unknown") };
    assert_eq!(long.len(), 200);
}

#[test]
fn a_message_without_end_is_not_kept() {
    let mut messages = Messages::default();
    let piece = vec![b'x'; 1024 * 1024];
    let taken = (0..16).take_while(|_| messages.add(&piece).is_ok() && messages.take().is_none()).count();
    assert!(taken <= 5, "{taken} MiB were kept");
}

proptest! {
    #[test]
    fn messages_do_not_depend_on_how_they_are_cut(texts in prop::collection::vec("[a-z{}\" ]{0,9}", 0..6), cuts in prop::collection::vec(1..9usize, 0..20)) {
        let whole = texts.iter().flat_map(|text| [text.as_str(), "\n"]).collect::<String>();
        let (mut messages, mut seen, mut rest) = (Messages::default(), Vec::new(), whole.as_bytes());
        let mut cuts = cuts.into_iter();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(cuts.next().unwrap_or(rest.len()).min(rest.len()));
            rest = behind;
            prop_assert_eq!(messages.add(piece), Ok(()));
            while let Some(message) = messages.take() {
                seen.push(String::from_utf8_lossy(message.trim_ascii()).into_owned());
            }
        }
        let expected: Vec<&str> = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect();
        prop_assert_eq!(seen, expected);
    }

    #[test]
    fn what_is_written_can_be_found_again(key in any::<String>(), value in any::<String>()) {
        let transaction = Transaction { then: vec![Operation::Put(key.clone(), value.clone(), None)], ..Transaction::default() };
        let sent = json(&transaction_body(&transaction));
        let put = &sent["success"][0]["request_put"];
        let text = format!(r#"{{"header":{{"revision":"1"}},"kvs":[{{"key":{},"value":{}}}]}}"#, put["key"], put["value"]);
        prop_assert_eq!(page(text.as_bytes()).expect("a page").0.found, vec![pair(&key, &value, None, 0)]);
    }
}
