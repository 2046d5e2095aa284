//! Several processes on one file and the same threads: each turn has one winner, the others are told so, and
//! nothing is lost.
//!
//! The workers are this test's own program, started again with [`WORKER`] in its environment.

#![expect(clippy::print_stdout, reason = "the workers talk to the test")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

/// Set for a worker process: its number.
const WORKER: &str = "SUPERSTEP_TEST_WORKER";
/// Set for a worker process: the file that all share.
const DB: &str = "SUPERSTEP_TEST_DB";
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

/// Signs every book, again and again until each signature is in it. Returns how often another was faster.
async fn sign_all(db: &Path, durability: Durability, worker: usize) -> usize {
    let books = books(db, durability).await;
    // All begin at once: when the test closes their input.
    println!("worker {worker} is ready");
    std::io::stdin().read_to_end(&mut Vec::new()).expect("the test is there");
    let mut outrun = 0;
    for turn in 0..turns(durability) {
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

fn several_processes(durability: Durability, test: &str) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    if let (Ok(worker), Ok(db)) = (std::env::var(WORKER), std::env::var(DB)) {
        let worker = worker.parse().expect("a worker has a number");
        let outrun = runtime.block_on(sign_all(Path::new(&db), durability, worker));
        println!("\noutrun {outrun}");
        return;
    }

    let folder = tempfile::tempdir().expect("a folder for the file");
    let db = folder.path().join("books.db");
    let spawn = |worker: usize| {
        Command::new(std::env::current_exe().expect("a test knows its program"))
            .args(["--exact", test, "--nocapture"])
            .env(WORKER, worker.to_string())
            .env(DB, &db)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a worker starts")
    };
    let mut workers: Vec<_> = (0..PROCESSES).map(spawn).collect();
    let mut outputs: Vec<_> = workers.iter_mut().map(ready).collect();
    workers.iter_mut().for_each(|worker| drop(worker.stdin.take()));
    let mut outrun = 0;
    for (worker, output) in workers.into_iter().zip(&mut outputs) {
        let mut said = String::new();
        output.read_to_string(&mut said).expect("a worker speaks");
        let ended = worker.wait_with_output().expect("a worker ends");
        said.push_str(&String::from_utf8_lossy(&ended.stderr));
        assert!(ended.status.success(), "{said}");
        assert!(!said.contains("locked"), "{said}");
        let times = said.lines().find_map(|line| line.strip_prefix("outrun "));
        outrun += times.and_then(|times| times.parse::<usize>().ok()).expect("it says how often");
    }
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

/// Waits until a worker has opened the file; returns the rest of what it will say.
fn ready(worker: &mut Child) -> impl BufRead + use<> {
    let mut output = BufReader::new(worker.stdout.take().expect("its output is piped"));
    let mut said = String::new();
    while !said.contains("is ready") {
        let read = output.read_line(&mut said).expect("a worker speaks");
        assert!(read > 0, "a worker ended before it was ready: {said}");
    }
    output
}

#[test]
fn several_processes_on_the_same_threads_lose_nothing() {
    several_processes(Durability::Process, "several_processes_on_the_same_threads_lose_nothing");
}

#[test]
fn nor_do_they_when_each_step_survives_a_loss_of_power() {
    several_processes(Durability::Power, "nor_do_they_when_each_step_survives_a_loss_of_power");
}
