//! The questions of set-up at a terminal, or over a pipe: one line each, plain text for every screen and screen reader.

use std::io;

use ddns_core::config::starter;
use ddns_core::config::validate::Valid;
use ddns_core::recipe;
use ddns_core::set_up::{ServiceChoice, SetUp, SetUpQuestion};
use ddns_core::text::diagnostic::Diagnostic;

use super::{BothLooked, key_file, look, show, show_broken};
use crate::environment::Environment;
use crate::hidden_prompt::ask;
use crate::http::Client;
use crate::output::layout::{beside, width_of};
use crate::output::{fail, say};
use crate::set_up::{ask_around, send_once};

const INTRO: &str = "A few questions. Enter accepts what is in [brackets]; < goes back one question, << two. Nothing is sent \
                     before you say so, and nothing is written before the end.";

const SERVICE: &str = "Which service has your domain? Type a few letters, such as noip, cloudflare or fritz, and Enter; 0 is a URL \
                       of your own, ? lists all services.";

/// An answer of these characters alone goes back, one question for each.
const BACK: char = '<';

const FIRST: &str = "This is the first question.";

/// The column in which the description of a service begins.
const COLUMN: usize = 32;

/// The decision after the last question.
pub(super) enum SendChoice {
    /// By this many questions.
    GoBack(usize),
    Done,
}

/// A conversation, and its lookups.
pub(super) struct Dialog<'a> {
    client: &'a Client,
    is_offline: bool,
    /// Whether questions are asked; otherwise, options and suggestions answer them.
    is_on: bool,
    was_surveyed: bool,
    /// The recipe whose rules were shown last.
    told: Option<String>,
    pub(super) looked: BothLooked,
}

impl<'a> Dialog<'a> {
    pub(super) fn new(client: &'a Client, is_offline: bool) -> Self {
        Self { client, is_offline, is_on: false, was_surveyed: false, told: None, looked: BothLooked::default() }
    }

    pub(super) fn begin(&mut self) {
        self.is_on = true;
        show_broken(INTRO, 0);
    }

    /// Asks the remaining questions. Fails at the end of the input.
    pub(super) async fn ask_all(&mut self, set_up: &mut SetUp) -> Result<(), u8> {
        while self.is_on {
            if set_up.needs_service() {
                ask_service(set_up)?;
                continue;
            }
            let Some(question) = set_up.question() else { break };
            if let Some(family) = question.family.filter(|_| !self.is_offline && !self.was_surveyed) {
                self.was_surveyed = true;
                show("\nLooking for this host's addresses …\n");
                ask_around(&mut set_up.survey, family, self.client).await;
                continue;
            }
            self.ask(set_up, &question).await?;
        }
        Ok(())
    }

    async fn ask(&mut self, set_up: &mut SetUp, question: &SetUpQuestion) -> Result<(), u8> {
        show("\n");
        match &question.help {
            help if help.starts_with(char::is_lowercase) => show_broken(&format!("{}: {help}.", question.label), 0),
            help if !help.is_empty() => show_broken(help, 0),
            _ => {}
        }
        let brackets = match (&question.suggested, question.is_secret) {
            (Some(_), true) => " [as before] (not shown)".to_owned(),
            (None, true) => " (not shown)".to_owned(),
            (Some(suggested), false) => format!(" [{suggested}]"),
            (None, false) => String::new(),
        };
        let typed = answer(&format!("{}{brackets}: ", question.label), question.is_secret)?;
        if let Some(count) = steps_back(&typed) {
            if (0..count).filter(|_| set_up.back()).count() == 0 {
                show_broken(FIRST, 2);
            }
            return Ok(());
        }
        let typed = if question.is_file && !typed.trim().is_empty() { key_file(&typed) } else { Ok(typed) };
        match typed.and_then(|typed| set_up.answer(&typed)) {
            Ok(notes) => notes.iter().for_each(|note| show_broken(note, 2)),
            Err(why) => {
                show_broken(&why, 2);
                return Ok(());
            }
        }
        let Some(family) = question.family.filter(|_| !self.is_offline) else { return Ok(()) };
        let Ok((config, _)) = starter::checked(&set_up.settings()) else { return Ok(()) };
        let entry = config.entries.first().filter(|entry| !entry.domains_of(family).is_empty());
        let Some(entry) = entry else { return Ok(()) };
        let looked = &mut self.looked[family.index()];
        let is_new = looked.sources != entry.sources_of(family);
        look(entry, family, looked, self.client).await;
        if looked.ip.is_some() || looked.sources.is_empty() {
            return Ok(());
        }
        // The same answer a second time is intended.
        if is_new && set_up.back() {
            show_broken("It gave no address. Enter keeps it all the same; or type another source, or none.", 2);
        } else {
            show_broken("It is kept, although it gave no address.", 2);
        }
        Ok(())
    }

    /// Shows the rules of the service, once: after its questions, and before anything is sent.
    pub(super) fn tell_rules(&mut self, set_up: &SetUp) {
        let recipe = set_up.recipe().filter(|recipe| self.is_on && !recipe.rules.is_empty());
        let Some(recipe) = recipe.filter(|recipe| self.told.as_ref() != Some(&recipe.name)) else { return };
        self.told = Some(recipe.name.clone());
        show("\n");
        show_broken(&format!("About {}:", recipe.title), 0);
        for rule in &recipe.rules {
            show(&beside("  -", rule, 4, width_of(io::stdout())));
        }
    }

    /// Asks the last question again, because the answers make no valid configuration. `false` if nobody can be asked.
    pub(super) fn goes_back(&self, set_up: &mut SetUp, wrong: &[Diagnostic]) -> bool {
        let may = self.is_on && set_up.back();
        if may {
            for diagnostic in wrong {
                show_broken(&diagnostic.message, 2);
            }
        }
        may
    }

    /// Offers to send everything once. The end of the input means no, so that the answers are not lost.
    pub(super) async fn send(&self, valid: Valid, environment: &Environment) -> SendChoice {
        if !self.is_on || self.is_offline || self.looked.iter().all(|looked| looked.ip.is_none()) {
            return SendChoice::Done;
        }
        loop {
            let typed = ask("\nSend it once now? yes, no or < [yes]: ", false).ok().flatten();
            if let Some(count) = typed.as_deref().and_then(steps_back) {
                return SendChoice::GoBack(count);
            }
            match typed.as_deref().map_or("no", str::trim).to_ascii_lowercase().as_str() {
                "" | "y" | "yes" => break,
                "n" | "no" => return SendChoice::Done,
                _ => show_broken("Please answer yes, no or <.", 2),
            }
        }
        let sent = send_once(valid, self.client, environment).await;
        for one in &sent {
            let ip = self.looked[one.about.family.index()].ip.map(|ip| format!(" {ip}")).unwrap_or_default();
            let how = match (one.is_sent, one.is_accepted) {
                (false, _) => "Not sent",
                (true, true) => "Sent once, accepted",
                (true, false) => "Sent once, not accepted",
            };
            show_broken(&format!("{how}: {}{ip} ({})", one.about, one.words), 2);
            if !one.is_accepted && !one.text.trim().is_empty() {
                show_broken(&format!("The service says: {}", one.text), 2);
            }
        }
        if sent.is_empty() {
            show_broken("Nothing was sent: the service accepted this address before.", 2);
        }
        if sent.iter().all(|one| one.is_accepted) {
            return SendChoice::Done;
        }
        show_broken(
            "An answer may be wrong: < goes back one question, << two, and so on; Enter keeps each answer that is right. To \
             keep the file all the same, type write.",
            0,
        );
        loop {
            match ask("\nGo back, or write the file? < or write [<]: ", false) {
                Ok(Some(typed)) if typed.trim().eq_ignore_ascii_case("write") => return SendChoice::Done,
                Ok(Some(typed)) if typed.trim().is_empty() => return SendChoice::GoBack(1),
                Ok(Some(typed)) => match steps_back(&typed) {
                    Some(steps) => return SendChoice::GoBack(steps),
                    None => show_broken("Please answer < or write.", 2),
                },
                _ => return SendChoice::Done,
            }
        }
    }
}

/// Asks for the service, and lists the matches if there are several.
fn ask_service(set_up: &mut SetUp) -> Result<(), u8> {
    show("\n");
    if set_up.listed().is_empty() {
        show_broken(SERVICE, 0);
    }
    let prompt = match (set_up.listed(), set_up.only_listed()) {
        ([], _) => "Service: ",
        (_, Some(_)) => "Service, by its number or by more letters [1]: ",
        (_, None) => "Service, by its number or by more letters: ",
    };
    let typed = answer(prompt, false)?;
    if steps_back(&typed).is_some() {
        show_broken(FIRST, 2);
        return Ok(());
    }
    match set_up.choose(&typed) {
        ServiceChoice::Taken(title) => show_broken(&title, 2),
        ServiceChoice::Nothing(why) => show_broken(&why, 2),
        ServiceChoice::Several => {
            let row = |number: usize, title: &str, about: &str| {
                show(&beside(&format!("{number:>4}  {title}"), about, COLUMN, width_of(io::stdout())));
            };
            row(0, "My own URL", "Any server that takes an update by HTTP.");
            for (number, name) in set_up.listed().iter().enumerate() {
                if let Ok(recipe) = recipe::named(name) {
                    row(number + 1, &recipe.title, &recipe.about);
                }
            }
        }
    }
    Ok(())
}

/// How many questions an answer goes back; `None` for any other answer.
fn steps_back(typed: &str) -> Option<usize> {
    let typed = typed.trim();
    (!typed.is_empty() && typed.chars().all(|letter| letter == BACK)).then_some(typed.len())
}

/// The answer to a question. Fails at the end of the input.
fn answer(prompt: &str, is_secret: bool) -> Result<String, u8> {
    let why = match ask(prompt, is_secret) {
        Ok(Some(line)) => return Ok(line),
        Ok(None) => "the input ended before the last question".to_owned(),
        Err(error) => format!("the answer cannot be read ({error})"),
    };
    say("\n");
    Err(fail(&format!("{why}: nothing was written")))
}
