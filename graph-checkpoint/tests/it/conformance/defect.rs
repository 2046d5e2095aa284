//! The defects of broken stores.

use superstep_core::state::Json;

/// A defect of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Defect {
    None,
    ResultsReversed,
    SecondResultWins,
    ResultsNeverCompleted,
    NoCompareAndSwap,
    CompareThenSwap,
    UnknownParentAcknowledged,
    MetadataLost,
    ForkSeesTheOthersWork,
    DeleteLeavesAnswers,
    FloatsThroughSingle,
    NulDroppedFromTexts,
    NulEndsNames,
    ExpiresTwice,
    BeforeIsOneTooOld,
    OrderOfIds,
    LimitIsOneTooMany,
    AlreadyIsConflict,
    AdoptsTheHead,
    AdoptsAnotherRun,
    BarrierDropsAnswers,
    AnswersOneByOne,
    AnswersTwice,
    AnswersTellNothing,
    InputsGoFirst,
    EffectsBeginTwice,
    CheckThenBegin,
    LateQuestionsAccepted,
    OrphansAcknowledged,
    SubgraphsListed,
    EmittedLost,
    CarriedLost,
    RefusalsAreFailures,
    LineageIsHistory,
    NotesAreVolatile,
    OutcomesAreQueued,
    HeadsAreCached,
    LargeValuesRefused,
    GrowsUntilUnreadable,
    PanicsWithoutLimit,
    KnownIsAlwaysTheHead,
    PagesRepeatTheLast,
    NamesMove,
    NamesKeepNothing,
    CommitsOverlook,
    OutrunTellsNothing,
    CheckThenAcquire,
    FencesRepeat,
    NothingIsFenced,
    CommitsAreFencedTooLate,
    OnlyCommitsAreFenced,
    LostLeasesAreRenewed,
    AnybodyReleases,
    BrokenLeasesStand,
    LeasesUnlisted,
    DeadLeasesWaitForTheClock,
    LeasesNeverEnd,
    MarksStandStill,
}

impl Defect {
    /// A value's text as it is stored.
    pub(crate) fn text(self, json: &Json) -> Json {
        let changed = match self {
            // An escape that stands for no letter is no value, and is left alone.
            Self::FloatsThroughSingle => json.decode().map(|value| single(value).to_string()).ok(),
            Self::NulDroppedFromTexts => Some(json.as_str().replace("\\u0000", "")),
            _ => None,
        };
        changed.map_or_else(|| json.clone(), |text| Json::parse(text).expect("it is JSON still"))
    }
}

/// The value with all floats as single precision has them.
fn single(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Number(number) if number.is_f64() => {
            #[expect(clippy::cast_possible_truncation, reason = "that is the defect")]
            let single = number.as_f64().map(|float| float as f32);
            Value::from(single)
        }
        Value::Array(items) => items.into_iter().map(single).collect(),
        other => other,
    }
}
