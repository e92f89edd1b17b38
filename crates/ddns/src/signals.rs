//! Waits for signals. Tokio would set up its signal handling in every run, even if nothing waits for a signal.

use std::future::poll_fn;
use std::io;
use std::os::unix::net::UnixStream as Pipe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::task::{Context, Poll, ready};

use rustix::process::{Resource, getrlimit};
use signal_hook::consts::{SIGCHLD, SIGXFSZ};
use signal_hook::flag;
use signal_hook::low_level::{emulate_default_handler, pipe};
use tokio::net::UnixStream;
use tokio::task::spawn_local;

use crate::platform::ignored_signals;

pub(crate) use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1};

/// Whether something waits for signals, as a service does.
static ARE_AWAITED: AtomicBool = AtomicBool::new(false);

/// Makes these signals run `last` before they end the process, unless `is_idle` is true. Does nothing if something
/// waits for signals anyway.
pub(crate) fn before_end(signals: &[i32], is_idle: &Arc<AtomicBool>, last: impl FnOnce() + 'static) -> io::Result<()> {
    if ARE_AWAITED.load(Ordering::SeqCst) {
        return Ok(());
    }
    // Signals that are ignored, as in the background of a script, stay ignored.
    let ignored = ignored_signals();
    let signals: Vec<i32> = signals.iter().copied().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect();
    // Without one, nothing keeps the pipe open, which would always be readable.
    if signals.is_empty() {
        return Ok(());
    }
    for signal in &signals {
        flag::register_conditional_default(*signal, Arc::clone(is_idle))?;
    }
    let mut signals = Signals::new(&signals)?;
    spawn_local(async move {
        let signal = poll_fn(|context| signals.poll(context)).await;
        last();
        emulate_default_handler(signal)
    });
    Ok(())
}

/// Keeps programs that have ended until their status is read, also where whoever started ddns ignores SIGCHLD: the system
/// drops it otherwise.
pub(crate) fn keep_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let _ = flag::register(SIGCHLD, Arc::default());
    });
}

/// Makes writing beyond `ulimit -f` an ordinary error. A handler, unlike ignoring, is not passed on to programs that ddns starts.
pub(crate) fn survive_file_limit() {
    if getrlimit(Resource::Fsize).current.is_some() {
        let _ = flag::register(SIGXFSZ, Arc::default());
    }
}

/// Once this is created, its signals no longer end the process.
pub(crate) struct Signals {
    /// Receives a byte with every signal.
    pipe: UnixStream,
    caught: Vec<(i32, Arc<AtomicBool>)>,
}

impl Signals {
    pub(crate) fn new(signals: &[i32]) -> io::Result<Self> {
        ARE_AWAITED.store(true, Ordering::SeqCst);
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

    /// The next signal; if it came twice meanwhile, it counts once.
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
