//! Exports that are larger than they look.

use std::path::Path;
use std::sync::Arc;

use superstep_checkpoint::portable::export;
use superstep_checkpoint::{CheckpointFile, SqliteReader, SqliteSaver};
use superstep_core::checkpoint::Checkpointer;
use superstep_core::state::SizeLimits;

use super::reading::n;
use super::values::*;
use crate::material::*;

/// A document of a thread whose list exceeds the limit, and whose digest is right.
pub(crate) async fn grown(folder: &Path) -> String {
    let limits = SizeLimits::default().bytes(1 << 30).values(1 << 30);
    let path = folder.join("grown.db");
    let saver: Arc<dyn Checkpointer> =
        Arc::new(SqliteSaver::options().size_limits(limits).open(&path).await.unwrap());
    let saver = registered(saver).await;
    let mut last = None;
    for letter in 0..3 {
        let items = prose(n(30 << 20)).replace('x', &letter.to_string());
        last = Some(advance(&saver, "t", last.as_ref(), [extend(0, &items)]).await);
    }
    drop(saver);
    let reader = SqliteReader::open(CheckpointFile::at(&path).size_limits(limits)).unwrap();
    export(&reader, &thread("t")).unwrap().unwrap().to_text()
}
