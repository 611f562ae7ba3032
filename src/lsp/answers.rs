//! The thread that answers requests from snapshots. A fault in one answer is told to the client and ends nothing.

use super::client::{Client, Options};
use super::engine::Snapshot;
use lsp_server::{ErrorCode, RequestId, Response};
use serde_json::Value;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// What an answer is made from.
pub(super) struct Known<'a> {
    /// The projects that were asked about, in order.
    pub(super) snapshots: &'a [Arc<Snapshot>],
    pub(super) client: &'a Client,
    pub(super) options: &'a Options,
}

/// Makes an answer, or says why there is none.
pub(super) type Task = Box<dyn FnOnce(&Known) -> Result<Value, String> + Send>;

type Work = Box<dyn FnOnce() + Send>;

/// Answers requests, one after another.
pub(super) struct Answers {
    work: Sender<Work>,
    done: Arc<dyn Fn(Response) + Send + Sync>,
    /// Requests that the client no longer wants.
    canceled: Arc<Mutex<BTreeSet<String>>>,
}

impl Answers {
    pub(super) fn start(done: impl Fn(Response) + Send + Sync + 'static) -> Self {
        let (work, inbox) = channel::<Work>();
        std::thread::spawn(move || inbox.into_iter().for_each(|work| work()));
        Self {
            work,
            done: Arc::new(done),
            canceled: Arc::default(),
        }
    }

    pub(super) fn ask(&self, id: RequestId, task: Task, snapshots: Vec<Arc<Snapshot>>, client: Arc<Client>, options: Arc<Options>) {
        let (done, canceled) = (self.done.clone(), self.canceled.clone());
        let work = move || {
            let unwanted = || canceled.lock().unwrap_or_else(PoisonError::into_inner).contains(&id.to_string());
            let canceled = |id| Response::new_err(id, ErrorCode::RequestCanceled as i32, "canceled".into());
            if unwanted() {
                return done(canceled(id));
            }
            let known = Known {
                snapshots: &snapshots,
                client: &client,
                options: &options,
            };
            let result = catch_unwind(AssertUnwindSafe(|| task(&known)));
            done(match result {
                _ if unwanted() => canceled(id),
                Ok(Ok(value)) => Response::new_ok(id, value),
                Ok(Err(why)) => Response::new_err(id, ErrorCode::RequestFailed as i32, why),
                Err(_) => Response::new_err(id, ErrorCode::InternalError as i32, "an internal fault: please report it".into()),
            });
        };
        // The thread lives as long as this.
        let _ = self.work.send(Box::new(work));
    }

    pub(super) fn cancel(&self, id: &RequestId) {
        self.canceled().insert(id.to_string());
    }

    /// The request is answered.
    pub(super) fn forget(&self, id: &RequestId) {
        self.canceled().remove(&id.to_string());
    }

    fn canceled(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.canceled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
