//! Errors of providers, and what becomes of them.

use std::time::Duration;

use crate::{Anthropic, OpenAiResponses};
use superstep_nodes::model::ModelError;
use superstep_testkit::{MockServer, Reply, Stop};

use super::clients::{Way, question};

async fn errors_of(way: Way, replies: impl IntoIterator<Item = Reply>) -> Vec<ModelError> {
    let server = MockServer::start().await.expect("a port on loopback");
    let client = way.client(&server);
    let mut errors = Vec::new();
    for reply in replies {
        server.reply(reply);
        errors.push(client.complete(question()).await.expect_err("the server refuses"));
    }
    errors
}

/// The name of an error's variant.
fn name(error: &ModelError) -> String {
    format!("{error:?}").split([' ', '{']).next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn each_status_is_the_error_that_says_what_to_do() {
    let error = |status, kind: &str| Reply::error(status, kind, "It went wrong.");
    let cases = [
        (error(400, "invalid_request_error"), "InvalidRequest"),
        (error(401, "authentication_error"), "Unauthorized"),
        (error(403, "permission_error"), "Unauthorized"),
        (error(404, "not_found_error"), "InvalidRequest"),
        (error(408, "timeout_error"), "ServerFailed"),
        (error(409, "conflict_error"), "ServerFailed"),
        (error(422, "invalid_request_error"), "InvalidRequest"),
        (error(502, "api_error"), "ServerFailed"),
        (error(504, "timeout_error"), "ServerFailed"),
        (error(529, "overloaded_error"), "Overloaded"),
        (error(200, "server_error"), "ServerFailed"),
        (error(429, "rate_limit_error").header("x-should-retry", "false"), "OutOfCredit"),
        (Reply::overloaded(), "Overloaded"),
        (Reply::rate_limited(Duration::from_secs(7)), "RateLimited"),
        (Reply::out_of_credit(), "OutOfCredit"),
        (Reply::server_error(), "ServerFailed"),
        (Reply::too_large(), "RequestTooLong"),
        (Reply::context_overflow(200_251, 200_000), "RequestTooLong"),
        (Reply::llama_context_overflow(18_098, 4_096), "RequestTooLong"),
        (Reply::bytes(502, "text/html", "<html>Bad gateway</html>"), "ServerFailed"),
        (Reply::bytes(200, "text/html", "<html>Sign in</html>"), "ServerFailed"),
        (Reply::text("half").error_after(3, "overloaded_error", "Overloaded"), "Overloaded"),
        (Reply::text("half").error_after(3, "server_error", "It failed."), "ServerFailed"),
        (
            Reply::text("half").stop(Stop::Failed { code: "server_error".into(), message: "No.".into() }),
            "ServerFailed",
        ),
    ];
    for way in Way::ALL {
        let errors = errors_of(way, cases.iter().map(|(reply, _)| reply.clone())).await;
        for ((reply, expected), error) in cases.iter().zip(errors) {
            assert_eq!(name(&error), *expected, "{way:?} {reply:?}: {error}");
        }
    }
}

#[tokio::test]
async fn the_wait_and_the_limit_are_reported() {
    for way in Way::ALL {
        let replies =
            [Reply::rate_limited(Duration::from_secs(7)), Reply::llama_context_overflow(18_098, 4_096)];
        let mut errors = errors_of(way, replies).await;
        let (long, limited) = (errors.pop().unwrap(), errors.pop().unwrap());
        assert_eq!(limited.retry_after(), Some(Duration::from_secs(7)), "{way:?}");
        let ModelError::RequestTooLong { tokens, limit, .. } = long else { panic!("{way:?}: {long}") };
        assert_eq!((tokens, limit), (Some(18_098), Some(4_096)), "{way:?}");
    }
}

#[tokio::test]
async fn tokens_are_counted_by_the_provider() {
    let server = MockServer::start().await.unwrap();
    let anthropic = Anthropic::new("claude-test-1", MockServer::KEY).unwrap().base_url(server.url()).unwrap();
    assert!(anthropic.count_tokens(&question()).await.unwrap() > 0);
    let openai = OpenAiResponses::new("gpt-test-1", MockServer::KEY).unwrap();
    let openai = openai.base_url(server.openai_url()).unwrap();
    assert!(openai.count_tokens(&question()).await.unwrap() > 0);
    assert_eq!(server.errors(), []);
}
