//! Pushed diagnostics: every file whose findings changed is told, open or not.

use super::client::Client;
use super::diagnostics;
use super::documents::Documents;
use super::engine::Snapshot;
use super::worker::Report;
use super::{Server, uri};
use lsp_types::{Diagnostic, Uri};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What the client was told last, per file.
#[derive(Default)]
pub(super) struct Published(BTreeMap<PathBuf, (Option<i32>, Vec<Diagnostic>)>);

impl Published {
    /// What the client must be told now. Buffers that went on since are left for the check that knows them.
    fn news(&mut self, snapshot: &Snapshot, documents: &Documents, client: &Client) -> Vec<(PathBuf, Option<i32>, Vec<Diagnostic>)> {
        let mut now: BTreeMap<PathBuf, (Option<i32>, Vec<Diagnostic>)> = BTreeMap::new();
        for file in diagnostics::by_file(snapshot).into_keys() {
            let list = diagnostics::of_file(snapshot, file, client);
            now.insert(snapshot.path(file).to_path_buf(), (None, list));
        }
        for path in self.0.keys().chain(snapshot.buffers.keys()) {
            now.entry(path.clone()).or_default();
        }
        let mut news = Vec::new();
        for (path, (_, list)) in now {
            let version = documents.get(&path).map(|document| document.version);
            if snapshot.buffers.get(&path).map(|opened| opened.version) != version {
                continue;
            }
            if self.0.get(&path) == Some(&(version, list.clone())) {
                continue;
            }
            news.push((path.clone(), version, list.clone()));
            if list.is_empty() && version.is_none() {
                self.0.remove(&path);
            } else {
                self.0.insert(path, (version, list));
            }
        }
        news
    }

    /// All files that have something to be taken back.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.iter().filter(|(_, (_, list))| !list.is_empty()).map(|(path, _)| path)
    }
}

impl Server {
    /// A check has ended.
    pub(super) fn report(&mut self, report: Report) {
        let Some(handle) = self.projects.get_mut(report.worker) else {
            return;
        };
        handle.done = report.generation;
        if let Some(snapshot) = report.snapshot {
            handle.latest = Some(snapshot);
        }
        let news = match &handle.latest {
            Some(snapshot) => handle.published.news(snapshot, &self.documents, &self.client),
            None => Vec::new(),
        };
        if let Some(token) = handle.progress.take_if(|_| handle.done >= handle.worker.generation) {
            self.notify("$/progress", json!({ "token": token, "value": { "kind": "end" } }));
        }
        self.tell(report.failure);
        self.refresh(!news.is_empty());
        if !self.client.pulls {
            for (path, version, list) in news {
                self.publish(&path, version, &list);
            }
        }
        self.hand_over();
    }

    /// Asks the client to ask again for what may be different now.
    fn refresh(&mut self, changed: bool) {
        if self.client.pulls && changed {
            self.ask_client("workspace/diagnostic/refresh", Value::Null);
        }
        if self.client.refreshes_hints && self.options.inlay_hints && changed {
            self.ask_client("workspace/inlayHint/refresh", Value::Null);
        }
        if self.client.refreshes_lenses && self.options.code_lens && changed {
            self.ask_client("workspace/codeLens/refresh", Value::Null);
        }
    }

    pub(super) fn publish(&self, path: &Path, version: Option<i32>, list: &[Diagnostic]) {
        let open = self.documents.get(path).map(|document| document.uri.clone());
        let Some(uri): Option<Uri> = open.or_else(|| uri::of_path(path)) else {
            return;
        };
        let mut params = json!({ "uri": uri, "diagnostics": list });
        if let Some(version) = version {
            params["version"] = json!(version);
        }
        self.notify("textDocument/publishDiagnostics", params);
    }
}
