//! Why a timer ends its wait.

pub(crate) enum Wake {
    /// The time has come.
    Time,
    /// The machine was suspended.
    #[allow(dead_code, reason = "not every system says so")]
    Sleep,
}
