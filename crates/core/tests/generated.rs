//! What is generated from the table of fields, from the recipes and by `service` must be what is in the repository.
//!
//! `UPDATE_GENERATED=1 cargo test -p ddns-callback-core --test generated` writes it anew.

#![allow(clippy::disallowed_methods, reason = "this test looks at files; the core does not")]

use std::path::Path;
use std::{env, fs};

use ddns_core::config::reference;
use ddns_core::recipe;
use ddns_core::service::{ServiceSpec, procd, systemd};

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

#[test]
fn the_units_are_those_of_the_command() {
    let service = ServiceSpec::packaged("/usr/local/bin/ddns");
    compare("packaging/systemd/ddns.service", &systemd::packaged(&service));
    compare("packaging/systemd/ddns-once.service", &systemd::once(&service));
    compare("packaging/systemd/programs.conf", &systemd::programs());
    compare("packaging/openwrt/ddns.init", &procd::packaged(&ServiceSpec::packaged("/usr/sbin/ddns")));
}
