//! Prompts for a line, and hides the input if it is a password or a key.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::output::put;

/// Control characters that ddns handles itself, because the terminal passes on every key.
const INTERRUPT: u8 = 3;
const END: u8 = 4;
const BACKSPACE: [u8; 2] = [8, 127];
const CLEAR: u8 = 21;

/// Further bytes of a line are dropped.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// The answer to a question, hidden if it is a secret and there is a terminal. `None` at the end of the input.
pub(crate) fn ask(question: &str, is_secret: bool) -> io::Result<Option<String>> {
    let show = || drop(put(question));
    if is_secret && io::stdin().is_terminal() {
        return line(show);
    }
    show();
    let mut bytes = Vec::new();
    let length = io::stdin().lock().read_until(b'\n', &mut bytes)?;
    // Input that is not UTF-8 becomes a control character, which no question accepts.
    Ok((length > 0).then(|| String::from_utf8(bytes).unwrap_or_else(|_| "\0".to_owned())))
}

/// Reads a hidden line; `None` if the user canceled. The terminal passes on every key, so that none can end the program
/// before the terminal is restored. The question follows only then: what was typed earlier may have been visible, and
/// is dropped.
pub(crate) fn line(ask: impl FnOnce()) -> io::Result<Option<String>> {
    let before = tcgetattr(io::stdin())?;
    let mut unseen: Termios = before.clone();
    unseen.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    tcsetattr(io::stdin(), OptionalActions::Flush, &unseen)?;
    ask();
    let line = keys();
    tcsetattr(io::stdin(), OptionalActions::Now, &before)?;
    let _ = writeln!(io::stderr());
    line
}

fn keys() -> io::Result<Option<String>> {
    let mut line = Vec::new();
    for key in io::stdin().lock().bytes() {
        match key? {
            b'\r' | b'\n' => return Ok(Some(String::from_utf8_lossy(&line).into_owned())),
            INTERRUPT | END => return Ok(None),
            key if BACKSPACE.contains(&key) => {
                // Remove all bytes of one character.
                while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
            }
            CLEAR => line.clear(),
            key if line.len() < MAX_LINE_BYTES => line.push(key),
            _ => {}
        }
    }
    Ok(None)
}
