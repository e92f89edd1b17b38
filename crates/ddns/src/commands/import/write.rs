//! Writes the configuration and the files of its secrets: whole or not at all, and never over a file.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use ddns_core::recipe::Filled;

use super::wrong;
use crate::environment::Environment;
use crate::open_file::{cannot_write, create};

/// Refuses a target that is there already.
pub(super) fn check(target: &str, source: Option<&str>, environment: &Environment) -> Result<(), u8> {
    if target.contains("://") {
        return Err(wrong("the file to write cannot be an address", "name a file: `ddns import FILE TARGET`"));
    }
    match fs::symlink_metadata(environment.path(target)) {
        Ok(metadata) if metadata.is_dir() => {
            Err(wrong(&format!("{target} is a folder"), "name a file in it: `ddns import FILE FOLDER/config.json`"))
        }
        Ok(_) => {
            let source = source.unwrap_or("FILE");
            Err(wrong(
                &format!("{target} already exists and is not overwritten"),
                &format!("name another file: `ddns import {source} new.json`"),
            ))
        }
        Err(_) => Ok(()),
    }
}

/// Writes everything, or nothing.
pub(super) fn all(target: &str, filled: &Filled, environment: &Environment) -> Result<(), u8> {
    let mut written: Vec<PathBuf> = Vec::new();
    let secrets = filled.secrets.iter().map(|(path, secret)| (PathBuf::from(path), format!("{secret}\n"), true));
    for (path, text, is_secret) in secrets.chain([(environment.path(target), filled.text.clone(), false)]) {
        if let Err(error) = put_in_place(&path, &text, is_secret) {
            for path in &written {
                let _ = fs::remove_file(path);
            }
            let why = match error.kind() {
                io::ErrorKind::AlreadyExists => "already exists and is not overwritten".to_owned(),
                _ => cannot_write(&error),
            };
            return Err(wrong(
                &format!("{} {why}: nothing was written", path.display()),
                "name another file or folder",
            ));
        }
        written.push(path);
    }
    Ok(())
}

/// A file of its own is written beside the place first: an import that is killed leaves no half of a configuration there.
fn put_in_place(path: &Path, text: &str, is_secret: bool) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| is_secret && !folder.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    create(&beside, text)?;
    // A link never takes the place of a file, as renaming would.
    let placed = fs::hard_link(&beside, path).or_else(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Err(error),
        _ if fs::symlink_metadata(path).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        _ => fs::rename(&beside, path),
    });
    let _ = fs::remove_file(&beside);
    placed
}
