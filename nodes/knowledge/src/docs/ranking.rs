//! The ranking of sections for a question.

use std::collections::HashMap;
use std::sync::Arc;

use super::Passage;
use super::bm25::Fields;
use super::outline::{Section, sections};
use crate::text::{Frequency, Query, Stemmer, Term, statements, without_markup};

/// The weights of words in the headings of a section, its first sentence, and all of it.
const SECTION: [f64; 3] = [1.0, 0.3, 1.0];

/// The weights of words in the headings of a page, the first sentences of its first two sections, all of it, and the
/// entries for it in tables of contents.
const PAGE: [f64; 4] = [1.0, 0.3, 0.3, 1.0];

/// The weight of the second best section of a page: a page about the subject of a question has several matching
/// sections.
const FOR_SECOND: f64 = 0.3;

/// The sections of all pages, ready to be ranked. A section counts by its own words and by those of its page, as a
/// question is often about both: how to do something (the section) with something (the page).
pub(super) struct Ranking {
    sections: Vec<Section>,
    by_section: Fields<3>,
    by_page: Fields<4>,
}

impl Ranking {
    /// Reads passages in order of path and line; `contents` is what tables of contents say of pages, by their paths.
    pub(super) fn of(passages: &[Passage], contents: &HashMap<String, String>) -> Self {
        let (mut by_section, mut by_page) = (Fields::new(SECTION), Fields::new(PAGE));
        let mut stemmer = Stemmer::default();
        let sections = sections(passages);
        for page in sections.chunk_by(|a, b| a.page == b.page) {
            let (mut headings, mut leads, mut body) = (Vec::new(), Vec::new(), Vec::new());
            for (number, section) in page.iter().enumerate() {
                let read = Read::of(&passages[section.passages.clone()], &mut stemmer);
                by_section.add([&read.headings, &read.lead, &read.body]);
                headings.extend(stemmer.stems(read.last_heading));
                if number < 2 {
                    leads.extend(read.lead);
                }
                body.extend(read.body);
            }
            let path = &passages[page[0].passages.start].path;
            let said = stemmer.stems(contents.get(path).map_or("", String::as_str));
            by_page.add([&headings, &leads, &body, &said]);
        }
        Self { sections, by_section, by_page }
    }

    /// Returns the number of sections.
    pub(super) fn len(&self) -> usize {
        self.by_section.len()
    }

    /// Counts the sections that have a word.
    pub(super) fn frequency(&self, term: &Term) -> Frequency {
        self.by_section.frequency(term)
    }

    /// Returns the sections that have a word of the query, the best first, with their scores; of equals the first in
    /// the documents.
    pub(super) fn best(&self, query: &Query) -> Vec<(&Section, f64)> {
        let (own, pages) = (self.by_section.scores(query), self.by_page.scores(query));
        let scored: Vec<_> = self.sections.iter().zip(own).filter(|(_, own)| *own > 0.0).collect();
        let mut best = Vec::with_capacity(scored.len());
        for page in scored.chunk_by(|(a, _), (b, _)| a.page == b.page) {
            let second = FOR_SECOND * second_highest(page.iter().map(|(_, own)| *own));
            best.extend(page.iter().map(|(section, own)| (*section, own + pages[section.page] + second)));
        }
        // Stable, so equals stay in the order of the documents.
        best.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        best
    }
}

fn second_highest(scores: impl Iterator<Item = f64>) -> f64 {
    let (mut first, mut second) = (0.0_f64, 0.0_f64);
    for score in scores {
        second = second.max(score.min(first));
        first = first.max(score);
    }
    second
}

/// The stems of a section.
struct Read<'p> {
    /// Of the headings below that of the page, or of that one if there is no other.
    headings: Vec<Arc<str>>,
    last_heading: &'p str,
    /// Of the first sentence.
    lead: Vec<Arc<str>>,
    body: Vec<Arc<str>>,
}

impl<'p> Read<'p> {
    fn of(passages: &'p [Passage], stemmer: &mut Stemmer) -> Self {
        let heading = passages.first().map_or("", |passage| passage.heading.as_str());
        let texts: Vec<_> = passages.iter().map(|passage| without_markup(&passage.text)).collect();
        let lead = texts.first().and_then(|text| statements(text).into_iter().next()).unwrap_or_default();
        Self {
            headings: stemmer.stems(heading.split_once(" > ").map_or(heading, |(_, below)| below)),
            last_heading: heading.rsplit(" > ").next().unwrap_or_default(),
            lead: stemmer.stems(&lead),
            body: stemmer.stems(&texts.join("\n")),
        }
    }
}
