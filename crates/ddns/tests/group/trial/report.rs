//! What the rounds of the trial gave, as a table.

use std::time::Duration;

use crate::group::trial::faults::Fault;

/// What one round gave.
pub struct Round {
    pub fault: Fault,
    /// From the fault to the new address at the endpoint.
    pub took: Duration,
    pub requests: usize,
    /// Requests of a member that could no longer have the lease.
    pub late: usize,
    /// Requests with the address that the endpoint held already.
    pub doubled: usize,
}

/// One row for each fault that came.
pub fn table(rounds: &[Round]) -> String {
    let mut text = "| fault | rounds | median | worst | requests | doubled | too late |\n".to_owned();
    text += "|---|---|---|---|---|---|---|\n";
    for fault in Fault::ALL {
        let rows: Vec<&Round> = rounds.iter().filter(|round| round.fault == fault).collect();
        let mut times: Vec<Duration> = rows.iter().map(|round| round.took).collect();
        times.sort_unstable();
        let Some(worst) = times.last() else { continue };
        let sum = |of: fn(&Round) -> usize| rows.iter().map(|round| of(round)).sum::<usize>();
        text += &format!(
            "| {} | {} | {} | {} | {} | {} | {} |\n",
            fault.words(),
            rows.len(),
            seconds(times[times.len() / 2]),
            seconds(*worst),
            sum(|round| round.requests),
            sum(|round| round.doubled),
            sum(|round| round.late)
        );
    }
    text
}

pub fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
