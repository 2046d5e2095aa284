//! Given a state, when an event, then exactly these commands.
//!
//! A script is a list of events, each with the commands it gives, written as one line. A commit is written
//! with what ran and what is next: `commit 1 [a b] then [c w]`.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;

use super::super::wires::{Wires, id};
use super::*;
use crate::graph::{END, each_item, to_node};
use crate::node::Item;

mod breakpoints;
mod planning;

/// A machine, and the topology by which its commands are spelled.
struct Play {
    machine: Machine,
    topology: Arc<Topology>,
}

impl Play {
    fn new(topology: &Arc<Topology>) -> Self {
        Self::with(topology, Limits::default())
    }

    fn with(topology: &Arc<Topology>, limits: Limits) -> Self {
        Self { machine: Machine::new(Arc::clone(topology), limits), topology: Arc::clone(topology) }
    }

    /// Plays a script; each event must give exactly its line.
    #[track_caller]
    fn script<const N: usize>(&mut self, lines: [(Event, &str); N]) {
        for (number, (event, expected)) in lines.into_iter().enumerate() {
            let what = format!("line {number}: {event:?}");
            assert_eq!(self.event(event), expected, "{what}");
        }
    }

    fn event(&mut self, event: Event) -> String {
        self.machine.handle(event);
        let mut line: Vec<String> = Vec::new();
        while let Some(command) = self.machine.next_command() {
            line.push(match command {
                Command::Run { task, attempt: 1, after: Duration::ZERO } => format!("run {task}"),
                Command::Run { task, attempt, after } => {
                    format!("run {task} attempt {attempt} after {after:?}")
                }
                Command::Record { task } => format!("record {task}"),
                Command::Commit => self.barrier(),
                Command::Abort => "abort".to_string(),
                Command::Stop(ending) => format!("stop {ending:?}"),
            });
        }
        line.join(", ")
    }

    fn barrier(&self) -> String {
        let barrier = self.machine.barrier().expect("a commit is asked for at the barrier");
        let name = |node| self.topology.node_name(node).as_str();
        let ran: Vec<&str> = barrier.ran().map(name).collect();
        let next: Vec<&str> = barrier.next().map(|task| name(task.node)).collect();
        format!("commit {} [{}] then [{}]", barrier.step, ran.join(" "), next.join(" "))
    }

    /// Runs input and START, up to the first user superstep.
    fn started(mut self) -> Self {
        self.event(input(None));
        self.event(Event::Committed);
        self.event(finished(0, END));
        self.event(Event::Committed);
        self
    }

    /// Finishes the `width` tasks of a superstep in order, and commits.
    fn superstep(&mut self, width: u32) -> String {
        for task in 0..width {
            self.event(finished(task, END));
        }
        self.event(Event::Committed)
    }
}

fn input(last_step: Option<i64>) -> Event {
    Event::Begin(Begin::Input { last_step })
}

fn resume(topology: &Topology, step: i64, nodes: &[&str], finished: Vec<(u32, Targets)>) -> Event {
    let task = |node: &&str| PlannedTask { node: id(topology, node), cause: Cause::Input, input: None };
    Event::Begin(Begin::Resume(Restored {
        step,
        tasks: nodes.iter().map(task).collect(),
        joins: Arrivals::none(topology),
        finished,
    }))
}

fn finished(task: u32, targets: Targets) -> Event {
    Event::TaskFinished { task, targets }
}

fn paused(task: u32) -> Event {
    Event::TaskPaused { task }
}

fn failed(task: u32) -> Event {
    Event::TaskFailed { task, retry: None }
}

fn retried(task: u32, seconds: u64) -> Event {
    Event::TaskFailed { task, retry: Some(Duration::from_secs(seconds)) }
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
        (Event::Committed, "run 0"),
        (finished(0, END), "commit 0 [__start__] then [a b]"),
        (Event::Committed, "run 0, run 1"),
        (finished(0, END), "record 0"),
        (finished(1, END), "commit 1 [a b] then [c]"),
        (Event::Committed, "run 0"),
        (finished(0, END), "commit 2 [c] then []"),
        (Event::Committed, "stop Finished"),
    ]);
}

#[test]
fn a_later_turn_continues_the_numbers() {
    Play::new(&chain()).script([
        (input(Some(3)), "commit 4 [] then [__start__]"),
        (Event::Committed, "run 0"),
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
        (finished(1, END), "commit 1 [a b c] then []"),
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
fn a_failure_cancels_its_siblings_and_keeps_what_they_finished() {
    Play::new(&diamond()).started().script([(failed(0), "abort, stop Failed { task: 0 }")]);
    Play::new(&diamond()).started().script([
        (finished(1, END), "record 1"),
        (failed(0), "abort, stop Failed { task: 0 }"),
        (finished(1, END), ""),
        (Event::Committed, ""),
    ]);
    Play::new(&diamond()).started().script([(paused(1), ""), (failed(0), "abort, stop Failed { task: 0 }")]);
}

#[test]
fn what_was_to_start_does_not_start_after_a_failure() {
    let mut play = Play::new(&diamond()).started();
    // No command is taken between the two events.
    play.machine.handle(finished(1, END));
    assert_eq!(play.event(failed(0)), "record 1, abort, stop Failed { task: 0 }");
    let mut play = Play::new(&diamond()).started();
    play.machine.handle(retried(1, 1));
    assert_eq!(play.event(failed(0)), "abort, stop Failed { task: 0 }");
}

#[test]
fn a_retry_counts_attempts_and_waits() {
    Play::new(&chain()).started().script([
        (retried(0, 1), "run 0 attempt 2 after 1s"),
        (retried(0, 2), "run 0 attempt 3 after 2s"),
        (finished(0, END), "commit 1 [a] then [b]"),
        (Event::Committed, "run 0"),
        (retried(0, 1), "run 0 attempt 2 after 1s"),
        (failed(0), "abort, stop Failed { task: 0 }"),
    ]);
}

#[test]
fn a_failure_of_the_routing_keeps_the_result_of_the_node() {
    let routing = Event::RoutingFailed { task: 1 };
    Play::new(&diamond()).started().script([(routing, "record 1, abort, stop Failed { task: 1 }")]);
}

#[test]
fn a_cancellation_stops_at_once_and_for_good() {
    Play::new(&diamond()).started().script([
        (finished(0, END), "record 0"),
        (Event::Cancel, "abort, stop Cancelled"),
        (finished(1, END), ""),
        (input(None), ""),
    ]);
}

#[test]
fn a_superstep_that_takes_too_long_stops_at_once_and_for_good() {
    Play::new(&diamond()).started().script([
        (finished(0, END), "record 0"),
        (Event::TimedOut, "abort, stop TimedOut"),
        (finished(1, END), ""),
        (input(None), ""),
    ]);
}

#[test]
fn a_superstep_at_its_barrier_was_in_time() {
    let mut play = Play::new(&chain()).started();
    play.event(finished(0, END));
    play.script([(Event::TimedOut, ""), (Event::Committed, "run 0")]);
}

#[test]
fn a_drain_stops_at_the_next_barrier() {
    Play::new(&chain()).started().script([
        (Event::Drain, ""),
        (finished(0, END), "commit 1 [a] then [b]"),
        (Event::Committed, "stop Drained"),
    ]);
    let mut play = Play::new(&chain()).started();
    play.superstep(1);
    play.superstep(1);
    play.script([
        (Event::Drain, ""),
        (finished(0, END), "commit 3 [c] then []"),
        (Event::Committed, "stop Finished"),
    ]);
}

#[test]
fn a_drain_before_the_start_still_merges_the_input() {
    Play::new(&chain()).script([
        (Event::Drain, ""),
        (input(None), "commit -1 [] then [__start__]"),
        (Event::Committed, "run 0"),
        (finished(0, END), "commit 0 [__start__] then [a]"),
        (Event::Committed, "stop Drained"),
    ]);
}

#[test]
fn a_lost_race_and_a_conflict_end_the_run() {
    let mut play = Play::new(&chain()).started();
    play.event(finished(0, END));
    assert_eq!(play.event(Event::Superseded), "abort, stop Superseded");
    let mut play = Play::new(&chain()).started();
    play.event(finished(0, END));
    assert_eq!(play.event(Event::Unmergeable), "record 0, stop Unmergeable");
    let mut play = Play::new(&chain()).started();
    assert_eq!(play.event(Event::Superseded), "abort, stop Superseded");
}

#[test]
fn events_that_answer_no_command_change_nothing() {
    Play::new(&diamond()).started().script([
        (Event::Committed, ""),
        (Event::Unmergeable, ""),
        (finished(7, END), ""),
        (paused(7), ""),
        (failed(7), ""),
        (finished(0, END), "record 0"),
        (finished(0, END), ""),
        (failed(0), ""),
        (retried(0, 1), ""),
        (finished(1, END), "commit 1 [a b] then [c]"),
        (finished(1, END), ""),
        (Event::Committed, "run 0"),
    ]);
}

#[test]
fn the_recursion_limit_is_the_number_of_user_supersteps() {
    for limit in 0..4 {
        let limits = Limits { recursion: limit, ..Limits::default() };
        let mut play = Play::with(&chain(), limits);
        for event in [input(None), Event::Committed, finished(0, END)] {
            play.event(event);
        }
        let mut supersteps = 0;
        let mut line = play.event(Event::Committed);
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
        (Event::Committed, "stop LimitReached"),
    ]);
}

/// Another driver's results send a superstep back from its barrier to its beginning. It used to be counted
/// once more, so that a run could reach its limit a superstep early.
#[test]
fn a_superstep_that_begins_again_at_its_barrier_counts_once() {
    let wires = diamond();
    let limits = Limits { recursion: 2, ..Limits::default() };
    let mut play = Play::with(&wires, limits).started();
    play.event(finished(0, END));
    play.event(finished(1, END));
    assert_eq!(play.machine.remaining(), 1);
    play.script([
        (resume(&wires, 0, &["a", "b"], vec![(0, END), (1, END)]), "commit 1 [a b] then [c]"),
        (Event::Committed, "run 0"),
        (finished(0, END), "commit 2 [c] then []"),
        (Event::Committed, "stop Finished"),
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
    for event in [input(None), Event::Committed, finished(0, END)] {
        play.event(event);
    }
    play.script([
        (Event::Committed, "run 0, run 1"),
        // A task that waits for its retry keeps its place.
        (retried(0, 1), "run 0 attempt 2 after 1s"),
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
    play.event(input(None));
    assert_eq!((play.machine.step(), play.machine.width()), (Some(-1), 0));
    play.event(Event::Committed);
    assert_eq!((play.machine.step(), play.machine.width()), (Some(0), 1));
    play.event(finished(0, END));
    play.event(Event::Committed);
    assert_eq!((play.machine.step(), play.machine.width()), (Some(1), 2));
    assert!(play.machine.barrier().is_none());
    assert_eq!(play.machine.task(1).map(|task| task.node), play.topology.find(&"b".into()));
    assert!(play.machine.task(2).is_none());
    play.event(Event::Cancel);
    // No step is under way, and what became of its tasks is still to be told.
    assert_eq!((play.machine.step(), play.machine.width()), (None, 2));
    assert!(format!("{:?}", play.machine).contains("Stopped"));
}
