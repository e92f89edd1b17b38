//! History (I4): what happened, one JSON line for each record; which records somebody wants to see; the last days as a
//! strip.

pub mod days;
pub mod filter;
pub mod record;
mod words;

#[cfg(test)]
mod tests;
