//! The baseline: one prepared statement that inserts a row and moves the head of its thread.

use std::time::Instant;

use futures_util::future::join_all;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Statement};

use crate::database::{connect, ms_since};

const TABLES: &str = "DROP TABLE IF EXISTS raw_head, raw_log;
    CREATE TABLE raw_head(thread integer PRIMARY KEY, head bigint NOT NULL) WITH (fillfactor = 50);
    CREATE TABLE raw_log(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, thread integer, parent bigint, body text)";

const STEP: &str =
    "WITH moved AS (UPDATE raw_head SET head = head + 1 WHERE thread = $1 AND head = $2 RETURNING head)
    INSERT INTO raw_log(thread, parent, body) SELECT $1, $2, $3 FROM moved";

/// A connection with a head of its own.
pub(crate) struct Raw {
    client: Client,
    step: Statement,
    thread: i32,
    head: i64,
    body: String,
}

impl Raw {
    /// Opens connections to new tables, each for a thread of its own, with rows of this size.
    pub(crate) async fn open(url: &str, threads: i32, bytes: usize) -> Vec<Self> {
        connect(url).await.batch_execute(TABLES).await.expect("new tables");
        let mut all = Vec::new();
        for thread in 0..threads {
            let client = connect(url).await;
            let insert = "INSERT INTO raw_head(thread, head) VALUES ($1, 0)";
            client.execute(insert, &[&thread]).await.expect("a new thread");
            let step = client.prepare(STEP).await.expect("a sound statement");
            // Some bytes of the row are not in its text.
            let body = "x".repeat(bytes.saturating_sub(50));
            all.push(Self { client, step, thread, head: 0, body });
        }
        all
    }

    /// Takes a number of steps, and returns their time in milliseconds.
    pub(crate) async fn steps(&mut self, steps: u64) -> f64 {
        let begun = Instant::now();
        for _ in 0..steps {
            let moved = self.client.execute(&self.step, &[&self.thread, &self.head, &self.body]).await;
            assert_eq!(moved.expect("the statement is carried out"), 1, "the head is the expected one");
            self.head += 1;
        }
        ms_since(begun)
    }

    /// Takes steps with a statement that the server parses each time, and returns their time in milliseconds.
    pub(crate) async fn unprepared_steps(&mut self, steps: u64) -> f64 {
        let begun = Instant::now();
        for _ in 0..steps {
            let arguments: [(&(dyn ToSql + Sync), Type); 3] =
                [(&self.thread, Type::INT4), (&self.head, Type::INT8), (&self.body, Type::TEXT)];
            let moved = self.client.query_typed(&format!("{STEP} RETURNING id"), &arguments).await;
            assert_eq!(moved.expect("the statement is carried out").len(), 1, "the head is the expected one");
            self.head += 1;
        }
        ms_since(begun)
    }

    /// Takes a number of steps on each connection at the same time, and returns their time in milliseconds.
    pub(crate) async fn all(connections: Vec<Self>, steps: u64) -> f64 {
        let begun = Instant::now();
        let all = connections.into_iter().map(|mut raw| tokio::spawn(async move { raw.steps(steps).await }));
        for steps in join_all(all).await {
            steps.expect("no task panics");
        }
        ms_since(begun)
    }
}
