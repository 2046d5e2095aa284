//! Texts on their way into the knowledge base.

use std::error::Error;
use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use superstep::nodes::graphs::CriticSettings;
use superstep::nodes::rag::IngestReport;

/// Ingests a folder, with a bar on a terminal.
#[expect(clippy::print_stderr, reason = "a command-line program says there what it left out")]
pub(crate) async fn ingest(folder: &Path, settings: &CriticSettings) -> Result<String, Box<dyn Error>> {
    let knowledge = settings.knowledge()?;
    // Where standard error is no terminal it draws nothing.
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}")?);
    let ingestion = knowledge.ingest(folder).progress(|progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(progress.next.unwrap_or_default().to_owned());
    });
    let report = ingestion.run().await;
    bar.finish_and_clear();
    let report = report?;
    for skipped in &report.skipped {
        eprintln!("skipped {}: {}", skipped.path, skipped.reason);
    }
    if knowledge.sources().await?.is_empty() {
        return Err(format!("{} holds no Markdown or text to ingest", folder.display()).into());
    }
    let IngestReport { added, replaced, unchanged, chunks, .. } = &report;
    let file = settings.database.display();
    Ok(format!(
        "{added} documents added, {replaced} replaced, {unchanged} as they were: {chunks} new chunks in {file}"
    ))
}

/// Sees to it that the knowledge base of this example has its texts.
pub(crate) async fn own_texts(folder: &Path, settings: &CriticSettings) -> Result<(), Box<dyn Error>> {
    settings.knowledge()?.ingest(folder).remove_missing().run().await?;
    Ok(())
}
