//! Lists, and the selection of a checkpoint.

use superstep_core::checkpoint::{
    At, CheckpointName, NamedCheckpoint, Page, PastScan, Scan, StepRecord, StoreError, Summary, ThreadScan,
    ThreadSummary,
};
use superstep_core::id::{CheckpointId, NodeName, ThreadId};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::call::Call;
use super::error::{About, located};
use super::parts::{Line, Part, Reading, Schemas, kind};
use super::session::Session;
use super::stored::Texts;
use crate::error::corrupt;
use crate::history::decode::{Outline, Outlines};

/// The number of checkpoints that are read at once to find one before a node.
const PAGE: i64 = 256;

/// The selection of a checkpoint, as the functions take it.
#[derive(Clone, Debug)]
pub(crate) enum Selection {
    Head,
    Id(CheckpointId),
    Named(CheckpointName),
    /// A checkpoint by its position, with the row of the thread whose work on it is visible.
    Seen {
        seq: i64,
        worker: i64,
    },
}

impl Selection {
    /// Adds the arguments that select the checkpoint on a thread.
    pub(crate) fn call<'c>(&'c self, function: &'static str, thread: &'c ThreadId) -> Call<'c> {
        self.of(Call::of(function), thread)
    }

    /// Adds the same to a call without arguments.
    pub(crate) fn of<'c>(&'c self, call: Call<'c>, thread: &'c ThreadId) -> Call<'c> {
        let call = call.name(thread.as_str());
        match self {
            Self::Head => call.small(0).uuid(None).bytes(None).int(None).int(None),
            Self::Id(id) => call.small(1).uuid(Some(id.0)).bytes(None).int(None).int(None),
            Self::Named(name) => call.small(2).uuid(None).name(name.as_str()).int(None).int(None),
            Self::Seen { seq, worker } => call.small(3).uuid(None).bytes(None).int(*seq).int(*worker),
        }
    }
}

pub(crate) fn clamped(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl Session {
    /// Returns the selection of a checkpoint; `None` if the thread does not exist.
    pub(crate) async fn select(&self, thread: &ThreadId, at: &At) -> Result<Option<Selection>, StoreError> {
        let node = match at {
            At::Head => return Ok(Some(Selection::Head)),
            At::Id(id) => return Ok(Some(Selection::Id(*id))),
            At::Named(name) => return Ok(Some(Selection::Named(name.clone()))),
            At::Before(node) => node,
        };
        let mut from = Selection::Head;
        loop {
            let rows = self.read(&from.call("history", thread).int(PAGE), &About::thread(thread)).await?;
            let mut parts = Part::all(&rows)?.into_iter();
            let Some(place) = parts.next() else { return Ok(None) };
            let mut worker = place.int(1)?;
            let mut oldest = None;
            for part in parts {
                let line = Line::of(&part, self.texts())?;
                if Outline::parse(&line.manifest)?.is_next(node) {
                    return Ok(Some(Selection::Seen { seq: line.seq, worker }));
                }
                worker = line.owner;
                oldest = line.parent;
            }
            from = match oldest {
                Some(seq) => Selection::Seen { seq, worker },
                None => {
                    let checkpoint = format!("before node {node}");
                    return Err(StoreError::NoCheckpoint { thread: thread.clone(), checkpoint });
                }
            };
        }
    }

    /// Calls a function that takes a selection, to which `last` adds its last argument; `None` if the thread does not exist.
    pub(crate) async fn read_at(
        &self,
        function: &'static str,
        thread: &ThreadId,
        at: &At,
        last: impl for<'c> FnOnce(Call<'c>) -> Call<'c> + Send,
    ) -> Result<Option<Vec<Row>>, StoreError> {
        self.read_selected(Call::of(function), thread, at, last).await
    }

    /// The same for any call without arguments.
    pub(crate) async fn read_selected(
        &self,
        call: Call<'static>,
        thread: &ThreadId,
        at: &At,
        last: impl for<'c> FnOnce(Call<'c>) -> Call<'c> + Send,
    ) -> Result<Option<Vec<Row>>, StoreError> {
        let Some(selection) = self.select(thread, at).await? else { return Ok(None) };
        let checkpoint = match at {
            At::Head => "its head".to_owned(),
            At::Id(id) => id.to_string(),
            At::Named(name) => format!("named {name}"),
            At::Before(node) => format!("before node {node}"),
        };
        let about = About { checkpoint, ..About::thread(thread) };
        self.read(&last(selection.of(call, thread)), &about).await.map(Some)
    }

    pub(crate) async fn page(&self, scan: Scan) -> Result<Page, StoreError> {
        Ok(match scan {
            Scan::Threads(scan) => Page::Threads(self.threads(&scan).await?),
            Scan::Asks { graph } => Page::Asks(self.open_asks(&graph).await?),
            Scan::History(past) => Page::Summaries(self.history(&past).await?),
            Scan::Steps(past) => Page::Steps(self.steps(&past).await?),
            Scan::Lineage { thread } => Page::Summaries(self.lineage(&thread).await?),
            Scan::Names { thread } => Page::Names(self.names(&thread).await?),
            Scan::Leases => {
                let rows = self.read(&Call::of("leases"), &About::thread(&"".into())).await?;
                Page::Leases(Part::all(&rows)?.iter().map(Part::lease).collect::<Result<_, _>>()?)
            }
        })
    }

    async fn threads(&self, scan: &ThreadScan) -> Result<Vec<ThreadSummary>, StoreError> {
        let call = Call::of("threads").bytes(scan.graph.as_ref().map(|graph| graph.as_str().as_bytes()));
        let call = call.argument(scan.unfinished, Type::BOOL);
        let call = call.bytes(scan.after.as_ref().map(|after| after.as_str().as_bytes()));
        let call = call.int(scan.limit.map(clamped));
        let rows = self.read(&call, &About::thread(&"".into())).await?;
        let mut outlines = Outlines::default();
        let threads = ThreadParts::all(&rows)?.into_iter();
        threads.map(|parts| parts.summary(self.texts(), &mut outlines)).collect()
    }

    async fn open_asks(
        &self,
        graph: &NodeName,
    ) -> Result<Vec<(ThreadId, superstep_core::checkpoint::AskRecord)>, StoreError> {
        let call = Call::of("open_asks").name(graph.as_str());
        let rows = self.read(&call, &About::thread(&"".into())).await?;
        let asks = Part::all(&rows)?.into_iter();
        let ask = |part: Part| {
            let thread: ThreadId = part.name(0)?.into();
            let ask = part.ask(self.texts()).map_err(|error| located(error, &thread, None))?;
            Ok((thread, ask))
        };
        asks.map(ask).collect()
    }

    async fn history(&self, past: &PastScan) -> Result<Vec<Summary>, StoreError> {
        let limit = clamped(past.limit);
        let rows = self
            .read_at("history", &past.thread, &past.from, |call| call.int(limit))
            .await?
            .unwrap_or_default();
        self.summaries(&rows, |_| true)
    }

    async fn lineage(&self, thread: &ThreadId) -> Result<Vec<Summary>, StoreError> {
        let call = Call::of("lineage").name(thread.as_str());
        let rows = self.read(&call, &About::thread(thread)).await?;
        self.summaries(&rows, |line| !line.thread.is_below())
    }

    fn summaries(&self, rows: &[Row], is_wanted: impl Fn(&Line) -> bool) -> Result<Vec<Summary>, StoreError> {
        let mut outlines = Outlines::default();
        let parts = Part::all(rows)?.into_iter().filter(|part| part.kind == kind::LINE);
        let mut lines = Vec::new();
        for part in parts {
            let line = Line::of(&part, self.texts())?;
            if is_wanted(&line) {
                lines.push(line.summary(&mut outlines)?);
            }
        }
        Ok(lines)
    }

    async fn steps(&self, past: &PastScan) -> Result<Vec<StepRecord>, StoreError> {
        let limit = clamped(past.limit);
        let rows = self
            .read_at("steps", &past.thread, &past.from, |call| call.int(limit))
            .await?
            .unwrap_or_default();
        let mut schemas = Schemas::new();
        let (mut readings, mut ids): (Vec<Reading>, Vec<CheckpointId>) = Default::default();
        for part in Part::all(&rows)? {
            if part.kind == kind::PLACE {
                readings.push(Reading::default());
            }
            let reading =
                readings.last_mut().ok_or_else(|| corrupt("a checkpoint", "its place is missing"))?;
            if part.kind == kind::LINE {
                ids.push(CheckpointId(part.uuid(0)?));
            }
            let added = reading.add(part, self.texts(), &mut schemas);
            added.map_err(|error| located(error, &past.thread, ids.last().copied()))?;
        }
        let steps = readings.into_iter().zip(ids).map(|(reading, id)| {
            reading.step(self.texts(), &schemas).map_err(|error| located(error, &past.thread, Some(id)))
        });
        steps.collect()
    }

    async fn names(&self, thread: &ThreadId) -> Result<Vec<NamedCheckpoint>, StoreError> {
        let call = Call::of("names").name(thread.as_str());
        let rows = self.read(&call, &About::thread(thread)).await?;
        let named = Part::all(&rows)?.into_iter().map(|part| {
            let name = part.name(0)?.parse().map_err(|error| corrupt("a name", error))?;
            Ok(NamedCheckpoint { name, checkpoint: CheckpointId(part.uuid(1)?) })
        });
        named.collect()
    }
}

/// The parts of a thread in a list: its row, its head, and its open questions.
pub(crate) struct ThreadParts {
    place: Part,
    others: Vec<Part>,
}

impl ThreadParts {
    /// Returns the parts by thread.
    pub(crate) fn all(rows: &[Row]) -> Result<Vec<Self>, StoreError> {
        let mut threads: Vec<Self> = Vec::new();
        for part in Part::all(rows)? {
            match threads.last_mut() {
                _ if part.kind == kind::PLACE => threads.push(Self { place: part, others: Vec::new() }),
                Some(thread) => thread.others.push(part),
                None => return Err(corrupt("a thread", "its row is missing")),
            }
        }
        Ok(threads)
    }

    pub(crate) fn name(&self) -> Result<ThreadId, StoreError> {
        Ok(self.place.name(1)?.into())
    }

    /// Returns the entry of the list.
    pub(crate) fn summary(self, texts: &Texts, outlines: &mut Outlines) -> Result<ThreadSummary, StoreError> {
        let thread = self.name()?;
        let (mut head, mut open_asks) = (None, Vec::new());
        for part in self.others {
            if part.kind == kind::LINE {
                head = Some(Line::of(&part, texts)?.summary(outlines)?);
            } else {
                let ask = part.ask(texts);
                open_asks.push(
                    ask.map_err(|error| {
                        located(error, &thread, head.as_ref().map(|head: &Summary| head.id))
                    })?,
                );
            }
        }
        open_asks.retain(superstep_core::checkpoint::AskRecord::is_open);
        let missing = || corrupt(format_args!("thread {thread}"), "its latest checkpoint is missing");
        let head = head.ok_or_else(missing)?;
        Ok(ThreadSummary { graph: self.place.name(0)?.to_owned(), head, open_asks, thread })
    }
}
