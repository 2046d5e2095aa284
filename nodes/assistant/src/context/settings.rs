//! The settings of the passes.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use superstep_nodes::model::{RoughTokens, TokenCounter};

use super::{ResultLimits, Trigger};

/// The settings of the part of a conversation that a model is shown.
#[derive(Clone)]
pub struct ContextSettings {
    /// The limits of results.
    pub results: ResultLimits,
    /// The number of messages from which the older half is taken out of the state, at least 100.
    pub horizon: usize,
    /// The rules by which results are out of date, by the names of tools. Without rules, none is.
    pub micro: BTreeMap<String, MicroRule>,
    /// The number of last results that stay whole, though they are old or the file has changed.
    pub recent_results: usize,
    /// The number of last turns that stay whole while finished ones are folded; `None` folds none. Experimental, and
    /// off by default.
    pub fold: Option<usize>,
    /// The rules for the size from which the conversation is compacted, of which the earliest counts; empty if it is
    /// never compacted.
    pub auto: Vec<Trigger>,
    /// The number of consecutive failures after which compaction is no longer attempted.
    pub max_failures: u32,
    /// The distance to the effective window from which no request is sent, in tokens. It counts where the conversation
    /// is not compacted, or no longer.
    pub blocking_headroom: u64,
    /// The counter of tokens.
    pub counter: Arc<dyn TokenCounter>,
}

/// The rule by which the results of a tool are out of date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MicroRule {
    /// The kind of the tool.
    pub kind: MicroKind,
    /// The member of the input that names the target, such as `path`.
    pub target: String,
}

/// The kind of a tool, by the time for which its results are of use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MicroKind {
    /// It reads a target. Its result is of use until the target is read again in the same way, or changed.
    Read,
    /// It searches, or runs a command. Its result is of use until the same is done again, and not for long.
    Search,
    /// It changes a target. Its own results stay.
    Change,
}

/// The length of the sessions that settings are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextProfile {
    /// Fewer than 10 turns: tokens are only counted.
    Short,
    /// 10 to 50 turns: the oldest messages are compacted.
    Medium,
    /// More than 50 turns: results that are out of date become lines, too.
    Long,
}

impl ContextProfile {
    /// Returns the profile for so many turns.
    pub const fn of_turns(turns: u32) -> Self {
        match turns {
            0..10 => Self::Short,
            10..50 => Self::Medium,
            _ => Self::Long,
        }
    }
}

impl ContextSettings {
    /// Returns the settings for sessions of a length.
    pub fn of(profile: ContextProfile) -> Self {
        let long = Self::default();
        match profile {
            ContextProfile::Short => Self { micro: BTreeMap::new(), auto: Vec::new(), ..long },
            ContextProfile::Medium => {
                Self { micro: BTreeMap::new(), auto: vec![Trigger::Fraction(0.8)], ..long }
            }
            ContextProfile::Long => long,
        }
    }

    /// Returns the rules for the tools that come with Superstep.
    pub fn built_in_rules() -> BTreeMap<String, MicroRule> {
        use MicroKind::{Change, Read, Search};
        const RULES: [(&str, MicroKind, &str); 10] = [
            ("bash", Search, "command"),
            ("edit_file", Change, "path"),
            ("glob", Search, "pattern"),
            ("grep", Search, "pattern"),
            ("http_request", Search, "url"),
            ("read_csv", Read, "path"),
            ("read_file", Read, "path"),
            ("read_json", Read, "path"),
            ("sql_query", Search, "sql"),
            ("write_file", Change, "path"),
        ];
        let rule = |(tool, kind, target): (&str, _, &str)| {
            (tool.to_owned(), MicroRule { kind, target: target.to_owned() })
        };
        RULES.map(rule).into()
    }
}

impl Default for ContextSettings {
    /// The default limits of results, a horizon of 4,000 messages, the rules for built-in tools with the last 10 results
    /// whole, no folds; compaction from 80 % of the effective window or 13,000 tokens below it, until it failed 3
    /// times; no request from 3,000 tokens below it; tokens are estimated.
    fn default() -> Self {
        Self {
            results: ResultLimits::default(),
            horizon: 4_000,
            micro: Self::built_in_rules(),
            recent_results: 10,
            fold: None,
            auto: vec![Trigger::Fraction(0.8), Trigger::Headroom(13_000)],
            max_failures: 3,
            blocking_headroom: 3_000,
            counter: Arc::new(RoughTokens),
        }
    }
}

impl fmt::Debug for ContextSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            results, horizon, micro, recent_results, fold, auto, max_failures, blocking_headroom, ..
        } = self;
        let mut settings = f.debug_struct("ContextSettings");
        settings.field("results", results).field("horizon", horizon).field("micro", micro);
        settings.field("recent_results", recent_results).field("fold", fold).field("auto", auto);
        settings.field("max_failures", max_failures).field("blocking_headroom", blocking_headroom);
        settings.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_142_197_198_199_profiles_differ_in_what_they_shorten() {
        let of = |turns| ContextSettings::of(ContextProfile::of_turns(turns));
        let [short, medium, long] = [9, 49, 50].map(of);
        assert!(short.auto.is_empty() && short.micro.is_empty(), "tokens are only counted");
        assert!(!medium.auto.is_empty() && medium.micro.is_empty());
        assert!(!long.auto.is_empty() && long.micro.contains_key("grep"));
        assert!(
            [short, medium, long].iter().all(|settings| settings.fold.is_none()),
            "folds are experimental"
        );
    }
}
