//! `ddns` without a command: one synchronization, or a service where `interval` is set.

mod turn;

use std::io::{self, IsTerminal as _};
use std::mem::{self, ManuallyDrop};
use std::rc::Rc;

use ddns_core::schedule::lookups::Due;
use ddns_core::text::log_format::Level;
use ddns_core::update::outcome::Tally;

use crate::cli::CliSettings;
use crate::group;
use crate::history::History;
use crate::load;
use crate::notify::Notifier;
use crate::output::log::Log;
use crate::output::progress::Progress;
use crate::output::{complain, fail};
use crate::sync::{self, Sync};
use crate::watch;
use turn::Turn;

pub(crate) async fn run(settings: CliSettings) -> u8 {
    let (configs, environment, client) = match load::begin(settings.clone()).await {
        Ok(begun) => begun,
        Err(code) => return code,
    };
    if configs.iter().any(|(config, _)| config.interval.is_some()) {
        return Box::pin(watch::serve(settings, configs, environment, client)).await;
    }
    let joined = match group::wanted(&configs).map(|group| group.map(group::join).transpose()) {
        Ok(Ok(joined)) => joined,
        Ok(Err(why)) => return fail(&why),
        Err(wrong) => return complain(&wrong),
    };
    // Not taken apart, nor is `sync`: the process ends with this run.
    let begun = ManuallyDrop::new((configs, environment, client));
    let (configs, environment, client) = &*begun;
    let progress = Rc::new(Progress::default());
    let open = |valid| Log::open(valid, environment).above(&progress);
    let logs: Vec<Log<'_>> = configs.iter().map(open).collect();
    let senders = sync::senders(configs, &logs, client);
    let mut sync = Sync::new(&senders, environment, None);
    let mut turn = joined.map(|joined| {
        sync.in_group(joined.member.clone());
        client.limit_unsent(Some(joined.lease()));
        Box::new(Turn::new(joined, settings.retry_stopped))
    });
    if environment.allows_progress() {
        progress.begin();
        sync.progress = progress;
    }
    if settings.retry_stopped {
        sync.retry_stopped();
    }
    let mut history = History::new(&senders, environment);
    sync.collect_news();
    let mut notifier = Notifier::new(configs, &logs, &senders, client, &mut sync);
    sync.look_up(&Due::everything(configs.len()));
    while !sync.is_done() || turn.as_ref().is_some_and(|turn| turn.is_open(&sync)) {
        match &mut turn {
            None => {
                sync.step().await;
            }
            Some(turn) => {
                // In a box: a run without a group must not carry its state.
                let has_won = Box::pin(turn.step(&mut sync, &logs[0])).await;
                if let Some(notifier) = notifier.as_mut().filter(|_| has_won) {
                    notifier.renew_keys(&mut sync);
                }
            }
        }
        let news = sync.take_news();
        history.take(&news);
        if let Some(notifier) = &mut notifier {
            notifier.take(&news, &mut sync);
        }
    }
    let over = turn.as_ref().and_then(|turn| turn.code());
    if let Some(code) = over {
        history.save();
        leave(turn).await;
        return code;
    }
    let mut all = Tally::default();
    let tallies = sync.finish();
    history.save();
    for (tally, log) in tallies.iter().zip(&logs) {
        log.line(level_of(*tally, log), || tally.to_string());
        all = all.plus(*tally);
    }
    if let Some(mut notifier) = notifier {
        notifier.finish(&mut sync).await;
    }
    leave(turn).await;
    mem::forget(sync);
    all.exit_code()
}

async fn leave(turn: Option<Box<Turn>>) {
    if let Some(turn) = turn {
        Box::pin(turn.leave()).await;
    }
}

/// The summary is for somebody who waits for it, or for a file. A timer would send a mail about nothing.
fn level_of(tally: Tally, log: &Log<'_>) -> Level {
    if tally.is_news() || log.is_file() || io::stderr().is_terminal() { Level::Info } else { Level::Debug }
}
