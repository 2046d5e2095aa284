//! A broken store fails the items about its defect, which proves that the suite detects defects.

use async_trait::async_trait;
use superstep_conformance::{self as conformance, Clock, Failure, Outcome, Subject};
use superstep_core::error::BoxError;

use super::broken::Broken;
use super::defect::Defect;
use super::savers::run;

struct Stores(Defect);

#[async_trait]
impl Subject for Stores {
    type Saver = Broken;

    async fn fresh(&self) -> Result<Broken, BoxError> {
        Ok(Broken::new(self.0))
    }

    async fn fresh_at(&self, clock: Clock) -> Result<Option<Broken>, BoxError> {
        Ok(Some(Broken::at(clock, self.0)))
    }

    async fn reopen(&self, saver: &Broken) -> Result<Option<Broken>, BoxError> {
        Ok(Some(saver.reopened()))
    }
}

/// Each defect, with items that must notice it.
const NOTICED: [(Defect, &[&str]); 57] = [
    (Defect::ResultsReversed, &["results.come_in_the_order_of_recording"]),
    (Defect::SecondResultWins, &["results.the_first_counts", "races.one_result_of_a_task_counts"]),
    (Defect::ResultsNeverCompleted, &["results.is_completed_by_targets"]),
    (Defect::NoCompareAndSwap, &["heads.another_run_conflicts", "races.one_commit_wins_each_step"]),
    (Defect::CompareThenSwap, &["races.one_commit_wins_each_step"]),
    (Defect::UnknownParentAcknowledged, &["refusals.unknown_parent"]),
    (Defect::MetadataLost, &["commit.metadata_comes_back", "history.lines_tell_what_is_filtered_by"]),
    (Defect::ForkSeesTheOthersWork, &["fork.starts_without_work"]),
    (Defect::DeleteLeavesAnswers, &["delete.takes_the_work"]),
    (Defect::FloatsThroughSingle, &["values.floats_keep_every_bit"]),
    (Defect::NulDroppedFromTexts, &["values.texts_keep_every_letter", "values.escapes_stay_escapes"]),
    (Defect::NulEndsNames, &["commit.thread_names_are_any_text"]),
    (Defect::ExpiresTwice, &["deadlines.count_once"]),
    (Defect::BeforeIsOneTooOld, &["load.before_a_node", "clock.before_a_node_goes_back_from_the_head"]),
    (Defect::OrderOfIds, &["clock.order_is_that_of_the_commits"]),
    (Defect::LimitIsOneTooMany, &["history.limit_counts_from_the_newest"]),
    (
        Defect::AlreadyIsConflict,
        &["heads.the_same_again_is_already", "crash.a_commit_whose_outcome_is_unknown"],
    ),
    (Defect::AdoptsTheHead, &["heads.an_adopted_winner_may_be_far_behind"]),
    (Defect::AdoptsAnotherRun, &["heads.another_run_conflicts"]),
    (Defect::BarrierDropsAnswers, &["asks.answers_stay_at_the_barrier"]),
    (Defect::AnswersOneByOne, &["asks.are_answered_all_or_none"]),
    (Defect::AnswersTwice, &["asks.are_answered_once", "races.one_answer_counts"]),
    (Defect::AnswersTellNothing, &["asks.answers_come_with_all_the_work"]),
    (Defect::InputsGoFirst, &["inputs.are_stored_both_or_neither"]),
    (Defect::EffectsBeginTwice, &["effects.are_begun_by_the_first", "sharing.an_effect_is_begun_by_one"]),
    (Defect::CheckThenBegin, &["races.one_begins_an_effect"]),
    (Defect::LateQuestionsAccepted, &["asks.asking_on_a_passed_head_is_superseded"]),
    (Defect::OrphansAcknowledged, &["subgraphs.begin_only_below_a_thread", "delete.stops_the_run_on_it"]),
    (Defect::SubgraphsListed, &["threads.subgraphs_are_not_listed"]),
    (Defect::EmittedLost, &["emitted.is_stored_with_its_checkpoint"]),
    (Defect::CarriedLost, &["heads.work_is_carried_along"]),
    (Defect::RefusalsAreFailures, &["refusals.unknown_schema", "refusals.commit_of_another_graph"]),
    (Defect::LineageIsHistory, &["lineage.is_the_whole_tree"]),
    (
        Defect::NotesAreVolatile,
        &["crash.recorded_work_is_there_after_the_next_commit", "crash.between_any_two_writes"],
    ),
    (
        Defect::OutcomesAreQueued,
        &["crash.an_outcome_is_stored_when_end_effect_returns", "effects.the_first_success_counts"],
    ),
    (Defect::HeadsAreCached, &["sharing.both_see_what_is_committed"]),
    (Defect::LargeValuesRefused, &["values.large_values_come_back"]),
    (Defect::GrowsUntilUnreadable, &["refusals.a_state_that_grows_too_large"]),
    (Defect::NamesMove, &["names.are_each_of_one_checkpoint"]),
    (Defect::NamesKeepNothing, &["names.keep_their_checkpoints", "names.are_those_of_one_thread"]),
    (
        Defect::CommitsOverlook,
        &[
            "outrun.an_unknown_result_is_reported",
            "outrun.an_unknown_effect_is_reported",
            "races.a_commit_and_an_effect",
        ],
    ),
    (
        Defect::OutrunTellsNothing,
        &["outrun.an_unknown_result_is_reported", "outrun.results_of_another_program"],
    ),
    (Defect::CheckThenAcquire, &["leases.one_of_many_acquires", "leases.one_of_many_takes_over"]),
    (Defect::FencesRepeat, &["leases.numbers_only_grow"]),
    (
        Defect::NothingIsFenced,
        &["leases.a_commit_that_is_fenced_off_changes_nothing", "leases.every_write_is_fenced"],
    ),
    (Defect::CommitsAreFencedTooLate, &["leases.a_commit_that_is_fenced_off_changes_nothing"]),
    (Defect::OnlyCommitsAreFenced, &["leases.every_write_is_fenced"]),
    (
        Defect::LostLeasesAreRenewed,
        &["leases.stale_ones_are_lost", "leases.a_clock_that_jumps_gives_no_two_holders"],
    ),
    (Defect::AnybodyReleases, &["leases.stale_ones_are_lost"]),
    (Defect::BrokenLeasesStand, &["leases.a_broken_one_is_lost", "leases.count_for_other_programs"]),
    (Defect::LeasesUnlisted, &["leases.are_listed_by_thread", "leases.outlive_their_program"]),
    (Defect::DeadLeasesWaitForTheClock, &["leases.a_clock_set_back_keeps_no_dead_lease"]),
    (Defect::LeasesNeverEnd, &["leases.are_over_by_the_clock_of_the_store"]),
    (Defect::KnownIsAlwaysTheHead, &["load.known_is_not_read_again", "load.a_task_finds_its_work"]),
    (Defect::PagesRepeatTheLast, &["threads.come_in_pages"]),
    (Defect::PanicsWithoutLimit, &["history.limit_counts_from_the_newest"]),
    (
        Defect::MarksStandStill,
        &["watch.an_earlier_change_is_reported", "watch.every_kind_of_change_is_reported"],
    ),
];

#[test]
fn the_wrapper_itself_fails_nothing() {
    let report = run(&Stores(Defect::None));
    report.assert();
    let is_passed = |(_, outcome): (_, &Outcome)| *outcome == Outcome::Passed;
    assert!(report.items().all(is_passed), "{report}");
}

#[test]
fn every_defect_fails_the_items_that_are_about_it() {
    for (defect, items) in NOTICED {
        let failed: Vec<_> = run(&Stores(defect)).failed().collect();
        println!("{defect:?} fails {failed:?}");
        for item in items {
            assert!(failed.contains(item), "{item} does not notice {defect:?}; only {failed:?} do");
        }
        // A defect concerns only a few items: most of the suite passes.
        assert!(failed.len() * 3 < conformance::items().count(), "{defect:?} fails {failed:?}");
    }
}

/// The failures of one item of a store with a defect.
fn failure_of(defect: Defect, item: &str) -> Failure {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let report = runtime.block_on(conformance::run_only(&Stores(defect), item));
    let failures = report.items().filter_map(|(_, outcome)| match outcome {
        Outcome::Failed(failure) => Some(failure.clone()),
        _ => None,
    });
    failures.last().expect("the item fails")
}

#[test]
fn a_failure_tells_where_and_what() {
    let failure = failure_of(Defect::MetadataLost, "commit.metadata_comes_back");
    assert!(failure.place.starts_with("graph-checkpoint/conformance/src/commit.rs:"), "{failure}");
    assert_eq!(failure.what, "the metadata of the first");
    assert!(failure.expected.contains("\"deep\"") && failure.found == "{}", "{failure}");

    // An error of the store is reported with the line of the call.
    let failure = failure_of(Defect::LargeValuesRefused, "values.large_values_come_back");
    assert!(failure.found.contains("the store failed: it is too long"), "{failure}");
    assert!(failure.place.contains("conformance/"), "{failure}");

    let failure = failure_of(Defect::PanicsWithoutLimit, "history.limit_counts_from_the_newest");
    assert_eq!(failure.found, "a panic: no lines are asked for");
}

#[test]
fn a_report_tells_what_failed_and_how_many_passed() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let report = runtime.block_on(conformance::run_only(&Stores(Defect::LimitIsOneTooMany), "history."));
    assert!(!report.is_conformant());
    let text = report.to_string();
    assert!(text.starts_with("8 items passed, 2 failed, 0 were not applicable\n\nFAILED history."), "{text}");
    assert!(text.contains("    expected  "), "{text}");
    let panic = std::panic::catch_unwind(|| report.assert()).expect_err("it tells by a panic");
    assert!(panic.downcast_ref::<String>().is_some_and(|told| told.contains("FAILED history.")));
}
