//! The number of tokens of a request, counted from that of the last one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::reducer::Keyed;
use superstep_nodes::compaction::Compaction;
use superstep_nodes::message::MessageId;
use superstep_nodes::model::Usage;

use super::Trim;

/// The number of tokens of a conversation up to a reply, as the provider counted them.
///
/// A state keeps that of the last reply. Only the messages behind it are estimated then, so that a long conversation is
/// not counted again for each message. It holds as long as the view shows the same: if a record was added or removed
/// since, all is counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Anchor {
    /// The message of the reply.
    pub reply: MessageId,
    /// The tokens of the request, with instructions and tools, and of the reply.
    pub tokens: u64,
    /// The records by which the request was made.
    pub records: Records,
}

/// The records by which a view is made, told by their number and the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Records {
    /// The compaction that counts.
    pub compaction: Option<String>,
    /// The number of trims.
    pub trims: u64,
    /// The last trim.
    pub last_trim: Option<String>,
}

impl Anchor {
    /// Makes the anchor of a reply with this usage to a request with these records; `None` if the provider did not count the request.
    pub fn new(reply: impl Into<MessageId>, usage: &Usage, records: Records) -> Option<Self> {
        (usage.input_tokens > 0).then(|| Self { reply: reply.into(), tokens: usage.total(), records })
    }
}

impl Records {
    /// Returns the records of a view with this compaction and these trims.
    pub(super) fn of(compaction: Option<&Compaction>, trims: &[Trim]) -> Self {
        Self::of_ids(compaction, trims.iter().map(Keyed::id))
    }

    /// Returns the records as they are once `removed` was removed and `added` was put.
    pub(super) fn after(&self, held: &[Trim], removed: &[String], added: &[Trim]) -> Self {
        if removed.is_empty() && added.is_empty() {
            return self.clone();
        }
        let mut ids: Vec<&str> =
            held.iter().map(Keyed::id).filter(|id| !removed.iter().any(|it| it == id)).collect();
        for trim in added {
            if !ids.contains(&trim.id()) {
                ids.push(trim.id());
            }
        }
        let mut after = Self::of_ids(None, ids.into_iter());
        after.compaction.clone_from(&self.compaction);
        after
    }

    fn of_ids<'t>(compaction: Option<&Compaction>, ids: impl Iterator<Item = &'t str>) -> Self {
        let (trims, last) = ids.fold((0, None), |(count, _), id| (count + 1, Some(id)));
        Self { compaction: compaction.map(|made| made.id.clone()), trims, last_trim: last.map(str::to_owned) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_told_apart_by_what_was_added_and_removed() {
        let trim = |id: &str| Trim::whole(id.into());
        let held = [trim("a"), trim("b")];
        let before = Records::of(None, &held);
        assert_eq!(before.after(&held, &[], &[]), before);
        assert_eq!(before.after(&held, &[], &[trim("b")]), before, "it replaces a record");
        let added = before.after(&held, &[], &[trim("c")]);
        assert_eq!(added, Records::of(None, &[trim("a"), trim("b"), trim("c")]));
        assert_eq!(before.after(&held, &["b.whole".into()], &[]), Records::of(None, &held[..1]));
    }

    #[test]
    fn a_reply_whose_request_was_not_counted_is_no_anchor() {
        assert_eq!(Anchor::new("m", &Usage::of(0, 9), Records::default()), None);
        assert_eq!(Anchor::new("m", &Usage::of(5, 9), Records::default()).unwrap().tokens, 14);
    }
}
