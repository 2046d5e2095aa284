//! The error message for a recording that is missing from a cassette.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::deck::Live;
use super::recording::{At, Path, Recording, Title};
use crate::id::NodeName;

/// An effect or a question that has no recording on the cassette, with the nearest recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Miss {
    title: Title,
    at: String,
    hint: Hint,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hint {
    /// It is recorded, but all of its recordings are used.
    Exhausted(Vec<String>),
    /// The same effect is recorded with another key.
    Key { recorded: String, shown: String },
    /// The same name and key are recorded elsewhere, or the same key under another name.
    Elsewhere { shown: String, differs: &'static str },
    /// The node has only other recordings: these.
    Others(Vec<String>),
    /// The node has no recordings.
    Nothing { nodes: Vec<NodeName> },
}

/// The maximum number of a node's recordings that a message lists.
const NAMED: usize = 5;

impl Miss {
    pub(super) fn new(title: Title, live: &Live, all: &[Recording], used: &BTreeSet<usize>) -> Self {
        let at = At { place: &live.place, occurrence: live.occurrence }.to_string();
        let hint = Hint::of(&title, all, used);
        Self { title, at, hint }
    }
}

impl Hint {
    fn of(title: &Title, all: &[Recording], used: &BTreeSet<usize>) -> Self {
        let titles: Vec<Title> = all.iter().map(Recording::title).collect();
        let shown = |at: usize| {
            let use_of = if used.contains(&at) { "used already" } else { "not used yet" };
            alloc::format!("{}, {use_of}", all[at])
        };
        let of_title = titles.iter().zip(all).filter(|(recorded, _)| *recorded == title);
        let places: Vec<String> = of_title.map(|(_, recording)| recording.at().to_string()).collect();
        if !places.is_empty() {
            return Self::Exhausted(places);
        }
        // Unused recordings come first, because they are more likely to be the expected one.
        let nearest = |matches: &dyn Fn(&Title) -> bool, near: &dyn Fn(&Title) -> usize| {
            let all = titles.iter().enumerate().filter(|(_, recorded)| matches(recorded));
            all.min_by_key(|(at, recorded)| (used.contains(at), usize::MAX - near(recorded)))
                .map(|(at, _)| at)
        };
        let same = |one: &Title, nodes: bool, effect: bool, key: bool| {
            (!nodes || one.nodes == title.nodes)
                && (if effect { one.effect == title.effect } else { one.effect.is_some() })
                && (!key || one.key == title.key)
        };
        let by_key = |one: &Title| alike(&one.key, &title.key);
        if let Some(at) = nearest(&|one| same(one, true, true, false), &by_key) {
            return Self::Key { recorded: titles[at].key.clone(), shown: shown(at) };
        }
        if let Some(at) = nearest(&|one| same(one, false, true, true), &|_| 0) {
            return Self::Elsewhere { shown: shown(at), differs: "node" };
        }
        let by_name = |one: &Title| {
            alike(one.effect.as_deref().unwrap_or_default(), title.effect.as_deref().unwrap_or_default())
        };
        if !title.key.is_empty()
            && let Some(at) = nearest(&|one| same(one, true, false, true), &by_name)
        {
            return Self::Elsewhere { shown: shown(at), differs: "name" };
        }
        let of_node: Vec<usize> = (0..all.len()).filter(|at| titles[*at].nodes == title.nodes).collect();
        if of_node.is_empty() {
            let nodes: BTreeSet<NodeName> =
                titles.iter().filter_map(|recorded| recorded.nodes.last()).cloned().collect();
            return Self::Nothing { nodes: nodes.into_iter().collect() };
        }
        Self::Others(of_node.into_iter().map(shown).collect())
    }
}

/// Returns the number of characters that two texts share at their beginnings and ends.
fn alike(one: &str, other: &str) -> usize {
    let (begin, end) = shared(one, other);
    begin + end
}

/// Returns the lengths, in characters, of the common beginning and the common end of two texts.
fn shared(one: &str, other: &str) -> (usize, usize) {
    let same = |pair: &(char, char)| pair.0 == pair.1;
    let begin = one.chars().zip(other.chars()).take_while(same).count();
    let left = one.chars().count().min(other.chars().count()) - begin;
    let end = one.chars().rev().zip(other.chars().rev()).take(left).take_while(same).count();
    (begin, end)
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, at, hint } = self;
        write!(f, "the cassette has no {title} ({at})")?;
        match hint {
            Hint::Exhausted(places) => {
                let times =
                    if places.len() == 1 { "once" } else { &*alloc::format!("{} times", places.len()) };
                write!(f, "\n  it is recorded {times}, at {}", places.join(" and "))
            }
            Hint::Key { recorded, shown } => {
                let (begin, end) = shared(recorded, &title.key);
                write!(f, "\n  nearest recording: {shown}")?;
                write!(f, "\n    key here:  {}", Marked(&title.key, begin, end))?;
                write!(f, "\n    recorded:  {}", Marked(recorded, begin, end))
            }
            Hint::Elsewhere { shown, differs } => {
                write!(f, "\n  nearest recording: {shown}\n    the {differs} differs")
            }
            Hint::Others(all) => {
                write!(f, "\n  of node {} there are:", Path(&title.nodes))?;
                for one in all.iter().take(NAMED) {
                    write!(f, "\n    {one}")?;
                }
                match all.len().saturating_sub(NAMED) {
                    0 => Ok(()),
                    more => write!(f, "\n    and {more} more"),
                }
            }
            Hint::Nothing { nodes } if nodes.is_empty() => f.write_str("\n  it is empty"),
            Hint::Nothing { nodes } => {
                f.write_str("\n  nothing is recorded for this node, but for ")?;
                for (at, node) in nodes.iter().enumerate() {
                    write!(f, "{}{node}", if at > 0 { ", " } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

/// A text whose middle is highlighted: everything except this many characters at its beginning and its end.
struct Marked<'t>(&'t str, usize, usize);

impl fmt::Display for Marked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text, begin, end) = *self;
        let count = text.chars().count();
        let part = |from: usize, to: usize| text.chars().skip(from).take(to - from).collect::<String>();
        let (before, after) = (part(0, begin), part(count - end, count));
        write!(f, "{before}[{}]{after}", part(begin, count - end))
    }
}
