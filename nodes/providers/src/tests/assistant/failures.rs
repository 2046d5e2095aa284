//! Failures of providers, from the socket to the exit.

use std::time::Duration;

use superstep_assistant::exit::{Exit, Transition};
use superstep_assistant::{AssistantConfig, AssistantState, TurnFailure, assistant};
use superstep_core::checkpoint::MemorySaver;
use superstep_nodes::message::Message;
use superstep_nodes::model::ModelError;
use superstep_testkit::{MockServer, Pacing, Reply, Stop};

use super::{PROTOCOLS, Watch, config, texts};
use crate::TransportOptions;
use crate::tests::clients::Way;

/// A run, and the number of requests for its steps.
struct Ran {
    state: AssistantState,
    steps: usize,
    errors: Vec<String>,
}

/// Runs a conversation that can be compacted.
async fn run(server: &MockServer, config: AssistantConfig) -> Ran {
    let watch = Watch::default();
    let graph = assistant(config).unwrap().checkpointer(MemorySaver::new()).observe(watch.clone());
    let earlier = (0..14).map(|n| Message::human(format!("m{n}"), "word ".repeat(300)));
    let input = AssistantState::ask("Do it.").messages(earlier.collect::<Vec<_>>());
    let state = graph.thread("session").run(input).await.unwrap().finished().unwrap();
    let steps = server.received().iter().filter(|received| received.json().get("tools").is_some()).count();
    assert_eq!(server.errors(), []);
    Ran { state, steps, errors: watch.errors() }
}

/// Returns the forms in which a provider says that a request is too long.
fn overflows(way: Way) -> Vec<Reply> {
    let mut forms = vec![
        Reply::too_large(),
        Reply::context_overflow(20_000, 16_000),
        Reply::llama_context_overflow(20_000, 16_000),
    ];
    // The others tell it as the limit of the output.
    if way == Way::Messages {
        forms.push(Reply::text("A part").stop(Stop::ContextWindow));
    }
    forms
}

#[tokio::test]
async fn s2_096_189_a_request_that_is_too_long_in_any_form_is_compacted_and_sent_again() {
    for way in PROTOCOLS {
        for form in overflows(way) {
            let (server, folder) = (MockServer::start().await.unwrap(), tempfile::tempdir().unwrap());
            let client = way.client(&server);
            let script = [form.clone(), Reply::text("They talked."), Reply::text("Done.")];
            for reply in script {
                server.reply(reply);
            }
            let ran = run(&server, config(client, folder.path())).await;
            assert_eq!(
                (ran.state.exit, ran.state.transition, ran.steps),
                (Some(Exit::Completed), Some(Transition::Compacted), 2),
                "{way:?} {form:?}"
            );
            let [first, .., last] = &server.received()[..] else { panic!("too few requests") };
            assert!(last.bytes().len() < first.bytes().len() / 2, "{way:?} {form:?}");
            assert_eq!(ran.errors, Vec::<String>::new(), "nothing is told of an error that is mended");
            assert_eq!(ran.state.failure, None);
        }
    }
}

#[tokio::test]
async fn s2_087_189_a_request_that_stays_too_long_ends_the_run_and_is_told_once() {
    for way in PROTOCOLS {
        for form in overflows(way) {
            let (server, folder) = (MockServer::start().await.unwrap(), tempfile::tempdir().unwrap());
            let client = way.client(&server);
            server.answer_with(move |received| match received.json().get("tools") {
                Some(_) => form.clone(),
                None => Reply::text("They talked."),
            });
            let ran = run(&server, config(client, folder.path())).await;
            assert_eq!((ran.state.exit, ran.steps), (Some(Exit::PromptTooLong), 2), "{way:?}");
            assert!(ran.state.failure.is_some());
            assert_eq!(ran.errors, Vec::<String>::new(), "the run itself has not failed");
        }
    }
}

#[tokio::test]
async fn s2_059_a_connection_that_breaks_is_made_again_and_another_vendor_is_asked_if_it_stays_broken() {
    for (at, way) in PROTOCOLS.into_iter().enumerate() {
        let (server, folder) = (MockServer::start().await.unwrap(), tempfile::tempdir().unwrap());
        let broken = [Pacing::hang_up(), Pacing::new().cut_after_events(2)];
        for pacing in broken {
            server.reply(Reply::text("Half of it").pacing(pacing));
        }
        server.reply("Whole.");
        let ran = run(&server, config(way.client(&server), folder.path())).await;
        assert_eq!((ran.state.exit, ran.state.transition), (Some(Exit::Completed), Some(Transition::Waited)));
        assert_eq!((ran.steps, texts(&ran.state).last().map(String::as_str)), (3, Some("Whole.")), "{way:?}");
        assert_eq!(ran.errors, Vec::<String>::new());

        let gone = MockServer::start().await.unwrap();
        let url = gone.url();
        drop(gone);
        let client = || way.client_at(&url, MockServer::KEY, &TransportOptions::default());
        let ran = run(&server, config(client(), folder.path())).await;
        assert_eq!(ran.state.exit, Some(Exit::ModelError));
        let failure = ran.state.failure;
        assert!(matches!(failure, Some(TurnFailure::Failed(ModelError::Unreachable { .. }))), "{failure:?}");

        server.reply("From the other vendor.");
        let other = PROTOCOLS[(at + 1) % PROTOCOLS.len()].client(&server);
        let ran = run(&server, config(client(), folder.path()).fallback(other)).await;
        assert_eq!(ran.state.transition, Some(Transition::SwitchedModel));
        assert_eq!(texts(&ran.state).last().map(String::as_str), Some("From the other vendor."));
    }
}

#[tokio::test]
async fn s2_060_an_answer_that_does_not_come_in_time_is_given_up_and_asked_for_again() {
    let options = TransportOptions::default().idle_timeout(Duration::from_millis(40));
    for way in PROTOCOLS {
        let (server, folder) = (MockServer::start().await.unwrap(), tempfile::tempdir().unwrap());
        let client = || way.client_of(&server, MockServer::KEY, &options);
        let stalled = Reply::text("Half of it").pacing(Pacing::new().stall_after_events(2));
        server.reply(Reply::never()).reply(stalled).reply("In time.");
        let ran = run(&server, config(client(), folder.path())).await;
        assert_eq!((ran.state.exit, ran.steps), (Some(Exit::Completed), 3), "{way:?}");
        assert_eq!(texts(&ran.state).last().map(String::as_str), Some("In time."));

        server.answer_with(|_| Reply::never());
        let ran = run(&server, config(client(), folder.path())).await;
        assert_eq!((ran.state.exit, ran.steps), (Some(Exit::ModelError), 6), "{way:?}");
        let failure = ran.state.failure;
        assert!(matches!(failure, Some(TurnFailure::Failed(ModelError::Unreachable { .. }))), "{failure:?}");
    }
}
