//! What a question says, and what it suggests.

use super::{NONE, SetUp, SetUpQuestion, SetUpSubject, Survey, index_key};
use crate::net::family::Family;
use crate::net::reach::is_private;
use crate::recipe::Recipe;

/// The suggested body if the URL does not contain the address.
const BODY: &str = r#"{"domain": "__DOMAIN__", "type": "__RECORDTYPE__", "ip": "__IP__"}"#;
/// The suggested parameters if neither the URL nor a body contains the address.
const QUERY: &str = "name=__DOMAIN__&type=__RECORDTYPE__&ip=__IP__";

impl SetUp {
    pub(super) fn about(&self, subject: &SetUpSubject) -> SetUpQuestion {
        let (label, help, suggested) = match subject {
            SetUpSubject::Service => ("Service".to_owned(), String::new(), None),
            SetUpSubject::Url => {
                let example = "https://example.com/update?name=__DOMAIN__&ip=__IP__";
                ("URL".to_owned(), format!("__DOMAIN__ and __IP__ in it are filled in. For example {example}"), None)
            }
            SetUpSubject::Body => {
                let suggested = self.has_url().then(|| String::from(if self.has_ip() { NONE } else { BODY }));
                let mut help = format!("A JSON object is sent as a POST; {NONE} makes it a GET without a body.");
                if suggested.is_none() {
                    help += " If you leave it empty, a URL that contains __IP__ is called with a GET, and any other with \
                             a POST of the domain and the address.";
                }
                ("JSON body".to_owned(), help, suggested)
            }
            SetUpSubject::Query => {
                let help = format!("The URL does not contain __IP__. These are added to it; {NONE} adds nothing.");
                ("Parameters".to_owned(), help, Some(QUERY.to_owned()))
            }
            SetUpSubject::Domains => {
                let suffix = self.recipe().and_then(Recipe::suffix);
                let short = suffix.map(|suffix| format!(" home means home.{suffix}.")).unwrap_or_default();
                ("Domains".to_owned(), format!("The names to update, separated by commas.{short}"), None)
            }
            SetUpSubject::Source(family) => self.about_source(*family),
            SetUpSubject::Answer { is_notify, slot } => {
                let suggested = self.form(*is_notify).and_then(Result::ok).and_then(|form| form.suggested(slot));
                let question = self.question_of(subject);
                let help = question.map(|question| question.help.clone()).unwrap_or_default();
                (question.map(|question| slot.label(question)).unwrap_or_default(), help, suggested)
            }
        };
        let name = self.name_of(subject);
        let before = self
            .taken(subject)
            .or_else(|| self.before.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str()));
        let suggested = before.map(str::to_owned).or(suggested);
        let (is_secret, is_file) = self.question_of(subject).map_or((false, false), |it| (it.secret, it.is_file));
        let family = if let SetUpSubject::Source(family) = subject { Some(*family) } else { None };
        SetUpQuestion { name, label, help, suggested, is_secret, is_file, family }
    }

    fn about_source(&self, family: Family) -> (String, String, Option<String>) {
        let Survey { own, public, router } = &self.survey;
        let (own, public) = (own[family.index()], &public[family.index()]);
        let router = router.filter(|_| family == Family::V4);
        let other = Family::ALL[1 - family.index()];
        // One family must remain.
        let may_leave = self.takes(other) && self.is_wanted(other);
        let (why, suggested) = match (own, public, router) {
            (Some(ip), ..) if !is_private(ip) => (format!("This host's own address is {ip}."), "default"),
            (_, Some(Ok(ip)), _) => (format!("Services on the internet see {ip}."), "public"),
            (.., Some(ip)) => (format!("Your router has the address {ip}."), "router"),
            (_, Some(Err(_)), _) if may_leave && (family == Family::V6 || self.has_address(other)) => {
                (format!("No {family} address was found here, so it is best left out for now."), NONE)
            }
            (_, Some(Err(_)), _) => (format!("No {family} address was found. Is this host online?"), "public"),
            (own, None, _) => {
                let private = |ip| format!("This host's address {ip} is private: others cannot reach it.");
                let why = own.map_or_else(|| format!("This host has no {family} address of its own."), private);
                (why, if family == Family::V6 && may_leave { NONE } else { "public" })
            }
        };
        // The question about the other family has just explained these.
        let is_second = family == Family::V6 && self.takes(other) && self.given.get(index_key(other)).is_none();
        let [public, own] = if is_second {
            ["", ""]
        } else {
            [
                " for the address that the internet sees (usual behind a router at home)",
                " for this host's own address (usual on a rented server)",
            ]
        };
        let router = router.map(|ip| format!(", router to ask your router for it (it has {ip})")).unwrap_or_default();
        let help = format!("{why} Type public{public}{router}, default{own}, or {NONE} to leave {family} out.");
        (format!("{family} address from"), help, Some(suggested.to_owned()))
    }

    /// Whether an address of a family was found.
    fn has_address(&self, family: Family) -> bool {
        let Survey { own, public, router } = &self.survey;
        let is_told = family == Family::V4 && router.is_some() || matches!(public[family.index()], Some(Ok(_)));
        is_told || own[family.index()].is_some_and(|ip| !is_private(ip))
    }
}
