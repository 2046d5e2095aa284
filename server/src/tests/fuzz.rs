//! Requests that are made at random, from the OpenAPI document and against it: none leads to an error of the server.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use futures_util::StreamExt;
use serde_json::{Map, Value, json};
use tracing::Level;

use super::canary::Logged;
use super::contract::Contract;
use super::server;
use crate::Workers;
use crate::api::openapi::document;
use crate::api::{Endpoint, endpoints};

/// The variable with the number of requests.
const REQUESTS: &str = "SUPERSTEP_REQUESTS";

/// The variable with the number from which all requests follow.
const SEED: &str = "SUPERSTEP_SEED";

/// The number of requests to a server before it is replaced by an empty one.
const PER_SERVER: u64 = 200;

/// The time for which a response is read. Some never end, and others wait for a run that has not begun.
const PATIENCE: Duration = Duration::from_secs(3);

/// Texts of queries, headers and bodies.
const TEXTS: [&str; 28] = [
    "",
    "t",
    "stories",
    "write",
    "review",
    "values",
    "messages-tuple",
    "nope",
    "*",
    "-1",
    "0",
    "1001",
    "true",
    "delete",
    "interrupt",
    "rollback",
    "keep_latest",
    "pending",
    "ttl",
    "a.b",
    "values.lines[-1]",
    "\u{0}",
    "\u{10ffff}\r\n",
    "18446744073709551615",
    "99999999999999999999",
    "1-18446744073709551614",
    "* * * * *",
    "2026-11-24T00:00:00Z",
];

/// A source of numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 32).unwrap() % limit
    }

    /// Returns `true` once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// A server, and what a client knows of it.
struct Target {
    router: Router,
    workers: Workers,
    contract: Arc<Contract>,
    components: Value,
    ids: Vec<String>,
}

impl Target {
    async fn new(contract: &Arc<Contract>, components: &Value) -> Self {
        let (router, workers) = server().limits(|limits| limits.streams = usize::MAX).router().unwrap();
        workers.start();
        let (contract, components) = (Arc::clone(contract), components.clone());
        let mut target = Self { router, workers, contract, components, ids: vec!["t".into()] };
        let run = json!({ "assistant_id": "stories", "input": { "topic": "x" }, "if_not_exists": "create" });
        for (method, path, body, place) in [
            ("POST", "/threads/t/runs", &run, "/run_id"),
            ("POST", "/threads/t/runs/wait", &run, "/none"),
            ("GET", "/threads/t/state", &Value::Null, "/checkpoint/checkpoint_id"),
            ("POST", "/assistants", &json!({ "graph_id": "stories" }), "/assistant_id"),
        ] {
            let request = request(method, path).body(body.to_string().into()).unwrap();
            let got = target.send(request, "an id").await;
            target.ids.extend(got.pointer(place).and_then(Value::as_str).map(str::to_owned));
        }
        target
    }

    /// Sends a request, and checks its response.
    async fn send(&self, request: Request<Body>, name: &str) -> Value {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let answered = super::send(&self.router, request);
        let Ok(response) = tokio::time::timeout(PATIENCE, answered).await else { return Value::Null };
        let (parts, body) = response.into_parts();
        let status = parts.status.as_u16();
        let kind = parts.headers.get("content-type").map_or("", |kind| kind.to_str().unwrap()).to_owned();
        assert!(parts.headers.contains_key("x-request-id"), "{name}");
        let mut text = Vec::new();
        let mut parts = body.into_data_stream();
        while let Ok(Some(part)) = tokio::time::timeout(PATIENCE, parts.next()).await {
            text.extend(part.unwrap());
        }
        assert!(status < 500, "{name}: {status} {}", String::from_utf8_lossy(&text));
        self.contract.check(method.as_str(), &path, status, &kind, &text);
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Makes a value of a schema, mostly.
    fn sample(&self, schema: &Value, dice: &mut Dice, depth: usize) -> Value {
        if depth > 6 || dice.once_in(40) {
            return self.any(dice, 2);
        }
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.rsplit('/').next().unwrap();
            return self.sample(&self.components["schemas"][name], dice, depth + 1);
        }
        if let Some(choices) = schema["enum"].as_array().or(schema["anyOf"].as_array()) {
            let choice = dice.of(choices);
            return if choice.is_object() { self.sample(choice, dice, depth + 1) } else { choice.clone() };
        }
        match schema["type"].as_str() {
            Some("object") => {
                let mut object = Map::new();
                let required = schema["required"].as_array().cloned().unwrap_or_default();
                for (name, member) in schema["properties"].as_object().into_iter().flatten() {
                    let is_required = required.iter().any(|required| required == name);
                    if dice.below(10) < if is_required { 9 } else { 3 } {
                        object.insert(name.clone(), self.sample(member, dice, depth + 1));
                    }
                }
                if object.is_empty() {
                    object.insert(self.text(dice), self.any(dice, 2));
                }
                object.into()
            }
            Some("array") => {
                (0..dice.below(3)).map(|_| self.sample(&schema["items"], dice, depth + 1)).collect()
            }
            Some("string") => self.text(dice).into(),
            Some("integer" | "number") => number(dice),
            Some("boolean") => dice.once_in(2).into(),
            _ if dice.once_in(2) => json!({ "topic": self.text(dice), "lines": [self.text(dice)] }),
            _ => self.any(dice, 3),
        }
    }

    fn any(&self, dice: &mut Dice, depth: usize) -> Value {
        match dice.below(if depth == 0 { 4 } else { 6 }) {
            0 => Value::Null,
            1 => dice.once_in(2).into(),
            2 => number(dice),
            3 => self.text(dice).into(),
            4 => (0..dice.below(4)).map(|_| self.any(dice, depth - 1)).collect(),
            _ => {
                let mut members = Map::new();
                for _ in 0..dice.below(4) {
                    members.insert(self.text(dice), self.any(dice, depth - 1));
                }
                members.into()
            }
        }
    }

    fn text(&self, dice: &mut Dice) -> String {
        match dice.below(3) {
            0 => dice.of(&self.ids).clone(),
            1 => "stories".to_owned(),
            _ if dice.once_in(50) => "x".repeat(300),
            _ => (*dice.of(&TEXTS)).to_owned(),
        }
    }

    fn request(&self, endpoint: &Endpoint, dice: &mut Dice) -> (Request<Body>, String) {
        let segments = endpoint.path.split('/').map(|segment| match segment.strip_prefix('{') {
            None => segment.to_owned(),
            Some(_) => escaped(&self.text(dice)),
        });
        let mut path = segments.collect::<Vec<_>>().join("/");
        let mut mark = '?';
        for name in endpoint.query.iter().chain(&["limit"]).filter(|_| dice.once_in(2)).collect::<Vec<_>>() {
            path += &format!("{mark}{name}={}", escaped(&self.text(dice)));
            mark = '&';
        }
        let mut request = request(&endpoint.method.to_uppercase(), &path);
        if dice.once_in(20) {
            request =
                request.header("content-type", *dice.of(&["text/plain", "application/JSON;charset=x", ""]));
        }
        if dice.once_in(3) {
            let id = *dice.of(&["-1", "0", "1-1024", "x", "1-", "1-18446744073709551614", "-"]);
            request = request.header("last-event-id", id);
        }
        if dice.once_in(10) {
            request = request.header("prefer", "return=minimal");
        }
        let mut body = Vec::new();
        if let Some(schema) = endpoint.takes {
            body = self.sample(&self.components["schemas"][schema], dice, 0).to_string().into_bytes();
            if dice.once_in(20) {
                let at = dice.below(body.len());
                body[at] = u8::try_from(dice.below(256)).unwrap();
            }
            if dice.once_in(20) {
                body.truncate(dice.below(body.len() + 1));
            }
        }
        let name = format!("{} {path} {}", endpoint.method, String::from_utf8_lossy(&body));
        (request.body(body.into()).unwrap(), name)
    }
}

fn request(method: &str, path: &str) -> axum::http::request::Builder {
    super::request(method, path).header("content-type", "application/json")
}

fn number(dice: &mut Dice) -> Value {
    let numbers = [
        json!(0),
        json!(1),
        json!(5),
        json!(-1),
        json!(1000),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(0.5),
        json!(1e308),
        json!(4_294_967_296_u64),
    ];
    dice.of(&numbers).clone()
}

/// Escapes all bytes of a text for a URL.
fn escaped(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// The endpoints of this build.
fn fuzzed() -> Vec<Endpoint> {
    let all = endpoints().into_iter();
    all.filter(|endpoint| cfg!(feature = "crons") || endpoint.resource != crate::Resource::Crons).collect()
}

#[tokio::test(start_paused = true)]
async fn no_request_leads_to_an_error_of_the_server() {
    let logged = Logged::at(Level::ERROR);
    let _guard = tracing::subscriber::set_default(logged.clone());
    let (requests, seed) = (variable(REQUESTS, 3_000), variable(SEED, 20_261_124));
    let (endpoints, contract) = (fuzzed(), Contract::new());
    let components = document(&endpoints)["components"].clone();
    for first in (0..requests).step_by(usize::try_from(PER_SERVER).unwrap()) {
        let target = Target::new(&contract, &components).await;
        for number in first..requests.min(first + PER_SERVER) {
            let mut dice = Dice(seed.wrapping_mul(1 << 32).wrapping_add(number << 8));
            let (request, name) = target.request(dice.of(&endpoints), &mut dice);
            let name = format!("{SEED}={seed}, request {number}: {name}");
            target.send(request, &name).await;
            assert_eq!(logged.text(), "", "{name}");
        }
        target.workers.shutdown(Duration::ZERO).await;
    }
}

/// Bodies that no endpoint takes, or that none is harmed by.
fn malformed() -> Vec<Vec<u8>> {
    let texts = [
        "{",
        "}",
        "[",
        "nope",
        "{\"a\":1,}",
        "\u{feff}{}",
        "{} {}",
        "{\"a\":\"\u{1}\"}",
        "\"\\ud800\"",
        "1e999",
        "-",
        "01",
        "+1",
        ".5",
        "NaN",
        "'a'",
        "{a:1}",
        "{\"a\" 1}",
        "[1 2]",
        "tru",
        "\"open",
        "/**/{}",
        "{\"a\":}",
        "\u{0}",
        "null",
        "true",
        "0",
        "-1",
        "1e308",
        "\"\"",
        "[]",
        "[[]]",
        "[null]",
        "[{}]",
        "{\"assistant_id\":{}}",
        "{\"thread_id\":[],\"thread_ids\":{},\"input\":0,\"config\":\"\",\"metadata\":1}",
    ];
    let mut all: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    all.push(vec![0xff; 8]);
    all.push([b"\"".as_slice(), &[0xc3, 0x28], b"\""].concat());
    all.push([vec![b'['; 100_000], vec![b']'; 100_000]].concat());
    all.push("{\"a\":".repeat(200).into_bytes());
    all
}

#[tokio::test(start_paused = true)]
async fn every_route_answers_forty_malformed_bodies() {
    let logged = Logged::at(Level::ERROR);
    let _guard = tracing::subscriber::set_default(logged.clone());
    let bodies = malformed();
    assert_eq!(bodies.len(), 40);
    let (endpoints, contract) = (fuzzed(), Contract::new());
    let components = document(&endpoints)["components"].clone();
    let target = Target::new(&contract, &components).await;
    for endpoint in endpoints.iter().filter(|endpoint| endpoint.takes.is_some()) {
        let path =
            endpoint.path.split('/').map(|segment| if segment.starts_with('{') { "t" } else { segment });
        let path = path.collect::<Vec<_>>().join("/");
        for body in &bodies {
            let name = format!(
                "{} {path} {}",
                endpoint.method,
                String::from_utf8_lossy(&body[..body.len().min(80)])
            );
            let request = request(&endpoint.method.to_uppercase(), &path).body(body.clone().into()).unwrap();
            target.send(request, &name).await;
            assert_eq!(logged.text(), "", "{name}");
        }
    }
}
