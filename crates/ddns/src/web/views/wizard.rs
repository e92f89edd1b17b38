//! *Recipes* and set-up: a service, its questions, what was found, and what would be sent.

use ddns_core::address::lookup::Lookup;
use ddns_core::journal::UpdateState;
use ddns_core::net::family::Family;
use ddns_core::recipe::{KINDS, Recipe};
use ddns_core::set_up::{OWN, SetUp, SetUpQuestion};
use ddns_core::text::screen;
use maud::{Markup, html};

use super::parts::{FormField, Tone, code, empty, head, notice, prose, said, token_field};
use crate::set_up::{RedactedRequest, SentOnce};

/// How many requests are shown.
pub(crate) const MAX_REQUESTS: usize = 10;

/// The path of set-up; *Recipes* has another one.
pub(crate) const SET_UP: &str = "/setup";

/// A step on the way to the first configuration, or to one more entry of it.
pub(crate) struct WizardStep<'a> {
    /// The path that its form is sent to.
    pub(crate) path: &'a str,
    pub(crate) token: &'a str,
    /// What was typed so far; each form passes it on to the next one.
    pub(crate) typed: Vec<(String, String)>,
}

impl WizardStep<'_> {
    /// The token, and hidden fields with what was typed.
    fn carried(&self, is_kept: impl Fn(&str) -> bool) -> Markup {
        html! {
            (token_field(self.token))
            @for (name, text) in self.typed.iter().filter(|(name, _)| is_kept(name)) { input type="hidden" name=(name) value=(text); }
        }
    }

    /// Whether the steps before have something to pass on.
    fn is_form(&self) -> bool {
        !self.typed.is_empty()
    }

    /// Whether something was typed that must not be lost.
    fn has_answers(&self) -> bool {
        self.typed.iter().any(|(name, _)| !matches!(name.as_str(), "name" | "file" | "web"))
    }

    /// A service to choose: a link, or a button of a form.
    fn service(&self, (name, title, about): (&str, &str, &str), find: Option<&str>) -> Markup {
        html! {
            // The script filters the list by these words.
            li data-find=[find] {
                @if self.is_form() { button.link name="name" value=(name) { (title) } }
                @else { a href={ (self.path) "?name=" (name) } { (title) } }
                span.soft { " " (about) }
            }
        }
    }

    /// The services that match a word.
    pub(crate) fn list(&self, word: &str, recipes: &[Recipe], target: Option<&str>) -> Markup {
        let (path, is_form) = (self.path, self.is_form());
        // The results of a search are sorted by how well they match.
        let of_kind = |kind| recipes.iter().filter(|recipe| recipe.kind == kind).collect();
        let mut sections: Vec<(&str, Vec<&Recipe>)> = match word {
            "" => KINDS.into_iter().map(|(kind, heading)| (heading, of_kind(kind))).collect(),
            _ => vec![("Services that match", recipes.iter().collect())],
        };
        sections.retain(|(_, recipes)| !recipes.is_empty());
        html! {
            div.stack {
                @if self.path == SET_UP {
                    (head("Where is your domain?", html! {
                        "There is no configuration yet. Choose the service that has your domain; nothing is sent and nothing is written "
                        "before you say so."
                        @if let Some(target) = target { " It will be written to " code { (target) } "." }
                    }, ""))
                } @else {
                    (head("Recipes", "Choose a service, answer its questions, and get the configuration for it.", ""))
                }
                form.stack method=(if is_form { "post" } else { "get" }) action=(path) data-dirty[self.has_answers()] {
                    @if is_form { (self.carried(|name| name != "name")) }
                    div.row role="search" {
                        label.unseen for="find" { "Search" }
                        input #find type="search" name="find" value=(word) placeholder="Cloudflare, DuckDNS, FRITZ!Box …" autofocus[path == SET_UP];
                        button name=[is_form.then_some("step")] value=[is_form.then_some("list")] { "Search" }
                    }
                    p #narrowed.soft role="status" {}
                    section.card aria-label="Your own URL" {
                        ul.services { (self.service((OWN, "My own URL", "Any server that takes an update by HTTP."), None)) }
                    }
                    @if recipes.is_empty() { (empty("No service matches", "Try fewer letters, or take a URL of your own.")) }
                    @for (heading, recipes) in sections {
                        section.card aria-label=(heading) {
                            @if word.is_empty() { h2 { (heading) } }
                            ul.services {
                                @for Recipe { name, title, aliases, about, .. } in recipes {
                                    @let find = [name.as_str(), title, &aliases.join(" "), about].join(" ");
                                    (self.service((name, title, about), Some(&find)))
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// A page that says why there is no such recipe.
    pub(crate) fn unknown(&self, why: &str) -> Markup {
        html! { div.stack { (notice(Tone::Bad, why)) p { a href=(self.path) { "All services" } } } }
    }

    /// The questions of a service with what was typed; `wrong` contains the errors by question. Without a recipe, the service is
    /// the user's own URL.
    pub(crate) fn questions(
        &self,
        set_up: &SetUp,
        wrong: &[(String, Option<String>)],
        problem: Option<&str>,
    ) -> Markup {
        let (recipe, questions) = (set_up.recipe(), set_up.questions());
        html! {
            div.stack {
                (head(recipe.map_or("My own URL", |recipe| recipe.title.as_str()), html! {
                    @if let Some(recipe) = recipe { (recipe.about) " " a href=(recipe.documentation) rel="noreferrer" target="_blank" { "Its own documentation" span.unseen { " (in another tab)" } } }
                }, ""))
                @if let Some(problem) = problem { (notice(Tone::Bad, prose(problem))) }
                form.card method="post" action=(self.path) data-guard data-dirty[self.has_answers()] {
                    // Also the answers to questions of other services, for those who go back to them.
                    (self.carried(|name| questions.iter().all(|question| question.name != name)))
                    @for question in &questions {
                        @let typed = self.typed.iter().find(|(known, text)| *known == question.name && !text.is_empty());
                        @let why = wrong.iter().find(|(known, _)| *known == question.name).and_then(|(_, why)| why.as_deref());
                        (field(question, typed.map(|(_, text)| text.as_str()), why))
                    }
                    datalist #sources { option value="public"; option value="default"; option value="none"; }
                    div.row { button.main { "Continue" } button name="step" value="list" { "Back" } }
                }
                @if let Some(recipe) = recipe.filter(|recipe| !recipe.rules.is_empty()) {
                    section.card aria-label="About the service" {
                        h2 { "About " (recipe.title) }
                        ul.rules { @for rule in &recipe.rules { li { (prose(rule)) } } }
                    }
                }
            }
        }
    }

    /// The last step: what was found, what is sent, and the buttons. `file` is where the configuration goes; `None`: the page
    /// cannot write it. `text` is the configuration, if it may be copied.
    pub(crate) fn review(
        &self,
        (problem, warnings): (Option<&str>, &[String]),
        (sections, has_address): (&[Markup], bool),
        file: Option<&str>,
        text: Option<&str>,
    ) -> Markup {
        let (step, words, how) = match self.path {
            SET_UP => ("save", "Save and run", ""),
            _ => ("add", "Add to the configuration", ", as one more entry"),
        };
        html! {
            div.stack {
                h1 { "Does this look right?" }
                @if let Some(problem) = problem { (notice(Tone::Bad, problem)) }
                @for warning in warnings { (notice(Tone::Warning, warning)) }
                form.stack method="post" action=(self.path) data-dirty {
                    (self.carried(|_| true))
                    // The button that the Enter key presses: it sends nothing.
                    button.unseen tabindex="-1" aria-hidden="true" { "Look again" }
                    @for section in sections { (section) }
                    div.row {
                        @if has_address { button name="step" value="send" { "Send it once" } }
                        @if file.is_some() { button.main name="step" value=(step) { (words) } }
                        button name="step" value="back" { "Back" }
                        span.soft {
                            @match file {
                                Some(file) => { "to " (file) (how) }
                                None => "Copy the configuration below into a file. It holds what you typed: keep it to yourself.",
                            }
                        }
                    }
                }
                @if let Some(text) = text { h2 { "The configuration" } (code(&screen::json(text), "the configuration")) }
            }
        }
    }
}

fn field(question: &SetUpQuestion, typed: Option<&str>, wrong: Option<&str>) -> Markup {
    let SetUpQuestion { name, label, help, suggested, is_secret, family, .. } = question;
    let id = name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    let kept = typed.filter(|_| *is_secret && wrong.is_none());
    let help = if kept.is_some() { "It is set. Leave this empty to keep it." } else { help };
    let field = FormField { id: &id, label, help: Some(help).filter(|help| !help.is_empty()), wrong };
    // A secret is never shown.
    let value = typed.or(suggested.as_deref()).filter(|_| !is_secret);
    html! {
        (field.input(name, if *is_secret { "password" } else { "text" }, value, family.map(|_| "sources")))
        @if let Some(kept) = kept { input type="hidden" name={ "kept." (name) } value=(kept); }
    }
}

/// What the sources gave, by family. If one family has an address, the other one can be left out.
pub(crate) fn found(lookups: [Option<&Lookup>; 2], has_address: bool) -> Markup {
    html! {
        section.card aria-label="Addresses" {
            h2 { "Addresses of this host" }
            dl.pairs {
                @for (family, lookup) in Family::ALL.into_iter().zip(lookups) {
                    @if let Some(lookup) = lookup {
                        dt { (family) }
                        @match lookup.found() {
                            Some((source, choice)) => dd { strong { (choice.ip) } " from " (source) ": " (choice.why) }
                            None => dd {
                                "None was found." ul { @for (source, why) in lookup.failed() { li { (source) ": " (why) } } }
                                @if has_address { button name="step" value={ "without " (family) } { "Leave " (family) " out" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The first requests, and their results if they were sent.
pub(crate) fn requests(requests: &[RedactedRequest], total: usize, sent: Option<&[SentOnce]>) -> Markup {
    html! {
        section.card aria-label="Requests" {
            h2 { "What is sent" }
            p.soft { "*** hides what may be a password or key." }
            @for request in requests {
                h3 { (request.about) ", to " (request.origin) }
                @if !request.missing.is_empty() { p.soft { (example(&request.missing)) } }
                @if let Some(sent) = sent { div.columns { (shown(request)) (responded(request, sent)) } } @else { (shown(request)) }
            }
            @if total > MAX_REQUESTS { p.soft { "And " (total - MAX_REQUESTS) " more." } }
        }
    }
}

/// What to do afterwards; `install` is the command that installs the first configuration as a service.
pub(crate) fn afterwards(install: &str, keeps_page: bool) -> Markup {
    html! {
        section.card aria-label="Afterwards" {
            h2 { "Afterwards" }
            input type="hidden" name="web" value="none";
            label.choice { input type="checkbox" name="web" value="keep" checked[keeps_page]; "Keep this page: it becomes part of the configuration" }
            p.soft { "ddns runs until you stop it. To start it with this host, also after a reboot, install it as a service: run this command there." }
            (code(install, "the command"))
        }
    }
}

/// A request with a label of its own, and which values ddns asks for first.
fn shown(sent: &RedactedRequest) -> Markup {
    html! {
        div.stack {
            (code(&sent.shown, &format!("the request for {}, to {}", sent.about, sent.origin)))
            @if let Some(lookup_note) = &sent.lookup_note { p.soft { (lookup_note) } }
        }
    }
}

/// A remark about a request whose address is an example.
fn example(missing: &[Family]) -> String {
    let each: Vec<String> = missing.iter().map(|family| format!("{} ({family})", family.documentation())).collect();
    format!(
        "An example: {} is in place of an address that this host does not have. It is never sent.",
        each.join(" and ")
    )
}

/// The result of a request: all its updates have one response.
fn responded(request: &RedactedRequest, sent: &[SentOnce]) -> Markup {
    let is_of = |one: &&SentOnce| request.about.split(", ").any(|about| about == one.about.to_string());
    let one = sent.iter().find(is_of);
    let missing: Vec<String> = request.missing.iter().map(Family::to_string).collect();
    let (state, words) = match one {
        Some(one) if one.is_accepted => (UpdateState::UpToDate, format!("accepted: {}", one.words)),
        Some(one) if one.is_sent => (UpdateState::Stopped, format!("not accepted: {}", one.words)),
        Some(one) => (UpdateState::Stopped, format!("not sent: {}", one.words)),
        None if missing.is_empty() => (UpdateState::UpToDate, "accepted before: nothing was sent".to_owned()),
        None => (UpdateState::NoAddress, format!("not sent: there is no {} address here", missing.join(" and no "))),
    };
    html! {
        div {
            p { (said(state, &words)) }
            @if let Some(refused) = one.filter(|one| !one.is_accepted) {
                @if !refused.is_sent {} @else if refused.text.trim().is_empty() { p.soft { "(no text)" } }
                @else { (code(&refused.text, &format!("the response for {}, from {}", request.about, request.origin))) }
                p { "Compare this with your answers: Back leads to them, and nothing that you typed is lost." }
            }
        }
    }
}
