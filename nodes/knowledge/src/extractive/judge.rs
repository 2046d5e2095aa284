//! Judging, ordering and choosing responses by their words.

use serde::Serialize;
use serde::de::DeserializeOwned;
use superstep_nodes::model::{ModelError, ModelRequest};
use superstep_nodes::prompt::{Candidate, DeciderPrompt, EvaluatorPrompt, Evidence, RankerPrompt, material};
use superstep_nodes::{Evaluation, Ranking};

use super::agent::say_without_tools;
use super::answer::is_refusal;
use crate::text::{Query, Terms};

/// The weights of the words of the task, and of quotes that are in the evidence, in a score.
const FOR_WORDS: f64 = 0.6;
const FOR_QUOTES: f64 = 0.4;

/// The score of a response that is complete, at least.
const COMPLETE: f64 = 0.6;

/// Judges a response.
pub(super) fn evaluate(request: &ModelRequest) -> Result<String, ModelError> {
    let prompt: EvaluatorPrompt = read(request)?;
    let (score, complete, feedback) = judge(&prompt);
    write(&Evaluation { iteration: prompt.iteration, score, complete, feedback })
}

fn judge(prompt: &EvaluatorPrompt) -> (f64, bool, String) {
    let response = prompt.response.trim();
    if response.is_empty() {
        return (0.0, false, "The response is empty.".to_owned());
    }
    let query = query(&prompt.task);
    if is_refusal(response) {
        let found = evident(&query, &prompt.evidence);
        let feedback = format!(
            "The response makes no claim. The evidence as a whole has {} of the task's telling words.",
            percent(found)
        );
        return (1.0 - found / 2.0, true, feedback);
    }
    let terms = Terms::of(response);
    let words = query.coverage(&terms);
    let quotes = quoted(response, &prompt.evidence);
    let score = FOR_WORDS * words + FOR_QUOTES * quotes;
    let mut feedback = format!(
        "The response has {} of the task's telling words; {} of it is in the evidence.",
        percent(words),
        percent(quotes)
    );
    feedback.push_str(&missing(&query, &terms));
    (score, score >= COMPLETE, feedback)
}

/// The share of the task's words that are in one piece of evidence.
pub(super) fn evident(query: &Query, evidence: &[Evidence]) -> f64 {
    let found = evidence.iter().map(|evidence| query.coverage(&Terms::of(&evidence.output)));
    found.fold(0.0, f64::max)
}

/// Says which words of the task a response does not have, if there are any.
pub(super) fn missing(query: &Query, response: &Terms) -> String {
    let telling = query.terms().iter().filter(|term| !term.is_filler() && !response.contains(&term.stem));
    let missing: Vec<_> = telling.map(|term| term.word.as_str()).collect();
    match missing.is_empty() {
        true => String::new(),
        false => format!(" It does not have: {}.", missing.join(", ")),
    }
}

/// Puts responses in order.
pub(super) fn rank(request: &ModelRequest) -> Result<String, ModelError> {
    let prompt: RankerPrompt = read(request)?;
    let ordered = ordered(&prompt.task, &prompt.candidates);
    let Some((best, score)) = ordered.first() else {
        return Err(ModelError::InvalidRequest { reason: "there are no responses to compare".to_owned() });
    };
    write(&Ranking {
        iteration: prompt.iteration,
        order: ordered.iter().map(|(candidate, _)| candidate.iteration).collect(),
        best: best.iteration,
        reason: format!("It has the highest score, {score:.2}; of equals the latest is put first."),
    })
}

/// Chooses the final response. If there is none to choose from, it is made of what was searched.
pub(super) fn decide(request: &ModelRequest) -> Result<String, ModelError> {
    let prompt: DeciderPrompt = read(request)?;
    let said = |candidate: &&Candidate| !candidate.response.trim().is_empty();
    let ranked_first = prompt.candidates.iter().find(|candidate| Some(candidate.iteration) == prompt.best);
    let ordered = ordered(&prompt.task, &prompt.candidates);
    let chosen =
        ranked_first.filter(said).or_else(|| ordered.iter().map(|(candidate, _)| *candidate).find(said));
    Ok(match chosen {
        Some(candidate) => candidate.response.clone(),
        None => say_without_tools(&prompt.task, &request.messages),
    })
}

/// Orders responses by their evaluations or, without one, by the words of the task they have.
fn ordered<'c>(task: &str, candidates: &'c [Candidate]) -> Vec<(&'c Candidate, f64)> {
    let query = query(task);
    let score = |candidate: &Candidate| match &candidate.evaluation {
        Some(evaluation) => evaluation.score,
        None => FOR_WORDS * query.coverage(&Terms::of(&candidate.response)),
    };
    let mut scored: Vec<_> = candidates.iter().map(|candidate| (candidate, score(candidate))).collect();
    scored
        .sort_by(|(a, a_score), (b, b_score)| b_score.total_cmp(a_score).then(b.iteration.cmp(&a.iteration)));
    scored
}

pub(super) fn query(task: &str) -> Query {
    Query::new(task).weighed(0, |_| None)
}

/// Returns the share of the response's lines that are in the evidence. If it quotes, only quotes count.
pub(super) fn quoted(response: &str, evidence: &[Evidence]) -> f64 {
    let quotes: Vec<_> = response.lines().filter_map(|line| line.strip_prefix("> ")).collect();
    let lines = if quotes.is_empty() { response.lines().collect() } else { quotes };
    let evidence: Vec<_> = evidence.iter().map(|evidence| one_line(&evidence.output)).collect();
    let lines: Vec<_> = lines.into_iter().map(one_line).filter(|line| !line.is_empty()).collect();
    let found = lines.iter().filter(|line| evidence.iter().any(|text| text.contains(line.as_str()))).count();
    if lines.is_empty() { 0.0 } else { found as f64 / lines.len() as f64 }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

pub(super) fn read<T: DeserializeOwned>(request: &ModelRequest) -> Result<T, ModelError> {
    material(request).ok_or_else(|| ModelError::InvalidRequest {
        reason: format!("the last human message has no material for purpose `{}`", request.purpose),
    })
}

pub(super) fn write(judgement: &impl Serialize) -> Result<String, ModelError> {
    serde_json::to_string(judgement).map_err(|error| ModelError::InvalidRequest { reason: error.to_string() })
}
