//! Writes an answer from facts and shortens it until an evaluator accepts it. The evaluator has a bug, which the page
//! `docs/debugging.md` of this repository finds.

use std::io;

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

/// The maximum number of words of an answer.
const ENOUGH: usize = 24;

const FULL_MARKS: usize = 10;

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) question: String,
    #[reducer(Append)]
    pub(crate) facts: Vec<Fact>,
    pub(crate) answer: String,
    /// The sentences that must not be cut.
    #[reducer(Append)]
    pub(crate) keep: Vec<String>,
    /// The score, of ten points.
    pub(crate) score: usize,
}

/// A fact, and a condition without which it is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fact {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) condition: Option<String>,
}

#[derive(Route, Serialize, Deserialize)]
pub(crate) enum Verdict {
    Publish,
    Shorten,
}

async fn look_up(reply: Snapshot<Reply>, fx: Effects) -> Result<Update<Reply>, io::Error> {
    let facts = fx.run_keyed("look_up", &reply.question, || async { known() }).await?;
    Ok(Reply::update().facts(facts))
}

/// Returns the facts about the museum.
fn known() -> Result<Vec<Fact>, io::Error> {
    let fact = |id: &str, text: &str, condition: Option<&str>| Fact {
        id: id.to_owned(),
        text: text.to_owned(),
        condition: condition.map(str::to_owned),
    };
    Ok(vec![
        fact(
            "hours",
            "The museum is open every day except Mondays, from 10 to 18 (on Thursdays until 21).",
            Some("except Mondays"),
        ),
        fact(
            "entry",
            "Entry costs 12 euros (in cash), 6 euros for students with a card, and nothing on the first Sunday of a \
             month.",
            None,
        ),
        fact("way", "Tram 28 stops at the door, too, and bus 201 two streets away, behind the market.", None),
    ])
}

async fn write(reply: Snapshot<Reply>) -> Update<Reply> {
    let kept = reply.keep.iter().all(|part| reply.answer.contains(part));
    let answer = match reply.answer.is_empty() || !kept {
        true => reply.facts.iter().map(|fact| &*fact.text).collect::<Vec<_>>().join(" "),
        false => shortened(&reply.answer, &reply.keep),
    };
    Reply::update().answer(answer)
}

/// Returns the text without the shortest of its additions that may be removed.
fn shortened(text: &str, keep: &[String]) -> String {
    let needless = additions(text).into_iter().filter(|part| !keep.iter().any(|kept| part.contains(&**kept)));
    match needless.min_by_key(|part| part.len()) {
        Some(part) => text.replacen(part, "", 1),
        None => text.to_owned(),
    }
}

/// Returns the parts after a comma, a bracket or an "except", up to the next of these or the end of the sentence.
fn additions(text: &str) -> Vec<&str> {
    let begins = |rest: &str| [", ", " (", " except "].iter().any(|sign| rest.starts_with(sign));
    let at = |at: usize| text.is_char_boundary(at).then(|| &text[at..]);
    let starts = (0..text.len()).filter(|place| at(*place).is_some_and(begins));
    let end = |start: usize| {
        let rest = (start + 1..text.len())
            .find(|place| at(*place).is_some_and(|rest| begins(rest) || rest.starts_with('.')));
        rest.unwrap_or(text.len())
    };
    starts.map(|start| &text[start..end(start)]).collect()
}

/// Returns full marks for an answer that is short enough, and fewer for every few words more.
fn points(answer: &str) -> usize {
    FULL_MARKS.saturating_sub(answer.split_whitespace().count().saturating_sub(ENOUGH).div_ceil(4))
}

fn graded(score: usize) -> (Update<Reply>, Verdict) {
    let verdict = if score == FULL_MARKS { Verdict::Publish } else { Verdict::Shorten };
    (Reply::update().score(score), verdict)
}

/// The evaluator that was deployed.
async fn evaluate(reply: Snapshot<Reply>) -> (Update<Reply>, Verdict) {
    graded(points(&reply.answer))
}

/// The evaluator with the bug fixed: an answer without a fact's condition is wrong, however short it is.
async fn evaluate_truth(reply: Snapshot<Reply>) -> (Update<Reply>, Verdict) {
    let conditions = reply.facts.iter().filter_map(|fact| fact.condition.clone());
    let lost: Vec<String> = conditions.filter(|condition| !reply.answer.contains(condition)).collect();
    match lost.is_empty() {
        true => graded(points(&reply.answer)),
        false => (Reply::update().score(0).keep(lost), Verdict::Shorten),
    }
}

/// Makes the graph, with the deployed evaluator or with the fixed one.
pub(crate) fn replies(mended: bool) -> StateGraph<Reply> {
    let mut g = StateGraph::<Reply>::new("replies");
    let look_up = g.node("look_up", look_up);
    let write = g.node("write", write);
    let evaluate = match mended {
        false => g.node("evaluate", evaluate),
        true => g.node("evaluate", evaluate_truth),
    };
    g.edge(START, look_up);
    g.edge(look_up, write);
    g.edge(write, evaluate);
    g.route(evaluate, move |verdict| match verdict {
        Verdict::Publish => END,
        Verdict::Shorten => to(write),
    });
    g
}
