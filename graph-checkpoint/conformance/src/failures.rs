//! Failures of tasks of an unfinished superstep.

use superstep_core::checkpoint::{CheckpointerExt, FailureRecord};

use super::bench::Bench;
use super::item::items;
use super::material::{failure, result, thread};
use super::verdict::{Verdict, equal};

items! { "failures":
    come_back_whole "A failure comes back with node, attempts, kind, message and causes."
    the_latest_counts "A later failure of a task takes the place of the earlier one."
    a_result_takes_their_place "A result takes the place of its task's failure, and is not replaced by a later one."
    late_ones_are_dropped "A failure on a checkpoint that is not the head is stored nowhere, and is no error."
}

fn by_task(mut failures: Vec<FailureRecord>) -> Vec<FailureRecord> {
    failures.sort_by_key(|failure| failure.task);
    failures
}

async fn come_back_whole(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let told = FailureRecord { attempts: u32::MAX, node: "\u{0}".into(), ..failure(1, "\u{0} \"it\"\n") };
    b.saver.fail(&thread("t"), first.id, told.clone()).await?;
    equal("the failures", b.head("t").await?.failures, [told])
}

async fn the_latest_counts(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    for (number, message) in [(1, "first"), (2, "second"), (1, "again")] {
        b.saver.fail(&thread("t"), first.id, failure(number, message)).await?;
    }
    let expected = [failure(1, "again"), failure(2, "second")];
    equal("the failures", by_task(b.head("t").await?.failures), expected)?;
    equal("the results", b.head("t").await?.results, [])
}

async fn a_result_takes_their_place(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    for number in [1, 2] {
        b.saver.fail(&thread("t"), first.id, failure(number, "it")).await?;
    }
    let counted = b.saver.record_result(&thread("t"), first.id, result(1, "1")).await?;
    equal("the result that counts", counted, result(1, "1"))?;
    b.saver.fail(&thread("t"), first.id, failure(1, "late")).await?;
    let loaded = b.head("t").await?;
    equal("the results", loaded.results, [result(1, "1")])?;
    equal("the failures", loaded.failures, [failure(2, "it")])
}

async fn late_ones_are_dropped(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.advance("t", Some(&first), []).await?;
    b.saver.fail(&thread("t"), first.id, failure(1, "late")).await?;
    b.saver.flush(&thread("t")).await?;
    equal("the failures of then", b.at("t", first.id).await?.failures, [])?;
    equal("the failures of now", b.head("t").await?.failures, [])
}
