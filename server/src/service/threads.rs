//! Threads: their rows, which begin with a request, or when a thread without one is first asked for.

use serde_json::{Map, Value};
use superstep_core::checkpoint::{At, Checkpoint, Load};
use superstep_core::id::ThreadId;
use superstep_core::records::life::Cancelled;
use superstep_core::records::{
    CancelAction, Expiry, ExpiryStrategy, RunQuery, RunRow, RunStatus, ThreadChange, ThreadQuery, ThreadRow,
    ThreadStatus,
};
use superstep_core::state::Json;

use super::shown;
use super::state::{has, thread_id, view_of};
use super::{Scope, Service, new_id};
use crate::wire::select::select;
use crate::wire::thread::{Prune, ThreadCreate, ThreadPatch, ThreadSearch, ThreadView, Ttl, thread};
use crate::wire::{Failure, ids};
use crate::work::Stop;

/// The number of rows that are read at once.
const PAGE: usize = 256;

impl Service {
    /// Creates a thread.
    pub(crate) async fn create_thread(&self, scope: &Scope, request: ThreadCreate) -> Result<Value, Failure> {
        let id = request.id.unwrap_or_else(new_id);
        ids::check("thread", &id)?;
        if let Ok(existing) = self.thread_row(scope, &id).await {
            return match request.returns_existing {
                true => self.shown_thread(&existing, false).await,
                false => Err(exists(&id)),
            };
        }
        let row = self.new_row(scope, &id, request.metadata, request.ttl);
        let (row, is_new) = self.0.records.insert_thread(row).await?;
        if !is_new {
            // Another request has created it meanwhile.
            return match request.returns_existing && scope.admits(&row.metadata) {
                true => self.shown_thread(&row, false).await,
                false => Err(exists(&id)),
            };
        }
        if !request.supersteps.is_empty()
            && let Err(failure) = self.store_supersteps(&row, &request.supersteps).await
        {
            // The client may repeat the request with the same id.
            if let Err(failure) = self.remove(&row).await {
                tracing::warn!(%failure, thread = %row.id, "a thread without its supersteps was not removed");
            }
            return Err(failure);
        }
        let row = self.thread_row(scope, &id).await?;
        self.shown_thread(&row, false).await
    }

    /// Returns the row of a new thread.
    pub(super) fn new_row(
        &self,
        scope: &Scope,
        id: &str,
        metadata: Map<String, Value>,
        ttl: Option<Ttl>,
    ) -> ThreadRow {
        let now = self.now_ms();
        let named = metadata.get("graph_id").and_then(Value::as_str);
        let graph = named.filter(|name| self.0.graphs.named(name).is_some()).map(Into::into);
        ThreadRow {
            id: thread_id(id),
            graph,
            metadata: scope.stamped(metadata),
            status: ThreadStatus::Idle,
            config: Json::encode(&Map::new()).expect("an object has a JSON form"),
            error: None,
            created_ms: now,
            updated_ms: now,
            state_updated_ms: now,
            expiry: ttl.map(|ttl| Expiry::new(ttl.minutes, ttl.strategy, now)),
        }
    }

    /// Returns the row of a thread that the client may use. A thread that a program began without a server gets a row.
    pub(super) async fn thread_row(&self, scope: &Scope, id: &str) -> Result<ThreadRow, Failure> {
        let unknown = || Failure::not_found(format!("Thread with ID {id} not found"));
        let id = thread_id(id);
        if id.is_below() {
            return Err(unknown());
        }
        let row = match self.0.records.thread(&id).await? {
            Some(row) => Some(row),
            None => self.adopted(&id).await?,
        };
        row.filter(|row| scope.admits(&row.metadata)).ok_or_else(unknown)
    }

    /// Returns the row of a thread that the client may use, or `None` if no client has a thread with this id yet.
    pub(super) async fn present_or_future(
        &self,
        scope: &Scope,
        id: &str,
    ) -> Result<Option<ThreadRow>, Failure> {
        match self.thread_row(scope, id).await {
            Ok(row) => Ok(Some(row)),
            Err(failure)
                if failure.status == 404 && self.0.records.thread(&thread_id(id)).await?.is_none() =>
            {
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Returns the row of a thread that has checkpoints of a served graph, and no row. It is stored, unless the server
    /// only reads.
    pub(super) async fn adopted(&self, id: &ThreadId) -> Result<Option<ThreadRow>, Failure> {
        let Some(saver) = self.0.graphs.iter().find_map(|graph| graph.saver()) else { return Ok(None) };
        let Load::Whole(head) = saver.load(id, At::Head, None).await? else { return Ok(None) };
        if self.0.graphs.named(head.graph.as_str()).is_none() {
            return Ok(None);
        }
        let Checkpoint { id: at, frontier, .. } = &head.checkpoint;
        let row = self.row_of_head(id, head.graph.as_str(), at.unix_ms(), frontier.nodes().next().is_some());
        Ok(Some(match self.0.options.is_read_only {
            true => row,
            false => self.0.records.insert_thread(row).await?.0,
        }))
    }

    /// Returns a row for a thread, given its graph, the time of its head, and if that has next tasks.
    pub(super) fn row_of_head(&self, id: &ThreadId, graph: &str, at_ms: u64, leads_on: bool) -> ThreadRow {
        let metadata = Map::from_iter([("graph_id".to_owned(), Value::from(graph))]);
        let row = self.new_row(&Scope::default(), id.as_str(), metadata, None);
        let status = if leads_on { ThreadStatus::Interrupted } else { ThreadStatus::Idle };
        ThreadRow { status, created_ms: at_ms, updated_ms: at_ms, state_updated_ms: at_ms, ..row }
    }

    pub(super) async fn shown_thread(&self, row: &ThreadRow, shows_ttl: bool) -> Result<Value, Failure> {
        Ok(thread(row, &self.view(row).await?, shows_ttl))
    }

    async fn view(&self, row: &ThreadRow) -> Result<ThreadView, Failure> {
        let Some(graph) = row.graph.as_ref().and_then(|graph| self.0.graphs.named(graph.as_str())) else {
            return Ok(ThreadView::default());
        };
        Ok(view_of(shown::head(graph, &row.id).await?.as_ref()))
    }

    /// Returns a thread.
    pub(crate) async fn thread(&self, scope: &Scope, id: &str, has_ttl: bool) -> Result<Value, Failure> {
        let row = self.thread_row(scope, id).await?;
        self.shown_thread(&row, has_ttl).await
    }

    /// Changes the metadata and the lifetime of a thread.
    pub(crate) async fn patch_thread(
        &self,
        scope: &Scope,
        id: &str,
        patch: ThreadPatch,
    ) -> Result<Value, Failure> {
        let row = self.thread_row(scope, id).await?;
        let now = self.now_ms();
        let expiry = patch.ttl.map(|ttl| Some(Expiry::new(ttl.minutes, ttl.strategy, now)));
        let metadata = Some(scope.stamped(patch.metadata));
        let change = ThreadChange { metadata, expiry, ..ThreadChange::default() };
        let row = self.0.records.change_thread(&row.id, change, now).await?.unwrap_or(row);
        self.shown_thread(&row, false).await
    }

    /// Ends the runs of a thread, and deletes it.
    pub(crate) async fn delete_thread(&self, scope: &Scope, id: &str) -> Result<(), Failure> {
        let row = self.thread_row(scope, id).await?;
        self.remove(&row).await
    }

    /// Ends the runs of a thread, and deletes its rows and checkpoints.
    pub(super) async fn remove(&self, row: &ThreadRow) -> Result<(), Failure> {
        for run in self.active(&row.id).await? {
            let cancelled =
                self.0.records.cancel_run(&run.id, CancelAction::Interrupt, self.now_ms()).await?;
            match cancelled {
                Cancelled::Asked => {
                    if let Some(control) = self.0.worker.control(&run.id) {
                        control.stop(Stop::Interrupt);
                    }
                    self.0.hub.ended(&run).await?;
                }
                Cancelled::Ended => self.cancel_handed(run),
                Cancelled::Over => {}
            }
        }
        if let Some(graph) = self.graph_of(row)? {
            graph.thread(row.id.clone()).delete().await?;
        }
        self.0.records.delete_thread(&row.id).await?;
        self.0.hub.wake(&row.id);
        Ok(())
    }

    /// Returns the runs of a thread that have not ended, oldest first.
    pub(super) async fn active(&self, thread: &ThreadId) -> Result<Vec<RunRow>, Failure> {
        let statuses = vec![RunStatus::Pending, RunStatus::Running];
        let query = RunQuery { thread: Some(thread.clone()), statuses, offset: 0, limit: usize::MAX };
        let mut runs = self.0.records.runs(&query).await?.rows;
        runs.reverse();
        Ok(runs)
    }

    /// Finds threads. Returns a page and the number of all threads that fit.
    pub(crate) async fn search_threads(
        &self,
        scope: &Scope,
        request: ThreadSearch,
    ) -> Result<(Vec<Value>, u64), Failure> {
        let mut query = threads_of(scope, &request);
        if request.values.is_empty() {
            (query.offset, query.limit) = (request.page.offset, request.page.limit);
            let found = self.found_threads(&query).await?;
            let mut threads = Vec::with_capacity(found.rows.len());
            for row in &found.rows {
                let view = if needs_view(&request) { self.view(row).await? } else { ThreadView::default() };
                threads.push(rendered(row, &view, &request));
            }
            return Ok((threads, found.total));
        }
        let (mut threads, mut total) = (Vec::new(), 0);
        let page = request.page.offset..request.page.offset.saturating_add(request.page.limit);
        self.each_with_values(query, &request.values, |row, view| {
            if page.contains(&total) {
                threads.push(rendered(row, view, &request));
            }
            total += 1;
        })
        .await?;
        Ok((threads, total as u64))
    }

    /// Returns the number of threads that fit.
    pub(crate) async fn count_threads(&self, scope: &Scope, request: ThreadSearch) -> Result<u64, Failure> {
        let query = threads_of(scope, &request);
        if request.values.is_empty() {
            return Ok(self.found_threads(&ThreadQuery { limit: 0, ..query }).await?.total);
        }
        let mut total = 0;
        self.each_with_values(query, &request.values, |_, _| total += 1).await?;
        Ok(total)
    }

    /// Calls a function for each thread whose state contains these entries.
    async fn each_with_values(
        &self,
        mut query: ThreadQuery,
        values: &Map<String, Value>,
        mut on: impl FnMut(&ThreadRow, &ThreadView),
    ) -> Result<(), Failure> {
        // Threads without rows are listed again for each page.
        query.limit = if self.0.options.is_read_only { usize::MAX } else { PAGE };
        loop {
            let rows = self.found_threads(&query).await?.rows;
            for row in &rows {
                let view = self.view(row).await?;
                if view.values.as_ref().is_some_and(|state| has(state, values)) {
                    on(row, &view);
                }
            }
            if rows.len() < query.limit {
                return Ok(());
            }
            query.offset += query.limit;
        }
    }

    /// Copies a thread, which shares its past with the copy.
    pub(crate) async fn copy_thread(&self, scope: &Scope, id: &str) -> Result<Value, Failure> {
        let row = self.thread_row(scope, id).await?;
        let copy = new_id();
        if let Some(graph) = self.graph_of(&row)? {
            match graph.thread(row.id.clone()).head().await {
                Ok(head) => drop(head.fork(copy.as_str()).await?),
                Err(superstep_core::run::ThreadError::NeverRan(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let new = self.new_row(scope, &copy, row.metadata.clone(), None);
        let status = if row.status == ThreadStatus::Busy { ThreadStatus::Interrupted } else { row.status };
        let new = ThreadRow { graph: row.graph.clone(), config: row.config.clone(), status, ..new };
        let (row, _) = self.0.records.insert_thread(new).await?;
        self.shown_thread(&row, false).await
    }

    /// Deletes threads, or all of their checkpoints but the latest. Returns the number of threads.
    pub(crate) async fn prune_threads(&self, scope: &Scope, request: Prune) -> Result<u64, Failure> {
        let mut rows = Vec::new();
        for id in &request.threads {
            match self.thread_row(scope, id).await {
                Ok(row) => rows.push(row),
                Err(failure) if failure.status == 404 => {}
                Err(failure) => return Err(failure),
            }
        }
        match request.strategy {
            ExpiryStrategy::Delete => {
                for row in &rows {
                    self.remove(row).await?;
                }
            }
            ExpiryStrategy::KeepLatest => self.keep_latest(&rows).await?,
        }
        Ok(rows.len() as u64)
    }
}

fn exists(id: &str) -> Failure {
    Failure::conflict(format!("Thread with ID {id} already exists"))
}

fn threads_of(scope: &Scope, request: &ThreadSearch) -> ThreadQuery {
    let ids = request.ids.as_ref().map(|ids| ids.iter().map(|id| thread_id(id)).collect());
    let metadata = scope.narrowed(request.metadata.clone());
    ThreadQuery { ids, metadata, status: request.status, order: request.order, offset: 0, limit: 0 }
}

/// Returns `true` if the response has a part that the checkpoints of the threads have.
fn needs_view(request: &ThreadSearch) -> bool {
    let of_view = |name: &String| name == "values" || name == "interrupts";
    !request.extract.is_empty() || request.select.as_ref().is_none_or(|names| names.iter().any(of_view))
}

fn rendered(row: &ThreadRow, view: &ThreadView, request: &ThreadSearch) -> Value {
    let whole = thread(row, view, false);
    let extracted = (!request.extract.is_empty()).then(|| request.extract.of(&whole));
    let mut thread = select(whole, request.select.as_deref());
    if let Some(extracted) = extracted {
        thread["extracted"] = extracted;
    }
    thread
}
