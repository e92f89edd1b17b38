//! A way to a server on which everything takes its time.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::odd_server::serve_raw;

/// Passes bytes to and fro, each after a delay. Connections are taken at once.
pub struct SlowWay {
    pub port: u16,
    /// In milliseconds.
    delay: Arc<AtomicU64>,
}

impl SlowWay {
    /// To a port of loopback, at first without a delay.
    pub fn to(port: u16) -> Self {
        let delay: Arc<AtomicU64> = Arc::default();
        let shared = delay.clone();
        let address = serve_raw(move |stream| {
            let Ok(onward) = TcpStream::connect(("127.0.0.1", port)) else { return };
            let (Ok(back), Ok(there)) = (stream.try_clone(), onward.try_clone()) else { return };
            let own = shared.clone();
            thread::spawn(move || carry(onward, back, &own));
            carry(stream, there, &shared);
        });
        Self { port: address.port(), delay }
    }

    /// Everything that comes from now on takes so long, each way.
    pub fn delay(&self, delay: Duration) {
        self.delay.store(delay.as_millis().try_into().expect("a short time"), Ordering::Relaxed);
    }
}

/// One way, until its beginning is closed.
fn carry(mut from: TcpStream, mut to: TcpStream, delay: &AtomicU64) {
    let (sender, pieces) = channel::<(Instant, Vec<u8>)>();
    let writing = thread::spawn(move || {
        for (at, bytes) in pieces {
            thread::sleep(at.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
    let mut bytes = [0; 16 * 1024];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let at = Instant::now() + Duration::from_millis(delay.load(Ordering::Relaxed));
        if sender.send((at, bytes[..length].to_vec())).is_err() {
            break;
        }
    }
    drop(sender);
    let _ = writing.join();
}
