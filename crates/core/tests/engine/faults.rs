//! The faults of a schedule. The list is made first, so that a failure can be reduced to fewer faults.

use std::rc::Rc;
use std::time::Duration;

use ddns_core::engine::{Event, Mode};
use ddns_core::net::family::Family;

use crate::endpoint::EndpointMode;
use crate::random::Random;
use crate::setup::{Shape, index};
use crate::world::{Health, What, World};

/// A change of a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edit {
    Nothing,
    /// The path of an entry's callback.
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
    /// The previous address returns.
    Return(Family, bool),
    NoAddress(Family, bool),
    EndpointMode(usize, EndpointMode),
    File(usize, Health),
    Damage(usize),
    Keep(usize),
    PutBack(usize),
    /// The system time is set forward or back by this many seconds.
    Clock(i64),
    Heal,
}

/// The faults of a schedule, by time.
pub(crate) fn list(random: &mut Random, trouble: Duration, shapes: &[Shape], size: Size) -> Faults {
    let mut faults = Vec::new();
    for process in 0..size.processes {
        let at = random.up_to(Duration::from_secs(20));
        faults.push((at, Fault::Start(process, random.below(4) == 0)));
    }
    for _ in 0..3 + random.below(40) {
        let begin = random.up_to(trouble);
        let most = [Duration::from_millis(500), Duration::from_secs(8), Duration::from_secs(90)][index(random, 3)];
        let lasts = random.up_to(most).min(trouble.saturating_sub(begin));
        let one = Occasion {
            begin,
            lasts,
            process: index(random, size.processes),
            family: Family::ALL[index(random, 2)],
            is_told: random.below(8) > 0,
        };
        match random.below(size.kinds) {
            0..=3 => one.ending(random, &mut faults),
            4..=7 | 12 => one.addresses(random, trouble, size, &mut faults),
            8..=10 => one.endpoint(random, shapes, size, &mut faults),
            13..=15 => one.file(random, size, &mut faults),
            16 | 17 => {
                let at = index(random, shapes.len());
                faults.push((begin, Fault::Reload(at, edit(random, &shapes[at], size))));
            }
            21.. => {
                let seconds = [5, 90, 600, 86_400][index(random, 4)];
                let is_back = random.below(2) == 0;
                faults.push((begin, Fault::Clock(if is_back { -seconds } else { seconds })));
            }
            11 => faults.push((begin, Fault::Synchronize(one.process))),
            18 => faults.push((begin, Fault::RetryStopped(one.process))),
            19 => {
                faults.push((begin, Fault::Stop(one.process)));
                faults.push((one.end(), Fault::Start(one.process, random.below(3) == 0)));
            }
            20 => faults.push((begin, Fault::Pause(one.process, lasts))),
        }
    }
    faults.sort_by_key(|(at, _)| *at);
    faults
}

pub(crate) type Faults = Vec<(Duration, Fault)>;

/// When something goes wrong, for how long, and for whom.
#[derive(Debug, Clone, Copy)]
struct Occasion {
    begin: Duration,
    lasts: Duration,
    process: usize,
    family: Family,
    is_told: bool,
}

impl Occasion {
    fn end(&self) -> Duration {
        self.begin + self.lasts
    }

    fn meanwhile(&self, random: &mut Random) -> Duration {
        self.begin + random.up_to(self.lasts)
    }

    fn other(&self) -> Family {
        Family::ALL[1 - self.family.index()]
    }

    fn ending(&self, random: &mut Random, faults: &mut Faults) {
        let process = self.process;
        let fault = match random.below(4) {
            0 => Fault::Kill(process),
            1 | 2 => Fault::KillSoon(process, random.below(12)),
            _ => Fault::Start(process, random.below(2) == 0),
        };
        faults.push((self.begin, fault));
    }

    fn addresses(&self, random: &mut Random, trouble: Duration, size: Size, faults: &mut Faults) {
        let Self { begin, family, is_told, .. } = *self;
        match random.below(5) {
            0..=2 => {
                faults.push((begin, Fault::Address(family, is_told)));
                // Sometimes the address changes while the other family has none.
                if size.kinds > 12 && random.below(8) == 0 {
                    faults.push((begin.saturating_sub(Duration::from_secs(2)), Fault::NoAddress(self.other(), true)));
                    faults.push((self.end(), Fault::Return(self.other(), is_told)));
                }
            }
            3 => {
                for number in 0..2 + random.below(6) {
                    let at = begin + Duration::from_millis(random.below(3000)) * u32::try_from(number).unwrap_or(1);
                    let is_return = random.below(3) > 0;
                    let fault = if is_return { Fault::Return } else { Fault::Address };
                    faults.push((at.min(trouble), fault(family, is_told)));
                }
            }
            _ => {
                faults.push((begin, Fault::NoAddress(family, is_told)));
                // The other family's address changes in the meantime.
                if random.below(2) == 0 {
                    faults.push((self.meanwhile(random), Fault::Address(self.other(), is_told)));
                }
                faults.push((self.end(), Fault::Return(family, is_told)));
            }
        }
    }

    fn endpoint(&self, random: &mut Random, shapes: &[Shape], size: Size, faults: &mut Faults) {
        let moods = [
            EndpointMode::Slow,
            EndpointMode::Refuses,
            EndpointMode::Unreachable,
            EndpointMode::Unreachable,
            EndpointMode::Hangs,
            EndpointMode::Hangs,
            EndpointMode::Breaks,
            EndpointMode::TooMany(1 + random.below(60)),
            EndpointMode::Any,
            EndpointMode::Stops,
            EndpointMode::Waits,
            EndpointMode::Any,
            EndpointMode::Late,
            EndpointMode::Twice,
        ];
        // The last two are rare, because nothing can be checked any more for updates that they applied.
        let count = if random.below(8) == 0 { moods.len() } else { moods.len() - 2 };
        let origin = index(random, size.origins);
        let Self { begin, family, is_told, .. } = *self;
        faults.push((begin, Fault::EndpointMode(origin, moods[index(random, count)])));
        faults.push((self.end(), Fault::EndpointMode(origin, EndpointMode::Good)));
        // Often an address changes in the meantime.
        if random.below(2) == 0 {
            faults.push((self.meanwhile(random), Fault::Address(family, is_told)));
        }
        // Often it returns.
        if random.below(2) == 0 {
            faults.push((self.end(), Fault::Return(family, is_told)));
        }
        // Sometimes the user tries another callback, and then the address changes.
        if size.kinds > 16 && random.below(4) == 0 {
            let whose = index(random, shapes.len());
            let at = self.meanwhile(random);
            let entry = index(random, shapes[whose].entries.len());
            let path = u32::try_from(random.below(3)).unwrap_or(0);
            faults.push((at, Fault::Reload(whose, Edit::Path(entry, path))));
            faults.push((at + random.up_to(Duration::from_secs(10)), Fault::Address(family, is_told)));
        }
    }

    fn file(&self, random: &mut Random, size: Size, faults: &mut Faults) {
        let file = index(random, size.files);
        match random.below(3) {
            0 => {
                let health = [Health::Full, Health::Locked, Health::ReadOnly][index(random, 3)];
                faults.push((self.begin, Fault::File(file, health)));
                faults.push((self.end(), Fault::File(file, Health::Good)));
            }
            1 => faults.push((self.begin, Fault::Damage(file))),
            _ => {
                faults.push((self.begin, Fault::Keep(file)));
                faults.push((self.end(), Fault::PutBack(file)));
            }
        }
    }
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

/// The size of a world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub(crate) processes: usize,
    pub(crate) files: usize,
    pub(crate) origins: usize,
    /// How many kinds of faults happen.
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
        // A paused process is told when it runs again.
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
            Fault::EndpointMode(origin, mood) => self.origins[origin].mood = mood,
            Fault::File(file, health) => {
                let before = std::mem::replace(&mut self.files[file].health, health);
                // The file still claims what was true when it could last be written.
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

    /// Excuses all claims of a file, because no process can know which of them are wrong.
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
        self.origins.iter_mut().for_each(|origin| origin.mood = EndpointMode::Good);
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
