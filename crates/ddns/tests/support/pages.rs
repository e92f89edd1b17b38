//! README, the pages and what they show.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Receiver, Response, Sandbox};

/// The endpoint in every example.
pub const ENDPOINT: &str = "https://example.com";

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of a language in a page, in order.
pub fn blocks_of(page: &str, language: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).expect("the page");
    let fence = format!("```{language}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("```").next().expect("a block").to_owned()).collect()
}

/// README and everything in `docs/`, as paths from the root.
pub fn pages() -> Vec<String> {
    let files = fs::read_dir(root().join("docs")).expect("docs").map(|entry| entry.expect("a page").path());
    let texts = files.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let names = texts.filter_map(|path| Some(format!("docs/{}", path.file_name()?.to_string_lossy())));
    let mut pages: Vec<String> = names.chain(["README.md".to_owned(), "CONTRIBUTING.md".to_owned()]).collect();
    pages.sort_unstable();
    pages
}

/// The blocks of a language in README.
pub fn blocks(language: &str) -> Vec<String> {
    blocks_of("README.md", language)
}

/// The endpoint of the examples: speaks dyndns2 where such services do; elsewhere, a step finds no record.
pub fn endpoint() -> Receiver {
    Receiver::responding(|request| {
        let is_dyndns2 = request.target().starts_with("/nic/update");
        Response::with_body(200, if is_dyndns2 { "good" } else { r#"{"records": []}"# })
    })
}

/// Runs a configuration against the receiver; the addresses come from the command line.
pub fn run(config: &str, receiver: &Receiver) {
    let sandbox = Sandbox::new();
    sandbox.write("config.json", config.replace(ENDPOINT, &receiver.url("")));
    let sources = ["--index4", "shell:echo 203.0.113.7", "--index6", "shell:echo 2001:db8::7"];
    sandbox.run(&[&["-c", "config.json"], sources.as_slice()].concat()).expect(0).never_prints("warning");
}
