//! A line that is typed at a terminal and not shown: passwords and keys.

use std::io::{self, Read as _, Write as _};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// What ends the typing of a line, at a terminal that hands on every key.
const INTERRUPT: u8 = 3;
const END: u8 = 4;
const BACKSPACE: [u8; 2] = [8, 127];
const CLEAR: u8 = 21;

/// The longest secret, in bytes; what is typed beyond that is dropped.
const MAX_LINE_BYTES: usize = 64 * 1024;

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
