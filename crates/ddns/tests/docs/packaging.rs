//! What lies in `packaging/`: units that systemd accepts and finds tight enough, a filter that lets through what the
//! program calls, and a program that runs where there is nothing else, as in the image.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::authority::Authority;
use crate::support::given::files;
use crate::support::tools::{needed, skipped, tool};
use crate::support::{Receiver, Sandbox, mode};

/// Where the units expect the program.
const INSTALLED: &str = "/usr/local/bin/ddns";

/// The services; [`UNITS`] has the timer too.
const SERVICES: [&str; 2] = ["ddns.service", "ddns-once.service"];
const UNITS: [&str; 3] = ["ddns.service", "ddns-once.service", "ddns.timer"];

/// What `systemd-analyze security` may say at most, in tenths.
const EXPOSURE: &str = "--threshold=20";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn unit(name: &str) -> String {
    read(&format!("packaging/systemd/{name}"))
}

/// Every value that a unit gives to a key, in order.
fn values<'a>(unit: &'a str, key: &str) -> Vec<&'a str> {
    let assigned = unit.lines().filter_map(|line| line.split_once('='));
    assigned.filter(|(name, _)| *name == key).map(|(_, value)| value).collect()
}

/// The one value of a key.
#[track_caller]
fn value<'a>(unit: &'a str, key: &str) -> &'a str {
    let found = values(unit, key);
    assert_eq!(found.len(), 1, "{key}= in\n{unit}");
    found[0]
}

/// The units in a folder, with the built program in place of the installed one.
fn units() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in UNITS {
        sandbox.write(name, unit(name).replace(INSTALLED, env!("CARGO_BIN_EXE_ddns")));
    }
    sandbox
}

pub(super) fn output_of(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs `systemd-analyze`; none, and the test is skipped, where it is not installed.
#[track_caller]
fn analyze(arguments: &[&str]) -> Option<Output> {
    let program = needed("systemd-analyze")?;
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    Some(output.expect("systemd-analyze starts"))
}

#[test]
fn systemd_accepts_the_units() {
    let plain = units();
    let with_programs = units();
    for service in SERVICES {
        with_programs.write(&format!("{service}.d/programs.conf"), unit("programs.conf"));
    }
    for folder in [plain, with_programs] {
        for name in UNITS {
            let path = folder.path(name);
            let path = path.to_str().expect("a plain path");
            let Some(output) = analyze(&["verify", "--man=no", "--recursive-errors=no", path]) else { return };
            let printed = output_of(&output);
            // A key that it does not know is a word, not a failure.
            let ours = printed.lines().filter(|line| line.contains("ddns")).count();
            assert!(output.status.success() && ours == 0, "{name}:\n{printed}");
        }
    }
}

#[test]
fn systemd_finds_the_services_little_exposed() {
    let folder = units();
    for name in SERVICES {
        let path = folder.path(name);
        let path = path.to_str().expect("a plain path");
        let Some(output) = analyze(&["security", "--offline=true", EXPOSURE, "--no-pager", path]) else { return };
        assert!(output.status.success(), "{name}:\n{}", output_of(&output));
        assert!(output_of(&output).contains("Overall exposure level"), "{name}:\n{}", output_of(&output));
    }
}

#[test]
fn units_agree_on_confinement_and_paths() {
    let [watch, once] = SERVICES.map(unit);
    let confined = |unit: &str| {
        let from = unit.find("# A user that exists while").expect("the part that both have");
        unit[from..].split("\n[Install]").next().unwrap_or_default().trim_end().to_owned()
    };
    assert_eq!(confined(&watch), confined(&once));
    let secrets = |unit: &str| unit.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    for service in [&watch, &once] {
        let start = value(service, "ExecStart");
        assert!(start.starts_with(INSTALLED) && start.ends_with(" -c /etc/ddns/config.json"), "{start}");
        assert_eq!(value(service, "ExecPaths"), INSTALLED, "what may be started is what is started");
        let folders = ["StateDirectory", "ConfigurationDirectory"].map(|key| value(service, key));
        assert_eq!(folders, ["ddns", "ddns"]);
        for (variable, name) in [("DDNS_TOKEN_FILE", "token"), ("DDNS_ID_FILE", "id")] {
            let credential = format!("#LoadCredential={name}:/etc/ddns/{name}");
            let environment = format!("#Environment={variable}=%d/{name}");
            assert!(secrets(service).contains(&credential) && secrets(service).contains(&environment), "{service}");
        }
    }
    // A oneshot that ends removes its runtime folder: it would take the running service's socket along.
    assert_eq!((values(&watch, "RuntimeDirectory"), values(&once, "RuntimeDirectory")), (vec!["ddns"], vec![]));
    assert_eq!(value(&unit("ddns.timer"), "Unit"), "ddns-once.service");
}

/// The calls that a filter's words let through: a call stands for itself, a group for what systemd puts into it.
fn let_through(words: Vec<String>) -> Option<BTreeSet<String>> {
    let mut calls = BTreeSet::new();
    let mut open = words;
    while let Some(word) = open.pop() {
        if !word.starts_with('@') {
            calls.insert(word);
            continue;
        }
        let output = analyze(&["syscall-filter", "--no-pager", &word])?;
        assert!(output.status.success(), "{word}:\n{}", output_of(&output));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let inside = text.lines().filter(|line| line.starts_with(' ')).map(|line| line.trim().to_owned());
        open.extend(inside.filter(|line| !line.starts_with('#')));
    }
    Some(calls)
}

/// The names of the calls in what `strace -f` wrote.
fn traced(text: &str) -> BTreeSet<String> {
    let calls = text.lines().filter_map(|line| line.split_once(' ').map(|(_, call)| call.trim_start()));
    let named = calls.filter_map(|call| call.split_once('(').map(|(name, _)| name.to_owned()));
    named.filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')).collect()
}

#[test]
fn systemd_lets_through_what_a_run_calls() {
    let Some(strace) = needed("strace") else { return };
    let filter = unit("ddns.service");
    // What a service always may.
    let mut words = vec!["@default".to_owned()];
    words.extend(values(&filter, "SystemCallFilter").join(" ").split_whitespace().map(str::to_owned));
    let Some(allowed) = let_through(words) else { return };

    let authority = Authority::new("calls");
    let (plain, secure) = (Receiver::new(), authority.server("localhost"));
    let sandbox = authority.trusted();
    let sources = json!(["interface:lo", "stun:127.0.0.1:9", "default", plain.index4()]);
    let entry = |id: String| json!({"provider": "callback", "id": id, "ssl": true});
    let providers = [entry(plain.url("/a")), entry(format!("https://localhost:{}/a", secure.port))];
    let config = json!({"ipv4": ["home.example.com"], "index4": sources, "timeout": 5, "debug": true,
        "log": {"format": "%(asctime)s %(message)s"}, "providers": providers});
    sandbox.write("config.json", config.to_string());
    for (arguments, is_done) in
        [(vec!["-c", "config.json"], "2 accepted"), (vec!["addresses", "-c", "config.json"], "")]
    {
        let run = sandbox.command(&arguments);
        let mut command = Command::new(&strace);
        command.args(["-f", "-qq", "-o", "calls"]).arg(run.get_program()).args(run.get_args());
        command.env_clear().envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.current_dir(sandbox.path(".")).stdin(Stdio::null()).output().expect("strace starts");
        if output_of(&output).contains("ptrace") {
            return skipped("there is no right to trace a process");
        }
        assert!(output.status.success() && output_of(&output).contains(is_done), "{}", output_of(&output));
        let calls = traced(&sandbox.read("calls"));
        assert!(calls.contains("socket"), "{calls:?}");
        let refused: Vec<_> = calls.difference(&allowed).collect();
        assert!(refused.is_empty(), "the filter of ddns.service lacks {refused:?}");
    }
}

/// What follows an instruction of the Dockerfile's last stage.
#[track_caller]
pub(super) fn instruction(name: &str) -> String {
    let text = read("packaging/docker/Dockerfile");
    let (_, last) = text.split_once("\nFROM scratch\n").expect("a stage from nothing");
    let found: Vec<&str> = last.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).collect();
    assert_eq!(found.len(), 1, "{name} in\n{last}");
    found[0].to_owned()
}

/// The variables that the image sets.
pub(super) fn image_environment() -> Vec<(String, String)> {
    let text = instruction("ENV");
    let pairs = text.split_whitespace().map(|pair| pair.split_once('=').expect("NAME=VALUE"));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[track_caller]
fn image_variable(name: &str) -> String {
    let found = image_environment().into_iter().find(|(known, _)| known == name);
    found.unwrap_or_else(|| panic!("the image does not set {name}")).1
}

#[test]
fn image_and_compose_agree() {
    let compose = read("packaging/docker/compose.yaml");
    let (state, runtime) = (image_variable("STATE_DIRECTORY"), image_variable("RUNTIME_DIRECTORY"));
    assert_eq!(instruction("VOLUME"), format!("[\"{state}\"]"));
    assert_eq!(instruction("ENTRYPOINT"), "[\"/ddns\"]");
    assert_eq!(instruction("CMD"), "[\"watch\"]");
    assert!(instruction("HEALTHCHECK").ends_with("CMD [\"/ddns\", \"status\", \"--alive\"]"));
    let user = instruction("USER");
    let (uid, gid) = user.split_once(':').expect("USER:GROUP");
    assert!(uid.parse::<u32>().is_ok_and(|uid| uid > 0), "a number, for Kubernetes' runAsNonRoot: {uid}");
    let has = |text: String| assert!(compose.contains(&text), "compose.yaml lacks {text}");
    has(format!("- state:{state}\n"));
    has(format!("- {runtime}:uid={uid},gid={gid},mode=0700\n"));
    has(":/etc/ddns:ro\n".to_owned());
    has("dockerfile: packaging/docker/Dockerfile\n".to_owned());
    let made = read("packaging/docker/Dockerfile");
    assert!(made.contains(&format!("/writable{state} /writable{runtime}\n")), "both are made:\n{made}");
}

/// The program started with another folder as its root, as the image's user or, where we are not root, as one that has no
/// rights outside. None where that cannot be done.
pub(super) fn started_in(folder: &Path, (uid, gid): (u32, u32)) -> Option<Command> {
    let chroot = tool("chroot")?;
    let own = fs::metadata(folder).expect("the folder").uid();
    if own == 0 {
        let mut command = Command::new(chroot);
        command.arg(format!("--userspec={uid}:{gid}")).arg(folder);
        return Some(command);
    }
    let mut command = Command::new(tool("unshare")?);
    let may = Command::new(tool("unshare")?).args(["-r", "true"]).stderr(Stdio::null()).status();
    command.arg("-r").arg(chroot).arg(folder);
    may.is_ok_and(|status| status.success()).then_some(command)
}

#[test]
fn image_needs_nothing_but_the_program() {
    let Some(program) = env::var_os("DDNS_TEST_STATIC") else {
        return skipped("DDNS_TEST_STATIC does not name a program made by packaging/build-static");
    };
    let image = Sandbox::new();
    let user = instruction("USER");
    let (uid, gid) = user.split_once(':').expect("USER:GROUP");
    let user = (uid.parse().expect("a number"), gid.parse().expect("a number"));
    let Some(mut command) = started_in(&image.path("."), user) else {
        return skipped("there is no right to change the root of a process");
    };
    let receiver = Receiver::new();
    // Names come from what Docker puts into every container.
    image.write("etc/hosts", "127.0.0.1 endpoint.example\n");
    let endpoint = |path: &str| receiver.url(path).replace("127.0.0.1", "endpoint.example");
    let config = json!({"dns": "callback", "id": endpoint("/__IP__"), "ipv4": ["home.example.com"],
        "index4": format!("url:{}", endpoint("/ip"))});
    image.write("etc/ddns/config.json", config.to_string());
    // By another process: a file that a thread of ours has open for writing may be inherited, and cannot be started then.
    let copied = Command::new("cp").arg(program).arg(image.path("ddns")).status();
    assert!(copied.is_ok_and(|status| status.success()), "the program is copied");
    let state = image.path(image_variable("STATE_DIRECTORY").trim_start_matches('/'));
    fs::create_dir(&state).expect("the folder of the volume");
    // Only root can give it away; anybody else is the user inside.
    let _ = chown(&state, Some(user.0), Some(user.1));
    fs::set_permissions(image.path("."), fs::Permissions::from_mode(0o755)).expect("a root that all may enter");
    let before = files(&image.path("."));

    command.arg("/ddns").env_clear().envs(image_environment()).stdin(Stdio::null());
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", output_of(&output));
    assert_eq!(receiver.only().target(), "/203.0.113.7");
    let after = files(&image.path("."));
    let mut new: Vec<_> = after.iter().filter(|file| !before.contains(file)).collect();
    new.sort();
    let expected = ["cache.json", "cache.json.history"].map(|name| state.join(name));
    assert_eq!(new, expected.iter().collect::<Vec<_>>(), "nothing else is written");
    assert!(new.iter().all(|file| mode(file) == 0o600), "only the owner reads them");
}

/// The documents of a YAML file; none, and the test is skipped, where no Python can read it.
#[track_caller]
pub(super) fn yaml(path: &str) -> Option<Vec<Value>> {
    const SCRIPT: &str = "import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)";
    let can = |python: &&str| {
        let mut command = Command::new(python);
        let status = command.args(["-c", "import yaml"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(can) else {
        skipped("there is no Python with `yaml`");
        return None;
    };
    let file = fs::File::open(root().join(path)).expect("the file");
    let output = Command::new(python).args(["-c", SCRIPT]).stdin(file).output().expect("Python starts");
    assert!(output.status.success(), "{path}: {}", output_of(&output));
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// The one document of this kind.
#[track_caller]
fn of_kind<'a>(documents: &'a [Value], kind: &str) -> &'a Value {
    let found: Vec<_> = documents.iter().filter(|document| document["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{kind} in {documents:#?}");
    found[0]
}

#[test]
fn kubernetes_runs_the_image_as_it_is_made() {
    let Some(documents) = yaml("packaging/kubernetes/ddns.yaml") else { return };
    let deployment = of_kind(&documents, "Deployment");
    assert_eq!(deployment["spec"]["replicas"], 3);
    let pod = &deployment["spec"]["template"]["spec"];
    let context = &pod["securityContext"];
    assert_eq!(format!("{}:{}", context["runAsUser"], context["runAsGroup"]), instruction("USER"));
    let container = &pod["containers"][0];
    for probe in ["livenessProbe", "readinessProbe"] {
        let command = container[probe]["exec"]["command"].to_string();
        assert!(instruction("HEALTHCHECK").replace(", ", ",").ends_with(&command), "{probe}: {command}");
    }
    let mounts = container["volumeMounts"].as_array().expect("volumes");
    let mounted = |path: &str| mounts.iter().any(|mount| mount["mountPath"] == path);
    // A service makes its runtime folder in the volume: that of the volume itself may be written to by everybody.
    let runtime = image_variable("RUNTIME_DIRECTORY");
    let runtime = runtime.rsplit_once('/').expect("a folder").0;
    for path in [&image_variable("STATE_DIRECTORY"), runtime, "/etc/ddns"] {
        assert!(mounted(path), "{path} in {mounts:#?}");
    }

    let secret = of_kind(&documents, "Secret")["stringData"]["key"].as_str().expect("a key");
    let sandbox = Sandbox::new();
    let key = sandbox.write("key", secret);
    let config = of_kind(&documents, "ConfigMap")["data"]["config.json"].as_str().expect("a configuration");
    assert!(mounted("/etc/ddns-secret") && config.contains("/etc/ddns-secret/key"), "{config}");
    sandbox.write("config.json", config.replace("/etc/ddns-secret/key", &key.display().to_string()));
    fs::set_permissions(key, fs::Permissions::from_mode(0o600)).expect("its owner reads it");
    sandbox.run(&["check", "-c", "config.json"]).expect(0).never_prints("warning:");
}

/// The nodes that ddns.yaml names are those that etcd.yaml makes.
#[test]
fn kubernetes_nodes_of_etcd_have_the_names_that_the_group_uses() {
    let Some(documents) = yaml("packaging/kubernetes/etcd.yaml") else { return };
    let set = of_kind(&documents, "StatefulSet");
    let (name, service) = (&set["metadata"]["name"], &set["spec"]["serviceName"]);
    assert_eq!((name, service), (&json!("etcd"), &of_kind(&documents, "Service")["metadata"]["name"]));
    let nodes = [0, 1, 2].map(|node| format!("etcd-{node}.etcd"));
    assert_eq!(set["spec"]["replicas"], nodes.len());
    let store = format!("\"etcd://{}\"", nodes.each_ref().map(|node| format!("{node}:2379")).join(","));
    assert!(read("packaging/kubernetes/ddns.yaml").contains(&store), "{store}");
    let command = set["spec"]["template"]["spec"]["containers"][0]["command"].to_string();
    assert!(nodes.iter().all(|node| command.contains(&format!("=http://{node}:2380"))), "{command}");
}

#[test]
fn init_script_is_one_that_sh_reads() {
    let script = root().join("packaging/openwrt/ddns.init");
    let output = Command::new("sh").arg("-n").arg(&script).output().expect("sh starts");
    assert!(output.status.success(), "{}", output_of(&output));
    assert_eq!(mode(&script) & 0o111, 0o111, "it can be started");
}

#[test]
fn page_on_services_names_files_that_are_there() {
    let page = read("docs/running-as-a-service.md") + &read("packaging/README.md");
    let is_path = |letter: char| letter.is_ascii_alphanumeric() || "/.-_".contains(letter);
    let named = page.match_indices("packaging/").map(|(at, _)| {
        let rest = &page[at..];
        rest[..rest.find(|letter| !is_path(letter)).unwrap_or(rest.len())].trim_end_matches('.')
    });
    let named: BTreeSet<&str> = named.collect();
    for path in &named {
        assert!(root().join(path).exists(), "{path} is not there");
    }
    for file in files(&root().join("packaging")) {
        let file = file.strip_prefix(root()).expect("a file of the project").to_str().expect("a plain path").to_owned();
        let is_found = file.ends_with(".dockerignore") || file.ends_with("README.md") || named.contains(file.as_str());
        assert!(is_found, "neither docs/running-as-a-service.md nor packaging/README.md names {file}");
    }
}
