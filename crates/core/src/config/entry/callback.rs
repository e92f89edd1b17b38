//! The callback of an entry: `id`, `endpoint`, `method`, `headers`, `token`, and the values of placeholders.

use std::mem;

use super::super::fields::{Field, Key};
use super::super::value::{digits, document, is_empty_token, is_off, members, own_names};
use super::EntryBuilder;
use super::combine::combine;
use crate::callback::{
    Body, Callback, Format, Header, Method, RequestTemplate, Signing, Target, TargetError, Variables,
};
use crate::text::diagnostic::Severity;
use crate::text::json::{Dialect, Node, Span, Value, is_placeholder_name};
use crate::text::number::grouped;

/// What a warning says about a name without a value.
pub(crate) const NO_PLACEHOLDER: &str = "is not a placeholder: it is sent as it is";

/// The way out for a value in quotation marks: an env file of Docker keeps them.
const UNQUOTE: &str = "leave out the quotation marks around it";

/// How many headers a callback may add; servers refuse more.
const MAX_HEADERS: usize = 100;

impl EntryBuilder<'_, '_> {
    /// `None`: there is no valid URL, which is noted as an error.
    pub(super) fn callback(&mut self) -> Option<Callback> {
        let mut variables = self.variables();
        // The domains set their values later.
        for name in own_names(&self.reader.layers) {
            variables.declare(&name);
        }
        let steps = self.step_objects();
        self.take_names(&steps, &mut variables);
        let request = self.request(&variables, &["none"])?;
        let mut callback = Callback { request, variables, around: None };
        self.add_around(&steps, &mut callback);
        self.check_combine(&callback);
        Some(callback)
    }

    /// The callback of a notification, which has its own placeholders (I5).
    pub(in super::super) fn notice(&mut self) -> Option<Callback> {
        let variables = self.with_extra(Variables::of_notice());
        let request = self.request(&variables, &["none", "forget"])?;
        Some(Callback { request, variables, around: None })
    }

    /// One request. `not_here` are the parts of `expect` that it must not have.
    pub(super) fn request(&mut self, variables: &Variables, not_here: &[&str]) -> Option<RequestTemplate> {
        let mut unknown = Vec::new();
        let target = self.target(variables, &mut unknown);
        let headers = self.headers(variables, &mut unknown);
        let sign = self.sign(&headers);
        let body = self.body(variables, &mut unknown);
        let method = self.method(body.is_some());
        if body.is_none()
            && matches!(&sign, Some(Signing::Scheme(scheme)) if scheme.wants_content_type())
            && headers.iter().all(|header| header.name() != "Content-Type")
        {
            let message =
                "`sign`: the service accepts only requests with a `Content-Type`, and without `token` there is none";
            let hint = "add \"Content-Type\": \"application/x-www-form-urlencoded\" to `headers`";
            self.reader.warn_whole(Key::Sign, message, hint);
        }
        let expect = self.expect(variables, &mut unknown, not_here);
        self.warn_unknown(&unknown, variables);
        Some(RequestTemplate { target: target?, method, headers, body, sign, expect })
    }

    /// `method`; `None` if the body decides (A2).
    fn method(&mut self, has_body: bool) -> Option<Method> {
        let word = self.reader.text(Key::Method)?;
        let method = self.reader.or_wrong(Key::Method, &word, Method::parse(&word));
        if method == Some(Method::Get) && has_body {
            let message = "`method` is GET, but `token` is not empty: a GET has no body";
            let hint = "leave out `method` (POST), or put the values into the query of `id` and leave out `token`";
            self.reader.wrong_whole(Key::Method, message, hint);
        }
        method
    }

    /// `headers`, without invalid ones, which are noted as errors.
    fn headers(&mut self, variables: &Variables, unknown: &mut Vec<String>) -> Vec<Header> {
        let mut headers: Vec<Header> = Vec::new();
        let members = self.reader.headers(Key::Headers);
        if members.len() > MAX_HEADERS {
            let message =
                format!("`headers` has {} headers; at most {MAX_HEADERS} are allowed", grouped(members.len()));
            self.reader.wrong_whole(Key::Headers, message, "");
            return headers;
        }
        for member in members {
            let place = member.key_span;
            let Value::String(value) = &member.node.value else {
                let message = format!("`headers`: a value must be a string, not {}", member.node.value.kind());
                self.reader.wrong(Key::Headers, member.node.span, message, "");
                continue;
            };
            match Header::new(&member.key, value, variables, unknown) {
                Ok(header) if headers.iter().any(|known| known.name() == header.name()) => {
                    let message = format!("`headers`: `{}` is set twice", header.name());
                    let hint = "upper and lower case make no difference; remove one of them";
                    self.reader.wrong(Key::Headers, place, message, hint);
                }
                Ok(header) => headers.push(header),
                Err((why, hint)) => self.reader.wrong(Key::Headers, place, format!("`headers` {why}"), hint),
            }
        }
        headers
    }

    fn format(&mut self) -> Option<Format> {
        let word = self.reader.text(Key::Format)?;
        self.reader.or_wrong(Key::Format, &word, Format::parse(&word))
    }

    fn variables(&mut self) -> Variables {
        let mut variables = Variables::new(self.ttl(), self.line());
        variables.zones = self.zones();
        variables.combine = combine(&mut self.reader);
        self.with_extra(variables)
    }

    /// `ttl`, rounded: NewFuture/DDNS accepts fractions of a second, which DNS does not have.
    fn ttl(&mut self) -> Option<u32> {
        let written = self.reader.setting(Key::Ttl).and_then(|setting| digits(&setting.node.value));
        let exact = written.filter(|text| text.contains('.')).and_then(|text| text.parse::<f64>().ok());
        let Some(rounded) = exact.map(f64::round).filter(|rounded| rounded.fract() == 0.0 && *rounded >= 0.0) else {
            return self.reader.number(Key::Ttl, |_: &u32| true);
        };
        let text = format!("{rounded:.0}");
        if exact != Some(rounded) {
            self.reader.warn_whole(Key::Ttl, format!("`ttl` is rounded to {text} seconds"), "write a whole number");
        }
        self.reader.or_wrong(Key::Ttl, &text, text.parse().ok())
    }

    /// `line`: like NewFuture/DDNS, accepts several values, and uses the first.
    fn line(&mut self) -> Option<String> {
        let words = match self.reader.setting(Key::Line).map(|setting| &setting.node.value) {
            Some(Value::Number(number)) => return Some(number.clone()),
            Some(Value::Array(words)) => words,
            _ => return self.reader.text(Key::Line),
        };
        let Some(first) = words.first().and_then(|word| word.value.text()) else { return self.reader.text(Key::Line) };
        if words.len() > 1 {
            let message = format!("`line` has {} values: only the first one, `{first}`, is used", words.len());
            self.reader.warn_whole(Key::Line, message, "put a value that contains spaces in quotes");
        }
        Some(first.to_owned())
    }

    /// Adds the values of `extra`, except invalid ones, which are noted as errors.
    fn with_extra(&mut self, mut variables: Variables) -> Variables {
        if let Some(below) = self.reader.layers.below_extra() {
            let all = mem::replace(&mut self.reader.layers, below);
            variables = self.with_extra(variables);
            self.reader.layers = all;
        }
        let Some(Value::Object(members)) = self.reader.object(Key::Extra).map(|node| node.value) else {
            return variables;
        };
        if members.len() > Variables::MAX_EXTRA {
            let most = grouped(Variables::MAX_EXTRA);
            let message = format!("`extra` has {} members; at most {most} are allowed", grouped(members.len()));
            self.reader.wrong_whole(Key::Extra, message, "");
            return variables;
        }
        for member in members {
            let place = member.node.span;
            if !is_placeholder_name(&member.key) {
                let message = format!("`extra`: `{}` is not of the form `__NAME__`: it has no effect", member.key);
                self.reader.warn_whole(Key::Extra, message, "use capital letters between double underscores");
                continue;
            }
            let what = format!("`extra`: `{}`", member.key);
            // If the value is wrong, the name is known all the same: that is named once.
            let _ = variables.add(&member.key, Value::Bool(true));
            let Some(value) = self.resolved(Key::Extra, place, member.node.value, &what) else { continue };
            if let Some(name) = value.text().and_then(|text| variables.names().find(|name| text.contains(name))) {
                let message = format!("{what}: `{name}` is sent as it is: nothing is filled in inside a value");
                let hint = format!("write it in `id` or `token`, around `{}`", member.key);
                self.reader.note(Severity::Warning, Key::Extra, place, &message, &hint);
            }
            let added = variables.add(&member.key, value).map_err(|why| format!("{what} {why}"));
            self.reader.valid(Key::Extra, place, added, "");
        }
        variables
    }

    fn target(&mut self, variables: &Variables, unknown: &mut Vec<String>) -> Option<Target> {
        let before = self.errors();
        let endpoint = self.reader.text(Key::Endpoint).unwrap_or_default();
        let id = self.reader.text(Key::Id).unwrap_or_default();
        if self.errors() > before {
            return None;
        }
        match Target::new(&endpoint, &id, variables, unknown) {
            Ok(target) => {
                self.warn_target(&target, &endpoint, variables);
                return Some(target);
            }
            Err(TargetError::Empty) => {
                let hint = "set `id` to the URL to call, e.g. https://example.com/update?ip=__IP__&name=__DOMAIN__";
                self.missing("`id` and `endpoint` are both empty: there is no URL to call", hint);
            }
            Err(TargetError::Relative(likely)) => {
                let message = "`id` must start with http:// or https://, unless `endpoint` is set";
                let hint = match likely {
                    _ if id.trim_start().starts_with(['\'', '"']) => UNQUOTE.to_owned(),
                    Some(likely) => format!("did you mean {likely} ?"),
                    None => "write the whole URL: https://HOST/PATH, or https://USER:PASSWORD@HOST/PATH".to_owned(),
                };
                self.reader.wrong_whole(Key::Id, message, &hint);
            }
            Err(TargetError::Endpoint(why)) => {
                self.reader.wrong_whole(Key::Endpoint, format!("`endpoint` {why}"), "");
            }
            Err(TargetError::Id(why)) => self.reader.wrong_whole(Key::Id, format!("`id` {why}"), ""),
        }
        None
    }

    fn warn_target(&mut self, target: &Target, endpoint: &str, variables: &Variables) {
        for (key, has_fragment) in [(Key::Id, target.has_fragment()), (Key::Endpoint, endpoint.contains('#'))] {
            if has_fragment {
                let message = format!("`{}` has a `#`: what follows it is never sent", Field::of(key).name);
                self.reader.warn_whole(key, message, "write %23 for a `#` that is part of the address");
            }
        }
        if let Some(name) = variables.names().find(|name| endpoint.contains(name)) {
            let message = format!("`endpoint` contains {name}, but placeholders are not filled in there");
            self.reader.warn_whole(Key::Endpoint, message, "put it into `id` or `token`");
        }
    }

    pub(super) fn warn_unknown(&mut self, unknown: &[String], variables: &Variables) {
        for name in unknown {
            if variables.is_of_updates(name) {
                let message = format!("{name} has no meaning in `notify`: it is sent as it is");
                self.note(Severity::Warning, &message, &|| None);
                continue;
            }
            let near = || nearest_placeholder(name, variables).map(|near| format!("did you mean {near}?"));
            let hint = || variables.way_to(name).map(str::to_owned).or_else(near);
            self.note(Severity::Warning, &format!("{name} {NO_PLACEHOLDER}"), &hint);
        }
    }

    /// `token` in the form that `format` requires; `None` if it is empty (B7), or wrong.
    fn body(&mut self, variables: &Variables, unknown: &mut Vec<String>) -> Option<Body> {
        let format = self.format()?;
        let node = &self.reader.setting(Key::Token)?.node;
        read_body(format, node, variables, unknown).unwrap_or_else(|(at, message, hint)| {
            self.reader.wrong(Key::Token, at, message, hint);
            None
        })
    }
}

/// Why a `token` is not a valid body: place, message and hint.
type BodyMistake = (Span, String, &'static str);

/// A `token` in the form that a format requires; `None` if it is empty (B7).
pub(crate) fn read_body(
    format: Format,
    node: &Node,
    variables: &Variables,
    unknown: &mut Vec<String>,
) -> Result<Option<Body>, BodyMistake> {
    match format {
        Format::Json => json_body(node, variables, unknown),
        _ if is_empty_token(&node.value) => Ok(None),
        Format::Form => form_body(node, variables, unknown).map(Some),
        Format::Text => match &node.value {
            Value::String(text) => Ok(Some(Body::text(text, variables, unknown))),
            other => {
                let message = format!("`token` must be a string if `format` is `text`, not {}", other.kind());
                Err((node.span, message, ""))
            }
        },
    }
}

fn form_body(node: &Node, variables: &Variables, unknown: &mut Vec<String>) -> Result<Body, BodyMistake> {
    let form = members(&node.value, Dialect::TOKEN);
    let members = match (&form, &node.value) {
        (Some(members), _) => members,
        (None, Value::String(text)) => return Ok(Body::form_text(text, variables, unknown)),
        (None, other) => {
            let allowed = "an object, or a string such as `a=1&ip=__IP__`, if `format` is `form`";
            return Err((node.span, format!("`token` must be {allowed}, not {}", other.kind()), ""));
        }
    };
    Body::form(members, variables, unknown).map_err(|member| {
        let kind = member.node.value.kind();
        let message = format!("`token`: a value in a form must be a string, a number or a boolean, not {kind}");
        // Positions inside a string are not positions in the file.
        let place = if node.value.text().is_some() { node.span } else { member.node.span };
        (place, message, "")
    })
}

fn json_body(node: &Node, variables: &Variables, unknown: &mut Vec<String>) -> Result<Option<Body>, BodyMistake> {
    let text = node.value.text().unwrap_or_default();
    let quoted = text.trim_start().starts_with(['\'', '"']).then_some(UNQUOTE);
    let quoted = quoted.or(is_off(&node.value).then_some("leave `token` out to send a GET"));
    let document = document(node).map_err(|error| {
        let (at, all) = (text[..error.span.start].chars().count() + 1, text.chars().count());
        let place = if at > all { "at its end".to_owned() } else { format!("at character {at} of {all}") };
        let hint = "write a JSON object, or a string that contains one, e.g. {\"ip\": \"__IP__\"}";
        let hint = quoted.unwrap_or(hint);
        (node.span, format!("`token` is not JSON: {place}, {}", error.message), hint)
    })?;
    let Some(document) = document else { return Ok(None) };
    match Body::new(&document, variables, unknown) {
        Ok(Some(body)) => Ok(Some(body)),
        Ok(None) => {
            let (allowed, kind) = (Field::of(Key::Token).allowed, document.value.kind());
            Err((node.span, format!("`token` must be {allowed}, not {kind}"), quoted.unwrap_or_default()))
        }
        Err(placeholder) => {
            let message = match &placeholder.value {
                Value::Placeholder(name) if !text.is_empty() => {
                    let at = text.get(..placeholder.span.start).unwrap_or_default().chars().count() + 1;
                    format!("`token` is not JSON: at character {at}, {name} has no value")
                }
                _ => "`token` contains a placeholder without a value".to_owned(),
            };
            Err((node.span, message, "put it in double quotes to send it as it is"))
        }
    }
}

pub(super) fn nearest_placeholder<'a>(name: &str, variables: &'a Variables) -> Option<&'a str> {
    let name = name.to_ascii_uppercase();
    let likeness = |known: &&str| strsim::levenshtein(known, &name);
    variables.names().filter(|known| likeness(known) <= 3).min_by_key(likeness)
}
