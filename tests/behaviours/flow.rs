//! Flows: plain async code that is resumed and replayed like a graph.

use std::time::Duration;

use futures_util::future::{join_all, try_join};
use superstep::checkpoint::Source;
use superstep::error::{NodeError, NodeErrorKind};
use superstep::prelude::*;
use superstep::run::EventKind;

use crate::support::{Broken, Calls, Smashed, on_both_savers};

type Returned<T> = Result<T, NodeError>;

/// An effect that notes that it ran.
async fn noted<T>(calls: &Calls, what: &str, value: T) -> Result<T, Smashed> {
    calls.note(what);
    Ok(value)
}

#[tokio::test]
async fn i01_effects_do_not_run_again_on_resume() {
    on_both_savers(async |saver| {
        let calls = Calls::default();
        let noting = calls.clone();
        let double = flow("double", move |cx: Cx<i64>| {
            let calls = noting.clone();
            async move {
                let first = cx.run("double", || noted(&calls, "double", cx.input() * 2)).await?;
                let asked: i64 = cx.ask("q").await?;
                let second = cx.run("double", || noted(&calls, "double", asked * 2)).await?;
                Returned::Ok(vec![first, second])
            }
        });
        let thread = double.shared_checkpointer(saver).thread("t");
        let asked = thread.run(&3).await.unwrap().interrupted().unwrap();
        assert_eq!(asked[0].question::<String>().unwrap(), "q");
        assert_eq!(thread.answer(&10).await.unwrap().finished().unwrap(), [6, 20]);
        assert_eq!(calls.of("double"), 2);
    })
    .await;
}

#[tokio::test]
async fn i03_the_error_of_an_effect_ends_the_run_and_the_one_before_is_kept() {
    on_both_savers(async |saver| {
        let (calls, broken) = (Calls::default(), Broken::default());
        broken.smash("bad");
        let stage = (calls.clone(), broken.clone());
        let pair = flow("pair", move |cx: Cx<i64>| {
            let (calls, broken) = stage.clone();
            async move {
                let ok = cx.run("ok", || noted(&calls, "ok", *cx.input())).await?;
                let bad = cx.run("bad", || async { broken.check("bad").map(|()| -cx.input()) }).await?;
                Returned::Ok([ok, bad])
            }
        });
        let thread = pair.shared_checkpointer(saver).thread("t");
        let Err(RunError::Node(failure)) = thread.run(&1).await else { panic!("the effect fails") };
        assert_eq!(failure.error.downcast_ref::<Smashed>(), Some(&Smashed("bad".into())));
        broken.mend("bad");
        assert_eq!(thread.resume().await.unwrap().finished().unwrap(), [1, -1]);
        assert_eq!(calls.of("ok"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn b78_effects_at_once_are_distinguished_by_their_keys_and_not_repeated() {
    on_both_savers(async |saver| {
        let calls = Calls::default();
        let noting = calls.clone();
        let mapper = flow("mapper", move |cx: Cx<Vec<u32>>| {
            let calls = noting.clone();
            async move {
                let map = |number: &u32| {
                    let (cx, calls, number) = (cx.clone(), calls.clone(), *number);
                    async move {
                        // The last ones in the list end first.
                        tokio::time::sleep(Duration::from_millis(10 - u64::from(number))).await;
                        let text = number.to_string().repeat(2);
                        cx.run_keyed("mapper", number, || noted(&calls, "mapper", text)).await
                    }
                };
                let mapped = join_all(cx.input().iter().map(map)).await;
                let mapped = mapped.into_iter().collect::<Result<Vec<String>, Smashed>>()?;
                let answer: String = cx.ask("and then?").await?;
                Returned::Ok(mapped.into_iter().map(|text| text + &answer).collect::<Vec<_>>())
            }
        });
        let thread = mapper.shared_checkpointer(saver).thread("t");
        assert_eq!(thread.run(&vec![0, 1]).await.unwrap().interrupted().unwrap().len(), 1);
        assert_eq!(thread.answer("answer").await.unwrap().finished().unwrap(), ["00answer", "11answer"]);
        assert_eq!(calls.of("mapper"), 2);
    })
    .await;
}

#[tokio::test]
async fn b78_an_effect_may_use_effects_itself() {
    on_both_savers(async |saver| {
        let calls = Calls::default();
        let noting = calls.clone();
        let nested = flow("nested", move |cx: Cx<Vec<u32>>| {
            let calls = noting.clone();
            async move {
                let mut mapped = Vec::new();
                for number in cx.input() {
                    let inner = || async {
                        calls.note("outer");
                        let text = format!("{number}{number}");
                        cx.run_keyed("add a", number, || noted(&calls, "inner", text + "a")).await
                    };
                    mapped.push(cx.run("mapper", inner).await?);
                }
                let answer: String = cx.ask("?").await?;
                Returned::Ok(mapped.join(&answer))
            }
        });
        let thread = nested.shared_checkpointer(saver).thread("t");
        assert_eq!(thread.run(&vec![0, 1]).await.unwrap().interrupted().unwrap().len(), 1);
        assert_eq!(thread.answer("-").await.unwrap().finished().unwrap(), "00a-11a");
        assert_eq!(calls.take(), ["outer", "inner", "outer", "inner"]);
    })
    .await;
}

#[tokio::test]
async fn b78_the_code_may_catch_the_error_of_an_effect() {
    let calls = Calls::default();
    let noting = calls.clone();
    let careful = flow("careful", move |cx: Cx<u32>| {
        let calls = noting.clone();
        async move {
            for attempt in 0..2 {
                let fails = || async {
                    calls.note("my task");
                    if attempt == 0 { Err(Smashed("task".into())) } else { Ok(2) }
                };
                if let Ok(value) = cx.run("my task", fails).await {
                    return Returned::Ok(format!("done with {value}"));
                }
            }
            Returned::Ok("never".into())
        }
    });
    assert_eq!(careful.run(&1).await.unwrap().finished().unwrap(), "done with 2");
    assert_eq!(calls.of("my task"), 2);
}

#[tokio::test]
async fn b78_several_questions_alternate_with_effects() {
    on_both_savers(async |saver| {
        let calls = Calls::default();
        let noting = calls.clone();
        let talk = flow("talk", move |cx: Cx<Vec<u32>>| {
            let calls = noting.clone();
            async move {
                let mut said = Vec::new();
                for number in cx.input() {
                    let doubled = cx.run("double", || noted(&calls, "double", number * 2)).await?;
                    said.push(doubled.to_string());
                    said.push(cx.ask::<_, String>(format!("and {doubled}?")).await?);
                }
                Returned::Ok(said)
            }
        });
        let thread = talk.shared_checkpointer(saver).thread("t");
        assert_eq!(thread.run(&vec![1, 2, 3]).await.unwrap().interrupted().unwrap().len(), 1);
        for answer in ["a", "b"] {
            assert_eq!(thread.answer(answer).await.unwrap().interrupted().unwrap().len(), 1);
        }
        let said = thread.answer("c").await.unwrap().finished().unwrap();
        assert_eq!(said, ["2", "a", "4", "b", "6", "c"]);
        assert_eq!(calls.of("double"), 3);
    })
    .await;
}

#[tokio::test]
async fn questions_at_once_are_answered_by_id() {
    let both = flow("both", |cx: Cx<()>| async move {
        let names = try_join(cx.ask_as("name", "name?"), cx.ask_as("age", "age?")).await?;
        let (name, age): (String, u32) = names;
        Returned::Ok(format!("{name} is {age}"))
    });
    let thread = both.checkpointer(MemorySaver::new()).thread("t");
    let asked = thread.run(&()).await.unwrap().interrupted().unwrap();
    let age = asked.iter().find(|ask| ask.key == "age").unwrap();
    assert_eq!(thread.answer_to(age.id, &7).await.unwrap().interrupted().unwrap().len(), 1);
    assert_eq!(thread.answer("Ada").await.unwrap().finished().unwrap(), "Ada is 7");
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_asked_for_again() {
    on_both_savers(async |saver| {
        let age = flow("age", |cx: Cx<()>| async move { Returned::<u32>::Ok(cx.ask("age?").await?) });
        let thread = age.shared_checkpointer(saver).thread("t");
        let first = thread.run(&()).await.unwrap().interrupted().unwrap();
        let second = thread.answer("old").await.unwrap().interrupted().unwrap();
        assert_eq!(first[0].question, second[0].question);
        assert_ne!(first[0].id, second[0].id);
        assert_eq!(thread.answer(&7).await.unwrap().finished().unwrap(), 7);
    })
    .await;
}

#[tokio::test]
async fn b78_a_run_knows_what_the_one_before_returned() {
    on_both_savers(async |saver| {
        let chain = flow("chain", |cx: Cx<i64>| async move {
            Returned::Ok(cx.input() + cx.previous::<i64>()?.unwrap_or(0))
        });
        let chain = chain.shared_checkpointer(saver);
        let thread = chain.thread("t");
        for (input, sum) in [(1, 1), (2, 3), (3, 6)] {
            assert_eq!(thread.run(&input).await.unwrap().finished().unwrap(), sum);
        }
        assert_eq!(chain.thread("other").run(&5).await.unwrap().finished().unwrap(), 5);
    })
    .await;
}

#[tokio::test]
async fn b78_what_is_saved_may_differ_from_what_is_returned() {
    on_both_savers(async |saver| {
        let count = flow("count", |cx: Cx<()>| async move {
            let before = cx.previous::<u32>()?.unwrap_or(0);
            cx.save(&(before + 1))?;
            Returned::Ok(format!("after {before}"))
        });
        let thread = count.shared_checkpointer(saver).thread("t");
        for before in 0..3 {
            let said = thread.run(&()).await.unwrap().finished().unwrap();
            assert_eq!(said, format!("after {before}"));
        }
        let head = thread.head().await.unwrap();
        assert_eq!(head.state().saved().unwrap().as_str(), "3");
        assert_eq!(head.state().returned().unwrap().as_str(), "\"after 2\"");
    })
    .await;
}

#[tokio::test]
async fn a_run_that_fails_saves_nothing() {
    let careless = flow("careless", |cx: Cx<bool>| async move {
        let before = cx.previous::<u32>()?;
        cx.save(&1)?;
        if *cx.input() { Err(NodeError::terminal("as asked")) } else { Ok(before) }
    });
    let thread = careless.checkpointer(MemorySaver::new()).thread("t");
    assert!(thread.run(&true).await.is_err());
    assert_eq!(thread.run(&false).await.unwrap().finished().unwrap(), None);
    assert_eq!(thread.run(&false).await.unwrap().finished().unwrap(), Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_retry_runs_the_code_again_and_no_effect_that_succeeded() {
    let calls = Calls::default();
    let noting = calls.clone();
    let stubborn = flow("stubborn", move |cx: Cx<()>| {
        let calls = noting.clone();
        async move {
            cx.run("once", || noted(&calls, "once", ())).await?;
            if cx.info().attempt() < 3 {
                return Err(NodeError::retryable("not yet"));
            }
            Ok(cx.info().attempt())
        }
    });
    assert_eq!(stubborn.retry(Retry::exponential(3)).run(&()).await.unwrap().finished().unwrap(), 3);
    assert_eq!(calls.of("once"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_flow_has_a_timeout_like_any_node() {
    let slow = flow("slow", |_: Cx<()>| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Returned::Ok(())
    });
    let Err(RunError::Node(failure)) = slow.timeout(Duration::from_secs(1)).run(&()).await else {
        panic!("it takes too long")
    };
    assert_eq!(failure.error.kind(), NodeErrorKind::TimedOut);
}

#[tokio::test]
async fn a_finished_thread_returns_its_value_again_and_runs_nothing() {
    on_both_savers(async |saver| {
        let calls = Calls::default();
        let noting = calls.clone();
        let once = flow("once", move |cx: Cx<u32>| {
            noting.note("code");
            async move { Returned::Ok(*cx.input()) }
        });
        let thread = once.shared_checkpointer(saver).thread("t");
        assert_eq!(thread.run(&4).await.unwrap().finished().unwrap(), 4);
        assert_eq!(thread.resume().await.unwrap().finished().unwrap(), 4);
        assert_eq!(calls.of("code"), 1);
    })
    .await;
}

#[tokio::test]
async fn a_value_of_another_type_is_an_error_that_says_so() {
    on_both_savers(async |saver| {
        let text = flow("typed", |cx: Cx<String>| async move { Returned::Ok(cx.input().clone()) });
        let text = text.shared_checkpointer(saver.clone()).thread("t");
        assert_eq!(text.run(&"a".to_owned()).await.unwrap().finished().unwrap(), "a");
        let number = flow("typed", |cx: Cx<u32>| async move { Returned::Ok(*cx.input()) });
        let run = number.shared_checkpointer(saver).thread("t").resume().await.unwrap();
        let error = run.finished().unwrap_err().to_string();
        assert!(error.starts_with("what the flow returned on thread t does not decode: "), "{error}");
    })
    .await;
}

#[tokio::test]
async fn an_input_without_a_json_form_fails_the_run() {
    let echo = flow("echo", |cx: Cx<f64>| async move { Returned::Ok(*cx.input()) });
    let error = echo.run(&f64::NAN).await.unwrap_err().to_string();
    assert!(error.starts_with("the input cannot be stored: "), "{error}");
}

#[tokio::test]
async fn nothing_at_all_is_an_input_and_a_value() {
    on_both_savers(async |saver| {
        let idle = flow("idle", |_: Cx<()>| async move { Returned::Ok(()) });
        let thread = idle.shared_checkpointer(saver).thread("t");
        thread.run(&()).await.unwrap().finished().unwrap();
        thread.resume().await.unwrap().finished().unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_flow_is_watched_like_a_graph() {
    let told = flow("told", |cx: Cx<()>| async move {
        cx.emit("half way", &50);
        Returned::Ok(1)
    });
    let mut stream = told.run(&()).stream();
    let mut custom = Vec::new();
    while let Some(event) = stream.next().await {
        if let EventKind::Custom { name, data, .. } = event.kind {
            custom.push(format!("{name}: {data}"));
        }
    }
    assert_eq!(custom, ["half way: 50"]);
    assert_eq!(stream.finish().await.unwrap().finished().unwrap(), 1);
}

#[tokio::test]
async fn l06_an_effect_in_a_node_of_a_graph_runs_once_though_a_question_follows() {
    on_both_savers(async |saver| {
        #[derive(State, Clone, Debug, Default)]
        struct Said {
            #[reducer(Append)]
            v: Vec<String>,
        }
        let calls = Calls::default();
        let noting = calls.clone();
        let mut g = StateGraph::<Said>::new("effect");
        let a = g.node("a", move |fx: Effects, ask: Ask<String, String>| {
            let calls = noting.clone();
            async move {
                let two: u32 = fx.run("t", || noted(&calls, "t", 2)).await?;
                let answer = ask.ask("q".into()).await;
                Ok::<_, Smashed>(Said::update().v([two.to_string(), answer]))
            }
        });
        g.edge(START, a);
        g.edge(a, END);
        let thread = g.compile().unwrap().shared_checkpointer(saver).thread("t");
        assert_eq!(thread.run(Said::update()).await.unwrap().interrupted().unwrap().len(), 1);
        assert_eq!(thread.answer("R").await.unwrap().finished().unwrap().v, ["2", "R"]);
        assert_eq!(calls.of("t"), 1);
    })
    .await;
}

/// In LangGraph, too; a node with a cache is not run again (`m11_a_copy_uses_what_a_node_with_a_cache_returned`).
#[tokio::test]
async fn m11_a_copy_runs_the_effects_of_what_had_finished_again() {
    on_both_savers(async |saver| {
        let calls = Calls::default();
        let noting = calls.clone();
        let once = flow("once", move |cx: Cx<u32>| {
            let calls = noting.clone();
            async move { Returned::Ok(cx.run("t", || noted(&calls, "t", *cx.input())).await?) }
        });
        let thread = once.shared_checkpointer(saver).thread("t");
        assert_eq!(thread.run(&1).await.unwrap().finished().unwrap(), 1);
        let graph = &thread;
        let history = graph.history().unwrap().collect().await.unwrap();
        let before = history.iter().find(|line| !line.next.is_empty()).unwrap();
        graph.at(before.id).await.unwrap().branch().await.unwrap();
        assert_eq!(thread.resume().await.unwrap().finished().unwrap(), 1);
        assert_eq!(calls.of("t"), 2);
        let history = graph.history().unwrap().collect().await.unwrap();
        let lines: Vec<_> = history.iter().map(|line| (line.source, line.step)).collect();
        assert_eq!(lines, [(Source::Loop, 1), (Source::Fork, 0), (Source::Input, -1)]);
    })
    .await;
}
