//! Puts secrets back by their places. A place is the way to a value: keys of objects, and elements of lists, which are found
//! again where they were moved. Inside of a value it is what stands before the `***`.

use std::collections::HashMap;
use std::ops::Range;

use super::{Edit, Finding, Mark, Masked, comments, error, hide};
use crate::config::fields::Key;
use crate::text::json::{Dialect, Node, Span, TokenKind, Value, first_token, parse, pretty};
use crate::text::secrets::MASK;
use crate::web::check::Spot;

/// Where a setting stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Layer {
    /// Outside of `providers`.
    File,
    /// In the entry of this number.
    Entry(usize),
}

/// A setting: none for what is no field.
pub(super) type Place = (Layer, Option<Key>);

/// The text with its secrets, and where they were put.
pub(super) struct Restored {
    pub(super) text: String,
    pub(super) findings: Vec<Finding>,
    pub(super) puts: Vec<Put>,
}

/// One secret that was put back.
pub(super) struct Put {
    /// The `***` in the text from the browser.
    pub(super) edited: Range<usize>,
    /// The secret in the restored text.
    pub(super) restored: Range<usize>,
    /// Where it stood, and stands now; none in a comment.
    pub(super) from: Option<Place>,
    pub(super) to: Option<Place>,
    /// The values that it stood in, and stands in now, as the browser sees them.
    pub(super) values: (String, String),
}

const NOTHING: &str = "nothing is behind this `***`: it stands for a secret only where one stood before";
const UNCLEAR: &str = "it is not clear which secret this `***` stands for";
const TYPE_IT: &str = "type the secret itself";

/// Puts back what is behind each `***`.
pub(super) fn restore(edit: &Edit<'_>, root: &Node) -> Restored {
    let masked = Masked::of(edit.old);
    let mut matcher = Matcher {
        old: &masked,
        new: edit.edited,
        puts: Vec::new(),
        used: vec![false; masked.marks.len()],
        findings: Vec::new(),
    };
    if let Ok(old_root) = parse(&masked.text, Dialect::CONFIG) {
        matcher.node(Some((&old_root, (Layer::File, None))), root, (Layer::File, None), 0);
        matcher.comments();
    }
    let Matcher { mut puts, mut findings, .. } = matcher;
    puts.sort_by_key(|(put, _)| put.edited.start);
    let (mut text, mut at) = (String::with_capacity(edit.old.len()), 0);
    let mut placed = Vec::with_capacity(puts.len());
    for (mut put, mark) in puts {
        text += &edit.edited[at..put.edited.start];
        let start = text.len();
        text += &masked.marks[mark].source;
        put.restored = start..text.len();
        at = put.edited.end;
        placed.push(put);
    }
    text += &edit.edited[at..];
    findings.extend(seen(edit, &text, &placed));
    Restored { text, findings, puts: placed }
}

/// Secrets that would be seen where they stand now: a browser could have moved them there.
fn seen(edit: &Edit<'_>, text: &str, puts: &[Put]) -> Vec<Finding> {
    let hidden = hide::hidden(text);
    let is_hidden = |put: &&Put| {
        let at = hidden.partition_point(|hidden| hidden.range.end < put.restored.end);
        hidden.get(at).is_some_and(|hidden| hidden.range.start <= put.restored.start)
    };
    let wrong = puts.iter().filter(|put| !is_hidden(put));
    let message = "here everybody could see what is behind this `***`";
    wrong.map(|put| error(edit.edited, span(&put.edited), message, TYPE_IT)).collect()
}

fn span(range: &Range<usize>) -> Span {
    Span { start: range.start, end: range.end }
}

impl Restored {
    /// A finding about the restored text, with its place in the text from the browser.
    pub(super) fn moved(&self, mut finding: Finding, edited: &str) -> Finding {
        if let Some(spot) = &mut finding.spot {
            let Span { start, end } = spot.span;
            *spot = Spot::of(edited, Span { start: self.back(start, false), end: self.back(end, true) });
        }
        finding
    }

    /// Where something of the restored text stands in the text from the browser.
    pub(super) fn back(&self, at: usize, is_end: bool) -> usize {
        let Some(put) = self.puts.iter().rfind(|put| put.restored.start < at || (put.restored.start == at && !is_end))
        else {
            return at;
        };
        match at {
            at if at >= put.restored.end => at - put.restored.end + put.edited.end,
            _ if is_end => put.edited.end,
            _ => put.edited.start,
        }
    }
}

struct Matcher<'a> {
    old: &'a Masked,
    new: &'a str,
    /// What is put back, each with the number of its mark.
    puts: Vec<(Put, usize)>,
    /// The marks that were found again.
    used: Vec<bool>,
    findings: Vec<Finding>,
}

impl Matcher<'_> {
    /// Finds the values of a node again in the one that it was before. `depth` counts objects and lists around it.
    fn node(&mut self, old: Option<(&Node, Place)>, new: &Node, to: Place, depth: usize) {
        if !self.new[new.span.start..new.span.end].contains(MASK) {
            return;
        }
        match (&new.value, old.map(|(node, from)| (&node.value, node, from))) {
            (Value::Object(members), old) => {
                let before = old.and_then(|(value, _, from)| Some((value.members()?, from)));
                let mut counts: HashMap<&str, usize> = HashMap::new();
                for member in members {
                    let count = counts.entry(&member.key).or_default();
                    let same = before.and_then(|(members, from)| {
                        let found = members.iter().filter(|other| other.key == member.key).nth(*count)?;
                        Some((&found.node, place_of(from, &member.key, depth)))
                    });
                    *count += 1;
                    self.node(same, &member.node, place_of(to, &member.key, depth), depth + 1);
                }
            }
            (Value::Array(items), Some((Value::Array(before), _, from))) => {
                for (at, found) in self.aligned(before, items).into_iter().enumerate() {
                    let to = entry_of(to, at, depth);
                    match found {
                        Found::Nothing => self.node(None, &items[at], to, depth + 1),
                        Found::Same(number) => {
                            let from = entry_of(from, number, depth);
                            self.node(Some((&before[number], from)), &items[at], to, depth + 1);
                        }
                        Found::Unclear => self.unclear(&items[at]),
                    }
                }
            }
            (Value::Array(items), _) => {
                for (at, item) in items.iter().enumerate() {
                    self.node(None, item, entry_of(to, at, depth), depth + 1);
                }
            }
            (Value::String(_), Some((Value::String(_), node, from))) => self.value(node, from, new, to),
            (Value::String(_), _) => self.nothing(new),
            _ => {}
        }
    }

    fn wrong(&mut self, range: Range<usize>, message: &str) {
        self.findings.push(error(self.new, span(&range), message, TYPE_IT));
    }

    fn nothing(&mut self, node: &Node) {
        for range in masks(self.new, node.span) {
            self.wrong(range, NOTHING);
        }
    }

    fn unclear(&mut self, node: &Node) {
        for range in masks(self.new, node.span) {
            self.wrong(range, UNCLEAR);
        }
    }

    /// The secrets of one value.
    fn value(&mut self, old: &Node, from: Place, new: &Node, to: Place) {
        let numbers = self.old.marks_in(old.span);
        let texts =
            (self.old.text[old.span.start..old.span.end].to_owned(), self.new[new.span.start..new.span.end].to_owned());
        let put = |this: &mut Self, edited: Range<usize>, number: usize| {
            this.used[number] = true;
            let put = Put { edited, restored: 0..0, from: Some(from), to: Some(to), values: texts.clone() };
            this.puts.push((put, number));
        };
        if numbers.len() == 1 && self.old.marks[numbers.start].length > MASK.len() {
            // A number, whose quotes are ours.
            if texts.0 == texts.1 {
                put(self, new.span.start..new.span.end, numbers.start);
            } else {
                self.nothing(new);
            }
            return;
        }
        let places = masks(self.new, new.span);
        if numbers.len() == 1 && places.len() == 1 {
            return put(self, places[0].clone(), numbers.start);
        }
        let before: Vec<Label<'_>> =
            numbers.clone().map(|number| label(&self.old.text, old.span.start, self.old.marks[number].at)).collect();
        let now: Vec<Label<'_>> = places.iter().map(|place| label(self.new, new.span.start, place.start)).collect();
        for (at, place) in places.iter().enumerate() {
            let same: Vec<usize> = (0..before.len()).filter(|number| before[*number] == now[at]).collect();
            let equal = now.iter().filter(|label| **label == now[at]).count();
            let nth = now[..at].iter().filter(|label| **label == now[at]).count();
            let source = |number: usize| &self.old.marks[numbers.start + number].source;
            let is_one = same.windows(2).all(|pair| source(pair[0]) == source(pair[1]));
            match same.get(nth).or(same.first()) {
                None => self.wrong(place.clone(), NOTHING),
                Some(number) if is_one || same.len() == equal => put(self, place.clone(), numbers.start + number),
                Some(_) => self.wrong(place.clone(), UNCLEAR),
            }
        }
    }

    /// For each element of a list, the one that it was before: equal ones in their order, then the one that has most in common.
    fn aligned(&self, old: &[Node], new: &[Node]) -> Vec<Found> {
        /// More are compared by their places alone.
        const MOST: usize = 200;
        let has_mask = |text: &str, node: &Node| text[node.span.start..node.span.end].contains(MASK);
        let mut left_old: Vec<usize> = (0..old.len()).filter(|at| has_mask(&self.old.text, &old[*at])).collect();
        let mut left_new: Vec<usize> = (0..new.len()).filter(|at| has_mask(self.new, &new[*at])).collect();
        let mut found: Vec<Found> = new.iter().map(|_| Found::Nothing).collect();
        let mut equal: HashMap<String, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for at in &left_old {
            equal.entry(pretty(&old[*at].value)).or_default().0.push(*at);
        }
        for at in &left_new {
            equal.entry(pretty(&new[*at].value)).or_default().1.push(*at);
        }
        for (before, now) in equal.into_values().filter(|(before, now)| !before.is_empty() && !now.is_empty()) {
            let is_one = before.windows(2).all(|pair| self.sources(&old[pair[0]]) == self.sources(&old[pair[1]]));
            for (nth, at) in now.iter().enumerate() {
                found[*at] = match before.get(nth) {
                    _ if is_one => Found::Same(before[nth.min(before.len() - 1)]),
                    Some(number) if before.len() == now.len() => Found::Same(*number),
                    _ => Found::Unclear,
                };
            }
            left_old.retain(|at| !before.contains(at));
            left_new.retain(|at| !now.contains(at));
        }
        if let ([before], [now]) = (left_old.as_slice(), left_new.as_slice()) {
            found[*now] = Found::Same(*before);
            return found;
        }
        let is_small = left_old.len() <= MOST && left_new.len() <= MOST;
        let scalars = |nodes: &[Node], left: &[usize]| -> Vec<Vec<String>> {
            left.iter().map(|at| if is_small { scalars_of(&nodes[*at]) } else { Vec::new() }).collect()
        };
        let (before, now) = (scalars(old, &left_old), scalars(new, &left_new));
        for (at, words) in left_new.iter().zip(&now) {
            let scores: Vec<usize> =
                before.iter().map(|other| words.iter().filter(|word| other.contains(word)).count()).collect();
            let best = scores.iter().copied().max().unwrap_or(0);
            let tied: Vec<usize> = (0..scores.len()).filter(|number| scores[*number] == best).collect();
            let by_place = || left_old.iter().position(|number| number == at && old.len() == new.len());
            let chosen = match tied.as_slice() {
                [only] if best > 0 => Some(*only),
                _ => by_place().filter(|number| tied.contains(number)),
            };
            found[*at] = match chosen {
                Some(number) => Found::Same(left_old[number]),
                None if left_old.is_empty() => Found::Nothing,
                None => Found::Unclear,
            };
        }
        // What two of them seem to have been is neither for sure.
        for at in &left_new {
            let Found::Same(number) = found[*at] else { continue };
            let is_other =
                |other: &&usize| *other != at && matches!(found[**other], Found::Same(same) if same == number);
            if left_new.iter().any(|other| is_other(&other)) {
                let twins: Vec<usize> = left_new
                    .iter()
                    .copied()
                    .filter(|other| matches!(found[*other], Found::Same(same) if same == number))
                    .collect();
                for twin in twins {
                    found[twin] = Found::Unclear;
                }
            }
        }
        found
    }

    /// The secrets of a node.
    fn sources(&self, node: &Node) -> Vec<&str> {
        self.old.marks[self.old.marks_in(node.span)].iter().map(|mark| mark.source.as_str()).collect()
    }

    /// Comments are found again by what stands before the `***` on its line, whether it was a comment or a value that was
    /// commented out. What is not found stays as it is: nothing happens by a comment.
    fn comments(&mut self) {
        let mut left: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, mark) in self.old.marks.iter().enumerate().rev().filter(|(number, _)| !self.used[*number]) {
            left.entry(line_before(&self.old.text, mark.at).to_owned()).or_default().push(number);
        }
        let mut at = 0;
        while at < self.new.len() {
            let (length, kind) = first_token(&self.new[at..], true);
            if kind == TokenKind::Comment {
                let inside = comments::inside(self.new, at..at + length);
                for range in masks(self.new, Span { start: inside.start, end: inside.end }) {
                    let numbers = left.get_mut(line_before(self.new, range.start));
                    let Some(number) = numbers.and_then(Vec::pop) else { continue };
                    // A number that was commented out takes its quotes along.
                    let Mark { length, .. } = &self.old.marks[number];
                    let is_quoted = self.new[..range.start].ends_with('"') && self.new[range.end..].starts_with('"');
                    let quote = if is_quoted { (length - MASK.len()) / 2 } else { 0 };
                    let edited = range.start - quote..range.end + quote;
                    let put = Put { edited, restored: 0..0, from: None, to: None, values: Default::default() };
                    self.puts.push((put, number));
                }
            }
            at += length.max(1);
        }
    }
}

/// What an element of a list was before.
enum Found {
    Nothing,
    Same(usize),
    /// One of several, and they differ.
    Unclear,
}

/// Every `***` in a stretch of a text.
fn masks(text: &str, within: Span) -> Vec<Range<usize>> {
    let found = text[within.start..within.end].match_indices(MASK);
    found.map(|(at, _)| within.start + at..within.start + at + MASK.len()).collect()
}

/// What tells the `***` of one value apart: the mark before the name that leads to it, and the name.
type Label<'a> = (Option<char>, &'a str);

fn label(text: &str, start: usize, at: usize) -> Label<'_> {
    let before = &text[start..at];
    match before.rfind(['&', '?', '#', '/', ',', '{', '[']) {
        Some(mark) => match before[mark..].chars().next() {
            // The first parameter may have become another.
            Some('&' | '?') => (Some('?'), &before[mark + 1..]),
            first => (first, &before[mark + 1..]),
        },
        None => (None, before),
    }
}

/// What stands before a place on its line, without what makes it a comment.
fn line_before(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[start..at]
        .trim_start_matches(|letter: char| letter.is_whitespace() || "/#*".contains(letter))
        .trim_end_matches('"')
}

/// All scalars below a node, with the keys that lead to them.
fn scalars_of(node: &Node) -> Vec<String> {
    fn walk(node: &Node, way: &str, all: &mut Vec<String>) {
        match &node.value {
            Value::Object(members) => {
                for member in members {
                    walk(&member.node, &format!("{way}/{}", member.key), all);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, way, all)),
            value => all.push(format!("{way} {}", pretty(value))),
        }
    }
    let mut all = Vec::new();
    walk(node, "", &mut all);
    all
}

/// The place of a member: the fields of a file, and of its entries.
fn place_of((layer, key): Place, name: &str, depth: usize) -> Place {
    let is_field = depth == 0 || (depth == 2 && matches!(layer, Layer::Entry(_)));
    if is_field { (layer, hide::field(name).map(|field| field.key)) } else { (layer, key) }
}

/// The place of an element: an entry of the file, where the list is one of entries.
fn entry_of((layer, key): Place, number: usize, depth: usize) -> Place {
    if depth == 1 && key == Some(Key::Providers) { (Layer::Entry(number), None) } else { (layer, key) }
}
