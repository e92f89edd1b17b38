//! Of several hosts with one name one sends (J1): the one that has the lease. What is said of that, as plain data that knows
//! no store: [`standing`] is how this host stands, [`membership`] and [`words`] say so to people and programs,
//! [`role_change`] is that the lease was taken over, given back or lost.

pub mod membership;
pub mod role_change;
pub mod standing;
pub mod words;
