//! Clocks that go backwards or stand still: no order may depend on them.

use superstep_core::checkpoint::{At, Checkpoint, CheckpointerExt, Committed};

use super::bench::{Bench, values};
use super::item::items;
use super::material::{commit_of, extend, id_of_time, set, step, thread};
use super::verdict::{Stop, Verdict, equal, is};

items! { "clock":
    order_is_that_of_the_commits "With ids of falling times, heads, histories, steps and lineages are in the order of the commits."
    values_fold_in_the_order_of_the_commits "With ids of falling times, values are folded in the order of the commits."
    an_old_id_is_known_again "A commit under an older id than the newest is `Already` when it is repeated, and a conflict otherwise."
    any_time_is_kept "Ids of the beginning and the end of time, and of one millisecond, are found again."
    before_a_node_goes_back_from_the_head "`Before` goes back along the parents, whatever the times of the ids are."
}

/// Creates a thread in which every checkpoint is an hour older than its parent.
async fn falling(b: &Bench<'_>, name: &str, length: u64) -> Result<Vec<Checkpoint>, Stop> {
    const HOUR: u64 = 3_600_000;
    let mut all: Vec<Checkpoint> = Vec::new();
    for number in 0..length {
        let mut next = step(all.last(), [extend(0, &format!("[{number}]"))]);
        next.id = id_of_time(1_700_000_000_000 - number * HOUR);
        b.put(name, &next).await?;
        all.push(next);
    }
    Ok(all)
}

async fn order_is_that_of_the_commits(b: &Bench<'_>) -> Verdict {
    // This is enough for an index that is filled in batches.
    let all = falling(b, "t", 150).await?;
    let newest_first: Vec<_> = all.iter().rev().map(|checkpoint| checkpoint.id).collect();
    equal("the head", b.head("t").await?.checkpoint.id, newest_first[0])?;
    equal("the history", b.ids("t").await?, &*newest_first)?;
    let steps: Vec<_> = b.steps("t").await?.iter().map(|step| step.checkpoint.id).collect();
    equal("the steps", steps, &*newest_first)?;
    let tree: Vec<_> = b.saver.lineage(&thread("t")).await?.iter().map(|line| line.id).collect();
    equal("the lineage", tree, newest_first)
}

async fn values_fold_in_the_order_of_the_commits(b: &Bench<'_>) -> Verdict {
    let all = falling(b, "t", 4).await?;
    equal("the head", values(&b.head("t").await?), [(0, "[0,1,2,3]")])?;
    equal("the one in the middle", values(&b.at("t", all[1].id).await?), [(0, "[0,1]")])
}

async fn an_old_id_is_known_again(b: &Bench<'_>) -> Verdict {
    let all = falling(b, "t", 150).await?;
    for again in [&all[149], &all[75], &all[0]] {
        is!("the same again", b.saver.commit(commit_of("t", again)).await?, Committed::Already);
        let mut other = step(Some(&all[149]), [set(1, "1")]);
        other.id = again.id;
        let refused = b.saver.commit(commit_of("t", &other)).await?;
        is!("another one under its id", refused, Committed::Conflict { head } if head == Some(all[149].id));
    }
    Ok(())
}

async fn any_time_is_kept(b: &Bench<'_>) -> Verdict {
    const END: u64 = (1 << 48) - 1;
    let mut all: Vec<Checkpoint> = Vec::new();
    for time in [END, 0, 7, 7, 7, END, 1] {
        let mut next = step(all.last(), []);
        next.id = id_of_time(time);
        b.put("t", &next).await?;
        all.push(next);
    }
    for checkpoint in &all {
        equal("a checkpoint by its id", &b.at("t", checkpoint.id).await?.checkpoint, checkpoint)?;
    }
    let times: Vec<_> = b.history("t").await?.iter().map(|line| line.created_ms).collect();
    equal("the times", times, [1, END, 7, 7, 7, 0, END])
}

async fn before_a_node_goes_back_from_the_head(b: &Bench<'_>) -> Verdict {
    let all = falling(b, "t", 3).await?;
    let found = b.saver.read(&thread("t"), At::Before("n".into())).await?;
    equal("the newest before it", found.map(|loaded| loaded.checkpoint.id), Some(all[2].id))
}
