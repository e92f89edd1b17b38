//! What is generated from the table of fields and from the recipes must be what is in the repository.
//!
//! `UPDATE_GENERATED=1 cargo test -p ddns-callback-core --test generated` writes it anew.

#![allow(clippy::disallowed_methods, reason = "this test looks at files; the core does not")]

use std::path::Path;
use std::{env, fs};

use ddns_core::config::reference;
use ddns_core::recipe;

fn compare(file: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, expected).expect("the file is written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{file} is not what the source says: see the top of this test");
}

#[test]
fn the_schema_is_that_of_the_table() {
    compare("schema/ddns.schema.json", &reference::schema());
}

#[test]
fn the_schema_of_recipes_is_that_of_their_reader() {
    compare("schema/recipe.schema.json", &recipe::schema());
}

#[test]
fn the_reference_is_that_of_the_table() {
    compare("docs/configuration.md", &reference::page());
}

#[test]
fn the_page_of_services_is_that_of_the_recipes() {
    compare("docs/services.md", &recipe::page());
}

/// `ddns service` writes the packaged units itself; the one for the timer is confined as the service is.
#[test]
fn the_unit_for_the_timer_is_confined_as_the_service_is() {
    let read = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd").join(name);
        fs::read_to_string(&path).expect("a unit")
    };
    let (service, once) = (read("ddns.service"), read("ddns-once.service"));
    let confined = service.split_once("\n# Secrets: ").and_then(|(_, rest)| rest.split_once("\n[Install]\n"));
    let (confined, _) = confined.expect("what confines the service");
    assert!(once.ends_with(confined) && confined.contains("NoNewPrivileges=yes"), "{once}");
}
