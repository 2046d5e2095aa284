//! Sessions: threads with titles.

use std::collections::BTreeMap;

use superstep_core::checkpoint::{Summary, ThreadSummary};
use superstep_core::id::{InterruptId, ThreadId};
use superstep_core::nonprinting::is_nonprinting;
use superstep_core::run::{Graph, RunRequest, Thread, ThreadError};
use superstep_core::state::Json;

use crate::permission::PermissionMode;
use crate::state::{AssistantState, AssistantStateUpdate};

/// A session: a thread of an [`assistant`](crate::assistant()), with a title that lists show.
///
/// The title is an entry of the metadata of each checkpoint, so sessions are listed without reading their states. It is
/// made of the first message. A graph with a [`Lease`](superstep_core::run::Lease) runs a session in one process at a
/// time; the run of another one fails with an error that names the holder.
///
/// ```
/// use superstep_assistant::{AssistantConfig, Session, SessionSummary, assistant};
/// use superstep_core::checkpoint::MemorySaver;
/// use superstep_nodes::model::Scripted;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let graph = assistant(AssistantConfig::new(Scripted::new().say("Done.")))?.checkpointer(MemorySaver::new());
/// let mut session = Session::open(&graph, "0199").await?;
/// session.ask("Make the tests pass.\nStart with the parser.").await?.finished()?;
/// let sessions = SessionSummary::list(&graph).await?;
/// assert_eq!(sessions[0].title.as_deref(), Some("Make the tests pass."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Session {
    thread: Thread<AssistantState>,
    title: Option<String>,
}

/// The summary of a session in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionSummary {
    /// The session.
    pub session: ThreadId,
    /// The title; `None` if the last runs were not those of a [`Session`].
    pub title: Option<String>,
    /// The time of the latest checkpoint, in milliseconds of Unix time.
    pub updated_ms: u64,
    /// `true` if nothing is left to do. Another session was cut off, or waits for answers.
    pub is_finished: bool,
    /// The number of questions that wait for an answer.
    pub questions: usize,
}

/// The entry of the metadata that has the title.
const TITLE: &str = "title";

/// The maximum number of characters of a title.
const LONGEST: usize = 60;

impl Session {
    /// Opens a session, which need not have run.
    ///
    /// # Errors
    /// Fails if the graph has no checkpointer, or if its store cannot be read.
    pub async fn open(graph: &Graph<AssistantState>, id: impl Into<ThreadId>) -> Result<Self, ThreadError> {
        let thread = graph.thread(id);
        let title = title_in(&thread).await?;
        Ok(Self { thread, title })
    }

    /// Works on a message of the user. The first one makes the title.
    pub fn ask(&mut self, message: impl Into<String>) -> RunRequest<AssistantState> {
        self.asked(message.into(), |input| input)
    }

    /// Works on a message of the user in this permission mode, which the session then keeps. Without it a session has the
    /// mode of the configuration that works on it.
    pub fn ask_in_mode(
        &mut self,
        message: impl Into<String>,
        mode: PermissionMode,
    ) -> RunRequest<AssistantState> {
        self.asked(message.into(), |input| input.mode(mode))
    }

    fn asked(
        &mut self,
        message: String,
        with: impl FnOnce(AssistantStateUpdate) -> AssistantStateUpdate,
    ) -> RunRequest<AssistantState> {
        self.title = self.title.take().or_else(|| title_of(&message));
        self.titled(self.thread.run(with(AssistantState::ask(message))))
    }

    /// Continues work that was cut off.
    pub fn resume(&self) -> RunRequest<AssistantState> {
        self.titled(self.thread.resume())
    }

    /// Answers a question, and continues.
    pub fn answer(&self, question: InterruptId, answer: impl serde::Serialize) -> RunRequest<AssistantState> {
        self.titled(self.thread.answer_to(question, answer))
    }

    /// Returns the title; `None` before the first message.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// Returns the thread, for its past, its questions and other requests. Runs that are requested of it have no title.
    pub fn thread(&self) -> &Thread<AssistantState> {
        &self.thread
    }

    fn titled(&self, request: RunRequest<AssistantState>) -> RunRequest<AssistantState> {
        match &self.title {
            Some(title) => request.metadata(TITLE, title),
            None => request,
        }
    }
}

impl SessionSummary {
    /// Returns the sessions of a graph, the latest first. It reads no states, so the cost depends only on the number of
    /// sessions.
    ///
    /// # Errors
    /// Fails if the graph has no checkpointer, or if its store cannot be read.
    pub async fn list(graph: &Graph<AssistantState>) -> Result<Vec<Self>, ThreadError> {
        let mut sessions: Vec<_> = graph.threads().await?.into_iter().map(Self::from).collect();
        for session in sessions.iter_mut().filter(|session| session.title.is_none()) {
            session.title = title_in(&graph.thread(session.session.clone())).await?;
        }
        sessions.sort_by(|a, b| (b.updated_ms, &a.session).cmp(&(a.updated_ms, &b.session)));
        Ok(sessions)
    }

    /// Takes the title of one of these checkpoints, the latest first, if an edit followed the last run, such as that of a
    /// rewind.
    #[must_use]
    pub fn or_title_of(mut self, earlier: impl IntoIterator<Item = Summary>) -> Self {
        self.title =
            self.title.or_else(|| earlier.into_iter().find_map(|it| title_of_metadata(&it.metadata)));
        self
    }
}

/// The number of checkpoints among which a title is looked for: a rewind makes two.
const EDITS: usize = 8;

/// Returns the title of a session: that of its latest run.
async fn title_in(thread: &Thread<AssistantState>) -> Result<Option<String>, ThreadError> {
    let mut history = thread.history()?;
    for _ in 0..EDITS {
        let Some(checkpoint) = history.next().await? else { break };
        if let Some(title) = title_of_metadata(&checkpoint.metadata) {
            return Ok(Some(title));
        }
    }
    Ok(None)
}

fn title_of_metadata(metadata: &BTreeMap<String, Json>) -> Option<String> {
    metadata.get(TITLE)?.decode().ok()
}

impl From<ThreadSummary> for SessionSummary {
    fn from(summary: ThreadSummary) -> Self {
        let ThreadSummary { thread, head, open_asks, .. } = summary;
        Self {
            session: thread,
            title: title_of_metadata(&head.metadata),
            updated_ms: head.created_ms,
            is_finished: head.next.iter().all(|node| node.is_end()),
            questions: open_asks.len(),
        }
    }
}

/// Makes a title of the first line of a message that has text; `None` if there is none.
fn title_of(message: &str) -> Option<String> {
    let line = message.lines().find_map(|line| {
        let visible: String =
            line.chars().map(|letter| if is_nonprinting(letter) { ' ' } else { letter }).collect();
        let words: Vec<_> = visible.split_whitespace().collect();
        (!words.is_empty()).then(|| words.join(" "))
    })?;
    let Some((end, _)) = line.char_indices().nth(LONGEST) else { return Some(line) };
    // The mark takes the place of a character.
    let kept = &line[..line[..end].char_indices().next_back().map_or(0, |(last, _)| last)];
    let words =
        kept.rsplit_once(' ').filter(|(words, _)| words.len() > kept.len() / 2).map(|(words, _)| words);
    Some(format!("{}…", words.unwrap_or(kept)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_title_is_the_first_line_with_text_cut_between_words() {
        let title = |message: &str| title_of(message).unwrap();
        assert_eq!(title("\n  Make the\ttests pass. \nThe parser first."), "Make the tests pass.");
        assert_eq!(title("red\u{202e}order\u{7}"), "red order");
        assert_eq!(title(&"word ".repeat(30)), format!("{}…", ["word"; 11].join(" ")));
        assert_eq!(title(&"ä".repeat(61)), format!("{}…", "ä".repeat(59)));
        assert_eq!(title(&"ä".repeat(60)), "ä".repeat(60));
        assert_eq!(title_of(" \n\u{200b}\n"), None);
    }

    proptest! {
        #[test]
        fn a_title_is_short_visible_and_one_line(message in any::<String>()) {
            if let Some(title) = title_of(&message) {
                prop_assert!(!title.is_empty() && title.chars().count() <= LONGEST);
                prop_assert!(title.chars().all(|letter| !is_nonprinting(letter)));
            }
        }
    }
}
