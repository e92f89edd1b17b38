//! Writes a new configuration and its secret files: all or nothing, and never over an existing file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ddns_core::recipe::Filled;
use ddns_core::text::order;

use crate::environment::Environment;
use crate::open_file::{beside, cannot_write, check_creatable, create, folder_of, make_private};
use crate::output::{fail, refuse};

/// A configuration to write.
pub(super) struct NewFile {
    /// As the user named it.
    pub(super) name: String,
    path: PathBuf,
}

impl NewFile {
    /// Refuses a file that exists, or cannot be created: checked now, so that nothing is read, asked or sent in vain.
    /// The hints are for a URL, and for a file that exists.
    pub(super) fn named(name: &str, hints: [&str; 2], environment: &Environment) -> Result<Self, u8> {
        if name == "-" {
            return Err(refuse("the file to write cannot be `-`", "name a file"));
        }
        if name.contains("://") {
            return Err(refuse("the file to write cannot be an address", hints[0]));
        }
        let path = environment.path(name);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                let hint = format!("name a file in it: {}", path.join("config.json").display());
                Err(refuse(format!("{name} is a folder"), hint))
            }
            Ok(_) => Err(refuse(taken(name), hints[1])),
            Err(_) => match check_creatable(&path) {
                Ok(()) => Ok(Self { name: name.to_owned(), path }),
                Err(error) => Err(unwritable(name, &error)),
            },
        }
    }

    /// Writes the secret files, then the configuration, for this user alone. Prints errors, and fails with the exit
    /// status.
    pub(super) fn write(&self, filled: &Filled) -> Result<(), u8> {
        let (mut written, mut made): (Vec<&Path>, Vec<&Path>) = Default::default();
        let secrets = filled.secrets.iter().map(|(path, secret)| (path, Path::new(path), format!("{secret}\n")));
        for (name, path, text) in secrets.chain([(&self.name, &*self.path, filled.text.clone())]) {
            made.extend(folder_of(path).ancestors().take_while(|folder| !folder.exists()));
            if let Err(error) = put_in_place(path, &text, path != self.path) {
                for path in written {
                    let _ = fs::remove_file(path);
                }
                order::sort(&mut made);
                for folder in made.into_iter().rev() {
                    let _ = fs::remove_dir(folder);
                }
                return Err(match error.kind() {
                    io::ErrorKind::AlreadyExists => refuse(taken(name), "name another file, or move this one away"),
                    _ => unwritable(name, &error),
                });
            }
            written.push(path);
        }
        Ok(())
    }
}

fn taken(name: &str) -> String {
    format!("{name} already exists and is not overwritten")
}

pub(super) fn unwritable(name: &str, error: &io::Error) -> u8 {
    fail(&format!("{name} {}: there is no new file", cannot_write(error)))
}

/// Writes a temporary file beside the target first, so that a command that is killed leaves no partial configuration.
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
