//! Sessions that are taken back and forth with their files, through the graph.

mod background;
mod collect;
mod cut_off;
mod sessions;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde_json::{Value, json};
use superstep_core::checkpoint::MemorySaver;
use superstep_core::run::{EventKind, Graph, RunEvent};
use superstep_core::store::MemoryStore;
use superstep_nodes::message::ToolCall;
use superstep_nodes::model::{ChatModel, ModelError, ModelEvent, ModelReply, ModelRequest};
use superstep_nodes::tool::{ToolRegistry, TypedTool};
use superstep_tools::{Workspace, WriteFile};
use tempfile::TempDir;

use super::*;
use crate::agents::AgentKind;
use crate::inbox::Inbox;
use crate::permission::{Permissions, RuleKind, RulePlace, RuleSource};
use crate::snapshot::SnapshotOptions;
use crate::snapshot::tests::{read, scratch};
use crate::{AssistantConfig, BackgroundAgents, assistant};

/// A model that makes the calls which a test puts in, one a turn, and then says that it is done.
#[derive(Clone, Default)]
struct Puppet {
    calls: Arc<Mutex<VecDeque<ToolCall>>>,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
}

impl ChatModel for Puppet {
    fn name(&self) -> &str {
        "puppet"
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        self.requests.lock().unwrap().push(request);
        let reply = match self.calls.lock().unwrap().pop_front() {
            Some(call) => ModelReply::new("m", "").with_calls(vec![call]),
            None => ModelReply::new("m", "Done."),
        };
        stream::iter(reply.to_events().into_iter().map(Ok)).boxed()
    }
}

type Work = Box<dyn FnOnce(&Path) + Send>;

/// What the next call of the tool `shell` does; it stands for a command, whose writes the tool does not name. Without
/// work it writes the file `half` and hangs.
type Works = Arc<Mutex<VecDeque<Work>>>;

/// A folder in which sessions work, with their model.
struct Desk {
    dir: TempDir,
    model: Puppet,
    works: Works,
    snapshots: Snapshots,
    graph: Graph<AssistantState>,
    background: BackgroundAgents,
}

impl Desk {
    fn new() -> Self {
        let dir = scratch();
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        fs::create_dir(dir.path().join("data")).unwrap();
        let options = SnapshotOptions::new(dir.path().join("data/snapshots.sqlite"));
        let snapshots = Snapshots::open(&folder, options).unwrap();
        let (model, works) = (Puppet::default(), Works::default());
        let allow = |tool: &str| RulePlace::new(tool.parse().unwrap(), RuleSource::User);
        let permissions = ["shell", "write_file", "agent"]
            .into_iter()
            .fold(Permissions::new(), |permissions, tool| permissions.rule(RuleKind::Allow, allow(tool)));
        let config = AssistantConfig::new(model.clone())
            .tools(tools(&folder, &works))
            .permissions(permissions)
            .workspace(&folder)
            .snapshots(snapshots.clone())
            .agents([AgentKind::writer("mend", "Mends what is broken.")])
            .inbox(Inbox::new(MemoryStore::new()));
        let saver = MemorySaver::new();
        let background = BackgroundAgents::new(&config, |graph| graph.checkpointer(saver.clone())).unwrap();
        let graph = assistant(config).unwrap().checkpointer(saver);
        Self { dir, model, works, snapshots, graph, background }
    }

    fn folder(&self) -> PathBuf {
        self.dir.path().join("folder")
    }

    fn put(&self, path: &str, content: &str) {
        fs::write(self.folder().join(path), content).unwrap();
    }

    fn get(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.folder().join(path)).ok()
    }

    fn session(&self, name: &str) -> Thread<AssistantState> {
        self.graph.thread(name)
    }

    /// Lets the next turn call `write_file`.
    fn will_write(&self, path: &str, content: &str) {
        self.will_call("write_file", json!({ "path": path, "content": content }));
    }

    /// Lets the next turn run a command that does this.
    fn will_run(&self, work: impl FnOnce(&Path) + Send + 'static) {
        self.works.lock().unwrap().push_back(Box::new(work));
        self.will_call("shell", json!({}));
    }

    fn will_call(&self, tool: &str, input: Value) {
        self.model.calls.lock().unwrap().push_back(ToolCall::new("c", tool, input));
    }

    /// Runs a session on a message; returns its latest checkpoint afterwards.
    async fn ask(&self, session: &Thread<AssistantState>) -> Past<AssistantState> {
        session.run(AssistantState::ask("Go on.")).await.unwrap().finished().unwrap();
        session.head().await.unwrap()
    }

    /// Returns the texts of the last request.
    fn last_request(&self) -> Vec<String> {
        let requests = self.model.requests.lock().unwrap();
        requests.last().unwrap().messages.iter().map(|message| message.text().into_owned()).collect()
    }
}

fn tools(folder: &Path, works: &Works) -> ToolRegistry {
    let (folder, works) = (folder.to_owned(), Arc::clone(works));
    let shell = TypedTool::new("shell", "Runs a command. Says when it has ended.", move |_: Value| {
        let work = works.lock().unwrap().pop_front();
        let folder = folder.clone();
        async move {
            match work {
                Some(work) => work(&folder),
                None => {
                    fs::write(folder.join("half"), "of it").unwrap();
                    std::future::pending().await
                }
            }
            Ok::<_, std::convert::Infallible>("ran".to_owned())
        }
    });
    ToolRegistry::new().with(shell).unwrap().with(WriteFile::new(Workspace::of_session())).unwrap()
}

fn named(files: impl Iterator<Item = ChangedFile>) -> Vec<String> {
    files.map(|file| file.path).collect()
}

#[tokio::test]
async fn a_session_returns_to_a_step_with_the_files_of_its_tools_and_commands_and_back() {
    let desk = Desk::new();
    desk.put("old", "1");
    desk.put("other", "1");
    let session = desk.session("s");
    desk.will_write("new", "1");
    let first = desk.ask(&session).await;
    desk.will_run(|folder| {
        fs::write(folder.join("old"), "2").unwrap();
        fs::write(folder.join("other"), "2").unwrap();
        fs::remove_file(folder.join("new")).unwrap();
    });
    let second = desk.ask(&session).await;
    desk.put("other", "3");
    desk.put("foreign", "3");
    let all = read(&desk.folder());

    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    assert_eq!(
        (named(plan.changes()), named(plan.foreign())),
        (vec!["new".into(), "old".into()], vec!["other".into()])
    );
    assert_eq!(read(&desk.folder()), all, "a plan changes nothing");
    let restored = plan.apply().await.unwrap().unwrap();
    assert_eq!(restored.left, []);
    let get = |path| desk.get(path);
    assert_eq!(
        (get("new"), get("old"), get("other")),
        (Some("1".into()), Some("1".into()), Some("3".into()))
    );
    assert_eq!(get("foreign").as_deref(), Some("3"));
    let head = session.head().await.unwrap();
    assert_eq!(head.state().messages, first.state().messages);

    redo(&session, &desk.snapshots).await.unwrap().unwrap();
    assert_eq!(read(&desk.folder()), all);
    assert_eq!(session.head().await.unwrap().state().messages, second.state().messages);
    let again = redo(&session, &desk.snapshots).await.unwrap_err();
    assert!(matches!(again, RewindError::NothingToRedo(_)), "{again}");
}

#[tokio::test]
async fn the_model_is_told_in_the_next_turn_which_files_are_as_they_were() {
    let desk = Desk::new();
    desk.put("kept", "1");
    let session = desk.session("s");
    let first = desk.ask(&session).await;
    desk.will_run(|folder| {
        fs::write(folder.join("kept"), "2").unwrap();
        fs::write(folder.join("made"), "2").unwrap();
    });
    desk.ask(&session).await;
    desk.put("kept", "3");
    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    plan.apply().await.unwrap();
    let next = desk.ask(&session).await;
    let told = desk.last_request();
    let note = &told[told.len() - 2];
    assert!(note.contains("as they were at this point of the session: made\n"), "{note}");
    assert!(note.contains("read them again: kept"), "{note}");
    assert_eq!(next.state().rewound, None);
    // The note is written once, and the rewind cannot be redone any more.
    desk.ask(&session).await;
    assert_eq!(desk.last_request().iter().filter(|text| *text == note).count(), 1);
    let late = redo(&session, &desk.snapshots).await.unwrap_err();
    assert!(matches!(late, RewindError::NothingToRedo(_)), "{late}");
}

#[tokio::test]
async fn rewinds_are_redone_one_by_one_and_a_foreign_file_only_if_the_caller_says_so() {
    let desk = Desk::new();
    let session = desk.session("s");
    let mut steps = vec![desk.ask(&session).await.id()];
    for content in ["1", "2", "3"] {
        desk.will_run(move |folder| fs::write(folder.join("a"), content).unwrap());
        steps.push(desk.ask(&session).await.id());
    }
    desk.put("a", "mine");
    let back = async |step: usize, includes: bool| {
        let plan = Rewind::plan(&session, steps[step], &desk.snapshots).await.unwrap();
        plan.include_foreign(|_| includes).apply().await.unwrap();
        desk.get("a")
    };
    assert_eq!(back(2, false).await.as_deref(), Some("mine"));
    assert_eq!(back(1, true).await.as_deref(), Some("1"));
    assert_eq!(back(0, false).await, None);
    let gone = Rewind::plan(&session, steps[3], &desk.snapshots).await.unwrap_err();
    assert!(matches!(gone, RewindError::OtherBranch(id) if id == steps[3]), "{gone}");
    for expected in [Some("1"), Some("mine"), Some("mine")] {
        redo(&session, &desk.snapshots).await.unwrap();
        assert_eq!(desk.get("a").as_deref(), expected);
    }
    assert_eq!(session.head().await.unwrap().state().changes.len(), 3);
}

#[tokio::test]
async fn the_changes_of_a_sub_agent_are_those_of_its_session() {
    let desk = Desk::new();
    let session = desk.session("s");
    desk.will_write("a", "1");
    let first = desk.ask(&session).await;
    desk.will_call("agent", json!({ "kind": "mend", "task": "Mend it." }));
    desk.will_run(|folder| fs::write(folder.join("a"), "2").unwrap());
    desk.will_run(|folder| fs::write(folder.join("b"), "2").unwrap());
    let second = desk.ask(&session).await;
    assert_eq!(second.state().changes.len(), 3);
    desk.will_write("c", "3");
    desk.ask(&session).await;
    for (step, files) in [(&second, ["a", "b"].as_slice()), (&first, &["a"])] {
        let plan = Rewind::plan(&session, step.id(), &desk.snapshots).await.unwrap();
        assert_eq!(plan.foreign().count(), 0);
        plan.apply().await.unwrap();
        assert_eq!(read(&desk.folder()).into_keys().collect::<Vec<_>>(), files);
    }
    assert_eq!(desk.get("a").as_deref(), Some("1"));
}

#[tokio::test]
async fn a_plan_is_not_applied_to_a_session_that_has_continued() {
    let desk = Desk::new();
    let session = desk.session("s");
    let first = desk.ask(&session).await;
    desk.will_write("a", "1");
    desk.ask(&session).await;
    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    desk.ask(&session).await;
    let moved = plan.apply().await.unwrap_err();
    assert!(matches!(moved, RewindError::Moved(_)), "{moved}");
    assert_eq!(desk.get("a").as_deref(), Some("1"));
}

/// The program ends when the files are restored and the thread is not.
#[tokio::test]
async fn a_rewind_that_was_cut_off_is_planned_and_applied_again() {
    let desk = Desk::new();
    desk.put("a", "0");
    let session = desk.session("s");
    let first = desk.ask(&session).await;
    desk.will_run(|folder| fs::write(folder.join("a"), "1").unwrap());
    desk.will_write("b", "1");
    let second = desk.ask(&session).await;
    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    desk.snapshots.restore(plan.files.as_ref().unwrap()).await.unwrap();
    assert_eq!(session.head().await.unwrap().id(), second.id());

    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    assert_eq!((plan.changes().count(), plan.foreign().count()), (0, 0), "the files are there");
    plan.apply().await.unwrap();
    let head = session.head().await.unwrap();
    assert_eq!((head.state().messages == first.state().messages, head.state().changes.len()), (true, 0));
    assert_eq!((desk.get("a").as_deref(), desk.get("b")), (Some("0"), None));
    redo(&session, &desk.snapshots).await.unwrap();
    assert_eq!(session.head().await.unwrap().state().messages, second.state().messages);
    assert_eq!(desk.get("a").as_deref(), Some("0"), "the files stay");
    desk.will_write("a", "2");
    desk.ask(&session).await;
    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap();
    plan.apply().await.unwrap();
    assert_eq!((desk.get("a").as_deref(), desk.get("b")), (Some("0"), None));
}

#[tokio::test]
async fn a_fork_has_the_session_and_its_files_at_a_step_in_a_folder_of_its_own() {
    let desk = Desk::new();
    desk.put("old", "1");
    let session = desk.session("s");
    let empty = desk.ask(&session).await;
    desk.will_write("new", "1");
    let first = desk.ask(&session).await;
    let files = read(&desk.folder());
    desk.will_run(|folder| fs::write(folder.join("old"), "2").unwrap());
    desk.ask(&session).await;
    let into = desk.dir.path().join("fork");
    let (forked, not_covered) = fork(&session, first.id(), "f", &desk.snapshots, &into).await.unwrap();
    assert_eq!((read(&into), not_covered), (files, vec![]));
    assert_eq!(forked.head().await.unwrap().state(), first.state());
    assert_eq!(desk.get("old").as_deref(), Some("2"), "the folder of the session stays");

    let before = desk.dir.path().join("before");
    fork(&session, empty.id(), "e", &desk.snapshots, &before).await.unwrap();
    assert_eq!(read(&before).into_keys().collect::<Vec<_>>(), ["old"], "as before the first change");
    let full = fork(&session, first.id(), "g", &desk.snapshots, &into).await.unwrap_err();
    assert!(matches!(full, RewindError::Snapshot(SnapshotError::NotEmpty { .. })), "{full}");
}

#[tokio::test]
async fn a_session_says_once_what_its_snapshots_do_not_cover() {
    let desk = Desk::new();
    std::os::unix::net::UnixListener::bind(desk.folder().join("socket")).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&told);
    let graph = desk.graph.clone().observe(move |event: &RunEvent| {
        if let EventKind::Custom { name, data, .. } = &event.kind
            && name == "snapshot"
        {
            seen.lock().unwrap().push(data.to_string());
        }
    });
    let session = graph.thread("s");
    for content in ["1", "2"] {
        desk.will_run(move |folder| fs::write(folder.join("a"), content).unwrap());
        let state = desk.ask(&session).await.into_state();
        assert_eq!(state.not_covered.len(), 1);
    }
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("socket") && told[0].contains("special"), "{told:?}");
}

#[tokio::test]
async fn looking_takes_no_snapshot_and_a_replay_takes_none_again() {
    let desk = Desk::new();
    let session = desk.session("s");
    desk.ask(&session).await;
    assert_eq!(session.head().await.unwrap().state().snapshot, None);
    desk.will_run(|folder| fs::write(folder.join("a"), "1").unwrap());
    let state = desk.ask(&session).await.into_state();
    let [change] = state.changes[..] else { panic!("{:?}", state.changes) };
    assert_eq!(state.snapshot, Some(change.after));
    desk.put("a", "2");
    session.replay().await.unwrap();
    assert_eq!(desk.get("a").as_deref(), Some("2"));
}

#[tokio::test]
async fn a_session_whose_snapshots_were_deleted_begins_new_ones() {
    let desk = Desk::new();
    let session = desk.session("s");
    desk.will_write("a", "1");
    let first = desk.ask(&session).await;
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    desk.snapshots.collect(Default::default(), later).await.unwrap();
    desk.will_run(|folder| fs::write(folder.join("a"), "2").unwrap());
    let state = desk.ask(&session).await.into_state();
    assert_eq!(state.changes.len(), 2);
    let plan = Rewind::plan(&session, first.id(), &desk.snapshots).await.unwrap_err();
    assert!(matches!(plan, RewindError::Snapshot(SnapshotError::Unknown(_))), "{plan}");
}
