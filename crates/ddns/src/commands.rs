//! One file for each command; `run` is `ddns` without a command. `new_file` writes what `init` and `import` make.

pub(crate) mod addresses;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod listen;
pub(crate) mod man;
mod new_file;
pub(crate) mod notify;
pub(crate) mod password;
pub(crate) mod preview;
pub(crate) mod recipes;
pub(crate) mod run;
pub(crate) mod service;
pub(crate) mod status;
pub(crate) mod sync;
pub(crate) mod verify;
pub(crate) mod version;
