//! A folder of its own for each test, and the built program run in it with an environment that holds nothing but what
//! the test puts there.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::trace::{self, Known};

/// A run that takes longer has no end.
const MAX_RUN: Duration = Duration::from_secs(120);

/// The test's own folder: current directory, home, state and services of every run; removed at the end.
pub struct Sandbox {
    folder: tempfile::TempDir,
    env: Vec<(String, String)>,
}

/// How one run ended and what it printed.
#[derive(Debug)]
pub struct Run {
    /// The exit status; -1 where a signal ended it.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Sandbox {
    pub fn new() -> Self {
        // The path of a socket has room for some hundred bytes.
        let temporary = Some(env::temp_dir()).filter(|path| path.as_os_str().len() < 50).unwrap_or("/tmp".into());
        let folder = tempfile::tempdir_in(temporary).expect("a temporary folder");
        Self { folder, env: Vec::new() }
    }

    /// Adds a variable to the environment of the runs that follow.
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.to_owned(), value.into()));
        self
    }

    /// A path inside the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, its folder made.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder is made");
        fs::write(&path, text).expect("the file is written");
        path
    }

    /// With this `config.json`.
    pub fn configure(self, config: &Value) -> Self {
        self.write("config.json", config.to_string());
        self
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file can be read")
    }

    /// Where `cache: true` keeps its file in this sandbox.
    pub fn cache_file(&self) -> PathBuf {
        self.path(".local/state/ddns/cache.json")
    }

    /// Where the program writes what it does, beside the folder.
    pub fn trace_file(&self) -> PathBuf {
        self.folder.path().with_extension("trace")
    }

    /// The program with a clean environment, not yet started.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ddns"));
        command.args(args).current_dir(self.folder.path()).env_clear().envs(self.environment()).stdin(Stdio::null());
        command
    }

    /// The environment of every run. Services of other tests, or of whoever runs the tests, are not seen in it.
    pub fn environment(&self) -> Vec<(String, String)> {
        let folder = self.folder.path().display();
        let own = [
            ("HOME", folder.to_string()),
            ("TMPDIR", format!("{folder}/tmp")),
            ("RUNTIME_DIRECTORY", format!("{folder}/run/ddns")),
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("TRACE_DDNS", self.trace_file().display().to_string()),
        ];
        own.map(|(name, value)| (name.to_owned(), value)).into_iter().chain(self.env.iter().cloned()).collect()
    }

    /// Fails the test where the program does not end.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Run {
        let child = self.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.expect("the program starts");
        let (pid, (ended, end)) = (Pid::from_child(&child), mpsc::channel::<()>());
        let watchdog = thread::spawn(move || {
            let is_late = end.recv_timeout(MAX_RUN) == Err(RecvTimeoutError::Timeout);
            is_late && kill_process(pid, Signal::KILL).is_ok()
        });
        let run = Run::of(&child.wait_with_output().expect("its output"));
        drop(ended);
        let is_late = watchdog.join().expect("it watches");
        let begin: String = run.stderr.chars().take(2000).collect();
        assert!(!is_late, "{args:?} did not end within {MAX_RUN:?}:\n{begin}");
        run
    }

    /// The same where no more than so many files may be open at once.
    pub fn limited(&self, files: usize, args: &[&str]) -> Run {
        Run::of(&self.limited_command(files, args).output().expect("sh starts"))
    }

    /// To be started where no more than so many files may be open at once.
    pub fn limited_command(&self, files: usize, args: &[&str]) -> Command {
        self.command_by(&["sh", "-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\"")], args)
    }

    /// To be started by another program.
    pub fn command_by(&self, starter: &[&str], args: &[&str]) -> Command {
        let program = self.command(args);
        let mut command = Command::new(starter[0]);
        command.args(&starter[1..]).arg(program.get_program()).args(program.get_args());
        command.stdin(Stdio::null()).current_dir(self.folder.path()).env_clear();
        command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// Writes `config.json` and runs the program on it.
    pub fn sync(&self, config: &Value) -> Run {
        self.write("config.json", config.to_string());
        self.run(&["-c", "config.json"])
    }

    /// The same for a configuration given as text (comments, broken JSON).
    pub fn sync_text(&self, config: &str) -> Run {
        self.write("config.json", config);
        self.run(&["-c", "config.json"])
    }
}

impl Drop for Sandbox {
    /// Whatever a test is about, the program keeps the laws.
    fn drop(&mut self) {
        let trace = self.trace_file();
        let seen = trace::check(&trace, &Known::default());
        let _ = fs::remove_file(&trace);
        if let Err(wrong) = seen
            && !thread::panicking()
        {
            panic!("{wrong}");
        }
    }
}

impl Run {
    pub fn of(output: &Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Fails the test with all output where the exit status is another.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit status\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails the test unless standard error holds `text`.
    #[track_caller]
    pub fn prints(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "standard error lacks {text:?}:\n{}", self.stderr);
        self
    }

    /// Fails the test unless standard output holds `text`.
    #[track_caller]
    pub fn shows(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "standard output lacks {text:?}:\n{}", self.stdout);
        self
    }

    /// The JSON document on standard output; fails the test where there is anything else.
    #[track_caller]
    pub fn json<T: DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.stdout).unwrap_or_else(|why| panic!("{why}:\n{}\n{}", self.stdout, self.stderr))
    }

    /// Fails the test unless it ended well without a word, as it does where everything was up to date already.
    #[track_caller]
    pub fn says_nothing(self) {
        assert_eq!((self.code, self.stdout.as_str(), self.stderr.as_str()), (0, "", ""), "not quiet");
    }

    /// Fails the test if any output holds `text`.
    #[track_caller]
    pub fn never_prints(self, text: &str) -> Self {
        let all = format!("{}{}", self.stdout, self.stderr);
        assert!(!all.contains(text), "the output holds {text:?}:\n{all}");
        self
    }
}

/// The permission bits of a file.
pub fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).expect("the file is there").permissions().mode() & 0o777
}
