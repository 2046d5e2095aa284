//! Two programs that share a store. For stores that can be opened a second time.

use superstep_core::checkpoint::{CheckpointerExt, Committed, StoreError};

use super::bench::{Bench, values};
use super::item::items;
use super::material::{
    ask, commit_of, described, due, effect, expired, extend, field, json, result, run, schema, set, step,
    task, thread,
};
use super::verdict::{Verdict, equal, failed, holds, is};

items! { "sharing":
    both_see_what_is_committed "What one program commits, the other one reads; a description is known to both."
    heads_move_for_both "A head that one program has moved is moved for the other one: its commit conflicts or is adopted."
    the_first_result_counts_for_both "The first result of a task counts, whichever program recorded it."
    an_answer_reaches_the_other "An answer, or a deadline, that one program gives counts for the other one's question."
    an_effect_is_begun_by_one "An effect that one program has begun is begun for the other one."
    a_deletion_stops_the_other "A thread that one program deletes is gone for the other one, with its subgraphs and its names."
    commits_race_across_programs "Of commits of two programs on one head at once exactly one is new, every time."
}

async fn both_see_what_is_committed(b: &Bench<'_>) -> Verdict {
    let other = b.reopened().await?;
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    equal("what the other reads", other.head("t").await?, b.head("t").await?)?;
    let second = other.advance("t", Some(&first), [extend(0, "[2]")]).await?;
    equal("the values", values(&b.head("t").await?), [(0, "[1,2]")])?;
    equal("the history", b.ids("t").await?, [second.id, first.id])?;
    let mut wider = schema();
    wider.fields.push(field("e"));
    b.saver.register(&described(wider.clone())).await?;
    let mut third = step(Some(&second), [set(4, "5")]);
    third.schema = wider.fingerprint();
    other.put("t", &third).await?;
    equal("the values of both", values(&b.head("t").await?), [(0, "[1,2]"), (4, "5")])
}

async fn heads_move_for_both(b: &Bench<'_>) -> Verdict {
    let other = b.reopened().await?;
    let first = b.advance("t", None, []).await?;
    let won = other.advance("t", Some(&first), []).await?;
    let lost = step(Some(&first), [set(0, "9")]);
    is!("the loser of one run", b.saver.commit(commit_of("t", &lost)).await?, Committed::Adopt(adopted) if adopted.checkpoint == won);
    let mut foreign = step(Some(&first), []);
    foreign.run = run(2);
    is!("the loser of another run", b.saver.commit(commit_of("t", &foreign)).await?, Committed::Conflict { head } if head == Some(won.id));
    is!("the winner's again", b.saver.commit(commit_of("t", &won)).await?, Committed::Already);
    let late = b.saver.ask(&thread("t"), first.id, vec![ask(1)]).await;
    is!("a question on the passed head", late, Err(StoreError::Superseded { .. }));
    equal(
        "a late result",
        b.saver.record_result(&thread("t"), first.id, result(1, "1")).await?,
        result(1, "1"),
    )?;
    b.saver.flush(&thread("t")).await?;
    equal("the results", other.at("t", first.id).await?.results, [])
}

async fn the_first_result_counts_for_both(b: &Bench<'_>) -> Verdict {
    let other = b.reopened().await?;
    let name = thread("t");
    let first = b.advance("t", None, []).await?;
    b.saver.record_result(&name, first.id, result(1, "1")).await?;
    b.saver.flush(&name).await?;
    let counted = other.saver.record_result(&name, first.id, result(1, "2")).await?;
    equal("the result that counts", counted, result(1, "1"))?;
    other.saver.record_result(&name, first.id, result(2, "2")).await?;
    other.saver.flush(&name).await?;
    equal("the results", b.head("t").await?.results, [result(1, "1"), result(2, "2")])
}

async fn an_answer_reaches_the_other(b: &Bench<'_>) -> Verdict {
    let other = b.reopened().await?;
    let name = thread("t");
    let first = b.advance("t", None, []).await?;
    b.saver.ask(&name, first.id, vec![ask(1), due(2, 5)]).await?;
    other.saver.answer_all(&name, vec![(ask(1).id, json("1"))]).await?;
    let expires = other.saver.expire(&"graph".into(), None, 5).await?;
    equal("what answered itself", expires, [(name.clone(), expired(2, 5))])?;
    let twice = b.saver.answer_all(&name, vec![(ask(1).id, json("2"))]).await;
    is!("a second answer", twice, Err(StoreError::AlreadyAnswered(_)));
    equal("what answers itself again", b.saver.expire(&"graph".into(), None, 5).await?.len(), 0)?;
    let answers: Vec<_> = b.head("t").await?.asks.into_iter().map(|ask| ask.answer).collect();
    equal("the answers", answers, [Some(json("1")), Some(json("2"))])
}

async fn an_effect_is_begun_by_one(b: &Bench<'_>) -> Verdict {
    let other = b.reopened().await?;
    let first = b.advance("t", None, []).await?;
    equal("the one", b.saver.begin_effect(&thread("t"), first.id, effect(1)).await?, None)?;
    equal("the other", other.saver.begin_effect(&thread("t"), first.id, effect(1)).await?, Some(effect(1)))
}

async fn a_deletion_stops_the_other(b: &Bench<'_>) -> Verdict {
    let other = b.reopened().await?;
    let first = b.advance("t", None, []).await?;
    let below = thread("t").below(task(1));
    b.advance(below.as_str(), None, []).await?;
    other.delete("t").await?;
    holds("it is gone", !b.is_there(&thread("t")).await? && !b.is_there(&below).await?)?;
    let late = b.saver.commit(commit_of("t", &step(Some(&first), []))).await?;
    is!("a late commit", late, Committed::Conflict { head: None });
    let recreated = other.advance("t", None, []).await?;
    let late = b.saver.commit(commit_of("t", &step(Some(&first), []))).await?;
    is!("a commit later still", late, Committed::Conflict { head } if head == Some(recreated.id));
    b.advance("t", Some(&recreated), []).await?;
    Ok(())
}

async fn commits_race_across_programs(b: &Bench<'_>) -> Verdict {
    let other = b.reopened().await?;
    let mut last = b.advance("t", None, [set(0, "[]")]).await?;
    for round in 0..15 {
        let mut racers = tokio::task::JoinSet::new();
        for (number, saver) in (0..).zip([b.saver.clone(), other.saver.clone()]) {
            let mut next = step(Some(&last), [extend(0, &format!("[{round}]"))]);
            next.run = run(number);
            racers.spawn(
                async move { Ok::<_, StoreError>((saver.commit(commit_of("t", &next)).await?, next)) },
            );
        }
        let mut winners = Vec::new();
        while let Some(ended) = racers.join_next().await {
            let (committed, next) = ended.map_err(|error| failed("a racer", "it ends", error))??;
            match committed {
                Committed::New => winners.push(next),
                other => is!("the loser's commit", other, Committed::Conflict { .. }),
            }
        }
        equal("how many commits were new", winners.len(), 1)?;
        last = winners.remove(0);
    }
    equal("the length of the past", b.ids("t").await?.len(), 16)?;
    equal("the other's", other.ids("t").await?, b.ids("t").await?)
}
