//! `interrupts`: lists the open questions of all threads.

use serde::Serialize;

use superstep_core::id::ThreadId;

use crate::failure::Failure;
use crate::file::FileArgument;
use crate::json_shapes::Question;
use crate::page::{DIM, ID, NAME, Page, plain, span};
use crate::redaction::Redaction;
use crate::screen::Answer;
use crate::source::Source;

/// List the open questions of all threads
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: superstep interrupts essays.db")]
pub(crate) struct Interrupts {
    #[command(flatten)]
    file: FileArgument,
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
        let source = Source::open(&self.file)?;
        for mut thread in source.reader.threads()? {
            if thread.open_asks.is_empty() {
                continue;
            }
            let redaction = Redaction::of(&source, &thread.thread, None)?;
            for ask in &mut thread.open_asks {
                redaction.in_ask(ask);
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
