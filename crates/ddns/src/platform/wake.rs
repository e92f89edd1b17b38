//! Why a timer ends its wait.

/// What a timer waits for.
pub(crate) enum Wake {
    /// The time has come.
    Time,
    /// The machine has slept.
    #[allow(dead_code, reason = "not every system says so")]
    Sleep,
}
