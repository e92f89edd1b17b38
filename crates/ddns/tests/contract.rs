//! The contract, rule by rule, seen from outside: the built program against a real receiver on loopback, in a clean
//! environment. One folder for each thing that is tested; each test is named after its rule.

#![allow(unreachable_pub, reason = "what the modules share is public among them")]

mod support;

mod request {
    mod domains;
    mod format;
    mod head;
    mod headers;
    mod method;
    mod redirects;
    mod scheme;
    mod sign;
    mod substitution;
    mod updates;
    mod url;
}

mod config {
    mod address_and_body;
    mod coming_from;
    mod errors;
    mod fields;
    mod layers;
    mod size;
}

mod cache {
    mod file;
    mod former;
    mod in_doubt;
    mod kills;
    mod long_runs;
    mod order;
    mod outcome;
}

mod services {
    mod around;
    mod combine;
    mod dyndns2;
    mod expect;
    mod httpbin;
    mod min_interval;
    mod node_red;
    mod other_records;
    mod powerdns;
    mod recipes;
    mod steps;
    mod stop_all;
    mod webhook;
}

mod notify {
    mod commands;
    mod service;
    mod single_runs;
}

mod sources {
    mod given_by_user;
    mod local;
    mod namespaces;
    mod programs;
    mod public;
    mod push;
    mod quorum;
    mod router;
    mod stun;
}

mod seen_in_dns {
    mod many;
    mod names;
    mod servers;
    mod service;
    mod source;
    mod verify;
}

mod transport {
    mod backlog;
    mod fault_matrix;
    mod faults;
    mod given_up;
    mod kept_connections;
    mod lanes;
    mod names;
    mod nginx;
    mod origins;
    mod proxy;
    mod proxy_environment;
    mod proxy_failures;
    mod proxy_https;
    mod proxy_real;
    mod proxy_socks;
    mod proxy_time;
    mod race;
    mod tls;
}

mod secrets {
    mod addresses;
    mod commands;
    mod harmless;
    mod log;
    mod log_secrets;
    mod mistakes;
    mod status;
}

mod invariants {
    mod loop_goes_on;
    mod right_address;
    mod secrets_stay;
    mod store_goes_back;
    mod traces;
}

mod watch {
    mod control;
    mod failures;
    mod life;
    mod network;
    mod overlap;
    mod reload;
    mod rest;
    mod socket;
    mod systemd;
    mod which;
}

mod web {
    mod api;
    mod browser;
    mod browser_editing;
    mod browser_keyboard;
    mod browser_setting_up;
    mod configuration;
    mod editing;
    mod events;
    mod limits;
    mod logging_in;
    mod metrics;
    mod names_and_sites;
    mod secrets;
    mod setting_up;
}

mod group {
    mod faults;
    mod given_up;
    mod hand_over;
    mod in_browser;
    mod one_host;
    mod shown;
    mod signals;
    mod single_runs;
    mod slow_store;
    mod store_goes_back;
    mod tls;

    mod trial {
        mod endpoint;
        mod faults;
        mod member;
        mod report;
        mod rounds;
        mod store;
    }
}

mod commands {
    mod addresses;
    mod check;
    mod cli;
    mod completions;
    mod few_files;
    mod history;
    mod import;
    mod init;
    mod init_services;
    mod listen;
    mod preview;
    mod programs;
    mod quiet;
    mod recipe_records;
    mod recipes;
    mod service;
    mod service_of_host;
    mod terminal;
}

mod docs {
    mod commands;
    mod configurations;
    mod contract_rules;
    mod debian;
    mod guard;
    mod imports;
    mod packaging;
    mod release;
    mod sentences;
    mod type_names;
    mod vocabulary;
}
