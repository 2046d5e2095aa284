//! The tool that reads the description of an API.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use superstep_nodes::tool::{PermissionMatcher, ToolContext, ToolEffect, ToolFailure, ToolOutput};

use super::built_in::{BuiltIn, blocking, built_in};
use super::path_rule::path_matcher;
use super::text_file::{TextFile, shortened};
use super::workspace::{Workspace, display};

/// The tool `describe_api`: lists the operations of an OpenAPI document in the workspace, or shows one with its
/// parameters and schemas.
///
/// The document is JSON, of OpenAPI 3 or Swagger 2. Convert one in YAML first.
#[derive(Clone, Debug)]
pub struct DescribeApi {
    workspace: Workspace,
    document: Option<String>,
}

/// The input of [`DescribeApi`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescribeApiInput {
    /// The OpenAPI document, relative to the workspace; by default the one that the program names.
    pub path: Option<String>,
    /// The operation to show, such as `GET /users/{id}`; by default the operations are listed.
    pub operation: Option<String>,
    /// Words that listed operations have in their path, name, summary or tags.
    pub search: Option<String>,
}

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

impl DescribeApi {
    /// The name of the tool.
    pub const NAME: &'static str = "describe_api";

    /// The size in bytes above which a document is not read.
    pub const MAX_FILE_BYTES: u64 = 32 << 20;

    const MAX_CHARS: usize = 40_000;

    /// Makes a tool that reads the OpenAPI documents of a workspace.
    pub fn new(workspace: Workspace) -> Self {
        Self { workspace, document: None }
    }

    /// Reads this document if a call names none.
    #[must_use]
    pub fn document(mut self, path: impl Into<String>) -> Self {
        self.document = Some(path.into());
        self
    }

    fn path(&self, input: &DescribeApiInput) -> Option<String> {
        input.path.clone().or_else(|| self.document.clone())
    }
}

#[async_trait]
impl BuiltIn for DescribeApi {
    type Input = DescribeApiInput;

    fn describe(&self) -> String {
        "Reads an OpenAPI document of the workspace, in JSON of at most 32 MiB. Lists the operations of the API, all or those that match some \
         words; or shows one operation with its parameters, the schemas of its body and its responses. Make requests with \
         another tool."
            .to_owned()
    }

    fn effect_of(&self, _: &DescribeApiInput) -> ToolEffect {
        ToolEffect::ReadOnly
    }

    fn in_short(&self, input: &DescribeApiInput) -> String {
        format!("read the API document {}", self.path(input).unwrap_or_default())
    }

    fn matcher(&self, input: &DescribeApiInput) -> Option<PermissionMatcher> {
        path_matcher(&self.path(input)?)
    }

    async fn run(&self, input: DescribeApiInput, context: &ToolContext) -> Result<ToolOutput, ToolFailure> {
        let folder = self.workspace.open(context)?;
        let path = self.path(&input).ok_or_else(|| ToolFailure::new("name an OpenAPI document in `path`"))?;
        blocking(move || {
            let path = folder.resolve(&path)?;
            let named = display(&path);
            let text = TextFile::parse(&named, folder.read(&path, Self::MAX_FILE_BYTES)?)?.text;
            let api = Api::parse(&named, &text)?;
            match &input.operation {
                Some(operation) => api.show(operation),
                None => Ok(api.list(input.search.as_deref().unwrap_or_default())),
            }
        })
        .await
    }
}

built_in!(DescribeApi);

/// An OpenAPI document.
struct Api {
    document: Value,
}

/// An operation of a document.
struct Operation<'a> {
    name: String,
    body: &'a Value,
    /// The parameters of all operations of the path.
    shared: Option<&'a Value>,
}

impl Api {
    fn parse(named: &str, text: &str) -> Result<Self, ToolFailure> {
        let document: Value = serde_json::from_str(text).map_err(|error| {
            ToolFailure::new(format!(
                "`{named}` is not JSON: {error}; a document in YAML has to be converted first"
            ))
        })?;
        match document.get("paths").is_some_and(Value::is_object) {
            true => Ok(Self { document }),
            false => {
                Err(ToolFailure::new(format!("`{named}` is no OpenAPI document: it has no object `paths`")))
            }
        }
    }

    fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        let paths = self.document.get("paths").and_then(Value::as_object).into_iter().flatten();
        paths.flat_map(|(path, item)| {
            METHODS.iter().filter_map(move |method| {
                let name = format!("{} {path}", method.to_ascii_uppercase());
                Some(Operation { name, body: item.get(method)?, shared: item.get("parameters") })
            })
        })
    }

    fn list(&self, search: &str) -> ToolOutput {
        let words: Vec<_> = search.split_whitespace().map(str::to_lowercase).collect();
        let text = |place: &str| self.document.pointer(place).and_then(Value::as_str).unwrap_or_default();
        let mut list = format!("{} {}\n", text("/info/title"), text("/info/version"));
        let servers = self.document.get("servers").and_then(Value::as_array).into_iter().flatten();
        for url in servers.filter_map(|server| server.get("url")?.as_str()).take(10) {
            list.push_str(&format!("server: {url}\n"));
        }
        let (mut all, mut listed) = (0, 0);
        for operation in self.operations().filter(|operation| operation.has(&words)) {
            all += 1;
            let line = operation.line();
            if list.len() + line.len() < DescribeApi::MAX_CHARS {
                list.push_str(&line);
                listed += 1;
            }
        }
        list.push_str(&match all - listed {
            0 => format!("[{all} operations]\n"),
            more => format!("[{more} more operations: use `search`]\n"),
        });
        ToolOutput::text(list).with_data(json!({ "operations": all, "listed": listed }))
    }

    fn show(&self, named: &str) -> Result<ToolOutput, ToolFailure> {
        let asked = named.split_whitespace().collect::<Vec<_>>().join(" ");
        let operation = self.operations().find(|operation| operation.name.eq_ignore_ascii_case(&asked));
        let operation = operation.ok_or_else(|| {
            let path = asked.split(' ').next_back().unwrap_or_default();
            let same = self.operations().filter(|other| other.name.ends_with(&format!(" {path}")));
            let same: Vec<_> = same.map(|other| other.name).collect();
            let hint = if same.is_empty() { "list the operations first".to_owned() } else { same.join(", ") };
            ToolFailure::new(format!("there is no operation `{asked}`: {hint}"))
        })?;
        let mut references = References { document: &self.document, open: Vec::new(), left: 20_000 };
        let mut body = references.resolved(operation.body);
        if let (Some(shared), Some(body)) = (operation.shared, body.as_object_mut()) {
            body.insert("parameters of the path".to_owned(), references.resolved(shared));
        }
        let shown = serde_json::to_string_pretty(&body)?;
        let text = format!("{}{}", operation.line(), shortened(&shown, DescribeApi::MAX_CHARS));
        Ok(ToolOutput::text(text).with_data(json!({ "operation": operation.name })))
    }
}

impl Operation<'_> {
    fn text(&self, name: &str) -> &str {
        self.body.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn line(&self) -> String {
        let summary = [self.text("summary"), self.text("operationId")];
        let summary = summary.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
        format!("{} {}\n", self.name, shortened(summary, 200)).replace(" \n", "\n")
    }

    /// Returns `true` if the operation has all of these words.
    fn has(&self, words: &[String]) -> bool {
        let tags = self.body.get("tags").map(Value::to_string).unwrap_or_default();
        let text =
            [&self.name, self.text("summary"), self.text("operationId"), &tags].join(" ").to_lowercase();
        words.iter().all(|word| text.contains(word))
    }
}

/// Puts the values of a document in the places where it refers to them.
struct References<'a> {
    document: &'a Value,
    /// The references that lead to the value.
    open: Vec<String>,
    /// The number of values that may still be put in: a small document can refer to itself very often.
    left: usize,
}

impl<'a> References<'a> {
    /// The maximum number of references that lead to a value.
    const MOST_DEEP: usize = 8;

    fn resolved(&mut self, value: &Value) -> Value {
        self.left = self.left.saturating_sub(1);
        match value {
            Value::Array(items) => items.iter().map(|item| self.resolved(item)).collect(),
            Value::Object(members) => match self.target(members) {
                Some((reference, target)) => {
                    self.open.push(reference);
                    let resolved = self.resolved(target);
                    self.open.pop();
                    resolved
                }
                None => {
                    let resolved = |(name, value): (&String, &Value)| (name.clone(), self.resolved(value));
                    Value::Object(members.iter().map(resolved).collect())
                }
            },
            value => value.clone(),
        }
    }

    /// Returns the value that an object refers to. One that refers to itself, or to another document, stays.
    fn target(&self, members: &Map<String, Value>) -> Option<(String, &'a Value)> {
        let reference = members.get("$ref")?.as_str()?;
        let has_room = self.open.len() < Self::MOST_DEEP && self.left > 0;
        let target = self.document.pointer(reference.strip_prefix('#')?)?;
        (has_room && !self.open.iter().any(|open| open == reference)).then(|| (reference.to_owned(), target))
    }
}

#[cfg(test)]
mod tests {
    use superstep_nodes::tool::ToolRegistry;

    use super::*;
    use crate::session::Session;

    fn session(document: &Value) -> Session {
        let tool = DescribeApi::new(Workspace::of_session()).document("api.json");
        let files = [("api.json", &*document.to_string()), ("api.yaml", "openapi: 3.1.0\n")];
        Session::of(ToolRegistry::new().with(tool).unwrap(), &files)
    }

    fn pets() -> Value {
        json!({
            "openapi": "3.1.0", "info": { "title": "Pets", "version": "7" }, "servers": [{ "url": "https://api.example.org" }],
            "paths": {
                "/pets": { "get": { "summary": "List all pets" }, "post": {
                    "operationId": "addPet",
                    "requestBody": { "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Pet" } } } },
                } },
                "/pets/{id}": { "parameters": [{ "name": "id" }], "delete": { "tags": ["admin"] } },
            },
            "components": { "schemas": { "Pet": { "type": "object", "properties": {
                "name": { "type": "string" }, "parent": { "$ref": "#/components/schemas/Pet" } } } } },
        })
    }

    #[tokio::test]
    async fn s2_178_operations_are_listed_and_found_by_words() {
        let session = session(&pets());
        assert_eq!(
            session.done("describe_api", json!({})).await,
            "Pets 7\nserver: https://api.example.org\nGET /pets List all pets\nPOST /pets addPet\nDELETE /pets/{id}\n[3 operations]\n"
        );
        let found = session.done("describe_api", json!({ "search": "PETS admin" })).await;
        assert!(found.ends_with("DELETE /pets/{id}\n[1 operations]\n") && !found.contains("GET"), "{found}");
    }

    #[tokio::test]
    async fn s2_178_182_an_operation_is_shown_with_its_schemas_and_one_that_contains_itself_ends() {
        let session = session(&pets());
        let shown = session.done("describe_api", json!({ "operation": "post  /pets" })).await;
        let (line, body) = shown.split_once('\n').unwrap();
        let schema = "/requestBody/content/application~1json/schema/properties";
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(line, "POST /pets addPet");
        assert_eq!(body.pointer(schema).unwrap()["name"], json!({ "type": "string" }));
        assert_eq!(body.pointer(schema).unwrap()["parent"], json!({ "$ref": "#/components/schemas/Pet" }));
        let shown = session.done("describe_api", json!({ "operation": "DELETE /pets/{id}" })).await;
        assert!(shown.contains("\"parameters of the path\""), "{shown}");
        let (_, said) = session.refused("describe_api", json!({ "operation": "PUT /pets" })).await;
        assert!(said.ends_with("there is no operation `PUT /pets`: GET /pets, POST /pets"), "{said}");
    }

    #[tokio::test]
    async fn what_is_no_document_says_so() {
        let (_, said) = session(&pets()).refused("describe_api", json!({ "path": "api.yaml" })).await;
        assert!(
            said.contains("is not JSON") && said.ends_with("in YAML has to be converted first"),
            "{said}"
        );
        let (_, said) = session(&json!({})).refused("describe_api", json!({})).await;
        assert!(said.ends_with("it has no object `paths`"), "{said}");
    }

    /// A schema of 8 levels that each name the next ten times would have 100 million values.
    #[tokio::test]
    async fn a_document_that_unfolds_without_end_is_shown_in_part() {
        let level = |n: usize| {
            let next = json!({ "$ref": format!("#/s/{}", n + 1) });
            (n.to_string(), (0..10).map(|m| (m.to_string(), next.clone())).collect::<Map<_, _>>().into())
        };
        let levels: Map<String, Value> = (0..20).map(level).collect();
        let document = json!({ "paths": { "/a": { "get": { "x": { "$ref": "#/s/0" } } } }, "s": levels });
        let shown = session(&document).done("describe_api", json!({ "operation": "GET /a" })).await;
        assert!(shown.len() < 41_000, "{}", shown.len());
    }
}
