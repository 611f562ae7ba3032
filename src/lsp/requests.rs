//! What the client may ask, and how each question is answered.

use super::answers::{Known, Task};
use super::client::{Client, fix_all_kind};
use super::diagnostics;
use super::engine::Snapshot;
use super::projects::Projects;
use super::{actions, hints, hover, read, uri};
use crate::source::FileId;
use lsp_server::ErrorCode;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionParams, CodeLensParams, Diagnostic, DocumentDiagnosticParams, HoverParams, InlayHintParams, Uri,
    WorkspaceDiagnosticParams,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A question that can be answered.
pub(super) struct Asked {
    /// The projects that must be up to date.
    pub(super) projects: Vec<usize>,
    pub(super) task: Task,
}

/// Why a question cannot be answered.
pub(super) struct Refused(pub(super) ErrorCode, pub(super) String);

/// The response to `initialize`.
pub(super) fn initialize_result(client: &Client) -> Value {
    let mut capabilities = json!({
        "positionEncoding": client.encoding.kind(),
        "textDocumentSync": { "openClose": true, "change": 2, "save": false },
        "codeActionProvider": {
            "codeActionKinds": [CodeActionKind::QUICKFIX, fix_all_kind()],
            "resolveProvider": client.resolves_edits,
        },
        "hoverProvider": true,
        "inlayHintProvider": true,
        "codeLensProvider": { "resolveProvider": false },
        "workspace": { "workspaceFolders": { "supported": true, "changeNotifications": true } },
    });
    if client.pulls {
        capabilities["diagnosticProvider"] =
            json!({ "identifier": "opwright", "interFileDependencies": true, "workspaceDiagnostics": true });
    }
    json!({
        "capabilities": capabilities,
        "serverInfo": { "name": "opwright", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// What a question needs, and how it is answered.
pub(super) fn task(method: &str, params: Value, projects: &Projects) -> Result<Asked, Refused> {
    let task = match method {
        "textDocument/diagnostic" => read(params).map(|params| document(params, projects)),
        "workspace/diagnostic" => read(params).map(|params| workspace(params, projects)),
        "textDocument/codeAction" => read(params).map(|params| code_action(params, projects)),
        "codeAction/resolve" => read(params).map(|params| resolve(params, projects)),
        "textDocument/hover" => read(params).map(|params: HoverParams| {
            let at = params.text_document_position_params;
            about(&at.text_document.uri, projects, move |snapshot, path, known| {
                Ok(json!(hover::hover(snapshot, path, at.position, known.client)))
            })
        }),
        "textDocument/inlayHint" => read(params).map(|params: InlayHintParams| {
            about(&params.text_document.uri, projects, move |snapshot, path, known| {
                let wanted = known.options.inlay_hints;
                Ok(json!(wanted.then(|| hints::inlay(snapshot, path, params.range, known.client))))
            })
        }),
        "textDocument/codeLens" => read(params).map(|params: CodeLensParams| {
            about(&params.text_document.uri, projects, move |snapshot, path, known| {
                let wanted = known.options.code_lens;
                Ok(json!(wanted.then(|| hints::lenses(snapshot, path, known.client))))
            })
        }),
        _ => return Err(Refused(ErrorCode::MethodNotFound, format!("unknown request: {method}"))),
    };
    task.map_err(|why| Refused(ErrorCode::InvalidParams, why))
}

/// A question about one file. About a file of no project nothing is known.
fn about(uri: &Uri, projects: &Projects, answer: impl FnOnce(&Snapshot, &Path, &Known) -> Result<Value, String> + Send + 'static) -> Asked {
    let path = uri::to_path(uri).unwrap_or_default();
    let projects: Vec<usize> = projects.of(&path).into_iter().collect();
    let task: Task = Box::new(move |known| match known.snapshots.first() {
        Some(snapshot) => answer(snapshot, &path, known),
        None => Ok(Value::Null),
    });
    Asked { projects, task }
}

fn code_action(params: CodeActionParams, projects: &Projects) -> Asked {
    about(&params.text_document.uri, projects, move |snapshot, path, known| {
        let only = params.context.only.as_deref();
        Ok(json!(actions::list(
            snapshot,
            path,
            params.range,
            only,
            known.client,
            known.options
        )))
    })
}

fn resolve(action: CodeAction, projects: &Projects) -> Asked {
    let path = action.data.as_ref().and_then(|data| data["fixAll"].as_str()).map(PathBuf::from);
    let projects: Vec<usize> = path.and_then(|path| projects.of(&path)).into_iter().collect();
    let task: Task = Box::new(move |known| match known.snapshots.first() {
        Some(snapshot) => Ok(json!(actions::resolve(snapshot, action, known.client, known.options)?)),
        None => Ok(json!(action)),
    });
    Asked { projects, task }
}

fn document(params: DocumentDiagnosticParams, projects: &Projects) -> Asked {
    let path = uri::to_path(&params.text_document.uri).unwrap_or_default();
    let projects: Vec<usize> = projects.of(&path).into_iter().collect();
    let task: Task = Box::new(move |known| {
        let found = known.snapshots.first().and_then(|snapshot| Some((snapshot, snapshot.file(&path)?)));
        let list = found
            .map(|(snapshot, file)| diagnostics::of_file(snapshot, file, known.client))
            .unwrap_or_default();
        Ok(report(&list, params.previous_result_id.as_deref()))
    });
    Asked { projects, task }
}

fn workspace(params: WorkspaceDiagnosticParams, projects: &Projects) -> Asked {
    let task: Task = Box::new(move |known| {
        let previous: BTreeMap<String, String> = params
            .previous_result_ids
            .into_iter()
            .map(|id| (id.uri.as_str().to_string(), id.value))
            .collect();
        let mut told: BTreeMap<String, Value> = BTreeMap::new();
        for snapshot in known.snapshots {
            let files: Vec<FileId> = diagnostics::by_file(snapshot).into_keys().collect();
            for file in files {
                let Some(uri) = diagnostics::address(snapshot, file) else {
                    continue;
                };
                let list = diagnostics::of_file(snapshot, file, known.client);
                let version = snapshot.buffers.get(snapshot.path(file)).map(|opened| opened.version);
                let uri = uri.as_str().to_string();
                let mut item = report(&list, previous.get(&uri).map(String::as_str));
                item["uri"] = json!(uri);
                item["version"] = json!(version);
                told.insert(uri, item);
            }
        }
        for (uri, before) in previous {
            let gone = || {
                let mut item = report(&[], Some(&before));
                item["uri"] = json!(uri);
                item["version"] = Value::Null;
                item
            };
            told.entry(uri.clone()).or_insert_with(gone);
        }
        Ok(json!({ "items": told.into_values().collect::<Vec<_>>() }))
    });
    Asked {
        projects: projects.ids(),
        task,
    }
}

/// A full report, or word that it is the one that the client has.
fn report(list: &[Diagnostic], previous: Option<&str>) -> Value {
    let id = crate::report::hash(&[&json!(list).to_string()]);
    if previous == Some(&id) {
        return json!({ "kind": "unchanged", "resultId": id });
    }
    json!({ "kind": "full", "resultId": id, "items": list })
}
