//! Tests of breakpoints.

use super::*;
use crate::engine::breakpoint::NodeSet;

/// Creates breakpoints before and after the nodes with these names; `*` is every node.
fn breakpoints(topology: &Topology, before: &[&str], after: &[&str]) -> Breakpoints {
    let set = |names: &[&str]| match names {
        ["*"] => NodeSet::All,
        names => NodeSet::These(names.iter().map(|name| id(topology, name)).collect()),
    };
    Breakpoints { before: set(before), after: set(after) }
}

impl Play {
    fn breaking(topology: &Arc<Topology>, before: &[&str], after: &[&str]) -> Self {
        let mut play = Self::new(topology);
        play.machine = play.machine.with_breakpoints(breakpoints(topology, before, after));
        play
    }

    /// Returns the nodes before and after which the run stopped.
    fn stopped_at(&self) -> String {
        let stop = self.machine.stopped_at().expect("it has breakpoints");
        let names = |nodes: &[NodeId]| -> Vec<&str> {
            nodes.iter().map(|node| self.topology.node_name(*node).as_str()).collect()
        };
        format!("before {:?}, after {:?}", names(&stop.before), names(&stop.after))
    }
}

#[test]
fn a_breakpoint_stops_the_run_at_the_barrier_and_a_resume_passes_it() {
    let wires = chain();
    let mut play = Play::breaking(&wires, &["b"], &[]).started();
    play.script([(finished(0, END), "commit 1 [a] then [b]"), (STORED, "stop Breakpoint")]);
    assert_eq!(play.stopped_at(), r#"before ["b"], after []"#);
    assert_eq!(play.machine.width(), 1, "what is next is still known");
    Play::breaking(&wires, &["b", "c"], &[]).script([
        (resume(&wires, 1, &["b"], Vec::new()), "run 0"),
        (finished(0, END), "commit 2 [b] then [c]"),
        (STORED, "stop Breakpoint"),
    ]);
}

#[test]
fn a_breakpoint_after_the_last_node_has_nothing_to_stop_before() {
    let mut play = Play::breaking(&diamond(), &[], &["a", "c"]).started();
    play.script([
        (finished(0, END), "record 0"),
        (finished(1, END), "settle"),
        (event(Event::Settled), "commit 1 [a b] then [c]"),
        (STORED, "stop Breakpoint"),
    ]);
    assert_eq!(play.stopped_at(), r#"before [], after ["a"]"#);
    Play::breaking(&diamond(), &[], &["c"]).script([
        (resume(&diamond(), 1, &["c"], Vec::new()), "run 0"),
        (finished(0, END), "commit 2 [c] then []"),
        (STORED, "stop Finished"),
    ]);
}

#[test]
fn every_node_is_none_of_start() {
    let mut play = Play::breaking(&chain(), &["*"], &["*"]);
    play.script([
        (input(None), "commit -1 [] then [__start__]"),
        (STORED, "run 0"),
        (finished(0, END), "commit 0 [__start__] then [a]"),
        (STORED, "stop Breakpoint"),
    ]);
    assert_eq!(play.stopped_at(), r#"before ["a"], after []"#);
}

/// Otherwise the resume after a drain, or after the limit, would pass a breakpoint that was never reported.
#[test]
fn a_breakpoint_is_reported_before_a_drain_and_the_limit() {
    let wires = chain();
    let mut play = Play::with(&wires, Limits { recursion: 1, ..Limits::default() });
    play.machine = play.machine.with_breakpoints(breakpoints(&wires, &["b"], &[]));
    let mut play = play.started();
    play.script([
        (event(Event::Drain), ""),
        (finished(0, END), "commit 1 [a] then [b]"),
        (STORED, "stop Breakpoint"),
    ]);
}

/// If another driver of the run was faster, its barrier counts like our own.
#[test]
fn a_breakpoint_at_an_adopted_checkpoint_counts() {
    let wires = chain();
    let mut play = Play::breaking(&wires, &[], &["a"]).started();
    play.script([
        (finished(0, END), "commit 1 [a] then [b]"),
        (races::adopt(1), "adopt 1"),
        (resume(&wires, 1, &["b"], Vec::new()), "stop Breakpoint"),
    ]);
    // With another driver's results for the same superstep, the breakpoint before the superstep was already passed.
    let mut play = Play::breaking(&wires, &["b"], &[]);
    play.script([
        (resume(&wires, 1, &["b"], Vec::new()), "run 0"),
        (finished(0, END), "commit 2 [b] then [c]"),
        (races::outrun(1), "adopt 1"),
        (resume(&wires, 1, &["b"], vec![(0, END)]), "commit 2 [b] then [c]"),
    ]);
}
