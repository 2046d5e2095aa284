//! The texts that a request is about.

use std::collections::{BTreeSet, HashSet};

use superstep_nodes::__private::{stem, words};

/// Words that say little about the subject of a request.
const COMMON: &str = "a about again all also an and any are as at be been but by can change could do does each every fix for \
    from get give has have how i if in into is it its just let like look make me more must my need new no not now of on one \
    only or our out please run see should so some than that the their them then there these this those to up use want was \
    we what when where which who why will with work would you your";

/// A text that may be relevant.
pub(super) struct Candidate {
    /// The name and the description, in which a word counts twice.
    pub(super) title: String,
    pub(super) text: String,
}

/// Returns the positions of the texts that share words with a request: one of the title or two of the text at least.
/// Words that few texts have count more. The best comes first.
pub(super) fn relevant(request: &str, candidates: &[Candidate], most: usize) -> Vec<usize> {
    let common: HashSet<String> = COMMON.split(' ').map(stem).collect();
    let stems = |text: &str| -> BTreeSet<String> {
        words(text).map(|word| stem(&word)).filter(|stem| stem.len() > 1 && !common.contains(stem)).collect()
    };
    let asked = stems(request);
    let texts: Vec<_> = candidates.iter().map(|it| (stems(&it.title), stems(&it.text))).collect();
    let of_all = |word: &String| {
        texts.iter().filter(|(title, text)| title.contains(word) || text.contains(word)).count()
    };
    let rarity: Vec<(&String, f64)> = asked
        .iter()
        .map(|word| (word, (1.0 + texts.len() as f64 / of_all(word).max(1) as f64).ln()))
        .collect();
    let mut scored: Vec<(usize, f64)> = Vec::new();
    for (at, (title, text)) in texts.iter().enumerate() {
        let weights =
            rarity.iter().map(|(word, rarity)| match (title.contains(*word), text.contains(*word)) {
                (true, _) => (2, 2.0 * rarity),
                (false, true) => (1, *rarity),
                (false, false) => (0, 0.0),
            });
        let (count, score) =
            weights.fold((0, 0.0), |(counts, scores), (count, score)| (counts + count, scores + score));
        if count >= 2 {
            scored.push((at, score));
        }
    }
    scored.sort_by(|(one, a), (other, b)| b.total_cmp(a).then(one.cmp(other)));
    scored.into_iter().take(most).map(|(at, _)| at).collect()
}
