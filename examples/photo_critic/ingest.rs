//! Ingests texts into the knowledge base.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use superstep::nodes::rag::{IngestReport, KnowledgeBase, KnowledgeError};
use superstep_examples::critic::CriticSettings;

use crate::arguments::{own, own_knowledge};

/// The beginning of the name of a collection with the texts of this example; it ends with the name of the embedder.
const OWN_TEXTS: &str = "texts of this example, embedded by ";

/// Ingests a folder, with a progress bar on a terminal.
#[expect(clippy::print_stderr, reason = "a command-line program says there what it left out")]
pub(crate) async fn ingest(folder: &Path, settings: &CriticSettings) -> Result<String, Box<dyn Error>> {
    let knowledge = settings.knowledge()?;
    // Draws nothing if standard error is not a terminal.
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

/// Returns settings with the collection to search: the ingested one or, if nothing was ingested into the knowledge base
/// of this example, the example's own texts. These have a separate collection, so that no other documents are changed.
pub(crate) async fn searched(mut settings: CriticSettings) -> Result<CriticSettings, Box<dyn Error>> {
    if settings.database != own_knowledge()? {
        return Ok(settings);
    }
    let embedder = settings.embedder.open()?;
    match KnowledgeBase::open_existing(&settings.database, &settings.collection, Arc::clone(&embedder)) {
        Ok(_) => return Ok(settings),
        Err(KnowledgeError::NotIngested { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    settings.collection = format!("{OWN_TEXTS}{}", embedder.name());
    settings.knowledge()?.ingest(own("advice")).remove_missing().run().await?;
    Ok(settings)
}
