//! H11a: requests that are signed as a service wants it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rsa::KeyPair as RsaKeyPair;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA512, UnparsedPublicKey};
use serde_json::{Value, json};

use crate::support::given::{home, sent, with, without};
use crate::support::signatures::{hex, is_right};
use crate::support::{Receiver, Response, Sandbox};

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG";
const WEBHOOK: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const PEM: &str = include_str!("../support/rfc7515.pem");

/// Every scheme with a canonical form, as a configuration has it.
fn schemes() -> [Value; 4] {
    [
        json!({"scheme": "aws4", "id": "AKID", "secret": SECRET, "region": "us-east-1", "service": "route53"}),
        json!({"scheme": "tc3", "id": "AKID", "secret": SECRET, "service": "dnspod"}),
        json!({"scheme": "acs3", "id": "AKID", "secret": SECRET}),
        json!({"scheme": "huawei", "id": "AKID", "secret": SECRET}),
    ]
}

#[test]
fn h11a_a_service_verifies_the_signature_of_what_it_got() {
    for sign in schemes() {
        for more in [
            json!({"token": {"ip": "__IP__"}, "id": "/?b=2&a=__IP__"}),
            json!({"token": {"domain": "__DOMAIN__", "ip": "__IP__"}, "headers": {"X-TC-Action": "ModifyRecord"}}),
            json!({"token": "ip=__IP__", "format": "form"}),
        ] {
            let path = more["id"].as_str().unwrap_or("/").to_owned();
            let one = sent(&path, &with(&without(more, "id"), &json!({"sign": sign})));
            assert!(is_right(&one, SECRET), "{sign}: {one:?}");
            let mut changed = one.clone();
            changed.body.push(b' ');
            assert!(!is_right(&changed, SECRET) && !is_right(&one, "other"), "{sign}");
        }
    }
    let query = "/v2/zones/1/records?type=__RECORDTYPE__&name=__DOMAIN__&ip=__IP__";
    for sign in schemes().into_iter().filter(|sign| sign["scheme"] != "tc3") {
        let one = sent(query, &json!({"sign": sign}));
        assert!(is_right(&one, SECRET), "{sign}: {one:?}");
    }
    let mut sign = schemes()[0].clone();
    sign["token"] = json!("session");
    let one = sent("/", &json!({"sign": sign}));
    assert_eq!(one.header("x-amz-security-token"), Some("session"));
    assert!(
        is_right(&one, SECRET) && one.header("authorization").is_some_and(|it| it.contains("x-amz-security-token"))
    );
}

#[test]
fn h11a_each_try_has_a_nonce_of_its_own() {
    let receiver = Receiver::responding(|_| Response::status(500));
    let sandbox = Sandbox::new();
    let config = with(&home(&receiver.url("/")), &json!({"sign": schemes()[2], "token": {"ip": "__IP__"}}));
    let nonces: Vec<String> = (0..2)
        .map(|_| {
            sandbox.sync(&config).expect(1);
            let one = receiver.take().pop().expect("a request");
            one.header("x-acs-signature-nonce").expect("a nonce").to_owned()
        })
        .collect();
    assert!(nonces[0].len() == 32 && nonces[0] != nonces[1], "{nonces:?}");
}

#[test]
fn h11a_ovh_signs_the_whole_address() {
    let sign = json!({"scheme": "ovh", "id": "AK", "secret": "AS", "consumer": "CK"});
    let one = sent("/1.0/domain/zone/__DOMAIN__/record?x=1", &json!({"sign": sign, "token": {"target": "__IP__"}}));
    let header = |name: &str| one.header(name).unwrap_or_default().to_owned();
    assert_eq!((header("x-ovh-application"), header("x-ovh-consumer")), ("AK".to_owned(), "CK".to_owned()));
    let (body, address) = (String::from_utf8_lossy(&one.body), format!("http://{}{}", header("host"), one.target()));
    let text = format!("AS+CK+POST+{address}+{body}+{}", header("x-ovh-timestamp"));
    let hash = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
    assert_eq!(header("x-ovh-signature"), format!("$1${}", hex(hash.as_ref())));
}

#[test]
fn h11a_keys_of_rsa_come_from_files_of_several_lines() {
    let der: String = PEM.lines().filter(|line| !line.starts_with('-')).collect();
    let key = RsaKeyPair::from_pkcs8(&STANDARD.decode(der).expect("base64")).expect("a key");
    let public = key.public_key().as_ref().to_vec();
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("key.pem", PEM);
    let account =
        json!({"type": "service_account", "private_key": PEM, "client_email": "ddns@example", "private_key_id": "7"});
    sandbox.write("account.json", account.to_string());
    let token = json!({"login": "me", "nonce": "__TIMESTAMP__"});
    let sign = json!({"scheme": "rsa-sha512", "key": {"file": "key.pem"}, "header": "X-Signed"});
    sandbox.sync(&with(&home(&receiver.url("/v6/auth")), &json!({"sign": sign, "token": token}))).expect(0);
    let one = receiver.take().pop().expect("a request");
    let signature = STANDARD.decode(one.header("x-signed").expect("a signature")).expect("base64");
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA512, &public).verify(&one.body, &signature).expect("right");

    let sign = json!({"scheme": "google", "key": {"file": "account.json"}});
    sandbox.sync(&with(&home(&receiver.url("/dns/__DOMAIN__/__IP__")), &json!({"sign": sign}))).expect(0);
    let one = receiver.take().pop().expect("a request");
    let token = one.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).expect("a token");
    let (text, signature) = token.rsplit_once('.').expect("three parts");
    let signature = URL_SAFE_NO_PAD.decode(signature).expect("base64");
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &public).verify(text.as_bytes(), &signature).expect("right");
    let claims = URL_SAFE_NO_PAD.decode(text.split('.').nth(1).expect("claims")).expect("base64");
    let claims: Value = serde_json::from_slice(&claims).expect("JSON");
    assert_eq!(claims["aud"], format!("{}/", receiver.url("")));
    assert_eq!(claims["exp"].as_u64().zip(claims["iat"].as_u64()).map(|(until, from)| until - from), Some(3600));
}

#[test]
fn h11a_a_preview_shows_all_but_the_signature() {
    let sandbox = Sandbox::new();
    let mut sign = schemes()[2].clone();
    sign["token"] = json!("s3ssion");
    sandbox.write("config.json", with(&home("http://127.0.0.1:9/x"), &json!({"sign": sign})).to_string());
    let shown = sandbox.run(&["preview", "-c", "config.json"]).expect(0).stdout;
    let shown: String = shown.split_whitespace().collect();
    for part in ["Credential=AKID,SignedHeaders=host;x-acs-", "Signature=***", "x-acs-date:20"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains(SECRET) && !shown.contains("s3ssion"), "{shown}");
    // A signature in `Authorization` is sent in place of user and password, and shown so.
    sandbox.write("config.json", with(&home("http://user:pw@127.0.0.1:9/x"), &json!({"sign": sign})).to_string());
    let shown = sandbox.run(&["preview", "-c", "config.json", "--curl"]).expect(0).stdout;
    assert!(shown.contains("ACS3-HMAC-SHA256 Credential=AKID") && !shown.contains("-u "), "{shown}");
    let check = sandbox.run(&["check", "-c", "config.json"]).expect(0).stdout;
    assert!(check.contains("`id` has a user, but `sign` sets `Authorization`"), "{check}");
    for command in [["config", "-c", "config.json"], ["check", "-c", "config.json"]] {
        let run = sandbox.run(&command);
        assert!(!format!("{}{}", run.stdout, run.stderr).contains("s3ssion"), "{command:?}");
    }
}

/// Long before the clock of this host.
const OLD: &str = "Mon, 06 Jan 2025 08:49:37 GMT";

/// A service that refuses with this status, and has an old date.
fn refusing(status: u16) -> Receiver {
    Receiver::responding(move |_| Response::with_body(status, "AuthFailure.Expired").header("Date", OLD))
}

#[test]
fn h11a_a_wrong_clock_stops_no_step_and_is_said_where_the_service_asks_to_wait() {
    let step = json!({"id": "/look", "take": {"/id": "__ID__"}});
    for sign in [json!(WEBHOOK), schemes()[0].clone()] {
        let receiver = refusing(403);
        let more = json!({"sign": sign, "before": step, "expect": {"stop": {"status": 403}}});
        let run = Sandbox::new().sync(&with(&home(&receiver.url("/__ID__")), &more)).expect(1);
        run.prints("failed: before 1 of 1").prints("this host's clock is");
        for (id, more) in [("/", json!({})), ("/__ID__", json!({"before": step}))] {
            let more = with(&more, &json!({"sign": sign, "expect": {"wait": {"status": 403, "for": "1h"}}}));
            let run = Sandbox::new().sync(&with(&home(&receiver.url(id)), &more)).expect(1);
            run.prints("ahead of the clock of the service: the service may ask to wait because of that")
                .prints("failed: the endpoint asks to wait: 403");
        }
    }
}

/// A service with trouble of its own says nothing about signatures.
#[test]
fn h11a_a_5xx_is_no_sign_of_a_wrong_clock() {
    let more = json!({"sign": schemes()[0], "expect": {"stop": {"status": 500}}});
    let run = Sandbox::new().sync(&with(&home(&refusing(500).url("/")), &more)).expect(1);
    run.prints("stopped: ").never_prints("clock");
}

#[test]
fn h11a_a_wrong_clock_is_said_and_stops_nothing() {
    // Some services refuse with 200.
    let by_status = json!({"status": 403});
    for (sign, status, stop) in [
        (&schemes()[0], 403, &by_status),
        (&schemes()[0], 200, &json!({"body": "AuthFailure"})),
        (&json!(WEBHOOK), 403, &by_status),
    ] {
        let receiver = refusing(status);
        let sandbox = Sandbox::new();
        let more = json!({"sign": sign, "expect": {"stop": stop, "accept": {"body": "fine"}}});
        let config = with(&home(&receiver.url("/")), &more);
        for _ in 0..2 {
            let run = sandbox.sync(&config).expect(1).prints("failed: this host's clock is").prints("ahead of");
            run.prints("days ahead of the clock of the service, which refused the request")
                .never_prints("Are the keys");
        }
        assert_eq!(receiver.take().len(), 2, "it is sent again");
        let right = Receiver::responding(|_| Response::with_body(200, "fine").header("Date", OLD));
        Sandbox::new().sync(&with(&config, &json!({"id": right.url("/")}))).expect(0);
    }
}

#[test]
fn h11a_what_a_service_would_refuse_is_a_warning() {
    let sandbox = Sandbox::new();
    let mut sign = schemes()[1].clone();
    sign["id"] = json!("__KEY__");
    let typed = json!({"headers": {"content-type": "application/x-www-form-urlencoded"}});
    let (literal, untyped) = ("`sign`: `id` is a placeholder", "only requests with a `Content-Type`");
    for (more, there, gone) in [
        (json!({"sign": sign}), literal, ""),
        (json!({"sign": schemes()[1]}), untyped, literal),
        (with(&json!({"sign": schemes()[1]}), &typed), "", untyped),
        (json!({"sign": schemes()[1], "token": {"a": 1}}), "", untyped),
        (json!({"sign": schemes()[2]}), "", untyped),
    ] {
        sandbox.write("config.json", with(&home("http://127.0.0.1:9/?ip=__IP__"), &more).to_string());
        let run = sandbox.run(&["check", "-c", "config.json"]).expect(0);
        let said: String =
            run.stderr.split_whitespace().chain(run.stdout.split_whitespace()).collect::<Vec<_>>().join(" ");
        assert!(said.contains(there) && (gone.is_empty() || !said.contains(gone)), "{more}: {said}");
    }
}

#[test]
fn h11a_what_is_wrong_is_an_error_that_shows_no_secret() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    for (more, message) in [
        (json!({"sign": {"scheme": "aws5", "secret": "s3cret"}}), "unknown `scheme`"),
        (json!({"sign": {"scheme": "acs3", "id": "A"}}), "the scheme `acs3` needs `secret`"),
        (
            json!({"sign": {"scheme": "acs3", "id": "A", "secret": "s3cret", "region": "x"}}),
            "the scheme `acs3` has no field `region`",
        ),
        (json!({"sign": {"scheme": "acs3", "id": "A\nB", "secret": "s3cret"}}), "`id` contains a space"),
        (json!({"sign": {"scheme": "acs3", "id": "A", "secret": 7}}), "`secret` must be a string"),
        (
            json!({"sign": [{"scheme": "acs3", "id": "A", "secret": "s3cret"}, "whsec_x"]}),
            "a scheme cannot be part of a list",
        ),
        (json!({"sign": {"scheme": "rsa-sha512", "key": "s3cret"}}), "`key` is not in PEM form"),
        (json!({"sign": {"scheme": "rsa-sha512", "key": {"file": "bad.pem"}}}), "is not an RSA key"),
        (
            json!({"sign": {"scheme": "google", "key": {"file": "bad.pem"}}}),
            "is not the JSON file of a service account",
        ),
        (json!({"sign": {"scheme": "google", "key": {"file": "none.json"}}}), "the file none.json does not exist"),
        (json!({"sign": schemes()[0], "headers": {"Authorization": "x"}}), "`headers` must not set `Authorization`"),
        (json!({"sign": schemes()[0], "headers": {"x-amz-date": "x"}}), "`headers` must not set `X-Amz-Date`"),
        (json!({"sign": schemes()[0], "id": "http://127.0.0.1:9/?a=1+2"}), "`id` has a `+` in its query"),
        (
            json!({"sign": schemes()[0], "endpoint": "http://127.0.0.1:9/?a=1+2", "id": "/x"}),
            "`endpoint` has a `+` in its query",
        ),
        (json!({"sign": {"id": "A", "secret": "s3cret"}}), "an object needs a `scheme`: one of aws4, tc3"),
        (
            json!({"sign": {"scheme": "rsa-sha512", "key": "s3cret", "header": "content-length"}}),
            "`sign`: `header` must not set `Content-Length`",
        ),
        (
            json!({"sign": {"scheme": "rsa-sha512", "key": "s3cret", "header": "a b"}}),
            "`sign`: `header` contains a space",
        ),
        (json!({"sign": {"scheme": "rsa-sha512", "key": "s3cret".repeat(3000)}}), "`key` is larger than 16 KiB"),
    ] {
        let run = sandbox.sync(&with(&home("http://127.0.0.1:9/"), &more)).expect(2).prints(message);
        assert!(!run.stderr.contains("s3cret"), "{}", run.stderr);
    }
}
