use super::*;
use crate::config::web::SecretFile;
use crate::net::network::Network;

fn rule(name: &str, user: &str, from: &[&str]) -> PushRule {
    let password = SecretFile { path: String::new(), shown: String::new(), text: Ok(String::new()) };
    let from = from.iter().filter_map(|text| Network::parse(text)).collect();
    PushRule { name: name.to_owned(), user: user.to_owned(), password, from, max_age: None }
}

fn web(push: Vec<PushRule>) -> Web {
    Web { push, ..Web::default() }
}

#[test]
fn f10b_where_pushes_go() {
    let with = web(vec![rule("r", "r", &[])]);
    for (is_post, path, query, expected) in [
        (false, "/nic/update", "", true),
        (true, "/v3/update", "", true),
        (false, "/update", "domain=a.example&type=A", false),
        (false, "/update", "hostname=a&myip=", true),
        (false, "/update", "ip6lanprefix=2001::", true),
        (true, "/update", "", true),
        (false, "/nic/update/", "myip=1", true),
        (false, "//nic/update", "myip=1", true),
        (false, "/nic/updates", "myip=1", false),
        (false, "/", "myip=1", false),
    ] {
        assert_eq!(is_push(&with, is_post, path, query), expected, "{path} {query}");
        assert!(!is_push(&web(Vec::new()), is_post, path, query));
    }
    for (path, expected) in [
        ("/nic/update%20http:/nas/nic/update", true),
        ("/nic/update", false),
        ("/update%20x", true),
        ("/updates", false),
    ] {
        assert_eq!(is_two_in_one(&with, path), expected, "{path}");
    }
}

#[test]
fn f10c_addresses_are_told_apart_by_their_form() {
    for (query, expected) in [
        ("myip=5.145.0.7", "5.145.0.7"),
        ("myip=2a02:8071::1,5.145.0.7", "5.145.0.7,2a02:8071::1"),
        ("myip=5.145.0.7&myipv6=2a02:8071::1", "5.145.0.7,2a02:8071::1"),
        ("ipv4=2a02:8071::1&v6=5.145.0.7", "5.145.0.7,2a02:8071::1"),
        ("MYIP=5.145.0.7&ip=5.145.0.7", "5.145.0.7"),
        ("myip=&ip6addr=2a02:8071::1", "2a02:8071::1"),
        ("myip=%205.145.0.7%20", "5.145.0.7"),
        ("system=dyndns&wildcard=ON&mx=&offline=YES&url=http://x/&dualstack=1&v4=5.145.0.7", "5.145.0.7"),
        ("ip6lanprefix=2a02:8071:1:2::/56", "2a02:8071:1:2::"),
        ("ip6lanprefix=2a02:8071:1:2::9", "2a02:8071:1:2::"),
        ("ip6lanprefix=2a02:8071:1:2::/64&ip6addr=2a02:8071::1", "2a02:8071::1"),
        ("", "no address"),
        ("myip=&myipv6=&ip6lanprefix=", "no address"),
        ("myip=10.9.8.7", "10.9.8.7 is not a public address"),
        ("myip=5.145.0.7&myipv6=fd00::1", "fd00::1 is not a public address"),
        ("myip=5.145.0.7,5.145.0.8", "two addresses"),
        ("myip=1.1.1.1,2.2.2.2,3.3.3.3,4.4.4.4,5.5.5.5,6.6.6.6,7.7.7.7,8.8.8.8,9.9.9.9,2600::", "two addresses"),
        ("myip=5.145.0.7%20http://nas/nic/update?myip=5.145.0.8", "no address"),
        ("myip=s3cret", "a value that is no address"),
        ("myip=%3Cipaddr%3E", "a value that is no address"),
        ("ip6lanprefix=2a02:8071::/65", "its prefix is no"),
        ("ip6lanprefix=2a02:8071::/0", "its prefix is no"),
        ("ip6lanprefix=2a02:8071::/31", "its prefix is no"),
        ("ip6lanprefix=2a02:8071::/32", "2a02:8071::"),
        ("ip6lanprefix=fd00::/56", "fd00:: is not a public network"),
        ("ip6lanprefix=2a02:8071::,2a02:8072::", "two prefixes"),
    ] {
        let read = PushRequest::read(query, "").push;
        let shown = read.clone().map_or_else(|why| why, |push| push.to_string());
        assert!(shown.contains(expected), "{query}: {shown}");
        // A form counts like the query.
        assert_eq!(PushRequest::read("", query).push, read, "{query}");
    }
    // One private address makes the whole push invalid, wherever it is.
    for wrong in [
        "100.64.1.1",
        "0.0.0.0",
        "127.0.0.1",
        "192.0.2.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "2001:db8::1",
        "::ffff:5.145.0.7",
        "64:ff9b::1",
        "2001::1",
        "ff02::1",
        "3fff::1",
        "4000::1",
    ] {
        for query in [format!("myip={wrong}"), format!("myip={wrong},5.145.0.7"), format!("v4=5.145.0.7&v6={wrong}")] {
            assert!(PushRequest::read(&query, "").push.is_err(), "{query}");
        }
    }
}

#[test]
fn f10f_domains_are_names_of_the_source() {
    let config = |more: &str| {
        let text = format!(r#"{{"dns": "callback", "id": "https://h.example/", {more}}}"#);
        crate::config::validate::validate_text("c.json", &text).expect("a configuration").0
    };
    let own =
        config(r#""ipv4": ["a.example", "b.example"], "index4": "quorum:1(public, push:r)", "ipv6": "six.example""#);
    let other = config(r#""ipv4": "c.example", "index4": "push:s""#);
    for (query, expected) in [
        ("myip=5.145.0.7", Ok(())),
        ("hostname=a.example&myip=5.145.0.7", Ok(())),
        ("hostname=A.example,b.example&myip=5.145.0.7", Ok(())),
        ("domain=b.example.&myip=5.145.0.7", Ok(())),
        ("hostname=.&myip=5.145.0.7", Err(PushAnswer::NotFqdn)),
        ("hostname=&myip=5.145.0.7", Ok(())),
        ("hostname=c.example&myip=5.145.0.7", Err(PushAnswer::NoHost)),
        ("hostname=six.example&myip=5.145.0.7", Err(PushAnswer::NoHost)),
        ("hostname=a.example,x.example&myip=5.145.0.7", Err(PushAnswer::NoHost)),
        ("hostname=a..b&myip=5.145.0.7", Err(PushAnswer::NotFqdn)),
        ("hostname=a.example", Err(PushAnswer::BadIp)),
    ] {
        let judged = PushRequest::read(query, "").judge("r", [&own, &other].into_iter());
        assert_eq!(judged.map(|_| ()).map_err(|(answer, _)| answer), expected, "{query}");
    }
    let many = format!("myip=5.145.0.7&hostname={}", vec!["a.example"; 21].join(","));
    for (query, name, expected, phrase) in [
        (many.as_str(), "r", PushAnswer::NumHost, "more than 20 domains"),
        ("myip=5.145.0.7", "t", PushAnswer::NoHost, "no domain takes its address"),
        ("hostname=x.example", "r", PushAnswer::NoHost, "x.example does not take"),
    ] {
        let (answer, why) = PushRequest::read(query, "").judge(name, [&own].into_iter()).expect_err(query);
        assert!(answer == expected && why.contains(phrase), "{query}: {answer:?} {why}");
    }
}

#[test]
fn f10b_who_wants_to_push() {
    let login = |authorization, query, body| {
        PushLogin::read(authorization, query, body).map(|login| (login.user.unwrap_or("-".to_owned()), login.password))
    };
    let given = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
    for authorization in ["Basic cjpzM2NyZXQ6eA==", "basic cjpzM2NyZXQ6eA", "BASIC  cjpzM2NyZXQ6eA=="] {
        assert_eq!(login(Some(authorization), "user=x&pass=y", ""), given("r", "s3cret:x"), "{authorization}");
    }
    // A malformed header counts as a wrong password, not as a missing one.
    for authorization in ["Basic ", "Basic !!", "Basic /w==", "Basic cg=="] {
        assert_eq!(login(Some(authorization), "user=x&pass=y", ""), given("", ""), "{authorization}");
    }
    assert_eq!(login(Some("Bearer abc"), "username=r&password=p", ""), given("r", "p"));
    assert_eq!(login(None, "", "user=r&pass=p"), given("r", "p"));
    assert_eq!(login(None, "token=p", ""), given("-", "p"));
    assert_eq!((login(None, "user=r", ""), login(None, "", "")), (None, None));

    let (one, two) = (rule("a", "alice", &[]), rule("b", "bob", &[]));
    let named = |user: Option<&str>, rules: &[&PushRule]| {
        let login = PushLogin { user: user.map(str::to_owned), password: String::new() };
        login.rule(rules, |one, other| one == other).map(|(rule, is_named)| (rule.name.clone(), is_named))
    };
    let found = |name: &str, is_named| Some((name.to_owned(), is_named));
    assert_eq!(named(Some("bob"), &[&one, &two]), found("b", true));
    assert_eq!(named(Some("eve"), &[&one, &two]), found("a", false));
    assert_eq!((named(None, &[&one]), named(None, &[&one, &two])), (found("a", true), found("a", false)));
    assert_eq!(named(Some("bob"), &[]), None);

    // Wherever the hash is, a wrong try takes its time.
    let mut hashed = rule("c", "carol", &[]);
    hashed.password.text = Ok("$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA\n".to_owned());
    let hash = Some("$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA");
    assert_eq!((any_hash(&[&hashed, &one]), any_hash(&[&one, &two, &hashed])), (hash, hash));
    assert_eq!(any_hash(&[&one, &two]), None);
}

#[test]
fn f10k_f10j_who_may_push_at_all() {
    let with =
        web(vec![rule("a", "a", &["192.168.178.1", "fd00::/8"]), rule("b", "b", &["10.0.0.0/8"]), rule("c", "c", &[])]);
    for (client, expected) in
        [("192.168.178.1", "ac"), ("192.168.178.2", "c"), ("fd12::1", "ac"), ("10.1.2.3", "bc"), ("2001:db8::1", "c")]
    {
        let names: String =
            allowed(&with, client.parse().expect(client)).iter().map(|rule| rule.name.as_str()).collect();
        assert_eq!(names, expected, "{client}");
    }
    for (name, expected) in [
        ("origin", "origin"),
        ("cookie", "cookie"),
        ("referer", "referer"),
        ("accept-language", "accept-language"),
        ("upgrade-insecure-requests", "upgrade-insecure-requests"),
        ("sec-fetch-site", "sec-"),
        ("sec-gpc", "sec-"),
    ] {
        assert_eq!(of_browser(["host", name].into_iter()), Some(expected));
    }
    // All that a FRITZ!Box, inadyn, ddclient, wget, curl and uclient-fetch send.
    let sent = "host connection authorization user-agent accept accept-encoding content-type content-length range";
    assert_eq!(of_browser(sent.split(' ')), None);
}

#[test]
fn f10k_an_address_of_from_counts_alone_where_passwords_are_guessed() {
    let rules = [rule("a", "a", &["fd00:77::1", "192.168.178.1"]), rule("b", "b", &["fd00:77::/64"])];
    let rules: Vec<&PushRule> = rules.iter().collect();
    for (client, expected) in [
        ("fd00:77::1", "fd00:77::1"),
        ("fd00:77::2", "fd00:77::"),
        ("fd00:77::3", "fd00:77::"),
        ("192.168.178.1", "192.168.178.1"),
        ("192.168.178.2", "192.168.178.2"),
    ] {
        assert_eq!(counted(&rules, client.parse().expect(client)).to_string(), expected);
    }
}

#[test]
fn f10g_what_is_answered() {
    let push = PushRequest::read("myip=5.145.0.7,2a02:8071::1", "").push.expect("an address");
    for (answer, status, text) in [
        (PushAnswer::Good(push, 0), 200, "good 5.145.0.7,2a02:8071::1"),
        (PushAnswer::NoChange(push, 2), 200, "nochg 5.145.0.7,2a02:8071::1\nnochg 5.145.0.7,2a02:8071::1"),
        (PushAnswer::BadAuth, 401, "badauth"),
        (PushAnswer::NoHost, 200, "nohost"),
        (PushAnswer::NotFqdn, 200, "notfqdn"),
        (PushAnswer::NumHost, 200, "numhost"),
        (PushAnswer::BadIp, 200, "badip"),
        (PushAnswer::Abuse, 429, "abuse"),
        (PushAnswer::Broken, 200, "911"),
    ] {
        assert_eq!((answer.status(), answer.text().as_str()), (status, text));
    }
    let mut rate = PushRate::default();
    let at = Duration::from_secs;
    assert!((0..30).all(|_| rate.admits("r", at(5))));
    assert!(!rate.admits("r", at(64)) && rate.admits("s", at(64)) && rate.admits("r", at(65)));
    assert!(rate.0.len() <= 60);
}

/// Each name is looked at once: the most that fit into a push take no time.
#[test]
fn f10f_names_beyond_the_limit_are_not_kept() {
    let many = |last: &str| format!("myip=5.145.0.7&hostname={}{last}", "a,".repeat(4000));
    let hosts = PushRequest::read(&many("b"), "").hosts;
    assert_eq!(hosts.map(|hosts| hosts.len()), Some(MAX_HOSTS + 1));
    assert_eq!(PushRequest::read(&many("b c"), "").hosts, None, "every name is checked");
}
