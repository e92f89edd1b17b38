//! Signals, as something to wait for. Tokio's would be set up in every run, also where nobody waits for one.

use std::io;
use std::os::unix::net::UnixStream as Pipe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use signal_hook::flag;
use signal_hook::low_level::pipe;
use tokio::net::UnixStream;

pub(crate) use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};

/// From the moment it is made, its signals no longer end the process.
pub(crate) struct Signals {
    /// A byte comes with every signal.
    pipe: UnixStream,
    caught: Vec<(i32, Arc<AtomicBool>)>,
}

impl Signals {
    pub(crate) fn new(signals: &[i32]) -> io::Result<Self> {
        let (reader, writer) = Pipe::pair()?;
        reader.set_nonblocking(true)?;
        let mut caught = Vec::new();
        for signal in signals {
            let flag = Arc::new(AtomicBool::new(false));
            // In this order: the flag is set when the byte arrives.
            flag::register(*signal, Arc::clone(&flag))?;
            pipe::register(*signal, writer.try_clone()?)?;
            caught.push((*signal, flag));
        }
        Ok(Self { pipe: UnixStream::from_std(reader)?, caught })
    }

    /// The next signal; one that came twice meanwhile counts once.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<i32> {
        loop {
            if let Some((signal, _)) = self.caught.iter().find(|(_, flag)| flag.swap(false, Ordering::SeqCst)) {
                return Poll::Ready(*signal);
            }
            // It cannot fail: the other end lives as long as the process.
            let Ok(()) = ready!(self.pipe.poll_read_ready(context)) else { return Poll::Pending };
            let _ = self.pipe.try_read(&mut [0; 64]);
        }
    }
}
