//! Types that are `Send` and `Sync`.

use superstep::checkpoint::SqliteSaver;
use superstep::driver::checkpoint::Loaded;
use superstep::driver::engine::Machine;
use superstep::driver::graph::{Program, Targets};
use superstep::driver::state::Schema;
use superstep::graph::{Description, NodeRef, Registry};
use superstep::prelude::*;
use superstep::run::{
    AnyGraph, AnyState, CheckpointView, Flow, FlowState, History, Interrupt, Past, RunEvent, RunRequest,
    RunStream, ThreadError, TraceLog,
};
use superstep::state::{Json, JsonFields, JsonState, JsonUpdate};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Log {
    #[reducer(Append)]
    ran: Vec<String>,
}

fn sends<T: Send>() {}
fn sends_and_syncs<T: Send + Sync>() {}
fn is_static_future<F: IntoFuture<IntoFuture: Send + 'static>>(_: &F) {}

#[test]
fn handles_and_results_cross_threads() {
    sends_and_syncs::<Graph<Log>>();
    sends_and_syncs::<Graph<Log, String>>();
    sends_and_syncs::<Thread<Log>>();
    sends_and_syncs::<Run<Log>>();
    sends_and_syncs::<Past<Log>>();
    sends_and_syncs::<History>();
    sends_and_syncs::<Program>();
    sends_and_syncs::<Machine>();
    sends_and_syncs::<NodeRef<(), ()>>();
    sends_and_syncs::<Targets>();
    sends_and_syncs::<RunError>();
    sends_and_syncs::<ThreadError>();
    sends_and_syncs::<NodeError>();
    sends_and_syncs::<RunEvent>();
    sends_and_syncs::<TraceLog>();
    sends_and_syncs::<CheckpointView>();
    sends_and_syncs::<Interrupt>();
    sends_and_syncs::<Loaded>();
    sends_and_syncs::<Schema>();
    sends_and_syncs::<Json>();
    sends_and_syncs::<MemorySaver>();
    sends_and_syncs::<SqliteSaver>();
}

#[test]
fn flows_and_described_graphs_cross_threads() {
    sends_and_syncs::<Flow<String, u32>>();
    sends_and_syncs::<Thread<FlowState<String, u32>>>();
    sends_and_syncs::<Run<FlowState<String, u32>>>();
    sends::<RunRequest<FlowState<String, u32>>>();
    sends::<RunStream<FlowState<String, u32>>>();
    sends_and_syncs::<AnyGraph>();
    sends_and_syncs::<Run<AnyState>>();
    sends_and_syncs::<Cx<String>>();
    sends_and_syncs::<Registry<String>>();
    sends_and_syncs::<Description>();
    sends_and_syncs::<JsonState>();
    sends_and_syncs::<JsonFields>();
    sends_and_syncs::<JsonUpdate>();
    is_static_future(&flow("f", async |_: Cx<()>| Ok::<_, NodeError>(1)).run(&()));
}

#[test]
fn what_a_node_is_given_crosses_threads() {
    sends_and_syncs::<Snapshot<Log>>();
    sends_and_syncs::<Input<String>>();
    sends_and_syncs::<Dep<String>>();
    sends_and_syncs::<Ask<String, String>>();
    sends_and_syncs::<Effects>();
    sends_and_syncs::<Emit>();
    sends_and_syncs::<TaskInfo>();
}

#[test]
fn runs_under_way_can_be_spawned() {
    sends::<RunRequest<Log>>();
    sends::<RunStream<Log>>();
    sends::<StateGraph<Log>>();
    let mut g = StateGraph::<Log>::new("g");
    let node = g.node("node", || async {});
    g.edge(START, node);
    g.edge(node, END);
    let graph = g.compile().expect("sound");
    let thread = graph.thread("t");
    is_static_future(&thread.run(Log::update()));
    is_static_future(&thread.resume());
    is_static_future(&thread.answer(&1));
}
