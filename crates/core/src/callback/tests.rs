//! Tables for the rules of sections B and C, and properties that must hold for any input.

use std::net::IpAddr;

use proptest::prelude::*;

use super::*;
use crate::net::family::Family;
use crate::net::url::Url;
use crate::text::json::{Dialect, Node, Value, parse};
use crate::text::secrets::{MASK, Secrets};
use crate::update::Update;
use crate::update::domain::Domain;

const NOW: Timestamp = Timestamp { seconds: 1_763_170_000, micros: 42 };

fn domain() -> Domain {
    Domain::parse("home.example.com").expect("a domain")
}

pub(super) fn callback(endpoint: &str, id: &str, token: Option<&str>, variables: Variables) -> Callback {
    let mut unknown = Vec::new();
    let target = Target::new(endpoint, id, &variables, &mut unknown).expect("an address");
    let body = token.map(|token| {
        let document = parse(token, Dialect::TOKEN).expect("JSON");
        Body::new(&document, &variables, &mut unknown).expect("known placeholders").expect("an object or list")
    });
    with_body(target, body, variables)
}

/// A callback without optional parts.
fn with_body(target: Target, body: Option<Body>, variables: Variables) -> Callback {
    let request = RequestTemplate { target, method: None, headers: Vec::new(), body, sign: None, expect: None };
    Callback { request, variables, around: None }
}

fn plain(target: Target, variables: Variables) -> Callback {
    with_body(target, None, variables)
}

/// The request for an update whose address no source returned.
fn rendered(callback: &Callback, update: &Update<'_>) -> Result<Request, String> {
    callback.request.render(&callback.variables.with(update.into(), NOW.into(), &[]), None)
}

fn render_with(callback: &Callback, ip: &str) -> Request {
    let (domain, ip) = (domain(), ip.parse::<IpAddr>().expect("an address"));
    let family = Family::of(ip).expect("a family");
    rendered(callback, &Update { domain: &domain, family, ip }).expect("a request")
}

fn render(callback: &Callback) -> Request {
    render_with(callback, "203.0.113.7")
}

/// The redacted request.
fn redacted(callback: &Callback) -> Redacted {
    let (domain, ip) = (domain(), "203.0.113.7".parse().expect("an address"));
    callback.redacted(&Update { domain: &domain, family: Family::V4, ip }, NOW, "agent", false).expect("a request")
}

fn url(endpoint: &str, id: &str) -> String {
    render(&callback(endpoint, id, None, Variables::new(None, None))).url.to_string()
}

#[test]
fn b3_to_b5_endpoint_and_id_become_one_address() {
    let cases = [
        ("https://h", "", "https://h/"),
        ("https://h/api?k=1", "", "https://h/api?k=1"),
        ("https://e/x", "http://h/hook", "http://h/hook"),
        ("https://h/api/", "/hook", "https://h/api/hook"),
        ("https://h/api", "hook", "https://h/api/hook"),
        ("https://h/api//", "//hook/", "https://h/api/hook/"),
        ("https://h", "hook", "https://h/hook"),
        ("https://h", "?a=1", "https://h/?a=1"),
        ("https://h/api/", "?a=1", "https://h/api/?a=1"),
        ("https://h/api?k=1", "/hook?a=2", "https://h/api/hook?k=1&a=2"),
        ("https://h/api?k=1", "?a=2", "https://h/api?k=1&a=2"),
        ("https://h/api?", "?a=2", "https://h/api?a=2"),
        ("https://h/api?k=1&", "?a=2", "https://h/api?k=1&a=2"),
        ("https://h/api?k=1", "hook", "https://h/api/hook?k=1"),
        ("https://h:8443/", "__DOMAIN__/__IP__", "https://h:8443/home.example.com/203.0.113.7"),
        ("https://h/", "__IP__?d=__DOMAIN__", "https://h/203.0.113.7?d=home.example.com"),
        ("https://h/__IP__", "x", "https://h/__IP__/x"),
        ("https://h/a/../b", "./c", "https://h/a/../b/./c"),
        ("HTTPS://H.Example:443/", "x", "https://h.example/x"),
    ];
    for (endpoint, id, expected) in cases {
        assert_eq!(url(endpoint, id), expected, "{endpoint} + {id}");
    }
}

#[test]
fn what_is_known_of_an_address_before_an_update() {
    // The URL up to the first placeholder, whether it is https, and whether it has a fragment.
    let cases = [
        ("https://h.example", Some("https://h.example/"), true, false),
        ("HTTPS://h:8443/k/x#part", Some("https://h:8443/k/x"), true, true),
        ("http://h/a/__IP__/b", Some("http://h/a/"), false, false),
        ("http://h?ip=__IP__", Some("http://h/?ip="), false, false),
        // Each update may go to a different host.
        ("http://h__TTL__.example/", None, false, false),
        ("https://h:__TTL__", None, true, false),
        ("http://__DOMAIN__/x", None, false, false),
    ];
    for (id, fixed, is_secure, has_fragment) in cases {
        let target = callback("", id, None, Variables::new(Some(60), None)).request.target;
        assert_eq!(target.fixed_part().map(|url| url.to_string()).as_deref(), fixed, "{id}");
        assert_eq!((target.is_secure(), target.has_fragment()), (is_secure, has_fragment), "{id}");
    }
}

#[test]
fn b1_and_b5_what_makes_no_address_is_refused() {
    let error = |endpoint: &str, id: &str| {
        Target::new(endpoint, id, &Variables::default(), &mut Vec::new()).expect_err("no address")
    };
    assert_eq!(error(" ", ""), TargetError::Empty);
    assert_eq!(error("", "h.example/x?key=abc"), TargetError::Relative(Some("https://h.example/x?key=***".into())));
    assert_eq!(error("", "/x?ip=__IP__"), TargetError::Relative(Some("https://your-host.example/x?ip=__IP__".into())));
    assert_eq!(error("", "ftp://h/x"), TargetError::Id(UrlError::Scheme("ftp".into())));
    assert_eq!(error("ws://h", "x"), TargetError::Endpoint(UrlError::Scheme("ws".into())));
    assert_eq!(error("h.example", "x"), TargetError::Endpoint(UrlError::Relative));
    for bad in [
        "http:///x",
        "http://a b/",
        "http://a..b/",
        "http://[::1/",
        "http://[1.2.3.4]/",
        "http://1.2.3/",
        "http://ü/",
        "http://::1:9/ok",
    ] {
        assert!(matches!(error("", bad), TargetError::Id(UrlError::Host(_))), "{bad}");
    }
    for bad in ["http://h:99999/", "http://h:0/", "http://h:x/", "http://h:-1/"] {
        assert_eq!(error("", bad), TargetError::Id(UrlError::Port), "{bad}");
    }
}

#[test]
fn c6_what_the_user_wrote_is_kept_byte_for_byte() {
    let cases = [
        ("http://h/a%2Fb+c?x=%20+&e=&f&&g=%zz", "/a%2Fb+c?x=%20+&e=&f&&g=%zz"),
        ("http://h/{a}|b\\c^d?[x]=1&'y'", "/{a}|b\\c^d?[x]=1&'y'"),
        ("http://h/a b/ü?q=\"x\"", "/a%20b/%C3%BC?q=%22x%22"),
        ("http://h?x", "/?x"),
        ("http://h/x#part", "/x"),
    ];
    for (id, path) in cases {
        assert_eq!(render(&callback("", id, None, Variables::default())).url.path, path, "{id}");
    }
}

#[test]
fn c6_values_are_encoded_for_where_they_stand() {
    let line = "a&b=c d/e%?#ü+*:~";
    let variables = Variables::new(Some(300), Some(line.into()));
    let request =
        render_with(&callback("", "http://h/__LINE__/__TTL__?i=__IP__&l=__LINE__", None, variables), "2001:db8::1");
    let encoded = "a%26b%3Dc%20d%2Fe%25%3F%23%C3%BC%2B*:~";
    assert_eq!(request.url.path, format!("/{encoded}/300?i=2001:db8::1&l={encoded}"));
}

#[test]
fn c1_an_address_may_be_the_host() {
    let host = |id: &str, ip: &str| render_with(&callback("", id, None, Variables::default()), ip).url.origin();
    assert_eq!(host("http://__IP__/", "2001:db8::1"), "http://[2001:db8::1]");
    assert_eq!(host("http://[__IP__]:81/", "2001:db8::1"), "http://[2001:db8::1]:81");
    assert_eq!(host("http://__IP__:8080/hook?k=1", "2001:db8::7"), "http://[2001:db8::7]:8080");
    assert_eq!(host("http://u:p@__IP__:8080/", "2001:db8::7"), "http://[2001:db8::7]:8080");
    assert_eq!(host("http://__IP__:8080/", "203.0.113.7"), "http://203.0.113.7:8080");
    assert_eq!(host("http://__DOMAIN__/", "203.0.113.7"), "http://home.example.com");
}

#[test]
fn c4_one_pass_and_unknown_names_stay() {
    let mut unknown = Vec::new();
    let variables = Variables::new(None, Some("__IP____DOMAIN__".into()));
    let id = "http://h/?a=__LINE__&b=__FOO__&c=____IP____&d=__ip__&e=__FOO__IP__&f=___IP___&g=__DOMAIN&h=TTL__&i=__X";
    let target = Target::new("", id, &variables, &mut unknown).expect("an address");
    let path = render(&plain(target, variables)).url.path;
    let expected = "/?a=__IP____DOMAIN__&b=__FOO__&c=__203.0.113.7__&d=__ip__&e=__FOO203.0.113.7&f=_203.0.113.7_\
                    &g=__DOMAIN&h=TTL__&i=__X";
    assert_eq!(path, expected);
    assert_eq!(unknown, ["__FOO__", "__ip__", "__FOO__", "__DOMAIN", "TTL__"]);
}

#[test]
fn c5_what_is_not_set_is_the_empty_text() {
    let request =
        render(&callback("", "http://h/?t=__TTL__&l=__LINE__", Some(r#"{"t":"__TTL__"}"#), Variables::default()));
    assert_eq!(request.url.path, "/?t=&l=");
    assert_eq!(request.body.as_deref(), Some(r#"{"t":""}"#));
}

#[test]
fn c3_c7_c8_bodies() {
    let mut variables = Variables::new(Some(600), None);
    variables.add("__ZONE__", Value::string("z\"1")).expect("a variable");
    variables.add("__ON__", Value::Bool(true)).expect("a variable");
    let cases = [
        (r#"{"b":1,"a":[{"ip":"<__IP__>"}]}"#, r#"{"b":1,"a":[{"ip":"<203.0.113.7>"}]}"#),
        (
            r#"{"n":[1e400,1.10,-0,12345678901234567890,true,null]}"#,
            r#"{"n":[1e400,1.10,-0,12345678901234567890,true,null]}"#,
        ),
        (r#"{"__IP__":"__TTL__","__IP__":2}"#, r#"{"__IP__":"600","__IP__":2}"#),
        ("[__TTL__,__LINE__,__IP__,__ON__,__ZONE__]", r#"[600,null,"203.0.113.7",true,"z\"1"]"#),
        (r#"{"t":__TIMESTAMP__,"u":"__TIMESTAMP__"}"#, r#"{"t":1763170000.000042,"u":"1763170000.000042"}"#),
        (r#"{"z":"a\u00fc\n__ZONE__"}"#, "{\"z\":\"aü\\nz\\\"1\"}"),
        ("{ }", "{}"),
    ];
    for (token, expected) in cases {
        let request = render(&callback("http://h", "", Some(token), variables.clone()));
        assert_eq!(request.body.as_deref(), Some(expected), "{token}");
    }
    let bare = parse("[__NOPE__]", Dialect::TOKEN).expect("JSON");
    assert!(Body::new(&bare, &variables, &mut Vec::new()).is_err());
}

#[test]
fn d6_which_hosts_are_local() {
    let local =
        ["127.0.0.1", "10.1.2.3", "192.168.1.1", "172.16.0.1", "169.254.1.1", "[::1]", "[fd00::1]", "[fe80::1]"];
    let named = ["localhost", "nas", "nas.local", "nas.lan", "db.internal", "pi.home.arpa", "NAS.Local."];
    let public = [
        "1.1.1.1",
        "172.32.0.1",
        "100.64.0.1",
        "[2001:db8::1]",
        "example.com",
        "local.example",
        "xlan.de",
        "mylocal.org",
    ];
    let is_local = |host: &&str| Url::parse(&format!("https://{host}/")).expect("an address").is_local();
    assert!(local.iter().chain(&named).all(&is_local));
    for host in &public {
        assert!(!is_local(host), "{host}");
    }
    // What only looks like a name: systems read it as an address, here a public one.
    for host in ["0x08080808", "0X8080808", "0177.1", "134744072", "0x8.0x8", "0x7f000001.", "8.8.2056"] {
        assert!(matches!(Url::parse(&format!("http://{host}/")), Err(UrlError::Host(_))), "{host}");
    }
    assert!(["0xyz", "x0", "0x1.lan"].iter().all(is_local), "a name");
}

#[test]
fn d2_credentials_become_a_header_and_leave_the_request_line() {
    let callback = callback("", "http://us%40er:p%3Aw@h:8080/x", None, Variables::default());
    let request = render(&callback);
    let headers = request.headers("agent");
    assert_eq!(headers[0], ("Host".into(), "h:8080".into()));
    assert!(headers.contains(&("Authorization".into(), "Basic dXNAZXI6cDp3".into())), "{headers:?}");
    assert!(!redacted(&callback).lines().join("\n").contains("dXNAZXI6cDp3"));
    assert_eq!(request.url.path, "/x");
}

#[test]
fn g2_literals_are_redacted_and_values_are_not() {
    let mut variables = Variables::new(Some(60), Some("line1".into()));
    variables.add("__KEY__", Value::string("extra-secret")).expect("a variable");
    let id = "https://user:pw@h/api/0123456789abcdef/x/__DOMAIN__?key=abc&ip=__IP__&l=x__LINE__&bare&k=__KEY__";
    let token = r#"{"key":"s3cret","pin":1234,"on":true,"d":"name=__DOMAIN__"}"#;
    let shown = redacted(&callback("", id, Some(token), variables));
    assert_eq!(shown.url.path, "/api/***/x/home.example.com?key=***&ip=203.0.113.7&l=***line1&***&k=***");
    assert_eq!(shown.body.as_deref(), Some(r#"{"key":"***","pin":"***","on":true,"d":"***home.example.com"}"#));
    assert_eq!(shown.url.credentials, Some(("***".into(), "***".into())));
}

#[test]
fn g2_secrets_are_known_in_every_form_in_which_they_may_come_back() {
    let id = "http://us%40er:p%3Aw@h/0123456789%61bcdef?k=a b&ip=__IP__";
    let secrets = callback("", id, Some(r#"{"k":"s3\u0063ret","pin":1234}"#), Variables::default()).secrets();
    let user = ["us%40er", "us@er", "p%3Aw", "p:w", "us%40er:p%3Aw", "us@er:p:w"];
    let address = ["0123456789%61bcdef", "0123456789abcdef", "a b", "a%20b"];
    for secret in user.iter().chain(&address).chain(&["s3cret", "1234"]) {
        assert!(secrets.iter().any(|known| known == secret), "{secret}: {secrets:?}");
    }
}

#[test]
fn g2_what_may_be_seen_of_an_address() {
    let cases = [
        ("http://u:p@ss:w@h/", "http://***:***@h/"),
        ("http://u@h/", "http://***@h/"),
        ("http://u:@h/", "http://***:@h/"),
        ("http://__DOMAIN__:pw@h/", "http://__DOMAIN__:***@h/"),
        ("http://h/?key__IP__=x", "http://h/?key__IP__=***"),
        ("http://h/?key__IP__", "http://h/?***__IP__"),
        ("http://h/?a=1&key__IP__&b=2", "http://h/?a=***&***__IP__&b=***"),
        ("http://h/short/segment-of-sixteen?x=#y@z", "http://***"),
        ("/path?x=1", "/path?x=***"),
        ("user:pw@h/x", "***"),
    ];
    for (id, expected) in cases {
        assert_eq!(outline(id, &Variables::default()), expected, "{id}");
    }
}

#[test]
fn debug_output_of_a_callback_shows_no_secret() {
    let mut variables = Variables::default();
    variables.add("__KEY__", Value::string("s3cret")).expect("a variable");
    let callback = callback("", "http://s3cret:s3cret@h/?k=s3cret", Some(r#"{"k":"s3cret"}"#), variables);
    let request = render(&callback);
    assert!(!format!("{callback:?} {request:?} {:?}", Secrets::new(callback.secrets(), &[])).contains("s3cret"));
}

/// The number of path segments and the names of the parameters, as a receiver parses them.
fn shape(path: &str) -> (usize, Vec<String>) {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let names = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default().to_owned());
    (path.split('/').count(), names.collect())
}

proptest! {
    #[test]
    fn c6_no_value_changes_the_shape_of_an_address(line in any::<String>()) {
        let id = "http://h/a/__LINE__/b?x=__LINE__&y=1__LINE__&z=";
        let request = render(&callback("", id, None, Variables::new(None, Some(line.clone()))));
        prop_assert_eq!(shape(&request.url.path), shape("/a/v/b?x=v&y=1v&z="));
        let value = request.url.path.split("?x=").nth(1).and_then(|rest| rest.split('&').next());
        prop_assert_eq!(value.map(crate::net::url::percent_decode), Some(line));
        prop_assert!(request.url.path.bytes().all(|byte| byte.is_ascii_graphic()));
        prop_assert_eq!(request.url.host, "h");
    }

    #[test]
    fn c7_no_value_changes_the_shape_of_json(line in any::<String>()) {
        let token = r#"{"a":"x__LINE__y","b":[__LINE__],"c":1}"#;
        let request = render(&callback("http://h", "", Some(token), Variables::new(None, Some(line.clone()))));
        let json: serde_json::Value = serde_json::from_str(&request.body.expect("a body")).expect("JSON");
        prop_assert_eq!(json, serde_json::json!({"a": format!("x{line}y"), "b": [line], "c": 1}));
    }

    #[test]
    fn h2_no_value_breaks_out_of_a_header(line in any::<String>(), tail in "[\r\n\\x00-\\x7fü]{0,4}") {
        let line = line + &tail;
        let mut callback = callback("", "http://h/", None, Variables::new(None, Some(line.clone())));
        callback.request.headers.push(Header::new("X-Key", "a__LINE__b", &callback.variables, &mut Vec::new()).expect("a header"));
        let (domain, ip) = (domain(), "203.0.113.7".parse().expect("an address"));
        let update = Update { domain: &domain, family: Family::V4, ip };
        let is_one_line = !line.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f);
        match rendered(&callback, &update) {
            Ok(request) => {
                prop_assert!(is_one_line);
                prop_assert_eq!(request.headers, vec![("X-Key".to_owned(), format!("a{line}b"))]);
            }
            Err(error) => {
                prop_assert!(!is_one_line);
                prop_assert!(error.ends_with("control character into the header `X-Key`"), "{error}");
            }
        }
    }

    #[test]
    fn h3_no_value_changes_the_shape_of_a_form(line in any::<String>(), name in any::<String>()) {
        let variables = Variables::new(None, Some(line.clone()));
        let text = Body::form_text("a=x__LINE__y&b=__LINE__", &variables, &mut Vec::new());
        let members = Value::object([(name.as_str(), Value::string("__LINE__")), ("b", Value::string(line.clone()))]);
        let object = Body::form(members.members().unwrap_or_default(), &variables, &mut Vec::new()).expect("scalars");
        let mut callback = callback("", "http://h/", None, variables);
        let decoded = |body: String| -> Vec<(String, String)> {
            let decode = |text: &str| crate::net::url::percent_decode(&text.replace('+', " "));
            body.split('&').map(|pair| pair.split_once('=').map(|(a, b)| (decode(a), decode(b))).expect("a pair")).collect()
        };
        callback.request.body = Some(text);
        let expected = vec![("a".to_owned(), format!("x{line}y")), ("b".to_owned(), line.clone())];
        prop_assert_eq!(decoded(render(&callback).body.expect("a body")), expected);
        callback.request.body = Some(object);
        let body = render(&callback).body.expect("a body");
        prop_assert!(body.bytes().all(|byte| byte.is_ascii_graphic()));
        // A name or value that looks like a placeholder is one.
        if !line.contains("__") {
            prop_assert_eq!(decoded(body), vec![(name, line.clone()), ("b".to_owned(), line)]);
        }
    }

    #[test]
    fn c4_a_value_is_never_searched_again(line in "(__(IP|DOMAIN|TTL|LINE)__|[a-z_]){0,6}") {
        let request = render(&callback("http://h", "", Some(r#"["__LINE__"]"#), Variables::new(Some(1), Some(line.clone()))));
        prop_assert_eq!(request.body, Some(format!("[\"{line}\"]")));
    }

    #[test]
    fn no_address_makes_the_parser_panic(text in any::<String>(), id in "https?://[ -~]{0,30}") {
        for id in [text.as_str(), id.as_str()] {
            for endpoint in ["", "http://h/a?b", text.as_str()] {
                if let Ok(target) = Target::new(endpoint, id, &Variables::default(), &mut Vec::new()) {
                    let variables = Variables::default();
                    let callback = plain(target, variables);
                    let (domain, ip) = (domain(), "203.0.113.7".parse().expect("an address"));
                    let update = Update { domain: &domain, family: Family::V4, ip };
                    let _ = callback.redacted(&update, NOW, "agent", false);
                }
            }
        }
    }

    #[test]
    fn g2_a_redacted_request_holds_no_literal(
        key in "[a-zA-Z0-9+/=%&;!ü ]{6,20}", user in "[a-z0-9]{6,12}", password in "[a-zA-Z0-9!$]{6,12}",
    ) {
        // Replaces characters that would end the literal.
        let in_query = key.replace(['&', '%', '=', '#'], "k");
        let id = format!("http://{user}:{password}@h/p/?key={in_query}&ip=__IP__");
        let mut token = String::from("{\"k\":[");
        crate::text::json::push_string(&mut token, &key);
        token += "]}";
        let shown = redacted(&callback("", &id, Some(&token), Variables::default())).lines().join("\n");
        for secret in [&key, &in_query, &user, &password] {
            prop_assert!(!shown.contains(secret.as_str()), "{} in {}", secret, shown);
        }
    }

    #[test]
    fn g2_masking_leaves_no_form_of_a_secret(secret in "[a-zA-Z0-9+/ü\"&=-]{6,24}", around in "[a-z ]{0,9}") {
        use base64::Engine as _;
        use base64::engine::general_purpose::{STANDARD, URL_SAFE};
        let secrets = Secrets::new([secret.clone()], &[]);
        let mut encoded = String::new();
        crate::net::url::push_value(&mut encoded, &secret);
        let mut escaped = String::new();
        crate::text::json::push_string(&mut escaped, &secret);
        let escaped = &escaped[1..escaped.len() - 1];
        let forms = [secret.as_str(), &encoded, &encoded.to_lowercase(), escaped];
        for form in forms {
            let masked = secrets.mask(&format!("{around}{form}{around}")).into_owned();
            let lower = form == encoded.to_lowercase() && secret.chars().any(char::is_uppercase);
            prop_assert!(lower || !masked.contains(form), "{}", masked);
        }
        for pair in [format!("{around}{secret}"), format!("{secret}{around}"), secret.clone()] {
            for text in [STANDARD.encode(&pair), URL_SAFE.encode(&pair)] {
                let masked = secrets.mask(&text).into_owned();
                prop_assert!(masked.contains(MASK), "{} of {}", masked, pair);
                let left: String = masked.split(MASK).collect();
                let decoded = String::from_utf8_lossy(&STANDARD.decode(left).unwrap_or_default()).into_owned();
                prop_assert!(!decoded.contains(&secret));
            }
        }
    }

    #[test]
    fn masking_any_text_does_not_panic(text in any::<String>(), secret in any::<String>()) {
        Secrets::new([secret], &[]).mask(&text);
    }
}

#[test]
fn c2_synthetic_nodes_are_no_bodies() {
    let scalar = Node::synthetic(Value::Bool(true));
    assert_eq!(Body::new(&scalar, &Variables::default(), &mut Vec::new()), Ok(None));
}

proptest! {
    #[test]
    fn g2_a_preview_holds_no_secret_and_a_whole_one_is_what_is_sent(
        tail in "[a-zA-Z0-9'\"\\\\ü /&=:+-]{0,12}",
        id in proptest::sample::select(vec![
            "http://u:SECRET@h/?ip=__IP__", "https://h/xSECRETSECRETSECRET/?a=SECRET&SECRET", "http://h:__PORT__/?k=SECRET",
            "http://__ZONE__/SECRETSECRETSECRET?__IP__", "http://SECRET@h/#SECRET", "http://h/__ZONE__?k=a__ZONE__SECRET", "http://x__ZONE__:__PORT__/?SECRET__IP__", "http://SECRET:SECRET:x@SECRET@h/",
        ]),
        has_body in any::<bool>(),
    ) {
        let secret = format!("Xq7Zk{tail}");
        let coded = secret.bytes().fold(String::new(), |text, byte| format!("{text}%{byte:02X}"));
        let mut variables = Variables::new(Some(60), None);
        variables.add("__ZONE__", Value::string("Xq7Zk")).expect("a name of the user's");
        variables.add("__PORT__", Value::Number("8099".to_owned())).expect("a name of the user's");
        let mut quoted = String::new();
        crate::text::json::push_string(&mut quoted, &secret);
        let token = format!("{{\"k\": {quoted}, \"l\": [{quoted}, 5, \"__ZONE__\", __ZONE__], \"ip\": \"__IP__\"}}");
        let callback = callback("", &id.replace("SECRET", &coded), has_body.then_some(token.as_str()), variables);
        let domain = domain();
        let update = Update { domain: &domain, family: Family::V4, ip: "203.0.113.7".parse().expect("an address") };
        let shown = callback.redacted(&update, NOW, "agent", false).expect("a request");
        let words = crate::callback::curl::words(&shown, &crate::net::ssl::Ssl::Off).join(" ");
        let all = format!("{words} {} {:?} {:?} {:?}", shown.url, shown.headers, shown.url.credentials, shown.body);
        prop_assert!(!all.to_lowercase().contains("xq7zk") && !all.contains(&coded), "{}", all);
        let sent = rendered(&callback, &update).expect("a request");
        let whole = callback.redacted(&update, NOW, "agent", true).expect("a request");
        prop_assert_eq!((whole.headers, whole.url, whole.body), (sent.headers("agent"), sent.url, sent.body));
    }
}
