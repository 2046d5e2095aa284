//! `copy`: copies threads between files and databases.

use std::collections::BTreeSet;

use serde::Serialize;

use superstep_checkpoint::CheckpointReader;
use superstep_checkpoint::portable::{self, Export};
use superstep_core::checkpoint::StoreError;
use superstep_core::id::ThreadId;

use crate::failure::Failure;
use crate::file::{FileArgument, NamedFile, WritableFile};
use crate::page::{DIM, NAME, Page, plain, span};
use crate::screen::Answer;
use crate::source::Source;

/// Copy threads into another file or database, which is created if it does not exist
///
/// A thread is copied whole: with its branches, names, subgraphs and unfinished work, and with the past that it shares
/// with another thread. Its ids and times do not change. A thread that the other one has with the same content is left
/// out; if it has one with another content, nothing is copied.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples: superstep copy essays.db postgres://essays@db/essays
          superstep copy essays.db other.db rust")]
pub(crate) struct Copy {
    #[command(flatten)]
    file: FileArgument,
    /// The file, or the URL of the database, into which the threads are copied
    #[arg(value_parser = NamedFile::parser(Vec::new()), value_hint = clap::ValueHint::FilePath)]
    to: NamedFile,
    /// The threads; all if none is named
    threads: Vec<String>,
    /// The key file of the file into which they are copied
    #[cfg(feature = "encryption")]
    #[arg(long, value_name = "PATH")]
    to_key_file: Option<std::path::PathBuf>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Copied {
    to: String,
    copied: Vec<CopiedThread>,
    /// The threads that were there already, with the same content.
    unchanged: Vec<ThreadId>,
    /// `true` if the file, or the schema of the database, was created.
    created: bool,
}

#[derive(Debug, Serialize)]
struct CopiedThread {
    thread: ThreadId,
    checkpoints: usize,
}

impl Copy {
    pub(crate) fn answer(&self) -> Result<Copied, Failure> {
        let to = FileArgument::another(
            self.to.clone(),
            #[cfg(feature = "encryption")]
            self.to_key_file.clone(),
        );
        let source = Source::open(&self.file)?;
        let wanted = self.wanted(&source)?;
        let (target, created) = WritableFile::open_or_create(&to)?;
        let held = to.reader()?;
        let mut copying = Copying {
            from: &*source.reader,
            to: &*held,
            place: to.display().to_string(),
            target: &target,
            wanted: wanted.iter().collect(),
            done: BTreeSet::new(),
            copied: Vec::new(),
        };
        // All are compared before anything is written.
        let there: BTreeSet<ThreadId> =
            copying.to.list_threads()?.threads.into_iter().map(|thread| thread.thread).collect();
        let unchanged: Vec<ThreadId> = wanted.iter().filter(|name| there.contains(*name)).cloned().collect();
        for thread in &unchanged {
            copying.check(thread)?;
            copying.done.insert(thread.clone());
        }
        for thread in &wanted {
            copying.copy(thread)?;
        }
        Ok(Copied { to: copying.place, copied: copying.copied, unchanged, created })
    }

    /// Returns the threads to copy.
    fn wanted(&self, source: &Source) -> Result<Vec<ThreadId>, Failure> {
        if !self.threads.is_empty() {
            let named = self.threads.iter().map(|name| Ok(source.thread(name)?.thread));
            return named.collect();
        }
        let list = source.reader.list_threads()?;
        match list.damaged.into_iter().next() {
            Some((name, error)) => {
                let name = name.map(|name| format!("thread {name}")).unwrap_or_else(|| "a thread".into());
                Err(Failure::nothing(format!("{name} cannot be read: {error}; name the threads to copy")))
            }
            None => Ok(list.threads.into_iter().map(|thread| thread.thread).collect()),
        }
    }
}

struct Copying<'c> {
    from: &'c dyn CheckpointReader,
    to: &'c dyn CheckpointReader,
    place: String,
    target: &'c WritableFile,
    wanted: BTreeSet<&'c ThreadId>,
    done: BTreeSet<ThreadId>,
    copied: Vec<CopiedThread>,
}

impl Copying<'_> {
    fn export(&self, thread: &ThreadId) -> Result<Export, Failure> {
        let found = portable::export(self.from, thread)?;
        found.ok_or_else(|| Failure::nothing(format!("thread {thread} has just been deleted")))
    }

    /// Fails if both have the thread with different contents.
    fn check(&self, thread: &ThreadId) -> Result<(), Failure> {
        match portable::export(self.to, thread)? {
            Some(held) if !held.is_same(&self.export(thread)?) => Err(self.other(thread)),
            _ => Ok(()),
        }
    }

    fn other(&self, thread: &ThreadId) -> Failure {
        Failure::unusable(format!(
            "{} has another thread {thread}, with other contents, which was not changed",
            self.place
        ))
    }

    /// Copies a thread, after those whose pasts it shares.
    fn copy(&mut self, thread: &ThreadId) -> Result<(), Failure> {
        if !self.done.insert(thread.clone()) {
            return Ok(());
        }
        let export = self.export(thread)?;
        for origin in export.shared_with() {
            if self.wanted.contains(origin) {
                self.copy(origin)?;
            }
        }
        let checkpoints = export.checkpoints();
        let imported = self.target.wait(portable::import(self.target.import_target(), export, thread));
        imported.map_err(|error| self.refused(thread, error))?;
        self.copied.push(CopiedThread { thread: thread.clone(), checkpoints });
        Ok(())
    }

    fn refused(&self, thread: &ThreadId, error: StoreError) -> Failure {
        match error {
            StoreError::ThreadExists(_) => self.other(thread),
            StoreError::CheckpointExists(id) | StoreError::CheckpointDiffers(id) => {
                Failure::unusable(format!(
                    "checkpoint {id} of thread {thread} is in {} already, on another thread or with other contents: \
                 the thread was not copied",
                    self.place
                ))
            }
            other => other.into(),
        }
    }
}

impl Answer for Copied {
    fn show(&self, page: &mut Page) {
        let Self { to, copied, unchanged, created } = self;
        for CopiedThread { thread, checkpoints } in copied {
            let count = span(DIM, format!(" ({checkpoints} checkpoints)"));
            page.line([plain("copied "), span(NAME, thread.as_str()), count]);
        }
        for thread in unchanged {
            page.line([plain("unchanged "), span(NAME, thread.as_str())]);
        }
        if copied.is_empty() && unchanged.is_empty() {
            page.line([span(DIM, "there is no thread to copy")]);
        }
        if *created {
            page.line([span(DIM, format!("created {to}"))]);
        }
    }
}
