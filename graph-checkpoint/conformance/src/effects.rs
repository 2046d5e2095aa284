//! The effect journal.

use superstep_core::checkpoint::{CheckpointerExt, EffectOutcome, EffectRecord, StoreError};
use superstep_core::id::IdempotencyKey;

use super::bench::Bench;
use super::item::items;
use super::material::{effect, ended, ok, step, task, thread};
use super::verdict::{Verdict, equal, is};

items! { "effects":
    come_back_whole "An effect comes back with id, attempt, starts, key and outcome, in the order of the beginnings."
    are_distinguished_by_every_part_of_their_id "Effects of other tasks, names, keys or occurrences are others."
    are_begun_by_the_first "Who begins an effect that is begun gets its record, and nothing is recorded."
    more_starts_take_the_place "A record of more starts takes the place of one of fewer, whose outcome goes."
    an_outcome_stands "An outcome, a value or an error, is recorded with its effect."
    noted_ones_are_there_with_their_outcome "A noted effect is there with its outcome, in the place of one of fewer starts."
    the_first_success_counts "Another value than the one that is there is `Superseded`: at once for an outcome, at the latest at the next flush for a note."
    a_success_is_replaced_by_who_knows_it "A start takes the place of a success only where it leaves out a number."
    outcomes_stay_at_the_barrier "At the barrier effects without an outcome go; the others stay on their checkpoint, for replay."
    beginning_on_a_passed_head_is_superseded "An effect of a checkpoint that is not the head must not start: `Superseded`."
    late_outcomes_are_dropped "Outcomes and notes on a checkpoint that is not the head are stored nowhere, and are no error."
}

async fn come_back_whole(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let mut whole = effect(7);
    whole.id.key = "a key".into();
    (whole.attempt, whole.starts) = (2, 3);
    whole.token = IdempotencyKey::from_bytes([255; 16]);
    for begun in [&whole, &effect(1), &effect(0)] {
        equal("a beginning", b.saver.begin_effect(&thread("t"), first.id, begun.clone()).await?, None)?;
    }
    equal("the effects", b.head("t").await?.effects, [whole, effect(1), effect(0)])
}

async fn are_distinguished_by_every_part_of_their_id(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let mut all = vec![effect(1); 5];
    all[1].id.task = task(2);
    all[2].id.name = "other".into();
    all[3].id.key = "key".into();
    all[4].id.occurrence = 2;
    for begun in &all {
        equal("a beginning", b.saver.begin_effect(&thread("t"), first.id, begun.clone()).await?, None)?;
    }
    equal("the effects", b.head("t").await?.effects, all)
}

async fn are_begun_by_the_first(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let begin = async |record: EffectRecord| b.saver.begin_effect(&thread("t"), first.id, record).await;
    equal("the first", begin(effect(1)).await?, None)?;
    let mut other = effect(1);
    other.token = IdempotencyKey::from_bytes([8; 16]);
    equal("the second", begin(other.clone()).await?, Some(effect(1)))?;
    b.saver.end_effect(&thread("t"), first.id, &effect(1).id, ok("1")).await?;
    equal("the third, after it ended", begin(other).await?, Some(ended(effect(1), "1")))?;
    equal("the effects", b.head("t").await?.effects, [ended(effect(1), "1")])
}

async fn more_starts_take_the_place(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let name = thread("t");
    b.saver.begin_effect(&name, first.id, effect(1)).await?;
    b.saver.begin_effect(&name, first.id, effect(2)).await?;
    b.saver.end_effect(&name, first.id, &effect(1).id, EffectOutcome::Err("no".into())).await?;
    let again = EffectRecord { attempt: 2, starts: 2, ..effect(1) };
    equal("another start", b.saver.begin_effect(&name, first.id, again.clone()).await?, None)?;
    equal("the effects", b.head("t").await?.effects, [again.clone(), effect(2)])?;
    let fewer = b.saver.begin_effect(&name, first.id, effect(1)).await?;
    equal("a start of before", fewer, Some(again))
}

async fn an_outcome_stands(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let name = thread("t");
    let outcomes = [ok("null"), EffectOutcome::Err(String::new()), EffectOutcome::Err("no \u{0}".into())];
    let mut expected = Vec::new();
    for (number, outcome) in (0..).zip(outcomes) {
        b.saver.begin_effect(&name, first.id, effect(number)).await?;
        b.saver.end_effect(&name, first.id, &effect(number).id, outcome.clone()).await?;
        expected.push(EffectRecord { outcome: Some(outcome), ..effect(number) });
    }
    // The end of an effect that was never begun is ignored.
    b.saver.end_effect(&name, first.id, &effect(9).id, ok("1")).await?;
    equal("the effects", b.head("t").await?.effects, expected)
}

async fn noted_ones_are_there_with_their_outcome(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let name = thread("t");
    b.saver.note_effect(&name, first.id, ended(effect(1), "1")).await?;
    b.saver.note_effect(&name, first.id, ended(effect(1), "1")).await?;
    let again = EffectRecord { starts: 2, ..effect(2) };
    b.saver.begin_effect(&name, first.id, effect(2)).await?;
    b.saver.note_effect(&name, first.id, ended(again.clone(), "3")).await?;
    b.saver.flush(&name).await?;
    equal("the effects", b.head("t").await?.effects, [ended(effect(1), "1"), ended(again, "3")])
}

async fn the_first_success_counts(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let name = thread("t");
    b.saver.note_effect(&name, first.id, ended(effect(1), "1")).await?;
    let other = match b.saver.note_effect(&name, first.id, ended(effect(1), "2")).await {
        Ok(()) => b.saver.flush(&name).await,
        refused => refused,
    };
    is!("another value", other, Err(StoreError::Superseded { thread, base }) if thread == name && base == first.id);
    b.saver.begin_effect(&name, first.id, effect(2)).await?;
    b.saver.end_effect(&name, first.id, &effect(2).id, EffectOutcome::Err("no".into())).await?;
    b.saver.end_effect(&name, first.id, &effect(2).id, ok("1")).await?;
    b.saver.end_effect(&name, first.id, &effect(2).id, ok("1")).await?;
    let other = b.saver.end_effect(&name, first.id, &effect(2).id, ok("2")).await;
    is!("another success", other, Err(StoreError::Superseded { thread, base }) if thread == name && base == first.id);
    equal("the effects", b.head("t").await?.effects, [ended(effect(1), "1"), ended(effect(2), "1")])
}

async fn a_success_is_replaced_by_who_knows_it(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let name = thread("t");
    b.saver.begin_effect(&name, first.id, effect(1)).await?;
    b.saver.end_effect(&name, first.id, &effect(1).id, ok("1")).await?;
    let unaware = EffectRecord { starts: 2, ..effect(1) };
    let held = b.saver.begin_effect(&name, first.id, unaware).await?;
    equal("a start by who knows of none", held, Some(ended(effect(1), "1")))?;
    let aware = EffectRecord { starts: 3, ..effect(1) };
    equal("a start by who knows it", b.saver.begin_effect(&name, first.id, aware.clone()).await?, None)?;
    equal("the effects", b.head("t").await?.effects, [aware])
}

async fn outcomes_stay_at_the_barrier(b: &Bench<'_>) -> Verdict {
    let first = b.advance("t", None, []).await?;
    let name = thread("t");
    for number in 0..3 {
        b.saver.begin_effect(&name, first.id, effect(number)).await?;
    }
    b.saver.end_effect(&name, first.id, &effect(1).id, ok("null")).await?;
    b.advance("t", Some(&first), []).await?;
    equal("the effects on the head", b.head("t").await?.effects, [])?;
    equal("the effects on the one before", b.at("t", first.id).await?.effects, [ended(effect(1), "null")])
}

async fn beginning_on_a_passed_head_is_superseded(b: &Bench<'_>) -> Verdict {
    let name = thread("t");
    let nowhere = b.saver.begin_effect(&name, step(None, []).id, effect(1)).await;
    is!("an effect on no thread", nowhere, Err(StoreError::Superseded { .. }));
    let first = b.advance("t", None, []).await?;
    b.advance("t", Some(&first), []).await?;
    let late = b.saver.begin_effect(&name, first.id, effect(1)).await;
    is!("an effect on a passed head", late, Err(StoreError::Superseded { thread, base })
        if thread == name && base == first.id);
    equal("the effects of then", b.at("t", first.id).await?.effects, [])
}

async fn late_outcomes_are_dropped(b: &Bench<'_>) -> Verdict {
    let name = thread("t");
    let first = b.advance("t", None, []).await?;
    b.saver.begin_effect(&name, first.id, effect(1)).await?;
    b.advance("t", Some(&first), []).await?;
    b.saver.end_effect(&name, first.id, &effect(1).id, ok("1")).await?;
    b.saver.note_effect(&name, first.id, ended(effect(2), "2")).await?;
    b.saver.flush(&name).await?;
    equal("the effects of then", b.at("t", first.id).await?.effects, [])?;
    equal("the effects of now", b.head("t").await?.effects, [])
}
