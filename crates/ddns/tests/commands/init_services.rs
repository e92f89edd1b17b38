//! `ddns init` at a terminal, from an empty folder to an accepted update: each service on loopback, under its real name.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::loopback::{Hosted, Internet, SERVICES};
use crate::support::terminal::at_terminal;
use crate::support::{Receiver, Run, Sandbox};

const DDNS: &str = env!("CARGO_BIN_EXE_ddns");

/// Types the answers to `ddns init`; none where the system cannot.
fn typed(sandbox: &Sandbox, source: &str, answers: &[&str]) -> Option<Run> {
    at_terminal(sandbox, 80, &[DDNS, "init", "--index4", source, "--index6", "none"], answers)
}

/// What is typed for a service up to the last question.
fn dialog<'a>(service: &'a Hosted, swapped: Option<(usize, &'a str)>) -> Vec<&'a str> {
    let answer = |(at, (_, text)): (usize, &(&'a str, &'a str))| match swapped {
        Some((place, other)) if place == at => other,
        _ => text,
    };
    let answers = service.answers.iter().enumerate().map(answer);
    [service.typed, service.domain.0].into_iter().chain(answers).collect()
}

#[test]
fn h12_five_services_from_an_empty_folder_to_an_accepted_update() {
    for service in &SERVICES {
        let internet = Internet::new(Sandbox::new());
        let (sandbox, fake) = (&internet.sandbox, internet.fake(service.name));
        let source = Receiver::new().index4();
        let mut answers = dialog(service, None);
        answers.push("yes");
        let Some(run) = typed(sandbox, &source, &answers) else { return };
        let run = run.expect(0).never_prints("s3cret");
        // What the recipe says is no secret; what a name stands for is said.
        let seen = match service.name {
            "desec" => "&myipv6=preserve",
            "route53" => "<TTL>300</TTL>",
            "cloudflare" => "ddns asks the service for __ZONE_ID__ and __RECORD_ID__ first.",
            "no-ip" => "User-Agent: ddns callback/Linux-1 me@example.com",
            _ => "token=***&ip=203.0.113.7",
        };
        assert!(run.stdout.contains(seen), "{}: {seen}: {}", service.name, run.stdout);
        // The rules come when the questions are answered, and before anything is sent.
        let order = ["Service: ", "About ", "What is sent for ", "Send it once now?"];
        let places = order.map(|part| run.stdout.find(part).unwrap_or_else(|| panic!("{part}: {}", run.stdout)));
        let last = run.stdout.rfind(" (not shown): ").expect("a secret");
        assert!(places.is_sorted() && last < places[1], "{}: {}", service.name, run.stdout);
        assert!(!run.stdout.contains("The service says"), "nobody reads that: {}", run.stdout);
        let accepted = format!("Sent once, accepted: {} A 203.0.113.7 (", service.domain.1);
        for part in [accepted.as_str(), "Wrote config.json: only you can read it.", "ddns service install"] {
            assert!(run.stdout.contains(part), "{}: {part}: {}", service.name, run.stdout);
        }
        if service.domain.0 != service.domain.1 {
            let became = format!("{} becomes {}.", service.domain.0, service.domain.1);
            assert!(run.stdout.contains(&became), "{}", run.stdout);
        }
        // It is remembered: the first run has nothing to send.
        let count = fake.callbacks().len();
        assert!(count > 0, "{}", service.name);
        sandbox.run(&[]).expect(0).never_prints("accepted (").never_prints("warning");
        assert_eq!(fake.callbacks().len(), count, "{} was sent again", service.name);
        let history = sandbox.run(&["history"]).expect(0).stdout;
        assert!(history.contains(service.domain.1), "{history}");
    }
}

/// The service's words are shown, the wrong answer alone is typed again, and the rest is as it was.
#[test]
fn h12_a_refused_key_is_corrected_and_no_answer_is_lost() {
    for service in &SERVICES {
        let internet = Internet::new(Sandbox::new());
        let (sandbox, source) = (&internet.sandbox, Receiver::new().index4());
        let (place, other) = service.wrong;
        let mut answers = dialog(service, Some(service.wrong));
        // Back to the wrong one, and forth again.
        let after = service.answers.len() - 1 - place;
        let back = "<".repeat(after + 1);
        answers.extend(["yes", back.as_str()]);
        answers.push(service.answers[place].1);
        answers.extend(std::iter::repeat_n("", after));
        answers.push("yes");
        let Some(run) = typed(sandbox, &source, &answers) else { return };
        let run = run.expect(0).never_prints("s3cret").never_prints(other);
        for part in [
            "Sent once, not accepted: ",
            "The service says: ",
            "< goes back one question, << two",
            "Sent once, accepted: ",
        ] {
            assert!(run.stdout.contains(part), "{}: {part}: {}", service.name, run.stdout);
        }
        let text = sandbox.read("config.json");
        assert!(text.contains(service.answers[place].1) && !text.contains(other), "{}", service.name);
    }
}

#[test]
fn h12_a_url_of_ones_own_from_an_empty_folder_to_an_accepted_update() {
    let (sandbox, endpoint) = (Sandbox::new(), Receiver::new());
    let url = endpoint.url("/update?name=__DOMAIN__&ip=__IP__&key=s3cret");
    let Some(run) = typed(&sandbox, &endpoint.index4(), &["0", &url, "", "home.example.com", "yes"]) else { return };
    run.expect(0).shows("Sent once, accepted: home.example.com A 203.0.113.7 (200 OK)");
    assert_eq!(endpoint.only().target(), "/update?name=home.example.com&ip=203.0.113.7&key=s3cret");
    sandbox.run(&[]).expect(0);
    assert_eq!(endpoint.callbacks().len(), 1, "it was sent again");
}

#[test]
fn h12_the_service_is_found_as_people_write_it() {
    let sandbox = Sandbox::new();
    let args = [DDNS, "init", "--offline"];
    for (typed, shown) in [
        (&["cloudfalre", "1"][..], "   1  Cloudflare"),
        (&["fritz"], "Any dyndns2 server"),
        (&["xyzzyxyzzy", "no-ip"], "No service matches: try fewer letters"),
        (&["?", "duckdns"], "   0  My own URL"),
        // Enter takes no service that nobody chose.
        (&["?", "", "duckdns"], "Please type its number, or a few letters of its name."),
        (&["myhome.duckdns.org"], "Duck DNS"),
    ] {
        let Some(run) = at_terminal(&sandbox, 80, &args, &[typed, &["EOF"]].concat()) else { return };
        let run = run.expect(1);
        assert!(run.stdout.contains(shown) && run.stdout.contains("Domains: "), "{typed:?}: {}", run.stdout);
    }
}

/// Each wrong answer is asked again, at once; `<` goes back, and every answer is suggested again.
#[test]
fn h12_a_wrong_answer_is_asked_again_and_going_back_keeps_the_rest() {
    let sandbox = Sandbox::new();
    let answers = [
        "<",
        "noip",
        "myhome",
        "myhome.ddns.net",
        "<",
        "<",
        "no-ip",
        "",
        "<<<",
        "desec",
        "",
        "",
        "",
        "t0ken-s3cret",
        "<",
        "",
        "mine.example",
        "ddns.net",
    ];
    let program = [DDNS, "init", "--offline"];
    let Some(run) = at_terminal(&sandbox, 80, &program, &answers) else { return };
    let run = run.expect(0).never_prints("s3cret");
    for part in [
        "This is the first question.",
        "myhome is not a whole name",
        "Domains [myhome.ddns.net]: ",
        "Token [as before] (not shown): ",
        "myhome.ddns.net is not in the zone mine.example",
        "(an example: nothing was looked up)",
        "Wrote config.json",
    ] {
        assert!(run.stdout.replace("\n  ", " ").contains(part), "{part}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("Send it once"), "nothing is asked of the network: {}", run.stdout);
    assert!(sandbox.read("config.json").contains("t0ken-s3cret"));
}

/// `ssh host ddns init`: no terminal, but somebody at the other end. Where nobody is, nothing is asked.
#[test]
fn h12_questions_are_answered_over_a_pipe() {
    let (sandbox, endpoint) = (Sandbox::new(), Receiver::new());
    let mut command: Command = sandbox.command(&["init", "--index4", &endpoint.index4(), "--index6", "none"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let lines = format!("own\n{}\n\nhome.example.com\n", endpoint.url("/?ip=__IP__"));
    child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("it reads");
    let run = Run::of(&child.wait_with_output().expect("it ends")).expect(0);
    // The input ends at the last question: the answers are not lost, and nothing is sent.
    assert!(run.stdout.contains("Send it once now?") && run.stdout.contains("Wrote config.json"), "{}", run.stdout);
    assert_eq!(endpoint.callbacks().len(), 0);
}

/// The dialog that `docs/getting-started.md` shows is the real one, line by line.
#[test]
fn h12_the_dialog_of_the_documentation_is_the_real_one() {
    let page = include_str!("../../../../docs/getting-started.md");
    let dialog = page.split("$ sudo /usr/local/bin/ddns init /etc/ddns/config.json\n").nth(1).expect("the dialog");
    let dialog = dialog.split("```").next().expect("its end");
    let internet = Internet::new(Sandbox::new());
    let source = Receiver::new().index4();
    let Some(run) = typed(&internet.sandbox, &source, &["duckdns", "myhome", "d0ck-s3cret", ""]) else { return };
    let printed: Vec<&str> = run.stdout.lines().map(str::trim_end).collect();
    // The sources were given here: nothing may be asked outside of this machine.
    let is_asked = |line: &&str| !line.contains(" address from [");
    for line in dialog.lines().filter(is_asked) {
        let line = line.replace("/etc/ddns/config.json", "config.json");
        assert!(printed.contains(&line.as_str()), "{line}\n{}", run.stdout);
    }
}
