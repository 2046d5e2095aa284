//! Snippets of `docs/mcp.md`.

use superstep::nodes::mcp::{BearerToken, McpCommand, McpOptions, McpServer, McpUrl};
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
    // It is hardly installed where this runs, and if it is there is no such folder.
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
