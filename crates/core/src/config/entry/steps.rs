//! `before`, `absent` and `after`: requests around the update (H14 to H21). Each is read like an entry, from its own
//! fields, and from those of the entry that it does not set.

use std::time::Duration;

use super::super::fields::{Field, FieldUse, Key, names, used_by};
use super::super::layers::Layers;
use super::super::parts;
use super::super::raw::Raw;
use super::super::read::{SettingReader, did_you_mean};
use super::EntryBuilder;
use super::callback::nearest_placeholder;
use crate::callback::expect::{Expect, Pointer};
use crate::callback::steps::{Around, LookupStep, unknown_in};
use crate::callback::{Callback, Method, RequestTemplate, Variables};
use crate::net::url::{split_authority, split_scheme};
use crate::text::diagnostic::nearest;
use crate::text::duration;
use crate::text::json::{Member, Node, Span, Value, is_placeholder_name, pretty};

const MAX_STEPS: usize = 3;

/// The shortest and the longest `keep`.
const KEEP_RANGE: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(30 * 86_400)];

/// What a step does not inherit from the entry, but `absent` and `after` do.
const OWN_OF_STEP: [Key; 4] = [Key::Method, Key::Token, Key::Format, Key::Expect];

impl EntryBuilder<'_, '_> {
    /// The objects in `before`.
    pub(super) fn step_objects(&mut self) -> Vec<Node> {
        let steps = self.reader.objects(Key::Before);
        if steps.len() > MAX_STEPS {
            let message = format!("`before` has {} steps; at most {MAX_STEPS} are allowed", steps.len());
            self.reader.wrong_whole(Key::Before, message, "");
        }
        steps
    }

    /// Declares the placeholders that steps take values for.
    pub(super) fn take_names(&mut self, steps: &[Node], variables: &mut Variables) {
        for (at, step) in steps.iter().enumerate() {
            for (part, is_secret) in [("take", false), ("secret", true)] {
                for member in self.pairs(step, part) {
                    let name = member.node.value.text().unwrap_or_default();
                    let is_name = is_placeholder_name(name).then_some(()).ok_or("is not of the form `__NAME__`");
                    let taken = is_name.and_then(|()| variables.add_taken(name, is_secret, at));
                    let taken = taken.map_err(|why| format!("`before`: `{part}`: `{name}` {why}"));
                    self.reader.valid(Key::Before, member.node.span, taken, "");
                }
            }
        }
    }

    /// Puts `before`, `absent` and `after` around a callback.
    pub(super) fn add_around(&mut self, steps: &[Node], callback: &mut Callback) {
        let before = self.errors();
        let made: Vec<LookupStep> = steps.iter().filter_map(|step| self.step(step, &callback.variables)).collect();
        let [absent, after] = [Key::Absent, Key::After].map(|key| self.one(key, &callback.variables));
        if absent.is_some() && steps.is_empty() {
            let hint = "`before` looks for the record; `absent` is sent if there is none";
            self.reader.wrong_whole(Key::Absent, "`absent` has no effect without `before`", hint);
        }
        if self.errors() > before || made.is_empty() && after.is_none() {
            return;
        }
        callback.around = Some(Box::new(Around { before: made, absent, after }));
        self.check_order(steps, callback);
        self.check_origins(steps, callback);
    }

    /// `absent` or `after`.
    fn one(&mut self, key: Key, variables: &Variables) -> Option<RequestTemplate> {
        let setting = self.reader.setting(key)?;
        // `{}` sends the same request as the update.
        let objects = if setting.node.value.members().is_some_and(<[Member]>::is_empty) {
            vec![setting.node.clone()]
        } else {
            self.reader.objects(key)
        };
        let [object] = &objects[..] else {
            self.reader.wrong_whole(key, format!("`{}` must be one object", Field::of(key).name), "");
            return None;
        };
        self.refuse_unknown(key, object);
        self.template(key, object, variables, &["none"])
    }

    /// A request that inherits from the entry what it does not set.
    fn template(
        &mut self,
        key: Key,
        object: &Node,
        variables: &Variables,
        not_here: &[&str],
    ) -> Option<RequestTemplate> {
        let setting = self.reader.setting(key)?;
        let mut own = setting.inner(Field::of(key), object);
        let mut of_entry = Raw::default();
        let inherited = used_by(FieldUse::Step).map(|field| field.key).chain([Key::Endpoint]);
        for inherited in inherited.filter(|inherited| key != Key::Before || !OWN_OF_STEP.contains(inherited)) {
            if let Some(setting) = self.reader.setting(inherited) {
                of_entry.set(inherited, setting.node.clone(), setting.origin.clone());
            }
        }
        // A relative `id` belongs to the origin of the entry's `id`.
        let base = self.reader.setting(Key::Id).and_then(|setting| setting.node.value.text()).and_then(origin_text);
        if let (Some(base), Some(node)) = (base, own.get(Key::Id).map(|setting| setting.node.clone()))
            && let Some(path) = node.value.text().map(str::trim).filter(|path| split_scheme(path).is_none())
        {
            let slash = if path.starts_with(['/', '?']) { "" } else { "/" };
            let whole = Value::String(format!("{base}{slash}{path}"));
            own.set(Key::Id, Node { span: node.span, value: whole }, setting.origin.clone());
        }
        if own.get(Key::Sign).is_some_and(|setting| setting.node.value == Value::Bool(false)) {
            own.set(Key::Sign, Node { span: object.span, value: Value::Null }, setting.origin.clone());
        }
        let start = setting.start(Field::of(key), object);
        let reader =
            SettingReader { layers: Layers(vec![&own, &of_entry]), diagnostics: &mut *self.reader.diagnostics };
        let mut maker = EntryBuilder { reader, start: &start, around: self.around };
        maker.request(variables, not_here)
    }

    fn step(&mut self, object: &Node, variables: &Variables) -> Option<LookupStep> {
        self.refuse_unknown(Key::Before, object);
        let request = self.template(Key::Before, object, variables, &[])?;
        if !matches!(request.method(), Method::Get | Method::Post) {
            let place = member(object, "method").map_or(object.span, |node| node.span);
            self.reader.wrong(Key::Before, place, "`before`: a step only reads: `method` must be GET or POST", "");
        }
        if request.expect == Some(Expect::Dyndns2) {
            self.reader.wrong(Key::Before, object.span, "`before`: `expect` of a step must be an object", "");
        }
        let compared = |maker: &mut Self, part: &str| {
            let mut pairs: Vec<(Pointer, Value)> = Vec::new();
            for Member { key, key_span, node } in maker.pairs(object, part) {
                let mut unknown = Vec::new();
                unknown_in(&node.value, variables, &mut unknown);
                for name in unknown {
                    // Nothing would match, and `absent` would make a record each time.
                    let message = format!("`before`: `{part}`: {name} is not a placeholder");
                    let near = || nearest_placeholder(&name, variables).map(|near| format!("did you mean {near}?"));
                    let hint = variables.way_to(&name).map(str::to_owned).or_else(near);
                    let hint = hint.unwrap_or_else(|| "give it a value in `extra`".to_owned());
                    maker.reader.wrong(Key::Before, node.span, message, &hint);
                }
                pairs.extend(maker.pointer(&key, key_span).map(|pointer| (pointer, node.value)));
            }
            pairs
        };
        let (wanted, left_out, same) = (compared(self, "where"), compared(self, "not"), compared(self, "same"));
        let mut take = Vec::new();
        for Member { key, key_span, node } in ["take", "secret"].map(|part| self.pairs(object, part)).concat() {
            let place = node.value.text().and_then(|name| variables.taken_place(name));
            take.extend(self.pointer(&key, key_span).zip(place));
        }
        let (total, next) = (self.at(object, "total"), self.next(object));
        let is_about_list = !(wanted.is_empty() && left_out.is_empty()) || total.is_some() || next.is_some();
        if is_about_list && member(object, "in").is_none() {
            let message = "`before`: `where`, `not`, `total` and `next` are about a list: `in` says where it is";
            self.reader.wrong(Key::Before, object.span, message, "\"in\": \"\" is the whole answer");
        }
        let keep = self.keep(object);
        if keep.is_some() && !(same.is_empty() && left_out.is_empty()) {
            let message = "`before`: a step with `same` or `not` is sent each time";
            self.reader.wrong(Key::Before, object.span, message, "leave out `keep`");
        }
        Some(LookupStep {
            request,
            list: self.at(object, "in"),
            wanted,
            left_out,
            total,
            next,
            same,
            take,
            keep,
            written: written(object),
        })
    }

    /// A placeholder that a step takes must not be used before it has a value.
    fn check_order(&mut self, steps: &[Node], callback: &Callback) {
        let Some(around) = &callback.around else { return };
        for (at, (step, object)) in around.before.iter().zip(steps).enumerate() {
            let early = callback.too_early(&step.request, Some(step), Some(at));
            if let Some(name) = early {
                let message = format!("`before`: step {} uses {name}, which no step before it takes", at + 1);
                self.reader.wrong(Key::Before, object.span, message, "");
            }
        }
        if let Some(name) =
            around.absent.as_ref().and_then(|it| callback.too_early(it, None, around.before.len().checked_sub(1)))
        {
            let message = format!("`absent` uses {name}, which has no value if the last step finds nothing");
            self.reader.wrong_whole(Key::Absent, message, "fields that it does not set are those of the entry");
        }
    }

    /// All requests go to the origin of the update, so that no other host receives its keys.
    fn check_origins(&mut self, steps: &[Node], callback: &Callback) {
        let Some(around) = &callback.around else { return };
        let origin = |template: &RequestTemplate| template.target.fixed_origin(&callback.variables);
        let own = origin(&callback.request);
        let before = around.before.iter().zip(steps).enumerate().map(|(at, (step, object))| {
            let place = member(object, "id").map_or(object.span, |node| node.span);
            (Key::Before, format!("`before`: step {}", at + 1), &step.request, Some(place))
        });
        let others = [(Key::Id, Some(&callback.request)), (Key::Absent, around.absent.as_ref())];
        let others = others.into_iter().chain([(Key::After, around.after.as_ref())]);
        let others = others.filter_map(|(key, it)| Some((key, format!("`{}`", Field::of(key).name), it?, None)));
        for (key, name, template, place) in others.chain(before) {
            let place = place.or_else(|| self.reader.setting(key).map(|setting| setting.node.span));
            let Some(place) = place else { continue };
            if callback.takes_host(template) {
                let message = format!("{name}: the host must not come from a step: the request could go anywhere");
                return self.reader.wrong(key, place, message, "");
            }
            if own.is_some() && origin(template).is_some_and(|other| Some(other) != own) {
                let other = template.target.origin(&callback.variables);
                let message = format!("{name} goes to {other}, which is not the origin of `id`");
                self.reader.wrong(key, place, message, "all requests of an update must go to the same origin");
            }
        }
    }

    /// Unwraps what a value of a step means, or notes why it is wrong.
    fn valid<T>(&mut self, at: Span, meant: Option<T>, why: impl FnOnce() -> String, hint: &str) -> Option<T> {
        self.reader.valid(Key::Before, at, meant.ok_or_else(|| format!("`before`: {}", why())), hint)
    }

    /// The members of a part that is an object of JSON pointers.
    fn pairs(&mut self, object: &Node, part: &str) -> Vec<Member> {
        let Some(node) = member(object, part) else { return Vec::new() };
        let must = || format!("`{part}` must be an object, not {}", node.value.kind());
        let members = self.valid(node.span, node.value.members(), must, "e.g. {\"/name\": \"__DOMAIN__\"}");
        members.unwrap_or_default().to_vec()
    }

    fn pointer(&mut self, text: &str, at: Span) -> Option<Pointer> {
        self.valid(at, Pointer::parse(text), || format!("`{text}` is not a JSON pointer"), Pointer::FORM)
    }

    /// A part that is a JSON pointer.
    fn at(&mut self, object: &Node, part: &str) -> Option<Pointer> {
        self.pointer_in(member(object, part)?, part)
    }

    fn pointer_in(&mut self, node: &Node, part: &str) -> Option<Pointer> {
        let must = || format!("`{part}` must be a JSON pointer, not {}", node.value.kind());
        let text = self.valid(node.span, node.value.text(), must, "")?;
        self.pointer(text, node.span)
    }

    fn next(&mut self, object: &Node) -> Option<(Pointer, String)> {
        let node = member(object, "next")?;
        let parts = member(node, "at").zip(member(node, "as"));
        let must = || "`next` must be an object with `at` and `as`".to_owned();
        let hint = "e.g. {\"at\": \"/meta/next\", \"as\": \"cursor\"}";
        let (at, parameter) = self.valid(node.span, parts, must, hint)?;
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.[]".contains(&byte);
        let name = parameter.value.text().filter(|name| !name.is_empty() && name.bytes().all(is_letter));
        let must = || "`next.as` must be the name of a parameter".to_owned();
        let name = self.valid(parameter.span, name, must, "");
        Some((self.pointer_in(at, "next.at")?, name?.to_owned()))
    }

    fn keep(&mut self, object: &Node) -> Option<Duration> {
        let node = member(object, "keep")?;
        let keep =
            node.value.text().and_then(duration::parse).filter(|keep| (KEEP_RANGE[0]..=KEEP_RANGE[1]).contains(keep));
        let must = || "`keep` must be a time from 10 s to 30 days".to_owned();
        self.valid(node.span, keep, must, "e.g. \"10m\", \"1d\"")
    }

    fn refuse_unknown(&mut self, key: Key, object: &Node) {
        let field = Field::of(key);
        let known = || used_by(FieldUse::Step).map(|field| field.name).chain(names(field.parts));
        for member in object.value.members().unwrap_or_default() {
            if !known().any(|name| name == member.key) {
                let hint = did_you_mean(nearest(&member.key, known()));
                let message = format!("`{}` has no field `{}`", field.name, member.key);
                self.reader.wrong(key, member.key_span, message, &hint);
            }
        }
    }
}

/// A part that is set.
fn member<'n>(object: &'n Node, name: &str) -> Option<&'n Node> {
    parts::member(object.value.members().unwrap_or_default(), name)
}

/// What a step has besides its request, except `keep`: part of the key of the cache.
fn written(object: &Node) -> String {
    let is_meant =
        |member: &&Member| names(Field::of(Key::Before).parts).any(|name| name == member.key && name != "keep");
    let members = object.value.members().unwrap_or_default().iter().filter(is_meant).cloned().collect();
    pretty(&Value::Object(members))
}

/// Scheme, host and port of a URL, as written.
fn origin_text(id: &str) -> Option<&str> {
    let id = id.trim();
    let (_, rest) = split_scheme(id)?;
    let (_, after) = split_authority(rest);
    Some(&id[..id.len() - after.len()])
}
