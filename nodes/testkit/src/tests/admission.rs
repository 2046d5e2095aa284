//! Authentication of clients, and the errors for those without.

use crate::anthropic::ThinkingForm;
use crate::{Endpoint, MockServer};
use serde_json::{Value, json};

use super::client::{ask, headers, question, send, server};

#[test]
fn without_the_right_key_every_request_is_refused() {
    let server = MockServer::builder().key("right").start_in_thread().unwrap();
    for (endpoint, wrong, missing, kind) in [
        (Endpoint::Messages, "invalid x-api-key", "x-api-key header is required", "authentication_error"),
        (
            Endpoint::ChatCompletions,
            "Incorrect API key provided.",
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer \
             auth (i.e. Authorization: Bearer YOUR_KEY).",
            "invalid_request_error",
        ),
    ] {
        let body = question(endpoint).to_string();
        let keyless: Vec<_> =
            headers(endpoint, "").into_iter().filter(|(name, _)| name.contains("version")).collect();
        for (headers, said) in [(headers(endpoint, "wrong"), wrong), (keyless, missing)] {
            let answer = send(&server, "POST", endpoint.path(), &headers, body.as_bytes());
            assert_eq!(answer.status, 401);
            assert_eq!(answer.json()["error"]["message"], said);
            assert_eq!(answer.json()["error"]["type"], kind);
        }
        server.reply("Hello.");
        let answer = send(&server, "POST", endpoint.path(), &headers(endpoint, "right"), body.as_bytes());
        assert_eq!(answer.status, 200);
    }
}

#[test]
fn a_server_may_take_any_key() {
    let server = MockServer::builder().any_key().start_in_thread().unwrap();
    server.reply("Hello.");
    let body = question(Endpoint::ChatCompletions).to_string();
    assert_eq!(send(&server, "POST", "/v1/chat/completions", &[], body.as_bytes()).status, 200);
}

#[test]
fn anthropic_wants_to_know_the_version() {
    let server = server();
    let key = [("x-api-key", MockServer::KEY.to_owned())];
    let answer =
        send(&server, "POST", "/v1/messages", &key, question(Endpoint::Messages).to_string().as_bytes());
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["message"], "anthropic-version: header is required");
}

#[test]
fn errors_have_the_envelope_of_the_vendor_and_the_id_of_the_request() {
    let server = server();
    let answer = ask(&server, Endpoint::Messages, &json!({}));
    let id = answer.header("request-id").unwrap();
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let told = json!({"type": "invalid_request_error", "message": "max_tokens: Field required"});
    assert_eq!(answer.json(), json!({"type": "error", "error": told, "request_id": id}));

    let answer = ask(&server, Endpoint::Responses, &json!({}));
    assert!(answer.header("x-request-id").is_some_and(|other| other != id));
    let told = json!({
        "message": "Missing required parameter: 'model'.",
        "type": "invalid_request_error",
        "param": "model",
        "code": "missing_required_parameter",
    });
    assert_eq!(answer.json(), json!({"error": told}));
}

#[test]
fn there_is_nothing_at_other_paths_and_with_other_methods() {
    let server = server();
    for (method, path, status, said) in [
        ("POST", "/v1/complete", 404, "Invalid URL (POST /v1/complete)"),
        ("POST", "/messages", 404, "Invalid URL (POST /messages)"),
        ("POST", "/v1/messages/batches", 404, "Not Found"),
        ("GET", "/v1/messages", 405, "Method Not Allowed"),
        (
            "PUT",
            "/v1/responses",
            405,
            "Not allowed to PUT on /v1/responses. (HINT: Perhaps you meant to use a different HTTP method?)",
        ),
    ] {
        let answer = send(&server, method, path, &[], b"");
        assert_eq!((answer.status, &answer.json()["error"]["message"]), (status, &json!(said)));
    }
    let answer = ask(&server, Endpoint::Messages, &Value::Null);
    assert_eq!(answer.json()["error"]["message"], "Input should be an object");
}

#[test]
fn a_body_that_is_no_json_is_refused() {
    let server = server();
    for (endpoint, said) in [
        (Endpoint::Messages, "The request body is not valid JSON: expected value at line 1 column 1"),
        (Endpoint::ChatCompletions, "We could not parse the JSON body of your request."),
    ] {
        let answer =
            send(&server, "POST", endpoint.path(), &headers(endpoint, MockServer::KEY), b"model=claude");
        assert_eq!(answer.status, 400);
        assert!(answer.json()["error"]["message"].as_str().unwrap().starts_with(said));
    }
    let received = server.received();
    assert_eq!((received[0].json(), received[0].bytes()), (&Value::Null, &b"model=claude"[..]));
}

#[test]
fn what_was_refused_takes_no_reply() {
    let server = server();
    server.reply("Hello.");
    assert_eq!(ask(&server, Endpoint::Messages, &json!({})).status, 400);
    assert_eq!(server.replies_left(), 1);
    assert_eq!(ask(&server, Endpoint::Messages, &question(Endpoint::Messages)).status, 200);
    assert_eq!(server.replies_left(), 0);
    assert_eq!(server.errors().len(), 1);
}

#[test]
fn a_server_may_take_any_request() {
    let server = MockServer::builder().any_request().start_in_thread().unwrap();
    server.reply("Hello.");
    assert_eq!(ask(&server, Endpoint::ChatCompletions, &json!({"top_k": 3})).status, 200);
}

#[test]
fn a_model_may_want_to_be_told_in_one_form_to_think() {
    for (form, taken, refused, said) in [
        (
            ThinkingForm::Adaptive,
            json!({"type": "adaptive"}),
            json!({"type": "enabled", "budget_tokens": 1024}),
            "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \
             \"output_config.effort\" to control thinking behavior.",
        ),
        (
            ThinkingForm::Budget,
            json!({"type": "enabled", "budget_tokens": 1024}),
            json!({"type": "adaptive"}),
            "adaptive thinking is not supported on this model",
        ),
    ] {
        let server = MockServer::builder().thinking_form(form).start_in_thread().unwrap();
        server.reply("Hello.").reply("Hello.");
        let with = |thinking: Value| {
            let mut request = question(Endpoint::Messages);
            request["max_tokens"] = json!(2048);
            request["thinking"] = thinking;
            ask(&server, Endpoint::Messages, &request)
        };
        assert_eq!(with(taken).status, 200);
        assert_eq!(with(json!({"type": "disabled"})).status, 200);
        let answer = with(refused);
        assert_eq!((answer.status, &answer.json()["error"]["message"]), (400, &json!(said)));
    }
}

#[test]
fn the_query_of_a_path_does_not_matter() {
    let server = server();
    server.reply("Hello.");
    let headers = headers(Endpoint::Messages, MockServer::KEY);
    let body = question(Endpoint::Messages).to_string();
    assert_eq!(send(&server, "POST", "/v1/messages?beta=true", &headers, body.as_bytes()).status, 200);
    assert_eq!(server.received()[0].path(), "/v1/messages");
}

#[test]
fn keys_are_not_shown() {
    let server = MockServer::builder().key("top-secret").start_in_thread().unwrap();
    server.reply("Hello.").reply("Hello.");
    for endpoint in [Endpoint::Messages, Endpoint::ChatCompletions] {
        let body = question(endpoint).to_string();
        send(&server, "POST", endpoint.path(), &headers(endpoint, "top-secret"), body.as_bytes());
    }
    let shown = format!("{server:?} {:?} {:?}", server.received(), MockServer::builder().key("top-secret"));
    assert!(!shown.contains("top-secret"), "{shown}");
    assert_eq!(server.received()[0].header("X-Api-Key"), Some("top-secret"));
}
