//! `interrupts`: lists the open questions of all threads.

use serde::Serialize;

use superstep_core::checkpoint::{AskRecord, ThreadSummary};
use superstep_core::id::ThreadId;

use crate::arguments::Part;
use crate::failure::Failure;
use crate::file::FileArgument;
use crate::json_shapes::Question;
use crate::page::{DIM, ID, NAME, Page, plain, rest, span};
use crate::redaction::Redaction;
use crate::screen::Answer;
use crate::source::Source;

/// List the open questions of all threads
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep interrupts essays.db")]
pub(crate) struct Interrupts {
    #[command(flatten)]
    file: FileArgument,
    #[command(flatten)]
    part: Part,
}

#[derive(Debug, Serialize)]
pub(crate) struct OpenQuestions {
    interrupts: Vec<OpenQuestion>,
    /// The number of open questions, including those that are not listed.
    total: usize,
}

#[derive(Debug, Serialize)]
struct OpenQuestion {
    thread: ThreadId,
    #[serde(flatten)]
    question: Question,
}

impl Interrupts {
    pub(crate) fn answer(&self) -> Result<OpenQuestions, Failure> {
        let source = Source::open(&self.file)?;
        let threads = source.reader.list_threads()?.threads.into_iter();
        let of_thread = |ThreadSummary { thread, open_asks, .. }: ThreadSummary| {
            open_asks.into_iter().map(move |ask| (thread.clone(), ask))
        };
        let open: Vec<(ThreadId, AskRecord)> = threads.flat_map(of_thread).collect();
        let total = open.len();
        let mut redaction: Option<(ThreadId, Redaction)> = None;
        let mut interrupts = Vec::new();
        for (thread, mut ask) in self.part.of(open) {
            let known = match redaction.take() {
                Some((of, known)) if of == thread => known,
                _ => Redaction::of(&source, &thread, None)?,
            };
            known.in_ask(&mut ask);
            interrupts.push(OpenQuestion { thread: thread.clone(), question: Question::of(&ask)? });
            redaction = Some((thread, known));
        }
        Ok(OpenQuestions { interrupts, total })
    }
}

impl Answer for OpenQuestions {
    fn show(&self, page: &mut Page) {
        if self.total == 0 {
            return page.line([span(DIM, "no open questions")]);
        }
        for OpenQuestion { thread, question } in &self.interrupts {
            let path = question.path.iter().map(|node| format!("{node}/")).collect::<String>();
            let mut spans = vec![
                span(ID, &question.id),
                plain("  "),
                span(NAME, thread.as_str()),
                plain(format!("  {path}{} asks", question.node)),
            ];
            spans.extend(question.deadline.as_ref().map(|at| span(DIM, format!(", until {at}"))));
            page.line(spans);
            page.line([plain(format!("    {}", question.question))]);
        }
        rest(page, self.interrupts.len(), self.total);
    }
}
