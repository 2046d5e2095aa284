//! Snippets of `docs/mcp.md`.

use superstep::nodes::mcp::{
    BearerToken, GraphTool, McpCommand, McpOptions, McpServer, McpService, McpStream, McpUrl,
};
use superstep::prelude::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::nodes::message::ToolCall;
use superstep::nodes::tool::ToolRegistry;

#[tokio::test]
async fn the_tools_of_a_server_are_added_to_those_of_an_agent() {
    async fn add(mut tools: ToolRegistry) -> super::Result {
        let command = McpCommand::new("mcp-server-git").args(["--repository", "/srv/project"]);
        let git = McpServer::connect("git", command, McpOptions::new().allow_tool("git_log")).await?;
        git.tools().add_to(&mut tools)?;
        for left_out in git.tools().left_out() {
            eprintln!("{left_out}");
        }
        Ok(())
    }
    // It is probably not installed here, and if it is, there is no such folder.
    let error = add(ToolRegistry::new()).await.unwrap_err().to_string();
    assert!(error.starts_with("the MCP server `git` cannot be "), "{error}");
}

#[tokio::test]
async fn a_server_behind_an_address_gets_a_token() {
    async fn connect() -> super::Result {
        let token = BearerToken::from_env("WIKI_TOKEN").ok_or("WIKI_TOKEN is not set")?;
        let wiki = McpUrl::new("https://wiki.example.org/mcp")?.bearer(token)?;
        let wiki = McpServer::connect("wiki", wiki, McpOptions::new().trust_hints()).await?;
        drop(wiki);
        Ok(())
    }
    // No request is made without a token.
    assert_eq!(connect().await.unwrap_err().to_string(), "WIKI_TOKEN is not set");
}

#[derive(State, Clone, Default)]
struct Article {
    title: String,
    #[reducer(Append)]
    drafts: Vec<String>,
}

/// The topic of an article.
#[derive(Deserialize, JsonSchema)]
struct Topic {
    title: String,
}

#[derive(Route, Serialize, Deserialize, JsonSchema)]
enum Verdict {
    Accept,
    Revise,
}

fn articles() -> Result<superstep::run::Graph<Article>, superstep::graph::BuildError> {
    let mut g = StateGraph::<Article>::new("articles");
    let write = g.node("write", |article: Snapshot<Article>| async move {
        Article::update().drafts([format!("{}: draft {}", article.title, article.drafts.len() + 1)])
    });
    let review = g.node("review", |article: Snapshot<Article>, editor: Ask<String, Verdict>| async move {
        editor.ask(article.drafts.last().cloned().unwrap_or_default()).await
    });
    g.edge(START, write);
    g.edge(write, review);
    g.route(review, move |verdict| match verdict {
        Verdict::Accept => END,
        Verdict::Revise => to(write),
    });
    g.compile()
}

#[tokio::test]
async fn a_graph_is_served() -> super::Result {
    let articles = articles()?;
    let write = GraphTool::new(
        "write_article",
        "Writes an article. An editor is asked of each draft.",
        articles.checkpointer(MemorySaver::new()),
        |input: Topic| Article::update().title(input.title),
        |article: Article| article.drafts,
    );
    let service = McpService::new("articles", "1.0").with(write)?;

    let (near, far) = tokio::io::duplex(4096);
    let (read, write) = tokio::io::split(far);
    tokio::spawn(service.serve(read, write));
    let (read, write) = tokio::io::split(near);
    let options = McpOptions::new().allow_all_tools();
    let server = McpServer::connect("press", McpStream::new(read, write), options).await?;
    let mut tools = ToolRegistry::new();
    server.tools().add_to(&mut tools)?;
    let call = ToolCall::new("c1", "press__write_article", serde_json::json!({ "title": "Graphs" }));
    let asked = tools.answer("m1", &call).await.data.ok_or("it has data")?;
    assert_eq!(asked["questions"][0]["question"], "Graphs: draft 1");
    let answer = serde_json::json!({ "thread": asked["thread"], "answer": "Accept" });
    let call = ToolCall::new("c2", "press__write_article_resume", answer);
    let ended = tools.answer("m2", &call).await.data.ok_or("it has data")?;
    assert_eq!(ended["output"], serde_json::json!(["Graphs: draft 1"]));
    Ok(())
}
