//! The OpenAPI document, built from the table of endpoints.

use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::api::{Endpoint, Gives};

/// The schemas of the objects that requests and responses have.
const SCHEMAS: &str = include_str!("schemas.json");

/// Returns the document of these endpoints.
pub(crate) fn document(endpoints: &[Endpoint]) -> Value {
    let mut schemas: Map<String, Value> =
        serde_json::from_str(SCHEMAS).expect("the schemas are a JSON text of this crate");
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in endpoints {
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        let selects = selects(endpoint, &schemas);
        path[endpoint.method] = operation(endpoint, selects);
        if let (Gives::One(name) | Gives::Many(name), true) = (endpoint.gives, selects) {
            let mut part = schemas[name].clone();
            part["required"] = json!([]);
            schemas.insert(part_of(name), part);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Superstep", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "key": { "type": "apiKey", "in": "header", "name": "x-api-key" },
                "bearer": { "type": "http", "scheme": "bearer" },
            },
        },
        "security": [{}, { "key": [] }, { "bearer": [] }],
    })
}

/// Returns a page that lists these endpoints.
pub(crate) fn page(endpoints: &[Endpoint]) -> String {
    let mut page = String::from(
        "<!doctype html><meta charset=\"utf-8\"><title>Superstep</title><h1>Endpoints</h1>\
         <p>Schemas: <a href=\"/openapi.json\">openapi.json</a></p><table>",
    );
    for Endpoint { method, path, summary, .. } in endpoints {
        let method = method.to_uppercase();
        write!(page, "<tr><td><code>{method}</code><td><code>{path}</code><td>{summary}")
            .expect("a String takes every text");
    }
    page.push_str("</table>");
    page
}

/// Returns `true` if requests may name the members that they get.
fn selects(endpoint: &Endpoint, schemas: &Map<String, Value>) -> bool {
    let in_body = |name: &str| schemas[name].pointer("/properties/select").is_some();
    endpoint.query.contains(&"select") || endpoint.takes.is_some_and(in_body)
}

/// Returns the name of the schema without required members.
fn part_of(schema: &str) -> String {
    format!("{schema}Part")
}

fn operation(endpoint: &Endpoint, selects: bool) -> Value {
    let in_path = parameters_of(endpoint.path)
        .map(|name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }));
    let in_query = endpoint.query.iter().map(
        |name| json!({ "name": name, "in": "query", "required": false, "schema": { "type": "string" } }),
    );
    let mut responses: Map<String, Value> = Map::new();
    for gives in [endpoint.gives].iter().chain(endpoint.also) {
        let (status, response) = response(*gives, selects);
        responses.insert(status.to_string(), response);
    }
    let error = content("application/json", reference("Error"));
    responses.insert("default".to_owned(), json!({ "description": "An error.", "content": error }));
    let mut operation = json!({
        "operationId": operation_id(endpoint),
        "summary": endpoint.summary,
        "parameters": in_path.chain(in_query).collect::<Vec<_>>(),
        "responses": responses,
    });
    if let Some(schema) = endpoint.takes {
        let body = json!({ "required": true, "content": content("application/json", reference(schema)) });
        operation["requestBody"] = body;
    }
    operation
}

/// Returns the names in braces of a path.
fn parameters_of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}

fn operation_id(endpoint: &Endpoint) -> String {
    let words = endpoint.path.split(['/', '.', '-']).filter(|word| !word.is_empty());
    let words = words.map(|word| word.trim_matches(['{', '}']));
    [endpoint.method].into_iter().chain(words).collect::<Vec<_>>().join("_")
}

/// Returns a response with its status.
fn response(gives: Gives, selects: bool) -> (u16, Value) {
    let json = |schema: Value| {
        (200, json!({ "description": "Success.", "content": content("application/json", schema) }))
    };
    let text = |kind: &str| {
        (200, json!({ "description": "Success.", "content": content(kind, json!({ "type": "string" })) }))
    };
    let object = |schema: &str| reference(&if selects { part_of(schema) } else { schema.to_owned() });
    match gives {
        Gives::One(schema) => json(object(schema)),
        Gives::Many(schema) => json(json!({ "type": "array", "items": object(schema) })),
        Gives::Json => json(json!({})),
        Gives::Events => text("text/event-stream"),
        Gives::Text(kind) => text(kind),
        Gives::Error(status, schema) => {
            let content = content("application/json", reference(schema));
            (status, json!({ "description": "An error.", "content": content }))
        }
        Gives::Nothing(status) => (status, json!({ "description": "Success, without a body." })),
    }
}

fn content(kind: &str, schema: Value) -> Value {
    json!({ kind: { "schema": schema } })
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::api::endpoints;

    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(name)) = members.get("$ref") {
                    found.insert(name.trim_start_matches("#/components/schemas/").to_owned());
                }
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn the_document_has_every_endpoint_once_and_nothing_else() {
        let endpoints = endpoints();
        let table: BTreeSet<_> =
            endpoints.iter().map(|endpoint| (endpoint.path.to_owned(), endpoint.method.to_owned())).collect();
        assert_eq!(table.len(), endpoints.len());
        let document = document(&endpoints);
        let paths = document["paths"].as_object().unwrap().iter();
        let documented: BTreeSet<_> = paths
            .flat_map(|(path, methods)| {
                methods.as_object().unwrap().keys().map(|method| (path.clone(), method.clone()))
            })
            .collect();
        assert_eq!(documented, table);
        let ids: BTreeSet<_> = endpoints.iter().map(operation_id).collect();
        assert_eq!(ids.len(), endpoints.len());
    }

    #[test]
    fn every_reference_names_a_schema_and_every_schema_is_used() {
        let document = document(&endpoints());
        let mut used = BTreeSet::new();
        references(&document, &mut used);
        let schemas = document["components"]["schemas"].as_object().unwrap();
        assert_eq!(used, schemas.keys().cloned().collect());
    }

    /// Returns the endpoints in the first column of the table of `docs/serving.md`: methods and a path.
    fn documented() -> Option<BTreeSet<(String, String)>> {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/serving.md");
        // A package outside of the workspace has no documentation.
        let page = std::fs::read_to_string(page).ok()?;
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let endpoints = rows.filter_map(|(endpoint, _)| endpoint.rsplit_once(' '));
        let endpoints = endpoints.filter(|(_, path)| path.starts_with('/'));
        Some(
            endpoints
                .flat_map(|(methods, path)| {
                    methods.split(' ').map(move |method| (path.to_owned(), method.to_owned()))
                })
                .collect(),
        )
    }

    #[test]
    fn the_table_of_the_documentation_has_every_endpoint_and_nothing_else() {
        let Some(documented) = documented() else { return };
        let table: BTreeSet<_> = endpoints()
            .iter()
            .map(|endpoint| (endpoint.path.to_owned(), endpoint.method.to_uppercase()))
            .collect();
        let missing: Vec<_> = table.difference(&documented).collect();
        let unknown: Vec<_> = documented.difference(&table).collect();
        assert!(missing.is_empty() && unknown.is_empty(), "missing: {missing:?}; unknown: {unknown:?}");
    }
}
