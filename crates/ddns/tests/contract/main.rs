//! The contract, rule by rule, seen from outside: the built program against a real receiver on loopback, in a clean
//! environment. One module for each section; each test is named after its rule.

#![allow(unreachable_pub, reason = "what the modules share is public among them")]

mod support;

mod forms;
mod given;
mod odd_server;
mod proxies;
mod scripted;
mod tools;
mod watching;

mod a;
mod addresses;
mod asking;
mod b;
mod b_errors;
mod b_fields;
mod b_layers;
mod c;
mod c_url;
mod check;
mod cli;
mod completions;
mod d;
mod d_faults;
mod d_kept;
mod d_lanes;
mod d_nginx;
mod d_origins;
mod d_proxy;
mod d_proxy_environment;
mod d_proxy_failures;
mod d_proxy_https;
mod d_proxy_real;
mod d_proxy_socks;
mod d_proxy_time;
mod d_race;
mod d_redirects;
mod d_tls;
mod docs;
mod docs_console;
mod e;
mod e_cache;
mod e_doubt;
mod e_long;
mod f;
mod f_local;
mod f_netns;
mod f_programs;
mod f_public;
mod f_quorum;
mod f_stun;
mod g;
mod g_leaks;
mod g_secrets;
mod g_shown;
mod init;
mod listen;
mod packaging;
mod preview;
mod watch_asked;
mod watch_failures;
mod watch_life;
mod watch_network;
mod watch_overlap;
mod watch_reload;
mod watch_rest;
mod watch_socket;
mod watch_systemd;
