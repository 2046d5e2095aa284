//! Emitted events, stored beside their checkpoint.

use superstep_core::checkpoint::{CheckpointerExt, Commit, Committed, Emitted, EmittedEvent, TaskResult};

use super::bench::Bench;
use super::item::items;
use super::material::{commit_of, json, result, set, step, thread};
use super::verdict::{Verdict, equal, is};

items! { "emitted":
    is_stored_with_its_checkpoint "What tasks emitted comes back with the step, by their positions, in order."
    of_a_lost_commit_is_not_stored "A commit that lost, or was there already, stores nothing of it."
    is_shared_with_the_past "A fork sees what was emitted in the past it shares, also when the thread that wrote it goes."
    of_a_result_stays_with_it "A result keeps what its task emitted; a later one changes nothing of it."
}

fn emitted(texts: &[&str]) -> Emitted {
    let chunk = |text: &&str| EmittedEvent::Message { at_ms: 7, chunk: json(text) };
    let mut events: Vec<_> = texts.iter().map(chunk).collect();
    events.push(EmittedEvent::Custom { at_ms: u64::MAX, name: "n \u{0}".into(), data: json("null") });
    Emitted { dropped: 1, events }
}

fn said() -> Vec<(u32, Emitted)> {
    let long = format!("\"{}\"", "x".repeat(20_000));
    vec![(0, emitted(&["\"a\"", "\"b\"", &long])), (3, emitted(&[])), (u32::MAX, Emitted::default())]
}

async fn is_stored_with_its_checkpoint(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    b.put_as(Commit { emitted: said(), ..commit_of("t", &step(Some(&first), [])) }).await?;
    let steps = b.steps("t").await?;
    equal("of the step", &steps[0].emitted, &said())?;
    equal("of the step before", &steps[1].emitted, &vec![])
}

async fn of_a_lost_commit_is_not_stored(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let next = b.advance("t", Some(&first), [set(0, "1")]).await?;
    let again = Commit { emitted: said(), ..commit_of("t", &next) };
    is!("the same commit again", b.saver.commit(again).await?, Committed::Already);
    let lost = Commit { emitted: said(), ..commit_of("t", &step(Some(&first), [])) };
    is!("a commit that lost", b.saver.commit(lost).await?, Committed::Adopt(_));
    let steps = b.steps("t").await?;
    equal("how many steps emitted", steps.iter().filter(|step| !step.emitted.is_empty()).count(), 0)
}

async fn is_shared_with_the_past(b: &Bench<'_>) -> Verdict {
    let first = step(None, []);
    b.put_as(Commit { emitted: said(), ..commit_of("t", &first) }).await?;
    b.saver.fork(&thread("t"), first.id, &thread("fork")).await?;
    equal("of the fork", &b.steps("fork").await?[0].emitted, &said())?;
    b.delete("t").await?;
    equal("of the fork alone", &b.steps("fork").await?[0].emitted, &said())
}

async fn of_a_result_stays_with_it(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let told = TaskResult { emitted: Some(Box::new(emitted(&["\"a\""]))), ..result(1, "1") };
    b.saver.record_result(&thread("t"), first.id, told.clone()).await?;
    b.saver.flush(&thread("t")).await?;
    equal(
        "the result that counts",
        b.saver.record_result(&thread("t"), first.id, result(1, "1")).await?,
        told.clone(),
    )?;
    equal("the results", b.head("t").await?.results, [told])
}
