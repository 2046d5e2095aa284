//! Several processes on one file and the same threads: each turn has one winner, the others are told so, and
//! nothing is lost.
//!
//! The workers are this test's own program, started again with [`WORKER`] in its environment.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

/// Set for a worker process: its number.
const WORKER: &str = "SUPERSTEP_TEST_WORKER";
/// Set for a worker process: the file that all share.
const DB: &str = "SUPERSTEP_TEST_DB";
const PROCESSES: usize = 4;
const THREADS: usize = 25;
/// Turns that each process must win on each thread.
const TURNS: usize = 2;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Book {
    entry: String,
    #[reducer(Append)]
    entries: Vec<String>,
}

async fn sign(book: Snapshot<Book>) -> Update<Book> {
    tokio::task::yield_now().await;
    Book::update().entries([book.entry.as_str()])
}

async fn books(db: &Path) -> Graph<Book> {
    let mut g = StateGraph::<Book>::new("book");
    let sign = g.node("sign", sign);
    g.edge(START, sign);
    g.edge(sign, END);
    let saver =
        SqliteSaver::options().durability(Durability::Process).open(db).await.expect("the file opens");
    g.compile().expect("a sound graph").checkpointer(saver)
}

/// Signs every book, again and again until each signature is in it. Returns how often another was faster.
async fn sign_all(db: &Path, worker: usize) -> usize {
    let books = books(db).await;
    let mut outrun = 0;
    for turn in 0..TURNS {
        for book in 0..THREADS {
            // All begin with the same book, so that they meet.
            let thread = books.thread(format!("book {book}"));
            let entry = format!("{worker}/{turn}");
            loop {
                match thread.run(Book::update().entry(entry.as_str())).await {
                    Ok(run) => {
                        assert_eq!(run.state.entries.last(), Some(&entry));
                        break;
                    }
                    Err(RunError::Superseded { .. }) => outrun += 1,
                    Err(error) => panic!("worker {worker}: {error}"),
                }
            }
        }
    }
    outrun
}

#[test]
fn several_processes_on_the_same_threads_lose_nothing() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    if let (Ok(worker), Ok(db)) = (std::env::var(WORKER), std::env::var(DB)) {
        let worker = worker.parse().expect("a worker has a number");
        let outrun = runtime.block_on(sign_all(Path::new(&db), worker));
        println!("worker {worker} was outrun {outrun} times");
        return;
    }

    let folder = tempfile::tempdir().expect("a folder for the file");
    let db = folder.path().join("books.db");
    let spawn = |worker: usize| {
        Command::new(std::env::current_exe().expect("a test knows its program"))
            .args(["--exact", "several_processes_on_the_same_threads_lose_nothing", "--nocapture"])
            .env(WORKER, worker.to_string())
            .env(DB, &db)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a worker starts")
    };
    let workers: Vec<_> = (0..PROCESSES).map(spawn).collect();
    for worker in workers {
        let output = worker.wait_with_output().expect("a worker ends");
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}");
        assert!(!said.contains("locked"), "{said}");
        said.lines().filter(|line| line.contains("outrun")).for_each(|line| println!("{line}"));
    }

    runtime.block_on(async {
        let books = books(&db).await;
        for book in 0..THREADS {
            let head = books.thread(format!("book {book}")).head().await.expect("the thread is there");
            let mut entries = head.state().entries.clone();
            entries.sort();
            let expected: Vec<String> = (0..PROCESSES)
                .flat_map(|worker| (0..TURNS).map(move |turn| format!("{worker}/{turn}")))
                .collect();
            assert_eq!(entries, expected, "book {book}: each signature once");
            assert!(head.next().is_empty(), "book {book} is finished");
        }
    });
}
