//! The workloads written by hand: what a program without the framework does for the same promises.

use std::error::Error;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use rusqlite::{Connection, params};

type Failure = Box<dyn Error + Send + Sync>;
type Boxed<T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send>>;

type Branch<S> = Box<dyn Fn(&S) -> Vec<usize> + Send + Sync>;

/// A node: its code, which makes writes, and the branch that chooses the next nodes by position.
struct Node<S, W> {
    start: Box<dyn Fn(Arc<S>) -> Boxed<Vec<W>> + Send + Sync>,
    branch: Branch<S>,
}

/// A loop over nodes that share a snapshot of the state and return writes.
pub(crate) struct Loop<S, W> {
    nodes: Vec<Node<S, W>>,
    apply: fn(&mut S, W),
}

impl<S: Clone + Send + Sync + 'static, W: Send + Sync + 'static> Loop<S, W> {
    /// A loop without nodes; `apply` merges a write.
    pub(crate) fn new(apply: fn(&mut S, W)) -> Self {
        Self { nodes: Vec::new(), apply }
    }

    /// Adds a node.
    pub(crate) fn node<F>(
        mut self,
        code: impl Fn(Arc<S>) -> F + Send + Sync + 'static,
        branch: impl Fn(&S) -> Vec<usize> + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Vec<W>, Failure>> + Send + 'static,
    {
        self.nodes
            .push(Node { start: Box::new(move |state| Box::pin(code(state))), branch: Box::new(branch) });
        self
    }

    /// Runs at most `steps` steps from the first node on. `commit` stores the writes of a step before they are merged.
    pub(crate) async fn run(&self, state: S, steps: u64, mut commit: impl FnMut(&[Vec<W>])) -> S {
        let mut state = Arc::new(state);
        let mut next = vec![0];
        for _ in 0..steps {
            let mut updates = Vec::with_capacity(next.len());
            for &node in &next {
                updates.push((self.nodes[node].start)(Arc::clone(&state)).await.expect("no node fails"));
            }
            commit(&updates);
            let merged = Arc::make_mut(&mut state);
            updates.into_iter().flatten().for_each(|write| (self.apply)(merged, write));
            next = next.into_iter().flat_map(|node| (self.nodes[node].branch)(&state)).collect();
            if next.is_empty() {
                break;
            }
            // A loop whose nodes never wait must not starve its neighbours.
            tokio::task::coop::consume_budget().await;
        }
        Arc::unwrap_or_clone(state)
    }
}

/// Checkpoints in SQLite: a row each, and the head of each thread.
pub(crate) struct Ledger(Connection);

impl Ledger {
    /// A new file.
    pub(crate) fn create(path: &Path, synchronous: &str) -> Self {
        let file = Connection::open(path).expect("a new file opens");
        file.pragma_update(None, "journal_mode", "WAL").expect("WAL is available");
        file.pragma_update(None, "synchronous", synchronous).expect("a known level");
        file.execute_batch(
            "CREATE TABLE checkpoint(id INTEGER PRIMARY KEY, thread INTEGER, parent INTEGER, body TEXT);
             CREATE TABLE thread(id INTEGER PRIMARY KEY, head INTEGER);",
        )
        .expect("new tables");
        Self(file)
    }

    /// Begins a transaction.
    pub(crate) fn begin(&self) {
        self.execute("BEGIN IMMEDIATE");
    }

    /// Makes durable what was stored since.
    pub(crate) fn end(&self) {
        self.execute("COMMIT");
    }

    fn execute(&self, sql: &str) {
        self.0.prepare_cached(sql).expect("a sound statement").execute([]).expect("it succeeds");
    }

    /// Stores a checkpoint of `thread` on top of `head`, in the transaction that was begun. Returns the new head.
    pub(crate) fn store(&self, thread: u32, head: Option<i64>, body: &str) -> i64 {
        let insert = "INSERT INTO checkpoint(thread, parent, body) VALUES(?1, ?2, ?3)";
        let mut insert = self.0.prepare_cached(insert).expect("a sound statement");
        let new = insert.insert(params![thread, head, body]).expect("an insert succeeds");
        let moved = match head {
            Some(head) => {
                let swap = "UPDATE thread SET head = ?1 WHERE id = ?2 AND head = ?3";
                let mut swap = self.0.prepare_cached(swap).expect("a sound statement");
                swap.execute(params![new, thread, head])
            }
            None => {
                let first = "INSERT INTO thread(id, head) VALUES(?1, ?2)";
                let mut first = self.0.prepare_cached(first).expect("a sound statement");
                first.execute(params![thread, new])
            }
        };
        assert_eq!(moved.expect("the head moves"), 1, "the head is where it was");
        new
    }

    /// Stores a checkpoint in a transaction of its own, and moves `head` to it.
    pub(crate) fn commit(&self, head: &mut Option<i64>, body: &str) {
        self.begin();
        *head = Some(self.store(1, *head, body));
        self.end();
    }
}
