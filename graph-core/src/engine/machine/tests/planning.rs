//! Tests of planning: the next tasks, their order, and the completion of joins.

use super::*;

#[test]
fn names_order_as_plain_strings_whatever_finishes_first() {
    let nodes = ["a2", "b", "A", "a10"];
    let edges = nodes.map(|node| ("START", node));
    let wires = Wires::build(&nodes, &edges, &[]);
    let mut play = Play::new(&wires);
    play.event(input(None));
    play.event(STORED);
    assert_eq!(play.event(finished(0, END)), "commit 0 [__start__] then [A a10 a2 b]");
}

#[test]
fn node_tasks_come_first_then_items_by_producer_and_index() {
    let wires = Wires::build(&["p", "q", "w", "z", "y"], &[("START", "p"), ("START", "q")], &[]);
    let mut play = Play::new(&wires).started();
    let first = each(&wires, "w", 1).and(to(&wires, "z")).and(each(&wires, "y", 2));
    let second = each(&wires, "w", 2).and(to(&wires, "y"));
    play.event(finished(1, second));
    play.event(finished(0, first));
    assert_eq!(play.event(Event::Settled), "commit 1 [p q] then [y z w y y w w]");
    let causes: Vec<_> = play.causes().iter().filter_map(Cause::each).collect();
    assert_eq!(causes, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]);
}

#[test]
fn a_node_runs_once_however_many_wires_lead_to_it() {
    let wires = Wires::build(
        &["a", "b", "c"],
        &[("START", "a"), ("START", "b"), ("a", "c"), ("a", "c"), ("b", "c")],
        &[(&["a", "b"], "c")],
    );
    let mut play = Play::new(&wires).started();
    play.event(finished(0, to(&wires, "c")));
    play.event(finished(1, to(&wires, "c")));
    assert_eq!(play.event(Event::Settled), "commit 1 [a b] then [c]");
    assert_eq!(play.causes(), [Cause::Tasks(smallvec::smallvec![0, 1])]);
}

/// `START -> a -> c, START -> b -> d -> c'`, with c after both a and d.
fn late_join() -> Arc<Topology> {
    Wires::build(&["a", "b", "c", "d"], &[("START", "a"), ("START", "b"), ("b", "d")], &[(&["a", "d"], "c")])
}

#[test]
fn a_join_waits_across_supersteps_and_then_waits_again() {
    let wires = late_join();
    let mut play = Play::new(&wires).started();
    assert_eq!(play.finish(2), "commit 1 [a b] then [d]");
    let waiting: Vec<_> = play.machine.joins().waiting().map(|(join, by)| (join, by.to_vec())).collect();
    assert_eq!(waiting, [(0, vec![id(&wires, "a")])]);
    play.event(STORED);
    assert_eq!(play.event(finished(0, to(&wires, "a"))), "commit 2 [d] then [a c]");
    assert_eq!(play.machine.joins(), &Arrivals::none(&wires));
    play.event(STORED);
    assert_eq!(play.finish(2), "commit 3 [a c] then []", "one of two is not enough");
}

#[test]
fn a_source_that_runs_twice_arrives_once() {
    let wires = late_join();
    let mut play = Play::new(&wires).started();
    play.event(finished(0, to(&wires, "a")));
    play.event(finished(1, END));
    play.event(Event::Settled);
    play.event(STORED);
    assert_eq!(play.finish(2), "commit 2 [a d] then [c]");
    assert_eq!(play.causes(), [Cause::Join(smallvec::smallvec![0, 1])]);
}

/// A source that ran as several tasks of `each` used to arrive again after the join was completed, so that the next
/// round needed only one source.
#[test]
fn a_source_of_several_tasks_leaves_nothing_behind() {
    let wires = Wires::build(&["a", "w", "z"], &[("START", "a")], &[(&["a", "w"], "z")]);
    let mut play = Play::new(&wires).started();
    assert_eq!(play.event(finished(0, each(&wires, "w", 3))), "commit 1 [a] then [w w w]");
    play.event(STORED);
    assert_eq!(play.finish(3), "commit 2 [w w w] then [z]");
    assert_eq!(play.machine.joins(), &Arrivals::none(&wires));
}

#[test]
fn a_new_input_forgets_half_arrived_joins_and_what_is_deferred() {
    let wires = late_join();
    let mut play = Play::new(&wires);
    play.machine.joins.joins[0].push(id(&wires, "a"));
    play.machine.joins.deferred.add(id(&wires, "d"), ["a".into()].into_iter());
    play.event(input(Some(1)));
    assert_eq!(play.machine.joins(), &Arrivals::none(&wires));
}

#[test]
fn a_resume_restores_half_arrived_joins() {
    let wires = late_join();
    let mut joins = Arrivals::none(&wires);
    joins.joins[0].push(id(&wires, "a"));
    let task = PlannedTask { node: id(&wires, "d"), cause: Cause::Input, input: None };
    let restored = Restored { tasks: vec![task], joins, ..restored(&wires, 1, &[]) };
    Play::new(&wires).script([(begin(restored), "run 0"), (finished(0, END), "commit 2 [d] then [c]")]);
}

/// `START -> a -> b -> c`, where `a` and `b` also lead to z, and z to y.
fn late() -> Arc<Topology> {
    let edges = [("START", "a"), ("a", "b"), ("b", "c"), ("a", "z"), ("b", "z"), ("z", "y"), ("a", "y")];
    Wires::deferring(&Wires::build(&["a", "b", "c", "y", "z"], &edges, &[]), &["y", "z"])
}

#[test]
fn deferred_nodes_wait_until_nothing_else_is_left() {
    let wires = late();
    let mut play = Play::new(&wires).started();
    assert_eq!(play.event(finished(0, END)), "commit 1 [a] then [b]");
    play.event(STORED);
    assert_eq!(play.event(finished(0, each(&wires, "c", 1))), "commit 2 [b] then [c c]");
    play.event(STORED);
    assert_eq!(play.superstep(2), "run 0", "z before y, which it leads to");
    assert_eq!(play.event(finished(0, END)), "commit 4 [z] then [y]");
    assert_eq!(play.causes(), [Cause::Deferred(vec!["a".into(), "z".into()])]);
    play.event(STORED);
    assert_eq!(play.event(finished(0, END)), "commit 5 [y] then []");
    assert_eq!(play.event(STORED), "stop Finished");
}

#[test]
fn deferred_nodes_that_lead_to_each_other_run_together() {
    let edges = [("START", "y"), ("START", "z"), ("START", "x"), ("y", "z"), ("z", "y"), ("z", "x")];
    let wires = Wires::deferring(&Wires::build(&["x", "y", "z"], &edges, &[]), &["x", "y", "z"]);
    let mut play = Play::new(&wires);
    play.event(input(None));
    play.event(STORED);
    assert_eq!(play.event(finished(0, END)), "commit 0 [__start__] then [y z]");
}

#[test]
fn a_resume_restores_what_is_deferred() {
    let wires = late();
    let mut joins = Arrivals::none(&wires);
    joins.deferred.add(id(&wires, "z"), ["a".into()].into_iter());
    let task = PlannedTask { node: id(&wires, "c"), cause: Cause::Input, input: None };
    let restored = Restored { tasks: vec![task], joins, ..restored(&wires, 2, &[]) };
    Play::new(&wires).script([(begin(restored), "run 0"), (finished(0, END), "commit 3 [c] then [z]")]);
}
