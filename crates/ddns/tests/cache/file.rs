//! Section E, the cache file: where it lies, who may read it, what it must not hold, and what happens when it is broken
//! or cannot be written.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::given::{files, home, with};
use crate::support::secret_forms;
use crate::support::tools::needed;
use crate::support::watching::{Endpoint, SOON, Watch, host, until};
use crate::support::{Receiver, Run, Sandbox, mode};

/// A warning, in whatever shape: `warning: …` or the level WARNING.
#[track_caller]
fn assert_warns(run: &Run, case: &str) {
    assert!(run.stderr.to_lowercase().contains("warning"), "{case}: no warning:\n{}", run.stderr);
}

#[test]
fn e4_the_file_is_for_its_owner_only_and_its_folder_is_made() {
    for (cache, place) in [
        (json!(true), ".local/state/ddns/cache.json"),
        (json!("true"), ".local/state/ddns/cache.json"),
        (json!("deep/er/state.json"), "deep/er/state.json"),
        (json!("plain.json"), "plain.json"),
    ] {
        let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
        let config = with(&home(&receiver.url("/")), &json!({"cache": cache}));
        sandbox.sync(&config).expect(0);
        assert!(sandbox.path(place).is_file(), "cache {cache}: no {place} among {:?}", files(&sandbox.path("")));
        assert_eq!(mode(&sandbox.path(place)), 0o600, "cache {cache}");
        sandbox.sync(&config).expect(0);
        assert_eq!(receiver.callbacks().len(), 1, "cache {cache}: read again");
    }
}

#[test]
fn e4_a_file_that_others_could_read_is_closed_when_it_is_written() {
    let receiver = Receiver::new();
    let (sandbox, config) = (Sandbox::new(), with(&home(&receiver.url("/")), &json!({"index4": receiver.index4()})));
    sandbox.sync(&config).expect(0);
    fs::set_permissions(sandbox.cache_file(), fs::Permissions::from_mode(0o644)).expect("rights can be changed");
    receiver.set_ip("203.0.113.8");
    sandbox.sync(&config).expect(0);
    assert_eq!(mode(&sandbox.cache_file()), 0o600);
}

#[test]
fn e4_the_folder_of_the_file_holds_no_secret() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    let config = secret_forms::config(&format!("127.0.0.1:{}", receiver.port()));
    sandbox.sync(&with(&config, &json!({"cache": "state/cache.json"}))).expect(0);
    receiver.only();
    let kept = files(&sandbox.path("state"));
    assert!(!kept.is_empty(), "there is a cache");
    for file in kept {
        let text = String::from_utf8_lossy(&fs::read(&file).expect("the file can be read")).into_owned();
        secret_forms::assert_no_secret(&text, &file.display().to_string());
    }
}

/// An unsalted hash would let a reader of two caches see that they hold the same callback, and try likely secrets.
#[test]
fn e3_the_hash_of_a_callback_is_salted() {
    let receiver = Receiver::new();
    let words = |text: &str| -> Vec<String> {
        let parts = text.split(|sign: char| !sign.is_ascii_alphanumeric() && !"+/-_=".contains(sign));
        parts.filter(|part| part.len() >= 20).map(str::to_owned).collect()
    };
    let mut hashes = Vec::new();
    for _ in 0..2 {
        let sandbox = Sandbox::new();
        sandbox.sync(&home(&receiver.url("/hook"))).expect(0);
        hashes.push(words(&fs::read_to_string(sandbox.cache_file()).expect("the cache is text")));
    }
    let shared: Vec<_> = hashes[0].iter().filter(|word| hashes[1].contains(word)).collect();
    assert!(shared.is_empty(), "two caches share {shared:?}");
}

#[test]
fn e4_a_damaged_file_is_set_aside_and_everything_is_sent_again() {
    let receiver = Receiver::new();
    let names = json!({"ipv4": ["a.example.com", "b.example.com"], "cache": "state/cache.json"});
    let config = with(&home(&receiver.url("/__DOMAIN__")), &names);
    let whole = {
        let sandbox = Sandbox::new();
        sandbox.sync(&config).expect(0);
        sandbox.read("state/cache.json").into_bytes()
    };
    receiver.take();
    for (case, damage) in [
        ("cut off", whole[..whole.len() / 2].to_vec()),
        ("no JSON", b"this is not a cache".to_vec()),
        ("not UTF-8", vec![0xff, 0xfe, 0, 1, 2]),
        ("zeros after a crash", vec![0; 512]),
        ("another shape", b"[1, 2, 3]".to_vec()),
        ("something after it", [&whole[..], b"}}}"].concat()),
        ("very deep", "[".repeat(200_000).into_bytes()),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("state/cache.json", &damage);
        let run = sandbox.sync(&config);
        assert_eq!(run.code, 0, "{case}: {}", run.stderr);
        assert_warns(&run, case);
        assert_eq!(receiver.take().len(), 2, "{case}: everything is sent again");
        let aside = files(&sandbox.path("state"));
        let kept = |file: &&std::path::PathBuf| {
            **file != sandbox.path("state/cache.json") && fs::read(file).is_ok_and(|bytes| bytes == damage)
        };
        assert_eq!(aside.iter().filter(kept).count(), 1, "{case}: the damaged file is kept beside: {aside:?}");
        let again = sandbox.sync(&config).expect(0);
        assert_eq!(receiver.take().len(), 0, "{case}: the new file is in order");
        assert!(!again.stderr.to_lowercase().contains("warning"), "{case}: reported once:\n{}", again.stderr);
    }
}

#[test]
fn e4_a_file_of_absurd_size_is_damaged_and_takes_no_memory() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let file = sandbox.write("cache.json", "");
    fs::File::options().write(true).open(&file).and_then(|file| file.set_len(1 << 40)).expect("a hole");
    let run = sandbox.sync(&with(&home(&receiver.url("/")), &json!({"cache": "cache.json"}))).expect(0);
    run.prints("is damaged (it is larger than 1024 MiB) and was moved to").prints("1 accepted");
    assert!(sandbox.path("cache.json.damaged").exists() && sandbox.read("cache.json").contains("home.example.com"));
}

#[test]
fn e4_a_limit_on_the_size_of_files_is_a_warning_and_the_update_counts() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    sandbox.write("config.json", home(&receiver.url("/")).to_string());
    let mut command = sandbox.command_by(&["sh", "-c", "ulimit -f 0; exec \"$0\" \"$@\""], &["-c", "config.json"]);
    let run = Run::of(&command.output().expect("sh starts"));
    run.expect(0).prints("the cache cannot be written (file too large)").prints("1 accepted");
}

/// Paths that not even root can write.
#[test]
fn e4_a_file_that_cannot_be_written_is_a_warning_and_the_update_counts() {
    let receiver = Receiver::new();
    for cache in ["config.json/cache.json", "config.json/deep/er/cache.json", "/proc/none/cache.json", "a-folder"] {
        let sandbox = Sandbox::new();
        sandbox.write("a-folder/note.txt", "in use");
        let config = with(&home(&receiver.url("/")), &json!({"cache": cache}));
        let run = sandbox.sync(&config).prints("1 accepted");
        assert_eq!(run.code, 0, "cache {cache}: {}", run.stderr);
        assert_warns(&run, cache);
        assert_eq!(receiver.take().len(), 1, "cache {cache}: the update is sent");
        assert_eq!(sandbox.read("a-folder/note.txt"), "in use", "cache {cache}: nothing of the user's is touched");
    }
}

#[test]
fn e4_without_a_cache_every_run_sends_and_nothing_is_written() {
    for cache in [json!(false), json!("false")] {
        let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
        let config = with(&home(&receiver.url("/")), &json!({"cache": cache}));
        for _ in 0..2 {
            sandbox.sync(&config).expect(0).prints("1 accepted");
        }
        assert_eq!(receiver.callbacks().len(), 2, "cache {cache}");
        assert_eq!(files(&sandbox.path("")), [sandbox.path("config.json")], "cache {cache}");
    }
}

#[test]
fn e4_a_failed_update_leaves_other_entries_in_the_file() {
    let receiver = Receiver::new();
    let (sandbox, config) = (Sandbox::new(), home(&receiver.url("/")));
    sandbox.sync(&config).expect(0);
    sandbox.sync(&home("http://127.0.93.8:9/")).expect(1);
    sandbox.sync(&config).says_nothing();
}

/// Runs with these variables; returns the sandbox.
fn run_with(env: &[(&str, &str)], config: &Value) -> Sandbox {
    let mut sandbox = Sandbox::new();
    for (name, folder) in env {
        let path = sandbox.path(folder);
        sandbox = sandbox.env(name, path.to_str().expect("a plain path"));
    }
    sandbox.sync(config).expect(0);
    sandbox
}

#[test]
fn e5_the_default_place_is_the_state_folder() {
    let receiver = Receiver::new();
    let config = home(&receiver.url("/"));
    let (service, desktop) = (("STATE_DIRECTORY", "service"), ("XDG_STATE_HOME", "desktop"));
    for (env, place) in [
        (vec![], ".local/state/ddns/cache.json"),
        (vec![desktop], "desktop/ddns/cache.json"),
        (vec![service], "service/cache.json"),
        (vec![service, desktop], "service/cache.json"),
    ] {
        let sandbox = run_with(&env, &config);
        assert!(sandbox.path(place).is_file(), "{env:?}: no {place} among {:?}", files(&sandbox.path("")));
        assert_eq!(mode(&sandbox.path(place)), 0o600, "{env:?}");
        let expected = [sandbox.path(place), sandbox.path("config.json")];
        let others = files(&sandbox.path("")).into_iter().filter(|file| !expected.contains(file));
        let others: Vec<_> = others.filter(|file| file.parent() != sandbox.path(place).parent()).collect();
        assert!(others.is_empty(), "{env:?}: nothing elsewhere: {others:?}");
        receiver.take();
        sandbox.sync(&config).expect(0);
        assert_eq!(receiver.take().len(), 0, "{env:?}: found again");
    }
}

#[test]
fn e5_without_a_home_the_temporary_folder_is_used() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("config.json", home(&receiver.url("/")).to_string());
    fs::create_dir(sandbox.path("tmp")).expect("the folder is made");
    for _ in 0..2 {
        let mut command = sandbox.command(&["-c", "config.json"]);
        command.env_remove("HOME").env("TMPDIR", sandbox.path("tmp"));
        let output = command.output().expect("the program starts");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(receiver.callbacks().len(), 1, "remembered without a home");
    let kept = files(&sandbox.path("tmp"));
    let cache = kept.iter().find(|file| file.ends_with("cache.json"));
    assert_eq!(mode(cache.unwrap_or_else(|| panic!("no cache.json below TMPDIR: {kept:?}"))), 0o600);
}

/// A process can write the file as soon as it is in its place, while the one that put it there still syncs the folder.
#[test]
fn e4_what_another_process_writes_while_the_folder_is_synced_is_kept() {
    let Some(strace) = needed("strace") else { return };
    let (sandbox, endpoint) = (host(), Endpoint::new());
    sandbox.write("config.json", endpoint.config(&json!({})).to_string());
    sandbox.write("other.json", endpoint.config(&json!({"ipv4": ["other.example.com"]})).to_string());
    let traced = sandbox.path("traced").display().to_string();
    let strace = strace.display().to_string();
    // The second sync is that of the folder.
    let slow = ["-D", "-qq", "-o", &traced, "-e", "trace=fsync", "-e", "inject=fsync:delay_enter=3000000:when=2"];
    let watch =
        Watch::run(sandbox.command_by(&[&[strace.as_str()], &slow[..]].concat(), &["watch", "-c", "config.json"]));
    until(SOON, "the folder is synced", || {
        fs::read_to_string(&traced).unwrap_or_default().matches("fsync(").count() == 2
    });
    sandbox.run(&["-c", "other.json"]).expect(0).prints("accepted");
    let is_synced = || fs::read_to_string(&traced).unwrap_or_default().matches("(DELAYED)").count() == 1;
    assert!(!is_synced(), "the folder is synced: this proves nothing");
    until(SOON, "the end of the sync", is_synced);
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    watch.prints("203.0.113.8: accepted");
    watch.stop();
    let cache = fs::read_to_string(sandbox.cache_file()).expect("the cache");
    assert!(cache.contains("other.example.com") && cache.contains("203.0.113.8"), "{cache}");
}
