//! The OpenAPI document: its form, and that every response of these tests is as it says.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::api::endpoints;
use crate::api::openapi::document;

const EVENTS: &str = "text/event-stream";

/// The responses that the document describes.
pub(super) struct Contract {
    operations: HashMap<(String, String), HashMap<String, Described>>,
    error: Described,
}

/// A described response: its content types with their schemas; none for a response without a body.
type Described = HashMap<String, Validator>;

impl Contract {
    pub(super) fn new() -> Arc<Self> {
        let document = document(&endpoints());
        let components = &document["components"];
        let described = |response: &Value| -> Described {
            let content = response["content"].as_object().into_iter().flatten();
            content.map(|(kind, content)| (kind.clone(), validator(&content["schema"], components))).collect()
        };
        let mut operations = HashMap::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let responses = operation["responses"].as_object().unwrap().iter();
                let responses = responses.map(|(status, response)| (status.clone(), described(response)));
                operations.insert((path.clone(), method.to_uppercase()), responses.collect());
            }
        }
        let error = json!({ "$ref": "#/components/schemas/Error" });
        let error = HashMap::from([("application/json".to_owned(), validator(&error, components))]);
        Arc::new(Self { operations, error })
    }

    /// Returns the responses of the endpoint that the router chooses: names win over parameters.
    fn responses(&self, method: &str, path: &str) -> Option<&HashMap<String, Described>> {
        let fits = |template: &str| {
            let mut parts = template.split('/').zip(path.split('/'));
            template.split('/').count() == path.split('/').count()
                && parts.all(|(named, part)| named == part || named.starts_with('{'))
        };
        let all = self.operations.iter().filter(|((template, known), _)| known == method && fits(template));
        all.min_by_key(|((template, _), _)| template.matches('{').count()).map(|(_, responses)| responses)
    }

    /// Checks a response to a request for a path.
    ///
    /// # Panics
    /// Panics if the document does not describe the response.
    pub(super) fn check(&self, method: &str, path: &str, status: u16, kind: &str, body: &[u8]) {
        let name = format!("{method} {path} → {status} {kind}");
        let described = match self.responses(method, path).and_then(|all| all.get(&status.to_string())) {
            Some(described) => described,
            None => {
                assert!(status >= 400, "{name}: the document has no such response");
                &self.error
            }
        };
        let text = String::from_utf8_lossy(body);
        if described.is_empty() {
            return assert_eq!(text, "", "{name}: the document has no body");
        }
        let bare = kind.split(';').next().unwrap_or_default();
        let described = described.iter().find(|(known, _)| known.split(';').next() == Some(bare));
        let (_, schema) = described.unwrap_or_else(|| panic!("{name}: the document has no such content"));
        if bare == "application/json" {
            let value: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{name}: {text}"));
            let errors: Vec<_> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{name}: {errors:?} in {text}");
        }
    }
}

fn validator(schema: &Value, components: &Value) -> Validator {
    let mut schema = schema.clone();
    schema["components"] = components.clone();
    jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
}

/// Adds a layer that checks every response.
pub(super) fn checked(router: Router) -> Router {
    checked_by(router, &Contract::new())
}

/// Adds a layer that checks every response, for tests with many routers.
pub(super) fn checked_by(router: Router, contract: &Arc<Contract>) -> Router {
    router.layer(from_fn_with_state(Arc::clone(contract), check))
}

async fn check(State(contract): State<Arc<Contract>>, request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = next.run(request).await;
    // A browser's question is answered for all paths, and no document describes it.
    if method == Method::OPTIONS {
        return response;
    }
    let (parts, body) = response.into_parts();
    let kind = parts.headers.get(CONTENT_TYPE).map(|kind| kind.to_str().unwrap().to_owned());
    let kind = kind.unwrap_or_default();
    let (body, bytes) = match kind.starts_with(EVENTS) {
        true => (body, Bytes::new()),
        false => {
            let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            (Body::from(bytes.clone()), bytes)
        }
    };
    contract.check(method.as_str(), &path, parts.status.as_u16(), &kind, &bytes);
    Response::from_parts(parts, body)
}

/// The parts of OpenAPI 3.1 that the document uses, closed: another member is an error.
fn form() -> Value {
    let named = |schema: &str| json!({ "type": "object", "additionalProperties": { "$ref": schema } });
    let object = |required: &[&str], members: Value| {
        json!({
            "type": "object", "required": required, "properties": members, "additionalProperties": false,
        })
    };
    let text = json!({ "type": "string", "minLength": 1 });
    let media = object(&["schema"], json!({ "schema": { "$ref": "#/$defs/schema" } }));
    let response =
        object(&["description"], json!({ "description": text, "content": named("#/$defs/media") }));
    let parameter = object(
        &["name", "in", "required", "schema"],
        json!({
            "name": text, "in": { "enum": ["path", "query"] }, "required": { "type": "boolean" },
            "schema": { "$ref": "#/$defs/schema" },
        }),
    );
    let operation = object(
        &["operationId", "summary", "parameters", "responses"],
        json!({
            "operationId": { "type": "string", "pattern": "^[a-z0-9_]+$" },
            "summary": text,
            "parameters": { "type": "array", "uniqueItems": true, "items": parameter },
            "requestBody": object(
                &["required", "content"],
                json!({ "required": { "const": true }, "content": named("#/$defs/media") }),
            ),
            "responses": {
                "type": "object", "required": ["default"],
                "patternProperties": { "^([1-5][0-9][0-9]|default)$": response }, "additionalProperties": false,
            },
        }),
    );
    let path = json!({
        "type": "object", "minProperties": 1, "additionalProperties": false,
        "patternProperties": { "^(get|put|post|delete|patch)$": operation },
    });
    let scheme = json!({ "enum": [
        { "type": "apiKey", "in": "header", "name": "x-api-key" }, { "type": "http", "scheme": "bearer" },
    ] });
    let security = json!({ "type": "object", "propertyNames": { "enum": ["key", "bearer"] }, "additionalProperties": { "const": [] } });
    let mut form = object(
        &["openapi", "info", "paths", "components", "security"],
        json!({
            "openapi": { "type": "string", "pattern": r"^3\.1\.[0-9]+$" },
            "info": object(&["title", "version"], json!({ "title": text, "version": text })),
            "paths": { "type": "object", "patternProperties": { "^/": path }, "additionalProperties": false },
            "components": object(&[], json!({
                "schemas": {
                    "type": "object", "propertyNames": { "pattern": r"^[a-zA-Z0-9._-]+$" },
                    "additionalProperties": { "$ref": "#/$defs/schema" },
                },
                "securitySchemes": { "type": "object", "additionalProperties": scheme },
            })),
            "security": { "type": "array", "items": security },
        }),
    );
    form["$defs"] =
        json!({ "media": media, "schema": { "$ref": "https://json-schema.org/draft/2020-12/schema" } });
    form
}

#[test]
fn the_document_has_the_form_of_openapi_3_1() {
    let document = document(&endpoints());
    let form = jsonschema::validator_for(&form()).unwrap();
    let errors = |document: &Value| -> Vec<String> {
        form.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect()
    };
    assert_eq!(errors(&document), Vec::<String>::new());
    for (place, value) in [
        ("/openapi", json!("3.0.0")),
        ("/paths/~1ok/get/responses", json!({})),
        ("/paths/~1ok/get/tags", json!("none")),
        ("/components/schemas/Run/type", json!("objekt")),
    ] {
        let mut broken = document.clone();
        let (parent, member) = place.rsplit_once('/').unwrap();
        broken.pointer_mut(parent).unwrap()[member] = value;
        assert!(!errors(&broken).is_empty(), "{place}");
    }
}

#[test]
fn every_parameter_of_a_path_is_described() {
    for (path, methods) in document(&endpoints())["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().unwrap().iter();
            let in_path = parameters.filter(|parameter| parameter["in"] == "path");
            let described: Vec<_> = in_path.map(|parameter| parameter["name"].as_str().unwrap()).collect();
            let named = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
            assert_eq!(described, named.collect::<Vec<_>>(), "{method} {path}");
        }
    }
}

#[test]
#[should_panic(expected = "is a required property")]
fn a_response_that_the_document_does_not_describe_fails_its_test() {
    Contract::new().check("GET", "/ok", 404, "application/json", b"{}");
}
