//! Webhooks: servers that call a receiver on loopback.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use superstep_checkpoint::SqliteSaver;
use superstep_core::records::{CancelAction, RunQuery};
use tokio::net::TcpSocket;
use tracing::Level;

use super::recovery::kill;
use super::*;
use crate::tests::canary::Logged as Log;
use crate::tests::receiver::{Call, Receiver};
use crate::webhook::Webhooks;
use crate::wire::cron::{CronCreate, CronPatch};

/// The names that tests look up.
#[derive(Clone, Default)]
struct Names(HashMap<String, Vec<IpAddr>>);

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.0.get(name.as_str()).cloned();
        Box::pin(async move {
            let found = found.ok_or_else(|| io::Error::other("the name is unknown"))?;
            Ok(Box::new(found.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}

const AT_ONCE: Duration = Duration::ZERO;

/// Webhooks that may call this machine, and are repeated after these times.
fn local(waits: &[Duration]) -> Webhooks {
    Webhooks::for_tests(&["127.0.0.1"], Names::default(), waits)
}

fn rig(webhooks: Webhooks) -> Rig {
    Rig { webhooks, ..Rig::new() }
}

async fn on_file(file: &std::path::Path, webhooks: Webhooks) -> Rig {
    let saver = SqliteSaver::open(file).await.expect("the file opens");
    Rig { saver: Arc::new(saver), ..rig(webhooks) }
}

impl Service {
    /// Starts a run on a thread of its own, with a webhook.
    async fn test_hooked(&self, graph: &str, address: &str) -> RunRow {
        let body =
            json!({ "assistant_id": graph, "input": { "words": ["in"], "key": "k3y" }, "webhook": address });
        self.test_run(&self.test_thread().await, body).await.expect("a new run")
    }

    /// Waits until no call of a run's webhook is left.
    async fn test_called(&self, run: &RunRow) {
        self.test_calls(run, |row| row.calls.is_none()).await;
    }

    async fn test_calls(&self, run: &RunRow, is_so: impl Fn(&RunRow) -> bool) {
        let waited = async {
            loop {
                let row = self.0.records.run(&run.id).await.expect("a row").expect("the run exists");
                if is_so(&row) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waited).await.expect("the webhook is called");
    }
}

#[tokio::test]
async fn a_webhook_is_called_once_after_each_kind_of_end() {
    let rig = rig(local(&[]));
    let (service, mut receiver) = (rig.service(), Receiver::new(&[]).await);
    let url = receiver.url();
    rig.gate.add_permits(1);
    let mut runs = Vec::new();
    for graph in ["holds", "asks", "fails"] {
        runs.push(service.test_hooked(graph, &url).await);
    }
    let later = json!({ "assistant_id": "asks", "input": {}, "webhook": url, "after_seconds": 3_600 });
    let pending = service.test_run(&service.test_thread().await, later).await.unwrap();
    service.cancel(&scope(), &pending, CancelAction::Interrupt).await.unwrap();
    runs.push(pending);

    let mut bodies = HashMap::new();
    for _ in &runs {
        let Call { head, body } = receiver.next().await;
        assert_eq!(head, "POST /hook?token=t0ken application/json");
        assert!(!body.to_string().contains("k3y"), "{body}");
        bodies.insert(body["run_id"].as_str().unwrap().to_owned(), body);
    }
    for run in &runs {
        service.test_called(run).await;
        let body = &bodies[&run.id];
        let row = service.run_row(&scope(), None, &run.id).await.unwrap();
        for (name, value) in crate::wire::run::run(&row).as_object().unwrap() {
            assert_eq!(body[name], *value, "{name} is that of the run");
        }
        assert_eq!(body["kwargs"]["webhook"], url);
        let times: Vec<_> = ["created_at", "run_started_at", "run_ended_at", "webhook_sent_at"]
            .map(|name| body[name].as_str())
            .into();
        let times: Vec<_> = times.into_iter().flatten().collect();
        assert!(times.is_sorted() && times.len() == if row.attempt == 0 { 3 } else { 4 }, "{times:?}");
    }
    assert_eq!(receiver.rest(), None);

    let [held, asked, failed, cancelled] = [0, 1, 2, 3].map(|number: usize| &bodies[&runs[number].id]);
    assert_eq!((&held["status"], held.get("error")), (&json!("success"), None));
    assert_eq!(held["values"], json!({ "words": ["in", "first", "held", "last"], "key": "<secret>" }));
    assert_eq!((&asked["status"], &asked["values"]["words"]), (&json!("success"), &json!(["in"])));
    assert_eq!(asked["values"]["__interrupt__"][0]["value"], "which word?");
    assert_eq!((&failed["status"], &failed["values"]["words"]), (&json!("error"), &json!(["in"])));
    assert!(failed["error"].as_str().unwrap().contains("1 words"), "{failed}");
    assert_eq!((&cancelled["status"], &cancelled["values"]), (&json!("interrupted"), &json!({})));
    assert_eq!(cancelled["run_started_at"], Value::Null);
}

#[tokio::test]
async fn a_webhook_of_a_temporary_thread_is_called_with_its_values() {
    let (service, mut receiver) = (rig(local(&[])).service(), Receiver::new(&[]).await);
    let body = json!({ "assistant_id": "asks", "input": { "words": ["in"] }, "webhook": receiver.url() });
    let run = service.create_run(&scope(), None, RunCreate::read(&body).unwrap()).await.unwrap();
    let body = receiver.next().await.body;
    assert_eq!((&body["run_id"], &body["values"]["words"]), (&json!(run.id), &json!(["in"])));
}

#[tokio::test]
async fn a_failed_call_is_repeated_until_the_receiver_accepts_it() {
    let (service, mut receiver) = (rig(local(&[AT_ONCE; 4])).service(), Receiver::new(&[500, 404]).await);
    let run = service.test_hooked("asks", &receiver.url()).await;
    for _ in 0..3 {
        assert_eq!(receiver.next().await.body["run_id"], json!(run.id));
    }
    service.test_called(&run).await;
    assert_eq!(receiver.rest(), None);
}

#[tokio::test]
async fn a_receiver_that_starts_late_is_called() {
    let service = rig(local(&[Duration::from_millis(20); 900])).service();
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/", socket.local_addr().unwrap());
    let run = service.test_hooked("asks", &url).await;
    service.test_calls(&run, |row| row.calls.is_some_and(|calls| calls.started >= 2)).await;
    let mut receiver = Receiver::on(socket.listen(8).unwrap(), &[]);
    assert_eq!(receiver.next().await.body["run_id"], json!(run.id));
    service.test_called(&run).await;
}

#[tokio::test]
async fn a_webhook_that_fails_is_given_up_and_its_address_is_not_logged() {
    let log = Log::at(Level::TRACE);
    let _guard = tracing::subscriber::set_default(log.clone());
    let service = rig(local(&[AT_ONCE; 2])).service();
    let mut receiver = Receiver::new(&[500; 9]).await;
    let run = service.test_hooked("asks", &receiver.url()).await;
    service.test_called(&run).await;
    for _ in 0..3 {
        receiver.next().await;
    }
    assert_eq!(receiver.rest(), None);
    let log = log.text();
    let given_up = log.lines().filter(|line| line.contains("a webhook failed; it is not called again"));
    let given_up: Vec<&str> = given_up.collect();
    assert!(given_up.len() == 1 && given_up[0].contains("the receiver answered with status 500"), "{log}");
    assert!(given_up[0].contains("127.0.0.1") && given_up[0].contains(&run.id), "{log}");
    assert!(!log.contains("t0ken"), "{log}");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (service, mut receiver) = (rig(local(&[])).service(), Receiver::new(&[307]).await);
    let run = service.test_hooked("asks", &receiver.url()).await;
    assert!(receiver.next().await.head.starts_with("POST /hook?"));
    service.test_called(&run).await;
    assert_eq!(receiver.rest(), None);
}

#[tokio::test]
async fn a_name_is_called_at_addresses_that_are_allowed() {
    let log = Log::at(Level::TRACE);
    let _guard = tracing::subscriber::set_default(log.clone());
    let mut receiver = Receiver::new(&[]).await;
    let names = Names(HashMap::from([
        ("private.example".to_owned(), vec!["10.0.0.1".parse().unwrap(), "127.0.0.1".parse().unwrap()]),
        ("allowed.example".to_owned(), vec!["127.0.0.1".parse().unwrap()]),
    ]));
    let service = rig(Webhooks::for_tests(&["allowed.example"], names, &[])).service();
    let url = |name: &str| format!("http://{name}:{}/", receiver.port());
    let (private, allowed) = (url("private.example"), url("allowed.example"));
    let run = service.test_hooked("asks", &private).await;
    service.test_called(&run).await;
    assert_eq!(receiver.rest(), None);
    assert!(log.text().contains("`private.example` is not on the public internet"), "{}", log.text());
    let run = service.test_hooked("asks", &allowed).await;
    assert_eq!(receiver.next().await.body["run_id"], json!(run.id));
}

#[tokio::test]
async fn a_webhook_that_may_not_be_called_is_refused_with_the_request() {
    let service = rig(local(&[])).service();
    let thread = service.test_thread().await;
    let request =
        |webhook: &str| json!({ "assistant_id": "asks", "schedule": "0 0 1 1 *", "webhook": webhook });
    let private = request("http://10.0.0.1/");
    let refused = service.test_run(&thread, private.clone()).await.unwrap_err();
    assert_eq!((refused.status, refused.detail.starts_with("webhook: `10.0.0.1` is not")), (422, true));
    let all = RunQuery { limit: 9, ..RunQuery::default() };
    assert_eq!(service.0.records.runs(&all).await.unwrap().total, 0);
    if cfg!(feature = "crons") {
        let create = CronCreate::read(&private).unwrap();
        assert_eq!(service.create_cron(&scope(), None, create).await.unwrap_err(), refused);
        let create = CronCreate::read(&request("https://example.com/")).unwrap();
        let cron = service.create_cron(&scope(), None, create).await.unwrap();
        let patch = CronPatch::read(&json!({ "webhook": "http://10.0.0.1/" })).unwrap();
        let id = cron["cron_id"].as_str().unwrap();
        assert_eq!(service.patch_cron(&scope(), id, patch).await.unwrap_err(), refused);
    }
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_delays_no_run() {
    let rig = rig(local(&[]));
    let (service, mut receiver) = (rig.service(), Receiver::new(&[0; 9]).await);
    let thread = service.test_thread().await;
    rig.gate.add_permits(2);
    for _ in 0..2 {
        let body = json!({ "assistant_id": "holds", "input": {}, "webhook": receiver.url() });
        let run = service.test_run(&thread, body).await.unwrap();
        let frames = all_frames(&service, &run, Resume::Start).await;
        assert_eq!(frames.last().unwrap().data, json!(["ended", "success"]));
        receiver.next().await;
        service.test_calls(&run, |row| row.calls.is_some()).await;
    }
}

#[tokio::test]
async fn the_next_server_calls_the_webhooks_of_one_that_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let mut receiver = Receiver::new(&[0]).await;
    let first = on_file(&file, local(&[])).await.service();
    let called = first.test_hooked("asks", &receiver.url()).await;
    assert_eq!(receiver.next().await.body["run_id"], json!(called.id));
    kill(&first);

    // This one drives runs, and is killed before it calls a webhook.
    let second = on_file(&file, local(&[])).await.stopped();
    second.0.tasks.lock().unwrap().push(tokio::spawn(Arc::clone(&second.0.worker).work()));
    let ended = second.test_hooked("asks", &receiver.url()).await;
    assert_eq!(second.test_status(&ended).await, Some(RunStatus::Success));
    kill(&second);
    assert_eq!(receiver.rest(), None);

    let third = on_file(&file, local(&[])).await.ahead(Duration::from_secs(60));
    third.start();
    let mut bodies = [receiver.next().await.body, receiver.next().await.body];
    bodies.sort_by_key(|body| body["run_id"].as_str().map(str::to_owned));
    assert_eq!(bodies.map(|body| body["run_id"].clone()), [json!(called.id), json!(ended.id)]);
    third.test_called(&called).await;
    third.test_called(&ended).await;
    assert_eq!(receiver.rest(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_servers_calls_a_webhook() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let (one, two) = (on_file(&file, local(&[])).await, on_file(&file, local(&[])).await);
    let (one, two) = (one.service(), two.service());
    let mut receiver = Receiver::new(&[]).await;
    let mut runs = Vec::new();
    for number in 0..16 {
        let service = if number % 2 == 0 { &one } else { &two };
        runs.push(service.test_hooked("asks", &receiver.url()).await);
    }
    for run in &runs {
        one.test_called(run).await;
    }
    let mut called = Vec::new();
    while let Some(call) = receiver.rest() {
        called.push(call.body["run_id"].as_str().unwrap().to_owned());
    }
    let mut expected: Vec<String> = runs.into_iter().map(|run| run.id).collect();
    called.sort();
    expected.sort();
    assert_eq!(called, expected);
}
