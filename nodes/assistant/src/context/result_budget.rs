//! The second pass: results within their limits.

use superstep_nodes::message::{Content, Message, Part};

use super::draft::Draft;
use super::spill::{ResultLimits, even_limit, spill};
use super::trim::{Shown, with_text};

/// Shortens results that are too long for themselves, or too long together with the others that answer one message.
pub(super) fn run(draft: &mut Draft<'_>) {
    let mut group = Vec::new();
    for at in 0..draft.tail.len() {
        match &draft.tail[at] {
            Message::Tool(_) => group.push(at),
            Message::System(_) => {}
            Message::Human(_) | Message::Ai(_) => shorten(draft, &mut group),
        }
    }
    shorten(draft, &mut group);
}

/// Shortens the results that answer one message.
fn shorten(draft: &mut Draft<'_>, group: &mut Vec<usize>) {
    let limits = &draft.settings.results;
    // No text has more characters than bytes.
    let bytes: usize = group.iter().map(|at| bytes(draft.tail[*at].content())).sum();
    if bytes <= limits.per_result.min(limits.per_message) {
        return group.clear();
    }
    let lengths: Vec<usize> = group.iter().map(|at| draft.shown(*at).text().chars().count()).collect();
    let most = limits.per_result.min(even_limit(&lengths, limits.per_message));
    for (at, length) in group.drain(..).zip(lengths) {
        if length > most && !draft.is_whole(at) && !draft.is_folded(at) {
            shorten_to(draft, at, most);
        }
    }
}

fn shorten_to(draft: &mut Draft<'_>, at: usize, most: usize) {
    let message = &draft.tail[at];
    let limits = ResultLimits { per_result: most, ..draft.settings.results.clone() };
    let spilled = spill(message.text().into_owned(), &limits);
    let Some(blob) = spilled.stored else { return };
    let before = draft.counter().message(&draft.shown(at));
    let after = draft.counter().message(&with_text(&draft.shown(at), &spilled.shown));
    if after <= before {
        let shown = Shown::Shortened { text: spilled.shown, blob: blob.path.clone() };
        draft.decide(at, shown, before, after);
        draft.blobs.push(blob);
    }
}

fn bytes(content: &Content) -> usize {
    content.parts().iter().filter_map(Part::as_text).map(str::len).sum()
}
