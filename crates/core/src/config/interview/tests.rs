//! Whole conversations, and what is suggested in them.

use super::*;
use crate::config::starter;

const PRIVATE: [Option<IpAddr>; 2] = [Some(IpAddr::V4(std::net::Ipv4Addr::new(192, 168, 1, 5))), None];

fn given(settings: &[(Key, &str)]) -> Raw {
    let mut raw = Raw::default();
    for (key, text) in settings {
        raw.set(*key, Node::synthetic(Value::string(*text)), Origin::Option(String::new()));
    }
    raw
}

/// Answers one question after the other; gives the subjects and what was suggested.
fn talk(interview: &mut Interview, answers: &[&str]) -> Vec<(QuestionSubject, Option<String>)> {
    let mut asked = Vec::new();
    for answer in answers {
        let question = interview.question().expect("a question");
        assert!(question.why.chars().count() <= 80, "{}", question.why);
        interview.answer(answer).unwrap_or_else(|why| panic!("{question:?}: {why}"));
        asked.push((question.subject, question.suggested));
    }
    assert_eq!(interview.question(), None);
    asked
}

#[test]
fn a_get_is_asked_for_its_parameters() {
    let mut interview = Interview::new(Raw::default(), PRIVATE);
    let asked = talk(&mut interview, &["https://h.example/u?key=s3cret", "get", "", "a.example", "", ""]);
    let subjects: Vec<QuestionSubject> = asked.iter().map(|(subject, _)| *subject).collect();
    let expected = [
        QuestionSubject::Address,
        QuestionSubject::Method,
        QuestionSubject::Query,
        QuestionSubject::Domains(Family::V4),
        QuestionSubject::Domains(Family::V6),
        QuestionSubject::Source(Family::V4),
    ];
    assert_eq!(subjects, expected);
    assert_eq!(asked[1].1.as_deref(), Some("POST"));
    assert_eq!(asked[4].1.as_deref(), Some("none"));
    assert_eq!(asked[5].1.as_deref(), Some("public"));
    let text = starter::text(interview.settings());
    assert!(text.contains("u?key=s3cret&name=__DOMAIN__&type=__RECORDTYPE__&ip=__IP__\""), "{text}");
    assert!(text.contains("\"index4\": [\"public\"]") && text.contains("// \"ipv6\""), "{text}");
}

#[test]
fn a_post_is_asked_for_its_body_and_both_families_are_updated() {
    let own = [Some(IpAddr::V4(std::net::Ipv4Addr::new(1, 2, 3, 4))), "2a00::1".parse().ok()];
    let mut interview = Interview::new(Raw::default(), own);
    let asked = talk(&mut interview, &["https://h.example/hook", "", "", "a.example", "", "", "interface:eth0"]);
    assert_eq!(asked[4], (QuestionSubject::Domains(Family::V6), Some("a.example".to_owned())));
    assert_eq!(asked[5].1.as_deref(), Some("default"));
    let (config, warnings) = starter::checked(interview.settings()).expect("it is valid");
    assert_eq!((config.entries[0].domains_of(Family::V6).len(), warnings.len()), (1, 0));
    assert!(config.entries[0].callback.request.body.is_some());
}

#[test]
fn what_an_option_answers_is_not_asked() {
    let known = [(Key::Token, "{\"a\": 1}"), (Key::Ipv6, "a.example"), (Key::Index6, "public")];
    let asked = talk(&mut Interview::new(given(&known), PRIVATE), &["https://h.example/"]);
    assert_eq!(asked.len(), 1);
    let known = [(Key::Endpoint, "https://h.example/?k=1"), (Key::Ipv4, "a.example"), (Key::Index4, "0")];
    let mut interview = Interview::new(given(&known), PRIVATE);
    talk(&mut interview, &["GET", "ip=__IP__"]);
    assert!(starter::text(interview.settings()).contains("\"id\": \"?ip=__IP__\""));
}

#[test]
fn a_wrong_answer_is_asked_again_with_the_reason() {
    let mut interview = Interview::new(Raw::default(), PRIVATE);
    let steps: [(&[&str], &str, &str); 6] = [
        (&["", "example.com/x", "ftp://h/"], "did you mean", "https://h.example/x"),
        (&["PUT"], "GET or POST", "post"),
        (&["{\"a\": s3cret}", "5"], "JSON", ""),
        (&["", "a..b", "x\u{1b}[A"], "control", "none"),
        (&["none"], "At least one", "a.example"),
        (&["pubic"], "public", ""),
    ];
    for (wrong, part, right) in steps {
        let subject = interview.question().expect("a question").subject;
        let reasons: Vec<String> = wrong.iter().map(|text| interview.answer(text).expect_err("wrong")).collect();
        let reasons = reasons.join("\n");
        assert!(reasons.contains(part) && !reasons.contains("s3cret"), "{reasons}");
        assert_eq!(interview.question().map(|question| question.subject), Some(subject));
        interview.answer(right).expect("right");
    }
    assert_eq!(interview.question(), None);
}

#[test]
fn a_source_that_gives_nothing_is_asked_for_again() {
    let known = [(Key::Id, "https://h.example/?ip=__IP__"), (Key::Token, ""), (Key::Ipv4, "a.example")];
    let mut interview = Interview::new(given(&known), PRIVATE);
    interview.answer("interface:eth7").expect("right");
    interview.reconsider(Family::V4);
    assert_eq!(interview.question().and_then(|question| question.suggested).as_deref(), Some("interface:eth7"));
    assert_eq!(interview.answer("").expect("kept"), ["It is kept, although it gave no address."]);
    assert_eq!(interview.question(), None);
    interview.reconsider(Family::V4);
    assert_eq!(interview.answer("public").expect("another one"), [""; 0]);
}
