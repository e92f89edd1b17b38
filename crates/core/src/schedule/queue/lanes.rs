//! All lanes, by number. A URL with the address in its host has another origin after every change, so new lanes reuse the
//! numbers of unused ones: a service that runs for years has only as many lanes as it needs at once.

use std::collections::HashMap;
use std::ops::{Index, IndexMut};

use super::lane::{Lane, LaneKey, LaneState, Pause};
use crate::config::Concurrency;

/// With fewer lanes than this, unused ones are not looked for.
const FEW: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Lanes {
    states: Vec<LaneState>,
    pub(super) numbers: HashMap<(LaneKey, Concurrency), Lane>,
    /// The numbers of unused lanes.
    free: Vec<Lane>,
    /// With this many lanes, unused ones are looked for: twice as many as were in use the last time.
    most: usize,
}

impl Lanes {
    pub(super) fn iter(&self) -> impl Iterator<Item = (Lane, &LaneState)> {
        (0..).map(Lane).zip(&self.states)
    }

    /// The lanes to an origin, whatever their order and limit.
    pub(super) fn to(&self, origin: &str) -> Vec<Lane> {
        self.iter().filter(|(_, state)| state.key.origin == origin).map(|(lane, _)| lane).collect()
    }

    /// The lanes of a configuration in strict order.
    pub(super) fn strict(&self, config: usize) -> Vec<Lane> {
        self.iter().filter(|(_, state)| state.key.strict == Some(config)).map(|(lane, _)| lane).collect()
    }

    /// Whether to look for unused lanes before another one is added.
    pub(super) fn are_many(&self) -> bool {
        self.free.is_empty() && self.states.len() >= self.most.max(FEW)
    }

    /// Frees lanes that are idle and that nothing else `names`.
    pub(super) fn end_idle(&mut self, names: impl Fn(Lane) -> bool) {
        self.numbers.retain(|_, lane| {
            let is_needed = self.states[lane.0 as usize].is_needed() || names(*lane);
            if !is_needed {
                self.free.push(*lane);
            }
            is_needed
        });
        self.most = 2 * self.numbers.len();
    }

    /// Creates the lane of a new key.
    pub(super) fn add(&mut self, (key, concurrency): (LaneKey, Concurrency), pause: Option<Pause>) -> Lane {
        let state = LaneState::new(key.clone(), concurrency, pause);
        let lane = if let Some(lane) = self.free.pop() {
            self[lane] = state;
            lane
        } else {
            self.states.push(state);
            Lane(u32::try_from(self.states.len() - 1).unwrap_or(u32::MAX))
        };
        self.numbers.insert((key, concurrency), lane);
        lane
    }
}

impl Index<Lane> for Lanes {
    type Output = LaneState;

    fn index(&self, lane: Lane) -> &LaneState {
        &self.states[lane.0 as usize]
    }
}

impl IndexMut<Lane> for Lanes {
    fn index_mut(&mut self, lane: Lane) -> &mut LaneState {
        &mut self.states[lane.0 as usize]
    }
}
