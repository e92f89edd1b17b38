//! Writes the configuration and its secret files: all or nothing, and never over an existing file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ddns_core::recipe::Filled;

use crate::environment::Environment;
use crate::open_file::{beside, cannot_write, create, folder_of, make_private};
use crate::output::refuse;

/// Refuses a target that already exists.
pub(super) fn check(target: &str, source: Option<&str>, environment: &Environment) -> Result<(), u8> {
    if target.contains("://") {
        return Err(refuse("the file to write cannot be an address", "name a file: `ddns import FILE TARGET`"));
    }
    match fs::symlink_metadata(environment.path(target)) {
        Ok(metadata) if metadata.is_dir() => {
            Err(refuse(format!("{target} is a folder"), "name a file in it: `ddns import FILE FOLDER/config.json`"))
        }
        Ok(_) => {
            let source = source.unwrap_or("FILE");
            Err(refuse(
                format!("{target} already exists and is not overwritten"),
                format!("name another file: `ddns import {source} new.json`"),
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
            return Err(refuse(
                format!("{} {why}: nothing was written", path.display()),
                "name another file or folder",
            ));
        }
        written.push(path);
    }
    Ok(())
}

/// Writes a temporary file beside the target first, so that an import that is killed leaves no partial configuration.
fn put_in_place(path: &Path, text: &str, is_secret: bool) -> io::Result<()> {
    if is_secret {
        make_private(folder_of(path))?;
    }
    let new = beside(path, &format!(".{}.new", std::process::id()));
    create(&new, text)?;
    // A hard link never replaces an existing file, as renaming would.
    let placed = fs::hard_link(&new, path).or_else(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Err(error),
        _ if fs::symlink_metadata(path).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        _ => fs::rename(&new, path),
    });
    let _ = fs::remove_file(&new);
    placed
}
