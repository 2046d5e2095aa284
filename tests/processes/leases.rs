//! Processes with leases: the thread of a killed process is taken over when its lease has expired, and a stopped
//! process is fenced off when it wakes.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

use crate::workers::{Worker, meet, report, role};

/// The `ttl` of leases: longer than a ready process takes to ask for the thread, also on a busy machine.
const TTL: Duration = Duration::from_secs(5);

/// A process of the test.
#[derive(Debug, Serialize, Deserialize)]
struct Role {
    name: String,
    lease: Option<Wait>,
    pays: Pays,
}

/// The way in which the node `pay` pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Pays {
    /// It waits for the gate, and then pays.
    AtTheGate,
    /// Its payment takes until the gate opens.
    ForLong,
    /// The same, and it pays again if the outcome is unknown.
    ForLongAndAgain,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Wait {
    No,
    UntilItIsFree,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Log {
    #[reducer(Append)]
    done: Vec<String>,
}

/// The outside world: one line per action, with its process.
#[derive(Clone, FromRef)]
struct World {
    folder: PathBuf,
}

impl World {
    fn of(db: &Path) -> Self {
        Self { folder: db.parent().expect("it is in a folder").to_owned() }
    }

    fn note(&self, who: &str, what: &str) {
        let book = OpenOptions::new().create(true).append(true).open(self.folder.join("book"));
        let line = format!("{who} {what}\n");
        book.expect("it can be written").write_all(line.as_bytes()).expect("it can be written");
    }

    /// Adds an action, as an effect.
    async fn does(&self, fx: &Effects, who: &str, what: &str, pays: Pays) -> std::io::Result<()> {
        let effect = async || {
            self.note(who, what);
            if pays != Pays::AtTheGate {
                self.wait_for_the_gate(who).await;
            }
            Ok::<_, std::io::Error>(())
        };
        fx.run(what, effect).await
    }

    async fn wait_for_the_gate(&self, who: &str) {
        println!("\n{who} is at it");
        while !self.folder.join("gate").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The processes that did this action, in order.
    fn who(&self, what: &str) -> Vec<String> {
        let book = std::fs::read_to_string(self.folder.join("book")).unwrap_or_default();
        let lines = book.lines().filter_map(|line| line.split_once(' '));
        lines.filter(|(_, done)| *done == what).map(|(who, _)| who.to_owned()).collect()
    }

    fn open_the_gate(&self) {
        std::fs::write(self.folder.join("gate"), "").expect("it can be written");
    }
}

async fn graph(role: &Role, db: &Path) -> Graph<Log> {
    let mut g = StateGraph::<Log>::new("pays");
    let (world, name) = (World::of(db), role.name.clone());
    let reserve = {
        let (world, name) = (world.clone(), name.clone());
        g.node("reserve", move |fx: Effects| {
            let (world, name) = (world.clone(), name.clone());
            async move { world.does(&fx, &name, "reserves", Pays::AtTheGate).await }
        })
    };
    let pays = role.pays;
    let pay = g.node("pay", move |fx: Effects| {
        let (world, name) = (world.clone(), name.clone());
        async move {
            world.note(&name, "begins");
            if pays == Pays::AtTheGate {
                world.wait_for_the_gate(&name).await;
            }
            world.does(&fx, &name, "pays", pays).await?;
            Ok::<_, std::io::Error>(Log::update().done([name.as_str()]))
        }
    });
    if pays == Pays::ForLongAndAgain {
        g.policy(pay).on_unknown(OnUnknown::Retry);
    }
    g.edge(START, reserve);
    g.edge(reserve, pay);
    g.edge(pay, END);
    let saver = SqliteSaver::open(db).await.expect("the file opens");
    let graph = g.compile().expect("a sound graph").checkpointer(saver);
    let lease = Lease::new().ttl(TTL).holder(&role.name);
    match role.lease {
        None => graph,
        Some(Wait::No) => graph.lease(lease),
        Some(Wait::UntilItIsFree) => graph.lease(lease.wait(Duration::from_secs(600))),
    }
}

fn as_worker() -> bool {
    let Some((role, db)) = role::<Role>() else { return false };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let ended = runtime.block_on(async {
        let thread = graph(&role, &db).await.thread("t");
        meet();
        let run = match thread.head().await {
            Ok(_) => thread.resume().await,
            Err(_) => thread.run(Log::update()).await,
        };
        match run {
            Ok(run) => run.finished().expect("nothing stops it").done.join(" and "),
            Err(error) => error.to_string(),
        }
    });
    report(&ended);
    true
}

/// A file, and its outside world.
struct Stage {
    _folder: tempfile::TempDir,
    db: PathBuf,
    world: World,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the file");
        let db = folder.path().join("pays.db");
        Self { world: World::of(&db), db, _folder: folder }
    }

    fn ready(&self, test: &str, name: &str, lease: Option<Wait>, pays: Pays) -> Worker {
        Worker::start(&format!("leases::{test}"), &Role { name: name.into(), lease, pays }, &self.db)
    }

    fn start(&self, test: &str, name: &str, lease: Option<Wait>) -> Worker {
        self.start_paying(test, name, lease, Pays::AtTheGate)
    }

    fn start_paying(&self, test: &str, name: &str, lease: Option<Wait>, pays: Pays) -> Worker {
        let mut worker = self.ready(test, name, lease, pays);
        worker.begin();
        worker
    }

    /// The final state in the file.
    fn done(&self) -> Vec<String> {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
        runtime.block_on(async {
            let role = Role { name: "test".into(), lease: None, pays: Pays::AtTheGate };
            let head = graph(&role, &self.db).await.thread("t").head().await;
            head.expect("the thread is there").state().done.clone()
        })
    }
}

fn signal(worker: &Worker, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), worker.id().to_string()]).status();
    assert!(sent.expect("there is a program kill").success());
}

#[test]
fn who_was_killed_is_relieved() {
    if as_worker() {
        return;
    }
    let (stage, test) = (Stage::new(), "who_was_killed_is_relieved");
    let mut first = stage.start(test, "first", Some(Wait::No));
    first.wait_for("first is at it");
    let mut hasty = stage.ready(test, "hasty", Some(Wait::No), Pays::AtTheGate);
    signal(&first, "KILL");
    hasty.begin();
    let refused: String = hasty.finish();
    assert!(refused.starts_with("thread t is run by first until "), "{refused}");
    stage.world.open_the_gate();
    let ended: String = stage.start(test, "second", Some(Wait::UntilItIsFree)).finish();
    assert_eq!(ended, "second");
    assert_eq!(stage.world.who("reserves"), ["first"], "that superstep was stored");
    assert_eq!(stage.world.who("pays"), ["second"]);
    assert_eq!(stage.world.who("begins"), ["first", "second"]);
}

#[test]
fn who_was_stopped_is_shut_out() {
    if as_worker() {
        return;
    }
    let (stage, test) = (Stage::new(), "who_was_stopped_is_shut_out");
    let mut first = stage.start(test, "first", Some(Wait::No));
    first.wait_for("first is at it");
    signal(&first, "STOP");
    let mut second = stage.start(test, "second", Some(Wait::UntilItIsFree));
    second.wait_for("second is at it");
    // Both are inside the node, before the same effect.
    stage.world.open_the_gate();
    signal(&first, "CONT");
    let lost: String = first.finish();
    assert!(lost.starts_with("this run has lost thread t"), "{lost}");
    assert_eq!(second.finish::<String>(), "second");
    assert_eq!(stage.world.who("reserves"), ["first"]);
    assert_eq!(stage.world.who("pays"), ["second"], "it begins once");
    assert_eq!(stage.done(), ["second"]);
}

/// The check can fail: without a lease a second process works on the thread at the same time.
#[test]
fn without_a_lease_two_processes_do_the_same_work() {
    if as_worker() {
        return;
    }
    let (stage, test) = (Stage::new(), "without_a_lease_two_processes_do_the_same_work");
    let mut first = stage.start(test, "first", None);
    first.wait_for("first is at it");
    let mut second = stage.start(test, "second", None);
    second.wait_for("second is at it");
    assert_eq!(stage.world.who("begins"), ["first", "second"], "one of them in vain");
    stage.world.open_the_gate();
    let ended = [first, second].map(|worker| worker.finish::<String>());
    assert!(ended.iter().any(|ended| ended.contains("another run moved thread t on")), "{ended:?}");
    assert_eq!(stage.world.who("pays").len(), 1, "the journal keeps effects apart even so");
}

/// A process cannot distinguish an effect that another process is running from one that a crash interrupted: without a
/// lease the policy for unknown outcomes applies, and with `Retry` the effect happens again.
#[test]
fn without_a_lease_an_effect_of_another_process_is_an_unknown_one() {
    if as_worker() {
        return;
    }
    let test = "without_a_lease_an_effect_of_another_process_is_an_unknown_one";
    for lease in [None, Some(Wait::No)] {
        let stage = Stage::new();
        let mut first = stage.start_paying(test, "first", lease, Pays::ForLong);
        first.wait_for("first is at it");
        let second: String = stage.start_paying(test, "second", lease, Pays::ForLong).finish();
        let expected = if lease.is_some() { "thread t is run by first" } else { "its outcome is unknown" };
        assert!(second.contains(expected), "{second}");
        assert_eq!(stage.world.who("pays"), ["first"]);
        let mut third = stage.start_paying(test, "third", lease, Pays::ForLongAndAgain);
        if lease.is_none() {
            third.wait_for("third is at it");
            assert_eq!(stage.world.who("pays"), ["first", "third"], "it happened twice");
            stage.world.open_the_gate();
            third.finish::<String>();
        } else {
            // It is refused while the first one is still at it.
            let third: String = third.finish();
            assert!(third.contains(expected), "{third}");
            assert_eq!(stage.world.who("pays"), ["first"]);
            stage.world.open_the_gate();
        }
        first.finish::<String>();
    }
}
