//! Lays the time of a thread out on a line of a given width.

use std::cmp::Reverse;

use serde::Serialize;

/// A stretch of time, after the one before it in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The use of the time.
    pub kind: Activity,
    /// The duration in milliseconds.
    pub ms: u64,
}

/// A use of a thread's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// A superstep ran.
    Work,
    /// A question waited for its answer.
    Wait,
    /// Work was next, and no run was there to do it.
    Queue,
}

/// A part of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripSpan {
    /// The place at which it begins, from 0.
    pub from: u32,
    /// The place at which it ends.
    pub to: u32,
    /// The use of the time.
    pub kind: Activity,
    /// The position of its stretch; if it stands for several, that of the longest one of its kind.
    pub stretch: usize,
}

/// Divides a line of this width among stretches, in their order and by their durations. The spans leave no gap, and the
/// last one ends at the width.
///
/// Each stretch has at least one unit, so that a short one between long ones is seen. If there are more stretches than
/// units, a unit shows the kind of activity that took most of its time.
#[must_use]
pub fn strip(stretches: &[Stretch], width: u32) -> Vec<StripSpan> {
    match u32::try_from(stretches.len()) {
        Ok(0) => Vec::new(),
        Ok(count) if count <= width => proportional(stretches, count, width),
        _ => summarized(stretches, width),
    }
}

fn proportional(stretches: &[Stretch], count: u32, width: u32) -> Vec<StripSpan> {
    let (weights, total) = weights(stretches);
    let (mut before, mut from) = (0_u128, 0);
    let span = |(position, (stretch, weight)): (usize, (&Stretch, u128))| {
        before += weight;
        // Each of the stretches so far has one unit, and its share of the others, rounded.
        let share = (before * u128::from(width - count) * 2 + total) / (total * 2);
        let to = u32::try_from(share + position as u128 + 1).unwrap_or(width);
        let span = StripSpan { from, to, kind: stretch.kind, stretch: position };
        from = to;
        span
    };
    stretches.iter().zip(weights).enumerate().map(span).collect()
}

fn summarized(stretches: &[Stretch], width: u32) -> Vec<StripSpan> {
    let (weights, total) = weights(stretches);
    let ends: Vec<u128> = weights
        .iter()
        .scan(0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect();
    let mut spans: Vec<StripSpan> = Vec::new();
    let mut first = 0;
    for unit in 0..width {
        let (begin, end) =
            (total * u128::from(unit) / u128::from(width), total * u128::from(unit + 1) / u128::from(width));
        while ends[first] <= begin && first + 1 < stretches.len() {
            first += 1;
        }
        let inside = (first..stretches.len()).take_while(|at| *at == first || ends[*at] - weights[*at] < end);
        let inside =
            inside.map(|at| (at, ends[at].min(end).saturating_sub((ends[at] - weights[at]).max(begin))));
        let mut times = [0_u128; 3];
        let mut longest: [Option<(u128, Reverse<usize>)>; 3] = [None; 3];
        for (at, time) in inside {
            let kind = stretches[at].kind as usize;
            times[kind] += time;
            longest[kind] = longest[kind].max(Some((time, Reverse(at))));
        }
        let most = (0..3).max_by_key(|kind| (longest[*kind].is_some(), times[*kind], Reverse(*kind)));
        let Some((_, Reverse(stretch))) = most.and_then(|kind| longest[kind]) else { continue };
        match spans.last_mut().filter(|last| last.stretch == stretch) {
            Some(last) => last.to = unit + 1,
            None => {
                spans.push(StripSpan { from: unit, to: unit + 1, kind: stretches[stretch].kind, stretch });
            }
        }
    }
    spans
}

/// Returns the durations with their sum, or the same weight for each stretch if no time passed.
fn weights(stretches: &[Stretch]) -> (Vec<u128>, u128) {
    let durations: Vec<u128> = stretches.iter().map(|stretch| u128::from(stretch.ms)).collect();
    match durations.iter().sum() {
        0 => (vec![1; stretches.len()], stretches.len() as u128),
        total => (durations, total),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stretches(all: &[(Activity, u64)]) -> Vec<Stretch> {
        all.iter().map(|&(kind, ms)| Stretch { kind, ms }).collect()
    }

    fn drawn(all: &[(Activity, u64)], width: u32) -> String {
        let letter = |span: &StripSpan| match span.kind {
            Activity::Work => "#",
            Activity::Wait => "-",
            Activity::Queue => ".",
        };
        let spans = strip(&stretches(all), width);
        spans.iter().map(|span| letter(span).repeat((span.to - span.from) as usize)).collect()
    }

    #[test]
    fn a_stretch_is_as_wide_as_it_is_long_and_a_short_one_is_seen() {
        use Activity::{Queue, Wait, Work};
        assert_eq!(drawn(&[(Work, 10), (Wait, 30), (Work, 10)], 13), "###-------###");
        assert_eq!(drawn(&[(Work, 1), (Wait, 1_000_000), (Queue, 0), (Work, 1)], 10), "#-------.#");
        assert_eq!(drawn(&[(Work, 0), (Wait, 0)], 4), "##--");
        assert_eq!(drawn(&[], 4), "");
        assert_eq!(drawn(&[(Work, 1)], 0), "");
    }

    #[test]
    fn a_unit_of_several_stretches_shows_what_took_most_of_its_time() {
        use Activity::{Wait, Work};
        let all = [(Work, 1), (Work, 1), (Wait, 2), (Work, 1), (Work, 1), (Wait, 6)];
        assert_eq!(drawn(&all, 2), "#-");
        let spans = strip(&stretches(&all), 2);
        assert_eq!(spans.iter().map(|span| span.stretch).collect::<Vec<_>>(), [0, 5]);
    }

    fn any_stretches() -> impl Strategy<Value = Vec<Stretch>> {
        let kind = prop_oneof![Just(Activity::Work), Just(Activity::Wait), Just(Activity::Queue)];
        let ms = prop_oneof![3 => 0..100_u64, 1 => 0..100_000_000_u64, 1 => Just(u64::MAX)];
        prop::collection::vec((kind, ms).prop_map(|(kind, ms)| Stretch { kind, ms }), 0..80)
    }

    proptest! {
        #[test]
        fn spans_cover_the_line_in_the_order_of_their_stretches(all in any_stretches(), width in 0..120_u32) {
            let spans = strip(&all, width);
            prop_assert_eq!(&spans, &strip(&all, width));
            prop_assert_eq!(spans.is_empty(), all.is_empty() || width == 0);
            let mut at = 0;
            for span in &spans {
                prop_assert_eq!(span.from, at);
                prop_assert!(span.to > span.from);
                prop_assert_eq!(span.kind, all[span.stretch].kind);
                at = span.to;
            }
            prop_assert!(spans.is_empty() || at == width);
            if all.len() <= width as usize {
                let positions: Vec<usize> = spans.iter().map(|span| span.stretch).collect();
                prop_assert_eq!(positions, (0..all.len()).collect::<Vec<_>>());
                for (a, b) in spans.iter().flat_map(|a| spans.iter().map(move |b| (a, b))) {
                    let is_longer = all[a.stretch].ms > all[b.stretch].ms;
                    prop_assert!(!is_longer || a.to - a.from + 1 >= b.to - b.from);
                }
            } else {
                prop_assert!(spans.windows(2).all(|two| two[0].stretch < two[1].stretch));
            }
        }
    }
}
