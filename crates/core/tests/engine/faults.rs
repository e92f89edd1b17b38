//! What goes wrong: a list that is made first, so that a failure can be told with fewer of them.

use std::rc::Rc;
use std::time::Duration;

use ddns_core::engine::{Event, Mode};
use ddns_core::net::family::Family;

use crate::endpoint::Mood;
use crate::random::Random;
use crate::setup::{Shape, index};
use crate::world::{Health, What, World};

/// How a configuration changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edit {
    Nothing,
    /// The callback of an entry, to this path.
    Path(usize, u32),
    Cache(usize, Option<usize>),
    Domains(usize, [usize; 2]),
    Concurrency(Option<u16>),
    MinInterval(usize, u64),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    Start(usize, bool),
    Kill(usize),
    KillSoon(usize, u64),
    Pause(usize, Duration),
    Stop(usize),
    Reload(usize, Edit),
    Synchronize(usize),
    RetryStopped(usize),
    Address(Family, bool),
    /// The one before returns.
    Return(Family, bool),
    NoAddress(Family, bool),
    Mood(usize, Mood),
    File(usize, Health),
    Damage(usize),
    Keep(usize),
    PutBack(usize),
    /// The time of day is set, by so many seconds.
    Clock(i64),
    Heal,
}

/// The faults of a schedule, by time.
pub(crate) fn list(random: &mut Random, trouble: Duration, shapes: &[Shape], size: Size) -> Vec<(Duration, Fault)> {
    let mut faults = Vec::new();
    for process in 0..size.processes {
        let at = random.up_to(Duration::from_secs(20));
        faults.push((at, Fault::Start(process, random.below(4) == 0)));
    }
    for _ in 0..3 + random.below(40) {
        let begin = random.up_to(trouble);
        let time = [Duration::from_millis(500), Duration::from_secs(8), Duration::from_secs(90)][index(random, 3)];
        let end = (begin + random.up_to(time)).min(trouble);
        let process = index(random, size.processes);
        let family = Family::ALL[index(random, 2)];
        let origin = index(random, size.origins);
        let file = index(random, size.files);
        let is_told = random.below(8) > 0;
        match random.below(size.kinds) {
            0 => faults.push((begin, Fault::Kill(process))),
            1 | 2 => faults.push((begin, Fault::KillSoon(process, random.below(12)))),
            3 => faults.push((begin, Fault::Start(process, random.below(2) == 0))),
            4 | 5 | 6 => {
                faults.push((begin, Fault::Address(family, is_told)));
                // While the other one is missing.
                if size.kinds > 12 && random.below(8) == 0 {
                    let other = Family::ALL[1 - family.index()];
                    faults.push((begin.saturating_sub(Duration::from_secs(2)), Fault::NoAddress(other, true)));
                    faults.push((end, Fault::Return(other, is_told)));
                }
            }
            7 => {
                for number in 0..2 + random.below(6) {
                    let at = begin + Duration::from_millis(random.below(3000)) * u32::try_from(number).unwrap_or(1);
                    let fault = if random.below(3) > 0 {
                        Fault::Return(family, is_told)
                    } else {
                        Fault::Address(family, is_told)
                    };
                    faults.push((at.min(trouble), fault));
                }
            }
            8 | 9 | 10 => {
                let moods = [
                    Mood::Slow,
                    Mood::Refuses,
                    Mood::Unreachable,
                    Mood::Hangs,
                    Mood::Hangs,
                    Mood::Breaks,
                    Mood::TooMany(1 + random.below(60)),
                    Mood::Any,
                    Mood::Stops,
                    Mood::Waits,
                    Mood::Any,
                    Mood::Late,
                    Mood::Twice,
                ];
                // Few of those: of what they take in nothing can be said any more.
                let count = if random.below(8) == 0 { moods.len() } else { moods.len() - 2 };
                faults.push((begin, Fault::Mood(origin, moods[index(random, count)])));
                faults.push((end, Fault::Mood(origin, Mood::Good)));
                // Often an address changes meanwhile.
                if random.below(2) == 0 {
                    faults.push((begin + random.up_to(end - begin), Fault::Address(family, is_told)));
                }
                // And returns.
                if random.below(3) == 0 {
                    faults.push((end, Fault::Return(family, is_told)));
                }
                // Or somebody tries another callback, and then another address comes.
                if size.kinds > 16 && random.below(4) == 0 {
                    let site = index(random, shapes.len());
                    let at = begin + random.up_to(end - begin);
                    let entry = index(random, shapes[site].entries.len());
                    let path = u32::try_from(random.below(3)).unwrap_or(0);
                    faults.push((at, Fault::Reload(site, Edit::Path(entry, path))));
                    faults.push((at + random.up_to(Duration::from_secs(10)), Fault::Address(family, is_told)));
                }
            }
            11 => faults.push((begin, Fault::Synchronize(process))),
            12 => {
                faults.push((begin, Fault::NoAddress(family, is_told)));
                // The other one changes meanwhile.
                if random.below(2) == 0 {
                    let other = Family::ALL[1 - family.index()];
                    faults.push((begin + random.up_to(end - begin), Fault::Address(other, is_told)));
                }
                faults.push((end, Fault::Return(family, is_told)));
            }
            13 => {
                let health = [Health::Full, Health::Locked, Health::ReadOnly][index(random, 3)];
                faults.push((begin, Fault::File(file, health)));
                faults.push((end, Fault::File(file, Health::Good)));
            }
            14 => faults.push((begin, Fault::Damage(file))),
            15 => {
                faults.push((begin, Fault::Keep(file)));
                faults.push((end, Fault::PutBack(file)));
            }
            16 | 17 => {
                let site = index(random, shapes.len());
                faults.push((begin, Fault::Reload(site, edit(random, &shapes[site], size))));
            }
            18 => faults.push((begin, Fault::RetryStopped(process))),
            19 => {
                faults.push((begin, Fault::Stop(process)));
                faults.push((end, Fault::Start(process, random.below(3) == 0)));
            }
            20 => faults.push((begin, Fault::Pause(process, end - begin))),
            _ => {
                let seconds = [5, 90, 600, 86_400][index(random, 4)];
                let is_back = random.below(2) == 0;
                faults.push((begin, Fault::Clock(if is_back { -seconds } else { seconds })));
            }
        }
    }
    faults.sort_by_key(|(at, _)| *at);
    faults
}

fn edit(random: &mut Random, shape: &Shape, size: Size) -> Edit {
    let entry = index(random, shape.entries.len());
    match random.below(7) {
        0 => Edit::Nothing,
        1 | 2 => Edit::Path(entry, u32::try_from(random.below(3)).unwrap_or(0)),
        3 => Edit::Cache(entry, (random.below(6) > 0).then(|| index(random, size.files))),
        4 => Edit::Concurrency([None, Some(1), Some(3)][index(random, 3)]),
        5 => Edit::MinInterval(entry, [0, 30, 60][index(random, 3)]),
        _ => {
            let most = shape.entries[entry].domains;
            Edit::Domains(entry, most.map(|most| index(random, most + 2)))
        }
    }
}

/// How much there is in a world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) processes: usize,
    pub(crate) files: usize,
    pub(crate) origins: usize,
    /// So many kinds of faults.
    pub(crate) kinds: u64,
}

impl World {
    pub(super) fn fault(&mut self, fault: Fault) {
        let late = match fault {
            Fault::Stop(process) | Fault::Synchronize(process) | Fault::RetryStopped(process) => {
                self.is_paused(process).then_some(process)
            }
            _ => None,
        };
        // It is told when it runs again.
        if let Some(process) = late {
            let until = self.processes[process].paused.map_or(self.now, |(_, until)| until);
            self.at(until, What::Fault(fault));
            return;
        }
        match fault {
            Fault::Start(process, is_once) => self.start(process, if is_once { Mode::Once } else { Mode::Service }),
            Fault::Kill(process) => self.kill(process),
            Fault::KillSoon(process, effects) => self.kill_soon(process, effects),
            Fault::Pause(process, time) => self.pause(process, time),
            Fault::Stop(process) => self.stop(process),
            Fault::Reload(site, edit) => self.edit(site, edit),
            Fault::Synchronize(process) => self.feed(process, Event::Synchronize),
            Fault::RetryStopped(process) => {
                if self.processes[process].engine.is_some() {
                    self.forget_stopped(process);
                }
                self.feed(process, Event::RetryStopped);
            }
            Fault::Address(family, is_told) => {
                self.former[family.index()] = self.address[family.index()].or(self.former[family.index()]);
                let ip = self.fresh_address(family);
                self.set_address(family, Some(ip), is_told);
            }
            Fault::Return(family, is_told) => {
                let before = self.former[family.index()];
                if before.is_some() {
                    self.former[family.index()] = self.address[family.index()].or(before);
                    self.set_address(family, before, is_told);
                }
            }
            Fault::NoAddress(family, is_told) => {
                self.former[family.index()] = self.address[family.index()].or(self.former[family.index()]);
                self.set_address(family, None, is_told);
            }
            Fault::Mood(origin, mood) => self.origins[origin].mood = mood,
            Fault::File(file, health) => {
                let before = std::mem::replace(&mut self.files[file].health, health);
                // It says what was true when it could still be written.
                if before == Health::ReadOnly {
                    self.excuse(file);
                }
            }
            Fault::Damage(file) => {
                let (known, now) = (&mut self.files[file], self.now);
                if known.content.is_some() {
                    known.content = Some(Err(()));
                    known.stamp += 1;
                    known.lost = Some(now);
                }
            }
            Fault::Keep(file) => {
                if let Some(Ok(state)) = &self.files[file].content {
                    self.files[file].kept = Some(state.clone());
                }
            }
            Fault::PutBack(file) => self.put_back(file),
            Fault::Clock(seconds) => {
                self.shift += seconds;
                self.count("clock set");
            }
            Fault::Heal => self.heal(),
        }
    }

    fn put_back(&mut self, file: usize) {
        let now = self.now;
        let known = &mut self.files[file];
        let Some(kept) = known.kept.clone() else { return };
        known.content = Some(Ok(kept));
        known.stamp += 1;
        known.lost = Some(now);
        self.excuse(file);
        self.count("a former file put back");
    }

    /// Nobody can know which claims of a file are wrong, unless a process lives that does.
    fn excuse(&mut self, file: usize) {
        let now = self.now;
        for origin in 0..self.origins.len() {
            let keys: Vec<_> = self.origins[origin].has.keys().copied().collect();
            self.files[file].excused.extend(keys.into_iter().map(|(name, family)| ((origin, name, family), now)));
        }
    }

    fn edit(&mut self, site: usize, edit: Edit) {
        let mut shape = (*self.shapes[site]).clone();
        match edit {
            Edit::Nothing => {}
            Edit::Path(entry, path) => shape.entries[entry].path = path,
            Edit::Cache(entry, cache) => shape.entries[entry].cache = cache,
            Edit::Concurrency(concurrency) => shape.concurrency = concurrency,
            Edit::MinInterval(entry, seconds) => shape.entries[entry].min_interval = seconds,
            Edit::Domains(entry, domains) => {
                shape.entries[entry].domains = if domains == [0, 0] { [1, 0] } else { domains };
            }
        }
        self.shapes[site] = Rc::new(shape);
        for process in 0..self.processes.len() {
            if self.processes[process].site == site && !self.is_paused(process) {
                self.reload(process);
            }
        }
    }

    fn heal(&mut self) {
        self.origins.iter_mut().for_each(|origin| origin.mood = Mood::Good);
        for file in 0..self.files.len() {
            self.fault(Fault::File(file, Health::Good));
        }
        for family in Family::ALL {
            if self.address[family.index()].is_none() {
                let ip = self.fresh_address(family);
                self.set_address(family, Some(ip), true);
            }
        }
        for process in 0..self.processes.len() {
            self.processes[process].kill_in = None;
            self.start(process, Mode::Service);
        }
    }
}
