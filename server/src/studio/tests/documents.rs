//! The documents are those of the command line.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Page, Pairs, printed, written};
use crate::studio::read::READS;
use crate::studio::routes::routes;
use crate::wire::query::Query;

#[tokio::test]
async fn every_route_that_reads_gives_the_document_of_its_verb() {
    let file = written().await;
    let page = Page::of(&file.path);
    let path = file.path.to_str().unwrap();
    let log = printed(&["log", path, "rust"]);
    let id = log["checkpoints"][1]["id"].as_str().unwrap();
    // The route, its query, and the same as words of the command line.
    let cases: &[(&str, Pairs<'_>, &[&str])] = &[
        ("threads", &[], &["threads", "FILE", "--tokens", "-n", "100"]),
        (
            "threads",
            &[("from", "1"), ("count", "1"), ("text", "R"), ("graph", "essay")],
            &["threads", "FILE", "--tokens", "--skip", "1", "-n", "1", "--text", "R", "--graph", "essay"],
        ),
        ("threads", &[("status", "failed")], &["threads", "FILE", "--tokens", "--status", "failed"]),
        (
            "log",
            &[("thread", "rust"), ("from", "1"), ("count", "2")],
            &["log", "FILE", "rust", "--skip", "1", "-n", "2"],
        ),
        ("log", &[("thread", "zig"), ("graph", "true")], &["log", "FILE", "zig", "--graph"]),
        (
            "log",
            &[("thread", "rust"), ("depth", "1")],
            &["log", "FILE", "rust", "--depth", "1", "--skip", "0"],
        ),
        (
            "log",
            &[("thread", "rust"), ("graph", "true"), ("from", "0"), ("count", "3"), ("around", id)],
            &["log", "FILE", "rust", "--graph", "-n", "3", "--around", id],
        ),
        ("show", &[("checkpoint", "trouble")], &["show", "FILE", "trouble"]),
        ("show", &[("checkpoint", id), ("path", "facts[0]")], &["show", "FILE", id, "facts[0]"]),
        ("diff", &[("checkpoint", "rust@2")], &["diff", "FILE", "rust@2"]),
        ("diff", &[("checkpoint", "rust@1"), ("other", "zig")], &["diff", "FILE", "rust@1", "zig"]),
        ("blame", &[("checkpoint", "rust"), ("path", "draft")], &["blame", "FILE", "rust", "draft"]),
        ("why", &[("checkpoint", "rust@2"), ("node", "write")], &["why", "FILE", "rust@2", "write"]),
        (
            "grep",
            &[("pattern", "a.*draft"), ("thread", "rust")],
            &["grep", "FILE", "a.*draft", "--thread", "rust"],
        ),
        (
            "bisect",
            &[("checkpoint", "rust"), ("path", "rounds"), ("is", ">= 1"), ("linear", "true")],
            &["bisect", "FILE", "rust", "--path", "rounds", "--is", ">= 1", "--linear"],
        ),
        ("compare", &[("a", "rust"), ("b", "zig")], &["compare", "FILE", "rust", "zig"]),
        ("calls", &[("checkpoint", "rust@1")], &["calls", "FILE", "rust@1"]),
        ("graph", &[("thread", "rust")], &["graph", "FILE", "rust"]),
        ("strip", &[("thread", "rust"), ("width", "64")], &["log", "FILE", "rust", "--strip", "64"]),
        ("test", &[("checkpoint", "rust"), ("step", "true")], &["test", "FILE", "rust", "--step"]),
        ("export", &[("thread", "zig"), ("redact", "true")], &["export", "FILE", "zig", "--redact"]),
    ];
    for (route, query, words) in cases {
        let words: Vec<&str> = words.iter().map(|word| if *word == "FILE" { path } else { word }).collect();
        assert_eq!(page.read(route, query).await, printed(&words), "{route} {query:?}");
        // A second time, from what is remembered.
        assert_eq!(page.read(route, query).await, printed(&words), "{route} {query:?}");
    }
    let mut asked = page.read("interrupts", &[]).await;
    for question in asked["interrupts"].as_array_mut().unwrap() {
        assert_eq!(question.as_object_mut().unwrap().remove("schema"), Some(Value::Null));
    }
    assert_eq!(asked, printed(&["interrupts", path]));
    assert_eq!(asked["total"], 1);
    let tested: BTreeSet<&str> = cases.iter().map(|(route, ..)| *route).chain(["interrupts"]).collect();
    assert_eq!(tested, READS.iter().map(|read| read.path).collect());
}

#[tokio::test]
async fn the_session_tells_what_the_page_can_do() {
    let file = written().await;
    let session = Page::of(&file.path).read("session", &[]).await;
    assert_eq!(session["file"], file.path.to_str().unwrap());
    assert_eq!((&session["program"], &session["verbs"]), (&json!(false), &json!([])));
    assert_eq!(session["graphs"], json!(["essay"]));
    assert_eq!(session["format"], superstep_checkpoint::SqliteReader::FORMAT);
}

#[tokio::test]
async fn the_parts_of_a_list_are_the_list() {
    let file = written().await;
    let page = Page::of(&file.path);
    let whole = page.read("log", &[("thread", "rust"), ("graph", "true")]).await;
    let rows = whole["checkpoints"].as_array().unwrap();
    assert_eq!((whole["total"].as_u64(), whole["more"].as_bool()), (Some(rows.len() as u64), Some(false)));
    let mut parts = Vec::new();
    for from in 0..rows.len() {
        let query = [("thread", "rust"), ("graph", "true"), ("from", &*from.to_string()), ("count", "1")];
        let part = page.read("log", &query).await;
        assert_eq!((part["from"].as_u64(), &part["total"]), (Some(from as u64), &whole["total"]));
        assert_eq!(part["more"], from + 1 < rows.len());
        parts.extend(part["checkpoints"].as_array().unwrap().clone());
    }
    assert_eq!(parts, *rows);
    let beyond = page.read("log", &[("thread", "rust"), ("graph", "true"), ("from", "1000")]).await;
    assert_eq!((beyond["checkpoints"].as_array().unwrap().len(), &beyond["total"]), (0, &whole["total"]));
    // The rows around the oldest checkpoint are the last ones.
    let oldest = rows.last().unwrap()["id"].as_str().unwrap();
    let query = [("thread", "rust"), ("graph", "true"), ("around", oldest), ("count", "3")];
    let around = page.read("log", &query).await;
    assert_eq!(around["checkpoints"].as_array().unwrap()[..], rows[rows.len() - 3..]);
    // The tree has a second lane where `zig` begins, and the question with its answer.
    assert!(rows.iter().any(|row| row["branches"] == json!([1])), "{rows:?}");
    let answers = rows.iter().filter_map(|row| row["questions"][0]["answer"].as_str());
    assert_eq!(answers.collect::<Vec<_>>(), ["good"]);
    let failed = page.read("log", &[("thread", "trouble")]).await;
    assert_eq!(failed["checkpoints"][0]["failures"][0]["error"]["message"], "the pen is broken");
}

#[tokio::test]
async fn tokens_are_those_of_subgraphs_too() {
    let file = written().await;
    let page = Page::of(&file.path);
    let log = page.read("log", &[("thread", "rust")]).await;
    let used = |step: i64| {
        let line = log["checkpoints"].as_array().unwrap().iter().find(|line| line["step"] == step).unwrap();
        line["used"].clone()
    };
    let call = json!({
        "model_calls": 1, "input_tokens": 12, "output_tokens": 3, "cache_read_tokens": 4, "elapsed_ms": 7
    });
    // The subgraph ran in the first superstep, and `write` in the second.
    assert_eq!((used(1), used(2)), (call.clone(), call));
    let threads = page.read("threads", &[]).await;
    let tokens: Vec<&Value> =
        threads["threads"].as_array().unwrap().iter().map(|thread| &thread["tokens"]).collect();
    // `zig` shares the search with `rust`, so it is counted there.
    assert_eq!(tokens, [&json!(30), &json!(15), &json!(15)]);
    let calls = page.read("calls", &[("checkpoint", "rust@1")]).await;
    let base = log["checkpoints"].as_array().unwrap().iter().find(|line| line["step"] == 0).unwrap();
    assert_eq!(calls["calls"][0]["subgraph"], "rust/research#1");
    assert_ne!(calls["calls"][0]["planned_on"], base["id"], "the subgraph's own checkpoint");
    let own = page.read("calls", &[("checkpoint", "rust@2")]).await;
    let base = log["checkpoints"].as_array().unwrap().iter().find(|line| line["step"] == 1).unwrap();
    assert_eq!(own["calls"][0]["planned_on"], base["id"]);
}

#[tokio::test]
async fn a_secret_is_nowhere() {
    let file = written().await;
    let page = Page::of(&file.path);
    for (route, query) in [
        ("threads", vec![]),
        ("log", vec![("thread", "rust"), ("graph", "true")]),
        ("show", vec![("checkpoint", "rust")]),
        ("show", vec![("checkpoint", "rust"), ("path", "token")]),
        ("diff", vec![("checkpoint", "rust@-1")]),
        ("blame", vec![("checkpoint", "rust"), ("path", ".")]),
        ("compare", vec![("a", "rust"), ("b", "zig")]),
        ("test", vec![("checkpoint", "rust")]),
    ] {
        let (_, document) = page.get(route, &query).await;
        assert!(!document.to_string().contains("sesame"), "{route} {query:?}: {document}");
    }
}

#[tokio::test]
async fn errors_have_the_text_of_the_command_line() {
    let file = written().await;
    let page = Page::of(&file.path);
    for (route, query, status, text) in [
        ("log", vec![("thread", "rost")], 404, "there is no thread or checkpoint rost; did you mean rust?"),
        ("log", vec![], 422, "thread: it is missing"),
        ("log", vec![("thread", "rust"), ("count", "501")], 422, "count: 501 is more than 500"),
        ("log", vec![("thread", "rust"), ("from", "-1")], 422, "from: \"-1\" is not a whole number from 0"),
        (
            "log",
            vec![("threat", "rust")],
            422,
            "threat: log has no such parameter, but thread, from, count, graph",
        ),
        ("grep", vec![("pattern", "(")], 422, "invalid value '(' for '<PATTERN>'"),
        ("threads", vec![("status", "sleeping")], 422, "invalid value 'sleeping' for '--status <STATUS>'"),
        ("show", vec![("checkpoint", "rust@77")], 404, "thread rust has no step 77"),
        ("strip", vec![("thread", "rust")], 422, "width: it is missing"),
        (
            "log",
            vec![("thread", "rust"), ("graph", "true"), ("depth", "1")],
            422,
            "the argument '--graph' cannot be used with '--depth <N>'",
        ),
        ("bisect", vec![("checkpoint", "rust")], 422, "the following required arguments were not provided"),
        ("nothing", vec![], 404, "Not Found"),
    ] {
        let (found, error) = page.get(route, &query).await;
        let detail = error["detail"].as_str().unwrap();
        assert_eq!(found, status, "{route} {query:?}: {detail}");
        assert!(detail.starts_with(text) && !detail.contains("Usage:"), "{route} {query:?}: {detail}");
    }
}

/// A value of a parameter was once an option of the verb.
#[tokio::test]
async fn no_value_is_an_option() {
    let file = written().await;
    let page = Page::of(&file.path);
    let out = file.folder.path().join("out.json");
    let (test, output) = (format!("--test=touch {}", out.display()), format!("-o{}", out.display()));
    for words in ["--help", "-h", "--version", "--", "-n=1", &test, &output, "--key-file=/etc/passwd"] {
        for read in READS {
            let params: Vec<(&str, &str)> = read.params.iter().map(|(name, _)| (*name, words)).collect();
            let (status, document) = page.get(read.path, &params).await;
            assert!((400..500).contains(&status), "{} {words}: {status} {document}", read.path);
        }
    }
    assert!(!out.exists());
}

#[test]
fn a_query_becomes_the_words_of_a_verb() {
    let read = READS.iter().find(|read| read.path == "log").unwrap();
    let words = read.words(&Query::parse("thread=a%20b&graph=1&around=x&from=3&count=0")).unwrap();
    assert_eq!(words.options, ["-n=1", "--graph", "--around=x"]);
    assert_eq!(words.arguments, ["a b"]);
    let words = read.words(&Query::parse("thread=--graph&graph=false")).unwrap();
    assert_eq!(words.options, ["--skip=0", "-n=50"]);
    assert_eq!(words.arguments, ["--graph"]);
}

#[test]
fn a_studio_without_a_program_has_no_route_that_writes() {
    let methods = |has_program| -> Vec<(String, &str)> {
        routes(has_program).iter().map(|route| (route.method.to_string(), route.path)).collect()
    };
    let (reads, all) = (methods(false), methods(true));
    assert!(reads.iter().all(|(method, _)| method == "GET"));
    let writes: Vec<&str> = all.iter().filter(|(method, _)| method != "GET").map(|(_, path)| *path).collect();
    assert_eq!(
        writes,
        ["preview", "edit", "fork", "name", "answer", "run", "resume", "rerun", "replay", "cancel"]
    );
    assert_eq!(reads.len() + writes.len(), all.len());
}
