//! The JSON documents of verbs, for user interfaces other than a terminal.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::{Command, CommandFactory, FromArgMatches};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::run::AnyGraph;

use super::arguments::{Arguments, Asked};
use super::database::CheckpointSource;
use super::debug;
use super::failure::{Failure, Kind};
use super::file::{FileArgument, NamedFile};
use super::kept_file::{FileVersion, KeptFile};
use super::program::Unanswered;
use super::source::Source;

/// Answers verbs about one file with the JSON documents of `superstep VERB FILE --json`.
///
/// What was read of the file is remembered until it changes. The file is open only during calls, which block.
pub struct Documents {
    path: PathBuf,
    file: Arc<KeptFile>,
    command: Mutex<Command>,
}

/// Notices changes of a file or a database.
pub struct FileWatcher(KeptFile);

impl FileWatcher {
    /// Returns the version of the file, without opening it, or of the database, with one short statement.
    ///
    /// # Errors
    /// Fails if the file was deleted, or the database cannot be reached.
    pub fn version(&self) -> Result<FileVersion, Refusal> {
        Ok(self.0.version()?)
    }
}

impl fmt::Debug for FileWatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileWatcher")
    }
}

/// An error of a verb: the text that `superstep` prints, and its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of error.
    pub kind: RefusalKind,
    /// The text, without the word `error`.
    pub text: String,
}

/// The kinds of errors of verbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The requested item does not exist, or is damaged.
    Nothing,
    /// The request is invalid, or the file cannot be used.
    Unusable,
    /// Another program changed the thread at the same moment. Try again.
    Overtaken,
    /// The verb does this only with its option `--force`. The text does not name the option.
    Unforced,
}

impl Documents {
    /// Opens a file or a database for reading.
    ///
    /// # Errors
    /// Fails if the file does not exist, is not a checkpoint file of a known format, or is encrypted with other keys, and if
    /// the database cannot be read.
    pub fn open(source: impl Into<CheckpointSource>) -> Result<Self, Refusal> {
        let source = source.into();
        let path = match &source {
            CheckpointSource::File(file) => file.path().to_owned(),
            CheckpointSource::Database(url) => url.shown().into(),
        };
        let kept = Arc::new(KeptFile::open(source)?);
        let named = Arc::clone(&kept);
        let command = Arguments::command().mut_subcommands(move |verb| {
            let named = Arc::clone(&named);
            verb.mut_args(move |argument| match argument.get_id() == "file" {
                true => argument.value_parser(NamedFile::kept(Arc::clone(&named))),
                false => argument,
            })
        });
        Ok(Self { path, file: kept, command: Mutex::new(command) })
    }

    /// Opens the file in which all these graphs keep their threads.
    ///
    /// # Errors
    /// Fails if the graphs keep them in memory or in several files, and like [`open`](Self::open).
    pub fn of_graphs(graphs: &[AnyGraph]) -> Result<Self, Refusal> {
        Self::open(debug::file_of(graphs)?)
    }

    /// Returns the path of the file, or the address of the database without its password.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the format of the file.
    ///
    /// # Errors
    /// Fails like [`open`](Self::open).
    pub fn format(&self) -> Result<u32, Refusal> {
        Ok(self.file.format()?)
    }

    /// Returns a second handle of the file, which notices changes while this one is reading.
    ///
    /// # Errors
    /// Fails like [`open`](Self::open).
    pub fn watcher(&self) -> Result<FileWatcher, Refusal> {
        Ok(FileWatcher(KeptFile::open(self.file.source())?))
    }

    /// Returns the names of the graphs whose threads are in the file.
    ///
    /// # Errors
    /// Returns the error that `superstep` prints.
    pub fn graphs(&self) -> Result<BTreeSet<String>, Refusal> {
        let threads = Source::open(&self.argument())?.reader.list_threads().map_err(Failure::from)?.threads;
        Ok(threads.into_iter().map(|thread| thread.graph).collect())
    }

    /// Finds the checkpoint at an address.
    ///
    /// # Errors
    /// Returns the error that `superstep` prints.
    pub fn place(&self, address: &str) -> Result<(ThreadId, CheckpointId), Refusal> {
        let place = Source::open(&self.argument())?.place(address)?;
        Ok((place.thread, place.id))
    }

    /// Replays the steps that led to a checkpoint, or those after an earlier one, with the code of a program's graphs.
    /// Returns the document of the verb `replay` of its debugger. Nothing is stored, and no effect happens.
    ///
    /// # Errors
    /// Returns the error that the debugger prints.
    pub async fn replay(
        &self,
        graphs: &[AnyGraph],
        checkpoint: &str,
        after: Option<&str>,
    ) -> Result<String, Refusal> {
        Ok(debug::replayed(graphs, self.argument(), checkpoint, after).await?)
    }

    fn argument(&self) -> FileArgument {
        FileArgument::kept_open(&self.path, Arc::clone(&self.file))
    }

    /// Returns the document of a verb. Options have the form `--name`, `--name=value` or `-n=value`; the arguments are
    /// those after the file, and are never taken for options.
    ///
    /// # Errors
    /// Returns the error that `superstep` prints.
    pub fn answer<'a>(
        &self,
        verb: &str,
        options: impl IntoIterator<Item = String>,
        arguments: impl IntoIterator<Item = &'a str>,
    ) -> Result<String, Refusal> {
        let options: Vec<String> = options.into_iter().collect();
        debug_assert!(options.iter().all(|option| option.starts_with('-')), "{options:?} are options");
        let words = ["superstep".into(), verb.into()].into_iter().chain(options.into_iter().map(Into::into));
        let words = words.chain(["--".into(), self.path.clone().into_os_string()]);
        let words = words.chain(arguments.into_iter().map(Into::into));
        let mut command = self.command.lock().unwrap_or_else(PoisonError::into_inner);
        let parsed = command.try_get_matches_from_mut(words.collect::<Vec<std::ffi::OsString>>());
        drop(command);
        let parsed = parsed.and_then(|matches| Arguments::from_arg_matches(&matches));
        match parsed.map_err(Refusal::of_usage)?.asked {
            Asked::Verb(verb) => Ok(verb.document()?),
            _ => Err(Refusal { kind: RefusalKind::Unusable, text: format!("{verb} has no document") }),
        }
    }
}

impl Refusal {
    fn of_usage(usage: clap::Error) -> Self {
        let Unanswered { text, .. } = usage.into();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        // The rest is about command lines.
        let text = text.split("\n\nUsage: ").next().unwrap_or(text).trim_end().to_owned();
        Self { kind: RefusalKind::Unusable, text }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let kind = match failure.kind() {
            Kind::Nothing => RefusalKind::Nothing,
            Kind::Unusable => RefusalKind::Unusable,
            Kind::Overtaken => RefusalKind::Overtaken,
            Kind::Unforced => return Self { kind: RefusalKind::Unforced, text: failure.text },
        };
        Self { kind, text: failure.told_by("superstep") }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Refusal {}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Documents").field("path", &self.path).finish_non_exhaustive()
    }
}
