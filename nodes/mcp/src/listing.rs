//! The listed tools of a server.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use rmcp::model::{
    ClientRequest, CustomResult, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool as Listed,
};
use serde_json::Value;
use superstep_core::nonprinting::{escape_nonprinting, is_nonprinting};
use superstep_nodes::tool::{RegistryError, Tool, ToolRegistry, check_schema};

use super::McpError;
use super::connection::{Connection, RequestError};
use super::name::tool_name;
use super::tool::McpTool;

/// The maximum number of tools of a server.
const MOST_TOOLS: usize = 1_000;

/// The maximum number of pages of a tool list.
const MOST_PAGES: usize = 200;

/// The maximum size of a tool's schema in bytes of JSON, and the maximum number of characters of its description.
const MOST_OF_SCHEMA: usize = 100_000;
const MOST_OF_DESCRIPTION: usize = 20_000;

/// The maximum number of characters of a tool's name.
const MOST_OF_NAME: usize = 200;

/// The maximum size in bytes of the names, descriptions and schemas of all tools together.
const MOST_OF_ALL: usize = 1 << 20;

/// The number of characters kept of the name of a tool that is left out, and of the reason.
const MOST_SHOWN: usize = 500;

/// The tools of a server, as they were when they were listed.
#[derive(Clone)]
pub struct McpTools {
    tools: Vec<Arc<dyn Tool>>,
    left_out: Vec<LeftOut>,
}

/// A tool that a server lists and that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The server.
    pub server: String,
    /// The name of the tool there.
    pub tool: String,
    /// The reason why it cannot be used.
    pub reason: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, tool, reason } = self;
        write!(f, "the tool `{tool}` of the MCP server `{server}` is left out: {reason}")
    }
}

impl McpTools {
    /// Returns the tools in order of their names.
    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    /// Returns the tools that the server lists and that cannot be used: those without a schema that is one, those that
    /// are listed twice, those whose schema, name or description is too long, those that come when all of these
    /// together are, and those whose schema has nonprinting characters in a name or a value.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Adds the tools to those of an agent, behind its own, which win where the names are the same.
    ///
    /// # Errors
    ///
    /// Fails if another server's tool has the name of one of these; the registry is then as it was.
    pub fn add_to(&self, registry: &mut ToolRegistry) -> Result<(), RegistryError> {
        let mut with_them = registry.clone();
        for tool in &self.tools {
            with_them.add_external(Arc::clone(tool))?;
        }
        *registry = with_them;
        Ok(())
    }

    /// Asks a server for its tools.
    pub(super) async fn list(connection: &Arc<Connection>) -> Result<Self, McpError> {
        let (server, after) = (connection.server.clone(), connection.options.connect_time);
        let changes = connection.handler.changes();
        let listed = tokio::time::timeout(after, pages(connection)).await;
        let listed = listed.map_err(|_| McpError::TimedOut { server, after, wrote: String::new() })??;
        connection.handler.tools_are_listed(changes);
        let mut all = Self { tools: Vec::new(), left_out: Vec::new() };
        let (mut names, mut bytes) = (BTreeSet::new(), 0);
        for entry in listed {
            match entry.and_then(|tool| usable(connection, tool, &mut names, &mut bytes)) {
                Ok(tool) => all.tools.push(Arc::new(tool)),
                Err((tool, reason)) => {
                    let (tool, reason) = (shown(&tool), shown(&reason));
                    all.left_out.push(LeftOut { server: connection.server.clone(), tool, reason });
                }
            }
        }
        all.tools.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(all)
    }
}

/// A tool, or the name of an unusable one with the reason.
type Entry<T> = Result<T, (String, String)>;

/// Reads all pages of the list.
async fn pages(connection: &Connection) -> Result<Vec<Entry<Listed>>, McpError> {
    let refused = |reason: String| McpError::List { server: connection.server.clone(), reason };
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..MOST_PAGES {
        let request = match cursor.take() {
            None => ListToolsRequest::default(),
            cursor => ListToolsRequest::with_param(PaginatedRequestParams::default().with_cursor(cursor)),
        };
        let answer = connection.request(ClientRequest::ListToolsRequest(request), None).await;
        let (entries, next) = match answer {
            Ok(ServerResult::ListToolsResult(page)) => {
                (page.tools.into_iter().map(Ok).collect(), page.next_cursor)
            }
            Ok(ServerResult::CustomResult(CustomResult(answer))) => {
                let entries = entries(&answer).ok_or_else(|| refused("its answer is no list".to_owned()))?;
                (entries, answer["nextCursor"].as_str().map(str::to_owned))
            }
            Ok(_) => return Err(refused("its answer is no list".to_owned())),
            Err(RequestError::NotMade(error)) => return Err(error),
            Err(RequestError::Refused(reason) | RequestError::NoAnswer(reason)) => {
                return Err(refused(reason));
            }
            Err(RequestError::Broke(reason)) => {
                return Err(refused(reason.unwrap_or_else(|| "it has ended the connection".to_owned())));
            }
        };
        all.extend(entries);
        if all.len() > MOST_TOOLS {
            return Err(refused(format!("it has more than {MOST_TOOLS} tools")));
        }
        cursor = next;
        if cursor.is_none() {
            return Ok(all);
        }
    }
    Err(refused(format!("its list has more than {MOST_PAGES} pages")))
}

/// Returns the entries of a list that may contain malformed ones.
fn entries(answer: &Value) -> Option<Vec<Entry<Listed>>> {
    let entry = |entry: &Value| {
        let name = || entry["name"].as_str().unwrap_or("without a name").to_owned();
        serde_json::from_value(entry.clone()).map_err(|error| (name(), error.to_string()))
    };
    Some(answer["tools"].as_array()?.iter().map(entry).collect())
}

/// Returns the beginning of a text, safe for a terminal.
fn shown(text: &str) -> String {
    escape_nonprinting(text).chars().take(MOST_SHOWN).collect()
}

/// Makes a tool, unless there is one of its name or `bytes`, those of all tools until now, leave no room for it.
fn usable(
    connection: &Arc<Connection>,
    tool: Listed,
    names: &mut BTreeSet<String>,
    bytes: &mut usize,
) -> Entry<McpTool> {
    let name = tool.name.to_string();
    let refused = |reason: String| (name.clone(), reason);
    let mut schema = schema(&tool);
    escape_texts(&mut schema);
    let (of_schema, described) = (schema.to_string().len(), described(&tool));
    if name.chars().nth(MOST_OF_NAME).is_some() {
        return Err(refused(format!("its name has more than {MOST_OF_NAME} characters")));
    }
    if of_schema > MOST_OF_SCHEMA {
        return Err(refused(format!("its input schema has {of_schema} bytes, more than {MOST_OF_SCHEMA}")));
    }
    if described.chars().nth(MOST_OF_DESCRIPTION).is_some() {
        return Err(refused(format!("its description has more than {MOST_OF_DESCRIPTION} characters")));
    }
    if hides_text(&schema) {
        return Err(refused("its input schema has nonprinting characters in a name or a value".to_owned()));
    }
    check_schema(&schema).map_err(|reason| refused(format!("its input schema cannot be used: {reason}")))?;
    if names.contains(&name) {
        return Err(refused("it is listed twice".to_owned()));
    }
    let together = *bytes + name.len() + described.len() + of_schema;
    if together > MOST_OF_ALL {
        return Err(refused(format!("the tools have more than {MOST_OF_ALL} bytes together")));
    }
    *bytes = together;
    names.insert(name.clone());
    let own_name = tool_name(&connection.server, &name);
    Ok(McpTool::new(own_name, tool, described, schema, Arc::clone(connection)))
}

/// Returns the description of a tool for the model, or else its title. Characters that people would not see are
/// escaped.
fn described(tool: &Listed) -> String {
    let said = tool.description.as_deref().filter(|text| !text.trim().is_empty());
    let said = said.or(tool.title.as_deref()).map(str::to_owned);
    escape_nonprinting(&said.unwrap_or_else(|| format!("The tool `{}`.", tool.name))).into_owned()
}

/// Escapes nonprinting characters in the texts of a schema, where that changes no valid input.
fn escape_texts(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(escape_texts),
        Value::Object(members) => members.iter_mut().for_each(|(name, member)| match (&**name, member) {
            ("title" | "description" | "$comment", Value::String(text)) => {
                *text = escape_nonprinting(text).into_owned();
            }
            (_, member) => escape_texts(member),
        }),
        _ => {}
    }
}

/// Returns whether a name or a text of a schema has nonprinting characters. Control characters may be in patterns and
/// values.
fn hides_text(schema: &Value) -> bool {
    let is_hiding = |text: &str| text.contains(|letter: char| is_nonprinting(letter) && !letter.is_control());
    match schema {
        Value::String(text) => is_hiding(text),
        Value::Array(items) => items.iter().any(hides_text),
        Value::Object(members) => members.iter().any(|(name, member)| is_hiding(name) || hides_text(member)),
        _ => false,
    }
}

/// The schema of a tool's input; one that does not say so is of an object, as every input is one.
fn schema(tool: &Listed) -> Value {
    let mut schema = Value::Object((*tool.input_schema).clone());
    if schema.get("type").is_none() {
        schema["type"] = "object".into();
    }
    schema
}

impl fmt::Debug for McpTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.name()).collect();
        f.debug_struct("McpTools").field("tools", &names).field("left_out", &self.left_out).finish()
    }
}
