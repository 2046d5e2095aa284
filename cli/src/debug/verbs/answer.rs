//! `answer`: answers the open questions of a thread.

use crate::arguments::Output;
use crate::debug::progress::Progress;
use crate::debug::session::Session;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::source::Source;
use superstep_core::checkpoint::AskRecord;
use superstep_core::id::{InterruptId, ThreadId};
use superstep_core::state::Json;

use super::ending::drive;

/// Answer questions of a thread, and continue it
///
/// An answer is JSON: a text needs its quotes. If an answer does not fit its question, it is refused and the question
/// stays open.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep answer essays.db rust '\"accept\"'")]
pub(crate) struct Answer {
    #[command(flatten)]
    file: FileArgument,
    /// The thread
    thread: String,
    /// The answer; if several questions are open, with the id of its question, or the beginning or end of the id
    #[arg(required = true, value_name = "[ID=]JSON")]
    answers: Vec<String>,
}

impl Answer {
    pub(crate) async fn carry_out(
        &self,
        session: &Session,
        screen: &mut Progress<'_>,
    ) -> Result<Output, Failure> {
        let thread = ThreadId::from(self.thread.as_str());
        let chosen = session.graph_of(&self.file, &thread).await?;
        let open = Source::open(&self.file)?.thread(&self.thread)?.open_asks;
        let answers = self.answers.iter().map(|given| answer_of(given, &open));
        let mut answers = answers.collect::<Result<Vec<_>, _>>()?;
        let asked = chosen.graph().thread(thread.clone());
        let request = match (&mut *answers, &*open) {
            (_, []) => return Err(Failure::unusable(format!("thread {thread} has no open question"))),
            ([(None, answer)], [_]) => asked.answer(&*answer),
            (answers, open) => {
                let by_id = answers.iter().map(|(id, answer)| Some(((*id)?, answer.clone())));
                asked.answers(by_id.collect::<Option<Vec<_>>>().ok_or_else(|| which(open))?)
            }
        };
        drive(&chosen, thread, request, screen).await
    }
}

/// Splits an argument into its answer and the question that it names.
fn answer_of(given: &str, open: &[AskRecord]) -> Result<(Option<InterruptId>, Json), Failure> {
    let (id, answer) = match given.split_once('=') {
        Some((id, answer)) if is_id(id) => (Some(question(id, open)?), answer),
        _ => (None, given),
    };
    let answer = serde_json::from_str::<serde_json::Value>(answer).map_err(|error| {
        Failure::unusable(format!(
            "the answer {answer} is not JSON ({error}): a text is written '\"{answer}\"'"
        ))
    })?;
    Ok((id, Json::encode(&answer).map_err(Failure::of)?))
}

/// Returns `true` if the text before a `=` is an id. JSON with a `=` begins differently.
fn is_id(text: &str) -> bool {
    text.len() >= 4 && text.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-')
}

fn question(digits: &str, open: &[AskRecord]) -> Result<InterruptId, Failure> {
    let found: Vec<InterruptId> = open.iter().map(|ask| ask.id).filter(|id| is_meant(*id, digits)).collect();
    match (&*found, open) {
        ([one], _) => Ok(*one),
        (_, []) => Err(Failure::unusable(format!("question {digits} is not open, and none is"))),
        ([], _) => Err(Failure::unusable(format!("question {digits} is not open; open are\n{}", list(open)))),
        (_, _) => Err(Failure::unusable(format!("{digits} may be any of several questions\n{}", list(open)))),
    }
}

fn is_meant(id: InterruptId, digits: &str) -> bool {
    let id = id.to_string();
    id.starts_with(digits) || id.ends_with(digits)
}

fn which(open: &[AskRecord]) -> Failure {
    Failure::unusable(format!("name the question with ID=JSON; open are\n{}", list(open)))
}

fn list(open: &[AskRecord]) -> String {
    let lines = open.iter().map(|ask| format!("  {}  {} asks {}", ask.id, ask.node, ask.question));
    lines.collect::<Vec<_>>().join("\n")
}
