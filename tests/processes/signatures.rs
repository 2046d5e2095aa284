//! Several processes on one file and the same threads: each turn has one winner, the others get an error, and nothing
//! is lost.

use std::path::Path;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

use crate::workers::{Worker, meet, report, role, start_all};

const PROCESSES: usize = 4;
const THREADS: usize = 25;

/// Turns that each process must win on each thread.
fn turns(durability: Durability) -> usize {
    if durability == Durability::Power { 1 } else { 2 }
}

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

async fn books(db: &Path, durability: Durability) -> Graph<Book> {
    let mut g = StateGraph::<Book>::new("book");
    let sign = g.node("sign", sign);
    g.edge(START, sign);
    g.edge(sign, END);
    let saver = SqliteSaver::options().durability(durability).open(db).await.expect("the file opens");
    g.compile().expect("a sound graph").checkpointer(saver)
}

/// Signs every book, again and again until each signature is in it. Returns the number of times that another process
/// was faster.
async fn sign_all(db: &Path, durability: Durability, worker: usize) -> usize {
    let books = books(db, durability).await;
    meet();
    let mut outrun = 0;
    for turn in 0..turns(durability) {
        for book in 0..THREADS {
            // All begin with the same book, so that they compete.
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

fn several_processes(durability: Durability, test: &str) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    if let Some((worker, db)) = role() {
        return report(&runtime.block_on(sign_all(&db, durability, worker)));
    }
    let folder = tempfile::tempdir().expect("a folder for the file");
    let db = folder.path().join("books.db");
    let numbers: Vec<usize> = (0..PROCESSES).collect();
    let workers = start_all(test, &numbers, &db);
    let outrun: usize = workers.into_iter().map(Worker::finish::<usize>).sum();
    assert!(outrun > 0, "they met");

    runtime.block_on(async {
        let books = books(&db, durability).await;
        for book in 0..THREADS {
            let head = books.thread(format!("book {book}")).head().await.expect("the thread is there");
            let mut entries = head.state().entries.clone();
            entries.sort();
            let expected: Vec<String> = (0..PROCESSES)
                .flat_map(|worker| (0..turns(durability)).map(move |turn| format!("{worker}/{turn}")))
                .collect();
            assert_eq!(entries, expected, "book {book}: each signature once");
            assert!(head.next().is_empty(), "book {book} is finished");
        }
    });
}

#[test]
fn several_processes_on_the_same_threads_lose_nothing() {
    several_processes(Durability::Process, "signatures::several_processes_on_the_same_threads_lose_nothing");
}

#[test]
fn nor_do_they_when_each_step_survives_a_loss_of_power() {
    several_processes(Durability::Power, "signatures::nor_do_they_when_each_step_survives_a_loss_of_power");
}
