//! Whole conversations, as tables: what is typed, and what is asked, suggested and said.

use super::*;
use crate::recipe::named;

fn raw(settings: &[(Key, &str)]) -> Raw {
    let mut raw = Raw::default();
    for (key, text) in settings {
        put(&mut raw, *key, text);
    }
    raw
}

/// A host behind a router.
fn private() -> Survey {
    Survey { own: ["192.168.1.5".parse().ok(), None], ..Survey::default() }
}

fn for_service(name: &str) -> SetUp {
    SetUp::new(Raw::default(), private()).with_recipe(named(name).expect(name)).expect(name)
}

/// Answers one question after the other. A line is `name [suggestion] < typed > what was said`, with ` … ` for words
/// between.
fn talk(set_up: &mut SetUp, lines: &[&str]) {
    for line in lines {
        let (head, rest) = line.split_once(" < ").expect("what is typed");
        let (typed, said) = rest.split_once(" > ").unwrap_or((rest, ""));
        let question = set_up.question().unwrap_or_else(|| panic!("{line}: nothing is asked"));
        let suggested = question.suggested.map(|text| format!(" [{text}]")).unwrap_or_default();
        assert_eq!(format!("{}{suggested}", question.name), head, "{line}");
        let told = match set_up.answer(typed) {
            Ok(notes) => notes.join(" "),
            Err(why) => format!("again: {why}"),
        };
        let is_said = |part: &str| told.contains(part);
        assert!(if said.is_empty() { told.is_empty() } else { said.split(" … ").all(is_said) }, "{line}: {told}");
        assert!(!told.contains('`'), "no names of fields: {told}");
    }
}

fn text_of_all(set_up: &SetUp) -> String {
    assert_eq!(set_up.question(), None);
    set_up.configuration(None).expect("everything is known").text
}

#[test]
fn a_service_asks_for_what_it_needs_and_nothing_else() {
    let mut duck = for_service("duckdns");
    talk(
        &mut duck,
        &[
            "domains <  > again: Please enter a value.",
            "domains < my..home > again: my..home is not a domain name",
            "domains < home.example.com > again: home.example.com is not in the zone duckdns.org",
            "domains < MyHome, other.duckdns.org > MyHome becomes myhome.duckdns.org.",
            "index4 [public] < pubic > again: pubic is not a source of addresses: did you mean public? ddns help sources lists",
            "index4 [public] < eth0 > again: eth0 is not a source of addresses: did you mean interface:eth0?",
            "index4 [public] < 203.0.113.7 > again: 203.0.113.7 is an address … If this host has it, type default; if your router has it, type public.",
            "index4 [public] < ",
            "index6 [none] < ",
            "duckdns.token < \u{1b}[A > again: The answer contains a control character",
            "duckdns.token < 12345678-1234",
        ],
    );
    let text = text_of_all(&duck);
    for part in
        ["\"myhome.duckdns.org\"", "\"other.duckdns.org\"", "\"index4\": [\"public\"]", "12345678-1234", "duckdns@1"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("\n  \"ipv6\""), "{text}");
}

#[test]
fn h12_where_a_name_has_one_address_the_second_family_is_asked_for_only_in_place_of_the_first() {
    let answers = ["edgeone.id < AKIDEXAMPLE", "edgeone.secret < s3cret", "edgeone.zone [example.com] < "];
    let mut first = for_service("edgeone");
    talk(&mut first, &["domains < home.example.com", "index4 [public] < "]);
    talk(&mut first, &answers);
    let text = text_of_all(&first);
    assert!(text.contains("\"ipv4\": [") && !text.contains("\n  \"ipv6\""), "{text}");
    let mut second = for_service("edgeone");
    talk(&mut second, &["domains < home.example.com", "index4 [public] < none"]);
    talk(&mut second, &["index6 [public] < none > again: One of the addresses is needed", "index6 [public] < default"]);
    talk(&mut second, &answers);
    let text = text_of_all(&second);
    assert!(text.contains("\"ipv6\": [") && !text.contains("\n  \"ipv4\""), "{text}");
}

#[test]
fn a_url_of_ones_own_is_asked_for_what_it_lacks() {
    let own = || SetUp::new(Raw::default(), private()).with_own();
    let mut get = own();
    talk(
        &mut get,
        &[
            "id < example.com/x > again: The URL must start with http:// or https://: did you mean https://example.com/x ?",
            "id < 127.0.0.1:8080/x > again: The URL must start with http:// or https://: did you mean http://127.0.0.1:8080/x ?",
            "id < https://h.example/u?key=s3cret",
            "body [{\"domain\": \"__DOMAIN__\", \"type\": \"__RECORDTYPE__\", \"ip\": \"__IP__\"}] < {x > again: ",
            "body [{\"domain\": \"__DOMAIN__\", \"type\": \"__RECORDTYPE__\", \"ip\": \"__IP__\"}] < None",
            "query [name=__DOMAIN__&type=__RECORDTYPE__&ip=__IP__] < ",
            "domains < none, a.example > again: none means no domains and can only stand alone (remove it).",
            "domains < router",
            "index4 [public] < ",
            "index6 [none] < ",
        ],
    );
    let text = text_of_all(&get);
    assert!(text.contains("u?key=s3cret&name=__DOMAIN__&type=__RECORDTYPE__&ip=__IP__\""), "{text}");
    assert!(text.contains("\"index4\": [\"public\"]") && text.contains("// \"ipv6\""), "{text}");
    let mut post = own();
    let body = "body [none] < {\"at\": \"__IP__\"}";
    talk(
        &mut post,
        &["id < https://h.example/?ip=__IP__", body, "domains < a.example b.example", "index4 [public] < "],
    );
    talk(&mut post, &["index6 [none] < default"]);
    let (config, _) = checked(&post.settings()).expect("it is valid");
    assert_eq!(config.entries[0].domains_of(Family::V6).len(), 2);
    assert!(config.entries[0].callback.request.body.is_some());
}

#[test]
fn no_answer_is_lost_by_going_back() {
    let mut set_up = SetUp::new(Raw::default(), private());
    assert!(set_up.needs_service() && set_up.question().is_none() && !set_up.back());
    let both = "deSEC (dynDNS). For deSEC (API), type < and then desec-api";
    assert_eq!(set_up.choose("desec"), ServiceChoice::Taken(both.to_owned()));
    talk(
        &mut set_up,
        &["domains < myhome > myhome becomes myhome.dedyn.io.", "index4 [public] < ", "index6 [none] < "],
    );
    talk(&mut set_up, &["desec.token < t0ken"]);
    assert!(set_up.back() && set_up.back() && set_up.back());
    // Every answer is suggested again; what is typed instead counts.
    talk(&mut set_up, &["index4 [public] < url:https://ip.example/", "index6 [none] < ", "desec.token [t0ken] < "]);
    let text = text_of_all(&set_up);
    for part in ["url:https://ip.example/", "t0ken", "\"zone\": \"myhome.dedyn.io\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Choose another service: the name is kept.
    (0..5).for_each(|_| assert!(set_up.back()));
    assert!(set_up.needs_service() && !set_up.back());
    set_up.choose("cloudflare");
    assert_eq!(set_up.question().and_then(|question| question.suggested).as_deref(), Some("myhome.dedyn.io"));
}

#[test]
fn the_url_that_was_typed_last_is_suggested() {
    let mut set_up = SetUp::new(Raw::default(), private());
    for url in ["https://one.example/?ip=__IP__", "https://two.example/?ip=__IP__"] {
        assert!(matches!(set_up.choose(url), ServiceChoice::Taken(_)));
        assert_eq!(set_up.question().and_then(|question| question.suggested).as_deref(), Some(url));
        assert!(set_up.back());
    }
}

/// The answers to questions of a service stay with it; domains and sources count for the next one, too.
#[test]
fn g2_no_service_gets_the_secret_of_another() {
    let mut set_up = SetUp::new(Raw::default(), private());
    set_up.choose("dynv6");
    let common = ["domains < example.com", "index4 [public] < ", "index6 [none] < "];
    talk(&mut set_up, &common);
    talk(&mut set_up, &["dynv6.token < s3cret"]);
    while set_up.back() {}
    set_up.choose("desec");
    talk(&mut set_up, &["domains [example.com] < ", "index4 [public] < ", "index6 [none] < ", "desec.token < other"]);
    while set_up.back() {}
    set_up.choose("dynv6");
    talk(&mut set_up, &["domains [example.com] < ", "index4 [public] < ", "index6 [none] < "]);
    assert_eq!(set_up.question().and_then(|question| question.suggested).as_deref(), Some("s3cret"));
}

/// A zone is only asked for if the names leave it in doubt.
#[test]
fn nobody_is_asked_twice_for_a_domain() {
    for (service, domains, zone) in [
        ("desec", "myhome", Some("myhome.dedyn.io")),
        ("desec", "a.myhome.dedyn.io, myhome", Some("myhome.dedyn.io")),
        ("desec", "example.com", Some("example.com")),
        ("desec", "a.example.com", None),
        ("desec", "myhome, other", None),
        ("cloudflare", "example.com, home.example.com", Some("example.com")),
        ("cloudflare", "home.example.com", None),
    ] {
        let mut set_up = for_service(service);
        set_up.answer(domains).expect(domains);
        talk(&mut set_up, &["index4 [public] < ", "index6 [none] < ", &format!("{service}.token < t0ken")]);
        match zone {
            Some(zone) => assert!(text_of_all(&set_up).contains(&format!("\"zone\": \"{zone}\"")), "{domains}"),
            None => assert_eq!(
                set_up.question().map(|it| it.name).as_deref(),
                Some(&*format!("{service}.zone")),
                "{domains}"
            ),
        }
    }
    // The same in a form.
    let names: Vec<String> = for_service("desec").questions().into_iter().map(|question| question.name).collect();
    assert_eq!(names, ["domains", "index4", "index6", "desec.token"]);
    // An answer that was given by name counts.
    let mut set_up = for_service("desec");
    set_up.set("zone", "dedyn.io").expect("a zone");
    talk(&mut set_up, &["domains < myhome > becomes", "index4 [public] < ", "index6 [none] < ", "desec.token < t"]);
    assert!(text_of_all(&set_up).contains("\"zone\": \"dedyn.io\""));
}

#[test]
fn a_service_is_chosen_by_a_word_or_by_its_number() {
    let mut set_up = SetUp::new(Raw::default(), private());
    assert!(matches!(set_up.choose(""), ServiceChoice::Nothing(_)));
    assert!(matches!(set_up.choose("xyzzyxyzzy"), ServiceChoice::Nothing(why) if why.contains("0 for a URL")));
    assert_eq!(set_up.choose("cloudfalre"), ServiceChoice::Several);
    assert_eq!(set_up.listed(), ["cloudflare"]);
    assert!(matches!(set_up.choose("7"), ServiceChoice::Nothing(_)));
    assert_eq!(set_up.choose(""), ServiceChoice::Taken("Cloudflare".to_owned()));
    for (word, title) in
        [("no ip", "No-IP"), ("0", "A URL of your own"), ("https://h.example/?ip=__IP__", "A URL of your own")]
    {
        let mut set_up = SetUp::new(Raw::default(), private());
        assert_eq!(set_up.choose(word), ServiceChoice::Taken(title.to_owned()), "{word}");
    }
    let mut set_up = SetUp::new(Raw::default(), private());
    set_up.choose("https://h.example/?ip=__IP__");
    assert_eq!(set_up.question().and_then(|it| it.suggested).as_deref(), Some("https://h.example/?ip=__IP__"));
    // A service that only receives notifications has no domain.
    assert!(matches!(set_up.choose("uptime kuma"), ServiceChoice::Nothing(_)));
    let mut set_up = SetUp::new(Raw::default(), private());
    assert_eq!(set_up.choose("?"), ServiceChoice::Several);
    assert!(set_up.listed().len() > 60);
    // Enter chooses nothing from a list of several services.
    assert!(matches!(set_up.choose(""), ServiceChoice::Nothing(why) if why.contains("its number, or a few letters")));
    assert!(set_up.needs_service());
}

#[test]
fn sources_are_suggested_by_what_answers_here() {
    let ip = |text: &str| text.parse::<IpAddr>().ok();
    let seen = |text: &str| Some(Ok(text.parse().expect("an address")));
    let failed = || Some(Err("no route".to_owned()));
    let cases: [(_, _, [&str; 2], &str); 6] = [
        (
            [ip("192.168.1.5"), None],
            [seen("203.0.113.7"), failed()],
            ["public", "none"],
            "Services on the internet see 203.0.113.7",
        ),
        ([ip("198.51.100.9"), ip("2a00::1")], [None, None], ["default", "default"], "own address is 198.51.100.9"),
        ([ip("192.168.1.5"), ip("2a00::1")], [failed(), None], ["none", "default"], "No IPv4 address was found here"),
        ([ip("192.168.1.5"), None], [failed(), failed()], ["public", "none"], "Is this host online?"),
        ([ip("192.168.1.5"), None], [None, None], ["public", "none"], "192.168.1.5 is private"),
        ([None, None], [None, None], ["public", "none"], "no IPv4 address of its own"),
    ];
    for (own, public, expected, why) in cases {
        let survey = Survey { own, public, router: None };
        let set_up = SetUp::new(raw(&[(Key::Id, "https://h.example/?ip=__IP__")]), survey).with_own();
        let sources: Vec<SetUpQuestion> = set_up.questions().into_iter().filter(|it| it.family.is_some()).collect();
        let suggested: Vec<&str> = sources.iter().filter_map(|it| it.suggested.as_deref()).collect();
        assert_eq!(suggested, expected, "{own:?}");
        assert!(sources[0].help.contains(why), "{}", sources[0].help);
        for part in ["public for the address that the internet sees", "default for this host's own address"] {
            assert!(sources[0].help.contains(part), "{part}: {}", sources[0].help);
        }
        assert!(sources[1].help.ends_with("Type public, default, or none to leave IPv6 out."), "{}", sources[1].help);
    }
}

/// The router is offered if it has an address, and suggested if no other source knows one.
#[test]
fn f9_the_router_is_offered_where_it_answers() {
    let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
    let offer = "router to ask your router for it (it has 5.145.0.7), default";
    let cases = [
        ("192.168.1.5", Some(Ok(ip("5.145.0.7"))), "public", true),
        ("192.168.1.5", Some(Err("no route".to_owned())), "router", true),
        ("192.168.1.5", None, "router", true),
        ("198.51.100.9", None, "default", true),
        ("192.168.1.5", None, "public", false),
    ];
    for (own, public, suggested, answers) in cases {
        let router = answers.then(|| ip("5.145.0.7"));
        let survey = Survey { own: [Some(ip(own)), None], public: [public, None], router };
        let set_up = SetUp::new(raw(&[(Key::Id, "https://h.example/?ip=__IP__")]), survey).with_own();
        let sources: Vec<SetUpQuestion> = set_up.questions().into_iter().filter(|it| it.family.is_some()).collect();
        assert_eq!(sources[0].suggested.as_deref(), Some(suggested), "{own}");
        assert_eq!(sources[0].help.contains(offer), answers, "{}", sources[0].help);
        assert!(!sources[1].help.contains("router"), "it knows IPv4 alone: {}", sources[1].help);
    }
}

#[test]
fn one_family_must_be_left() {
    let mut set_up = for_service("duckdns");
    talk(&mut set_up, &["domains < a > a becomes a.duckdns.org."]);
    talk(&mut set_up, &["index4 [public] < none", "index6 [public] < none > again: One of the addresses is needed"]);
    talk(&mut set_up, &["index6 [public] < default", "duckdns.token < t"]);
    assert!(!text_of_all(&set_up).contains("\n  \"ipv4\""));
    let mut only = for_service("tunnelbroker");
    talk(&mut only, &["domains < a.example", "index4 [public] < none > again: One of the addresses is needed"]);
}

fn form(name: &str, fields: &[(&str, &str)]) -> (SetUp, Vec<(String, Option<String>)>) {
    let mut set_up = if name == OWN { SetUp::new(Raw::default(), private()).with_own() } else { for_service(name) };
    let wrong = set_up.fill(|name| fields.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned()));
    (set_up, wrong)
}

fn why(wrong: &[(String, Option<String>)], name: &str) -> Option<String> {
    wrong.iter().find(|(known, _)| known == name).map(|(_, why)| why.clone().unwrap_or_default())
}

#[test]
fn a_form_is_filled_at_once_and_every_error_stands_at_its_field() {
    let (_, wrong) =
        form(OWN, &[("id", "h.example"), ("body", "none"), ("domains", ""), ("index4", "cmd"), ("index6", "none")]);
    assert!(why(&wrong, "id").is_some_and(|why| why.starts_with("The URL must start with http:// or https://")));
    assert_eq!(why(&wrong, "domains").as_deref(), Some("Please enter a value."));
    let (set_up, wrong) = form(
        "cloudflare",
        &[("domains", "home.example.com"), ("index4", "default"), ("index6", "none"), ("cloudflare.token", "")],
    );
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert_eq!(why(&wrong, "cloudflare.token").as_deref(), Some("Please enter a value."));
    assert_eq!(why(&wrong, "cloudflare.zone").as_deref(), Some(""), "it was not in the form");
    assert!(set_up.configuration(None).is_err());
    let all = [
        ("domains", "home.example.com"),
        ("index4", "default"),
        ("index6", "none"),
        ("cloudflare.token", "t"),
        ("cloudflare.zone", ""),
    ];
    let (set_up, wrong) = form("cloudflare", &all);
    assert_eq!(wrong, []);
    assert!(text_of_all(&set_up).contains("\"zone\": \"example.com\""));
    let many = (0..101).map(|at| format!("d{at}.example")).collect::<Vec<_>>().join(",");
    let (_, wrong) = form(OWN, &[("id", "https://h.example/__IP__"), ("body", ""), ("domains", &many)]);
    assert!(why(&wrong, "domains").is_some_and(|why| why.contains("100 domains at most")));
    let (_, wrong) = form("no-ip", &[("domains", "myhome")]);
    assert!(why(&wrong, "domains").is_some_and(|why| why.contains("myhome is not a whole name")));
    let (_, wrong) = form("route53", &[("domains", "a.example"), ("route53.id", "short")]);
    assert_eq!(why(&wrong, "route53.id").as_deref(), Some("This does not look like the access key ID."));
}

/// A form shows all questions at once, before the URL is known, so it suggests no body.
#[test]
fn i7_an_empty_body_is_what_is_suggested_for_the_url() {
    let asked = form(OWN, &[]).0.questions();
    let body = asked.iter().find(|question| question.name == "body").expect("a body");
    assert_eq!(body.suggested, None);
    assert!(body.help.contains("If you leave it empty"), "{}", body.help);
    for (url, token) in [("https://h.example/?ip=__IP__", false), ("https://h.example/", true)] {
        let (set_up, wrong) =
            form(OWN, &[("id", url), ("body", ""), ("domains", "a.example"), ("index4", "public"), ("index6", "none")]);
        assert_eq!(wrong, [], "{url}");
        assert_eq!(set_up.settings().get(Key::Token).is_some(), token, "{url}");
    }
    let (_, wrong) = form(OWN, &[("id", "h.example"), ("body", ""), ("domains", "a.example")]);
    assert_eq!((why(&wrong, "id").is_some(), why(&wrong, "body")), (true, None));
    let (_, wrong) = form(OWN, &[("id", "https://h.example/"), ("body", "{"), ("domains", "a.example")]);
    let why = why(&wrong, "body").expect("no JSON");
    assert!(why.starts_with("The body is not JSON") && !why.contains("token"), "{why}");
}

#[test]
fn what_options_say_is_not_asked() {
    let given = raw(&[(Key::Id, "https://h.example/__IP__"), (Key::Ipv4, "a.example")]);
    let mut set_up = SetUp::new(given, private()).with_own();
    assert!(set_up.is_begun());
    set_up.ask_little();
    assert_eq!(set_up.question(), None);
    let home = raw(&[(Key::Ipv4, "myhome"), (Key::Index4, "default")]);
    let mut set_up = SetUp::new(home, private()).with_recipe(named("duckdns").expect("a recipe")).expect("valid");
    assert_eq!(set_up.set("token", "s3cret"), Ok(()));
    let (why, example) = set_up.set("tokn", "s3cret").expect_err("no such name");
    assert!(why.contains("did you mean `token`?") && example == "token" && !why.contains("s3cret"), "{why}");
    assert!(text_of_all(&set_up).contains("\"myhome.duckdns.org\""));
    let outside = raw(&[(Key::Ipv4, "home.example.com")]);
    let refused = SetUp::new(outside, private()).with_recipe(named("duckdns").expect("a recipe"));
    assert!(refused.expect_err("outside of the zone").contains("is not in the zone duckdns.org"));
}

#[test]
fn suggestions_are_taken_where_nobody_answers() {
    let given = raw(&[(Key::Id, "https://h.example/hook"), (Key::Ipv4, "a.example")]);
    let mut set_up = SetUp::new(given.clone(), private()).with_own();
    assert_eq!(set_up.take_suggestions(true), []);
    let text = text_of_all(&set_up);
    assert!(text.contains("\"__RECORDTYPE__\"") && text.contains("\"index4\": [\"public\"]"), "{text}");
    let mut set_up = SetUp::new(Raw::default(), private()).with_own();
    let names: Vec<String> = set_up.take_suggestions(true).into_iter().map(|question| question.name).collect();
    assert_eq!(names, ["id", "domains"]);
    // The zone is only a guess, so it is asked for; the TTL is a default of the recipe.
    let given = raw(&[(Key::Ipv4, "a.example.com")]);
    for (name, left) in [
        ("cloudflare", &["cloudflare.token", "cloudflare.zone"][..]),
        ("route53", &["route53.id", "route53.secret", "route53.zone_id"]),
    ] {
        let mut set_up = SetUp::new(given.clone(), private()).with_recipe(named(name).expect(name)).expect(name);
        set_up.ask_little();
        let names: Vec<String> = set_up.take_suggestions(false).into_iter().map(|question| question.name).collect();
        assert_eq!(names, left, "{name}");
    }
}

/// Both recipes may call a question `token`: neither gets the key of the other.
#[test]
fn notifications_get_no_answer_of_the_service() {
    let set_up = SetUp::new(raw(&[(Key::Ipv4, "a")]), private()).with_notify(named("telegram").ok());
    let mut set_up = set_up.with_recipe(named("duckdns").expect("a recipe")).expect("valid");
    set_up.ask_little();
    let names: Vec<String> = set_up.questions().iter().map(|question| question.name.clone()).collect();
    assert!(names.contains(&"duckdns.token".to_owned()), "{names:?}");
    for name in names {
        let answer = match name.as_str() {
            "duckdns.token" => "0f-duck",
            name if name.contains("chat") => "12345",
            _ => "123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw_",
        };
        set_up.answer(answer).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    let text = text_of_all(&set_up);
    assert_eq!((text.matches("0f-duck").count(), text.matches("AAHdqTcv").count()), (1, 1), "{text}");
}

#[test]
fn notifications_are_asked_for_too() {
    let given = raw(&[(Key::Id, "https://h.example/__IP__"), (Key::Ipv4, "a.example")]);
    let mut set_up = SetUp::new(given, private()).with_own().with_notify(named("telegram").ok());
    set_up.ask_little();
    let names: Vec<String> = set_up.questions().iter().map(|question| question.name.clone()).collect();
    assert!(!names.is_empty() && names.iter().all(|name| name.starts_with("notify.")), "{names:?}");
    for name in names {
        let answer = if name.contains("chat") { "12345" } else { "123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw_" };
        set_up.answer(answer).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    assert!(text_of_all(&set_up).contains("\"notify\""));
}
