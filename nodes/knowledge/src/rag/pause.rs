//! The pauses of a text.

/// A place in a text where it may be cut: what follows begins there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pause {
    /// The number of characters before the white space of the pause.
    pub(super) end: usize,
    /// The number of characters before the text that follows the pause.
    pub(super) at: usize,
    pub(super) kind: PauseKind,
}

/// The kind of text that ends at a pause; later variants are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PauseKind {
    Word,
    Sentence,
    Line,
    Paragraph,
}

impl PauseKind {
    pub(super) fn ends_sentence(self) -> bool {
        self > Self::Word
    }
}

/// The pauses of a text, in order. None is before its first character that is no white space.
pub(super) fn pauses(text: &str) -> Vec<Pause> {
    let mut pauses = Vec::new();
    // The last character that was no white space, and the place behind it.
    let mut last = None;
    // Whether there was white space since, and how many lines ended in it.
    let (mut is_apart, mut lines) = (false, 0);
    for (at, char) in text.chars().enumerate() {
        if char.is_whitespace() {
            is_apart = true;
            lines += usize::from(char == '\n');
            continue;
        }
        if let Some((last, end)) = last {
            let kind = match lines {
                2.. => Some(PauseKind::Paragraph),
                1 => Some(PauseKind::Line),
                _ if is_apart && matches!(last, '.' | '!' | '?') => Some(PauseKind::Sentence),
                // Scripts that write words without spaces between them.
                _ if matches!(last, '。' | '！' | '？') => Some(PauseKind::Sentence),
                _ => is_apart.then_some(PauseKind::Word),
            };
            pauses.extend(kind.map(|kind| Pause { end, at, kind }));
        }
        (last, is_apart, lines) = (Some((char, at + 1)), false, 0);
    }
    pauses
}

#[cfg(test)]
mod tests {
    use super::PauseKind::*;
    use super::*;

    #[test]
    fn a_pause_is_as_great_as_what_ends_there() {
        let pauses = pauses(" a b. c\nd \n\n e");
        let found: Vec<_> = pauses.iter().map(|pause| (pause.end, pause.at, pause.kind)).collect();
        assert_eq!(found, [(2, 3, Word), (5, 6, Sentence), (7, 8, Line), (9, 13, Paragraph)]);
    }

    #[test]
    fn sentences_end_without_a_space_where_none_is_written() {
        let found: Vec<_> = pauses("雨。晴").iter().map(|pause| (pause.at, pause.kind)).collect();
        assert_eq!(found, [(2, Sentence)]);
    }
}
