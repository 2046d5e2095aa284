//! Names of checkpoints.

use superstep_core::checkpoint::{
    At, Checkpoint, CheckpointName, CheckpointerExt, Commit, Naming, StoreError,
};
use superstep_core::id::CheckpointId;

use super::bench::{Bench, values};
use super::item::items;
use super::material::{commit_of, set, step, thread};
use super::verdict::{Stop, Verdict, equal, is};

items! { "names":
    find_their_checkpoints "A checkpoint is found by each of its names, for loads, histories and steps."
    are_each_of_one_checkpoint "A name that another checkpoint has is `NameTaken`; the same again changes nothing."
    change_and_go "A name gives its place to another one, and is taken away; the checkpoint stays."
    of_what_is_not_there_are_refused "Naming a checkpoint of others, and changing a name that is not there, is `NoCheckpoint`."
    are_those_of_one_thread "A fork has none of the names, may have the same for other checkpoints, and keeps its own."
    go_with_their_thread "A deleted thread leaves no names to the next one of its name."
    keep_their_checkpoints "A checkpoint that another thread has a name for outlives its own, also where no way leads to it."
}

fn name(text: &str) -> CheckpointName {
    text.parse().expect("it is a name")
}

async fn give(b: &Bench<'_>, on: &str, text: &str, checkpoint: CheckpointId) -> Result<(), StoreError> {
    b.saver.name(&thread(on), Naming::Give { name: name(text), checkpoint }).await
}

async fn rename(b: &Bench<'_>, from: &str, to: &str) -> Result<(), StoreError> {
    b.saver.name(&thread("t"), Naming::Rename { from: name(from), to: name(to) }).await
}

async fn remove(b: &Bench<'_>, text: &str) -> Result<(), StoreError> {
    b.saver.name(&thread("t"), Naming::Remove { name: name(text) }).await
}

async fn names(b: &Bench<'_>, on: &str) -> Result<Vec<(String, CheckpointId)>, Stop> {
    let names = b.saver.names(&thread(on)).await?.into_iter();
    Ok(names.map(|named| (named.name.to_string(), named.checkpoint)).collect())
}

fn pair(text: &str, checkpoint: &Checkpoint) -> (String, CheckpointId) {
    (text.to_owned(), checkpoint.id)
}

/// Creates the thread `t` with three checkpoints.
async fn line(b: &Bench<'_>) -> Result<[Checkpoint; 3], Stop> {
    let first = b.advance("t", None, [set(0, "1")]).await?;
    let second = b.advance("t", Some(&first), [set(0, "2")]).await?;
    let third = b.advance("t", Some(&second), [set(0, "3")]).await?;
    Ok([first, second, third])
}

async fn find_their_checkpoints(b: &Bench<'_>) -> Verdict {
    let [first, second, third] = line(b).await?;
    equal("the names before", names(b, "t").await?, [])?;
    for (text, of) in [("b", &second), ("a", &second), ("c", &first)] {
        give(b, "t", text, of.id).await?;
    }
    let all = [pair("a", &second), pair("b", &second), pair("c", &first)];
    equal("the names", names(b, "t").await?, all)?;
    equal("the names of a thread that is not there", names(b, "none").await?, [])?;
    let t = thread("t");
    let at = |text: &str| At::Named(name(text));
    let by_id = b.saver.read(&t, At::Id(second.id)).await?;
    equal("what a name loads", b.saver.read(&t, at("b")).await?, by_id)?;
    let ids: Vec<_> = b.saver.history(&t, at("a"), 9).await?.iter().map(|line| line.id).collect();
    equal("the history from a name", ids, [second.id, first.id])?;
    let steps = b.saver.steps(&t, at("c"), 9).await?;
    equal(
        "the steps from a name",
        steps.iter().map(|step| step.checkpoint.id).collect::<Vec<_>>(),
        [first.id],
    )?;
    is!("a name that is not there", b.saver.read(&t, at("d")).await, Err(StoreError::NoCheckpoint { .. }));
    equal("the head", b.head("t").await?.checkpoint.id, third.id)
}

async fn are_each_of_one_checkpoint(b: &Bench<'_>) -> Verdict {
    let [first, second, _] = line(b).await?;
    give(b, "t", "a", first.id).await?;
    give(b, "t", "a", first.id).await?;
    let taken = give(b, "t", "a", second.id).await;
    is!("a name that is taken", taken, Err(StoreError::NameTaken { checkpoint, .. }) if checkpoint == first.id);
    give(b, "t", "b", second.id).await?;
    is!("a name that is taken", rename(b, "a", "b").await, Err(StoreError::NameTaken { .. }));
    equal("the names", names(b, "t").await?, [pair("a", &first), pair("b", &second)])
}

async fn change_and_go(b: &Bench<'_>) -> Verdict {
    let [first, second, _] = line(b).await?;
    give(b, "t", "a", first.id).await?;
    give(b, "t", "b", second.id).await?;
    rename(b, "a", "a").await?;
    rename(b, "a", "c").await?;
    equal("the names", names(b, "t").await?, [pair("b", &second), pair("c", &first)])?;
    remove(b, "b").await?;
    equal("the names", names(b, "t").await?, [pair("c", &first)])?;
    equal("what had a name", b.at("t", second.id).await?.checkpoint, second)
}

async fn of_what_is_not_there_are_refused(b: &Bench<'_>) -> Verdict {
    line(b).await?;
    let other = b.advance("u", None, []).await?;
    for on in ["t", "none"] {
        is!(
            "naming what is not there",
            give(b, on, "a", other.id).await,
            Err(StoreError::NoCheckpoint { .. })
        );
    }
    is!("no such name", remove(b, "a").await, Err(StoreError::NoCheckpoint { .. }));
    is!("no such name", rename(b, "a", "b").await, Err(StoreError::NoCheckpoint { .. }));
    equal("the names", names(b, "t").await?, [])
}

async fn are_those_of_one_thread(b: &Bench<'_>) -> Verdict {
    let [first, second, _] = line(b).await?;
    give(b, "t", "a", first.id).await?;
    b.saver.fork(&thread("t"), second.id, &thread("u")).await?;
    equal("the names of a fork", names(b, "u").await?, [])?;
    give(b, "u", "a", second.id).await?;
    equal("the names of the original", names(b, "t").await?, [pair("a", &first)])?;
    b.delete("t").await?;
    equal("the names of the fork", names(b, "u").await?, [pair("a", &second)])
}

async fn go_with_their_thread(b: &Bench<'_>) -> Verdict {
    let [first, second, _] = line(b).await?;
    give(b, "t", "a", first.id).await?;
    b.saver.fork(&thread("t"), second.id, &thread("u")).await?;
    b.delete("t").await?;
    equal("the names of a deleted thread", names(b, "t").await?, [])?;
    b.advance("t", None, []).await?;
    equal("the names of the next one", names(b, "t").await?, [])?;
    equal("the names of the fork", names(b, "u").await?, [])
}

async fn keep_their_checkpoints(b: &Bench<'_>) -> Verdict {
    let [first, second, third] = line(b).await?;
    b.saver.fork(&thread("t"), third.id, &thread("u")).await?;
    give(b, "u", "a", second.id).await?;
    // The fork continues from another checkpoint, and the original is deleted.
    let branch = step(Some(&first), [set(0, "9")]);
    b.put_as(Commit { expected: Some(third.id), ..commit_of("u", &branch) }).await?;
    b.delete("t").await?;
    let named = b.saver.read(&thread("u"), At::Named(name("a"))).await?;
    let named = named.as_ref().map(|loaded| (loaded.checkpoint.id, values(loaded)));
    equal("what has a name", named, Some((second.id, vec![(0, "2")])))?;
    let unnamed = b.saver.read(&thread("u"), At::Id(third.id)).await;
    is!("what has none", unnamed, Err(StoreError::NoCheckpoint { .. }));
    b.saver.fork(&thread("u"), second.id, &thread("v")).await?;
    equal("a fork of what has a name", b.head("v").await?.checkpoint, second)
}
