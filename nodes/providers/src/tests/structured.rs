//! Values of a type, asked of the models of all providers.

use schemars::JsonSchema;
use serde::Deserialize;
use superstep_nodes::model::{ChatModelExt, StructuredError};
use superstep_testkit::{MockServer, Reply};

use super::clients::{Way, question};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Term {
    term: String,
    /// In a sentence.
    meaning: String,
    synonyms: Vec<String>,
    since: Option<u16>,
}

const TERM: &str =
    r#"{ "term": "superstep", "meaning": "A round of tasks.", "synonyms": [], "since": 1990 }"#;

#[tokio::test]
async fn each_provider_takes_the_form_and_the_correction_and_gives_a_value() {
    for way in Way::ALL {
        let server = MockServer::start().await.expect("a port on loopback");
        server.reply(Reply::text("It is a round of tasks."));
        server.reply(Reply::text(TERM));
        let given =
            way.client(&server).structured::<Term>(question()).await.expect("the second reply is one");
        assert_eq!(
            (given.value.term.as_str(), given.value.since, given.attempts),
            ("superstep", Some(1_990), 2)
        );
        assert_eq!(server.errors(), [], "{way:?}");
        let bodies: Vec<_> = server.received().iter().map(|request| request.json().to_string()).collect();
        assert!(
            bodies.iter().all(|body| body.contains("json_schema") && body.contains("synonyms")),
            "{way:?}"
        );
        assert!(
            !bodies[0].contains("That cannot be used") && bodies[1].contains("That cannot be used"),
            "{way:?}"
        );
    }
}

#[tokio::test]
async fn the_error_has_the_last_reply() {
    let server = MockServer::start().await.expect("a port on loopback");
    server.reply(Reply::text("A round."));
    server.reply(Reply::text("A round of tasks."));
    let error =
        Way::Chat.client(&server).structured::<Term>(question()).await.expect_err("neither is a value");
    let StructuredError::Reply { last, attempts, .. } = error else { panic!("{error}") };
    assert_eq!((last.text().as_ref(), attempts), ("A round of tasks.", 2));
}
