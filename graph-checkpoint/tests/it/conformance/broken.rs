//! A store with one defect.

mod answers;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use superstep_conformance::Clock;
use superstep_core::checkpoint::{
    Answered, Answers, Around, AskRecord, At, Carried, Checkpoint, Checkpointer, CheckpointerExt, Claim,
    Commit, Committed, EffectId, EffectOutcome, EffectRecord, EffectWrite, LeaseRecord, LeaseReply,
    LeaseRequest, Load, Loaded, Mark, MemorySaver, NamedCheckpoint, Naming, Page, PastScan, Scan, StoreError,
    Summary, TaskResult, ThreadScan, ThreadSummary, Watch, Work,
};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use superstep_core::state::{Op, SizeLimits};

use super::defect::Defect;

/// Sleeps for as long as callers that began together need to pass a check, on a busy machine, too.
async fn wait_between_check_and_write() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

/// A memory saver with a defect. Clones are openings of one store.
pub(crate) struct Broken {
    inner: Arc<dyn Checkpointer>,
    /// The store that a holder of a lease could write to without it.
    unfenced: Option<Arc<dyn Checkpointer>>,
    defect: Defect,
    /// Data that this opening has and the store lacks.
    beside: Mutex<Beside>,
}

#[derive(Default)]
struct Beside {
    results: HashMap<(ThreadId, CheckpointId), Vec<TaskResult>>,
    notes: HashMap<(ThreadId, CheckpointId), Vec<EffectRecord>>,
    outcomes: Vec<(ThreadId, CheckpointId, EffectId, EffectOutcome)>,
    left: HashMap<CheckpointId, Vec<AskRecord>>,
    forks: HashMap<ThreadId, ThreadId>,
    expired: Vec<(ThreadId, AskRecord)>,
    subgraphs: Vec<ThreadId>,
    heads: HashMap<ThreadId, Loaded>,
    fences: HashMap<ThreadId, u64>,
}

impl Broken {
    pub(crate) fn new(defect: Defect) -> Self {
        let limits = match defect {
            Defect::GrowsUntilUnreadable => SizeLimits::default().values(usize::MAX),
            _ => SizeLimits::default(),
        };
        Self::of(Arc::new(MemorySaver::new().size_limits(limits)), None, defect)
    }

    /// A store with a given clock.
    pub(crate) fn at(clock: Clock, defect: Defect) -> Self {
        let latest = AtomicU64::new(0);
        let begun = clock();
        let now = move || match defect {
            Defect::LeasesNeverEnd => begun,
            Defect::DeadLeasesWaitForTheClock => {
                latest.fetch_max(clock(), Ordering::Relaxed);
                latest.load(Ordering::Relaxed)
            }
            _ => clock(),
        };
        Self::of(Arc::new(MemorySaver::new().lease_clock(now)), None, defect)
    }

    fn of(inner: Arc<dyn Checkpointer>, unfenced: Option<Arc<dyn Checkpointer>>, defect: Defect) -> Self {
        Self { inner, unfenced, defect, beside: Mutex::default() }
    }

    pub(crate) fn reopened(&self) -> Self {
        Self::of(self.inner.clone(), None, self.defect)
    }

    fn has(&self, defect: Defect) -> bool {
        self.defect == defect
    }

    fn beside(&self) -> MutexGuard<'_, Beside> {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn named(&self, thread: &ThreadId) -> ThreadId {
        match thread.as_str().split_once('\0') {
            Some((name, _)) if self.has(Defect::NulEndsNames) => name.into(),
            _ => thread.clone(),
        }
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Loaded>, StoreError> {
        self.inner.read(thread, At::Head).await
    }

    async fn head_id(&self, thread: &ThreadId) -> Result<Option<CheckpointId>, StoreError> {
        Ok(self.head(thread).await?.map(|head| head.checkpoint.id))
    }

    /// The checkpoint as the defect lets it be stored.
    fn stored(&self, checkpoint: &Checkpoint) -> Checkpoint {
        let mut stored = checkpoint.clone();
        if self.has(Defect::MetadataLost) {
            stored.metadata.clear();
        }
        let texts = stored.changes.iter_mut().flat_map(|change| &mut change.ops);
        for op in texts {
            if let Op::Set(json) | Op::Extend(json) = op {
                *json = self.defect.text(json);
            }
        }
        stored
    }

    /// Returns a loaded checkpoint as the defect shows it.
    async fn seen(&self, thread: &ThreadId, mut loaded: Loaded) -> Result<Loaded, StoreError> {
        let id = loaded.checkpoint.id;
        let place = (thread.clone(), id);
        match self.defect {
            Defect::ResultsReversed => loaded.results.reverse(),
            Defect::SecondResultWins => {
                let later = self.beside().results.get(&place).cloned().unwrap_or_default();
                for held in &mut loaded.results {
                    let replaced = later.iter().rfind(|result| result.task == held.task);
                    *held = replaced.cloned().unwrap_or_else(|| held.clone());
                }
            }
            Defect::NotesAreVolatile => {
                loaded.effects.extend(self.beside().notes.get(&place).cloned().unwrap_or_default());
            }
            Defect::DeleteLeavesAnswers if loaded.asks.is_empty() => {
                loaded.asks = self.beside().left.get(&id).cloned().unwrap_or_default();
            }
            Defect::ForkSeesTheOthersWork if loaded.results.is_empty() => {
                let from = self.beside().forks.get(thread).cloned();
                if let Some(from) = from
                    && let Some(other) = self.inner.read(&from, At::Id(id)).await.ok().flatten()
                {
                    (loaded.results, loaded.asks) = (other.results, other.asks);
                }
            }
            Defect::BarrierDropsAnswers if self.head_id(thread).await? != Some(id) => loaded.asks.clear(),
            _ => {}
        }
        Ok(loaded)
    }

    /// Writes the outcomes that were queued.
    async fn write_outcomes(&self) -> Result<(), StoreError> {
        let queued = std::mem::take(&mut self.beside().outcomes);
        for (thread, base, effect, outcome) in queued {
            self.inner.end_effect(&thread, base, &effect, outcome).await?;
        }
        Ok(())
    }

    /// The lease as the store knows it.
    fn real(&self, lease: &LeaseRecord) -> LeaseRecord {
        let fence = self.beside().fences.get(&lease.thread).copied();
        LeaseRecord { fence: fence.unwrap_or(lease.fence), ..lease.clone() }
    }

    async fn older(&self, thread: &ThreadId, id: CheckpointId) -> Result<Option<Loaded>, StoreError> {
        let lines = self.inner.history(thread, At::Id(id), 2).await?;
        let oldest = lines.last().map_or(id, |line| line.id);
        self.inner.read(thread, At::Id(oldest)).await
    }

    async fn record_first(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        result: TaskResult,
    ) -> Result<TaskResult, StoreError> {
        if self.has(Defect::SecondResultWins) {
            let place = (thread.clone(), base);
            self.beside().results.entry(place).or_default().push(result.clone());
            return self.inner.record_result(thread, base, result.clone()).await.map(|_| result);
        }
        if self.has(Defect::ResultsNeverCompleted)
            && let Some(head) = self.head(thread).await?
            && let Some(held) = head.results.into_iter().find(|held| held.task == result.task)
        {
            return Ok(held);
        }
        self.inner.record_result(thread, base, result).await
    }

    async fn begin_first(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        effect: EffectRecord,
    ) -> Result<Option<EffectRecord>, StoreError> {
        self.write_outcomes().await?;
        if self.has(Defect::CheckThenBegin) {
            let held = self.head(thread).await?.map(|head| head.effects).unwrap_or_default();
            let is_free = !held.iter().any(|held| held.id == effect.id);
            wait_between_check_and_write().await;
            let begun = self.inner.begin_effect(thread, base, effect).await?;
            return Ok(begun.filter(|_| !is_free));
        }
        let unfenced = self.unfenced.as_ref().filter(|_| self.has(Defect::OnlyCommitsAreFenced));
        let begun = unfenced.unwrap_or(&self.inner).begin_effect(thread, base, effect).await?;
        Ok(begun.filter(|_| !self.has(Defect::EffectsBeginTwice)))
    }

    async fn past(&self, scan: PastScan) -> Result<Vec<Summary>, StoreError> {
        let PastScan { thread, from, limit } = scan;
        assert!(limit > 0 || !self.has(Defect::PanicsWithoutLimit), "no lines are asked for");
        let limit = limit.saturating_add(usize::from(self.has(Defect::LimitIsOneTooMany)));
        let mut lines = self.inner.history(&self.named(&thread), from, limit).await?;
        if self.has(Defect::OrderOfIds) {
            lines.sort_by_key(|line| std::cmp::Reverse(line.id));
        }
        Ok(lines)
    }

    async fn claim(&self, claim: Claim) -> Result<LeaseReply, StoreError> {
        let thread = claim.thread.clone();
        if self.has(Defect::CheckThenAcquire) {
            let held = self.inner.leases().await?;
            let is_free = held.iter().all(|held| held.thread != thread || held.ttl_ms == 0);
            wait_between_check_and_write().await;
            if is_free {
                self.inner.break_lease(&thread).await?;
            }
        }
        let mut reply = self.inner.lease(LeaseRequest::Acquire(claim)).await?;
        if self.has(Defect::FencesRepeat)
            && let LeaseReply::Held(lease) | LeaseReply::HeldByAnother(lease) = &mut reply
        {
            self.beside().fences.insert(thread, lease.fence);
            lease.fence = 1;
        }
        Ok(reply)
    }
}

#[async_trait]
impl Around for Broken {
    fn inner(&self) -> &dyn Checkpointer {
        &*self.inner
    }

    async fn load(&self, thread: &ThreadId, at: At, known: Option<CheckpointId>) -> Result<Load, StoreError> {
        let thread = &self.named(thread);
        self.write_outcomes().await?;
        if self.has(Defect::HeadsAreCached)
            && at == At::Head
            && let Some(head) = self.beside().heads.get(thread)
        {
            return Ok(Load::Whole(Box::new(head.clone())));
        }
        if known.is_some() {
            return match self.defect {
                Defect::KnownIsAlwaysTheHead => Ok(Load::Unchanged(Carried::default())),
                _ => self.inner.load(thread, at, known).await,
            };
        }
        let is_before = matches!(at, At::Before(_));
        let Some(mut loaded) = self.inner.read(thread, at).await? else { return Ok(Load::Missing) };
        if self.has(Defect::GrowsUntilUnreadable) {
            let limits = SizeLimits::default();
            let checked = loaded.values.iter().try_for_each(|held| limits.check(held.value.as_str()));
            checked.map_err(|excess| StoreError::TooLarge { place: "the state".into(), excess })?;
        }
        if is_before && self.has(Defect::BeforeIsOneTooOld) {
            loaded = self.older(thread, loaded.checkpoint.id).await?.unwrap_or(loaded);
        }
        if self.has(Defect::HeadsAreCached) {
            self.beside().heads.insert(thread.clone(), loaded.clone());
        }
        self.seen(thread, loaded).await.map(|seen| Load::Whole(Box::new(seen)))
    }

    async fn commit(&self, mut commit: Commit) -> Result<Committed, StoreError> {
        self.write_outcomes().await?;
        commit.thread = self.named(&commit.thread);
        commit.checkpoint = Arc::new(self.stored(&commit.checkpoint));
        let thread = commit.thread.clone();
        let run = commit.checkpoint.run;
        match self.defect {
            Defect::NoCompareAndSwap => commit.expected = self.head_id(&thread).await?,
            Defect::CompareThenSwap if self.head_id(&thread).await? == commit.expected => {
                wait_between_check_and_write().await;
                commit.expected = self.head_id(&thread).await?;
            }
            Defect::InputsGoFirst => {
                if let Some(input) = commit.input.take() {
                    let below = Commit { checkpoint: Arc::clone(&input), carried: None, ..commit.clone() };
                    match self.inner.commit(below).await? {
                        Committed::New | Committed::Already => commit.expected = Some(input.id),
                        lost => return Ok(lost),
                    }
                }
            }
            Defect::EmittedLost => commit.emitted.clear(),
            Defect::CarriedLost => commit.carried = None,
            Defect::CommitsOverlook => commit.recorded = None,
            Defect::SubgraphsListed if thread.is_below() => self.beside().subgraphs.push(thread.clone()),
            Defect::LargeValuesRefused => {
                let ops = commit.checkpoint.changes.iter().flat_map(|change| &change.ops);
                let long = ops.filter(|op| matches!(op, Op::Set(json) if json.as_str().len() > 1 << 20));
                if long.count() > 0 {
                    return Err(StoreError::Io("it is too long".into()));
                }
            }
            Defect::HeadsAreCached => drop(self.beside().heads.remove(&thread)),
            _ => {}
        }
        let is_orphan = matches!(thread.above(), Some(above) if self.head(&above).await?.is_none());
        let committed = match &self.unfenced {
            Some(unfenced) if self.has(Defect::CommitsAreFencedTooLate) => {
                let done = unfenced.commit(commit).await;
                self.inner.flush(&thread).await.and(done)
            }
            _ => self.inner.commit(commit).await,
        };
        match (self.defect, committed) {
            (Defect::OrphansAcknowledged, _) if is_orphan => Ok(Committed::New),
            (Defect::UnknownParentAcknowledged, Err(StoreError::NoCheckpoint { .. })) => Ok(Committed::New),
            (Defect::RefusalsAreFailures, Err(error)) => Err(StoreError::Io(error.into())),
            (Defect::AlreadyIsConflict, Ok(Committed::Already)) => {
                Ok(Committed::Conflict { head: self.head_id(&thread).await? })
            }
            (Defect::OutrunTellsNothing, Ok(Committed::Outrun(mut told))) => {
                (told.results, told.effects) = (Vec::new(), Vec::new());
                Ok(Committed::Outrun(told))
            }
            (Defect::AdoptsTheHead, Ok(Committed::Adopt(_))) => {
                Ok(Committed::Adopt(Box::new(self.head(&thread).await?.expect("one of them has won"))))
            }
            (Defect::AdoptsAnotherRun, Ok(Committed::Conflict { head: Some(head) })) => {
                let head = self.inner.read(&thread, At::Id(head)).await?.expect("it is the head");
                match head.checkpoint.run == run {
                    true => Ok(Committed::Conflict { head: Some(head.checkpoint.id) }),
                    false => Ok(Committed::Adopt(Box::new(head))),
                }
            }
            (_, committed) => committed,
        }
    }

    async fn record(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        work: Work,
    ) -> Result<Option<TaskResult>, StoreError> {
        match work {
            Work::Finished(result) => self.record_first(thread, base, result).await.map(Some),
            Work::Asks(_) => match self.inner.record(thread, base, work).await {
                Err(StoreError::Superseded { .. }) if self.has(Defect::LateQuestionsAccepted) => Ok(None),
                asked => asked,
            },
            Work::Failure(_) => self.inner.record(thread, base, work).await,
        }
    }

    async fn answer(&self, answers: Answers) -> Result<Answered, StoreError> {
        self.reply(answers).await
    }

    async fn effect(
        &self,
        thread: &ThreadId,
        base: CheckpointId,
        write: EffectWrite,
    ) -> Result<Option<EffectRecord>, StoreError> {
        match write {
            EffectWrite::Begin(effect) => self.begin_first(thread, base, effect).await,
            EffectWrite::End { effect, outcome } if self.has(Defect::OutcomesAreQueued) => {
                self.beside().outcomes.push((thread.clone(), base, effect, outcome));
                Ok(None)
            }
            EffectWrite::Note(effect) if self.has(Defect::NotesAreVolatile) => {
                self.beside().notes.entry((thread.clone(), base)).or_default().push(effect);
                Ok(None)
            }
            write => self.inner.effect(thread, base, write).await,
        }
    }

    async fn scan(&self, scan: Scan) -> Result<Page, StoreError> {
        match (self.defect, scan) {
            (_, Scan::History(scan)) => self.past(scan).await.map(Page::Summaries),
            (Defect::LineageIsHistory, Scan::Lineage { thread }) => {
                self.inner.history(&thread, At::Head, usize::MAX).await.map(Page::Summaries)
            }
            (Defect::LeasesUnlisted, Scan::Leases) => Ok(Page::Leases(Vec::new())),
            (Defect::PagesRepeatTheLast, Scan::Threads(scan)) => {
                let from =
                    self.inner.threads_of(ThreadScan { after: None, limit: None, ..scan.clone() }).await?;
                let is_on_page =
                    |line: &ThreadSummary| scan.after.as_ref().is_none_or(|after| line.thread >= *after);
                let page = from.into_iter().filter(is_on_page).take(scan.limit.unwrap_or(usize::MAX));
                Ok(Page::Threads(page.collect()))
            }
            (Defect::SubgraphsListed, Scan::Threads(scan)) => {
                let mut threads = self.inner.threads_of(scan).await?;
                let subgraphs = self.beside().subgraphs.clone();
                for thread in subgraphs {
                    for head in self.inner.history(&thread, At::Head, 1).await? {
                        let (thread, graph) = (thread.clone(), "graph".to_owned());
                        threads.push(ThreadSummary { thread, graph, head, open_asks: Vec::new() });
                    }
                }
                Ok(Page::Threads(threads))
            }
            (_, scan) => self.inner.scan(scan).await,
        }
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseReply, StoreError> {
        match request {
            LeaseRequest::Acquire(claim) => self.claim(claim).await,
            LeaseRequest::Renew(lease) => match self.inner.renew(&self.real(&lease)).await {
                Err(StoreError::LeaseLost { .. }) if self.has(Defect::LostLeasesAreRenewed) => {
                    Ok(LeaseReply::Held(lease))
                }
                renewed => Ok(LeaseReply::Held(LeaseRecord { fence: lease.fence, ..renewed? })),
            },
            LeaseRequest::RenewAll(leases) => {
                let mut all = Vec::new();
                for lease in leases {
                    match Around::lease(self, LeaseRequest::Renew(lease)).await {
                        Ok(LeaseReply::Held(lease)) => all.push(Some(lease)),
                        _ => all.push(None),
                    }
                }
                Ok(LeaseReply::Renewed(all))
            }
            LeaseRequest::Release(lease) if self.has(Defect::AnybodyReleases) => {
                self.inner.lease(LeaseRequest::Break(lease.thread)).await
            }
            LeaseRequest::Release(lease) => self.inner.lease(LeaseRequest::Release(self.real(&lease))).await,
            LeaseRequest::Break(thread) if self.has(Defect::BrokenLeasesStand) => {
                let held = self.inner.leases().await?.into_iter().find(|held| held.thread == thread);
                Ok(LeaseReply::Free(held))
            }
            LeaseRequest::Break(_) => self.inner.lease(request).await,
        }
    }

    async fn name(&self, thread: &ThreadId, naming: Naming) -> Result<(), StoreError> {
        match (self.inner.name(thread, naming.clone()).await, naming) {
            (Err(StoreError::NameTaken { name, .. }), again) if self.has(Defect::NamesMove) => {
                self.inner.name(thread, Naming::Remove { name }).await?;
                self.inner.name(thread, again).await
            }
            (named, _) => named,
        }
    }

    async fn fork(&self, from: &ThreadId, at: CheckpointId, to: &ThreadId) -> Result<(), StoreError> {
        self.inner.fork(from, at, to).await?;
        self.beside().forks.insert(to.clone(), from.clone());
        Ok(())
    }

    async fn delete(&self, graph: &NodeName, thread: &ThreadId) -> Result<(), StoreError> {
        if self.has(Defect::NamesKeepNothing) {
            for other in self.inner.threads().await? {
                for NamedCheckpoint { name, .. } in self.inner.names(&other.thread).await? {
                    self.inner.name(&other.thread, Naming::Remove { name }).await?;
                }
            }
        }
        if self.has(Defect::DeleteLeavesAnswers) {
            for line in self.inner.history(thread, At::Head, usize::MAX).await? {
                let loaded = self.inner.read(thread, At::Id(line.id)).await?;
                self.beside().left.insert(line.id, loaded.map(|loaded| loaded.asks).unwrap_or_default());
            }
        }
        self.inner.delete(graph, thread).await
    }

    async fn watch(&self, watch: Watch) -> Result<Mark, StoreError> {
        match self.defect {
            Defect::MarksStandStill => Ok(Mark::from_bytes([0; 16])),
            _ => self.inner.watch(watch).await,
        }
    }

    fn fenced(&self, lease: &LeaseRecord) -> Option<Arc<dyn Checkpointer>> {
        if self.has(Defect::NothingIsFenced) {
            return Some(self.inner.clone());
        }
        let fenced = self.inner.fenced(&self.real(lease))?;
        Some(Arc::new(Self::of(fenced, Some(self.inner.clone()), self.defect)))
    }
}
