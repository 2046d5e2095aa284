//! The errors of an endpoint that cannot be started or registered.

use superstep::checkpoint::MemorySaver;
use superstep::graph::{END, START, StateGraph};
use superstep::run::Graph;
use superstep_restate::{EndpointError, RegisterError, restate};

use crate::client::post;
use crate::graphs::Article;
use crate::here::Here;
use crate::server::{Server, free_ports};

fn graph(name: &str) -> Graph<Article> {
    let mut g = StateGraph::<Article>::new(name);
    let node = g.node("node", || async {});
    g.edge(START, node);
    g.edge(node, END);
    g.compile().expect("it is complete").checkpointer(MemorySaver::new())
}

async fn refused(error: impl Future<Output = Result<superstep_restate::Listening, EndpointError>>) -> String {
    error.await.expect_err("it cannot be started").to_string()
}

#[tokio::test]
async fn graphs_that_cannot_be_served_are_named() {
    let here = "127.0.0.1:0";
    assert_eq!(refused(restate(&[]).listen(here)).await, "an endpoint needs a graph");
    let (essays, spaced) = (graph("essays"), graph("my essays"));
    assert_eq!(
        refused(restate(&[&spaced]).listen(here)).await,
        "the graph \"my essays\" cannot be a service of Restate: rename it to letters, digits, \".\", \"_\" and \"-\", a \
         letter first"
    );
    assert_eq!(
        refused(restate(&[&essays, &essays]).listen(here)).await,
        "two graphs are named \"essays\": rename one of them"
    );
    let work = graph("essays.work");
    assert_eq!(
        refused(restate(&[&essays, &work]).listen(here)).await,
        "two graphs are named \"essays.work\": rename one of them"
    );
    let mut g = StateGraph::<Article>::new("lost");
    let node = g.node("node", || async {});
    g.edge(START, node);
    g.edge(node, END);
    let lost = g.compile().expect("it is complete");
    assert_eq!(
        refused(restate(&[&lost]).listen(here)).await,
        "the graph \"lost\" has no checkpointer: give it one with `.checkpointer(..)`"
    );
    let everywhere = refused(restate(&[&essays]).listen("0.0.0.0:0")).await;
    assert!(everywhere.contains("can be reached from other machines: set a token"), "{everywhere}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let essays = graph("essays");
    let listening = restate(&[&essays]).listen("127.0.0.1:0").await.expect("a free port");
    let admin = format!("http://127.0.0.1:{}", free_ports(1)[0]);
    let gone = listening.register(&admin, None).await.expect_err("nothing listens there").to_string();
    assert!(gone.starts_with(&format!("Restate cannot be reached at {admin}: ")), "{gone}");
    assert!(gone.ends_with("; start it, or correct the address of its admin API"), "{gone}");
    for url in ["127.0.0.1:9070", "https://restate.example.org", "http://127.0.0.1:9070/deployments"] {
        let error = listening.register(url, None).await.expect_err("it is not an address");
        assert!(matches!(error, RegisterError::Url { .. }), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_registration_has_the_reason_of_the_server() {
    let Some(server) = Server::start().await else { return };
    let essays = graph("essays");
    let listening = restate(&[&essays]).listen("127.0.0.1:0").await.expect("a free port");
    let uri = format!("http://127.0.0.1:{}", free_ports(1)[0]);
    let error = listening.register(&server.admin(), Some(&uri)).await.expect_err("nothing listens there");
    let text = error.to_string();
    assert!(
        text.starts_with(&format!("Restate at {} has refused the endpoint {uri}/v3-", server.admin())),
        "{text}"
    );
    assert!(matches!(error, RegisterError::Refused { .. }));
    let (status, absent) = server.call("essays/rust/run", &serde_json::json!({})).await;
    assert_eq!(status, 404, "{absent}");
    let text = "service 'essays' not found, make sure to register the service before calling it.";
    assert_eq!(absent["message"], text);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_server_has_the_token() {
    let Some(server) = Server::start().await else { return };
    let essays = graph("essays");
    let here = Here::start(&server, restate(&[&essays]).token("secret")).await;
    let (status, finished) = server.call("essays/rust/run", &serde_json::json!({})).await;
    assert_eq!((status, &finished["status"]), (200, &"finished".into()), "{finished}");

    // A client without the token, such as a server that was told another one.
    let deployment = serde_json::json!({ "uri": format!("http://{}/again", here.address) });
    let (status, refused) = post(&(server.admin() + "/deployments"), &deployment).await.expect("it answers");
    assert_ne!(status / 100, 2, "{refused}");
    assert!(refused["message"].as_str().expect("a text").contains("401"), "{refused}");
    here.stop().await;
}
