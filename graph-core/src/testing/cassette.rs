//! Recordings that answer for the outside world.

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

/// Records missing cassettes, and records the existing ones again.
const UPDATE: &str = "UPDATE_CASSETTES";
/// The variable that is set where nothing may be recorded.
const CI: &str = "CI";

/// A run's recording of the outside world: the outcomes of its effects, the answers to its questions, and the times,
/// ids and random numbers that it has drawn. It is a text that can be reviewed.
///
/// A graph that is [given one](Graph::with_cassette) runs again, with nodes and prompts that may have changed. The
/// cassette supplies the outcomes and the answers, and no closure of an effect runs:
///
/// - Effects and drawn values are found by their node, name and key. Those that have all three in common are told apart
///   by their order: the superstep, the item of `each`, and the count in the task. Supersteps may be more or fewer
///   than in the recording.
/// - Questions are found by their node and key, whatever their text is now. A question whose answer is not recorded
///   pauses the thread, as it would without a cassette.
/// - A missing recording fails the run, whatever the node or an error handler makes of errors. The error names the
///   recording that is nearest, and the difference.
///
/// A failed effect fails again with its text: see [`error_as`](Self::error_as).
///
/// Values of secret fields are not on a cassette: if an effect returned one, or its key has one, `<secret>` is there
/// instead. This holds for texts of four characters and more.
///
/// Clones share the record of used entries. A cassette serves one run of the recorded story: for another run, load it
/// again.
#[derive(Clone)]
pub struct Cassette {
    pub(super) deck: Arc<Deck>,
    /// Where a recording is to be written.
    to: Option<PathBuf>,
    /// The size limits of the written text.
    limits: SizeLimits,
}

/// The use of a cassette that a test names.
#[derive(Debug, PartialEq, Eq)]
enum Use {
    Replay,
    Record,
    Refuse,
}

impl Use {
    /// Chooses the use, depending on whether the file exists, whether an update is requested, and whether this is CI.
    fn of(is_there: bool, is_update: bool, is_ci: bool) -> Self {
        match (is_there && !is_update, is_ci) {
            (true, _) => Self::Replay,
            (false, false) => Self::Record,
            (false, true) => Self::Refuse,
        }
    }
}

impl Cassette {
    /// The journal of a thread, of all its runs and subgraphs up to its latest checkpoint, and of what is unfinished on
    /// top of that.
    ///
    /// # Errors
    /// When the graph has no checkpointer, or it fails.
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

    /// Reads the text of a cassette.
    ///
    /// # Errors
    /// When it is none, is larger than a document [may be](SizeLimits), or a newer version wrote it.
    pub fn parse(text: &str) -> Result<Self, CassetteError> {
        Self::parse_within(text, SizeLimits::default())
    }

    /// As [`parse`](Self::parse), of a text that may be larger, or is to be smaller.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    pub fn parse_within(text: &str, limits: SizeLimits) -> Result<Self, CassetteError> {
        Ok(Self::new(file::read(text, "the text", limits)?).size_limits(limits))
    }

    /// Reads a cassette from a file. A missing one is an error here, always.
    ///
    /// # Errors
    /// When the file cannot be read, is no cassette, is larger than a document [may be](SizeLimits), or a newer version wrote
    /// it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, CassetteError> {
        Self::load_within(path, SizeLimits::default())
    }

    /// As [`load`](Self::load), of a file that may be larger, or is to be smaller.
    ///
    /// # Errors
    /// Those of [`load`](Self::load).
    pub fn load_within(path: impl AsRef<Path>, limits: SizeLimits) -> Result<Self, CassetteError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => CassetteError::Missing { path: path.into() },
            _ => CassetteError::File { path: path.into(), source },
        })?;
        let recordings = file::read(&text, &std::format!("{}", path.display()), limits)?;
        Ok(Self::new(recordings).size_limits(limits))
    }

    /// Reads a cassette from a file. If there is no file, the run is recorded: it is then live, and
    /// [`finish`](Self::finish) writes the file. So only the first run of a new test needs the outside world.
    ///
    /// With `UPDATE_CASSETTES` set to anything but `0` the run is recorded again. If `CI` is set, nothing is recorded:
    /// a missing file is an error.
    ///
    /// # Errors
    /// Those of [`load`](Self::load), and [`CassetteError::NotHere`].
    pub fn record_or_replay(path: impl Into<PathBuf>) -> Result<Self, CassetteError> {
        Self::record_or_replay_within(path, SizeLimits::default())
    }

    /// As [`record_or_replay`](Self::record_or_replay), of a file that may be larger, or is to be smaller.
    ///
    /// # Errors
    /// Those of [`record_or_replay`](Self::record_or_replay).
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

    /// Has the run recorded, whatever is in the file: it is live, and [`finish`](Self::finish) writes the file.
    pub fn record(path: impl Into<PathBuf>) -> Self {
        Self { deck: Arc::new(Deck::empty_tape()), to: Some(path.into()), limits: SizeLimits::default() }
    }

    /// Sets the size limits of the file that [`save`](Self::save) and [`finish`](Self::finish) write, as one
    /// [document](SizeLimits::of_document). A reader of the file needs the same limits.
    #[must_use]
    pub fn size_limits(self, limits: SizeLimits) -> Self {
        Self { limits, ..self }
    }

    /// Makes errors of type `E` from their recorded texts, for the effects that fail with one.
    ///
    /// `String`, `BoxError`, `NodeError` and `std::io::Error` need it not: they are their texts.
    #[must_use]
    pub fn error_as<E: 'static>(self, make: impl Fn(&str) -> E + Send + Sync + 'static) -> Self {
        self.deck.make_errors(Arc::new(move |wanted: &mut dyn Any, text: &str| {
            let Some(wanted) = wanted.downcast_mut::<Option<E>>() else { return false };
            *wanted = Some(make(text));
            true
        }));
        self
    }

    /// Leaves the questions to the test: they pause the thread though their answers are recorded, and recorded answers
    /// need not be used.
    #[must_use]
    pub fn asking(self) -> Self {
        self.deck.ask_all();
        self
    }

    /// The cassette as a text: JSON, a recording an entry, in the order in which they were made.
    #[must_use]
    pub fn to_json(&self) -> String {
        file::write(self.deck.recordings(), &self.deck.secrets())
    }

    /// Writes the cassette to a file, and makes the folders on the way.
    ///
    /// # Errors
    /// When it is larger than it [may be](Self::size_limits), or the file cannot be written. A file that is there stays as it
    /// is where it is too large.
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

    /// The unused recordings, each with its place.
    #[must_use]
    pub fn unused(&self) -> Vec<String> {
        self.deck.unused().iter().map(Recording::to_string).collect()
    }

    /// Ends the test: everything that was needed was there, and everything that is there was used. A recording is
    /// written to its file.
    ///
    /// # Errors
    /// [`CassetteError::Missed`], [`CassetteError::Unused`], and when the file cannot be written.
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

    /// Like [`finish`](Self::finish), for tests that return nothing.
    ///
    /// # Panics
    /// Where that fails.
    #[track_caller]
    pub fn assert_all_used(&self) {
        if let Err(error) = self.finish() {
            panic!("{error}");
        }
    }
}

impl<S, C> Graph<S, C> {
    /// Has a cassette answer for the outside world, in this graph and its subgraphs: see [`Cassette`]. For tests.
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
