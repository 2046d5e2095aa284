use reqwest::header::{HeaderName, HeaderValue};
use serde_json::json;

use super::*;

fn error_of(status: u16, headers: &[(&'static str, &'static str)], body: &Value) -> ModelError {
    let pairs =
        headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
    let status = StatusCode::from_u16(status).unwrap();
    HttpError::of_answer(status, &pairs.collect(), &body.to_string()).into_error(Some(&"sk-secret".into()))
}

fn anthropic(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_1" })
}

fn openai(code: &str, kind: &str, message: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

/// The name of an error's variant.
fn name(error: &ModelError) -> String {
    format!("{error:?}").split([' ', '{']).next().unwrap_or_default().to_owned()
}

#[test]
fn each_answer_is_the_error_that_says_what_to_do() {
    let cases = [
        (400, anthropic("invalid_request_error", "messages: wrong"), "InvalidRequest"),
        (400, anthropic("invalid_request_error", "Your credit balance is too low"), "OutOfCredit"),
        (
            400,
            anthropic("invalid_request_error", "messages.0.content.1: image exceeds 5 MB maximum"),
            "ImageRefused",
        ),
        (400, anthropic("invalid_request_error", "Could not process image"), "ImageRefused"),
        (401, anthropic("authentication_error", "invalid x-api-key"), "Unauthorized"),
        (402, anthropic("billing_error", "pay"), "OutOfCredit"),
        (403, anthropic("permission_error", "no"), "Unauthorized"),
        (404, anthropic("not_found_error", "model: nope"), "InvalidRequest"),
        (409, anthropic("conflict_error", "again"), "ServerFailed"),
        (413, anthropic("request_too_large", "big"), "RequestTooLong"),
        (429, anthropic("rate_limit_error", "slow"), "RateLimited"),
        (500, anthropic("api_error", "oops"), "ServerFailed"),
        (504, anthropic("timeout_error", "late"), "ServerFailed"),
        (529, anthropic("overloaded_error", "Overloaded"), "Overloaded"),
        (401, openai("invalid_api_key", "invalid_request_error", "wrong key"), "Unauthorized"),
        (400, openai("context_length_exceeded", "invalid_request_error", "long"), "RequestTooLong"),
        (400, openai("invalid_image_format", "invalid_request_error", "not a picture"), "ImageRefused"),
        (500, openai("image_generation_failed", "server_error", "oops"), "ServerFailed"),
        (429, openai("rate_limit_exceeded", "requests", "slow"), "RateLimited"),
        (429, openai("slow_down", "requests", "slow"), "RateLimited"),
        (429, openai("insufficient_quota", "insufficient_quota", "pay"), "OutOfCredit"),
        (429, openai("project_spend_limit_exceeded", "billing", "pay"), "OutOfCredit"),
        (503, openai("server_is_overloaded", "service_unavailable_error", "busy"), "Overloaded"),
        (503, json!({ "error": { "message": "The engine is currently overloaded" } }), "Overloaded"),
        (503, json!({ "error": "loading" }), "ServerFailed"),
        (422, json!({ "detail": "no such field" }), "InvalidRequest"),
        (
            400,
            json!({ "object": "error", "message": "bad", "type": "BadRequestError", "code": 400 }),
            "InvalidRequest",
        ),
    ];
    for (status, body, expected) in cases {
        assert_eq!(name(&error_of(status, &[], &body)), expected, "{status} {body}");
    }
}

#[test]
fn what_is_too_long_says_by_how_much() {
    let said = [
        anthropic("invalid_request_error", "prompt is too long: 200251 tokens > 200000 maximum"),
        openai(
            "context_length_exceeded",
            "invalid_request_error",
            "Input tokens exceed the configured limit of 200000 tokens. Your messages resulted in 200251 tokens.",
        ),
        json!({ "error": { "code": 400, "message": "request (200251 tokens) exceeds the available context size (200000 tokens)",
            "type": "exceed_context_size_error", "n_prompt_tokens": 200_251, "n_ctx": 200_000 } }),
    ];
    for body in said {
        let error = error_of(400, &[], &body);
        let ModelError::RequestTooLong { tokens, limit, .. } = error else { panic!("{error:?}") };
        assert_eq!((tokens, limit), (Some(200_251), Some(200_000)), "{body}");
    }
}

/// The flat form of vLLM's errors, and its newer one with an object.
#[test]
fn the_overflow_of_each_compatible_server_is_reported_in_whatever_form_its_error_has() {
    let old = "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the \
               messages, 10000 in the completion). Please reduce the length of the messages or completion.";
    let new = "You passed 122946 input tokens and requested 0 output tokens. However, the model's context length is only \
               16384 tokens, resulting in a maximum input length of 16384 tokens. Please reduce the length of the input \
               prompt.";
    let lm_studio = "Trying to keep the first 122946 tokens when context the overflows. However, the model is loaded with \
                     context length of only 16384 tokens, which is not enough.";
    let gemini = "The input token count (122946) exceeds the maximum number of tokens allowed (16384).";
    let said = [
        json!({ "object": "error", "message": old, "type": "BadRequestError", "param": null, "code": 400 }),
        json!({ "error": { "message": new, "type": "BadRequestError", "param": "input_tokens", "code": 400 } }),
        json!({ "error": lm_studio }),
        json!([{ "error": { "code": 400, "message": gemini, "status": "INVALID_ARGUMENT" } }]),
    ];
    for body in said {
        let error = error_of(400, &[], &body);
        let ModelError::RequestTooLong { tokens, limit, .. } = error else { panic!("{error:?}") };
        assert_eq!((tokens, limit), (Some(122_946), Some(16_384)), "{body}");
    }
}

/// Gemini's OpenAI-compatible endpoint and FastAPI wrap errors in lists: the message was lost, and "Bad Request" said.
#[test]
fn an_error_in_a_list_keeps_its_message() {
    let gemini =
        json!([{ "error": { "code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT" } }]);
    let fastapi = json!({ "detail": [{ "loc": ["body", "model"], "msg": "Field required" }, { "msg": "Extra field" }] });
    let listed = json!({ "error": [{ "message": "no such model", "code": "model_not_found" }] });
    let unknown = json!({ "reason": "no such form" });
    for (body, expected) in [
        (gemini, "the model refused the request: API key not valid. (400, status 400)"),
        (fastapi, "the model refused the request: Field required; Extra field (status 400)"),
        (listed, "the model refused the request: no such model (model_not_found, status 400)"),
        (unknown, r#"the model refused the request: {"reason":"no such form"} (status 400)"#),
    ] {
        assert_eq!(error_of(400, &[], &body).to_string(), expected);
    }
}

/// OpenAI sends the type `server_error` with it, which was looked at first: the wait was lost, and so was the fallback
/// that a program has for an overload.
#[test]
fn an_overloaded_engine_is_an_overload_with_its_wait_whatever_its_type() {
    let message = "The engine is currently overloaded, please try again later";
    let body =
        json!({ "error": { "message": message, "type": "server_error", "param": null, "code": null } });
    for status in [429, 500, 503] {
        let error = error_of(status, &[("retry-after", "7")], &body);
        assert_eq!(
            (name(&error), error.retry_after()),
            ("Overloaded".to_owned(), Some(Duration::from_secs(7)))
        );
    }
    assert_eq!(name(&HttpError::of_json(&body).into_error(None)), "Overloaded", "in the middle of a stream");
    let loading =
        json!({ "error": { "message": "Loading model", "type": "unavailable_error", "code": 503 } });
    assert_eq!(error_of(503, &[("retry-after", "7")], &loading).retry_after(), Some(Duration::from_secs(7)));
}

#[test]
fn the_reason_names_the_request_and_never_the_key() {
    let error =
        error_of(401, &[("request-id", "req_9")], &anthropic("authentication_error", "no: sk-secret"));
    assert_eq!(
        error.to_string(),
        "the model refused the credentials: no: [api key] (authentication_error, status 401, request req_9)"
    );
}

/// The message was cut before the key was looked for: one that the cut went through was shown but for its end.
#[test]
fn a_key_at_the_end_of_a_long_message_is_redacted_before_the_message_is_cut() {
    let key = ApiKey::new("sk-0123456789abcdef");
    for filler in 570..=600 {
        let said = format!("{} {}", "x".repeat(filler), key.expose());
        for body in [anthropic("authentication_error", &said).to_string(), said] {
            let error = HttpError::of_answer(StatusCode::UNAUTHORIZED, &HeaderMap::new(), &body);
            let shown = error.into_error(Some(&key)).to_string();
            assert!(!shown.contains("sk-0") && shown.len() < 750, "{filler}: {shown}");
        }
    }
}

/// A server of the user's own had the key `Uq5i`, and its request ids had a hole: `req-eShaPAj[api key]zElr`.
#[test]
fn a_short_key_leaves_the_request_id_whole() {
    let error = HttpError::of_json(&json!({
        "error": { "type": "authentication_error", "message": "wrong key: Uq5i" },
        "request_id": "req-eShaPAjUq5izElr",
    }));
    assert_eq!(
        error.into_error(Some(&ApiKey::new("Uq5i"))).to_string(),
        "the model refused the credentials: wrong key: [api key] (authentication_error, request req-eShaPAjUq5izElr)"
    );
}

#[test]
fn the_wait_that_a_provider_asks_for_is_kept() {
    let wait = |headers| error_of(429, headers, &anthropic("rate_limit_error", "slow")).retry_after();
    assert_eq!(wait(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
    assert_eq!(wait(&[("retry-after", "0.5")]), Some(Duration::from_millis(500)));
    assert_eq!(wait(&[("retry-after", "7"), ("retry-after-ms", "250")]), Some(Duration::from_millis(250)));
    assert_eq!(wait(&[("retry-after", "soon")]), None);
    assert_eq!(wait(&[("retry-after", "-1")]), None);
    assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]), None, "it is over");
    let later = wait(&[("retry-after", "Fri, 01 Jan 2100 00:00:00 GMT")]).unwrap();
    assert!(later > Duration::from_secs(1_000_000));
}

#[test]
fn the_provider_has_the_last_word_on_another_try() {
    let limited = anthropic("rate_limit_error", "slow");
    assert_eq!(name(&error_of(429, &[("x-should-retry", "false")], &limited)), "OutOfCredit");
    let failed = anthropic("api_error", "oops");
    for (status, body) in [(500, &failed), (529, &anthropic("overloaded_error", "busy")), (409, &failed)] {
        let error = error_of(status, &[("x-should-retry", "false")], body);
        assert_eq!((name(&error).as_str(), error.is_retryable()), ("NotRetryable", false), "{status}");
    }
    let wrong = anthropic("invalid_request_error", "wrong");
    let refused = anthropic("authentication_error", "the key is not known yet");
    for (status, body) in [(400, &wrong), (401, &refused)] {
        assert_eq!(name(&error_of(status, &[("x-should-retry", "true")], body)), "ServerFailed", "{status}");
    }
    let long = anthropic("invalid_request_error", "prompt is too long: 200251 tokens > 200000 maximum");
    assert_eq!(name(&error_of(400, &[("x-should-retry", "true")], &long)), "RequestTooLong");
}

#[test]
fn an_answer_that_is_no_json_is_shown_in_part() {
    let page = format!("<html>{}</html>", "x".repeat(5_000));
    let error = HttpError::of_answer(StatusCode::BAD_GATEWAY, &HeaderMap::new(), &page).into_error(None);
    let text = error.to_string();
    assert!(text.len() < 800 && text.contains("<html>") && text.ends_with("(status 502)"), "{text}");
    let empty = HttpError::of_answer(StatusCode::BAD_GATEWAY, &HeaderMap::new(), "").into_error(None);
    assert_eq!(empty.to_string(), "the model's provider failed: Bad Gateway (status 502)");
}
