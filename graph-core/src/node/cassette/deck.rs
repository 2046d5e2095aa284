//! The recordings of a test run: finds the recording for each call, and lists the unused recordings.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;

use spin::Mutex;

use super::miss::Miss;
use super::recording::{Level, Mark, Recording, Title, What, marks, nodes};
use crate::checkpoint::EffectOutcome;
use crate::id::ThreadId;
use crate::state::{Json, SecretTexts};

/// Creates an error of a user's type from its recorded text, if the wanted type is that one.
type Again = Arc<dyn Fn(&mut dyn Any, &str) -> bool + Send + Sync>;

/// The recordings that a test run plays or makes.
#[derive(Default)]
pub(crate) struct Deck {
    /// `true` if the run is live and being recorded.
    pub(crate) records: bool,
    /// `true` if effects run live, without recorded outcomes.
    pub(super) lets_effects: bool,
    /// `true` if questions are asked even if their answers are recorded.
    asks: Mutex<bool>,
    pub(super) held: Mutex<Held>,
    again: Mutex<Vec<Again>>,
}

#[derive(Default)]
pub(super) struct Held {
    recordings: Vec<Recording>,
    used: BTreeSet<usize>,
    /// The recorded mark for each prefix of a live place.
    matched: BTreeMap<(Title, Vec<LiveMark>), Vec<Mark>>,
    /// The recorded places that are already matched with a live place.
    taken: BTreeSet<(Title, Vec<Mark>)>,
    /// While recording: the positions of the existing recordings.
    recorded: BTreeMap<(Title, Vec<LiveMark>), usize>,
    /// Answers to questions without a recorded answer, in the order of use; `answered` has the questions that took
    /// one.
    answers: Vec<Json>,
    answered: BTreeMap<(Title, Vec<LiveMark>), usize>,
    /// The errors that fail the run, whatever its code does with them.
    pub(super) troubles: Vec<String>,
    secrets: SecretTexts,
}

/// One part of a [`Live`] place, with the thread of its superstep. Supersteps of two threads are different parts.
type LiveMark = (Option<ThreadId>, Mark);

/// The place in the current run at which an effect or a question occurs.
pub(super) struct Live {
    pub(super) place: Vec<Level>,
    /// The threads of the levels, from the graph at the top down.
    pub(super) threads: Vec<ThreadId>,
    pub(super) occurrence: u32,
}

/// The name of an effect or a question.
pub(crate) enum Known<'t> {
    Effect { name: &'t str, key: &'t str },
    Question { key: &'t str },
}

impl Deck {
    pub(crate) fn new(recordings: Vec<Recording>) -> Self {
        let held = Held { recordings, ..Held::default() };
        Self { held: Mutex::new(held), ..Self::default() }
    }

    pub(crate) fn empty_tape() -> Self {
        Self { records: true, ..Self::default() }
    }

    /// Returns a deck with more in it: `recordings` come before the existing ones, and `answers` are for all other
    /// questions.
    pub(crate) fn with(&self, mut recordings: Vec<Recording>, answers: Vec<Json>) -> Self {
        recordings.extend(self.recordings());
        let held = Held { recordings, answers, ..Held::default() };
        let (asks, again) = (*self.asks.lock(), self.again.lock().clone());
        let (asks, held, again) = (Mutex::new(asks), Mutex::new(held), Mutex::new(again));
        Self { records: false, lets_effects: false, asks, held, again }
    }

    /// Returns the same deck for questions only: effects run live.
    pub(crate) fn of_answers(self) -> Self {
        Self { lets_effects: true, ..self }
    }

    pub(crate) fn recordings(&self) -> Vec<Recording> {
        self.held.lock().recordings.clone()
    }

    /// Returns the unused recordings, in the order of the cassette.
    pub(crate) fn unused(&self) -> Vec<Recording> {
        self.unused_of_first(usize::MAX)
    }

    /// Returns the unused ones among the first `count` recordings.
    pub(crate) fn unused_of_first(&self, count: usize) -> Vec<Recording> {
        let held = self.held.lock();
        let asks = *self.asks.lock();
        let all = held.recordings.iter().enumerate().take(count);
        let is_for_test = |recording: &Recording| asks && matches!(recording.what, What::Answer { .. });
        let unused = all.filter(|(at, recording)| !held.used.contains(at) && !is_for_test(recording));
        unused.map(|(_, recording)| recording.clone()).collect()
    }

    pub(crate) fn troubles(&self) -> Vec<String> {
        self.held.lock().troubles.clone()
    }

    /// Returns `true` if a recording was missing. The run must then fail, whatever its code does.
    pub(crate) fn is_broken(&self) -> bool {
        !self.held.lock().troubles.is_empty()
    }

    /// Asks all questions, even if their answers are recorded.
    pub(crate) fn ask_all(&self) {
        *self.asks.lock() = true;
    }

    pub(super) fn answers(&self) -> bool {
        !self.records && !*self.asks.lock()
    }

    /// Adds a constructor for errors of another type.
    pub(crate) fn make_errors(&self, again: Again) {
        self.again.lock().push(again);
    }

    /// Stores the error with this text in `wanted`; returns `false` if there is no constructor for the wanted type.
    pub(super) fn make_error(&self, wanted: &mut dyn Any, text: &str) -> bool {
        self.again.lock().iter().any(|make| make(wanted, text))
    }

    /// Returns the recorded outcome of an effect, or the message about the missing recording.
    pub(super) fn effect(&self, live: &Live, name: &str, key: &str) -> Result<EffectOutcome, String> {
        let title = Known::Effect { name, key }.title(live);
        if let Some(Recording { what: What::Effect { outcome, .. }, .. }) = self.find(&title, live) {
            return Ok(outcome);
        }
        let mut held = self.held.lock();
        let title = title.without(&held.secrets);
        let miss = Miss::new(title, live, &held.recordings, &held.used).to_string();
        held.troubles.push(miss.clone());
        Err(miss)
    }

    /// Returns the recorded answer to a question, if there is one.
    pub(super) fn answer(&self, live: &Live, key: &str) -> Option<Json> {
        let title = Known::Question { key }.title(live);
        match self.find(&title, live) {
            Some(Recording { what: What::Answer { answer, .. }, .. }) => Some(answer),
            _ => self.held.lock().next_answer(title, live),
        }
    }

    fn find(&self, title: &Title, live: &Live) -> Option<Recording> {
        let mut held = self.held.lock();
        // The key of a recording that was read from a text contains no secrets.
        let hidden = title.clone().without(&held.secrets);
        let at = held.look_up(title, live).or_else(|| held.look_up(&hidden, live))?;
        held.used.insert(at);
        Some(held.recordings[at].clone())
    }

    /// Adds a recording of a live run. It replaces the recording of an earlier attempt at the same place.
    pub(super) fn keep(&self, live: &Live, known: &Known<'_>, what: What) {
        let title = known.title(live);
        let recording = Recording { place: live.place.clone(), what, occurrence: live.occurrence };
        let mut held = self.held.lock();
        let held = &mut *held;
        match held.recorded.entry((title, live.marks())) {
            alloc::collections::btree_map::Entry::Occupied(at) => held.recordings[*at.get()] = recording,
            alloc::collections::btree_map::Entry::Vacant(place) => {
                place.insert(held.recordings.len());
                held.recordings.push(recording);
            }
        }
    }

    /// Registers a value that must not appear in a cassette.
    pub(crate) fn learn_secret(&self, value: &Json) {
        self.held.lock().secrets.learn(value);
    }

    /// Registers texts that must not appear in a cassette.
    pub(crate) fn hide(&self, secrets: &SecretTexts) {
        self.held.lock().secrets.learn_all(secrets);
    }

    pub(crate) fn secrets(&self) -> SecretTexts {
        self.held.lock().secrets.clone()
    }
}

impl Held {
    /// Returns the answer to a question without a recorded one.
    fn next_answer(&mut self, title: Title, live: &Live) -> Option<Json> {
        let next = self.answered.len();
        let place = (title, live.marks());
        let at = match self.answered.get(&place) {
            Some(at) => *at,
            None if next < self.answers.len() => *self.answered.entry(place).or_insert(next),
            None => return None,
        };
        Some(self.answers[at].clone())
    }

    /// Finds the recording for a live place: the same one as before for the same place, otherwise the first unused
    /// one, in the order of recording.
    fn look_up(&mut self, title: &Title, live: &Live) -> Option<usize> {
        let of_title: Vec<(usize, Vec<Mark>)> = self
            .recordings
            .iter()
            .enumerate()
            .filter(|(_, recording)| recording.title() == *title)
            .map(|(at, recording)| (at, recording.marks()))
            .collect();
        let (mut way, mut found): (Vec<LiveMark>, Vec<Mark>) = (Vec::new(), Vec::new());
        for mark in live.marks() {
            way.push(mark);
            let step = (title.clone(), way.clone());
            if let Some(known) = self.matched.get(&step) {
                found.clone_from(known);
                continue;
            }
            let all: BTreeSet<Mark> = of_title
                .iter()
                .filter(|(_, marks)| marks.starts_with(&found))
                .map(|(_, marks)| marks[found.len()].clone())
                .collect();
            let is_only = all.len() == 1;
            let is_free = |mark: &Mark| {
                let mut place = found.clone();
                place.push(mark.clone());
                !self.taken.contains(&(title.clone(), place))
            };
            let free: BTreeSet<Mark> = all.into_iter().filter(is_free).collect();
            let (_, mark) = &way[way.len() - 1];
            let mark = mark.among(&free, is_only)?;
            found.push(mark);
            self.taken.insert((title.clone(), found.clone()));
            self.matched.insert(step, found.clone());
        }
        of_title.into_iter().find(|(_, marks)| *marks == found).map(|(at, _)| at)
    }
}

impl Mark {
    /// Selects the recorded mark that stands for this live one. A superstep takes the next one, because supersteps
    /// follow one another. The items of a fan-out run at the same time, so their indices identify them, unless only
    /// one mark has this name and key.
    fn among(&self, free: &BTreeSet<Self>, is_only: bool) -> Option<Self> {
        let found = match self {
            Self::Step(_) => free.first(),
            Self::Occurrence(_) => free.get(self),
            Self::Item(_) if is_only => free.first(),
            Self::Item(each) => free.get(self).or_else(|| {
                let index = |each: &Option<(u32, u32)>| each.map_or(0, |(_, index)| index);
                free.iter().find(|held| matches!(held, Self::Item(held) if index(held) == index(each)))
            }),
        };
        found.cloned()
    }
}

impl Live {
    fn marks(&self) -> Vec<LiveMark> {
        let mut threads = self.threads.iter();
        let marks = marks(&self.place, self.occurrence).into_iter();
        let of_thread = marks.map(|mark| match mark {
            Mark::Step(_) => (threads.next().cloned(), mark),
            _ => (None, mark),
        });
        of_thread.collect()
    }
}

impl Known<'_> {
    fn title(&self, live: &Live) -> Title {
        let nodes = nodes(&live.place);
        match self {
            Self::Effect { name, key } => Title { nodes, effect: Some((*name).into()), key: (*key).into() },
            Self::Question { key } => Title { nodes, effect: None, key: (*key).into() },
        }
    }
}
