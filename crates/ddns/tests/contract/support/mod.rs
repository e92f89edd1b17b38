//! What every black-box test stands on: a real receiver on loopback that records each request byte for byte, and a
//! clean place to run the built program in (own home, own folder, an environment with nothing inherited).

mod receiver;
mod sandbox;

pub use receiver::{Answer, Received, Receiver};
pub use sandbox::{Run, Sandbox, mode};
