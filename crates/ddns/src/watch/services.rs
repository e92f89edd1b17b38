//! Finds the services of this user through their sockets: which ones run, and which one a command means (I8).

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::pin::pin;

use ddns_core::journal::Status;
use ddns_core::text::order;
use ddns_core::text::own_json;
use rustix::process::getuid;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::control::{CLIENT_TIMEOUT, Command, is_private};
use crate::cli::ParsedArgs;
use crate::environment::Environment;
use crate::load::names_here;
use crate::output::{refuse, say};

/// The size limit of a response, in bytes: a hundred thousand domains of both families need less.
const MAX_RESPONSE_BYTES: u64 = 128 << 20;

/// The services that a command means.
#[derive(Default)]
pub(crate) struct Services {
    /// Sockets of the services that respond, and their states.
    pub(crate) running: Vec<(PathBuf, Status)>,
    /// Processes of services that do not respond, if known: paused, or busy with something that does not end.
    pub(crate) silent: Vec<Option<i32>>,
    /// The configuration that the command means, if no responding service runs on it.
    unmet: Option<String>,
    /// The services that run on other configurations.
    others: Vec<String>,
    /// Whether nothing says which service is meant, so that the output must name it.
    pub(crate) is_unnamed: bool,
}

impl Services {
    /// Says which services do not respond, or that none was found.
    pub(crate) fn silence(&self) -> String {
        let silent: Vec<String> =
            self.silent.iter().map(|process| format!("{} does not respond.", hung(*process))).collect();
        match (silent.as_slice(), &self.unmet) {
            ([], Some(name)) if !self.others.is_empty() => {
                format!("No running service found for {name}.{}", self.beside())
            }
            ([], _) => "No running service found.".to_owned(),
            (silent, _) => silent.join(" ") + &self.beside(),
        }
    }

    /// Names the other services.
    fn beside(&self) -> String {
        match self.others.as_slice() {
            [] => String::new(),
            others => format!(" Other services are running (use --all for all of them): {}.", others.join("; ")),
        }
    }
}

fn hung(process: Option<i32>) -> String {
    process.map_or_else(|| "The service".to_owned(), |process| format!("The service (process {process})"))
}

/// `process 17 on /etc/ddns/config.json`
pub(crate) fn name(status: &Status) -> String {
    format!("process {} on {}", status.process.unwrap_or_default(), status.configs.join(", "))
}

/// The services that a command means (I8): the one on the configuration that a run here would use or, without one, the
/// only service. With `--all`, every service, or every one on the files of `-c`. If several are possible, lists them
/// and fails with the exit status.
///
/// A service that does not respond does not say which files it uses. It counts unless another one uses them.
pub(crate) async fn meant(given: &ParsedArgs, environment: &Environment) -> Result<Services, u8> {
    let is_all = given.has("all");
    let mut found = services(environment).await;
    let names =
        if is_all && given.settings.files.is_empty() { Vec::new() } else { names_here(&given.settings, environment) };
    found.is_unnamed = names.is_empty();
    if !names.is_empty() {
        let is_meant = |status: &Status| status.configs.iter().any(|name| names.contains(name));
        let (running, others): (Vec<_>, Vec<_>) = found.running.into_iter().partition(|(_, status)| is_meant(status));
        if running.is_empty() {
            found.unmet = Some(names.join(", "));
            found.others = others.iter().map(|(_, status)| name(status)).collect();
        } else {
            found.silent.clear();
        }
        found.running = running;
    }
    if is_all || found.unmet.is_some() || found.running.len() + found.silent.len() < 2 {
        return Ok(found);
    }
    let running = found.running.iter().map(|(_, status)| name(status));
    let silent = found.silent.iter().map(|process| format!("{} does not respond", hung(*process)));
    let list: Vec<String> = running.chain(silent).collect();
    let message = format!("several services are running:\n    {}", list.join("\n    "));
    let is_one_file =
        found.silent.is_empty() && found.running.windows(2).all(|two| two[0].1.configs == two[1].1.configs);
    let choice = if is_one_file { "" } else { "choose one with -c FILE, or " };
    Err(refuse(message, format!("{choice}use --all for all of them")))
}

/// Every service of this user.
pub(crate) async fn services(environment: &Environment) -> Services {
    let mut found = Services::default();
    let mut seen: Vec<PathBuf> = Vec::new();
    for folder in environment.runtime_folders() {
        let Some(owner) = trusted(&folder) else { continue };
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let mut sockets: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        order::sort(&mut sockets);
        sockets.retain(|path| is_socket(path, owner) && !seen.contains(path));
        for path in sockets {
            match service_state(&path).await {
                ServiceReply::Status(status) => found.running.push((path.clone(), *status)),
                ServiceReply::Silent(process) => found.silent.push(process),
                ServiceReply::Nobody => {}
            }
            seen.push(path);
        }
    }
    found
}

/// The owner of a folder that no other user could have created to deceive ddns: it is private, or only root could
/// create it (for a service of systemd with a user of its own).
fn trusted(folder: &Path) -> Option<u32> {
    let metadata = fs::symlink_metadata(folder).ok()?;
    let is_given = |metadata: &Metadata| {
        let above = folder.parent().and_then(|above| fs::metadata(above).ok());
        metadata.is_dir()
            && metadata.mode() & 0o022 == 0
            && above.is_some_and(|above| above.uid() == 0 && above.mode() & 0o022 == 0)
    };
    (is_private(&metadata) || is_given(&metadata)).then(|| metadata.uid())
}

fn is_socket(path: &Path, owner: u32) -> bool {
    let is_own = |metadata: Metadata| {
        metadata.file_type().is_socket() && [owner, getuid().as_raw(), 0].contains(&metadata.uid())
    };
    path.extension().is_some_and(|ending| ending == "sock") && fs::symlink_metadata(path).is_ok_and(is_own)
}

/// What a socket leads to.
enum ServiceReply {
    Status(Box<Status>),
    /// A process that does not respond in time.
    Silent(Option<i32>),
    /// The service has ended, or this is no service.
    Nobody,
}

async fn service_state(path: &Path) -> ServiceReply {
    let mut process = None;
    let asked = async {
        let stream = UnixStream::connect(path).await?;
        process = stream.peer_cred().ok().and_then(|peer| peer.pid()).filter(|process| *process > 0);
        talk(stream, Command::Status).await
    };
    match timeout(CLIENT_TIMEOUT, asked).await {
        Ok(Ok(text)) => {
            own_json::read(&text).map_or(ServiceReply::Nobody, |status| ServiceReply::Status(Box::new(status)))
        }
        // Its queue of new connections is full.
        Ok(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => ServiceReply::Silent(None),
        Ok(Err(_)) => ServiceReply::Nobody,
        Err(_) => ServiceReply::Silent(process),
    }
}

/// A folder in which a service of another user (most likely root) has its socket; `None` if there is none.
pub(crate) fn closed_folder(environment: &Environment) -> Option<PathBuf> {
    let is_closed = |folder: &PathBuf| {
        fs::metadata(folder).is_ok_and(|metadata| metadata.uid() != getuid().as_raw())
            && fs::read_dir(folder).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    };
    environment.runtime_folders().into_iter().find(is_closed)
}

/// Prints a note that another user may have a service, if this user has none.
pub(crate) fn note_closed_folder(environment: &Environment, command: &str) {
    if let Some(folder) = closed_folder(environment) {
        let folder = folder.display();
        say(&format!(
            "note: {folder} belongs to another user, who may have a service: `sudo ddns {command}` asks it\n"
        ));
    }
}

/// Sends a command to the service behind a socket. Waits for its response as long as the service answers status
/// requests.
pub(crate) async fn request(path: &Path, command: Command) -> io::Result<String> {
    let mut asked = pin!(talk(UnixStream::connect(path).await?, command));
    loop {
        if let Ok(response) = timeout(CLIENT_TIMEOUT, asked.as_mut()).await {
            return response;
        }
        if !matches!(service_state(path).await, ServiceReply::Status(_)) {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

async fn talk(mut stream: UnixStream, command: Command) -> io::Result<String> {
    stream.write_all(format!("{}\n", command.word()).as_bytes()).await?;
    let mut response = String::new();
    stream.take(MAX_RESPONSE_BYTES).read_to_string(&mut response).await?;
    match response.len() as u64 {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        MAX_RESPONSE_BYTES.. => Err(io::ErrorKind::FileTooLarge.into()),
        _ => Ok(response),
    }
}
