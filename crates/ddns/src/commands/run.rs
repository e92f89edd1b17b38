//! `ddns` without a command: one synchronization, or a service if `interval` is set.

use std::future::poll_fn;
use std::io::{self, IsTerminal as _};
use std::mem::{self, ManuallyDrop};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use ddns_core::engine::{Effect, Event, LeaseEvent, Mode};
use ddns_core::lease::messages::denial;
use ddns_core::schedule::queue::UpdateId;
use ddns_core::text::log_format::Level;
use ddns_core::update::outcome::Tally;
use tokio::time::timeout;

use crate::cli::CliSettings;
use crate::compose;
use crate::driver::{Driver, Lease};
use crate::group::{self, Joined, LEAVE_TIMEOUT, LeaseNotice};
use crate::history::History;
use crate::load;
use crate::notify::{Notifier, Unreported};
use crate::output::log::Log;
use crate::output::progress::Progress;
use crate::output::{Ended, complain, fail};
use crate::watch;

pub(crate) async fn run(settings: CliSettings) -> Ended {
    let (configs, environment, client) = load::begin(settings.clone()).await?;
    // Options such as --force ask for a single run, even if `interval` is set.
    let is_asked_for = settings.retry_stopped || !settings.force.is_empty() || settings.verify.is_some();
    if !is_asked_for && configs.iter().any(|(config, _)| config.interval.is_some()) {
        return Box::pin(watch::serve(settings, configs, environment, client)).await;
    }
    let group = group::wanted(&configs).map_err(|wrong| complain(&wrong))?;
    let mut joined = group.map(group::join).transpose().map_err(|why| fail(&why))?;
    // Never dropped, nor is the driver: the process ends with this run.
    let begun = ManuallyDrop::new((Rc::new(configs), environment, client));
    let (configs, environment, client) = &*begun;
    let progress = Rc::new(Progress::default());
    let open = |valid| Log::open(valid, environment).above(&progress);
    let logs: Vec<Log<'_>> = configs.iter().map(open).collect();
    let plan = compose::plan(configs, environment);
    let again = compose::named(&plan, "--force", &settings.force).map_err(|wrong| complain(&wrong))?;
    let updates = (0..plan.entry_count()).flat_map(|at| plan.updates_of(at));
    let is_again = |id: &UpdateId| again.contains(plan.about(*id).1);
    let again: Vec<UpdateId> = if again.is_empty() { Vec::new() } else { updates.filter(is_again).collect() };
    let lease = joined.as_ref().map(|joined| Rc::new(joined.member.clone()) as Rc<dyn Lease>);
    let engine = compose::engine(Rc::clone(&plan), Mode::Once);
    let mut driver = ManuallyDrop::new(Driver::new(engine, &plan, (client, &logs), lease));
    if environment.allows_progress() {
        progress.begin();
    }
    let mut history = History::new(Rc::clone(&plan), &logs, environment);
    let mut notifier = Notifier::new(configs, &logs, client, &plan, Unreported::default());
    if let Some(joined) = &joined {
        client.limit_unsent(Some(joined.group.lease));
        compose::doubt_caches(&plan, environment);
        driver.on(Event::Lease(LeaseEvent::Joined));
    }
    if settings.retry_stopped {
        driver.on(Event::RetryStopped);
    }
    if !again.is_empty() {
        driver.on(Event::SendAgain(again));
    }
    if let Some(patience) = settings.verify {
        driver.on(Event::WaitForDns(patience));
    }
    driver.on(Event::Begin);
    let end = loop {
        let journal = driver.take_journal();
        history.take(&journal);
        if let Some(notifier) = &mut notifier {
            notifier.take(&journal, &mut driver.engine);
        }
        if let Some(end) = driver.take_milestones().into_iter().next() {
            break end;
        }
        let event = match &mut joined {
            None => driver.next(progress.due()).await,
            // Boxed, so that a run without a group does not carry its state.
            Some(joined) => Box::pin(next_in_group(&mut driver, joined, &progress)).await,
        };
        driver.on(event);
        if progress.due().is_some() {
            progress.show(driver.engine.tally(), driver.engine.to_send());
        }
    };
    progress.end();
    driver.on(Event::Save);
    history.save();
    let code = match end {
        Effect::Ended(code) => code,
        Effect::Idle { tallies, postponed } => {
            let mut all = Tally::default();
            for ((tally, log), (config, _)) in tallies.iter().zip(&logs).zip(configs.iter()) {
                let whose = if logs.len() > 1 { format!("{}: ", config.name) } else { String::new() };
                log.line(level_of(*tally, log), || format!("{whose}{tally}"));
                all = all.plus(*tally);
            }
            if let Some(notifier) = &mut notifier {
                notifier.finish(&tallies, postponed, &mut driver.engine);
                // Save what was counted, in case the user cancels the notifications.
                driver.on(Event::Save);
                while notifier.is_sending() {
                    let ended = poll_fn(|context| notifier.poll(context)).await;
                    notifier.ended(ended, &mut driver.engine);
                }
                driver.on(Event::Save);
            }
            all.exit_code()
        }
        _ => 0,
    };
    driver.take_journal();
    if let Some(joined) = joined {
        Box::pin(leave(joined)).await;
    }
    mem::forget(notifier);
    Ok(code)
}

/// The next event of the driver or of the group.
async fn next_in_group(driver: &mut Driver<'_>, joined: &mut Joined, progress: &Progress) -> Event {
    let is_standing_by = driver.engine.is_standing_by();
    let notice = {
        let mut next = pin!(driver.next(progress.due()));
        let either = poll_fn(|context| match joined.poll(context) {
            Poll::Ready(notice) => Poll::Ready(Err(notice)),
            Poll::Pending => next.as_mut().poll(context).map(Ok),
        });
        match either.await {
            Ok(event) => return event,
            Err(notice) => notice,
        }
    };
    match notice {
        LeaseNotice::Lease(event @ LeaseEvent::Gained { .. }) => Event::Lease(event),
        LeaseNotice::Lease(LeaseEvent::Lost) if !is_standing_by => Event::Lease(LeaseEvent::Lost),
        _ => match denial(&joined.group.name, &joined.member.status()) {
            Some((level, why, code)) if is_standing_by => Event::Lease(LeaseEvent::Denied { level, why, code }),
            _ => Event::Time,
        },
    }
}

/// Gives back the lease; everything must be saved before.
async fn leave(mut joined: Joined) {
    if joined.member.status().store.is_err() {
        return;
    }
    joined.member.terminate();
    joined.member.drained();
    let left = async { while !matches!(poll_fn(|context| joined.poll(context)).await, LeaseNotice::Left) {} };
    let _ = timeout(LEAVE_TIMEOUT, left).await;
}

/// The summary is for a terminal or a log file. If nothing changed, a timer must not send a mail about it.
fn level_of(tally: Tally, log: &Log<'_>) -> Level {
    if tally.has_changes() || log.is_file() || io::stderr().is_terminal() { Level::Info } else { Level::Debug }
}
