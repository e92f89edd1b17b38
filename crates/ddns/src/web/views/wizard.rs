//! *Recipes* and set-up: a service, its questions, what was found, and what would be sent.

use std::net::IpAddr;

use ddns_core::journal::UpdateState;
use ddns_core::net::family::Family;
use ddns_core::recipe::{KINDS, Recipe};
use maud::{Markup, html};

use super::parts::{FormField, Tone, code, empty, notice, said, token_field};
use crate::web::sent::RedactedRequest;

/// How many requests are shown.
pub(crate) const MAX_REQUESTS: usize = 10;

/// What the questions are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WizardMode {
    /// A text to copy, or to add to the configuration.
    Recipes,
    /// The first configuration.
    SetUp,
}

impl WizardMode {
    fn path(self) -> &'static str {
        match self {
            Self::Recipes => "/recipes",
            Self::SetUp => "/setup",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Recipes => "Recipes",
            Self::SetUp => "Where is your domain?",
        }
    }
}

/// What was typed so far.
#[derive(Default)]
pub(crate) struct Typed {
    /// The recipe.
    pub(crate) name: String,
    /// By [`Family::index`].
    pub(crate) domains: [String; 2],
    pub(crate) sources: [String; 2],
    /// `id` and `token`, where there is no recipe.
    pub(crate) address: String,
    pub(crate) body: String,
    pub(crate) answers: Vec<(String, String)>,
}

/// A question of a recipe.
pub(crate) struct QuestionView {
    pub(crate) name: String,
    pub(crate) label: String,
    pub(crate) help: String,
    pub(crate) is_secret: bool,
    pub(crate) value: String,
    pub(crate) wrong: Option<String>,
}

/// What was found out about a family: address, source and reason, or why there is none.
pub(crate) struct FoundAddress {
    pub(crate) family: Family,
    pub(crate) result: Result<(String, String, String), Vec<String>>,
}

/// What came of a request.
pub(crate) enum Responded {
    /// This came back.
    Response { is_accepted: bool, status: String, body: String },
    /// No response came, and why.
    Unanswered(String),
    /// It was not sent, and why.
    Unsent(String),
}

/// The services that fit a word.
pub(crate) fn list(mode: WizardMode, word: &str, recipes: &[Recipe], target: Option<&str>) -> Markup {
    html! {
        div.stack {
            div.head {
                div {
                    h1 { (mode.title()) }
                    p.soft {
                        @match mode {
                            WizardMode::SetUp => {
                                "There is no configuration yet. Choose the service that has your domain; nothing is sent and "
                                "nothing is written before you say so."
                                @if let Some(target) = target { " It will be written to " code { (target) } "." }
                            }
                            WizardMode::Recipes => "Choose a service, answer its questions, and get the configuration for it.",
                        }
                    }
                }
            }
            form.row role="search" method="get" action=(mode.path()) {
                label.unseen for="find" { "Search" }
                input #find type="search" name="find" value=(word) placeholder="Cloudflare, DuckDNS, FRITZ!Box …" autofocus[mode == WizardMode::SetUp];
                button { "Search" }
            }
            @if recipes.is_empty() {
                (empty("No service fits", "Try a shorter word, or take an address of your own."))
            }
            @for (kind, heading) in KINDS {
                @if recipes.iter().any(|recipe| recipe.kind == kind) {
                    section.card aria-label=(heading) {
                        h2 { (heading) }
                        ul.services {
                            @for recipe in recipes.iter().filter(|recipe| recipe.kind == kind) {
                                li { a href={ (mode.path()) "?name=" (recipe.name) } { (recipe.title) } span.soft { " " (recipe.about) } }
                            }
                        }
                    }
                }
            }
            section.card aria-label="Something else" {
                h2 { "Something else" }
                p {
                    a href={ (mode.path()) "?name=own" } { "An address of your own" }
                    span.soft { " Any server that takes an update by HTTP." }
                }
            }
        }
    }
}

/// There is no such recipe.
pub(crate) fn unknown(mode: WizardMode, why: &str) -> Markup {
    html! { div.stack { (notice(Tone::Bad, why)) p { a href=(mode.path()) { "To the list" } } } }
}

fn wrong_of<'a>(wrong: &'a [(String, String)], name: &str) -> Option<&'a str> {
    wrong.iter().find(|(known, why)| known == name && !why.is_empty()).map(|(_, why)| why.as_str())
}

/// A form with questions, and what is wrong with the answers.
pub(crate) struct WizardForm<'a> {
    pub(crate) mode: WizardMode,
    pub(crate) typed: &'a Typed,
    /// Names of fields, and what is wrong with each.
    pub(crate) wrong: &'a [(String, String)],
    pub(crate) problem: Option<&'a str>,
    pub(crate) token: &'a str,
    /// The addresses of this host.
    pub(crate) own: [Option<IpAddr>; 2],
}

/// Domains and sources of the families that are taken.
fn families(form: &WizardForm<'_>, takes: impl Fn(Family) -> bool) -> Markup {
    let WizardForm { typed, wrong, own, .. } = *form;
    html! {
        @for family in Family::ALL {
            @if takes(family) {
                @let at = family.index();
                @let (domains, source) = (["ipv4", "ipv6"][at], ["index4", "index6"][at]);
                (FormField {
                    id: domains,
                    label: &format!("Domains with an {family} address"),
                    help: Some("Separated by commas; empty for none. For example home.example.com"),
                    wrong: wrong_of(wrong, domains),
                }.input(domains, &typed.domains[at], "text"))
                (FormField {
                    id: source,
                    label: &format!("Where the {family} address comes from"),
                    help: Some(&match own[at] {
                        Some(ip) => format!("`default` is the address of this host, {ip}; `public` is what services on the internet see."),
                        None => format!("`public` is what services on the internet see. This host has no {family} address of its own."),
                    }),
                    wrong: wrong_of(wrong, source),
                }.input(source, &typed.sources[at], "text"))
            }
        }
    }
}

/// The questions of a service.
pub(crate) fn questions(form: &WizardForm<'_>, recipe: &Recipe, asked: &[QuestionView]) -> Markup {
    let WizardForm { mode, typed, problem, token, .. } = *form;
    html! {
        div.stack {
            p.crumb { a href=(mode.path()) { "All services" } }
            div.head { div { h1 { (recipe.title) } p.soft { (recipe.about) " " a href=(recipe.documentation) rel="noreferrer" { "Its own documentation" } } } }
            @if let Some(problem) = problem { (notice(Tone::Bad, problem)) }
            @if !recipe.rules.is_empty() {
                section.card aria-label="Rules of the service" { h2 { "Rules of the service" } ul { @for rule in &recipe.rules { li { (rule) } } } }
            }
            form.card method="post" action=(mode.path()) {
                (token_field(token))
                input type="hidden" name="name" value=(typed.name);
                (families(form, |family| recipe.takes(family)))
                @for (number, asked) in asked.iter().enumerate() {
                    (question(number, asked))
                }
                div.row { button.main { "Continue" } }
            }
        }
    }
}

fn question(number: usize, asked: &QuestionView) -> Markup {
    let (id, name) = (format!("answer{number}"), format!("answer.{}", asked.name));
    let wrong = asked.wrong.as_deref().filter(|why| !why.is_empty());
    // A secret that is right goes on without being shown.
    if asked.is_secret && asked.wrong.is_none() && !asked.value.is_empty() {
        return html! {
            div.field { span.label { (asked.label) } p.help { "You typed it already." } input type="hidden" name=(name) value=(asked.value); }
        };
    }
    let help = Some(asked.help.as_str()).filter(|help| !help.is_empty());
    let field = FormField { id: &id, label: &asked.label, help, wrong };
    if !asked.is_secret {
        return field.input(&name, &asked.value, "text");
    }
    // A key of a service is nothing that a browser should offer for another.
    field.around(&html! {
        input type="password" id=(id) name=(name) autocomplete="off" aria-describedby=[field.described()]
            aria-invalid=[wrong.map(|_| "true")];
    })
}

/// An address of the user's own.
pub(crate) fn own(form: &WizardForm<'_>) -> Markup {
    let WizardForm { mode, typed, wrong, problem, token, .. } = *form;
    let address = FormField {
        id: "id",
        label: "Address",
        help: Some("For example https://example.com/update?name=__DOMAIN__&ip=__IP__; both are filled in."),
        wrong: wrong_of(wrong, "id"),
    };
    let body = FormField {
        id: "body",
        label: "Body",
        help: Some("A JSON object such as {\"ip\": \"__IP__\"} makes a POST of it; empty for a GET."),
        wrong: wrong_of(wrong, "body"),
    };
    html! {
        div.stack {
            p.crumb { a href=(mode.path()) { "All services" } }
            h1 { "An address of your own" }
            @if let Some(problem) = problem { (notice(Tone::Bad, problem)) }
            form.card method="post" action=(mode.path()) {
                (token_field(token))
                input type="hidden" name="name" value=(typed.name);
                (address.input("id", &typed.address, "text"))
                (body.input("body", &typed.body, "text"))
                (families(form, |_| true))
                div.row { button.main { "Continue" } }
            }
        }
    }
}

/// Everything that was typed, for the next step.
fn carried(typed: &Typed, token: &str) -> Markup {
    let texts = [
        ("name", &typed.name),
        ("ipv4", &typed.domains[0]),
        ("ipv6", &typed.domains[1]),
        ("index4", &typed.sources[0]),
        ("index6", &typed.sources[1]),
        ("id", &typed.address),
        ("body", &typed.body),
    ];
    html! {
        (token_field(token))
        @for (name, text) in texts { input type="hidden" name=(name) value=(text); }
        @for (name, text) in &typed.answers { input type="hidden" name={ "answer." (name) } value=(text); }
    }
}

/// The text of a configuration.
pub(crate) fn recipe_done(
    typed: &Typed,
    text: &str,
    file: Option<&str>,
    problem: Option<(Tone, String)>,
    token: &str,
) -> Markup {
    html! {
        div.stack {
            p.crumb { a href="/recipes" { "All services" } }
            h1 { "The configuration" }
            @if let Some((tone, problem)) = problem { (notice(tone, problem)) }
            @match file {
                Some(file) => {
                    form.row method="post" action="/recipes" {
                        (carried(typed, token))
                        button.main name="step" value="add" { "Add to the configuration" }
                        span.soft { (file) ", as one more entry" }
                    }
                }
                None => p.soft { "Copy it into a file. It holds what you typed: keep it to yourself." }
            }
            (code(text, "the configuration"))
        }
    }
}

/// The last step of set-up.
pub(crate) fn set_up(
    typed: &Typed,
    target: &str,
    found: &[FoundAddress],
    (requests, total): (&[RedactedRequest], usize),
    responses: &[Option<Responded>],
    problem: Option<(Tone, String)>,
    token: &str,
) -> Markup {
    let has_address = found.iter().any(|found| found.result.is_ok());
    html! {
        div.stack {
            p.crumb { a href="/setup" { "All services" } }
            h1 { "Does this look right?" }
            @if let Some((tone, problem)) = problem { (notice(tone, problem)) }
            section.card aria-label="Addresses" {
                h2 { "Addresses of this host" }
                dl.pairs {
                    @for found in found {
                        dt { (found.family) }
                        @match &found.result {
                            Ok((ip, source, why)) => dd { strong { (ip) } " from " (source) ": " (why) }
                            Err(whys) => dd { "None was found." ul { @for why in whys { li { (why) } } } }
                        }
                    }
                }
            }
            section.card aria-label="Requests" {
                h2 { "What is sent" }
                p.soft { "What you typed shows as ***." }
                @for (number, sent) in requests.iter().enumerate() {
                    h3 { (sent.about) ", to " (sent.origin) }
                    @if !sent.missing.is_empty() { p.soft { (example(&sent.missing)) } }
                    @if let Some(Some(response)) = responses.get(number) {
                        div.columns { (shown(sent)) (responded(sent, response)) }
                    } @else { (shown(sent)) }
                }
                @if total > MAX_REQUESTS { p.soft { "And " (total - MAX_REQUESTS) " more." } }
            }
            form.row method="post" action="/setup" {
                (carried(typed, token))
                @if has_address { button name="step" value="send" { "Send it once" } }
                button.main name="step" value="save" { "Save and run" }
                span.soft { "to " (target) }
            }
        }
    }
}

/// A request, under a name of its own.
fn shown(sent: &RedactedRequest) -> Markup {
    code(&sent.shown, &format!("the request for {}, to {}", sent.about, sent.origin))
}

/// What is said of a request whose address is an example.
fn example(missing: &[Family]) -> String {
    let each: Vec<String> = missing.iter().map(|family| format!("{} ({family})", family.documentation())).collect();
    format!("An example: {} stands for an address that this host does not have. It is never sent.", each.join(" and "))
}

fn responded(sent: &RedactedRequest, responded: &Responded) -> Markup {
    let (state, words, status, body) = match responded {
        Responded::Response { is_accepted: true, status, body } => {
            (UpdateState::UpToDate, "accepted", status, Some(body))
        }
        Responded::Response { status, body, .. } => (UpdateState::Stopped, "not accepted", status, Some(body)),
        Responded::Unanswered(why) => (UpdateState::Stopped, "not accepted", why, None),
        Responded::Unsent(why) => (UpdateState::Stopped, "not sent", why, None),
    };
    html! {
        div {
            p { (said(state, &format!("{words}: {status}"))) }
            @match body {
                None => {}
                Some(body) if body.is_empty() => { p.soft { "No text came with it." } }
                Some(body) => (code(body, &format!("the response for {}, from {}", sent.about, sent.origin)))
            }
        }
    }
}
