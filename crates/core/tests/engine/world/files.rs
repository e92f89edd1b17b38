//! How processes read and write cache files.

use ddns_core::engine::plan::{StoreId, StorePlace};
use ddns_core::engine::{Event, Stored, Ticket};
use ddns_core::update::state::State;

use super::{Health, What, World};
use crate::flaws::Flaw;

impl World {
    /// The number of the file of a store. `None`: it is not in a file.
    pub(crate) fn file_of(&self, process: usize, store: StoreId) -> Option<usize> {
        match &self.processes[process].plan.places()[store] {
            StorePlace::File(path) => path.to_str().and_then(|path| path.strip_prefix("file")?.parse().ok()),
            StorePlace::Memory | StorePlace::Group(_) => None,
        }
    }

    pub(super) fn read(&mut self, process: usize, store: StoreId) -> Stored {
        let salt = self.seeds.number().to_le_bytes().to_vec();
        let Some(file) = self.file_of(process, store) else { return Stored::Missing { salt } };
        let known = &mut self.files[file];
        match &known.content {
            None => Stored::Missing { salt },
            Some(_) if self.processes[process].seen[file] == Some(known.stamp) => Stored::Unchanged,
            Some(Ok(_)) if self.flaw == Flaw::IgnoreForeign && self.processes[process].seen[file].is_some() => {
                Stored::Unchanged
            }
            Some(Ok(state)) => {
                self.processes[process].seen[file] = Some(known.stamp);
                let state = Box::new(state.clone());
                let is_unwritable = matches!(known.health, Health::Full | Health::ReadOnly);
                if is_unwritable {
                    known.lost = Some(self.now);
                }
                let unwritable = is_unwritable.then(|| "full".to_owned());
                Stored::Known { state, unwritable }
            }
            Some(Err(())) => {
                known.content = None;
                known.stamp += 1;
                self.count("damaged");
                Stored::Damaged { salt, why: "is damaged".to_owned(), moved: None }
            }
        }
    }

    /// Merges what other processes wrote, and replaces the file, as under a lock.
    pub(super) fn persist(&mut self, process: usize, store: StoreId, upto: Ticket) {
        let Some(file) = self.file_of(process, store) else { return };
        let result = self.write(process, store, file);
        if result.is_err() {
            self.count("not written");
            self.files[file].lost = Some(self.now);
        }
        let result = if self.flaw == Flaw::BelieveFailedWrite { Ok(()) } else { result };
        let text = match &self.files[file].content {
            Some(Ok(state)) if self.is_traced => state.to_string(),
            _ => String::new(),
        };
        self.note(|| format!("{process} <- Persisted {store} {upto} {result:?}: {text}"));
        match result {
            Ok(()) => self.check_file(file, None),
            // First the process may remove the file.
            Err(_) => self.at(self.now, What::Check { to: self.who(process), file }),
        }
        self.tell(process, Event::Persisted { store, upto, result });
    }

    fn write(&mut self, process: usize, store: StoreId, file: usize) -> Result<(), String> {
        let known = &mut self.files[file];
        if known.health == Health::Locked {
            return Err("locked".to_owned());
        }
        let of = &mut self.processes[process];
        let Some(engine) = &mut of.engine else { return Ok(()) };
        let mut is_merged = false;
        if of.seen[file] != Some(known.stamp) && self.flaw != Flaw::IgnoreForeign {
            let on_disk = known.content.clone().and_then(Result::ok);
            is_merged = on_disk.is_some();
            engine.merge(store, on_disk);
        }
        let text = engine.text(store).to_string();
        if self.flaw == Flaw::SendBeforePersisted && self.sequence.is_multiple_of(2) {
            return Ok(());
        }
        if known.health != Health::Good {
            return Err("full".to_owned());
        }
        let before = known.content.take().and_then(Result::ok);
        let text = self.flawed(process, before, text);
        let (known, of) = (&mut self.files[file], &mut self.processes[process]);
        known.content = Some(State::from_text(&text).ok_or(()));
        known.stamp += 1;
        of.seen[file] = Some(known.stamp);
        if known.content == Some(Err(())) {
            self.fail(|| format!("a file that is written cannot be read: {text}"));
        }
        if is_merged {
            self.count("merged");
        }
        self.saved(process, file);
        Ok(())
    }
}
