//! The file that a verb reads, and lookups of checkpoints by their addresses.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use superstep_checkpoint::{CheckpointReader, ThreadList};
use superstep_core::checkpoint::{
    At, CheckpointName, Loaded, SecretPast, StepRecord, StoreError, Summary, ThreadSummary,
};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_nodes::model::Prices;

use super::failure::Failure;
use super::file::FileArgument;
use super::json_shapes::Lease;
use super::kept_file::{Kept, Tree};
use super::price_table;
use super::subgraph_names::Subgraphs;
use super::suggestion::{did_you_mean, visible};
use super::thread_usage::Known;

/// The minimum number of digits that identify an id.
pub(super) const FEWEST_DIGITS: usize = 4;

/// The maximum number of `~` in an address: each one is a separate lookup.
const MOST_BACK: usize = 64;

/// A file of checkpoints, open for reading.
pub(super) struct Source {
    pub(super) reader: Box<dyn CheckpointReader>,
    /// The subgraphs of threads that were read so far.
    pub(super) below: RefCell<BTreeMap<ThreadId, Rc<Subgraphs>>>,
    /// The file, if several verbs read it.
    kept: Option<Kept>,
    /// The prices of tokens.
    pub(super) prices: Arc<Prices>,
}

/// A checkpoint, and the thread through which it is read.
#[derive(Clone, Debug)]
pub(super) struct CheckpointRef {
    pub(super) thread: ThreadId,
    pub(super) id: CheckpointId,
}

impl CheckpointRef {
    pub(super) fn at(&self) -> At {
        At::Id(self.id)
    }
}

impl Source {
    pub(super) fn open(file: &FileArgument) -> Result<Self, Failure> {
        let kept = file.kept()?;
        let (reader, prices): (Box<dyn CheckpointReader>, _) = match &kept {
            Some(kept) => (Box::new(kept.clone()), kept.prices()),
            None => (file.reader()?, price_table::prices()?),
        };
        Ok(Self { reader, below: RefCell::default(), kept, prices })
    }

    /// Returns the checkpoints of a thread with all its branches. For a subgraph's thread, only its own past is known.
    pub(super) fn tree(&self, thread: &ThreadId) -> Result<Arc<Tree>, StoreError> {
        let read = |earlier: &[Summary]| {
            let all = match thread.is_below() {
                true => self.reader.history(thread, &At::Head, usize::MAX)?,
                false => self.reader.lineage_after(thread, earlier)?,
            };
            let head = self.reader.history(thread, &At::Head, 1)?.first().map(|head| head.id);
            Ok(Tree::of(all, head))
        };
        match &self.kept {
            Some(kept) => kept.tree(thread, read),
            None => Ok(Arc::new(read(&[])?)),
        }
    }

    /// Returns the secrets of a thread, up to its latest checkpoint and up to a place.
    pub(super) fn secrets(
        &self,
        thread: &ThreadId,
        place: Option<&CheckpointRef>,
    ) -> Result<Arc<SecretPast>, StoreError> {
        // If another branch is damaged, this one is read alone.
        if let Some(kept) = &self.kept
            && let Ok(tree) = self.tree(thread)
            && place.is_none_or(|place| tree.is_on_line(place.id))
        {
            return kept.secrets(thread, &tree, |past| self.read_secrets(past));
        }
        let ends = place.map(CheckpointRef::at).into_iter().chain([At::Head]);
        let mut past = SecretPast::of(thread.clone(), ends);
        self.read_secrets(&mut past)?;
        Ok(Arc::new(past))
    }

    /// Returns the usage of a thread that was summed up before, if several verbs read the file.
    pub(super) fn known_usage(&self, thread: &ThreadId) -> Option<Known> {
        self.kept.as_ref()?.usage(thread)
    }

    /// Keeps the usage of a thread, if several verbs read the file.
    pub(super) fn remember_usage(&self, thread: &ThreadId, known: Known) {
        if let Some(kept) = &self.kept {
            kept.remember_usage(thread, known);
        }
    }

    fn read_secrets(&self, past: &mut SecretPast) -> Result<(), StoreError> {
        while let Some((thread, from, limit)) = past.wanted() {
            let steps = match self.reader.steps(&thread, &from, limit) {
                // The thread was deleted in the meantime.
                Err(StoreError::NoCheckpoint { .. }) => Vec::new(),
                steps => steps?,
            };
            past.add(&steps);
        }
        Ok(())
    }

    /// Returns the thread of this name. Fails for a subgraph's thread.
    pub(super) fn thread(&self, name: &str) -> Result<ThreadSummary, Failure> {
        let threads = self.threads_for(name)?;
        let is_listed = threads.iter().any(|thread| thread.thread.as_str() == name);
        if !is_listed && let Some(below) = self.meant_below(&threads, name)? {
            let above = std::iter::successors(below.above(), ThreadId::above).last();
            let above = above.unwrap_or_else(|| below.clone());
            return Err(Failure::unusable(format!(
                "{} is the thread of a subgraph, which belongs to thread {above}: name that one",
                self.called(&below)
            )));
        }
        Self::listed(threads, name)
    }

    /// Returns the thread of this name, which may be a subgraph's.
    pub(super) fn any_thread(&self, name: &str) -> Result<ThreadId, Failure> {
        let threads = self.threads_for(name)?;
        match self.meant_below(&threads, name)? {
            Some(below) if !threads.iter().any(|thread| thread.thread.as_str() == name) => Ok(below),
            _ => Ok(Self::listed(threads, name)?.thread),
        }
    }

    fn listed(threads: Vec<ThreadSummary>, name: &str) -> Result<ThreadSummary, Failure> {
        let names = threads.iter().map(|thread| thread.thread.as_str());
        let hint = did_you_mean(name, names);
        let (count, told) = (threads.len(), visible(name));
        threads.into_iter().find(|thread| thread.thread.as_str() == name).ok_or_else(|| {
            let nothing = Failure::nothing(format!("there is no thread {told}{hint}"));
            match (count, hint.is_empty()) {
                (0, _) => Failure::nothing(format!("there is no thread {told}: the file has none")),
                (_, true) => nothing.with_help("threads", format!("lists the {count} there are")),
                (_, false) => nothing,
            }
        })
    }

    /// Returns the readable threads, to look up an address. Fails if the address names a thread that is damaged.
    fn threads_for(&self, meant: &str) -> Result<Vec<ThreadSummary>, Failure> {
        let ThreadList { threads, damaged, .. } = self.reader.list_threads()?;
        let names = |name: &ThreadId| {
            let rest = meant.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', '~']))
        };
        match damaged.into_iter().find(|(name, _)| name.as_ref().is_some_and(names)) {
            Some((_, error)) if !threads.iter().any(|thread| thread.thread.as_str() == meant) => {
                Err(error.into())
            }
            _ => Ok(threads),
        }
    }

    /// Finds the checkpoint at an address.
    pub(super) fn place(&self, meant: &str) -> Result<CheckpointRef, Failure> {
        let threads = self.threads_for(meant)?;
        let head = |name: &str| match threads.iter().find(|thread| thread.thread.as_str() == name) {
            Some(held) => Ok(Some(CheckpointRef { thread: held.thread.clone(), id: held.head.id })),
            None => self.meant_below(&threads, name)?.map_or(Ok(None), |below| self.head(below)),
        };
        // The name of a thread can look like any address.
        if let Some(named) = head(meant)? {
            let other = match Address::parse(meant) {
                Address::Back(of, count) => self.place(of).and_then(|of| self.back(&of, count)).ok(),
                Address::Step(thread, step) => head(thread)?.and_then(|of| self.step(&of.thread, step).ok()),
                Address::Named(thread, name) => {
                    head(thread)?.and_then(|of| self.named(&of.thread, name).ok())
                }
                Address::Name(_) => None,
            };
            return match other.filter(|other| other.id != named.id) {
                None => Ok(named),
                Some(CheckpointRef { thread, id }) => Err(Failure::unusable(format!(
                    "{meant} is the thread {meant} (say {meant}~0) and a checkpoint of {thread} (say {id})"
                ))),
            };
        }
        if meant.matches('~').count() > MOST_BACK {
            return Err(Failure::unusable(format!("it has ~ more than {MOST_BACK} times: write ~N once")));
        }
        match Address::parse(meant) {
            // `~0` after the name of a thread means the thread, even if the name looks like an address.
            Address::Back(of, 0) => head(of)?.map_or_else(|| self.place(of), Ok),
            Address::Back(of, count) => self.back(&self.place(of)?, count),
            Address::Step(thread, step) => match head(thread)? {
                Some(of) => self.step(&of.thread, step),
                None => Err(self.no_thread(threads, thread)?),
            },
            Address::Named(thread, name) => match head(thread)? {
                Some(of) => self.named(&of.thread, name),
                None => self.by_digits(meant, &threads),
            },
            Address::Name(digits) => self.by_digits(digits, &threads),
        }
    }

    /// Returns the error for a thread that does not exist.
    fn no_thread(&self, threads: Vec<ThreadSummary>, name: &str) -> Result<Failure, Failure> {
        let below = self.known_below(&threads, name)?;
        Ok(match Self::listed(threads, name) {
            Err(failure) if below.is_empty() => failure,
            _ => Failure::nothing(format!("there is no thread {}{below}", visible(name))),
        })
    }

    /// Returns the latest checkpoint of a thread.
    pub(super) fn head(&self, thread: ThreadId) -> Result<Option<CheckpointRef>, Failure> {
        let head = self.reader.history(&thread, &At::Head, 1)?;
        Ok(head.first().map(|head| CheckpointRef { thread, id: head.id }))
    }

    fn back(&self, from: &CheckpointRef, count: usize) -> Result<CheckpointRef, Failure> {
        self.before(from, count)?.map_err(|before| {
            Failure::nothing(format!("there are only {before} checkpoints before {}", from.id))
        })
    }

    /// Returns the checkpoint so many before another one, or the number of those before it if they are fewer.
    pub(super) fn before(
        &self,
        from: &CheckpointRef,
        count: usize,
    ) -> Result<Result<CheckpointRef, usize>, Failure> {
        let line = self.reader.history(&from.thread, &from.at(), count.saturating_add(1))?;
        match line.get(count) {
            Some(found) => Ok(Ok(self.in_past(from, found.id, &found.thread)?)),
            None => Ok(Err(line.len().saturating_sub(1))),
        }
    }

    /// Returns the place of a checkpoint in the past of another one; `written` is the thread on which it was written.
    /// It is read through the thread of the other one, unless that thread leads to it only by a branch that is not its
    /// latest: a fork may have gone back to before the checkpoints that it shares.
    pub(super) fn in_past(
        &self,
        of: &CheckpointRef,
        id: CheckpointId,
        written: &ThreadId,
    ) -> Result<CheckpointRef, Failure> {
        let thread = match self.reader.history(&of.thread, &At::Id(id), 1) {
            Err(StoreError::NoCheckpoint { .. }) => written,
            found => found.map(|_| &of.thread)?,
        };
        Ok(CheckpointRef { thread: thread.clone(), id })
    }

    fn step(&self, thread: &ThreadId, step: i64) -> Result<CheckpointRef, Failure> {
        let (mut from, mut newest, mut oldest) = (At::Head, None, None);
        for limit in [64, 1_024].into_iter().chain(std::iter::repeat(8_192)) {
            let page = self.reader.history(thread, &from, limit)?;
            if let Some(found) = page.iter().find(|line| line.step == step) {
                return Ok(CheckpointRef { thread: thread.clone(), id: found.id });
            }
            newest = newest.or(page.first().map(|line| line.step));
            let Some(last) = page.last() else { break };
            oldest = Some(last.step);
            match last.parent {
                Some(parent) => from = At::Id(parent),
                None => break,
            }
        }
        let there =
            newest.zip(oldest).map(|(newest, oldest)| format!("; its steps are {oldest} to {newest}"));
        let there = there.unwrap_or_default();
        // A fork or a rerun on the same thread leaves steps on another branch.
        let all = self.reader.lineage(thread)?;
        let other = all.iter().find(|line| line.thread == *thread && line.step == step);
        let elsewhere = other.map(|other| {
            format!(" on its latest branch; on another branch that step is checkpoint {}", other.id)
        });
        let (thread, elsewhere) = (self.called(thread), elsewhere.unwrap_or_default());
        let thread = visible(&thread);
        Err(Failure::nothing(format!("thread {thread} has no step {step}{there}{elsewhere}")))
    }

    fn named(&self, thread: &ThreadId, name: CheckpointName) -> Result<CheckpointRef, Failure> {
        let names = self.reader.names(thread)?;
        let hint = did_you_mean(name.as_str(), names.iter().map(|named| named.name.as_str()));
        let found = names.into_iter().find(|named| named.name == name);
        let thread = thread.clone();
        let found = found.map(|named| CheckpointRef { thread: thread.clone(), id: named.checkpoint });
        found.ok_or_else(|| {
            let thread = self.called(&thread);
            Failure::nothing(format!("thread {} has no checkpoint named {name}{hint}", visible(&thread)))
        })
    }

    fn by_digits(&self, digits: &str, threads: &[ThreadSummary]) -> Result<CheckpointRef, Failure> {
        let count = digits.chars().filter(char::is_ascii_hexdigit).count();
        let is_id = digits.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-');
        let found = match is_id && count >= FEWEST_DIGITS {
            true => self.reader.locate(digits, 9)?,
            false => Vec::new(),
        };
        let found = found.into_iter().map(|one| CheckpointRef { thread: one.thread, id: one.id });
        let mut found: Vec<CheckpointRef> = found.collect();
        if found.is_empty() {
            found = self.by_task(digits)?;
        }
        match &*found {
            [one] => Ok(one.clone()),
            [] => {
                let names = threads.iter().map(|held| held.thread.as_str());
                let hint = match self.known_below(threads, digits)? {
                    below if below.is_empty() => did_you_mean(digits, names),
                    below => below,
                };
                let told = visible(digits);
                Err(Failure::nothing(format!("there is no thread or checkpoint {told}{hint}")))
            }
            several => {
                let ids: Vec<String> = several.iter().take(8).map(|one| one.id.to_string()).collect();
                let more = if several.len() > 8 { ", and more" } else { "" };
                Err(Failure::unusable(format!(
                    "{digits} may be any of these checkpoints: {}{more}",
                    ids.join(", ")
                )))
            }
        }
    }

    /// Returns the lease of a thread.
    pub(super) fn lease(&self, thread: &ThreadId) -> Result<Option<Lease>, Failure> {
        let leases = self.reader.leases()?;
        Ok(leases.iter().find(|lease| lease.thread == *thread).map(Lease::of))
    }

    pub(super) fn load(&self, place: &CheckpointRef) -> Result<Loaded, Failure> {
        let loaded = self.reader.load(&place.thread, &place.at())?;
        loaded.ok_or_else(|| Failure::nothing(format!("there is no checkpoint {}", place.id)))
    }

    /// Returns the checkpoint and its whole past, newest first.
    pub(super) fn past(&self, place: &CheckpointRef) -> Result<Vec<StepRecord>, Failure> {
        Ok(self.reader.steps(&place.thread, &place.at(), usize::MAX)?)
    }
}

/// The readings of a text that is not the name of an existing thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address<'t> {
    /// The checkpoint this many steps before another one.
    Back(&'t str, usize),
    /// The step of a thread.
    Step(&'t str, i64),
    /// The checkpoint with this name on a thread.
    Named(&'t str, CheckpointName),
    /// A thread, or part of an id.
    Name(&'t str),
}

impl<'t> Address<'t> {
    pub(super) fn parse(text: &'t str) -> Self {
        if let Some((of, count)) = text.rsplit_once('~')
            && let Some(count) = if count.is_empty() { Some(1) } else { count.parse().ok() }
        {
            return Self::Back(of, count);
        }
        let Some((thread, which)) = text.rsplit_once('@') else { return Self::Name(text) };
        match (which.parse(), which.parse()) {
            (Ok(step), _) => Self::Step(thread, step),
            (_, Ok(name)) => Self::Named(thread, name),
            _ => Self::Name(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sign_counts() {
        assert_eq!(Address::parse("t~2"), Address::Back("t", 2));
        assert_eq!(Address::parse("t@3~"), Address::Back("t@3", 1));
        assert_eq!(Address::parse("me@home@-1"), Address::Step("me@home", -1));
        assert_eq!(Address::parse("me@home"), Address::Named("me", "home".parse().unwrap()));
        assert_eq!(Address::parse("me@"), Address::Name("me@"));
        assert_eq!(Address::parse("t@done~"), Address::Back("t@done", 1));
        assert_eq!(Address::parse("a~b"), Address::Name("a~b"));
    }
}
