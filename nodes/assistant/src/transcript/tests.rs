use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use superstep_core::checkpoint::MemorySaver;
use superstep_core::run::{Graph, Thread};
use superstep_nodes::model::Scripted;
use superstep_nodes::tool::{ToolEffect, ToolRegistry, TypedTool};
use tempfile::TempDir;

use super::*;
use crate::context::ContextSettings;
use crate::{AssistantConfig, assistant};

/// A session with a transcript.
struct Recorded {
    saver: MemorySaver,
    thread: Thread<AssistantState>,
    folder: TempDir,
}

impl Recorded {
    /// Makes an assistant that calls a tool for each message, and snips its conversation at 100 messages.
    fn new(messages: usize) -> Self {
        let look =
            TypedTool::new("look", "Looks at something. Says what it is.", |_: serde_json::Value| async {
                Ok::<_, std::convert::Infallible>("a \"pear\"\n\u{1F350}".to_owned())
            });
        let look = look.with_effect(ToolEffect::ReadOnly);
        let script = (0..messages).fold(Scripted::new(), |script, n| {
            script.call(format!("c{n}"), "look", json!({})).say(format!("A pear, {n}."))
        });
        let config = AssistantConfig::new(script)
            .tools(ToolRegistry::new().with(look).unwrap())
            .context(ContextSettings { horizon: 100, ..ContextSettings::default() });
        let saver = MemorySaver::new();
        let graph: Graph<AssistantState> = assistant(config).unwrap().checkpointer(saver.clone());
        Self { saver, thread: graph.thread("session"), folder: tempfile::tempdir().unwrap() }
    }

    async fn ask(&self, n: usize) {
        self.thread.run(AssistantState::ask(format!("What is it, {n}?"))).await.unwrap().finished().unwrap();
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("session.jsonl")
    }

    /// Opens the transcript, as another process would, and appends to it.
    async fn record(&self) -> usize {
        let mut transcript = Transcript::open(self.path()).unwrap();
        transcript.record(&self.saver, self.thread.id()).await.unwrap()
    }

    async fn state(&self) -> AssistantState {
        self.thread.head().await.unwrap().into_state()
    }
}

/// Returns the state of JSON: fields such as the index of a list are none of it.
fn json_of(state: &AssistantState) -> serde_json::Value {
    serde_json::to_value(state).unwrap()
}

#[tokio::test]
async fn s2_024_025_a_transcript_makes_the_state_of_the_last_checkpoint_also_after_it_was_snipped() {
    let session = Recorded::new(30);
    let mut lines = 0;
    for n in 0..30 {
        session.ask(n).await;
        if n % 5 == 4 || n < 2 {
            lines += session.record().await;
            assert_eq!(Transcript::restore(session.path()).unwrap(), session.state().await);
        }
    }
    let state = session.state().await;
    assert!(state.messages.len() < 100, "{} messages were not snipped", state.messages.len());
    assert_eq!(session.record().await, 0, "nothing is recorded twice");
    let text = std::fs::read_to_string(session.path()).unwrap();
    assert_eq!(text.lines().count(), lines);
    assert!(text.contains("What is it, 0?"), "the transcript has what was snipped");
    for line in text.lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).unwrap().is_object());
    }
}

#[tokio::test]
async fn a_rewound_session_has_both_branches_in_its_transcript_and_the_last_one_counts() {
    let session = Recorded::new(3);
    session.ask(0).await;
    let first = session.thread.head().await.unwrap();
    session.ask(1).await;
    session.record().await;
    first.branch().await.unwrap();
    session.record().await;
    assert_eq!(Transcript::restore(session.path()).unwrap(), session.state().await);
    session.ask(2).await;
    session.record().await;
    let restored = Transcript::restore(session.path()).unwrap();
    assert_eq!(restored, session.state().await);
    let text = json_of(&restored).to_string();
    assert!(text.contains("What is it, 2?") && !text.contains("What is it, 1?"), "{text}");
    assert!(std::fs::read_to_string(session.path()).unwrap().contains("What is it, 1?"));
}

#[tokio::test]
async fn a_transcript_that_was_cut_off_has_the_last_whole_checkpoint_and_catches_up() {
    let session = Recorded::new(2);
    let mut states = Vec::new();
    session.ask(0).await;
    session.ask(1).await;
    session.record().await;
    for summary in session.thread.history().unwrap().collect().await.unwrap().into_iter().rev() {
        states.push(session.thread.at(summary.id).await.unwrap().into_state());
    }
    let whole = std::fs::read(session.path()).unwrap();
    let ends: Vec<_> = (0..whole.len()).filter(|at| whole[*at] == b'\n').collect();
    assert_eq!(ends.len(), states.len());
    for cut in (0..whole.len()).step_by(37).chain(ends.iter().flat_map(|end| [*end, end + 1])) {
        std::fs::write(session.path(), &whole[..cut]).unwrap();
        match ends.iter().filter(|end| **end < cut).count() {
            0 => assert!(matches!(Transcript::restore(session.path()), Err(TranscriptError::Empty { .. }))),
            lines => assert_eq!(Transcript::restore(session.path()).unwrap(), states[lines - 1], "{cut}"),
        }
    }
    std::fs::write(session.path(), &whole[..whole.len() / 2]).unwrap();
    assert!(session.record().await > 0);
    assert_eq!(std::fs::read(session.path()).unwrap(), whole);
}

/// Returns the text of a transcript of three messages, and its last state.
fn sample() -> (Vec<u8>, AssistantState) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let session = Recorded::new(3);
        for n in 0..3 {
            session.ask(n).await;
        }
        session.record().await;
        (std::fs::read(session.path()).unwrap(), session.state().await)
    })
}

/// Damages a text: bytes are replaced, removed or repeated.
fn damages() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, any::<u8>()), 1..4)
}

#[test]
fn damage_is_an_error_with_its_line_and_never_another_state() {
    let (text, state) = sample();
    let lines = text.iter().filter(|byte| **byte == b'\n').count();
    let folder = tempfile::tempdir().unwrap();
    let path = Arc::new(folder.path().join("damaged.jsonl"));
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let check = |damages: Vec<(prop::sample::Index, u8, u8)>| {
        let mut damaged = text.clone();
        for (place, kind, byte) in damages {
            let at = place.index(damaged.len());
            match kind {
                0 => damaged[at] = byte,
                1 => drop(damaged.remove(at)),
                _ => damaged.insert(at, byte),
            }
        }
        std::fs::write(&*path, &damaged).unwrap();
        match Transcript::restore(&*path) {
            // Only the last line may be missing, if its end is damaged.
            Ok(restored) => prop_assert!(restored == state || !damaged.ends_with(b"\n")),
            Err(TranscriptError::Damaged { line, .. }) => prop_assert!((1..=lines + 3).contains(&line)),
            Err(error) => prop_assert!(false, "{error}"),
        }
        // Opening it to append fails, or leaves whole lines.
        if Transcript::open(&*path).is_ok() {
            prop_assert!(std::fs::read(&*path).unwrap().ends_with(b"\n"));
        }
        Ok(())
    };
    runner.run(&damages(), check).unwrap();
}

#[test]
fn a_line_that_is_missing_is_an_error_and_so_is_one_that_was_changed() {
    let (text, _) = sample();
    let lines: Vec<_> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.jsonl");
    let error = |text: &[u8]| {
        std::fs::write(&path, text).unwrap();
        Transcript::restore(&path).unwrap_err().to_string()
    };
    let missing = error(&[&lines[..4], &lines[5..]].concat().concat());
    assert!(missing.contains("line 5 ") && missing.contains("is missing"), "{missing}");
    let changed = String::from_utf8(text.clone()).unwrap().replacen("What is it, 0?", "What is it, 7?", 1);
    let changed = error(changed.as_bytes());
    assert!(changed.contains("line 2 ") && changed.contains("digest"), "{changed}");
    assert!(error(b"hello\n").contains("line 1 "));
}
