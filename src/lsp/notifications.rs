//! What the client tells: buffers, files, folders, settings.

use super::client::Options;
use super::documents::Document;
use super::engine::{Change, Opened};
use super::projects::{Group, groups};
use super::{Event, Server, read, uri};
use lsp_server::{Notification, RequestId, Response};
use lsp_types::{
    CancelParams, DidChangeConfigurationParams, DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, NumberOrString, Uri,
};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files whose changes on disk matter.
const WATCHED: &[&str] = &["**/*.py", "**/*.pyi", "**/*.toml", "**/.gitignore", "**/opwright-baseline.json"];

impl Server {
    /// A notification that is not known, or cannot be read, is passed over.
    pub(super) fn notification(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        let result = match method.as_str() {
            "initialized" => {
                self.initialized();
                Ok(())
            }
            "textDocument/didOpen" => read(params).map(|params| self.opened(params)),
            "textDocument/didChange" => read(params).map(|params| self.changed(params)),
            "textDocument/didClose" => read(params).map(|params| self.closed(params)),
            "workspace/didChangeWatchedFiles" => read(params).map(|params| self.files_changed(params)),
            "workspace/didChangeConfiguration" => read(params).map(|params| self.settings_changed(params)),
            "workspace/didChangeWorkspaceFolders" => read(params).map(|params| self.folders_changed(params)),
            "$/cancelRequest" => read(params).map(|params: CancelParams| {
                self.cancel(&match params.id {
                    NumberOrString::Number(number) => RequestId::from(number),
                    NumberOrString::String(text) => RequestId::from(text),
                });
            }),
            _ => Ok(()),
        };
        if let Err(why) = result {
            let message = format!("opwright: cannot read {method}: {why}");
            self.notify("window/logMessage", json!({ "type": 2, "message": message }));
        }
    }

    fn initialized(&mut self) {
        if self.client.watches {
            let watchers: Vec<Value> = WATCHED.iter().map(|glob| json!({ "globPattern": glob })).collect();
            let registration = json!({
                "id": "opwright.files",
                "method": "workspace/didChangeWatchedFiles",
                "registerOptions": { "watchers": watchers },
            });
            self.ask_client("client/registerCapability", json!({ "registrations": [registration] }));
        }
        self.ask_for_settings();
        for id in self.projects.ids() {
            self.begin_progress(id);
        }
    }

    fn ask_for_settings(&mut self) {
        if self.client.configuration {
            self.ask_client("workspace/configuration", json!({ "items": [{ "section": "opwright" }] }));
        }
    }

    /// A response of the client: only the one with settings has something to say, a list of one.
    pub(super) fn configured(&mut self, response: Response) {
        let first = response.response_result.as_ref().ok().and_then(|result| result.as_array()?.first());
        if let Some(value) = first.filter(|value| value.is_object()) {
            self.set_options(Options::read(value));
        }
    }

    fn settings_changed(&mut self, params: DidChangeConfigurationParams) {
        if self.client.configuration {
            self.ask_for_settings();
        } else if params.settings.is_object() {
            self.set_options(Options::read(&params.settings));
        }
    }

    fn set_options(&mut self, options: Options) {
        if *self.options == options {
            return;
        }
        let restyled = self.options.style != options.style;
        self.options = Arc::new(options);
        if restyled {
            let style = self.options.style.clone();
            for id in self.projects.ids() {
                self.tell_project(id, Change::Style(style.clone()));
            }
        }
        if self.client.refreshes_hints {
            self.ask_client("workspace/inlayHint/refresh", Value::Null);
        }
        if self.client.refreshes_lenses {
            self.ask_client("workspace/codeLens/refresh", Value::Null);
        }
    }

    fn opened(&mut self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        let Some(path) = uri::to_path(&document.uri) else { return };
        let (uri, version, text) = (document.uri, document.version, document.text);
        self.documents.0.insert(path.clone(), Document { uri, version, text });
        if self.projects.ids().is_empty() {
            // A file without a workspace: its folder is the workspace.
            let folder = path.parent().map(Path::to_path_buf);
            self.set_folders(folder.into_iter().collect());
        } else {
            self.tell_buffer(&path);
        }
    }

    fn changed(&mut self, params: DidChangeTextDocumentParams) {
        let Some(path) = uri::to_path(&params.text_document.uri) else {
            return;
        };
        let (version, encoding) = (params.text_document.version, self.client.encoding);
        if self.documents.change(&path, version, params.content_changes, encoding).is_some() {
            self.tell_buffer(&path);
        }
    }

    fn closed(&mut self, params: DidCloseTextDocumentParams) {
        let Some(path) = uri::to_path(&params.text_document.uri) else {
            return;
        };
        if self.documents.0.remove(&path).is_some() {
            for id in self.projects.around(&path) {
                self.tell_project(id, Change::Closed(path.clone()));
            }
        }
    }

    fn tell_buffer(&mut self, path: &Path) {
        for id in self.projects.around(path) {
            if let Some(change) = self.buffer(path) {
                self.tell_project(id, change);
            }
        }
    }

    fn buffer(&self, path: &Path) -> Option<Change> {
        let document = self.documents.get(path)?;
        let opened = Opened {
            uri: document.uri.as_str().to_string(),
            version: document.version,
        };
        Some(Change::Buffer {
            path: path.to_path_buf(),
            opened,
            text: document.text.as_str().into(),
        })
    }

    fn tell_project(&mut self, id: usize, change: Change) {
        if let Some(handle) = self.projects.get_mut(id) {
            handle.worker.send(change);
        }
    }

    fn files_changed(&mut self, params: DidChangeWatchedFilesParams) {
        for path in params.changes.iter().filter_map(|change| uri::to_path(&change.uri)) {
            for id in self.projects.around(&path) {
                self.tell_project(id, Change::Disk(path.clone()));
            }
        }
    }

    fn folders_changed(&mut self, params: DidChangeWorkspaceFoldersParams) {
        let mut folders: Vec<PathBuf> = Vec::new();
        for id in self.projects.ids() {
            folders.extend(self.projects.get(id).into_iter().flat_map(|handle| handle.folders.clone()));
        }
        let path = |uri: &Uri| uri::to_path(uri);
        let removed: Vec<PathBuf> = params.event.removed.iter().filter_map(|folder| path(&folder.uri)).collect();
        folders.retain(|folder| !removed.contains(folder));
        folders.extend(params.event.added.iter().filter_map(|folder| path(&folder.uri)));
        self.set_folders(folders);
    }

    /// Opens and closes projects so that they are those of the folders.
    pub(super) fn set_folders(&mut self, mut folders: Vec<PathBuf>) {
        folders.sort();
        folders.dedup();
        let mut wanted = groups(&folders);
        for id in self.projects.ids() {
            let Some(handle) = self.projects.get(id) else { continue };
            let same = |group: &Group| group.root == handle.root && group.folders == handle.folders;
            match wanted.iter().position(same) {
                Some(index) => _ = wanted.remove(index),
                None => self.close_project(id),
            }
        }
        for group in wanted {
            self.open_project(group);
        }
        self.hand_over();
    }

    fn close_project(&mut self, id: usize) {
        let Some(handle) = self.projects.close(id) else { return };
        if !self.client.pulls {
            for path in handle.published.paths() {
                self.publish(path, None, &[]);
            }
        }
        if let Some(token) = handle.progress {
            self.notify("$/progress", json!({ "token": token, "value": { "kind": "end" } }));
        }
    }

    fn open_project(&mut self, group: Group) {
        let events = self.events.clone();
        let done = move |report| {
            // The session has ended when nobody listens.
            let _ = events.send(Event::Report(report));
        };
        let root = group.root.clone();
        let id = self.projects.open(group, self.options.style.clone(), done);
        let open: Vec<PathBuf> = self.documents.0.keys().filter(|path| path.starts_with(&root)).cloned().collect();
        for change in open.iter().filter_map(|path| self.buffer(path)).collect::<Vec<_>>() {
            self.tell_project(id, change);
        }
        self.tell_project(id, Change::Reload);
    }

    /// Shows that a project is read, until it is.
    fn begin_progress(&mut self, id: usize) {
        let Some(handle) = self.projects.get_mut(id).filter(|handle| handle.latest.is_none()) else {
            return;
        };
        if !self.client.progress {
            return;
        }
        let token = format!("opwright/{id}");
        handle.progress = Some(token.clone());
        self.ask_client("window/workDoneProgress/create", json!({ "token": token }));
        let value = json!({ "kind": "begin", "title": "opwright", "message": "reading the project" });
        self.notify("$/progress", json!({ "token": token, "value": value }));
    }
}
