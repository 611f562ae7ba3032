//! The thread that checks a project, off the main loop.

use super::engine::{Change, Engine, Snapshot};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// What a check led to.
pub(super) struct Report {
    /// Which worker.
    pub(super) worker: usize,
    /// Number of the last change that was taken in.
    pub(super) generation: u64,
    /// The project; `None` when it could not be checked and never was.
    pub(super) snapshot: Option<Arc<Snapshot>>,
    /// Why it could not be checked.
    pub(super) failure: Option<String>,
}

/// A project's thread. It ends when this is dropped.
pub(super) struct Worker {
    changes: Sender<(u64, Change)>,
    /// Number of the last change.
    pub(super) generation: u64,
}

impl Worker {
    /// Starts the thread; reports go to `done`.
    pub(super) fn start(id: usize, engine: Engine, done: impl Fn(Report) + Send + 'static) -> Self {
        let (changes, inbox) = channel();
        std::thread::spawn(move || run(id, engine, &inbox, &done));
        Self { changes, generation: 0 }
    }

    pub(super) fn send(&mut self, change: Change) {
        self.generation += 1;
        // A worker that is gone has reported why.
        let _ = self.changes.send((self.generation, change));
    }
}

/// How long further changes are waited for at most.
const LONGEST_WAIT: Duration = Duration::from_millis(250);

fn run(id: usize, mut engine: Engine, inbox: &Receiver<(u64, Change)>, done: &dyn Fn(Report)) {
    let mut cost = Duration::ZERO;
    while let Ok(first) = inbox.recv() {
        let (generation, changes) = gathered(first, inbox, (cost / 4).min(LONGEST_WAIT));
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| engine.update(changes)));
        cost = start.elapsed();
        let failure = match result {
            Ok(result) => result.err(),
            Err(_) => {
                engine.forget();
                Some("an internal fault ended this check; the next edit starts a new one. Please report it".to_string())
            }
        };
        let snapshot = engine.snapshot().map(Arc::new);
        done(Report {
            worker: id,
            generation,
            snapshot,
            failure,
        });
        engine.keep();
    }
}

/// A change with all that follow it within a pause. A check that costs little is not waited for.
fn gathered(first: (u64, Change), inbox: &Receiver<(u64, Change)>, pause: Duration) -> (u64, Vec<Change>) {
    let (mut generation, mut changes) = (first.0, vec![first.1]);
    loop {
        match inbox.recv_timeout(pause) {
            Ok((next, change)) => {
                generation = next;
                changes.push(change);
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return (generation, changes),
        }
    }
}
