//! A graph that several pages use: an outline, a text, and a person who reviews it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::graph::NodeRef;
use superstep::node::NoInput;
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default, PartialEq)]
pub(crate) struct Story {
    pub(crate) topic: String,
    #[reducer(Append)]
    pub(crate) outline: Vec<String>,
    pub(crate) text: String,
}

#[derive(Route, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Verdict {
    Accept,
    Revise,
}

async fn outline(story: Snapshot<Story>) -> Update<Story> {
    Story::update().outline([format!("{} begins", story.topic), format!("{} ends", story.topic)])
}

async fn write(story: Snapshot<Story>) -> Update<Story> {
    Story::update().text(format!("{}: {}", story.topic, story.outline.join(", ")))
}

async fn review(story: Snapshot<Story>, editor: Ask<String, Verdict>) -> Verdict {
    editor.ask(story.text.clone()).await
}

/// The graph, and the handle of its node `write`.
pub(crate) fn stories() -> (Graph<Story>, NodeRef<NoInput, ()>) {
    let mut g = StateGraph::<Story>::new("story");
    let outline = g.node("outline", outline);
    let write = g.node("write", write);
    let review = g.node("review", review);
    g.edge(START, outline);
    g.edge(outline, write);
    g.edge(write, review);
    g.route(review, move |verdict| match verdict {
        Verdict::Accept => END,
        Verdict::Revise => to(write),
    });
    let stories = g.compile().expect("the graph is whole");
    (stories.checkpointer(MemorySaver::new()), write)
}

pub(crate) fn topic(topic: &str) -> Story {
    Story { topic: topic.into(), ..Story::default() }
}
