//! placeholder
pub(crate) async fn run() -> u8 {
    0
}
