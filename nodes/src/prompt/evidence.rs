//! The evidence for a response.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::message::{Message, ToolStatus};
use crate::text::abridged;

/// The output of a tool, that a response may rest on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The name of the tool.
    pub tool: String,
    /// Its output.
    pub output: String,
}

impl Evidence {
    /// The default for the maximum number of tokens of evidence in a prompt.
    pub const MOST_TOKENS: u64 = 16_000;

    /// Returns the outputs of the tools that ran without error since the last human message.
    pub fn of_turn(messages: &[Message]) -> Vec<Self> {
        let start = messages.iter().rposition(|message| matches!(message, Message::Human(_))).unwrap_or(0);
        Self::of(&messages[start..])
    }

    /// Returns the outputs of the tools that ran without error.
    pub(crate) fn of(messages: &[Message]) -> Vec<Self> {
        messages
            .iter()
            .filter_map(|message| match message {
                Message::Tool(result) if result.status == ToolStatus::Ok => {
                    Some(Self { tool: result.name.clone(), output: result.content.to_text().into_owned() })
                }
                _ => None,
            })
            .collect()
    }

    /// Leaves the beginning and the end of the longest outputs, so that all together have about `most` tokens, as `count` counts
    /// them.
    pub(crate) fn within(mut evidence: Vec<Self>, most: u64, count: impl Fn(&str) -> u64) -> Vec<Self> {
        fit(evidence.iter_mut().map(|source| &mut source.output).collect(), most, count);
        evidence
    }
}

/// Leaves the beginning and the end of the longest texts, so that all together have about `most` tokens, as `count` counts them:
/// texts that have no more than their share stay as they are, and the others share equally what these leave.
pub(crate) fn fit(texts: Vec<&mut String>, most: u64, count: impl Fn(&str) -> u64) {
    let tokens: Vec<u64> = texts.iter().map(|text| count(text)).collect();
    let share = share(&tokens, most);
    for (text, tokens) in texts.into_iter().zip(tokens).filter(|(_, tokens)| *tokens > share) {
        let characters = text.chars().count() as u128 * u128::from(share) / u128::from(tokens);
        *text = abridged(text, usize::try_from(characters).unwrap_or(usize::MAX)).into_owned();
    }
}

/// Returns the largest limit for which all sizes, each cut to it, sum to at most `most`.
fn share(sizes: &[u64], most: u64) -> u64 {
    let (mut sizes, mut left) = (sizes.to_vec(), most);
    sizes.sort_unstable();
    for (at, size) in sizes.iter().enumerate() {
        let share = left / (sizes.len() - at) as u64;
        if *size > share {
            return share;
        }
        left -= size;
    }
    u64::MAX
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn source(output: &str) -> Evidence {
        Evidence { tool: "t".into(), output: output.into() }
    }

    fn letters(text: &str) -> u64 {
        text.chars().count() as u64
    }

    #[test]
    fn the_longest_outputs_share_what_the_short_ones_leave() {
        let all = vec![source(&"a".repeat(50)), source("short"), source(&"b".repeat(90))];
        assert_eq!(Evidence::within(all.clone(), 145, letters), all);
        let cut = Evidence::within(all.clone(), 105, letters);
        assert_eq!(cut[..2], all[..2]);
        assert_eq!(cut[2].output, format!("{0}\n[… 40 characters left out …]\n{0}", "b".repeat(25)));
        let none = Evidence::within(all, 0, letters);
        assert!(none.iter().all(|source| source.output.contains("left out")), "{none:?}");
    }

    proptest! {
        #[test]
        fn what_is_cut_uses_the_room_and_no_more(
            sizes in prop::collection::vec(0_u64..200, 0..8), most in 0_u64..900,
        ) {
            let share = share(&sizes, most);
            let used: u64 = sizes.iter().map(|size| *size.min(&share)).sum();
            let all: u64 = sizes.iter().sum();
            prop_assert_eq!(all <= most, share == u64::MAX);
            prop_assert!(used <= most);
            prop_assert!(all <= most || most - used < sizes.len() as u64, "{used} of {most}");
        }
    }
}
