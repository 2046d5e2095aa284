//! Requests for lists of rows, and their pages.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

use serde_json::{Map, Value};

use super::rows::{AssistantRow, CronRow, RunRow, RunStatus, ThreadRow, ThreadStatus};
use crate::id::{NodeName, ThreadId};

/// A page of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Found<T> {
    /// The rows of the page.
    pub rows: Vec<T>,
    /// The number of rows that fit the request, on all pages.
    pub total: u64,
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The column.
    pub by: Column,
    /// `true` for the smallest first. The default is the newest first.
    pub ascending: bool,
}

/// A column by which a list is ordered; rows that are equal in it are ordered by id, in the same direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Column {
    /// The time of creation.
    #[default]
    Created,
    /// The time of the last change.
    Updated,
    /// The time of the last change of a thread's state; that of the last change for other rows.
    StateUpdated,
    /// The id.
    Id,
    /// The name of the status of a thread; the id for other rows.
    Status,
    /// The name of an assistant; the id for other rows.
    Name,
    /// The graph; the id for schedules.
    Graph,
    /// The next start of a schedule; the time of creation for other rows.
    Next,
}

/// A request for threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThreadQuery {
    /// Only threads with these ids.
    pub ids: Option<Vec<ThreadId>>,
    /// Only threads whose metadata [contains](contains()) these entries.
    pub metadata: Map<String, Value>,
    /// Only threads with this status.
    pub status: Option<ThreadStatus>,
    /// The order.
    pub order: Order,
    /// The number of rows to skip.
    pub offset: usize,
    /// The maximum number of rows; 0 to count them only.
    pub limit: usize,
}

/// A request for runs, ordered by creation, newest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunQuery {
    /// Only runs of this thread.
    pub thread: Option<ThreadId>,
    /// Only runs with one of these statuses; all without any.
    pub statuses: Vec<RunStatus>,
    /// The number of rows to skip.
    pub offset: usize,
    /// The maximum number of rows; 0 to count them only.
    pub limit: usize,
}

/// A request for assistants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AssistantQuery {
    /// Only assistants of this graph.
    pub graph: Option<NodeName>,
    /// Only assistants with this text in their names, whatever the case of its letters.
    pub name: Option<String>,
    /// Only assistants whose metadata contains these entries.
    pub metadata: Map<String, Value>,
    /// The order.
    pub order: Order,
    /// The number of rows to skip.
    pub offset: usize,
    /// The maximum number of rows; 0 to count them only.
    pub limit: usize,
}

/// A request for schedules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CronQuery {
    /// Only schedules of this assistant.
    pub assistant: Option<String>,
    /// Only schedules of this thread.
    pub thread: Option<ThreadId>,
    /// Only schedules that are enabled, or not.
    pub enabled: Option<bool>,
    /// Only schedules whose metadata contains these entries.
    pub metadata: Map<String, Value>,
    /// Only schedules that start at this time or before.
    pub due_ms: Option<u64>,
    /// The order.
    pub order: Order,
    /// The number of rows to skip.
    pub offset: usize,
    /// The maximum number of rows; 0 to count them only.
    pub limit: usize,
}

/// The values of a row's columns, for its place in a list.
struct Columns<'r> {
    id: &'r str,
    created_ms: u64,
    updated_ms: u64,
    state_updated_ms: u64,
    next_ms: Option<u64>,
    status: &'r str,
    name: &'r str,
    graph: Option<&'r str>,
}

trait Listed {
    fn columns(&self) -> Columns<'_>;
}

impl Listed for ThreadRow {
    fn columns(&self) -> Columns<'_> {
        Columns {
            id: self.id.as_str(),
            created_ms: self.created_ms,
            updated_ms: self.updated_ms,
            state_updated_ms: self.state_updated_ms,
            next_ms: Some(self.created_ms),
            status: self.status.as_str(),
            name: self.id.as_str(),
            graph: self.graph.as_ref().map(NodeName::as_str),
        }
    }
}

impl Listed for AssistantRow {
    fn columns(&self) -> Columns<'_> {
        Columns {
            id: self.id.as_str(),
            created_ms: self.created_ms,
            updated_ms: self.updated_ms,
            state_updated_ms: self.updated_ms,
            next_ms: Some(self.created_ms),
            status: self.id.as_str(),
            name: self.name.as_str(),
            graph: Some(self.graph.as_str()),
        }
    }
}

impl Listed for CronRow {
    fn columns(&self) -> Columns<'_> {
        Columns {
            id: self.id.as_str(),
            created_ms: self.created_ms,
            updated_ms: self.updated_ms,
            state_updated_ms: self.updated_ms,
            next_ms: self.next_ms,
            status: self.id.as_str(),
            name: self.id.as_str(),
            graph: None,
        }
    }
}

impl Order {
    fn compare(self, a: &Columns<'_>, b: &Columns<'_>) -> Ordering {
        let by_column = match self.by {
            Column::Created => a.created_ms.cmp(&b.created_ms),
            Column::Updated => a.updated_ms.cmp(&b.updated_ms),
            Column::StateUpdated => a.state_updated_ms.cmp(&b.state_updated_ms),
            Column::Id => Ordering::Equal,
            Column::Status => a.status.cmp(b.status),
            Column::Name => a.name.cmp(b.name),
            Column::Graph => a.graph.cmp(&b.graph),
            Column::Next => a.next_ms.cmp(&b.next_ms),
        };
        let ascending = by_column.then_with(|| a.id.cmp(b.id));
        if self.ascending { ascending } else { ascending.reverse() }
    }

    fn page<R: Listed>(self, mut rows: Vec<R>, (offset, limit): (usize, usize)) -> Found<R> {
        rows.sort_by(|a, b| self.compare(&a.columns(), &b.columns()));
        Found { total: rows.len() as u64, rows: rows.into_iter().skip(offset).take(limit).collect() }
    }
}

impl ThreadQuery {
    /// Returns the page of the rows that fit, for implementations that have all rows at hand.
    #[must_use]
    pub fn page(&self, rows: impl IntoIterator<Item = ThreadRow>) -> Found<ThreadRow> {
        let fits = |row: &ThreadRow| {
            self.ids.as_ref().is_none_or(|ids| ids.contains(&row.id))
                && self.status.is_none_or(|status| status == row.status)
                && contains_entries(&row.metadata, &self.metadata)
        };
        self.order.page(rows.into_iter().filter(fits).collect(), (self.offset, self.limit))
    }
}

impl RunQuery {
    /// Returns the page of the rows that fit, given all rows, newest first.
    #[must_use]
    pub fn page<'r>(&self, rows: impl Iterator<Item = &'r RunRow>) -> Found<RunRow> {
        let fits = |row: &&RunRow| {
            self.thread.as_ref().is_none_or(|thread| *thread == row.thread)
                && (self.statuses.is_empty() || self.statuses.contains(&row.status))
        };
        let found: Vec<&RunRow> = rows.filter(fits).collect();
        let page = found.iter().skip(self.offset).take(self.limit);
        Found { rows: page.map(|row| (*row).clone()).collect(), total: found.len() as u64 }
    }
}

impl AssistantQuery {
    /// Returns the page of the rows that fit, given all assistants in their current versions.
    #[must_use]
    pub fn page(&self, rows: impl IntoIterator<Item = AssistantRow>) -> Found<AssistantRow> {
        let name = self.name.as_ref().map(|name| name.to_lowercase());
        let fits = |row: &AssistantRow| {
            self.graph.as_ref().is_none_or(|graph| *graph == row.graph)
                && name.as_ref().is_none_or(|name| row.name.to_lowercase().contains(name))
                && contains_entries(&row.metadata, &self.metadata)
        };
        self.order.page(rows.into_iter().filter(fits).collect(), (self.offset, self.limit))
    }
}

impl CronQuery {
    /// Returns the page of the rows that fit, given all schedules.
    #[must_use]
    pub fn page(&self, rows: impl IntoIterator<Item = CronRow>) -> Found<CronRow> {
        let fits = |row: &CronRow| {
            self.assistant.as_ref().is_none_or(|assistant| *assistant == row.assistant)
                && self.thread.as_ref().is_none_or(|thread| Some(thread) == row.thread.as_ref())
                && self.enabled.is_none_or(|enabled| enabled == row.enabled)
                && self.due_ms.is_none_or(|due| row.next_ms.is_some_and(|next| next <= due))
                && contains_entries(&row.metadata, &self.metadata)
        };
        self.order.page(rows.into_iter().filter(fits).collect(), (self.offset, self.limit))
    }
}

fn contains_entries(entries: &Map<String, Value>, part: &Map<String, Value>) -> bool {
    part.iter().all(|(name, part)| entries.get(name).is_some_and(|value| contains(value, part)))
}

/// Returns `true` if `value` contains `part`: objects member by member, lists as sets, other values if they are equal.
#[must_use]
pub fn contains(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => {
            part.iter().all(|(name, part)| value.get(name).is_some_and(|value| contains(value, part)))
        }
        (Value::Array(values), Value::Array(parts)) => {
            parts.iter().all(|part| values.iter().any(|value| contains(value, part)))
        }
        _ => value == part,
    }
}
