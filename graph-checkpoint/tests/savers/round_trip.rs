//! What is stored is what is read.

use superstep_core::checkpoint::{
    At, Cause, DeferredNode, Frontier, Handled, JoinProgress, Kept, NextTask, RouteRecord, TaskRecord,
};
use superstep_core::state::{FieldId, Logged, LoggedWrite, Op};

use crate::material::*;

#[test]
fn an_unknown_thread_is_nothing_and_an_unknown_checkpoint_an_error() {
    on_every_saver(|saver| async move {
        assert!(saver.load(&thread("t"), At::Head).await.unwrap().is_none());
        assert!(saver.history(&thread("t"), At::Head, 9).await.unwrap().is_empty());
        advance(&saver, "t", None, []).await;
        let stranger = step(None, []);
        saver.load(&thread("t"), At::Id(stranger.id)).await.unwrap_err();
        let unregistered = superstep_core::id::Fingerprint::from_bytes([1; 16]);
        let mut foreign = step(None, []);
        foreign.topology = unregistered;
        let error = saver.commit(commit_of("u", &foreign)).await.unwrap_err();
        assert_eq!(error.to_string(), format!("no graph with fingerprint {unregistered} is registered"));
    });
}

#[test]
fn every_part_of_a_checkpoint_comes_back() {
    on_every_saver(|saver| async move {
        let long = format!("[\"{}\"]", "x".repeat(20_000));
        let quoted = "a \"quoted\"\\ name\n\u{1F980}";
        let first = advance(&saver, "t", None, [set(0, "[1]")]).await;
        let mut second = step(
            Some(&first),
            [
                change(0, [Op::Extend(json("[2]")), Op::Extend(json(&long)), Op::Extend(json("[2]"))]),
                change(1, [Op::MapPut(json(r#"{"k":null}"#)), Op::MapRemove(json(r#"{"k":null}"#))]),
                change(2, [Op::SetAdd(json("[1]")), Op::SetRemove(json("[1]"))]),
                change(3, [Op::Keyed(json(r#"[{"id":"x","item":{"id":"x","n":1}}]"#))]),
            ],
        );
        second.tasks = vec![
            TaskRecord {
                node: quoted.into(),
                writes: vec![
                    LoggedWrite { field: FieldId(0), write: Logged::Op(second.changes[0].ops[0].clone()) },
                    LoggedWrite { field: FieldId(0), write: Logged::Op(Op::Extend(json(&long))) },
                    LoggedWrite { field: FieldId(3), write: Logged::Op(Op::Set(json("null"))) },
                    LoggedWrite { field: FieldId(2), write: Logged::Reduce(json("null")) },
                    LoggedWrite { field: FieldId(2), write: Logged::Reduce(json(&long)) },
                ],
                route: Some(RouteRecord { case: quoted.into(), value: json("null") }),
                targets: vec!["m".into(), quoted.into()],
                handled: None,
            },
            TaskRecord {
                node: "m".into(),
                writes: vec![LoggedWrite { field: FieldId(0), write: Logged::Op(Op::Extend(json("[2]"))) }],
                route: Some(RouteRecord { case: "Long".into(), value: json(&long) }),
                targets: Vec::new(),
                handled: Some(Box::new(Handled {
                    error: failure(1, quoted).error,
                    attempts: 3,
                    instead: true,
                })),
            },
        ];
        let next = |cause, input: Option<&str>| NextTask { node: "m".into(), cause, input: input.map(json) };
        second.frontier = Frontier {
            tasks: vec![
                next(Cause::Input, Some("null")),
                next(Cause::Tasks([0, 1].into_iter().collect()), None),
                next(Cause::Join([1].into_iter().collect()), Some("{\"a\":1.0}")),
                next(Cause::Each { by: 1, index: 70_000 }, Some(&long)),
                next(Cause::Deferred(vec![quoted.into()]), None),
            ],
            joins: vec![JoinProgress {
                target: "j".into(),
                sources: vec!["a".into(), "b".into()],
                arrived: vec!["a".into()],
            }],
            deferred: vec![DeferredNode { node: quoted.into(), by: vec!["m".into()] }],
            kept: vec![Kept { key: quoted.into(), thread: thread(quoted), checkpoint: first.id }],
        };
        second.metadata = [(quoted.to_owned(), json("{\"deep\":[null]}"))].into();
        put(&saver, "t", &second).await;

        let loaded = head(&saver, "t").await;
        assert_eq!(loaded.checkpoint, second);
        assert_eq!(loaded.schema, schema());
        assert_eq!(at(&saver, "t", first.id).await.checkpoint, first);
        assert_eq!(values(&loaded)[0].1, format!("[1,2,{},2]", &long[1..long.len() - 1]));
        assert_eq!(
            values(&loaded)[1..],
            [(1, "{}".into()), (2, "[]".into()), (3, r#"[{"id":"x","n":1}]"#.into())]
        );
    });
}

#[test]
fn a_field_that_did_not_change_keeps_its_value() {
    on_every_saver(|saver| async move {
        let first = advance(&saver, "t", None, [set(0, "1"), set(1, "[\"x\"]")]).await;
        let second = advance(&saver, "t", Some(&first), [set(0, "2")]).await;
        let third = advance(&saver, "t", Some(&second), [extend(1, "[\"y\"]"), set(2, "3")]).await;
        assert_eq!(values(&at(&saver, "t", first.id).await), [(0, "1".into()), (1, "[\"x\"]".into())]);
        assert_eq!(values(&at(&saver, "t", second.id).await), [(0, "2".into()), (1, "[\"x\"]".into())]);
        assert_eq!(
            values(&at(&saver, "t", third.id).await),
            [(0, "2".into()), (1, "[\"x\",\"y\"]".into()), (2, "3".into())]
        );
    });
}

#[test]
fn long_branches_find_fields_that_were_written_long_ago() {
    on_every_saver(|saver| async move {
        let mut all = vec![advance(&saver, "t", None, [set(0, "\"old\""), set(1, "[]")]).await];
        for number in 0..300 {
            all.push(advance(&saver, "t", all.last(), [extend(1, &format!("[{number}]"))]).await);
        }
        for number in [0, 1, 61, 62, 63, 64, 65, 126, 127, 128, 254, 255, 256, 257, 299, 300] {
            let loaded = at(&saver, "t", all[number].id).await;
            assert_eq!(loaded.checkpoint, all[number]);
            assert_eq!(loaded.values[1].value.decode::<Vec<u32>>().unwrap().len(), number);
        }
        let loaded = head(&saver, "t").await;
        let numbers: Vec<u32> = loaded.values[1].value.decode().unwrap();
        assert_eq!(numbers, (0..300).collect::<Vec<_>>());
        assert_eq!(loaded.values[0].value.as_str(), "\"old\"");
    });
}
