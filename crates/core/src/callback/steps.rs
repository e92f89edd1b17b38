//! Requests around the update (H14 to H22): steps that look something up before it, `absent`, which is sent in its
//! place if they find nothing, and `after`, which follows it.

mod search;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::expect::{Conditions, Expect, Meaning, Pointer, ResponseVerdict};
use super::key::short;
use super::notice::Outbound;
use super::piece::Show;
use super::request::{Method, Request};
use super::request_template::RequestTemplate;
use super::template::{self, Part};
use super::variables::{Moment, Timestamp, Values, Variable, Variables, scalar_text};
use super::{Callback, Subject};
use crate::text::json::Value;
use crate::text::punycode::ascii_name;
use crate::text::secrets::MASK;
use crate::update::state::Fingerprint;

pub use super::variables::Taken;
pub use search::{Found, Search};

/// What a request depends on: its updates, the time, and the values that steps took.
pub type RequestContext<'a> = (Subject<'a>, Moment, &'a Taken);

/// The result of one page of a step's response.
#[derive(Debug)]
pub enum StepEnd {
    /// There is a further page, and this value asks for it.
    Next(String),
    /// What the step found. `Nothing` only if `absent` is sent in place of the update.
    Found(Found),
    /// The service refused the request.
    Refused(ResponseVerdict),
    /// The response is of no use; the phrase says why.
    Failed(String),
}

/// The role of a request in its callback, as shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestRole {
    /// A step: its number, and how many steps there are.
    Before(usize, usize),
    /// The update itself.
    Update,
    /// Sent in place of the update if the last step finds nothing.
    Absent,
    /// Sent after the update.
    After,
}

impl std::fmt::Display for RequestRole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Before(number, all) => write!(f, "before {number} of {all}"),
            Self::Update => f.write_str("the update"),
            Self::Absent => f.write_str("where nothing is found"),
            Self::After => f.write_str("after"),
        }
    }
}

/// The requests around an update.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Around {
    /// `before`: the steps.
    pub before: Vec<LookupStep>,
    /// `absent`: sent in place of the update if the last step finds nothing.
    pub absent: Option<RequestTemplate>,
    /// `after`: sent after the update.
    pub after: Option<RequestTemplate>,
}

/// A request that only reads, and what to take from its response.
#[derive(Debug, Clone, PartialEq)]
pub struct LookupStep {
    /// The request.
    pub request: RequestTemplate,
    /// `in`: where the list is; `None`: the whole response is the entry.
    pub list: Option<Pointer>,
    /// `where`: the values that an entry must have.
    pub wanted: Vec<(Pointer, Value)>,
    /// `not`: entries with these values are left out.
    pub left_out: Vec<(Pointer, Value)>,
    /// `total`: where the response says how many entries there are.
    pub total: Option<Pointer>,
    /// `next`: where the response says how to ask for the next page, and the parameter that does.
    pub next: Option<(Pointer, String)>,
    /// `same`: with these values, the service already has the address.
    pub same: Vec<(Pointer, Value)>,
    /// `take` and `secret`: places in the entry, and the indexes of the names that get their values.
    pub take: Vec<(Pointer, usize)>,
    /// `keep`: how long the values are used again; `None`: the step is sent each time.
    pub keep: Option<Duration>,
    /// The JSON of all parts except `keep`, for the key of the cache.
    pub written: String,
}

impl Around {
    /// The templates of all these requests.
    pub(super) fn templates(&self) -> impl Iterator<Item = &RequestTemplate> {
        self.before.iter().map(|step| &step.request).chain(&self.absent).chain(&self.after)
    }

    /// The placeholders in the values that responses are compared with.
    pub(super) fn compared(&self, variables: &Variables) -> Vec<Variable> {
        self.before.iter().flat_map(|step| step.compared(variables)).collect()
    }
}

impl LookupStep {
    /// The placeholders in the values that its response is compared with.
    fn compared(&self, variables: &Variables) -> Vec<Variable> {
        let all = self.wanted.iter().chain(&self.left_out).chain(&self.same);
        let all = all.flat_map(|(_, value)| placeholders(value, variables, &mut Vec::new()));
        all.chain(judged_by(&self.request, variables)).collect()
    }
}

/// The placeholders in the `expect.json` of a request.
fn judged_by(template: &RequestTemplate, variables: &Variables) -> Vec<Variable> {
    let Some(Expect::Conditions(conditions)) = &template.expect else { return Vec::new() };
    let values = conditions.all().flat_map(|condition| &condition.json);
    values.flat_map(|(_, value)| placeholders(value, variables, &mut Vec::new())).collect()
}

/// The placeholders in the texts of a value. Names without a value are added to `unknown`.
fn placeholders(value: &Value, variables: &Variables, unknown: &mut Vec<String>) -> Vec<Variable> {
    let mut of = |value: &Value| placeholders(value, variables, unknown);
    match value {
        Value::String(text) => template::parse(text, variables, unknown).iter().filter_map(Part::variable).collect(),
        Value::Array(nodes) => nodes.iter().flat_map(|node| of(&node.value)).collect(),
        Value::Object(members) => members.iter().flat_map(|member| of(&member.node.value)).collect(),
        _ => Vec::new(),
    }
}

/// Adds the placeholder names in a value that have no value.
pub fn unknown_in(value: &Value, variables: &Variables, unknown: &mut Vec<String>) {
    placeholders(value, variables, unknown);
}

impl Callback {
    /// The steps.
    pub fn steps(&self) -> &[LookupStep] {
        self.around.as_ref().map_or(&[], |around| &around.before)
    }

    /// All requests in order, with their roles.
    pub fn requests(&self) -> Vec<(RequestRole, &RequestTemplate)> {
        let all = self.steps().len();
        let steps = self.steps().iter().enumerate();
        let steps = steps.map(|(at, step)| (RequestRole::Before(at + 1, all), &step.request));
        let rest = [(RequestRole::Update, Some(&self.request)), (RequestRole::Absent, self.absent())];
        let rest = rest.into_iter().chain([(RequestRole::After, self.after())]);
        steps.chain(rest.filter_map(|(role, template)| Some((role, template?)))).collect()
    }

    /// The request in place of the update, for a last step that finds nothing.
    pub fn absent(&self) -> Option<&RequestTemplate> {
        self.around.as_ref()?.absent.as_ref()
    }

    /// The request that follows the update.
    pub fn after(&self) -> Option<&RequestTemplate> {
        self.around.as_ref()?.after.as_ref()
    }

    /// How many values the steps take.
    pub fn taken_count(&self) -> usize {
        self.variables.taken.len()
    }

    /// The first placeholder of a request, or of what its response is compared with, whose value no step before
    /// `number` takes. `number` is `None` if the request is sent after all steps.
    pub fn too_early(
        &self,
        template: &RequestTemplate,
        step: Option<&LookupStep>,
        number: Option<usize>,
    ) -> Option<&str> {
        let compared = match step {
            Some(step) => step.compared(&self.variables),
            None => judged_by(template, &self.variables),
        };
        let is_early =
            |variable: &Variable| self.variables.step_of(*variable).zip(number).is_some_and(|(of, at)| of >= at);
        template.variables().chain(compared).find(is_early).map(|variable| self.variables.name_of(variable))
    }

    /// Whether a step takes the host of a request.
    pub fn takes_host(&self, template: &RequestTemplate) -> bool {
        template.target.host_variables().any(|variable| self.variables.step_of(variable).is_some())
    }

    /// Whether steps took every value that a request needs from them.
    pub fn is_given(&self, template: &RequestTemplate, taken: &Taken) -> bool {
        template.variables().all(|variable| variable.is_given(taken))
    }

    /// Whether a step sends the same request for all updates of its entry.
    pub fn is_common(&self, step: usize) -> bool {
        let is_common = |variable: Variable| match self.variables.step_of(variable) {
            // A zone id or a session, for example, is common too, unless the step that took it looked for something of the update.
            Some(before) => {
                let compared = self.steps()[before].compared(&self.variables);
                before < step && compared.into_iter().all(|it| self.variables.is_common(it)) && self.is_common(before)
            }
            None => self.variables.is_common(variable),
        };
        self.steps()[step].request.variables().all(is_common)
    }

    /// Renders one of the callback's requests. `page` asks for a further page of a step. The error is a sentence without its full stop,
    /// and may contain secrets: a value makes the request impossible, or it would go to another origin than the update.
    pub fn render_as<'a>(
        &'a self,
        template: &RequestTemplate,
        (message, moment, taken): (impl Into<Outbound<'a>>, Moment, &'a Taken),
        page: Option<(&str, &str)>,
    ) -> Result<Request, String> {
        let values = self.values((message.into().0, moment, taken));
        let mut request = template.render(&values, page)?;
        if self.around.is_none() {
            return Ok(request);
        }
        let own = self.request.target.render(&values, Show::All).map(|url| url.origin());
        let stays = |other: &String| own.as_ref() == Ok(other);
        if !stays(&request.url.origin()) {
            return Err(format!("it would go to {}, not to the origin of `id`", request.url.origin()));
        }
        // Before the update: otherwise it would be sent again and again because of what follows it.
        let is_next = |after: &&RequestTemplate| !std::ptr::eq(*after, template) && self.is_given(after, taken);
        if let Some(after) = self.after().filter(is_next) {
            let after = after.render(&values, None).map_err(|why| format!("`after`: {why}"))?;
            if !stays(&after.url.origin()) {
                return Err(format!("`after` would go to {}, not to the origin of `id`", after.url.origin()));
            }
        }
        request.stays = true;
        Ok(request)
    }

    /// Identifies what a step asks: equal for equal requests, whatever the time and the signature. `compares`: equal
    /// only if they also look for the same entry.
    pub fn ask_key(
        &self,
        step: &LookupStep,
        (subject, moment, taken): RequestContext<'_>,
        compares: bool,
    ) -> Option<Fingerprint> {
        let moment = Moment { now: Timestamp { seconds: 0, micros: 0 }, ..moment };
        let values = self.values((subject, moment, taken));
        let request = step.request.render_unsigned(&values).ok()?;
        let mut hash = Sha256::new().chain_update(request.method.as_str()).chain_update(request.url.to_string());
        for (name, value) in &request.headers {
            hash = hash.chain_update([0]).chain_update(name).chain_update([0]).chain_update(value);
        }
        if let Some((user, password)) = &request.url.credentials {
            hash = hash.chain_update([3]).chain_update(user).chain_update([0]).chain_update(password);
        }
        hash = hash.chain_update([1]).chain_update(request.body.unwrap_or_default());
        if compares {
            hash = hash.chain_update([2]).chain_update(&step.written);
            for variable in step.compared(&self.variables) {
                hash = hash.chain_update([0]).chain_update(values.text(variable).as_bytes());
            }
        }
        Some(short(&hash.finalize()))
    }

    /// The values among these that must stay hidden.
    pub fn secrets_in(&self, values: &[(usize, Value)]) -> Vec<String> {
        let secret = values.iter().filter(|(place, _)| self.variables.is_taken_secret(*place));
        secret.map(|(_, value)| scalar_text(value).into_owned()).collect()
    }

    /// The taken values as they may be shown: `__RECORD_ID__ 17`.
    pub fn shown_values(&self, taken: &Taken, reveal: bool) -> Vec<String> {
        let shown = |(place, value): (usize, &Option<Value>)| {
            let name = &self.variables.taken.get(place)?.name;
            let is_hidden = !reveal && self.variables.is_taken_secret(place);
            let text = value.as_ref().map(scalar_text)?;
            Some(format!("{name} {}", if is_hidden { MASK } else { &text }))
        };
        taken.iter().enumerate().filter_map(shown).collect()
    }

    /// A sentence that names the placeholders of a request whose values steps will take; `None`: there are none.
    pub fn lookup_note(&self, template: &RequestTemplate) -> Option<String> {
        let mut names: Vec<&str> = Vec::new();
        for variable in template.variables().filter(|variable| matches!(variable, Variable::Taken(_, false))) {
            let name = self.variables.name_of(variable);
            names.extend((!names.contains(&name)).then_some(name));
        }
        let (last, before) = names.split_last()?;
        let joint = if before.is_empty() { "" } else { " and " };
        Some(format!("ddns asks the service for {}{joint}{last} first.", before.join(", ")))
    }

    /// Whether the response to a step may contain a value that must stay hidden: there is something at its place, or,
    /// if that cannot be told, the response is successful.
    pub fn may_hold_secret(&self, step: usize, status: u16, text: &str) -> bool {
        let Some(step) = self.steps().get(step) else { return false };
        let is_good = (200..300).contains(&status);
        let mut secrets = step.take.iter().filter(|(_, place)| self.variables.is_taken_secret(*place));
        secrets.any(|(pointer, _)| match search::has(text, pointer) {
            _ if step.list.is_some() => is_good,
            has => has.unwrap_or(is_good),
        })
    }

    /// Whether its request may make a record: `absent`, or a POST after a lookup.
    pub fn makes(&self) -> bool {
        let is_made = |around: &Around| around.absent.is_some() || self.request.method() == Method::Post;
        self.around.as_ref().is_some_and(|around| !around.before.is_empty() && is_made(around))
    }

    /// Whether a step checks what the service already has (`same`).
    pub fn compares(&self) -> bool {
        self.steps().iter().any(|step| !step.same.is_empty())
    }

    /// Whether any of its requests is signed.
    pub fn is_signed(&self) -> bool {
        self.any(|template| template.sign.is_some())
    }

    /// Whether something holds for any of its requests. Called for each update; most callbacks have one request.
    fn any(&self, holds: impl Fn(&RequestTemplate) -> bool) -> bool {
        holds(&self.request) || self.around.as_ref().is_some_and(|around| around.templates().any(holds))
    }

    /// Whether a response can stop an update or make it wait, or a lost request may have created a record: that must be
    /// remembered (H6).
    pub fn must_be_remembered(&self) -> bool {
        self.makes() || self.any(|template| template.expect.as_ref().is_some_and(Expect::must_be_remembered))
    }

    /// Takes in one page of the response to a step. `is_kept`: the request used a kept value.
    pub fn take_page(
        &self,
        number: usize,
        about: RequestContext<'_>,
        is_kept: bool,
        (status, text): (u16, &str),
        search: &mut Search,
    ) -> StepEnd {
        let Some(step) = self.steps().get(number) else { return StepEnd::Found(Found::Nothing) };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let judgement = self.judge_step(step, about, is_kept, status, text);
        let found = match judgement.verdict {
            Meaning::Accepted | Meaning::Unchanged => match search.feed(self, step, about, text) {
                Ok(Some(page)) => return StepEnd::Next(page),
                Ok(None) => search.end(self, step, about),
                Err(why) => Err(why),
            },
            // After other pages, only this page has nothing.
            Meaning::Nothing => search.end(self, step, about),
            _ => return StepEnd::Refused(judgement),
        };
        match found {
            Ok(Found::Nothing) if number + 1 < self.steps().len() || self.absent().is_none() => {
                StepEnd::Failed(match Search::wanted(self, step, about).as_str() {
                    "" => "nothing was found".to_owned(),
                    wanted => format!("nothing matches {wanted}"),
                })
            }
            Ok(found) => StepEnd::Found(found),
            Err(why) => StepEnd::Failed(why),
        }
    }

    fn judge_step(
        &self,
        step: &LookupStep,
        about: RequestContext<'_>,
        is_kept: bool,
        status: u16,
        text: &str,
    ) -> ResponseVerdict {
        let conditions = |expect: &Option<Expect>| match expect {
            Some(Expect::Conditions(conditions)) => Some(conditions.clone()),
            Some(Expect::Dyndns2) | None => None,
        };
        let mut own = conditions(&step.request.expect).unwrap_or_default();
        // What the entry says about keys and limits holds for all of its requests (H20).
        if let Some(Conditions { forget, stop, wait, .. }) = conditions(&self.request.expect) {
            own.forget.extend(forget);
            own.stop.extend(stop);
            own.wait.extend(wait);
        }
        let values = self.values(about);
        own.judge(status, text, is_kept, &|found, wanted| agree(found, wanted, &values, false))
    }

    /// Judges the response to the update, to `absent` or to `after`, for each of `domains` domains or once for all of them.
    pub fn judge(
        &self,
        expect: &Expect,
        about: RequestContext<'_>,
        is_kept: bool,
        (status, body): (u16, &[u8]),
        domains: usize,
    ) -> Vec<ResponseVerdict> {
        let values = self.values(about);
        let sent: Vec<_> = match about.0 {
            Subject::Updates(batch) => batch.iter().map(|update| update.ip).collect(),
            Subject::Notice(_) => Vec::new(),
        };
        let agrees = |found: &Value, wanted: &Value| agree(found, wanted, &values, false);
        expect.judge((status, body), (domains, &sent), is_kept, &agrees)
    }

    fn values<'a>(&'a self, (subject, moment, taken): RequestContext<'a>) -> Values<'a> {
        self.variables.with(subject, moment, taken)
    }
}

/// A text with its placeholders filled in.
fn filled(parts: &[Part], values: &Values<'_>) -> String {
    let texts = parts.iter().map(|part| match part {
        Part::Literal(text) => text.as_str().into(),
        Part::Variable(variable) => values.text(*variable),
    });
    texts.collect()
}

/// The addresses in a text that consists of them, separated by commas.
fn addresses(text: &str) -> Option<BTreeSet<IpAddr>> {
    text.split(',').map(|one| one.trim().parse().ok()).collect()
}

/// Whether a value of a response agrees with the wanted one, whose placeholders are filled in. If the wanted text is
/// just a placeholder for addresses, the values are compared as addresses, in any order; if it is another placeholder, a
/// number is compared by its text. `loosely` compares scalars by their text, ignores case and the dot that ends a name, and
/// ignores members of objects that are not wanted.
fn agree(found: &Value, wanted: &Value, values: &Values<'_>, loosely: bool) -> bool {
    match (found, wanted) {
        (_, Value::String(text)) => {
            let parts = template::parse(text, values.variables, &mut Vec::new());
            if let ([Part::Variable(variable)], Value::String(found)) = (&parts[..], found)
                && (variable.is_address() || *variable == Variable::Ips && addresses(found).is_some())
            {
                return addresses(found).is_some_and(|found| addresses(&values.text(*variable)) == Some(found));
            }
            let filled = filled(&parts, values);
            let by_text = loosely || matches!(parts[..], [Part::Variable(_)]);
            let plain = |text: &str| ascii_name(text.strip_suffix('.').unwrap_or(text));
            match found {
                Value::String(found) if loosely => plain(found) == plain(&filled),
                Value::String(found) => *found == filled,
                Value::Number(found) if by_text => *found == filled,
                Value::Bool(found) if by_text => found.to_string() == filled.to_lowercase(),
                _ => false,
            }
        }
        (Value::Array(found), Value::Array(wanted)) => {
            let mut pairs = found.iter().zip(wanted);
            found.len() == wanted.len() && pairs.all(|(one, other)| agree(&one.value, &other.value, values, loosely))
        }
        (Value::Object(found), Value::Object(wanted)) => {
            let has = |wanted: &crate::text::json::Member| {
                let its = found.iter().find(|its| its.key == wanted.key);
                its.is_some_and(|its| agree(&its.node.value, &wanted.node.value, values, loosely))
            };
            (loosely || found.len() == wanted.len()) && wanted.iter().all(has)
        }
        (Value::String(found), Value::Number(wanted)) if loosely => found == wanted,
        (Value::String(found), Value::Bool(wanted)) if loosely => found.eq_ignore_ascii_case(&wanted.to_string()),
        _ => super::expect::equal(found, wanted),
    }
}
