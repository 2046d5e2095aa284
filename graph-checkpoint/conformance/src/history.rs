//! The list of a thread's past.

use superstep_core::checkpoint::{At, Checkpoint, CheckpointerExt, Source, Summary};

use super::bench::Bench;
use super::item::items;
use super::material::{json, result, set, step, task, thread};
use super::verdict::{Stop, Verdict, equal, holds};

items! { "history":
    all_of_a_thread_newest_first "All checkpoints of a thread are listed once, the newest first, in the store's order."
    other_threads_are_not_listed "A history has nothing of other threads."
    subgraphs_are_not_listed "The thread above lists nothing of its subgraphs, and they nothing of it."
    lines_tell_what_is_filtered_by "A line tells run, step, source, nodes and the user's entries, so that callers can choose among lines."
    the_time_is_that_of_the_id "A line tells the time that its id was drawn, to the millisecond."
    limit_counts_from_the_newest "A limit leaves out the oldest; with the limit 0 there is nothing."
    from_a_checkpoint "From a checkpoint on, it and what is older is listed."
    from_a_checkpoint_with_a_limit "A limit counts from where the list begins: so pages can be turned."
    a_branch_lists_its_own_past "After a branch, the way back from the head is listed, not the way that was left."
    pending_work_adds_no_line "Work on top of the head adds no line, and hides none."
}

/// Creates four checkpoints: inputs and steps alternate, each with a score.
async fn four(b: &Bench<'_>) -> Result<Vec<Checkpoint>, Stop> {
    let mut all: Vec<Checkpoint> = Vec::new();
    for number in 0..4_i64 {
        let mut next = step(all.last(), [set(0, &number.to_string())]);
        next.source = if number % 2 == 0 { Source::Input } else { Source::Loop };
        next.metadata = [("score".to_owned(), json(&(number * 21).to_string()))].into_iter().collect();
        b.put("t", &next).await?;
        all.push(next);
    }
    Ok(all)
}

fn ids(lines: &[Summary]) -> Vec<superstep_core::id::CheckpointId> {
    lines.iter().map(|line| line.id).collect()
}

async fn all_of_a_thread_newest_first(b: &Bench<'_>) -> Verdict {
    let all = four(b).await?;
    let lines = b.history("t").await?;
    let expected: Vec<_> = all.iter().rev().map(|checkpoint| checkpoint.id).collect();
    equal("the ids", ids(&lines), expected)?;
    holds("the places fall", lines.windows(2).all(|pair| pair[0].seq > pair[1].seq))?;
    let linked = lines.windows(2).all(|pair| pair[0].parent == Some(pair[1].id));
    holds("each line names the next one as its parent", linked)?;
    equal("the parent of the oldest", lines[3].parent, None)?;
    equal("the place of the newest", lines[0].seq, b.head("t").await?.seq)
}

async fn other_threads_are_not_listed(b: &Bench<'_>) -> Verdict {
    let mut last = b.advance("t", None, []).await?;
    for number in 0..3 {
        b.advance(&format!("other {number}"), None, []).await?;
        last = b.advance("t", Some(&last), []).await?;
    }
    let lines = b.history("t").await?;
    equal("the lines", lines.len(), 4)?;
    holds("all are written on the thread", lines.iter().all(|line| line.thread == thread("t")))?;
    equal("the lines of another", b.history("other 1").await?.len(), 1)
}

async fn subgraphs_are_not_listed(b: &Bench<'_>) -> Verdict {
    let above = b.advance("t", None, []).await?;
    let below = thread("t").below(task(1));
    let inner = b.advance(below.as_str(), None, []).await?;
    equal("above", b.ids("t").await?, [above.id])?;
    equal("below", b.ids(below.as_str()).await?, [inner.id])
}

async fn lines_tell_what_is_filtered_by(b: &Bench<'_>) -> Verdict {
    let all = four(b).await?;
    let lines = b.history("t").await?;
    for (line, checkpoint) in lines.iter().zip(all.iter().rev()) {
        equal("a line", line, &Summary::of(line.seq, &thread("t"), checkpoint))?;
    }
    let chosen = |is: &dyn Fn(&Summary) -> bool| lines.iter().filter(|line| is(line)).count();
    equal("inputs", chosen(&|line| line.source == Source::Input), 2)?;
    equal("step 1", chosen(&|line| line.step == 1), 1)?;
    equal("a score", chosen(&|line| line.metadata["score"] == json("42")), 1)?;
    equal("both", chosen(&|line| line.source == Source::Loop && line.step == 2), 1)?;
    equal("what is not there", chosen(&|line| line.source == Source::Update), 0)
}

async fn the_time_is_that_of_the_id(b: &Bench<'_>) -> Verdict {
    let mut first = step(None, []);
    first.id = super::material::id_of_time(1_234_567_890_123);
    b.put("t", &first).await?;
    equal("the time", b.history("t").await?[0].created_ms, 1_234_567_890_123)
}

async fn limit_counts_from_the_newest(b: &Bench<'_>) -> Verdict {
    four(b).await?;
    let all = b.history("t").await?;
    for limit in [0, 1, 2, 4, 5] {
        let lines = b.saver.history(&thread("t"), At::Head, limit).await?;
        equal(format!("{limit} of four lines"), lines, &all[..limit.min(4)])?;
    }
    Ok(())
}

async fn from_a_checkpoint(b: &Bench<'_>) -> Verdict {
    let four = four(b).await?;
    let all = b.history("t").await?;
    let lines = b.saver.history(&thread("t"), At::Id(four[1].id), 9).await?;
    equal("from the second on", lines, &all[2..])
}

async fn from_a_checkpoint_with_a_limit(b: &Bench<'_>) -> Verdict {
    let four = four(b).await?;
    let all = b.history("t").await?;
    let lines = b.saver.history(&thread("t"), At::Id(four[2].id), 2).await?;
    equal("two from the third on", lines, &all[1..3])
}

async fn a_branch_lists_its_own_past(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let left = b.advance("t", Some(&first), []).await?;
    let branch = step(Some(&first), []);
    let moved = super::material::commit_of("t", &branch);
    b.put_as(superstep_core::checkpoint::Commit { expected: Some(left.id), ..moved }).await?;
    equal("the way back", b.ids("t").await?, [branch.id, first.id])?;
    let lines = b.saver.history(&thread("t"), At::Id(left.id), 9).await?;
    equal("the way that was left", ids(&lines), [left.id, first.id])
}

async fn pending_work_adds_no_line(b: &Bench<'_>) -> Verdict {
    let four = four(b).await?;
    let before = b.history("t").await?;
    b.saver.record_result(&thread("t"), four[3].id, result(1, "1")).await?;
    equal("the lines", b.history("t").await?, before)
}
