//! The benchmark of answers to stored questions.

use std::path::Path;
use std::time::Instant;

use serde_json::{Map, Value, json};
use superstep::checkpoint::{Durability, SqliteSaver};
use superstep::nodes::assistant::permission::{
    PermissionAnswer, PermissionMode, Permissions, RuleKind, RulePlace, RuleSource,
};
use superstep::nodes::assistant::{AssistantConfig, AssistantState, assistant};
use superstep::nodes::tool::{ToolRegistry, TypedTool};
use superstep::prelude::*;
use tempfile::TempDir;

use crate::engine::on_worker;
use crate::fresh;
use crate::report::{Figure, median, round};
use crate::sessions::Instantly;

/// Questions that are answered in this process, and in processes of their own.
const ANSWERS: usize = 200;
const PROCESSES: usize = 9;

/// Opens the file with an assistant that asks about each call of its tool, or allows it.
async fn graph(path: &Path, kind: RuleKind) -> Graph<AssistantState> {
    let look =
        TypedTool::new("look", "Looks at something. Says what it is.", |_: Value| async { "It is there." });
    let rule = RulePlace::new("look".parse().expect("a sound rule"), RuleSource::User);
    let config = AssistantConfig::new(Instantly::calling("look", json!({})))
        .tools(ToolRegistry::new().with(look).expect("a sound tool"))
        .mode(PermissionMode::Default)
        .permissions(Permissions::new().rule(kind, rule));
    let saver = SqliteSaver::options().durability(Durability::Process).open(path).await;
    assistant(config).expect("a sound graph").checkpointer(saver.expect("the file opens"))
}

/// Asks for a call, which stores a question.
async fn ask(thread: &Thread<AssistantState>) {
    let run = thread.run(AssistantState::ask("look at it")).await.expect("the turn runs");
    assert!(matches!(run.status, Status::Interrupted { .. }), "{:?}", run.status);
}

/// Answers the question, and returns the time until the call is made and the model has responded, in milliseconds.
async fn answer(thread: &Thread<AssistantState>) -> f64 {
    let begun = Instant::now();
    let run = thread.answer(PermissionAnswer::Once).await.expect("the turn runs");
    let taken = begun.elapsed().as_secs_f64() * 1e3;
    assert!(matches!(run.status, Status::Finished), "{:?}", run.status);
    taken
}

/// W22: the answer to a stored question, with the call and the response that follow it, against a whole turn with the
/// same call without a question. `extra` has the time in a new process, from the opening of the file.
pub(crate) fn stored_question() -> Figure {
    let folder = TempDir::new().expect("a folder for the files");
    let path = folder.path().join("sessions.db");
    let file = path.clone();
    let (values, baselines) = on_worker(async move {
        let (mut values, mut baselines) = (Vec::new(), Vec::new());
        let (asking, free) = (graph(&file, RuleKind::Ask).await, graph(&file, RuleKind::Allow).await);
        let (asking, free) = (asking.thread("asking"), free.thread("free"));
        for _ in 0..ANSWERS {
            ask(&asking).await;
            values.push(answer(&asking).await);
            let begun = Instant::now();
            let run = free.run(AssistantState::ask("look at it")).await.expect("the turn runs");
            baselines.push(begun.elapsed().as_secs_f64() * 1e3);
            assert!(matches!(run.status, Status::Finished), "{:?}", run.status);
        }
        ask(&asking).await;
        (values, baselines)
    });
    let times: Vec<f64> =
        (0..PROCESSES).map(|_| fresh::number(&fresh::measure("answer", &path), "ms")).collect();
    let extra = Map::from_iter([("new_process_ms".to_owned(), round(median(&times)).into())]);
    let target = "a turn with a call; ≤ 5 ms, in a new process ≤ 100 ms";
    Figure { unit: "ms", values, baselines, extra, target }
}

/// Opens the file of W22 in this process and answers its question, and then stores the next one.
pub(crate) fn answer_stored(path: &Path) -> Map<String, Value> {
    let path = path.to_owned();
    on_worker(async move {
        let begun = Instant::now();
        let thread = graph(&path, RuleKind::Ask).await.thread("asking");
        answer(&thread).await;
        let taken = begun.elapsed().as_secs_f64() * 1e3;
        ask(&thread).await;
        Map::from_iter([("ms".to_owned(), round(taken).into())])
    })
}
