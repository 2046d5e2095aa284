use alloc::sync::Arc;
use alloc::vec;

use super::super::wires::Wires;
use super::*;
use crate::checkpoint::{Cause, DeferredNode};

/// `START -> a -> b`, with `a` and `b` joined into `c`, and `work`, which takes numbers.
fn topology() -> Arc<Topology> {
    let wires = [("START", "a"), ("a", "b")];
    Wires::build(&["a", "b", "c", "work"], &wires, &[(&["a", "b"], "c")])
}

fn number(_node: NodeId, json: &Json) -> Result<Item, CodecError> {
    Item::decode::<u32>(json)
}

fn next(node: &str, input: Option<&str>) -> NextTask {
    NextTask {
        node: node.into(),
        cause: Cause::Input,
        input: input.map(|text| Json::parse(text).expect("JSON")),
    }
}

fn waiting(target: &str, sources: &[&str], arrived: &[&str]) -> JoinProgress {
    let names = |names: &[&str]| names.iter().map(|name| NodeName::from(*name)).collect();
    JoinProgress { target: target.into(), sources: names(sources), arrived: names(arrived) }
}

fn error(frontier: Frontier) -> RestoreError {
    restore(&topology(), &frontier, number).map(|_| ()).expect_err("the frontier does not fit")
}

#[test]
fn a_frontier_comes_back_as_it_was_stored() {
    let topology = topology();
    let frontier = Frontier {
        tasks: vec![
            next("b", None),
            NextTask { cause: Cause::Each { by: 3, index: 1 }, ..next("work", Some("7")) },
        ],
        joins: vec![waiting("c", &["a", "b"], &["a"])],
        deferred: vec![DeferredNode { node: "c".into(), by: vec!["a".into(), "gone".into()] }],
        kept: Vec::new(),
    };
    let (tasks, joins) = restore(&topology, &frontier, number).expect("every name is there");
    assert_eq!(store(&topology, tasks.iter(), &joins), Ok(frontier));
}

#[test]
fn the_input_of_a_run_is_no_item() {
    let frontier = Frontier { tasks: vec![next("__start__", Some("[1,2]"))], ..Frontier::default() };
    let (tasks, _) = restore(&topology(), &frontier, number).expect("START is there");
    assert_eq!((tasks[0].node, tasks[0].input.is_none()), (NodeId::START, true));
}

#[test]
fn a_pending_node_that_is_gone_is_named() {
    let frontier = Frontier { tasks: vec![next("a", None), next("gone", None)], ..Frontier::default() };
    assert_eq!(
        alloc::format!("{}", error(frontier)),
        r#"the checkpoint's next node "gone" does not exist in graph "wires"; it was removed or renamed"#
    );
}

#[test]
fn an_input_that_does_not_decode_names_its_node() {
    let frontier = Frontier { tasks: vec![next("work", Some(r#""seven""#))], ..Frontier::default() };
    assert!(matches!(error(frontier), RestoreError::Input { node, .. } if node.as_str() == "work"));
}

#[test]
fn a_waiting_join_that_is_gone_is_named() {
    let other_sources = Frontier { joins: vec![waiting("c", &["a", "work"], &["a"])], ..Frontier::default() };
    assert!(matches!(
        error(other_sources),
        RestoreError::MissingJoin { target, .. } if target.as_str() == "c"
    ));
    let no_such_source =
        Frontier { joins: vec![waiting("c", &["a", "gone"], &["a"])], ..Frontier::default() };
    assert!(matches!(
        error(no_such_source),
        RestoreError::MissingNode { node, .. } if node.as_str() == "gone"
    ));
}

#[test]
fn a_deferred_node_that_is_gone_is_named() {
    let deferred = vec![DeferredNode { node: "gone".into(), by: vec!["a".into()] }];
    assert!(matches!(
        error(Frontier { deferred, ..Frontier::default() }),
        RestoreError::MissingNode { node, .. } if node.as_str() == "gone"
    ));
}
