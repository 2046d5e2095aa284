//! Which node runs, live, on a terminal.

use std::io::IsTerminal;
use std::time::Instant;

use superstep::run::{EventKind, Run, RunError, RunStream};
use superstep::state::State;

/// Follows a run to its end.
pub(crate) async fn watch<S: State>(mut run: RunStream<S>) -> Result<Run<S>, RunError> {
    let live = std::io::stderr().is_terminal();
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
            _ => {}
        }
    }
    run.finish().await
}
