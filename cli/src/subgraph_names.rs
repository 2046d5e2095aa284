//! Names of the threads of subgraphs.
//!
//! `rust/research#2` is the second run of the subgraph at node `research` on thread `rust`; subgraphs of that run have
//! names such as `rust/research#2/fetch#1`. A subgraph that keeps its state can also be named by its key, as
//! `rust/research[notes]`: its latest run. The id of such a thread consists of the name of the topmost thread and the
//! ids of the tasks that lead to it. The id is accepted too, with the separator as JSON or a table shows it, or with
//! `/`.

use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;

use superstep_checkpoint::Subgraph;
use superstep_core::checkpoint::{At, ThreadSummary};
use superstep_core::id::ThreadId;

use super::failure::Failure;
use super::source::{CheckpointRef, FEWEST_DIGITS, Source};

/// Separators between a thread and a subgraph below it, as people write them.
const SEPARATORS: [&str; 4] = ["/", SEPARATOR, "\\u{1f}", "\\u001f"];

/// The separator in ids.
const SEPARATOR: &str = "\u{1f}";

/// The number of names that an error lists.
const LISTED: usize = 8;

/// The subgraphs that the tasks of a thread have run, in the order of their numbers.
#[derive(Default)]
pub(super) struct Subgraphs {
    all: Vec<Subgraph>,
    positions: HashMap<ThreadId, usize>,
}

impl Deref for Subgraphs {
    type Target = [Subgraph];

    fn deref(&self) -> &[Subgraph] {
        &self.all
    }
}

impl Source {
    /// Returns the subgraphs that the tasks of a thread have run.
    pub(super) fn subgraphs(&self, thread: &ThreadId) -> Result<Rc<Subgraphs>, Failure> {
        if let Some(known) = self.below.borrow().get(thread) {
            return Ok(Rc::clone(known));
        }
        let all = self.reader.subgraphs(thread)?;
        let positions =
            all.iter().enumerate().map(|(position, below)| (below.thread.clone(), position)).collect();
        Ok(self.remember(thread, Subgraphs { all, positions }))
    }

    fn remember(&self, thread: &ThreadId, subgraphs: Subgraphs) -> Rc<Subgraphs> {
        let subgraphs = Rc::new(subgraphs);
        self.below.borrow_mut().insert(thread.clone(), Rc::clone(&subgraphs));
        subgraphs
    }

    /// Returns the subgraphs for names in lists and errors; none if they cannot be read. The verb that reads the thread
    /// itself reports why.
    fn subgraphs_for_names(&self, thread: &ThreadId) -> Rc<Subgraphs> {
        self.subgraphs(thread).unwrap_or_else(|_| self.remember(thread, Subgraphs::default()))
    }

    /// Returns the name of a thread. The name of a subgraph whose plan was pruned or is damaged ends with the id of the
    /// task.
    pub(super) fn called(&self, thread: &ThreadId) -> String {
        let thread = thread.before_deletion();
        let Some(above) = thread.above() else { return thread.to_string() };
        let known = self.subgraphs_for_names(&above);
        let label = match known.positions.get(&thread).map(|position| &known[*position]) {
            Some(Subgraph { node, number, .. }) => format!("{node}#{number}"),
            None => task_of(&thread).to_owned(),
        };
        format!("{}/{label}", self.called(&above))
    }

    /// Returns the name of a thread, if it is a subgraph's.
    pub(super) fn name_below(&self, thread: &ThreadId) -> Option<String> {
        let thread = thread.before_deletion();
        thread.is_below().then(|| self.called(&thread))
    }

    /// Returns the threads of all subgraphs below a thread, or below any.
    pub(super) fn all_below(&self, root: Option<&ThreadId>) -> Result<Vec<ThreadId>, Failure> {
        let all = self.reader.sizes()?.into_keys();
        let is_meant = |thread: &ThreadId| {
            thread.is_below()
                && thread.before_deletion() == *thread
                && root.is_none_or(|root| thread != root && thread.is_on_or_below(root))
        };
        let mut all: Vec<ThreadId> = all.filter(is_meant).collect();
        all.sort_by_cached_key(|thread| self.rank(thread));
        Ok(all)
    }

    /// Returns the place of a thread among others: by name, each before the subgraphs that it ran, in the order of
    /// their numbers.
    pub(super) fn rank(&self, thread: &ThreadId) -> (ThreadId, Vec<usize>) {
        let thread = thread.before_deletion();
        let Some(above) = thread.above() else { return (thread, Vec::new()) };
        let position = self.subgraphs_for_names(&above).positions.get(&thread).copied();
        let (root, mut positions) = self.rank(&above);
        // A subgraph without a plan comes last.
        positions.push(position.unwrap_or(usize::MAX));
        (root, positions)
    }

    /// Finds the thread of a subgraph by its name or id, which begins with the name of one of `threads`.
    pub(super) fn meant_below(
        &self,
        threads: &[ThreadSummary],
        meant: &str,
    ) -> Result<Option<ThreadId>, Failure> {
        for ThreadSummary { thread: root, .. } in threads {
            let Some(rest) = meant.strip_prefix(root.as_str()).filter(|rest| !rest.is_empty()) else {
                continue;
            };
            if let Some(found) = self.down(root, rest)? {
                return Ok(Some(found));
            }
            // A pruned subgraph can only be named by its id.
            let rest = SEPARATORS.iter().fold(rest.to_owned(), |rest, other| rest.replace(other, SEPARATOR));
            let thread = ThreadId::from(format!("{root}{rest}"));
            if rest.starts_with(SEPARATOR) && !self.reader.history(&thread, &At::Head, 1)?.is_empty() {
                return Ok(Some(thread));
            }
        }
        Ok(None)
    }

    fn down(&self, above: &ThreadId, rest: &str) -> Result<Option<ThreadId>, Failure> {
        if rest.is_empty() {
            return Ok(Some(above.clone()));
        }
        let Some(rest) = SEPARATORS.iter().find_map(|between| rest.strip_prefix(between)) else {
            return Ok(None);
        };
        // A key means the latest run.
        for Subgraph { thread, node, number, key, .. } in self.subgraphs(above)?.iter().rev() {
            let key = key.as_ref().map(|key| format!("{node}[{key}]"));
            for label in key.into_iter().chain([format!("{node}#{number}")]) {
                if let Some(rest) = rest.strip_prefix(&label)
                    && let Some(found) = self.down(thread, rest)?
                {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// Finds the latest checkpoints of subgraphs whose tasks' ids begin with these digits.
    pub(super) fn by_task(&self, digits: &str) -> Result<Vec<CheckpointRef>, Failure> {
        let is_id = digits.len() >= FEWEST_DIGITS && digits.chars().all(|digit| digit.is_ascii_hexdigit());
        let all = if is_id { self.all_below(None)? } else { Vec::new() };
        let meant =
            all.into_iter().filter(|thread| task_of(thread).starts_with(&digits.to_ascii_lowercase()));
        let heads = meant.map(|thread| self.head(thread)).collect::<Result<Vec<_>, _>>()?;
        Ok(heads.into_iter().flatten().collect())
    }

    /// Lists the subgraphs of a thread, for an error about a name below it that does not exist.
    pub(super) fn known_below(&self, threads: &[ThreadSummary], meant: &str) -> Result<String, Failure> {
        for ThreadSummary { thread: root, .. } in threads {
            let rest = meant.strip_prefix(root.as_str());
            if !rest.is_some_and(|rest| SEPARATORS.iter().any(|between| rest.starts_with(between))) {
                continue;
            }
            let all = self.subgraphs(root)?;
            let names: Vec<String> =
                all.iter().take(LISTED).map(|below| self.called(&below.thread)).collect();
            let more = if all.len() > LISTED { ", and more" } else { "" };
            return Ok(match names.is_empty() {
                true => format!("; {root} has run no subgraph"),
                false => format!("; the subgraphs of {root} are {}{more}", names.join(", ")),
            });
        }
        Ok(String::new())
    }
}

/// Returns the last part of the id of a subgraph's thread.
fn task_of(thread: &ThreadId) -> &str {
    thread.as_str().rsplit_once(SEPARATOR).map_or(thread.as_str(), |(_, task)| task)
}
