//! Shows the running node and the text of the model, live, on a terminal.
#![expect(clippy::print_stderr, reason = "a command-line program says there how it goes")]

use std::io::IsTerminal;
use std::time::Instant;

use superstep::nodes::model::{ModelEvent, Purpose};
use superstep::nodes::node::ModelChunk;
use superstep::run::{EventKind, Run, RunError, RunStream};
use superstep::state::State;

/// Follows a run to its end. The text of the model is shown on a terminal, or if `stream` is `true`.
///
/// # Errors
/// If the run fails.
pub async fn watch<S: State>(mut run: RunStream<S>, stream: bool) -> Result<(Run<S>, Shown), RunError> {
    let live = std::io::stderr().is_terminal();
    let mut speech = Speech { is_shown: live || stream, speaks: false, said: String::new() };
    let mut begun = Instant::now();
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::TaskStarted { step, node, .. } if live && step > 0 => {
                begun = Instant::now();
                eprint!("{step:>3}  {node} …");
            }
            EventKind::TaskFinished { step, node, route, .. } if live && step > 0 => {
                let next = route.map(|case| format!(" → {case}")).unwrap_or_default();
                eprintln!("\r{step:>3}  {node}{next} ({} ms)", begun.elapsed().as_millis());
            }
            EventKind::TaskFailed { node, error, retry_in_ms, .. } if live => {
                let retry = retry_in_ms.map(|wait| format!("; again in {wait} ms")).unwrap_or_default();
                eprintln!("\r     {node} failed: {error}{retry}");
            }
            EventKind::MessageChunk { chunk, .. } => {
                if let Ok(ModelChunk { purpose: Purpose::Agent | Purpose::Refiner, event, .. }) =
                    chunk.decode()
                {
                    speech.show(&event);
                }
            }
            _ => {}
        }
    }
    let run = run.finish().await?;
    let is_read = live && std::io::stdout().is_terminal();
    Ok((run, Shown(is_read.then_some(speech.said))))
}

/// The last text of the model, if the terminal already shows it.
#[derive(Debug)]
pub struct Shown(Option<String>);

impl Shown {
    /// Returns `true` if this answer is already shown and need not be printed again.
    #[must_use]
    pub fn is(&self, answer: &str) -> bool {
        self.0.as_deref() == Some(answer)
    }
}

/// The text of the model, as it arrives.
struct Speech {
    is_shown: bool,
    /// `true` within a line of text.
    speaks: bool,
    /// The text that was shown last.
    said: String,
}

impl Speech {
    fn show(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::TextDelta { text } if self.is_shown => {
                if !std::mem::replace(&mut self.speaks, true) {
                    eprintln!();
                    self.said.clear();
                }
                eprint!("{text}");
                self.said.push_str(text);
            }
            ModelEvent::Stop { .. } if std::mem::take(&mut self.speaks) => eprintln!(),
            _ => {}
        }
    }
}
