//! A line that is typed, and not shown where it is a password or a key.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::output::put;

/// What ends the typing of a line, at a terminal that hands on every key.
const INTERRUPT: u8 = 3;
const END: u8 = 4;
const BACKSPACE: [u8; 2] = [8, 127];
const CLEAR: u8 = 21;

/// The longest secret, in bytes; what is typed beyond that is dropped.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// The answer to a question; one that must not be seen is hidden where there is a terminal. `None` at the end of the input.
pub(crate) fn ask(question: &str, is_secret: bool) -> io::Result<Option<String>> {
    let show = || drop(put(question));
    if is_secret && io::stdin().is_terminal() {
        return line(show);
    }
    show();
    let mut bytes = Vec::new();
    let length = io::stdin().lock().read_until(b'\n', &mut bytes)?;
    // What is not text is refused: the control character makes it a wrong answer.
    Ok((length > 0).then(|| String::from_utf8(bytes).unwrap_or_else(|_| "\0".to_owned())))
}

/// One hidden line; `None` if it was cancelled. The terminal hands on every key, so that nothing can end the program
/// before it is as it was. The question is asked then: what is typed before it may have been seen, and does not count.
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
                // The bytes of one letter.
                while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
            }
            CLEAR => line.clear(),
            key if line.len() < MAX_LINE_BYTES => line.push(key),
            _ => {}
        }
    }
    Ok(None)
}
