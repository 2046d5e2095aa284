//! The place of the servers' threads and rows: a file, or a schema of a Postgres database.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use superstep_checkpoint::{PostgresSaver, SqliteSaver, maintenance};
use superstep_core::checkpoint::Checkpointer;

use crate::checked::{Checked, holds};
use crate::cluster::{Cluster, Defect};

/// A place.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The file, and the name of the one with the effects beside it.
    pub(crate) file: PathBuf,
    /// The address of a database, if it has the threads.
    pub(crate) database: Option<String>,
}

impl Place {
    pub(crate) fn file(folder: &Path) -> Self {
        Self { file: folder.join("runs.db"), database: None }
    }

    /// Returns a place in a database.
    pub(crate) fn postgres(folder: &Path, cluster: &Cluster) -> Self {
        Self { database: Some(cluster.url("superstep")), ..Self::file(folder) }
    }

    /// Returns a place in a database, in which a function has a defect.
    pub(crate) fn with(defect: Defect, folder: &Path, cluster: &Cluster) -> Self {
        let place = Self::postgres(folder, cluster);
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async { drop(place.open().await) });
        cluster.replace_in(&format!("\"{}\"", place.schema()), defect);
        place
    }

    pub(crate) async fn open(&self) -> Arc<dyn Checkpointer> {
        match &self.database {
            Some(url) => {
                let options = PostgresSaver::options().schema(self.schema());
                Arc::new(options.open(url).await.expect("the database opens"))
            }
            None => Arc::new(SqliteSaver::open(&self.file).await.expect("the file opens")),
        }
    }

    /// Returns a schema for each folder.
    fn schema(&self) -> &str {
        let folder = self.file.parent().and_then(Path::file_name).and_then(OsStr::to_str);
        folder.expect("a folder with a name").trim_start_matches('.')
    }

    /// Checks the file, if there is one.
    pub(crate) fn verify(&self) -> Checked<()> {
        if self.database.is_none() {
            let verified = maintenance::verify(&self.file).expect("the file can be read");
            holds!(verified.is_sound(), "{:#?}", verified.findings);
        }
        Ok(())
    }

    /// Returns the file with the lines of the effects.
    pub(crate) fn effects(&self) -> PathBuf {
        self.file.with_extension("effects")
    }
}
