//! Running a program at a terminal of its own, as a person does.

use std::process::{Command, Stdio};

use crate::support::tools::needed;
use crate::support::{Run, Sandbox};

/// Answers one question after the other.
const TYPIST: &str = r#"
import fcntl, os, pty, select, struct, sys, termios, time
answers, columns, program = sys.argv[1].split("\x1f"), int(sys.argv[2]), sys.argv[3:]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execvp(program[0], program)
printed, end = b"", time.time() + 30
while time.time() < end:
    ready, _, _ = select.select([terminal], [], [], 0.15)
    if ready:
        try:
            more = os.read(terminal, 4096)
        except OSError:
            break
        if not more:
            break
        printed += more
    elif printed.endswith(b": ") and answers:
        answer = answers.pop(0)
        os.write(terminal, b"\x04" if answer == "EOF" else answer.encode() + b"\n")
else:
    os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(printed.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(status) & 255)
"#;

/// Runs a program, and types these answers, at a terminal that is so many columns wide; 0 columns where it does not know.
/// All of the output is in `stdout`. None where the system cannot.
pub fn at_terminal(sandbox: &Sandbox, columns: u16, program: &[&str], answers: &[&str]) -> Option<Run> {
    let python = needed("python3")?;
    let mut command = Command::new(python);
    command.args(["-c", TYPIST, &answers.join("\x1f"), &columns.to_string()]).args(program);
    command.current_dir(sandbox.path(".")).env_clear().envs(sandbox.environment()).stdin(Stdio::null());
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", sandbox.path("bin").display());
    Some(Run::of(&command.env("PATH", path).env("NO_COLOR", "1").output().expect("python starts")))
}

/// Fails the test unless every line fits. Only a long word at its end may be too much for a line: words are not broken.
#[track_caller]
pub fn fits(width: usize, text: &str) {
    for line in text.lines() {
        let (before, word) = line.rsplit_once(' ').unwrap_or(("", line));
        let is_word = before.chars().count() <= width && word.chars().count() > 30;
        assert!(line.chars().count() <= width || is_word, "wider than {width}: {line}\n{text}");
    }
}
