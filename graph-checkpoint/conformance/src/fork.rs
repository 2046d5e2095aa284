//! Threads that share a past.

use superstep_core::checkpoint::{At, CheckpointerExt, StoreError};

use super::bench::{Bench, values};
use super::item::items;
use super::material::{answered, ask, effect, ended, extend, json, ok, result, set, step, thread};
use super::verdict::{Verdict, equal, is};

items! { "fork":
    has_the_whole_past "A fork lists the checkpoints that it shares, in their order and under their ids."
    has_the_values_of_the_past "Every shared checkpoint has the same values, metadata and place on the fork."
    goes_its_own_way "What a fork commits shows on it only, and what the other commits on that one only."
    starts_without_work "A fork starts without the results, questions and effects of the original."
    keeps_its_own_work "Both have work under the same ids on the shared checkpoint, each its own."
    tells_the_past_by_who_continued_it "What a shared checkpoint's journal was depends on the thread that continued it."
    leaves_the_original_as_it_was "A fork changes nothing of the thread that it is taken from."
    of_a_fork "A fork is forked at a checkpoint of its own, and at one that it shares."
    of_an_old_branch "A checkpoint that no way back from the head reaches can be forked."
    of_a_passed_checkpoint_only_sees_its_past "What came after the forked checkpoint is not on the fork."
    onto_a_thread_that_is_there_is_refused "A fork to a name that is taken is `ThreadExists`, and changes nothing."
    of_what_is_not_there_is_refused "A fork of an unknown thread, or of a checkpoint it has not, is `NoCheckpoint`, and makes nothing."
}

async fn has_the_whole_past(b: &Bench<'_>) -> Verdict {
    let mut all = vec![b.advance("t", None, []).await?];
    for _ in 0..2 {
        all.push(b.advance("t", all.last(), []).await?);
    }
    b.saver.fork(&thread("t"), all[2].id, &thread("u")).await?;
    equal("the lines of the fork", b.history("u").await?, b.history("t").await?)?;
    equal("how many they are", b.ids("u").await?.len(), 3)?;
    equal("the head of the fork", b.head("u").await?.checkpoint, all[2].clone())
}

async fn has_the_values_of_the_past(b: &Bench<'_>) -> Verdict {
    let mut first = step(None, [set(0, "[1]")]);
    first.metadata = [("k".to_owned(), json("1"))].into_iter().collect();
    b.put("t", &first).await?;
    let second = b.advance("t", Some(&first), [extend(0, "[2]"), set(1, "2")]).await?;
    b.saver.fork(&thread("t"), second.id, &thread("u")).await?;
    for id in [first.id, second.id] {
        equal("a shared checkpoint", b.at("u", id).await?, b.at("t", id).await?)?;
    }
    equal("the values", values(&b.head("u").await?), [(0, "[1,2]"), (1, "2")])
}

async fn goes_its_own_way(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    let second = b.advance("t", Some(&first), [extend(0, "[2]")]).await?;
    b.saver.fork(&thread("t"), first.id, &thread("u")).await?;
    let third = b.advance("t", Some(&second), [extend(0, "[3]")]).await?;
    let branch = b.advance("u", Some(&first), [extend(0, "[20]")]).await?;
    let last = b.advance("u", Some(&branch), [extend(0, "[30]")]).await?;
    equal("the one", values(&b.head("t").await?), [(0, "[1,2,3]")])?;
    equal("the fork", values(&b.head("u").await?), [(0, "[1,20,30]")])?;
    equal("the shared checkpoint", values(&b.at("u", first.id).await?), [(0, "[1]")])?;
    let lines = b.history("u").await?;
    let seen: Vec<_> = lines.iter().map(|line| (line.id, line.thread.as_str())).collect();
    equal("the lines of the fork", seen, [(last.id, "u"), (branch.id, "u"), (first.id, "t")])?;
    equal("the lines of the one", b.ids("t").await?, [third.id, second.id, first.id])
}

async fn starts_without_work(b: &Bench<'_>) -> Verdict {
    let name = thread("t");
    let first = b.advance("t", None, []).await?;
    b.saver.record_result(&name, first.id, result(1, "1")).await?;
    b.saver.ask(&name, first.id, vec![ask(1)]).await?;
    b.saver.note_effect(&name, first.id, ended(effect(1), "1")).await?;
    b.saver.fork(&name, first.id, &thread("u")).await?;
    let forked = b.head("u").await?;
    equal("its results", forked.results, [])?;
    equal("its questions", forked.asks, [])?;
    equal("its effects", forked.effects, [])
}

async fn keeps_its_own_work(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.fork(&thread("t"), first.id, &thread("u")).await?;
    for (name, text) in [("t", "1"), ("u", "2")] {
        let name = thread(name);
        b.saver.record_result(&name, first.id, result(1, text)).await?;
        b.saver.ask(&name, first.id, vec![ask(1)]).await?;
        b.saver.answer_all(&name, vec![(ask(1).id, json(text))]).await?;
        b.saver.begin_effect(&name, first.id, effect(1)).await?;
        b.saver.end_effect(&name, first.id, &effect(1).id, ok(text)).await?;
    }
    for (name, text) in [("t", "1"), ("u", "2")] {
        let loaded = b.head(name).await?;
        equal("its results", loaded.results, [result(1, text)])?;
        equal("its questions", loaded.asks, [answered(ask(1), text)])?;
        equal("its effects", loaded.effects, [ended(effect(1), text)])?;
    }
    Ok(())
}

async fn tells_the_past_by_who_continued_it(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.saver.fork(&thread("t"), first.id, &thread("u")).await?;
    for (name, text) in [("t", "1"), ("u", "2")] {
        b.saver.note_effect(&thread(name), first.id, ended(effect(1), text)).await?;
        b.advance(name, Some(&first), []).await?;
    }
    let branch = b.head("u").await?.checkpoint;
    b.saver.fork(&thread("u"), branch.id, &thread("v")).await?;
    for (name, text) in [("t", "1"), ("u", "2"), ("v", "2")] {
        let seen = b.at(name, first.id).await?.effects;
        equal(format!("the journal as {name} sees it"), seen, [ended(effect(1), text)])?;
    }
    Ok(())
}

async fn leaves_the_original_as_it_was(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    let second = b.advance("t", Some(&first), []).await?;
    b.saver.ask(&thread("t"), second.id, vec![ask(1)]).await?;
    let before = (b.head("t").await?, b.history("t").await?);
    b.saver.fork(&thread("t"), second.id, &thread("u")).await?;
    b.saver.fork(&thread("t"), first.id, &thread("v")).await?;
    b.advance("v", Some(&first), [set(0, "2")]).await?;
    equal("the original", (b.head("t").await?, b.history("t").await?), before)
}

async fn of_a_fork(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    b.saver.fork(&thread("t"), first.id, &thread("u")).await?;
    let branch = b.advance("u", Some(&first), [extend(0, "[2]")]).await?;
    b.saver.fork(&thread("u"), branch.id, &thread("v")).await?;
    b.saver.fork(&thread("u"), first.id, &thread("w")).await?;
    equal("at its own", values(&b.head("v").await?), [(0, "[1,2]")])?;
    equal("at a shared one", b.head("w").await?.checkpoint, first.clone())?;
    equal("the past of the one", b.ids("v").await?, [branch.id, first.id])
}

async fn of_an_old_branch(b: &Bench<'_>) -> Verdict {
    use superstep_core::checkpoint::Commit;
    let first = b.advance("t", None, [set(0, "[1]")]).await?;
    let left = b.advance("t", Some(&first), [extend(0, "[2]")]).await?;
    let branch = step(Some(&first), [extend(0, "[3]")]);
    b.put_as(Commit { expected: Some(left.id), ..super::material::commit_of("t", &branch) }).await?;
    b.saver.fork(&thread("t"), left.id, &thread("u")).await?;
    equal("the fork", values(&b.head("u").await?), [(0, "[1,2]")])
}

async fn of_a_passed_checkpoint_only_sees_its_past(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let second = b.advance("t", Some(&first), []).await?;
    b.saver.fork(&thread("t"), first.id, &thread("u")).await?;
    let later = b.advance("t", Some(&second), []).await?;
    for stranger in [second.id, later.id] {
        let found = b.saver.read(&thread("u"), At::Id(stranger)).await;
        is!("what the other committed", found, Err(StoreError::NoCheckpoint { .. }));
    }
    Ok(())
}

async fn onto_a_thread_that_is_there_is_refused(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let other = b.advance("u", None, []).await?;
    let taken = b.saver.fork(&thread("t"), first.id, &thread("u")).await;
    is!("a fork to a taken name", taken, Err(StoreError::ThreadExists(name)) if name == thread("u"));
    let itself = b.saver.fork(&thread("t"), first.id, &thread("t")).await;
    is!("a fork to itself", itself, Err(StoreError::ThreadExists(_)));
    equal("the other", b.head("u").await?.checkpoint, other)
}

async fn of_what_is_not_there_is_refused(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let other = b.advance("u", None, []).await?;
    for (from, at) in [("none", first.id), ("t", other.id), ("t", step(None, []).id)] {
        let refused = b.saver.fork(&thread(from), at, &thread("v")).await;
        is!("a fork of what is not there", refused, Err(StoreError::NoCheckpoint { .. }));
    }
    equal("the threads", b.names().await?, ["t", "u"])
}
