//! `ddns password`: makes the hash of a password, for `web.password_file`.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use ddns_core::text::diagnostic::{Diagnostic, Place};

use crate::hidden_prompt;
use crate::output::{complain, fail, print};
use crate::web::password::{MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARS, hash};

/// Asks twice at a terminal, with the input hidden; otherwise reads one line of standard input. Exits with 1 if there
/// is no input, with 2 if the two passwords differ or one is too short or too long.
pub(crate) fn run() -> u8 {
    let lines =
        if io::stdin().is_terminal() { asked() } else { piped().map(|line| line.map(|line| [line.clone(), line])) };
    let [password, again] = match lines {
        Ok(Some(lines)) => lines,
        Ok(None) => return fail("no password was given"),
        Err(error) => return fail(&format!("the password cannot be read ({error})")),
    };
    if password != again {
        return wrong("the passwords differ: try again");
    }
    if password.chars().count() < MIN_PASSWORD_CHARS {
        return wrong(&format!("the password is too short: use {MIN_PASSWORD_CHARS} characters or more"));
    }
    if password.len() > MAX_PASSWORD_BYTES {
        return wrong(&format!("the password is too long: use at most {MAX_PASSWORD_BYTES} bytes"));
    }
    match hash(&password) {
        Ok(hash) => print(&format!("{hash}\n")),
        Err(error) => fail(&error.to_string()),
    }
}

fn wrong(why: &str) -> u8 {
    complain(&[Diagnostic::error(Place::Nowhere, why)])
}

/// The first line of standard input; `None` at its end.
fn piped() -> io::Result<Option<String>> {
    let mut line = String::new();
    io::stdin().lock().take(MAX_PASSWORD_BYTES as u64 + 3).read_line(&mut line)?;
    let password = line.trim_end_matches(['\r', '\n']);
    Ok((!line.is_empty()).then(|| password.to_owned()))
}

/// A password, typed twice; `None` if the user canceled.
fn asked() -> io::Result<Option<[String; 2]>> {
    let Some(first) = typed("Password: ")? else { return Ok(None) };
    Ok(typed("Again: ")?.map(|second| [first, second]))
}

fn typed(question: &str) -> io::Result<Option<String>> {
    hidden_prompt::line(|| drop(write!(io::stderr(), "{question}")))
}
