//! The language server: a face over the same stages as the command line.
//!
//! The main loop only moves messages. Each project is checked on a thread of its own ([`worker`]), and requests are answered from
//! the snapshot that it made last ([`answers`]), once that holds all that the client said before it asked.

mod actions;
mod answers;
mod client;
mod convert;
mod diagnostics;
mod documents;
mod engine;
mod hints;
mod hover;
mod notifications;
mod projects;
mod publish;
mod requests;
mod uri;
mod worker;

use crate::project::cache::Place;
use answers::{Answers, Task};
use client::{Client, Options};
use documents::Documents;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::InitializeParams;
use projects::Projects;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Serves on standard input and output until the client is gone; the exit code is 0 after an orderly shutdown.
pub fn serve() -> u8 {
    let (connection, threads) = Connection::stdio();
    let orderly = run(connection, Place::of_user());
    // A broken pipe at the end is no failure: the client has gone.
    let _ = threads.join();
    u8::from(!orderly)
}

/// Serves a client, with the facts cache that lies in a place; whether it asked for a shutdown before it left.
pub fn run(connection: Connection, cache: Option<Place>) -> bool {
    let Ok((id, params)) = connection.initialize_start() else {
        return false;
    };
    let client = Client::new(&InitializeParams::deserialize(&params).unwrap_or_default(), &params);
    let params: InitializeParams = serde_json::from_value(params).unwrap_or_default();
    let mut server = Server::new(&connection, client, cache, &params);
    server.respond(Response::new_ok(id, requests::initialize_result(&server.client)));
    server.start(&params);
    let inbox = server.take_inbox(connection.receiver);
    while let Ok(event) = inbox.recv() {
        match event {
            Event::Message(message) => {
                if !server.take(message) {
                    break;
                }
            }
            Event::Report(report) => server.report(report),
            Event::Answer(response) => server.answered(response),
            Event::Gone => break,
        }
    }
    server.shutting_down
}

/// What wakes the main loop.
enum Event {
    Message(Message),
    Report(worker::Report),
    Answer(Response),
    Gone,
}

/// A request that waits until the projects that it asks about are up to date.
struct Waiting {
    id: RequestId,
    /// Project and the number of its change that must be in.
    needs: Vec<(usize, u64)>,
    task: Task,
}

struct Server {
    out: lsp_server::Connection,
    client: Arc<Client>,
    options: Arc<Options>,
    documents: Documents,
    projects: Projects,
    waiting: Vec<Waiting>,
    answers: Answers,
    events: Sender<Event>,
    inbox: Option<Receiver<Event>>,
    shutting_down: bool,
    requests_sent: i32,
    /// Failures that the user was told of, so that none is told at every edit.
    told: Option<String>,
}

impl Server {
    fn new(connection: &Connection, client: Client, cache: Option<Place>, params: &InitializeParams) -> Self {
        let (events, inbox) = channel();
        let client = Arc::new(client);
        let options = params.initialization_options.as_ref().map(Options::read).unwrap_or_default();
        let done = events.clone();
        let answers = Answers::start(move |response| {
            // The main loop is gone when nobody listens.
            let _ = done.send(Event::Answer(response));
        });
        Self {
            out: Connection {
                sender: connection.sender.clone(),
                receiver: connection.receiver.clone(),
            },
            client,
            options: Arc::new(options),
            documents: Documents::default(),
            projects: Projects::new(cache),
            waiting: Vec::new(),
            answers,
            events,
            inbox: Some(inbox),
            shutting_down: false,
            requests_sent: 0,
            told: None,
        }
    }

    /// Messages of the client are events like all others.
    fn take_inbox(&mut self, receiver: impl IntoIterator<Item = Message> + Send + 'static) -> Receiver<Event> {
        let events = self.events.clone();
        std::thread::spawn(move || {
            for message in receiver {
                if events.send(Event::Message(message)).is_err() {
                    return;
                }
            }
            let _ = events.send(Event::Gone);
        });
        self.inbox.take().unwrap_or_else(|| channel().1)
    }

    /// Opens the projects of the workspace.
    fn start(&mut self, params: &InitializeParams) {
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in params.workspace_folders.iter().flatten() {
            folders.extend(uri::to_path(&folder.uri));
        }
        #[allow(deprecated)] // what clients without workspace folders send
        if params.workspace_folders.is_none() {
            folders.extend(params.root_uri.as_ref().and_then(uri::to_path));
        }
        self.set_folders(folders);
    }

    /// Takes a message; false ends the session.
    fn take(&mut self, message: Message) -> bool {
        match message {
            Message::Request(request) => self.request(request),
            Message::Notification(notification) if notification.method == "exit" => return false,
            Message::Notification(notification) => self.notification(notification),
            Message::Response(response) => self.configured(response),
        }
        true
    }

    /// A request goes to where it is answered, or waits for the project.
    fn request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        if method == "shutdown" {
            self.shutting_down = true;
            self.respond(Response::new_ok(id, Value::Null));
            return;
        }
        if self.shutting_down {
            self.fail(id, ErrorCode::InvalidRequest, "the server is shutting down");
            return;
        }
        match requests::task(&method, params, &self.projects) {
            Ok(requests::Asked { projects, task }) => {
                let needs = projects
                    .into_iter()
                    .filter_map(|id| Some((id, self.projects.get(id)?.worker.generation)));
                let needs = needs.collect();
                self.waiting.push(Waiting { id, needs, task });
                self.hand_over();
            }
            Err(requests::Refused(code, why)) => self.fail(id, code, &why),
        }
    }

    /// Hands requests over whose projects are up to date.
    fn hand_over(&mut self) {
        let (ready, waiting) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|waiting| self.projects.are_done(&waiting.needs));
        self.waiting = waiting;
        let ready: Vec<Waiting> = ready;
        for Waiting { id, needs, task } in ready {
            let snapshots = self.projects.snapshots(&needs);
            self.answers.ask(id, task, snapshots, self.client.clone(), self.options.clone());
        }
    }

    fn cancel(&mut self, id: &RequestId) {
        let before = self.waiting.len();
        self.waiting.retain(|waiting| waiting.id != *id);
        if self.waiting.len() < before {
            self.fail(id.clone(), ErrorCode::RequestCanceled, "canceled");
        } else {
            self.answers.cancel(id);
        }
    }

    fn answered(&mut self, response: Response) {
        self.answers.forget(&response.id);
        self.respond(response);
    }

    fn respond(&self, response: Response) {
        self.send(Message::Response(response));
    }

    fn fail(&self, id: RequestId, code: ErrorCode, why: &str) {
        self.respond(Response::new_err(id, code as i32, why.to_string()));
    }

    fn notify(&self, method: &str, params: Value) {
        self.send(Message::Notification(Notification {
            method: method.to_string(),
            params,
        }));
    }

    /// Sends a request; its number is its name.
    fn ask_client(&mut self, method: &str, params: Value) -> RequestId {
        self.requests_sent += 1;
        let id = RequestId::from(self.requests_sent);
        self.send(Message::Request(Request {
            id: id.clone(),
            method: method.to_string(),
            params,
        }));
        id
    }

    fn send(&self, message: Message) {
        // A client that has gone is noticed when its messages end.
        let _ = self.out.sender.send(message);
    }

    /// Tells the user of a failure, once.
    fn tell(&mut self, failure: Option<String>) {
        if let Some(failure) = failure.as_ref().filter(|failure| self.told.as_ref() != Some(failure)) {
            self.notify(
                "window/showMessage",
                json!({ "type": 1, "message": format!("opwright: {failure}") }),
            );
        }
        self.told = failure;
    }
}

/// Parameters as their type; a message for the client otherwise.
fn read<T: DeserializeOwned>(params: Value) -> Result<T, String> {
    serde_json::from_value(params).map_err(|error| error.to_string())
}
