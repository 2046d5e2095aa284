//! The clients: each starts runs on threads of its own, and notes every answer.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::checked::{Checked, holds};
use crate::dice::Dice;
use crate::http::{Event, Response, send};
use crate::server::Started;

/// The time after which a client tries again that no server has answered.
const PAUSE: Duration = Duration::from_millis(20);

/// The time in which one of the servers must answer a request that is repeated until it is answered.
const PATIENCE: Duration = Duration::from_secs(120);

/// The number of threads of a client.
const THREADS: u64 = 2;

/// The servers that the clients know.
#[derive(Default)]
pub(crate) struct World {
    ports: Mutex<Vec<u16>>,
    /// The streams that are read.
    followed: Mutex<BTreeSet<String>>,
    stopped: AtomicBool,
}

impl World {
    pub(crate) fn set(&self, servers: &[Started]) {
        *self.ports.lock().expect("no client panics with the ports") =
            servers.iter().filter_map(|server| server.port).collect();
    }

    /// Lets the clients start no further run.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Returns the paths of the runs whose streams are read.
    pub(crate) fn followed(&self) -> BTreeSet<String> {
        self.followed.lock().expect("no client panics with the list").clone()
    }

    fn port(&self, choice: u64) -> io::Result<u16> {
        let ports = self.ports.lock().expect("no client panics with the ports");
        match ports.len() {
            0 => Err(io::ErrorKind::NotConnected.into()),
            count => Ok(ports[choice as usize % count]),
        }
    }

    /// Sends a request to one of the servers.
    async fn send(
        &self,
        method: &str,
        path: &str,
        last: Option<&str>,
        body: &Value,
        choice: u64,
    ) -> io::Result<Response> {
        send(self.port(choice)?, method, path, last, body).await
    }

    /// Reads a document, as often as it takes; `None` for status 404.
    pub(crate) async fn read(&self, path: &str) -> Checked<Option<Value>> {
        let begun = Instant::now();
        for choice in 0.. {
            let answer = async {
                let response = self.send("GET", path, None, &Value::Null, choice).await?;
                let status = response.status;
                Ok::<_, io::Error>((status, response.json().await?))
            };
            match answer.await {
                Ok((200, body)) => return Ok(Some(body)),
                Ok((404, _)) => return Ok(None),
                Ok((status, body)) => return Err(format!("GET {path}: {status} {body}")),
                Err(error) => holds!(begun.elapsed() < PATIENCE, "GET {path}: {error}"),
            }
            tokio::time::sleep(PAUSE).await;
        }
        unreachable!("it is asked until it is answered")
    }

    /// Reads the stream of a run from after an event to its end, over as many connections as it takes. Returns `false`
    /// if the run is gone.
    pub(crate) async fn follow(&self, path: &str, events: &mut Vec<Event>, dice: &mut Dice) -> Checked<bool> {
        loop {
            let last = events.last().map_or("-1".to_owned(), |event| event.id.clone());
            let path = format!("{path}/stream");
            match self.send("GET", &path, Some(&last), &Value::Null, dice.below(8)).await {
                Ok(response) if response.status == 404 => return Ok(false),
                Ok(response) => {
                    holds!(response.status == 200, "GET {path}: {}", response.status);
                    if drain(response, events).await {
                        return Ok(true);
                    }
                }
                Err(_) => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Collects the events of a response; returns `false` if the connection broke off.
async fn drain(mut response: Response, events: &mut Vec<Event>) -> bool {
    loop {
        match response.event().await {
            Ok(Some(event)) => events.push(event),
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// A request for a run, and the answers to it.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) token: String,
    pub(crate) thread: String,
    pub(crate) multitask: &'static str,
    /// The run, if the request was answered.
    pub(crate) run: Option<String>,
    /// `true` if the server refused the run, because the thread was busy.
    pub(crate) refused: bool,
    /// The action of a request to cancel the run.
    pub(crate) cancelled: Option<&'static str>,
    /// The values with which the run ended, if the client waited for them.
    pub(crate) values: Option<Value>,
    /// The events of the run's stream, over all connections.
    pub(crate) seen: Vec<Event>,
    /// `true` if the connection broke off, and the client came back.
    pub(crate) came_back: bool,
    /// `true` if the stream ended.
    pub(crate) has_ended: bool,
    /// The status of the run when its client was told that it has ended: `Some(None)` if the run was gone.
    pub(crate) ended_as: Option<Option<String>>,
}

/// Starts runs until the world stops.
pub(crate) async fn client(world: Arc<World>, name: String, mut dice: Dice) -> Checked<Vec<Asked>> {
    let threads = (0..THREADS).map(|_| uuid::Uuid::now_v7().to_string()).collect::<Vec<_>>();
    for thread in &threads {
        let body = json!({ "thread_id": thread, "if_exists": "do_nothing" });
        loop {
            match world.send("POST", "/threads", None, &body, dice.below(8)).await {
                Ok(response) if response.status == 200 => break,
                Ok(response) => return Err(format!("POST /threads: {}", response.status)),
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
    let mut all = Vec::new();
    while !world.stopped.load(Ordering::Relaxed) {
        let thread = &threads[dice.below(THREADS) as usize];
        let asked = start(&world, thread, format!("{name}-{}", all.len()), &mut dice).await?;
        all.push(asked);
        tokio::time::sleep(Duration::from_millis(dice.below(200))).await;
    }
    Ok(all)
}

/// Starts a run in one of the ways that clients have.
async fn start(world: &World, thread: &str, token: String, dice: &mut Dice) -> Checked<Asked> {
    let multitask =
        ["enqueue", "enqueue", "enqueue", "interrupt", "rollback", "reject"][dice.below(6) as usize];
    let body = json!({
        "assistant_id": "work",
        "input": { "token": token },
        "metadata": { "token": token },
        "multitask_strategy": multitask,
        "stream_mode": ["values", "updates", "custom"],
        "stream_resumable": true,
    });
    let mut asked = Asked {
        token,
        thread: thread.to_owned(),
        multitask,
        run: None,
        refused: false,
        cancelled: None,
        values: None,
        seen: Vec::new(),
        came_back: false,
        has_ended: false,
        ended_as: None,
    };
    let way = dice.below(3);
    let path = format!("/threads/{thread}/runs{}", ["/stream", "", "/wait"][way as usize]);
    let Ok(response) = world.send("POST", &path, None, &body, dice.below(8)).await else {
        return Ok(asked);
    };
    match response.status {
        200 => asked.run.clone_from(&response.run),
        409 if multitask == "reject" => {
            asked.refused = true;
            return Ok(asked);
        }
        status => return Err(format!("POST {path}: {status} {:?}", response.json().await)),
    }
    match way {
        0 => stream(world, response, &mut asked, dice).await?,
        1 => {
            drop(response);
            if dice.below(4) == 0 {
                cancel(world, &mut asked, dice).await?;
            }
        }
        _ => asked.values = response.json().await.ok(),
    }
    if asked.has_ended || asked.values.is_some() {
        let path = format!("/threads/{thread}/runs/{}", asked.run.as_deref().expect("a run"));
        let run = world.read(&path).await?;
        asked.ended_as = Some(run.and_then(|run| run["status"].as_str().map(str::to_owned)));
    }
    Ok(asked)
}

/// Reads the stream of a run, and comes back when the connection breaks off.
async fn stream(world: &World, response: Response, asked: &mut Asked, dice: &mut Dice) -> Checked<()> {
    let path = format!("/threads/{}/runs/{}", asked.thread, asked.run.as_deref().expect("a run"));
    let followed = || world.followed.lock().expect("no client panics with the list");
    followed().insert(path.clone());
    asked.has_ended = drain(response, &mut asked.seen).await;
    if !asked.has_ended {
        asked.came_back = true;
        asked.has_ended = world.follow(&path, &mut asked.seen, dice).await?;
    }
    followed().remove(&path);
    Ok(())
}

async fn cancel(world: &World, asked: &mut Asked, dice: &mut Dice) -> Checked<()> {
    tokio::time::sleep(Duration::from_millis(dice.below(60))).await;
    let action = ["interrupt", "rollback"][dice.below(2) as usize];
    asked.cancelled = Some(action);
    let run = asked.run.as_deref().expect("a run");
    let path = format!("/threads/{}/runs/{run}/cancel?action={action}", asked.thread);
    if let Ok(response) = world.send("POST", &path, None, &json!({}), dice.below(8)).await {
        // 404: the run had ended.
        holds!([202, 404].contains(&response.status), "POST {path}: {}", response.status);
    }
    Ok(())
}
