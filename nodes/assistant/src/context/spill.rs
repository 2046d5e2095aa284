//! Texts that are too long for a conversation, and are stored beside it.

/// The limits of the results that models are shown, in characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultLimits {
    /// The most characters of one result.
    pub per_result: usize,
    /// The most characters of all results that answer one message. The longest are shortened first, and none to less
    /// than 1,000.
    pub per_message: usize,
    /// The folder of whole texts, as a tool that reads files is given it.
    pub folder: String,
}

/// The least that a limit may be: there has to be room for the place of the whole text.
const LEAST: usize = 1_000;

impl Default for ResultLimits {
    /// 50,000 characters of a result, 200,000 of all that answer a message, in the folder `.superstep/blobs`.
    fn default() -> Self {
        Self { per_result: 50_000, per_message: 200_000, folder: ".superstep/blobs".to_owned() }
    }
}

impl ResultLimits {
    /// Returns the most characters of one result, with room for the place of the whole text.
    pub(crate) fn per_result(&self) -> usize {
        self.per_result.max(LEAST)
    }
}

/// Returns the path of a text with this digest.
pub(crate) fn blob_path(limits: &ResultLimits, digest: &blake3::Hash) -> String {
    format!("{}/{}.txt", limits.folder, &digest.to_hex()[..32])
}

/// A text that is too long, in two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spill {
    /// The text for the conversation.
    pub shown: String,
    /// The whole text, to be stored; `None` if it is shown.
    pub stored: Option<Blob>,
}

/// A text that is stored beside a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Its path, which is made of its digest: the same text has the same path.
    pub path: String,
    /// The whole text.
    pub text: String,
}

/// Shortens a result that has more characters than a result may have. Its beginning tells the subject, and its end the
/// outcome: both are shown, and between them the path at which the caller has to store the whole text.
///
/// ```
/// use superstep_assistant::context::{ResultLimits, spill};
///
/// let limits = ResultLimits { per_result: 1_000, ..ResultLimits::default() };
/// let spill = spill("0123456789".repeat(1_000), &limits);
/// let stored = spill.stored.expect("it is too long");
/// assert!(spill.shown.len() <= 1_000 && spill.shown.contains(&stored.path));
/// assert_eq!(stored.text.len(), 10_000);
/// ```
pub fn spill(text: String, limits: &ResultLimits) -> Spill {
    let most = limits.per_result();
    // No text has more characters than bytes.
    let characters = if text.len() <= most { text.len() } else { text.chars().count() };
    if characters <= most {
        return Spill { shown: text, stored: None };
    }
    let at = |nth: usize| text.char_indices().nth(nth).map_or(text.len(), |(at, _)| at);
    // A quarter is left for the mark.
    let (begin, end) = (most / 2, most / 4);
    let from_end = text.char_indices().rev().nth(end - 1).map_or(0, |(at, _)| at);
    let path = blob_path(limits, &blake3::hash(text.as_bytes()));
    let left_out = characters - begin - end;
    let shown = format!(
        "{}\n[{left_out} of {characters} characters are left out here. The whole text is in {path}]\n{}",
        &text[..at(begin)],
        &text[from_end..],
    );
    Spill { shown, stored: Some(Blob { path, text }) }
}

/// Returns the most characters that each of several texts may have so that they have no more than `most` together.
pub(super) fn even_limit(lengths: &[usize], most: usize) -> usize {
    let mut sorted = lengths.to_vec();
    sorted.sort_unstable();
    let mut left = most;
    for (at, length) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - at);
        if *length > share {
            return share.max(LEAST);
        }
        left -= length;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limits(per_result: usize) -> ResultLimits {
        ResultLimits { per_result, ..ResultLimits::default() }
    }

    #[test]
    fn s2_058_a_huge_result_is_shown_in_short_and_stored_whole() {
        let text = "line of output\n".repeat(1_000_000);
        let Spill { shown, stored: Some(blob) } = spill(text.clone(), &ResultLimits::default()) else {
            panic!()
        };
        assert!(shown.chars().count() <= 50_000 && shown.ends_with("line of output\n"));
        assert!(shown.contains(&format!("The whole text is in {}]", blob.path)), "{}", blob.path);
        assert!(blob.text == text && blob.path.starts_with(".superstep/blobs/"));
        assert_eq!(spill(shown.clone(), &ResultLimits::default()), Spill { shown, stored: None });
    }

    #[test]
    fn the_longest_are_shortened_first() {
        assert_eq!(even_limit(&[10, 20, 30_000], 40_000), usize::MAX);
        assert_eq!(even_limit(&[10_000, 2_000, 30_000], 32_000), 20_000);
        assert_eq!(even_limit(&[9_000; 9], 900), LEAST);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn s2_190_no_result_is_longer_than_its_limit(text in "[a-zäö東\n]{0,4000}", most in 0_usize..3_000) {
            let spilled = spill(text.clone(), &limits(most));
            let shown = spilled.shown.chars().count();
            prop_assert!(shown <= most.max(LEAST), "{}", shown);
            prop_assert_eq!(spilled.stored.is_none(), spilled.shown == text);
            prop_assert!(spilled.stored.is_none_or(|blob| blob.text == text));
        }

        #[test]
        fn all_results_together_are_within_their_limit(
            lengths in prop::collection::vec(0_usize..100_000, 1..9), most in 9_000_usize..200_000,
        ) {
            let limit = even_limit(&lengths, most);
            prop_assert!(lengths.iter().map(|length| *length.min(&limit)).sum::<usize>() <= most);
        }
    }
}
