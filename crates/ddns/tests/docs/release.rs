//! What a release consists of: packed twice with the same bytes, and installed as README and `docs/install.md` say. The programs
//! for other processors are tried by `packaging/release` itself.

use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::packaging::{image_environment, instruction, output_of, started_in, yaml};
use crate::support::given::files;
use crate::support::pages::{blocks_of, root};
use crate::support::tools::{needed, skipped, tool};
use crate::support::{Run, Sandbox};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Where the pages have the files of a release.
const PLACE: &str = "https://example.com/ddns/releases/download/";

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn run(command: &mut Command) -> Run {
    Run::of(&command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}")))
}

fn sh(folder: &Path, line: &str) -> Run {
    run(Command::new("sh").args(["-euc", line]).current_dir(folder))
}

/// Packs the static program; none, and the test is skipped, where something is missing.
fn packed(folder: &Path) -> Option<()> {
    let Some(program) = env::var_os("DDNS_TEST_STATIC") else {
        skipped("DDNS_TEST_STATIC does not name a program made by packaging/build-static");
        return None;
    };
    if ["dpkg-deb", "git", "python3"].into_iter().any(|name| tool(name).is_none()) || !root().join(".git").exists() {
        skipped("there is no `dpkg-deb`, `git` or `python3`, or this is no clone");
        return None;
    }
    let programs = folder.join("programs");
    fs::create_dir_all(&programs).expect("a folder");
    fs::copy(program, programs.join(format!("{}-unknown-linux-gnu", env::consts::ARCH)))
        .expect("the program is copied");
    let mut pack = Command::new(root().join("packaging/pack"));
    // To pack the Debian package tightly takes longer than everything else.
    pack.env("DPKG_DEB_COMPRESSOR_TYPE", "none").arg(VERSION).arg(&programs).arg(folder.join("release"));
    run(&mut pack).expect(0);
    Some(())
}

#[test]
fn release_has_the_same_bytes_when_it_is_packed_again_and_its_parts_run() {
    let (sandbox, again) = (Sandbox::new(), Sandbox::new());
    let Some(()) = packed(&sandbox.path(".")) else { return };
    packed(&again.path("deeper"));
    let sums = sandbox.read("release/SHA256SUMS");
    assert_eq!(sums, again.read("deeper/release/SHA256SUMS"), "the same bytes");
    let listed: Vec<_> =
        sums.lines().filter_map(|line| line.split_once("  ")).map(|(_, name)| name.to_owned()).collect();
    for file in files(&sandbox.path("release")) {
        let name = file.file_name().expect("a name").to_str().expect("a plain name");
        assert!(name == "SHA256SUMS" || listed.iter().any(|known| known == name), "SHA256SUMS lacks {name}");
    }
    let notes = sandbox.read("release/RELEASE-NOTES.md");
    let own = notes.replace(&format!("https://example.com/ddns/blob/v{VERSION}/docs/"), "docs/");
    assert!(own.starts_with("- ") && read("CHANGELOG.md").contains(&own) && !own.contains("\n## "), "{notes}");
    assert!(!notes.contains("](docs/"), "a link that leads nowhere");
    let formula = sandbox.read("release/ddns.rb");
    assert!(!formula.contains("@VERSION@") && !formula.contains("@SOURCE@"), "{formula}");

    let parts: Value = serde_json::from_str(&sandbox.read(&format!("release/ddns-{VERSION}.cdx.json"))).expect("JSON");
    let components = parts["components"].as_array().expect("a list");
    assert!(
        components.iter().any(|part| part["name"] == "rustls") && parts["metadata"]["component"]["version"] == VERSION
    );
    assert!(!components.iter().any(|part| part["name"] == "tempfile"), "what tests need is not in the program");

    downloaded(&sandbox.path("release"));
    on_openwrt(&sandbox.path("release"));
    in_container(&sandbox.path("release"));
    each_tried(&sandbox.path("release"));
}

/// The last step of `packaging/release`.
fn each_tried(release: &Path) {
    let Some(_) = needed("skopeo") else { return };
    let tried = || run(Command::new(root().join("packaging/try-release")).arg(VERSION).arg(release));
    let whole = tried().expect(0);
    for file in files(release) {
        let name = file.file_name().expect("a name").to_str().expect("a plain name");
        assert!(name == "SHA256SUMS" || whole.stdout.contains(&format!("    {name}: ")), "{name} is not tried");
    }
    fs::write(release.join("more.txt"), "").expect("a file");
    tried().expect(1).prints("SHA256SUMS and the folder differ in more.txt");
    sh(release, "sha256sum more.txt >>SHA256SUMS").expect(0);
    tried().expect(1).prints("more.txt: how is it tried?");
    sh(release, "mv more.txt SHA256SUMS.minisig && sed -i '/more.txt/d' SHA256SUMS && echo >>compose.yaml").expect(0);
    tried().expect(1).prints("compose.yaml is not what SHA256SUMS says");
}

/// The lines of the page, with the folder in place of the forge.
fn downloaded(release: &Path) {
    let Some(_) = needed("curl") else { return };
    let sandbox = Sandbox::new();
    let place = format!("file://{}/", release.display());
    let lines: Vec<_> = blocks_of("docs/install.md", "console").iter().flat_map(|block| commands(block)).collect();
    let download: Vec<_> = lines.iter().filter(|line| line.contains(PLACE) || line.starts_with("sha256sum")).collect();
    assert_eq!(download.len(), 3, "{lines:#?}");
    for line in download {
        let line = line.replace(&format!("{PLACE}v{VERSION}/"), &place);
        assert!(!line.contains("https:"), "{line}: is it the version of Cargo.toml?");
        sh(&sandbox.path("."), &line).expect(0);
    }
    let unpack =
        commands(&read("README.md")).into_iter().find(|line| line.starts_with("tar ")).expect("README unpacks it");
    fs::create_dir(sandbox.path("bin")).expect("a folder");
    sh(&sandbox.path("."), &unpack.replace("sudo ", "").replace("/usr/local/bin/", "bin/")).expect(0);
    sh(&sandbox.path("."), "bin/ddns --version").expect(0);
    let folder = sandbox.path(&format!("ddns-{VERSION}-{}-unknown-linux-gnu", env::consts::ARCH));
    let version = sh(&folder, "./ddns --version").expect(0).stdout;
    assert_eq!(version, format!("ddns {VERSION}\n"));
    for name in [
        "README.md",
        "LICENSE",
        "THIRD-PARTY.txt",
        "ddns.1",
        "completions/_ddns",
        "systemd/ddns.service",
        "openwrt/ddns.init",
    ] {
        assert!(folder.join(name).is_file(), "the archive lacks {name}");
    }
    // A damaged file is found.
    sh(
        &sandbox.path("."),
        "for file in ddns-*.tar.gz; do echo >>\"$file\"; done; ! sha256sum --check --ignore-missing SHA256SUMS",
    )
    .expect(0);
}

/// What a console block or page shows after `$ `, without comments.
fn commands(text: &str) -> Vec<String> {
    let shown = text.lines().filter_map(|line| line.strip_prefix("$ "));
    shown.map(|line| line.split(" # ").next().unwrap_or_default().trim().to_owned()).collect()
}

/// Unpacked as opkg does it; the program and the init script are run there.
fn on_openwrt(release: &Path) {
    let root = Sandbox::new();
    let package = release.join(format!("ddns-callback_{VERSION}-1_{}.ipk", env::consts::ARCH));
    let line = format!(
        "mkdir control root; tar xzf {} && tar xzf data.tar.gz -C root && tar xzf control.tar.gz -C control",
        package.display()
    );
    sh(&root.path("."), &line).expect(0);
    assert_eq!(root.read("debian-binary"), "2.0\n");
    let control = root.read("control/control");
    assert!(
        control.contains(&format!("Version: {VERSION}-1\n")) && control.contains("Package: ddns-callback\n"),
        "{control}"
    );
    let top = root.path("root");
    let mut inside: Vec<_> =
        files(&top).iter().map(|file| file.strip_prefix(&top).expect("inside").display().to_string()).collect();
    inside.sort();
    let licences = "usr/share/licenses/ddns-callback/THIRD-PARTY.txt.gz";
    assert_eq!(inside, ["etc/init.d/ddns-watch", "lib/upgrade/keep.d/ddns-callback", "usr/sbin/ddns", licences]);
    // The script starts the program where the package has it.
    let script = format!(
        "procd_open_instance() {{ :; }}; procd_close_instance() {{ :; }}; mkdir() {{ :; }}; chown() {{ :; }}; chmod() {{ :; }}\n\
        procd_set_param() {{ [ \"$1\" != command ] || echo \"$2\"; }}\n. {}/etc/init.d/ddns-watch\nstart_service",
        top.display()
    );
    assert_eq!(sh(&top, &script).expect(0).stdout, "/usr/sbin/ddns\n");
    // Not on the machine that makes an image of a router.
    for script in ["prerm", "postinst"] {
        let script = root.path(&format!("control/{script}"));
        run(Command::new("sh").arg(script).env("IPKG_INSTROOT", &top)).expect(0).says_nothing();
    }
    // An upgrade leaves the service enabled and starts it again; a new installation starts nothing.
    root.write("bin/ddns-watch", "#!/bin/sh\necho $1\n[ $1 != enabled ] || [ -n \"$IS_ENABLED\" ]\n");
    sh(
        &root.path("."),
        "chmod 755 bin/ddns-watch; sed -i \"s|/etc/init.d/|$PWD/bin/|\" control/prerm control/postinst",
    )
    .expect(0);
    for (line, says) in [
        ("PKG_UPGRADE=1 sh control/prerm && IS_ENABLED=1 sh control/postinst", "stop\nenabled\nrestart\n"),
        ("sh control/postinst", "enabled\n"),
        ("sh control/prerm", "stop\ndisable\n"),
    ] {
        assert_eq!(sh(&root.path("."), line).expect(0).stdout, says, "{line}");
    }
    if let Some(mut inside) = started_in(&top, (65534, 65534)) {
        fs::set_permissions(root.path("."), fs::Permissions::from_mode(0o755)).expect("a root that all may enter");
        let printed = run(inside.args(["/usr/sbin/ddns", "demo"]).env_clear()).expect(0).stdout;
        assert!(printed.contains("accepted"), "{printed}");
    } else {
        skipped("there is no right to change the root of a process");
    }
}

/// The image is what the Dockerfile says; its files, and nothing else, run the program.
fn in_container(release: &Path) {
    let image = Sandbox::new();
    let file = release.join(format!("ddns-{VERSION}-image.tar"));
    sh(&image.path("."), &format!("tar xf {}", file.display())).expect(0);
    let json =
        |name: &str| serde_json::from_str::<Value>(&image.read(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let blob = |descriptor: &Value| {
        let digest =
            descriptor["digest"].as_str().and_then(|text| text.strip_prefix("sha256:")).expect("a digest").to_owned();
        let name = format!("blobs/sha256/{digest}");
        let found = sh(&image.path("."), &format!("sha256sum {name}")).expect(0).stdout;
        assert!(found.starts_with(&digest), "{name} is not what its name says");
        name
    };
    let index = json(&blob(&json("index.json")["manifests"][0]));
    let manifest = json(&blob(&index["manifests"][0]));
    let config = &json(&blob(&manifest["config"]))["config"];
    let words = |value: &Value| value.to_string().replace(',', ", ");
    assert_eq!(config["User"], instruction("USER"));
    assert_eq!(words(&config["Entrypoint"]), instruction("ENTRYPOINT"));
    assert_eq!(words(&config["Cmd"]), instruction("CMD"));
    let environment: Vec<_> = image_environment().iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(config["Env"], Value::from(environment));
    let check = words(&config["Healthcheck"]["Test"]).replace("[\"CMD\", ", "CMD [");
    assert!(instruction("HEALTHCHECK").ends_with(&check), "{check}");

    fs::create_dir(image.path("root")).expect("a folder");
    sh(&image.path("root"), &format!("tar xzf ../{}", blob(&manifest["layers"][0]))).expect(0);
    let top = image.path("root");
    let (uid, gid) = (65532, 65532);
    // Only root can give them away; anybody else is the user inside.
    let _ = chown(top.join("state"), Some(uid), Some(gid));
    let _ = chown(top.join("run/ddns"), Some(uid), Some(gid));
    fs::set_permissions(image.path("."), fs::Permissions::from_mode(0o755)).expect("a root that all may enter");
    let Some(mut inside) = started_in(&top, (uid, gid)) else {
        return skipped("there is no right to change the root of a process");
    };
    let printed = run(inside.args(["/ddns", "demo"]).env_clear().envs(image_environment())).expect(0).stdout;
    assert!(printed.contains("accepted"), "{printed}");
    let compose = fs::read_to_string(release.join("compose.yaml")).expect("the file");
    assert!(compose.contains(&format!("image: ddns:{VERSION}\n")) && !compose.contains("build"), "{compose}");
    // README's line, into a folder: there is no daemon.
    let Some(_) = needed("skopeo") else { return };
    let line =
        commands(&read("README.md")).into_iter().find(|line| line.starts_with("skopeo ")).expect("README loads it");
    let (copy, daemon) = line.rsplit_once(' ').expect("two places");
    assert_eq!(daemon, format!("docker-daemon:ddns:{VERSION}"));
    let copy = copy.replace("skopeo", "skopeo --insecure-policy");
    sh(release, &format!("{copy} dir:{}", image.path("copied").display())).expect(0);
    assert!(image.path("copied/manifest.json").is_file());
}

#[test]
fn install_page_says_of_every_line_whether_it_was_tried() {
    let page = read("docs/install.md");
    let rows = page.lines().skip_while(|line| *line != "| | | |").skip(2).take_while(|line| line.starts_with('|'));
    let tried: Vec<_> = rows.filter_map(|row| row.rsplit('|').nth(1)).collect();
    assert!(tried.len() >= 8, "{tried:?}");
    for tried in tried {
        assert!(["tested", "by hand", "*untried*"].iter().any(|word| tried.contains(word)), "{tried}");
    }
}

/// A clone with what `packaging/release` looks at before it builds.
fn clone() -> Option<Sandbox> {
    needed("git")?;
    let sandbox = Sandbox::new();
    for file in ["packaging/release", "packaging/sizes.md"] {
        sandbox.write(&format!("clone/{file}"), read(file));
    }
    sandbox.write("clone/Cargo.toml", "version = \"1.2.3\"\n");
    sandbox.write("clone/CHANGELOG.md", "# Changelog\n\n## 1.3.0\n\n- later\n\n## 1.2.3\n\n- now\n");
    let make = "git init -q . && git add . && git -c user.name=a -c user.email=a@example.com commit -q -m all";
    sh(&sandbox.path("clone"), make).expect(0);
    Some(sandbox)
}

#[test]
fn release_refuses_in_one_sentence_and_leaves_nothing_behind() {
    let Some(sandbox) = clone() else { return };
    // Programs that every system has, and none that builds.
    let bin = sandbox.path("bin");
    fs::create_dir(&bin).expect("a folder");
    for name in ["bash", "cut", "dirname", "git", "grep", "printf", "sed"] {
        if let Some(program) = tool(name) {
            symlink(program, bin.join(name)).expect("a link");
        }
    }
    let release = |words: &[&str]| {
        let mut command = Command::new(tool("bash").expect("bash"));
        command
            .arg(sandbox.path("clone/packaging/release"))
            .args(words)
            .env_clear()
            .env("PATH", &bin)
            .env("HOME", &bin);
        let run = run(&mut command);
        assert!(!sandbox.path("clone/target").exists(), "{words:?}: nothing is made");
        assert_eq!((run.stdout.as_str(), run.stderr.lines().count()), ("", 1), "{words:?}: {}", run.stderr);
        run
    };
    release(&[]).expect(2).prints("usage: packaging/release");
    release(&["newest"]).expect(1).prints("\"newest\" is not a version");
    release(&["9.9.9"]).expect(1).prints("CHANGELOG.md has no section \"## 9.9.9\"");
    release(&["1.3.0"]).expect(1).prints("Cargo.toml says version 1.2.3, not 1.3.0");
    release(&["1.2.3"]).expect(1).prints("these are not installed: cargo (cargo), ");
    sandbox.write("clone/new", "");
    release(&["1.2.3"]).expect(1).prints("not committed");
}

/// What `packaging/release` does with each program before it packs it.
#[test]
fn static_program_does_what_its_users_will_do() {
    let Some(program) = env::var_os("DDNS_TEST_STATIC") else {
        return skipped("DDNS_TEST_STATIC does not name a program made by packaging/build-static");
    };
    let may = |options| Command::new("unshare").args([options, "true"]).stderr(Stdio::null()).status();
    if ["ip", "openssl", "python3"].into_iter().any(|name| tool(name).is_none())
        || !["-n", "-rn"].into_iter().any(|options| may(options).is_ok_and(|status| status.success()))
    {
        return skipped("there is no `ip`, `openssl` or `python3`, or no right to make a network namespace");
    }
    let tried = run(Command::new(root().join("packaging/try-program")).arg(program)).expect(0);
    assert!(tried.stdout.contains("a changed address is sent: yes"), "{}", tried.stdout);
    run(Command::new(root().join("packaging/try-program")).arg("/bin/true")).expect(1).prints("does not say");
}

/// A key is not taken by anybody's action, and no job may do more than it needs.
#[test]
fn workflows_use_nothing_of_others_and_the_compilers_of_the_tree() {
    let table = read("crates/ddns/benches/guard/table.md");
    let of_guard = table.split("rustc ").nth(1).and_then(|rest| rest.split(',').next()).expect("a compiler");
    let manifest = read("Cargo.toml");
    let oldest = manifest.split("rust-version = \"").nth(1).and_then(|rest| rest.split('"').next()).expect("a version");
    let images = [format!("rust:{of_guard}-bookworm"), format!("rust:{oldest}-bookworm")];
    let mut used = Vec::new();
    for file in files(&root().join(".github/workflows")) {
        let text = fs::read_to_string(&file).expect("a workflow");
        assert!(!text.contains("uses:"), "{}: an action of others", file.display());
        let Some(documents) = yaml(file.to_str().expect("a plain path")) else { return };
        let workflow = &documents[0];
        assert_eq!(workflow["permissions"].as_object().map(serde_json::Map::len), Some(0), "{}", file.display());
        for (name, job) in workflow["jobs"].as_object().expect("jobs") {
            assert!(job["timeout-minutes"].is_u64(), "{name} ends");
            let writes = job["permissions"].as_object().expect("permissions").values().any(|value| value == "write");
            assert!(!writes || file.ends_with("release.yml"), "{name} may write");
            for (at, step) in job["steps"].as_array().expect("steps").iter().enumerate() {
                let Some(seconds) = step["run"].as_str().and_then(|line| line.trim().strip_prefix("fuzz/run ")) else {
                    continue;
                };
                // Two at a time, and half an hour to build them.
                let rounds = files(&root().join("fuzz/fuzz_targets")).len().div_ceil(2) as u64;
                let needed = rounds * seconds.parse::<u64>().expect("seconds") / 60 + 30;
                assert!(job["timeout-minutes"].as_u64() >= Some(needed), "step {at} of {name} takes {needed} minutes");
            }
            let image = job["container"]["image"].as_str().expect("an image").to_owned();
            assert!(images.contains(&image), "{name}: {image}, not one of {images:?}");
            used.push(image);
        }
    }
    assert!(images.iter().all(|image| used.contains(image)), "{used:?}");
}

#[test]
fn every_dependency_has_a_licence_that_is_allowed() {
    let Some(_) = needed("python3") else { return };
    let printed = run(Command::new(root().join("packaging/dependencies")).arg("licences")).expect(0).stdout;
    assert!(printed.contains("all with an allowed licence"), "{printed}");
}

#[test]
fn scripts_are_ones_that_their_shells_read() {
    let scripts = |folder: &str| {
        fs::read_dir(root().join(folder)).expect("a folder").map(|entry| entry.expect("an entry").path())
    };
    let all: Vec<PathBuf> = scripts("packaging").chain(scripts(".ci")).filter(|path| path.is_file()).collect();
    let begins = |path: &Path, text: &str| fs::read_to_string(path).is_ok_and(|script| script.starts_with(text));
    let (shell, python): (Vec<_>, Vec<_>) = (
        all.iter().filter(|path| begins(path, "#!/usr/bin/env bash") || begins(path, "#!/bin/sh")).collect(),
        all.iter().filter(|path| begins(path, "#!/usr/bin/env python3")).collect(),
    );
    assert!(shell.len() >= 9 && python.len() >= 4, "{all:?}");
    for script in shell {
        let output = Command::new("bash").arg("-n").arg(script).output().expect("bash starts");
        assert!(output.status.success(), "{}", output_of(&output));
    }
    let Some(_) = needed("python3") else { return };
    for script in python {
        let read = "import ast, sys; ast.parse(open(sys.argv[1]).read())";
        let output = Command::new("python3").args(["-c", read]).arg(script).output().expect("Python starts");
        assert!(output.status.success(), "{}: {}", script.display(), output_of(&output));
    }
}
