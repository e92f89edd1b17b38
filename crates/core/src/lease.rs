//! Of several hosts with one name, only the holder of the lease sends (J1). Plain data that knows no store: [`status`] is the
//! state of this host, [`membership`] and [`messages`] describe it to people and programs, and [`role_change`] reports that the
//! lease was taken over, given back or lost.

pub mod membership;
pub mod messages;
pub mod role_change;
pub mod status;
