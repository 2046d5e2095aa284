use proptest::prelude::{ProptestConfig, any};
use proptest::proptest;

use super::*;
use crate::log::PER_ENTRY;

fn holds(resumable: bool) -> Value {
    json!({ "assistant_id": "holds", "input": { "words": ["in"] }, "stream_resumable": resumable })
}

/// Runs a graph, and returns all frames of its stream.
async fn streamed(rig: &Rig, service: &Service, resumable: bool) -> (RunRow, Vec<Frame>) {
    let thread = service.test_thread().await;
    let run = service.test_run(&thread, holds(resumable)).await.unwrap();
    rig.gate.add_permits(1);
    let frames = all_frames(service, &run, Resume::Start).await;
    (run, frames)
}

#[tokio::test(start_paused = true)]
async fn a_stream_has_the_whole_run_and_ends_with_it() {
    let rig = Rig::new();
    let service = rig.service();
    let (run, frames) = streamed(&rig, &service, false).await;
    assert_eq!(frames.first().unwrap().data, json!(["begun", 1]));
    assert_eq!(frames.last().unwrap().data, json!(["ended", "success"]));
    assert_eq!(frames.iter().filter(|frame| frame.data["type"] == "custom").count(), 3);
    assert_eq!(service.test_status(&run).await, Some(RunStatus::Success));
    assert_eq!(all_frames(&service, &run, Resume::Live).await, []);
}

#[tokio::test(start_paused = true)]
async fn another_process_streams_a_resumable_run_with_the_same_events() {
    let rig = Rig::new();
    let (driver, other) = (rig.service(), rig.stopped());
    let thread = driver.test_thread().await;
    let run = driver.test_run(&thread, holds(true)).await.unwrap();
    let followed = tokio::spawn({
        let (other, run) = (other.clone(), run.clone());
        async move { all_frames(&other, &run, Resume::Start).await }
    });
    driver.test_held(&run).await;
    rig.gate.add_permits(1);
    let frames = all_frames(&driver, &run, Resume::Start).await;
    assert_eq!(followed.await.unwrap(), frames);
    assert_eq!(all_frames(&other, &run, Resume::All).await, frames);
}

#[tokio::test(start_paused = true)]
async fn a_run_without_stored_events_shows_its_state_to_other_processes() {
    let rig = Rig::new();
    let (driver, other) = (rig.service(), rig.stopped());
    let (run, _) = streamed(&rig, &driver, false).await;
    let frames = all_frames(&other, &run, Resume::Start).await;
    assert_eq!(frames[0].event, "values");
    assert_eq!(frames[0].data["words"], json!(["in", "first", "held", "last"]));
    assert_eq!(frames[1].data, json!(["ended", "success"]));
}

#[tokio::test(start_paused = true)]
async fn the_numbers_of_a_thread_have_no_gaps() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let mut numbers = Vec::new();
    for _ in 0..3 {
        rig.gate.add_permits(1);
        let run = service.test_run(&thread, holds(true)).await.unwrap();
        let frames = all_frames(&service, &run, Resume::Start).await;
        numbers.extend(frames.iter().map(|frame| number(frame) / PER_ENTRY));
    }
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn resuming_after_any_event_gives_the_rest_once_and_in_order(
        cut in any::<proptest::sample::Index>(),
        elsewhere in any::<bool>(),
        runs in 1_usize..4,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let rig = Rig::new();
            let service = rig.service();
            let thread = service.test_thread().await;
            let mut all = Vec::new();
            for _ in 0..runs {
                rig.gate.add_permits(1);
                let run = service.test_run(&thread, holds(true)).await.unwrap();
                all.push((run.clone(), all_frames(&service, &run, Resume::Start).await));
            }
            let reader = if elsewhere { rig.stopped() } else { service };
            for (run, frames) in &all {
                let cut = cut.index(frames.len() - 1);
                let rest = all_frames(&reader, run, Resume::After(number(&frames[cut]))).await;
                assert_eq!(rest, frames[cut + 1..]);
            }
            let frames: Vec<Frame> = all.into_iter().flat_map(|(_, frames)| frames).collect();
            let cut = cut.index(frames.len() - 1);
            let (scope, after) = (scope(), Resume::After(number(&frames[cut])));
            let stream = reader.thread_frames(&scope, &thread, kinds, after, |_| None).await.unwrap();
            let rest: Vec<Frame> = stream.take(frames.len() - cut - 1).collect().await;
            assert_eq!(rest, frames[cut + 1..]);
        });
    }
}

/// The stream was empty, as if the client had seen everything.
#[tokio::test(start_paused = true)]
async fn a_client_whose_run_has_expired_events_gets_the_state() {
    let rig = Rig::new();
    let service = rig.service();
    let (run, frames) = streamed(&rig, &service, true).await;
    tokio::time::sleep(Duration::from_secs(2 * 60 * 60)).await;
    assert_eq!(service.0.records.events(&run.thread, None, None, 9).await.unwrap(), []);
    for reader in [service, rig.stopped()] {
        for resume in [Resume::All, Resume::After(number(&frames[frames.len() / 2]))] {
            let rest = all_frames(&reader, &run, resume).await;
            assert_eq!((rest[0].event.as_str(), &rest[0].id), ("values", &None), "{resume:?}");
            assert_eq!(rest[0].data["words"], json!(["in", "first", "held", "last"]));
            assert_eq!(rest[1].data, json!(["ended", "success"]));
            assert_eq!(rest.len(), 2);
        }
    }
}

/// The events between the client's last one and the stored ones were skipped without a word.
#[tokio::test(start_paused = true)]
async fn a_client_of_a_thread_whose_place_is_gone_gets_the_state_and_the_rest() {
    let rig = Rig::new();
    let service = rig.service();
    let thread = service.test_thread().await;
    let mut ids = Vec::new();
    for resumable in [false, true] {
        rig.gate.add_permits(1);
        let run = service.test_run(&thread, holds(resumable)).await.unwrap();
        ids.push(all_frames(&service, &run, Resume::Start).await);
    }
    let after = Resume::After(number(&ids[0][3]));
    let shown = |view: &CheckpointView| {
        Some(Frame { event: "values".to_owned(), data: json!(view.metadata.step), id: None })
    };
    let read = async |reader: &Service, most: usize| {
        let stream = reader.thread_frames(&scope(), &thread, kinds, after, shown).await.unwrap();
        stream.take(most).collect::<Vec<_>>().await
    };
    let here = [&ids[0][4..], &ids[1]].concat();
    assert_eq!(read(&service, here.len()).await, here, "this process has all events");
    let elsewhere = read(&rig.stopped(), 1 + ids[1].len()).await;
    assert_eq!(elsewhere[0].event, "values");
    assert_eq!(elsewhere[1..], ids[1]);
    assert_eq!(read(&rig.stopped(), 1).await[0].data, json!(8), "the latest state");
}
