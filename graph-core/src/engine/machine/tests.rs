//! Script tests of the machine: each event must give exactly these commands.
//!
//! A script is a list of events, each with its commands written as one line. A commit is written with the nodes
//! that ran and those that are next: `commit 1 [a b] then [c w]`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;

use core::time::Duration;

use super::super::wires::{Wires, id};
use super::*;
use crate::graph::{END, each_item, to_node};
use crate::node::Item;

mod breakpoints;
mod failures;
mod planning;
mod races;
mod single_tasks;

/// A machine, and the topology that names the nodes in its commands.
struct Play {
    machine: Machine,
    topology: Arc<Topology>,
    /// The driver's barrier, from the latest commit command.
    barrier: Option<Box<Barrier>>,
}

/// An event, or a store's answer, in a line of a script.
enum Line {
    Event(Event),
    /// The store's answer to a commit.
    Commit(Committed),
    Unmergeable,
}

impl From<Event> for Line {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

impl From<Committed> for Line {
    fn from(committed: Committed) -> Self {
        Self::Commit(committed)
    }
}

/// The commit is stored.
const STORED: Line = Line::Commit(Committed::New);

impl Play {
    fn new(topology: &Arc<Topology>) -> Self {
        Self::with(topology, Limits::default())
    }

    fn with(topology: &Arc<Topology>, limits: Limits) -> Self {
        let machine = Machine::new(Arc::clone(topology), limits);
        Self { machine, topology: Arc::clone(topology), barrier: None }
    }

    /// Runs a script; each event must give exactly its line.
    #[track_caller]
    fn script<L: Into<Line>, const N: usize>(&mut self, lines: [(L, &str); N]) {
        for (number, (line, expected)) in lines.into_iter().enumerate() {
            assert_eq!(self.event(line), expected, "line {number}");
        }
    }

    /// Passes a line to the machine. Returns the commands that follow.
    fn event(&mut self, line: impl Into<Line>) -> String {
        self.happens(line);
        let mut line: Vec<String> = Vec::new();
        while let Some(command) = self.machine.next_command() {
            line.push(match command {
                Command::Run { task } => format!("run {task:?}"),
                Command::Retry { task, attempt, after } => {
                    format!("retry {task:?} attempt {attempt} after {after:?}")
                }
                Command::HandOver { task, attempt } => format!("hand over {task:?} attempt {attempt}"),
                Command::RecordFailure { task } => format!("record failure {task:?}"),
                Command::Fail { task } => format!("fail {task:?}"),
                Command::Record { task } => format!("record {task:?}"),
                Command::Settle => "settle".to_string(),
                Command::Commit(barrier) => self.commit(barrier),
                Command::Reload => "reload".to_string(),
                Command::Adopt(head) => format!("adopt {}", head.checkpoint.step),
                Command::Abort => "abort".to_string(),
                Command::Stop(ending) => format!("stop {ending:?}"),
            });
        }
        line.join(", ")
    }

    /// Passes a line to the machine without taking a command.
    fn happens(&mut self, line: impl Into<Line>) {
        let barrier = |play: &mut Self| play.barrier.take().expect("a commit was asked for");
        let event = match line.into() {
            Line::Event(event) => event,
            Line::Commit(committed) => Event::Committed(barrier(self), committed),
            Line::Unmergeable => Event::Unmergeable(barrier(self)),
        };
        self.machine.handle(event);
    }

    fn commit(&mut self, barrier: Box<Barrier>) -> String {
        let name = |node| self.topology.node_name(node).as_str();
        let ran: Vec<&str> = barrier.ran().map(name).collect();
        let next: Vec<&str> = barrier.next().map(|task| name(task.node)).collect();
        let line = format!("commit {} [{}] then [{}]", barrier.step, ran.join(" "), next.join(" "));
        self.barrier = Some(barrier);
        line
    }

    /// Returns the causes of the next tasks.
    fn causes(&self) -> Vec<Cause> {
        let barrier = self.barrier.as_ref().expect("a commit was asked for");
        barrier.next().map(|task| task.cause.clone()).collect()
    }

    /// Runs input and START, up to the first user superstep.
    fn started(mut self) -> Self {
        self.event(input(None));
        self.event(STORED);
        self.event(finished(0, END));
        self.event(STORED);
        self
    }

    /// Finishes the `width` tasks of a superstep in order.
    fn finish(&mut self, width: u32) -> String {
        let lines = (0..width).map(|task| self.event(finished(task, END)));
        match lines.last() {
            Some(line) if line == "settle" => self.event(Event::Settled),
            line => line.unwrap_or_default(),
        }
    }

    /// Finishes the `width` tasks of a superstep in order, and commits.
    fn superstep(&mut self, width: u32) -> String {
        self.finish(width);
        self.event(STORED)
    }
}

fn input(last_step: Option<i64>) -> Line {
    Event::Begin(Begin::Input { last_step }).into()
}

fn restored(topology: &Topology, step: i64, nodes: &[&str]) -> Restored {
    let task = |node: &&str| PlannedTask { node: id(topology, node), cause: Cause::Input, input: None };
    Restored {
        step,
        tasks: nodes.iter().map(task).collect(),
        joins: Arrivals::none(topology),
        finished: Vec::new(),
        failed: Vec::new(),
    }
}

fn resume(topology: &Topology, step: i64, nodes: &[&str], finished: Vec<(u32, Targets)>) -> Line {
    let finished = finished.into_iter().map(|(task, targets)| (number(task), targets)).collect();
    begin(Restored { finished, ..restored(topology, step, nodes) })
}

fn begin(restored: Restored) -> Line {
    Event::Begin(Begin::Resume(restored.into())).into()
}

fn number(task: u32) -> TaskNumber {
    TaskNumber::at(task as usize)
}

fn finished(task: u32, targets: Targets) -> Line {
    Event::TaskFinished { task: number(task), targets }.into()
}

fn paused(task: u32) -> Line {
    Event::TaskPaused { task: number(task) }.into()
}

fn attempt_failed(task: u32, failure: Failure) -> Line {
    Event::AttemptFailed { task: number(task), failure }.into()
}

fn failed(task: u32) -> Line {
    attempt_failed(task, Failure::NoneLeft { has_handler: false })
}

fn retried(task: u32, seconds: u64) -> Line {
    attempt_failed(task, Failure::Retry { after: Duration::from_secs(seconds) })
}

fn event(event: Event) -> Line {
    event.into()
}

fn to(topology: &Topology, node: &str) -> Targets {
    to_node(1, id(topology, node))
}

fn each(topology: &Topology, node: &str, items: u32) -> Targets {
    (0..items).map(|item| each_item(1, id(topology, node), Item::new(item))).fold(END, Targets::and)
}

/// `START -> a, b -> c`
fn diamond() -> Arc<Topology> {
    Wires::build(&["a", "b", "c"], &[("START", "a"), ("START", "b"), ("a", "c"), ("b", "c")], &[])
}

/// `START -> a -> b -> c`
fn chain() -> Arc<Topology> {
    Wires::build(&["a", "b", "c"], &[("START", "a"), ("a", "b"), ("b", "c")], &[])
}

#[test]
fn an_input_runs_through_supersteps_to_the_end() {
    Play::new(&diamond()).script([
        (input(None), "commit -1 [] then [__start__]"),
        (STORED, "run 0"),
        (finished(0, END), "commit 0 [__start__] then [a b]"),
        (STORED, "run 0, run 1"),
        (finished(0, END), "record 0"),
        (finished(1, END), "settle"),
        (event(Event::Settled), "commit 1 [a b] then [c]"),
        (STORED, "run 0"),
        (finished(0, END), "commit 2 [c] then []"),
        (STORED, "stop Finished"),
    ]);
}

#[test]
fn a_later_turn_continues_the_numbers() {
    Play::new(&chain()).script([
        (input(Some(3)), "commit 4 [] then [__start__]"),
        (STORED, "run 0"),
        (finished(0, END), "commit 5 [__start__] then [a]"),
    ]);
}

#[test]
fn a_resume_runs_what_is_unfinished() {
    let wires = diamond();
    Play::new(&wires).script([(resume(&wires, 0, &["a", "b"], Vec::new()), "run 0, run 1")]);
    Play::new(&wires).script([
        (resume(&wires, 0, &["a", "b"], vec![(0, END)]), "run 1"),
        (finished(1, END), "commit 1 [a b] then [c]"),
    ]);
    Play::new(&wires)
        .script([(resume(&wires, 0, &["a", "b"], vec![(0, END), (1, END)]), "commit 1 [a b] then [c]")]);
    Play::new(&wires).script([(resume(&wires, 2, &[], Vec::new()), "stop Finished")]);
}

#[test]
fn a_resumed_input_runs_start_again() {
    let wires = chain();
    Play::new(&wires).script([
        (resume(&wires, -1, &["START"], Vec::new()), "run 0"),
        (finished(0, END), "commit 0 [__start__] then [a]"),
    ]);
}

#[test]
fn targets_of_a_finished_task_survive_a_resume() {
    let wires = diamond();
    let sent = vec![(0, to(&wires, "a").and(each(&wires, "b", 2)))];
    Play::new(&wires).script([
        (resume(&wires, 4, &["a", "b"], sent), "run 1"),
        (finished(1, END), "commit 5 [a b] then [a c b b]"),
    ]);
}

#[test]
fn only_the_last_task_of_a_superstep_is_not_recorded() {
    let wires = Wires::build(&["a", "b", "c"], &[("START", "a"), ("START", "b"), ("START", "c")], &[]);
    Play::new(&wires).started().script([
        (finished(2, END), "record 2"),
        (finished(0, END), "record 0"),
        (finished(1, END), "settle"),
        (event(Event::Settled), "commit 1 [a b c] then []"),
    ]);
}

#[test]
fn a_pause_lets_its_siblings_finish_and_records_them_all() {
    Play::new(&diamond())
        .started()
        .script([(paused(0), ""), (finished(1, END), "record 1, stop Interrupted")]);
    Play::new(&diamond()).started().script([(finished(1, END), "record 1"), (paused(0), "stop Interrupted")]);
    Play::new(&diamond()).started().script([(paused(0), ""), (paused(1), "stop Interrupted")]);
}

#[test]
fn a_cancellation_stops_at_once() {
    Play::new(&diamond())
        .started()
        .script([(finished(0, END), "record 0"), (event(Event::Cancel), "abort, stop Cancelled")]);
}

#[test]
fn a_superstep_that_takes_too_long_stops_at_once() {
    Play::new(&diamond())
        .started()
        .script([(finished(0, END), "record 0"), (event(Event::TimedOut), "abort, stop TimedOut")]);
}

#[test]
fn a_superstep_at_its_barrier_was_in_time() {
    let mut play = Play::new(&chain()).started();
    play.event(finished(0, END));
    play.script([(event(Event::TimedOut), ""), (STORED, "run 0")]);
}

#[test]
fn a_drain_stops_at_the_next_barrier() {
    Play::new(&chain()).started().script([
        (event(Event::Drain), ""),
        (finished(0, END), "commit 1 [a] then [b]"),
        (STORED, "stop Drained"),
    ]);
    let mut play = Play::new(&chain()).started();
    play.superstep(1);
    play.superstep(1);
    play.script([
        (event(Event::Drain), ""),
        (finished(0, END), "commit 3 [c] then []"),
        (STORED, "stop Finished"),
    ]);
}

#[test]
fn a_drain_before_the_start_still_merges_the_input() {
    Play::new(&chain()).script([
        (event(Event::Drain), ""),
        (input(None), "commit -1 [] then [__start__]"),
        (STORED, "run 0"),
        (finished(0, END), "commit 0 [__start__] then [a]"),
        (STORED, "stop Drained"),
    ]);
}

#[test]
fn writes_that_cannot_be_merged_end_the_run_and_are_recorded() {
    let mut play = Play::new(&chain()).started();
    play.event(finished(0, END));
    assert_eq!(play.event(Line::Unmergeable), "record 0, stop Unmergeable");
}

/// An event that is illegal in the current phase means a bug in the driver, which must be detected.
#[cfg(debug_assertions)]
mod illegal {
    use super::*;

    #[test]
    #[should_panic(expected = "is illegal in the phase")]
    fn a_task_before_the_begin() {
        Play::new(&chain()).event(finished(0, END));
    }

    #[test]
    #[should_panic(expected = "is illegal in the phase")]
    fn an_event_after_the_stop() {
        let mut play = Play::new(&chain()).started();
        play.event(Event::Cancel);
        play.event(finished(0, END));
    }

    #[test]
    #[should_panic(expected = "is illegal in the phase")]
    fn an_answer_to_no_command() {
        Play::new(&chain()).started().event(Event::Settled);
    }

    #[test]
    #[should_panic(expected = "task 0 is not under way")]
    fn a_task_that_finishes_twice() {
        let mut play = Play::new(&diamond()).started();
        play.event(finished(0, END));
        play.event(finished(0, END));
    }

    #[test]
    #[should_panic(expected = "task 7 is not under way")]
    fn a_task_that_was_not_planned() {
        Play::new(&diamond()).started().event(paused(7));
    }
}

#[test]
fn the_recursion_limit_is_the_number_of_user_supersteps() {
    for limit in 0..4 {
        let limits = Limits { recursion: limit, ..Limits::default() };
        let mut play = Play::with(&chain(), limits);
        for event in [input(None), STORED, finished(0, END)] {
            play.event(event);
        }
        let mut supersteps = 0;
        let mut line = play.event(STORED);
        while line == "run 0" {
            supersteps += 1;
            assert_eq!(play.machine.remaining(), limit - supersteps);
            line = play.superstep(1);
        }
        let end = if limit < 3 { "stop LimitReached" } else { "stop Finished" };
        assert_eq!((supersteps, line.as_str()), (limit, end));
    }
}

#[test]
fn a_resumed_run_has_the_whole_limit_again() {
    let wires = chain();
    let limits = Limits { recursion: 1, ..Limits::default() };
    Play::with(&wires, limits).script([
        (resume(&wires, 1, &["b"], Vec::new()), "run 0"),
        (finished(0, END), "commit 2 [b] then [c]"),
        (STORED, "stop LimitReached"),
    ]);
}

#[test]
fn at_most_so_many_tasks_run_at_once() {
    let wires = Wires::build(
        &["a", "b", "c", "d"],
        &[("START", "a"), ("START", "b"), ("START", "c"), ("START", "d")],
        &[],
    );
    let limits = Limits { concurrency: 2, ..Limits::default() };
    let mut play = Play::with(&wires, limits);
    for event in [input(None), STORED, finished(0, END)] {
        play.event(event);
    }
    play.script([
        (STORED, "run 0, run 1"),
        // A task that waits for its retry keeps its place in the concurrency limit.
        (retried(0, 1), "retry 0 attempt 2 after 1s"),
        (finished(1, END), "record 1, run 2"),
        (paused(2), "run 3"),
        (finished(3, END), "record 3"),
        (finished(0, END), "record 0, stop Interrupted"),
    ]);
    Play::with(&wires, limits).script([
        (resume(&wires, 0, &["a", "b", "c", "d"], vec![(1, END), (2, END)]), "run 0, run 3"),
        (finished(3, END), "record 3"),
    ]);
}

#[test]
fn what_may_be_asked_depends_on_the_phase() {
    let mut play = Play::new(&diamond());
    assert_eq!((play.machine.step(), play.machine.width()), (None, 0));
    play.happens(input(None));
    assert_eq!((play.machine.step(), play.machine.width()), (Some(-1), 0));
    // The driver takes the commit command, and the barrier with it.
    assert!(matches!(play.machine.next_command(), Some(Command::Commit(barrier)) if barrier.step == -1));
    assert_eq!((play.machine.step(), play.machine.width()), (None, 0));
    let mut play = Play::new(&diamond()).started();
    assert_eq!((play.machine.step(), play.machine.width()), (Some(1), 2));
    assert_eq!(play.machine.task(number(1)).map(|task| task.node), play.topology.find(&"b".into()));
    assert!(play.machine.task(number(2)).is_none());
    play.event(Event::Cancel);
    // No superstep is running, but the tasks of the last one are still available.
    assert_eq!((play.machine.step(), play.machine.width()), (None, 2));
    assert!(format!("{:?}", play.machine).contains("Stopped"));
}
