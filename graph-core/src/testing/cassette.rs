//! Cassettes: recordings that replace the outside world in a test.

use std::any::Any;
use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use alloc::string::ToString;

use super::error::CassetteError;
use super::file;
use super::journal::Journal;
use crate::checkpoint::{At, CheckpointerExt};
use crate::node::{Deck, Recording};
use crate::run::{Graph, Thread, ThreadError};
use crate::state::{SizeLimits, StateForm};

/// The variable that has missing cassettes recorded, and existing ones recorded again.
const UPDATE: &str = "UPDATE_CASSETTES";
/// The variable that is set where no cassette may be recorded.
const CI: &str = "CI";

/// A recording of what a run took from the outside world: the outcomes of its effects, the answers to its
/// questions, and the times, ids and random numbers that it drew. It is a text that can be reviewed.
///
/// A graph [with a cassette](Graph::with_cassette) repeats the run, even if its nodes and prompts have changed. The
/// cassette supplies the outcomes and the answers, and no closure of an effect runs:
///
/// - Effects and drawn values are found by node, name and key. If several have all three in common, their order
///   distinguishes them: the superstep, the item of `each`, and the count in the task. The number of supersteps may
///   differ from the recording.
/// - Questions are found by node and key, whatever their current text. A question without a recorded answer pauses
///   the thread, as it would without a cassette.
/// - A missing recording fails the run, whatever the node or an error handler does with the error. The message
///   names the nearest recording and the difference.
///
/// A failed effect fails again with its recorded text: see [`error_as`](Self::error_as).
///
/// A cassette contains no values of secret fields. If an effect returned one, or has one in its key, the cassette
/// contains `<secret>` instead. This applies to texts of at least four characters.
///
/// Clones share the record of used entries. A cassette serves one run; load it again for another one.
#[derive(Clone)]
pub struct Cassette {
    pub(super) deck: Arc<Deck>,
    /// The file to which the recording will be written.
    to: Option<PathBuf>,
    /// The size limits of the written text.
    limits: SizeLimits,
}

/// The way in which a test uses a cassette file.
#[derive(Debug, PartialEq, Eq)]
enum Use {
    Replay,
    Record,
    Refuse,
}

impl Use {
    /// Chooses the use from whether the file exists, whether an update is requested, and whether this is CI.
    fn of(is_there: bool, is_update: bool, is_ci: bool) -> Self {
        match (is_there && !is_update, is_ci) {
            (true, _) => Self::Replay,
            (false, false) => Self::Record,
            (false, true) => Self::Refuse,
        }
    }
}

impl Cassette {
    /// Returns the journal of a thread: of all its runs and subgraphs up to the latest checkpoint, and of the
    /// unfinished work after it.
    ///
    /// # Errors
    /// Returns an error if the graph has no checkpointer, or the checkpointer fails.
    pub async fn of<S: StateForm>(thread: &Thread<S>) -> Result<Self, ThreadError> {
        let saver = thread.saver()?;
        let mut journal = Journal::new(thread.id().clone(), At::Head);
        while let Some((thread, at)) = journal.wanted() {
            journal.add(saver.steps(&thread, at, usize::MAX).await?);
        }
        Ok(journal.cassette())
    }

    pub(super) fn new(recordings: Vec<Recording>) -> Self {
        Self { deck: Arc::new(Deck::new(recordings)), to: None, limits: SizeLimits::default() }
    }

    /// Parses the text of a cassette.
    ///
    /// # Errors
    /// Returns an error if the text is not a cassette, exceeds the [size limits](SizeLimits) of a document, or was
    /// written by a newer version.
    pub fn parse(text: &str) -> Result<Self, CassetteError> {
        Self::parse_within(text, SizeLimits::default())
    }

    /// Works like [`parse`](Self::parse), with other limits on the text.
    ///
    /// # Errors
    /// Returns the errors of [`parse`](Self::parse).
    pub fn parse_within(text: &str, limits: SizeLimits) -> Result<Self, CassetteError> {
        Ok(Self::new(file::read(text, "the text", limits)?).size_limits(limits))
    }

    /// Reads a cassette from a file, which must exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not a cassette, exceeds the [size limits](SizeLimits) of a
    /// document, or was written by a newer version.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        Self::load_within(path, SizeLimits::default())
    }

    /// Works like [`load`](Self::load), with other limits on the file.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load).
    pub fn load_within(path: impl AsRef<Path>, limits: SizeLimits) -> Result<Self, CassetteError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => CassetteError::Missing { path: path.into() },
            _ => CassetteError::File { path: path.into(), source },
        })?;
        let recordings = file::read(&text, &std::format!("{}", path.display()), limits)?;
        Ok(Self::new(recordings).size_limits(limits))
    }

    /// Reads a cassette from a file. If the file does not exist, the run is live and recorded, and
    /// [`finish`](Self::finish) writes the file. So only the first run of a new test needs the outside world.
    ///
    /// If `UPDATE_CASSETTES` is set to anything except `0`, the run is recorded again. If `CI` is set, nothing is
    /// recorded, and a missing file is an error.
    ///
    /// # Errors
    /// Returns the errors of [`load`](Self::load), and [`CassetteError::NotHere`].
    pub fn record_or_replay(path: impl Into<PathBuf>) -> Result<Self, CassetteError> {
        Self::record_or_replay_within(path, SizeLimits::default())
    }

    /// Works like [`record_or_replay`](Self::record_or_replay), with other limits on the file.
    ///
    /// # Errors
    /// Returns the errors of [`record_or_replay`](Self::record_or_replay).
    pub fn record_or_replay_within(
        path: impl Into<PathBuf>,
        limits: SizeLimits,
    ) -> Result<Self, CassetteError> {
        let path = path.into();
        let is_set = |name| {
            env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
        };
        match Use::of(path.exists(), is_set(UPDATE), is_set(CI)) {
            Use::Replay => Self::load_within(path, limits),
            Use::Record => Ok(Self::record(path).size_limits(limits)),
            Use::Refuse => Err(CassetteError::NotHere { path }),
        }
    }

    /// Records the run even if the file exists: the run is live, and [`finish`](Self::finish) writes the file.
    pub fn record(path: impl Into<PathBuf>) -> Self {
        Self { deck: Arc::new(Deck::empty_tape()), to: Some(path.into()), limits: SizeLimits::default() }
    }

    /// Sets the size limits of the file that [`save`](Self::save) and [`finish`](Self::finish) write, as one
    /// [document](SizeLimits::of_document). A reader of the file needs the same limits.
    #[must_use]
    pub fn size_limits(self, limits: SizeLimits) -> Self {
        Self { limits, ..self }
    }

    /// Adds a constructor for errors of type `E` from their recorded texts, for effects that fail with such an
    /// error.
    ///
    /// `String`, `BoxError`, `NodeError` and `std::io::Error` need none, because they can be created from a text.
    #[must_use]
    pub fn error_as<E: 'static>(self, make: impl Fn(&str) -> E + Send + Sync + 'static) -> Self {
        self.deck.make_errors(Arc::new(move |wanted: &mut dyn Any, text: &str| {
            let Some(wanted) = wanted.downcast_mut::<Option<E>>() else { return false };
            *wanted = Some(make(text));
            true
        }));
        self
    }

    /// Lets the test answer the questions: they pause the thread even if their answers are recorded, and recorded
    /// answers may remain unused.
    #[must_use]
    pub fn asking(self) -> Self {
        self.deck.ask_all();
        self
    }

    /// Returns the cassette as JSON text, with one entry per recording, in the order of recording.
    #[must_use]
    pub fn to_json(&self) -> String {
        file::write(self.deck.recordings(), &self.deck.secrets())
    }

    /// Writes the cassette to a file, and creates missing folders.
    ///
    /// # Errors
    /// Returns an error if the text exceeds the [size limits](Self::size_limits), or the file cannot be written. If
    /// the text is too large, an existing file stays unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), CassetteError> {
        let path = path.as_ref();
        let text = self.to_json();
        let what = std::format!("cassette {}", path.display());
        file::keeps_to(self.limits, &text, &what, "Cassette::size_limits")?;
        let write = || {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(path, text)
        };
        write().map_err(|source| CassetteError::File { path: path.into(), source })
    }

    /// Returns the unused recordings, each with its place.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        self.deck.unused().iter().map(Recording::to_string).collect()
    }

    /// Ends the test: checks that no recording was missing and that all were used. If the run was recorded, it
    /// writes the file.
    ///
    /// # Errors
    /// Returns [`CassetteError::Missed`] or [`CassetteError::Unused`], or an error if the file cannot be written.
    pub fn finish(&self) -> Result<(), CassetteError> {
        if self.deck.records {
            return self.to.as_ref().map_or(Ok(()), |path| self.save(path));
        }
        let reports = self.deck.troubles();
        if !reports.is_empty() {
            return Err(CassetteError::Missed { reports });
        }
        let recordings = self.unused();
        if recordings.is_empty() { Ok(()) } else { Err(CassetteError::Unused { recordings }) }
    }

    /// Works like [`finish`](Self::finish), for tests that return nothing.
    ///
    /// # Panics
    /// Panics if `finish` fails.
    #[track_caller]
    pub fn assert_all_used(&self) {
        if let Err(error) = self.finish() {
            panic!("{error}");
        }
    }
}

impl<S, C> Graph<S, C> {
    /// Replaces the outside world with a cassette, in this graph and its subgraphs: see [`Cassette`]. For tests.
    #[must_use]
    pub fn with_cassette(self, cassette: &Cassette) -> Self {
        self.with(|runtime| runtime.deck = Some(Arc::clone(&cassette.deck)))
    }
}

impl fmt::Debug for Cassette {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recordings = self.deck.recordings();
        let recordings: Vec<String> = recordings.iter().map(Recording::to_string).collect();
        f.debug_struct("Cassette").field("recordings", &recordings).field("to", &self.to).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cassette_keeps_to_its_limits_when_it_is_written_and_when_it_is_read() {
        let text = Cassette::new(Vec::new()).to_json();
        let small = SizeLimits::default().bytes((text.len() - 1) / 4);
        let error = Cassette::parse_within(&text, small).unwrap_err().to_string();
        let said = std::format!(
            "the text has more than {} bytes; Cassette::load_within or Cassette::parse_within allows more",
            small.of_document().most_bytes()
        );
        assert_eq!(error, said);

        let folder = std::env::temp_dir().join(std::format!("superstep-cassette-{}", std::process::id()));
        let path = folder.join("cassette.json");
        let cassette = Cassette::parse(&text).unwrap();
        cassette.save(&path).unwrap();
        let error = cassette.clone().size_limits(small).save(&path).unwrap_err();
        assert!(matches!(&error, CassetteError::TooLarge { .. }), "{error}");
        assert!(error.to_string().ends_with("bytes; Cassette::size_limits allows more"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "what was there stays");
        assert!(matches!(Cassette::load_within(&path, small), Err(CassetteError::TooLarge { .. })));
        assert_eq!(Cassette::load(&path).unwrap().to_json(), text);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn nothing_is_recorded_where_ci_is_set() {
        assert_eq!(Use::of(true, false, true), Use::Replay);
        assert_eq!(Use::of(true, false, false), Use::Replay);
        assert_eq!(Use::of(true, true, false), Use::Record);
        assert_eq!(Use::of(false, false, false), Use::Record);
        assert_eq!(Use::of(false, false, true), Use::Refuse);
        assert_eq!(Use::of(true, true, true), Use::Refuse);
    }
}
