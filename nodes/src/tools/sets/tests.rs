use serde_json::json;

use super::*;
use crate::message::ToolCall;
use crate::tool::AllowReadOnly;

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
