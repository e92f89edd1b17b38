//! The requests that find out what the user need not type, and what their answers mean.

use super::form::{AnswerSlot, Form, RecordScope};
use super::{RecipeLookup, template};
use crate::callback::expect::Pointer;
use crate::callback::{Format, Request};
use crate::net::url::{Url, push_form, split_scheme};
use crate::text::json::{Dialect, Node, Value, parse};
use crate::text::secrets::MASK;

/// One request to the service, complete, and how it may be shown.
#[derive(Clone)]
pub struct Inquiry {
    /// What the answer is for.
    pub slot: AnswerSlot,
    /// The request, secrets included.
    pub request: Request,
    /// Its lines without the secrets.
    pub shown: Vec<String>,
}

impl std::fmt::Debug for Inquiry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:?}", self.slot, self.shown)
    }
}

impl Form<'_> {
    /// The next lookup that has no result yet; `None` if all have one. Every question must be answered. Fails where an
    /// answer makes its address impossible.
    pub fn inquiry(&self) -> Option<Result<Inquiry, String>> {
        let mut left = self.recipe.lookups.iter().flat_map(|lookup| {
            self.slots(&lookup.name, lookup.each).filter(|slot| !self.is_known(slot)).map(move |slot| (lookup, slot))
        });
        left.next().map(|(lookup, slot)| self.made(lookup, slot))
    }

    fn made(&self, lookup: &RecipeLookup, slot: AnswerSlot) -> Result<Inquiry, String> {
        let scope = slot.scope();
        let filled = |text: &str, reveal| self.filled(text, scope, reveal);
        let url = template::filled_url(&lookup.url, |_| false, |name| self.value(name, scope));
        let url = Url::parse(&url).map_err(|why| format!("the address to look up {} {why}", lookup.what))?;
        let headers = lookup.headers.iter().map(|(name, text)| (name.clone(), filled(text, true))).collect();
        let mut shown: Vec<String> =
            lookup.headers.iter().map(|(name, text)| format!("{name}: {}", filled(text, false))).collect();
        // A mask is no value to be encoded.
        let line = template::filled(&lookup.url, |name| self.shown(name, scope, false));
        shown.insert(0, format!("{} {}", lookup.method.as_str(), without_credentials(&line)));
        let mut body = None;
        if !lookup.form.is_empty() {
            let pairs = |reveal| lookup.form.iter().map(move |(name, text)| (name, filled(text, reveal)));
            let plain: Vec<String> = pairs(false).map(|(name, text)| format!("{name}={text}")).collect();
            shown.extend([String::new(), plain.join("&")]);
            body = Some(form(pairs(true)));
        }
        let format = if body.is_some() { Format::Form } else { Format::Json };
        let request = Request { url, method: lookup.method, headers, body, format, is_signed: false, stays: false };
        Ok(Inquiry { slot, request, shown })
    }

    /// Takes what a lookup was answered with. Fails with why it gives no result.
    pub fn found(&mut self, slot: &AnswerSlot, answer: &str) -> Result<(), String> {
        let Some(lookup) = self.recipe.lookups.iter().find(|lookup| lookup.name == slot.name()) else { return Ok(()) };
        let answer = parse(answer, Dialect::STRICT).map_err(|_| "the answer is not JSON".to_owned())?;
        let scope = slot.scope();
        let is_right = |item: &Node| {
            let holds = |(place, text): &(String, String)| {
                at(item, place).and_then(scalar).is_some_and(|value| value == self.filled(text, scope, true))
            };
            lookup.conditions.iter().all(holds)
        };
        let item = match &lookup.list {
            None => Some(&answer),
            Some(place) => match at(&answer, place).map(|node| &node.value) {
                Some(Value::Array(items)) => items.iter().find(|item| is_right(item)),
                // Some services leave the brackets out where there is only one.
                Some(Value::Object(_)) => at(&answer, place).filter(|item| is_right(item)),
                _ => return Err(format!("the answer has no list at `{place}`")),
            },
        };
        let Some(item) = item else { return Err(format!("the service knows no {}", self.sought(lookup, scope))) };
        let value = at(item, &lookup.value).and_then(scalar).filter(|value| is_plain(value));
        let value = value.ok_or_else(|| format!("the answer has no text at `{}`", lookup.value))?;
        self.keep(slot, &value);
        Ok(())
    }

    /// `such entry: type A, name home.example.com`: what was looked for.
    fn sought(&self, lookup: &RecipeLookup, scope: RecordScope<'_>) -> String {
        let parts: Vec<String> = lookup
            .conditions
            .iter()
            .map(|(place, text)| format!("{} {}", place.trim_start_matches('/'), self.filled(text, scope, false)))
            .collect();
        format!("such entry: {}", parts.join(", "))
    }
}

/// A form in the encoding of the WHATWG.
fn form<'a>(pairs: impl Iterator<Item = (&'a String, String)>) -> String {
    let pair = |(name, text): (&String, String)| {
        let mut out = format!("{name}=");
        push_form(&mut out, &text);
        out
    };
    pairs.map(pair).collect::<Vec<_>>().join("&")
}

/// An address whose user and password do not show.
fn without_credentials(url: &str) -> String {
    let Some((scheme, rest)) = split_scheme(url) else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{MASK}@{host}{path}"),
        None => url.to_owned(),
    }
}

/// Whether an id is one that can be shown and typed.
fn is_plain(id: &str) -> bool {
    !id.is_empty() && !id.chars().any(char::is_control)
}

/// What stands at a JSON pointer.
fn at<'a>(node: &'a Node, pointer: &str) -> Option<&'a Node> {
    // A pointer that is none was refused when the recipe was read.
    Pointer::parse(pointer)?.find(node)
}

fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::String(text) | Value::Number(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::named;
    use crate::update::domain::Domain;

    #[test]
    fn h12_a_lookup_that_is_shown_holds_no_secret() {
        let recipe = named("luadns").expect("a recipe");
        let domains = [vec![Domain::parse("home.example.com").expect("a domain")], Vec::new()];
        let mut form = Form::new(&recipe, domains).expect("a form");
        for (name, value) in [("user", "me@example.com"), ("password", "s3cret/?"), ("zone", "example.com")] {
            form.set(name, value).expect("an answer");
        }
        let inquiry = form.inquiry().expect("a lookup").expect("an address");
        assert_eq!(inquiry.shown, ["GET https://***@api.luadns.com/v1/zones"]);
        assert_eq!(inquiry.request.url.credentials, Some(("me@example.com".to_owned(), "s3cret/?".to_owned())));
        assert!(form.found(&inquiry.slot, r#"[{"name": "example.com", "id": "\u0007"}]"#).is_err());
        assert!(form.found(&inquiry.slot, r#"[{"name": "example.com"}]"#).is_err());
        assert!(form.found(&inquiry.slot, r#"{"error": "no"}"#).is_err());
        assert!(form.found(&inquiry.slot, r#""no""#).is_err_and(|why| why.contains("no list")));
        assert!(form.found(&inquiry.slot, "[").is_err());
        form.found(&inquiry.slot, r#"[{"name": "example.com", "id": 5}]"#).expect("an id");
        assert_eq!(form.known(&inquiry.slot), "5");
    }
}
