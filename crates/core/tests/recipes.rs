//! Every recipe makes the requests that its service publishes: `recipes.txt`, whose form is explained at its top.

#[path = "recipes/found.rs"]
mod found;

use std::cell::RefCell;
use std::num::NonZeroU16;
use std::rc::Rc;

use ddns_core::address::observation::{Choice, Observed};
use ddns_core::address::source::Source;
use ddns_core::callback::expect::Meaning;
use ddns_core::callback::steps::{Found, Search, StepEnd};
use ddns_core::callback::{Callback, Moment, Request, SIGNATURE_HEADERS, SendableBatch, Timestamp};
use ddns_core::config::files::{FileContents, named_in};
use ddns_core::config::lint::lint;
use ddns_core::config::raw::{self, Document};
use ddns_core::config::validate::{Surroundings, validate, validate_text};
use ddns_core::config::{Concurrency, Config, Entry, Notification, providers};
use ddns_core::net::family::Family;
use ddns_core::notify::{NotifyEvent, example, notice};
use ddns_core::recipe::{self, Form, Recipe, named};
use ddns_core::text::diagnostic::Diagnostic;
use ddns_core::text::json::pretty;
use ddns_core::update::Update;
use ddns_core::update::domain::Domain;

const TABLE: &str = include_str!("recipes.txt");
const ANSWERS: [(&str, &str); 7] = [
    ("user", "user"),
    ("password", "s3cret"),
    ("token", "t0ken"),
    ("key", "k3y"),
    ("secret", "s3cr3t"),
    ("zone", "example.com"),
    ("contact", "me@example.com"),
];

/// A status and a text.
type Answer = (u16, String);

const NOW: Timestamp = Timestamp { seconds: 1_700_000_000, micros: 0 };

/// What the table has for one recipe.
#[derive(Default)]
struct Block {
    name: String,
    domain: String,
    answers: Vec<(String, String)>,
    /// Steps, and what each is answered with.
    steps: Vec<(String, Answer)>,
    /// The answer of the last step in which nothing is found.
    nothing: Option<Answer>,
    /// Which steps were sent.
    seen: RefCell<Vec<String>>,
    /// A mark, a status and a text.
    responses: Vec<(String, u16, String)>,
    /// `ipv4`, `ipv6`, `both`, and the request.
    requests: Vec<(String, String)>,
}

impl Block {
    fn request(&self, which: &str) -> Option<&str> {
        self.requests.iter().find(|(known, _)| known == which).map(|(_, request)| request.trim_end())
    }

    /// What is expected for one family alone.
    fn alone(&self, family: Family) -> String {
        let ipv4 = self.request("ipv4").expect("every block has a request for ipv4");
        match family {
            Family::V4 => ipv4.to_owned(),
            Family::V6 => {
                self.request("ipv6").map_or_else(|| ipv4.replace("203.0.113.7", "2001:db8::7"), str::to_owned)
            }
        }
    }

    fn recipe(&self) -> Recipe {
        named(&self.name).unwrap_or_else(|wrong| panic!("{}: {wrong:?}", self.name))
    }

    /// What a step is answered with.
    fn answer(&self, sent: &str) -> &Answer {
        self.seen.borrow_mut().push(sent.to_owned());
        let step = self.steps.iter().find(|(request, _)| fits(sent, request));
        &step.unwrap_or_else(|| panic!("{}: no answer to {sent}", self.name)).1
    }

    /// The recipe with every question answered.
    fn form<'a>(&self, recipe: &'a Recipe, families: &[Family]) -> Form<'a> {
        let domains = Family::ALL.map(|family| {
            let names = families.contains(&family).then_some(self.domain.as_str());
            names.into_iter().map(|name| Domain::parse(name).expect("a domain")).collect()
        });
        let mut form = Form::new(recipe, domains).expect("families that the service takes");
        for (name, value) in &self.answers {
            let is_other_family =
                |family: Family| !families.contains(&family) && name.contains(&format!(".{}.", family.record_type()));
            if !Family::ALL.into_iter().any(is_other_family) {
                form.set(name, value).unwrap_or_else(|why| panic!("{}: {why}", self.name));
            }
        }
        for slot in form.unanswered() {
            let name = slot.to_string();
            let (_, value) =
                ANSWERS.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{}: {name}", self.name));
            form.answer(&slot, value).unwrap_or_else(|why| panic!("{}: {why}", self.name));
        }
        form.check_domains().expect("domains in their zone");
        form
    }
}

fn table() -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let (mut part, mut is_step) = (None::<usize>, false);
    for line in TABLE.lines().skip_while(|line| !line.starts_with("== ")) {
        if let Some(name) = line.strip_prefix("== ") {
            blocks.push(Block { name: name.to_owned(), domain: "home.example.com".to_owned(), ..Block::default() });
            part = None;
            continue;
        }
        let block = blocks.last_mut().expect("a block begins with its name");
        if let Some((name, value)) = line.strip_prefix("set ").and_then(|rest| rest.split_once(" = ")) {
            block.answers.push((name.to_owned(), value.to_owned()));
        } else if let Some(domain) = line.strip_prefix("domain ") {
            domain.clone_into(&mut block.domain);
        } else if let Some(request) = line.strip_prefix("?? ") {
            block.steps.push((request.to_owned(), Answer::default()));
            is_step = true;
        } else if let Some(text) = line.strip_prefix("=> ") {
            let status = text.split(' ').next().and_then(|word| word.parse::<u16>().ok());
            let text = status.map_or(text, |_| text.split_once(' ').map_or("", |(_, text)| text));
            let answer = (status.unwrap_or(200), text.to_owned());
            match block.steps.last_mut() {
                Some((_, last)) if is_step => *last = answer,
                _ => block.nothing = Some(answer),
            }
            is_step = false;
        } else if let Some((mark, status, text)) = response(line) {
            block.responses.push((mark.to_owned(), status, text.to_owned()));
        } else if let Some(which) = line.strip_prefix("-- ") {
            part = Some(block.requests.len());
            block.requests.push((which.to_owned(), String::new()));
        } else if is_step {
            let request = &mut block.steps.last_mut().expect("a step").0;
            *request += &format!("\n{line}");
        } else if let Some(at) = part {
            block.requests[at].1 += &format!("{line}\n");
        } else {
            assert!(line.is_empty(), "{}: {line}", block.name);
        }
    }
    blocks
}

/// `++ 200 good`: a mark, a status and a text.
fn response(line: &str) -> Option<(&str, u16, &str)> {
    let (mark, rest) = line.split_once(' ')?;
    let (status, text) = rest.split_once(' ').unwrap_or((rest, ""));
    ["++", "!!", "!*", "!a", "..", "~~", "xx"].contains(&mark).then(|| (mark, status.parse().expect("a status"), text))
}

/// The mark of what a response means to a callback. `is_kept`: a kept value was used.
fn judged(callback: &Callback, status: u16, text: &str, is_kept: bool) -> &'static str {
    let domain = Domain::parse("home.example.com").expect("a domain");
    let update = Update { domain: &domain, family: Family::V4, ip: "203.0.113.7".parse().expect("an address") };
    let taken = vec![None; callback.taken_count()];
    let about = ((&update).into(), NOW.into(), &taken[..]);
    let expect = callback.request.expect.as_ref().expect("what a response must say");
    match callback.judge(expect, about, is_kept, (status, text.as_bytes()), 1)[0].verdict {
        Meaning::Accepted | Meaning::Unchanged => "++",
        Meaning::Stopped { until_address: true, .. } => "!a",
        Meaning::Stopped { all: true, .. } => "!*",
        Meaning::Stopped { .. } => "!!",
        Meaning::Wait(_) => "..",
        Meaning::Forget => "~~",
        Meaning::Rejected | Meaning::Nothing => "xx",
    }
}

/// A request as the table has it.
fn shown(request: &Request) -> String {
    let is_ours = |name: &str, value: &str| {
        matches!((name, value), ("Host" | "Content-Length", _) | ("User-Agent", "ours") | ("Accept", "*/*"))
    };
    let headers = request.headers("ours");
    // What a signature must be is shown by its own tests.
    let is_signature = |name: &str| SIGNATURE_HEADERS.contains(&name);
    let headers = headers.iter().filter(|(name, value)| !is_ours(name, value) && !is_signature(name));
    let mut headers: Vec<String> = headers.map(|(name, value)| format!("{name}: {value}")).collect();
    headers.sort();
    let mut text = format!("{} {}", request.method.as_str(), request.url);
    for header in headers {
        text += &format!("\n{header}");
    }
    text + &request.body.as_ref().map(|body| format!("\n\n{body}")).unwrap_or_default()
}

/// What a configuration means; neither errors nor warnings are allowed.
fn loaded(name: &str, text: &str) -> Result<Config, String> {
    let document = Document { name: format!("{name}.json"), text: text.to_owned(), fetched: false };
    let sentences = |wrong: &[Diagnostic]| wrong.iter().map(Diagnostic::shown).collect::<Vec<_>>().join("\n");
    let document = Rc::new(document);
    let read = || raw::read(&document).map_err(|error| format!("{}\n{text}", error.shown()));
    let written = read()?;
    let mut files = FileContents::default();
    for path in named_in(&written) {
        let pem = "-----BEGIN PRIVATE KEY-----\\nAAAA\\n-----END PRIVATE KEY-----";
        let account = format!(r#"{{"private_key": "{pem}", "client_email": "me@example.com", "private_key_id": "1"}}"#);
        files.add(path.clone(), Ok(if path.contains("google") { account } else { pem.replace("\\n", "\n") }));
    }
    let around = Surroundings { files, rsa: Some(|_, _, _| Some(vec![7; 8])), ..Surroundings::default() };
    match validate(name, Some(read()?), &around) {
        Ok((config, warnings)) if warnings.is_empty() => {
            let doubts = lint(&config, Some(&written), &around);
            // Mythic Beasts takes the address of the connection.
            if doubts.is_empty() || name == "mythic-beasts" { Ok(config) } else { Err(sentences(&doubts)) }
        }
        Ok((_, wrong)) | Err(wrong) => Err(format!("{}\n{text}", sentences(&wrong))),
    }
}

/// Whether a request is one of the table: `***` in a line of it is any text.
fn fits(sent: &str, expected: &str) -> bool {
    let line = |(sent, expected): (&str, &str)| match expected.split_once("***") {
        Some((before, after)) => sent.starts_with(before) && sent.ends_with(after),
        None => sent == expected,
    };
    sent.lines().count() == expected.lines().count() && sent.lines().zip(expected.lines()).all(line)
}

/// What is sent for an entry: these families, and places in their lists. The steps are answered as the table says; with
/// `is_absent` the last one finds nothing. The update or what is sent in its place, and what follows it.
fn sent(block: &Block, entry: &Entry, members: &[(Family, usize)], is_absent: bool) -> Vec<String> {
    let update = |(family, place): &(Family, usize)| {
        let ip = ["203.0.113.7", "2001:db8::7"][family.index()].parse().expect("an address");
        let found = Observed::by(&Source::Default, &Choice { ip, why: String::new() });
        entry.sendable(&entry.domains_of(*family)[*place], *family, found)
    };
    let updates: Vec<_> = members.iter().map(update).collect();
    let parcel = SendableBatch::of(updates.iter().copied()).expect("updates");
    let (callback, moment) = (&entry.callback, Moment::from(NOW));
    let (mut template, mut taken) = (&callback.request, vec![None; callback.taken_count()]);
    for (number, step) in callback.steps().iter().enumerate() {
        let (mut search, mut page) = (Search::default(), None::<String>);
        let finds_nothing = is_absent && number + 1 == callback.steps().len();
        let found = loop {
            let asks = page.as_deref().and_then(|page| Some((step.next.as_ref()?.1.as_str(), page)));
            let request = callback.render_as(&step.request, (&parcel, moment, &taken), asks).expect("a step");
            let answer = block.answer(&shown(&request));
            let (status, text) = block.nothing.as_ref().filter(|_| finds_nothing).unwrap_or(answer);
            let about = (parcel.batch().into(), moment, &taken[..]);
            match callback.take_page(number, about, false, (*status, text), &mut search) {
                StepEnd::Next(next) => page = Some(next),
                StepEnd::Found(found) => break found,
                end => panic!("{}: step {}: {end:?}", block.name, number + 1),
            }
        };
        match found {
            Found::One { is_same, values } => {
                assert!(!is_same && !finds_nothing, "{}", block.name);
                for (at, value) in values {
                    taken[at] = Some(value);
                }
            }
            Found::Nothing => template = callback.absent().expect("`absent`"),
        }
    }
    let after = callback.after().filter(|after| callback.is_given(after, &taken));
    let request = |template| shown(&callback.render_as(template, (&parcel, moment, &taken), None).expect("a request"));
    [template].into_iter().chain(after).map(request).collect()
}

/// The families that a service takes.
fn taken(recipe: &Recipe) -> Vec<Family> {
    Family::ALL.into_iter().filter(|family| recipe.takes(*family)).collect()
}

/// Those of them that a name may have together.
fn together<'a>(recipe: &Recipe, families: &'a [Family]) -> &'a [Family] {
    if recipe.has_one_address { &families[..1] } else { families }
}

/// The configuration that a recipe makes for domains of these families.
fn config(block: &Block, recipe: &Recipe, families: &[Family]) -> Config {
    let text = block.form(recipe, families).configuration(&[], None).text;
    loaded(&block.name, &text).unwrap_or_else(|why| panic!("{why}"))
}

/// What a recipe sends for domains of these families: each update, and what follows it.
fn all_sent(block: &Block, recipe: &Recipe, families: &[Family], is_absent: bool) -> Vec<Vec<String>> {
    let of_entry = |entry: &Entry| {
        let families = Family::ALL.into_iter().filter(|family| !entry.domains_of(*family).is_empty());
        let groups = entry.groups().unwrap_or_else(|| families.map(|family| vec![(family, 0)]).collect());
        groups.iter().map(|group| sent(block, entry, group, is_absent)).collect::<Vec<_>>()
    };
    config(block, recipe, families).entries.iter().flat_map(of_entry).collect()
}

fn assert_fits(block: &Block, what: &str, sent: &[Vec<String>], expected: &[&str]) {
    let updates: Vec<&str> = sent.iter().map(|sent| sent[0].as_str()).collect();
    let is_right = updates.len() == expected.len() && updates.iter().zip(expected).all(|(one, two)| fits(one, two));
    assert!(is_right, "{}: {what}: sent\n{}\nnot\n{}", block.name, updates.join("\n\n"), expected.join("\n\n"));
}

#[test]
fn h12_every_recipe_is_in_the_table() {
    let table = table();
    let mut rows: Vec<&str> = table.iter().map(|block| block.name.as_str()).collect();
    rows.sort_unstable();
    assert_eq!(rows, recipe::names().collect::<Vec<_>>());
    for block in &table {
        let recipe = block.recipe();
        assert_eq!(block.request("ipv4").is_some(), recipe.takes(Family::V4), "{}", block.name);
        block.form(&recipe, together(&recipe, &taken(&recipe)));
    }
}

/// From the recipe and the answers to the configuration, by the reader of every run to the request.
#[test]
fn h12_every_recipe_sends_what_its_service_publishes() {
    let mut count = 0;
    for block in table() {
        let recipe = block.recipe();
        count += 1;
        let taken = taken(&recipe);
        if !recipe.has_entry() {
            continue;
        }
        let alone: Vec<String> = taken.iter().map(|family| block.alone(*family)).collect();
        for (family, expected) in taken.iter().zip(&alone) {
            let sent = all_sent(&block, &recipe, &[*family], false);
            assert_fits(&block, "alone", &sent, &[expected]);
            if *family == Family::V4 {
                let after = sent[0].get(1);
                assert_eq!(after.is_some(), block.request("after").is_some(), "{}: `after`", block.name);
                assert!(after.zip(block.request("after")).is_none_or(|(sent, it)| fits(sent, it)), "{after:?}");
            }
        }
        let taken = together(&recipe, &taken);
        let alone = || alone.iter().take(taken.len()).map(String::as_str).collect();
        let expected = block.request("both").map_or_else(alone, |it| vec![it]);
        assert_fits(&block, "together", &all_sent(&block, &recipe, taken, false), &expected);
        let has_absent = config(&block, &recipe, &taken[..1]).entries[0].callback.absent().is_some();
        assert_eq!(has_absent, block.nothing.is_some(), "{}: `absent`", block.name);
        if let Some(expected) = block.request("absent") {
            assert_fits(&block, "absent", &all_sent(&block, &recipe, &[Family::V4], true), &[expected]);
        }
        let seen = block.seen.borrow();
        let unseen = block.steps.iter().find(|(step, _)| !seen.iter().any(|sent| fits(sent, step)));
        assert!(unseen.is_none(), "{}: nothing sends {unseen:?}", block.name);
    }
    assert!(count >= 60, "{count} recipes");
}

/// A6: what limits its requests gets them one after the other.
#[test]
fn a6_recipes_of_services_that_limit_requests_send_one_at_a_time() {
    let mut count = 0;
    for block in table() {
        let recipe = block.recipe();
        let template = recipe::template(&recipe);
        if ["\"min_interval\"", "429"].iter().any(|limit| template.contains(limit)) {
            let concurrency = config(&block, &recipe, &[Family::V4]).concurrency;
            assert_eq!(concurrency, Concurrency::Fixed(NonZeroU16::MIN), "{}", block.name);
            count += 1;
        }
    }
    assert!(count >= 15, "{count} recipes");
}

/// The notifications that a recipe makes, in a configuration of its own.
fn notifications(block: &Block, recipe: &Recipe) -> Vec<Notification> {
    let (value, secrets) = block.form(recipe, &[]).notification(None);
    assert!(secrets.is_empty(), "{}", block.name);
    let callback = r#""dns": "callback", "id": "https://h.example/__IP__", "ipv4": "home.example.com""#;
    let text = format!("{{{callback}, \"notify\": {}}}", pretty(&value));
    loaded(&block.name, &text).unwrap_or_else(|why| panic!("{why}")).notify
}

/// What it sends about an event.
fn told(notification: &Notification, event: NotifyEvent) -> String {
    let domain = Domain::parse("home.example.com").expect("a domain");
    let notice = notice(&example(event, &domain, Family::V4, notification.after));
    let now = Timestamp { seconds: 1_700_000_000, micros: 0 };
    shown(&notification.callback.render(&notice, now).expect("a request"))
}

#[test]
fn i5_every_recipe_notifies_as_its_service_publishes() {
    let mut count = 0;
    for block in table() {
        let recipe = block.recipe();
        let expected = block.requests.iter().filter_map(|(which, request)| {
            Some((NotifyEvent::parse(which.strip_prefix("notify ")?).expect("an event"), request.trim_end()))
        });
        let expected: Vec<(NotifyEvent, &str)> = expected.collect();
        assert_eq!(!expected.is_empty(), recipe.has_notification(), "{}", block.name);
        assert!(recipe.has_entry() || recipe.has_notification(), "{}", block.name);
        if expected.is_empty() {
            continue;
        }
        let notify = notifications(&block, &recipe);
        for (event, request) in expected {
            let of_event = notify.iter().filter(|notification| notification.on.has(event));
            let sent: Vec<String> = of_event.map(|notification| told(notification, event)).collect();
            assert_eq!(sent, [request], "{}: {event:?}", block.name);
            count += 1;
        }
    }
    assert!(count >= 12, "{count} notifications");
}

/// What services answer means what they say it means.
#[test]
fn h12_every_recipe_understands_its_service() {
    let mut count = 0;
    for block in table() {
        let recipe = block.recipe();
        let (entries, notify) = if recipe.has_entry() {
            (config(&block, &recipe, &[Family::V4]).entries, Vec::new())
        } else {
            (Vec::new(), notifications(&block, &recipe))
        };
        let of_notify = notify.iter().map(|notification| &notification.callback);
        let callback = entries.iter().map(|entry| &entry.callback).chain(of_notify).next().expect("a callback");
        let is_judged = callback.request.expect.is_some();
        assert!(
            !is_judged || recipe::template(&recipe).contains("\"dyndns2\"") || !block.responses.is_empty(),
            "{}",
            block.name
        );
        for (mark, status, text) in &block.responses {
            assert_eq!(judged(callback, *status, text, *mark == "~~"), mark, "{}: {status} {text}", block.name);
            count += 1;
        }
    }
    assert!(count >= 60, "{count} responses");
}

/// What a client of another kind is configured for leads to a recipe that exists, or to the reason why there is none.
#[test]
fn h12_a_provider_of_another_client_leads_to_its_recipe_and_nothing_else() {
    let recipes: Vec<&str> = recipe::names().collect();
    let said = |provider: &str| {
        let text = format!(r#"{{"dns": "{provider}", "id": "me", "token": "T0ken", "ttl": "x"}}"#);
        let wrong = validate_text("c.json", &text).expect_err(provider);
        assert_eq!(wrong.len(), 1, "{provider}");
        wrong[0].shown()
    };
    let mut names: Vec<&str> = Vec::new();
    for (providers, served) in providers() {
        assert!(served.is_err() || served.is_ok_and(|recipe| recipes.contains(&recipe)), "{served:?}");
        let way_out = served.map_or_else(str::to_owned, |recipe| format!("`ddns init --recipe {recipe}`"));
        providers.clone().for_each(|provider| assert!(said(provider).contains(&way_out), "{provider}"));
        names.extend(providers);
    }
    for name in &recipes {
        assert!(said(name).contains("`ddns init --recipe ") || names.contains(name), "{name}");
    }
    for (word, hint) in
        [("aws", "`route53`"), ("esa", "`aliesa`"), ("dnspod_com", "`dnspod-global`"), ("duckdsn", "`duckdns`")]
    {
        let wrong = recipe::named(word).expect_err(word);
        assert!(wrong[0].shown().contains(&format!("did you mean {hint}?")), "{}", wrong[0].shown());
    }
    assert!(names.contains(&"cloudflare") && names.contains(&"webhook"), "{names:?}");
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(count, names.len(), "a name stands for one thing");
}
