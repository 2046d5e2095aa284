//! `interrupts`: what waits for an answer.

use std::path::PathBuf;

use serde::Serialize;

use crate::id::ThreadId;

use crate::cli::answer::Answer;
use crate::cli::failure::Failure;
use crate::cli::page::{DIM, ID, NAME, Page, plain, span};
use crate::cli::shapes::Question;
use crate::cli::source::Source;

/// List the open questions of all threads
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep interrupts essays.db")]
pub(crate) struct Interrupts {
    /// The checkpoint file
    file: PathBuf,
}

#[derive(Debug, Serialize)]
pub(crate) struct OpenQuestions {
    interrupts: Vec<OpenQuestion>,
}

#[derive(Debug, Serialize)]
struct OpenQuestion {
    thread: ThreadId,
    #[serde(flatten)]
    question: Question,
}

impl Interrupts {
    pub(crate) fn answer(&self) -> Result<OpenQuestions, Failure> {
        let mut interrupts = Vec::new();
        for thread in Source::open(&self.file)?.reader.threads()? {
            for ask in &thread.open_asks {
                let question = Question::of(ask)?;
                interrupts.push(OpenQuestion { thread: thread.thread.clone(), question });
            }
        }
        Ok(OpenQuestions { interrupts })
    }
}

impl Answer for OpenQuestions {
    fn show(&self, page: &mut Page) {
        if self.interrupts.is_empty() {
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
    }
}
