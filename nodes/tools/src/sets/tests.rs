use serde_json::json;
use superstep_core::checkpoint::MemorySaver;
use superstep_core::graph::{END, START, StateGraph};
use superstep_core::reducer::KeyedLog;
use superstep_core::state::State;
use superstep_nodes::message::{Message, MessageLog, ToolCall};
use superstep_nodes::node::Tools;
use superstep_nodes::tool::AllowReadOnly;

use super::*;

fn names(tools: &ToolRegistry) -> Vec<String> {
    tools.specs().into_iter().map(|spec| spec.name).collect()
}

#[test]
fn the_sets_have_these_tools() {
    assert_eq!(
        names(&read_only(Workspace::of_session())),
        ["glob", "grep", "read_csv", "read_file", "read_json"]
    );
    assert_eq!(
        names(&super::workspace(Workspace::of_session())),
        ["edit_file", "glob", "grep", "read_csv", "read_file", "read_json", "write_file"]
    );
}

/// A model that does not know the limits of a tool runs into them.
#[test]
fn s2_056_each_built_in_tool_says_what_it_is_for_and_within_which_limits() {
    let here = Workspace::of_session;
    let tools = super::workspace(here()).with(crate::DescribeApi::new(here())).unwrap();
    let tools = tools.with(crate::DescribeDatabase::new("a.db")).unwrap();
    let tools = tools.with(crate::SqlQuery::new("a.db")).unwrap();
    let tools = tools.with(crate::DrawChart::new(here())).unwrap();
    #[cfg(feature = "http")]
    let tools = tools.with(crate::HttpRequest::new()).unwrap();
    #[cfg(all(feature = "shell", unix))]
    let tools = tools.with(crate::Bash::new(here())).unwrap();
    assert_eq!(tools.short_descriptions(), <[&str; 0]>::default());
    let says_limit =
        |text: &str| text.contains(|letter: char| letter.is_ascii_digit()) || text.contains("exactly once");
    for spec in tools.specs() {
        assert!(says_limit(&spec.description), "{}: {}", spec.name, spec.description);
    }
}

#[tokio::test]
async fn of_all_tools_only_those_that_change_nothing_pass_where_nothing_may_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let tools = super::workspace(Workspace::at(folder.path()).unwrap()).permissions(AllowReadOnly);
    let call = ToolCall::new("c", "glob", json!({ "pattern": "*" }));
    assert_eq!(tools.answer("m", &call).await.content.to_text(), "No file fits.");
    let call = ToolCall::new("c", "write_file", json!({ "path": "a", "content": "x" }));
    let said = tools.answer("m", &call).await.content.to_text().into_owned();
    assert!(said.ends_with("only calls that change nothing are allowed"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[derive(State, Clone, Default)]
struct Chat {
    #[reducer(KeyedLog)]
    messages: MessageLog,
}

#[tokio::test]
async fn what_a_thread_has_read_it_may_edit_in_a_later_turn_and_another_thread_may_not() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one").unwrap();
    let mut g = StateGraph::<Chat>::new("tools");
    let node = Tools::new(super::workspace(Workspace::of_session()), Chat::MESSAGES).workspace(folder.path());
    let tools = g.node("tools", node);
    g.edge(START, tools);
    g.edge(tools, END);
    let graph = g.compile().unwrap().checkpointer(MemorySaver::new());
    let said = async |thread: &str, turn: &str, call: ToolCall| {
        let asked = Message::ai_with_calls(turn, "", vec![call]);
        let state =
            graph.thread(thread).run(Chat::update().messages([asked])).await.unwrap().finished().unwrap();
        let Some(Message::Tool(answer)) = state.messages.iter().last() else {
            panic!("{:?}", state.messages)
        };
        answer.content.to_text().into_owned()
    };
    let read = || ToolCall::new("c", "read_file", json!({ "path": "a.txt" }));
    let edit = |old, new| ToolCall::new("c", "edit_file", json!({ "path": "a.txt", "old": old, "new": new }));

    assert_eq!(said("mine", "1", read()).await, "     1\tone\n");
    let refused = said("other", "1", edit("one", "two")).await;
    assert!(refused.ends_with("`a.txt` was not read yet: read it first"), "{refused}");
    assert!(said("mine", "2", edit("one", "two")).await.starts_with("a.txt was edited"));
    assert!(said("mine", "3", edit("two", "three")).await.starts_with("a.txt was edited"));
    assert_eq!(std::fs::read_to_string(folder.path().join("a.txt")).unwrap(), "three");
}
