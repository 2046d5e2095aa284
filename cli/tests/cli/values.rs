//! Values on the command line: comparisons that fit their types, keys that are found, and items that wrote them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use superstep::cli::{Exit, Look};
use superstep::prelude::*;
use tempfile::TempDir;

use crate::said;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Survey {
    #[reducer(Merge)]
    ratings: BTreeMap<String, u32>,
    #[reducer(Append)]
    remarks: Vec<String>,
    status: String,
    best: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Judge {
    name: String,
    ratings: BTreeMap<String, u32>,
}

#[derive(Route, Serialize, Deserialize)]
enum Panel {
    Judges(Vec<Judge>),
}

/// A thread on which three judges rate the same things at once, and then the best is chosen.
async fn written() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("survey.db");
    let judge = |name: &str, ratings: &[(&str, u32)]| Judge {
        name: name.into(),
        ratings: ratings.iter().map(|(key, rating)| ((*key).to_owned(), *rating)).collect(),
    };
    let judges = vec![
        judge("ada", &[("tea", 40)]),
        judge("bob", &[("tea", 45), ("rum", 20)]),
        judge("cy", &[("tea", 40)]),
    ];
    let mut g = StateGraph::<Survey>::new("survey");
    let plan = g.node("plan", move || {
        let judges = judges.clone();
        async move { Panel::Judges(judges) }
    });
    let rate = g.node("rate", async |judge: Input<Judge>| {
        let remark = format!("{} said a lot before coming to the needle in all this hay", judge.name);
        Survey::update().ratings(judge.ratings.clone()).remarks([remark])
    });
    let close = g.node("close", async |survey: Snapshot<Survey>| {
        Survey::update().status("closed").best(survey.ratings.values().max().copied())
    });
    g.edge(START, plan);
    g.route(plan, move |Panel::Judges(judges)| each(rate, judges));
    g.edge(rate, close);
    g.edge(close, END);
    let surveys = g.compile().unwrap().checkpointer(SqliteSaver::open(&path).await.unwrap());
    surveys.thread("s").run(Survey::update().status("open")).await.unwrap().finished().unwrap();
    (folder, path)
}

/// A comparison with a map or a text used to hold nowhere, as if the values had been compared.
#[tokio::test]
async fn a_comparison_that_does_not_fit_is_an_error_and_no_answer() {
    let (_folder, path) = written().await;
    let bisect = |path_and_is: &str| said(&path, Look::PIPED, &format!("bisect FILE s {path_and_is}"));
    let first = |line: &str| bisect(line).out.lines().next().unwrap_or_default().to_owned();
    assert_eq!(first("--path ratings --is '>= 2'"), "it first holds at s@2");
    assert_eq!(first("--path ratings --is '>= 40'"), "it holds nowhere", "it has two entries");
    assert_eq!(first("--path ratings.tea --is '>= 40'"), "it first holds at s@2");
    assert_eq!(first("--path remarks --is '> 2'"), "it first holds at s@2");
    assert_eq!(first("--path best --is '> 40'"), "it holds nowhere", "it is null until it is 40");
    assert_eq!(first("--path best --is '= 40'"), "it first holds at s@3");
    assert_eq!(first("--path status --is '< \"d\"'"), "it first holds at s@3");
    for (line, error) in [
        (
            "--path status --is '>= 40'",
            "error: status of s@0 is a text; it can be compared with a text in quotes, as in '< \"m\"', or with = and ~\n",
        ),
        (
            "--path ratings --is '> \"a\"'",
            "error: ratings of s@2 is a map; the number of its items can be compared with a number\n",
        ),
        (
            "--path status --is '= 40'",
            "error: status is a text; = and != compare it with JSON of that type\n",
        ),
    ] {
        let told = bisect(line);
        assert_eq!((told.exit, &*told.out), (Exit::Unusable, ""), "{line}");
        assert!(told.err == error, "{line}: {}", told.err);
    }
    let nothing = bisect("--path rating.tea --is '>= 40'");
    assert_eq!(nothing.exit, Exit::No);
    assert!(
        nothing.err.starts_with("error: there is nothing at rating.tea in any of the "),
        "a misspelt path is no answer: {}",
        nothing.err
    );
    assert!(nothing.err.ends_with("their fields are best, ratings, remarks, status\n"), "{}", nothing.err);
}

/// `grep` used to search values only, and showed the beginning of a long line, without the match.
#[tokio::test]
async fn a_search_finds_keys_and_shows_the_match() {
    let (_folder, path) = written().await;
    let keys = said(&path, Look::PIPED, "grep FILE ^rum$").out;
    let places: Vec<&str> = keys.lines().map(|line| line.split_whitespace().nth(2).unwrap()).collect();
    assert_eq!(places, ["ratings.rum"], "{keys}");
    assert!(keys.contains("the key rum"), "{keys}");

    let on = Look { width: Some(60), color: false };
    let shown = said(&path, on, "grep FILE needle").out;
    assert!(shown.lines().count() >= 3 && shown.lines().all(|line| line.contains("needle")), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 60 && line.contains('…')), "{shown}");
    let whole = said(&path, Look::PIPED, "grep FILE needle").out;
    assert!(whole.contains("ada said a lot before coming to the needle in all this hay"), "{whole}");
    let found = said(&path, Look::PIPED, "grep FILE nee.le --json").out;
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(
        (&found["matches"][0]["match"], &found["matches"][0]["part"]),
        (&"needle".into(), &"value".into())
    );
}

/// All items of a fan-out used to be authors of the entry that one of them had written, and the replaced value was not
/// shown.
#[tokio::test]
async fn a_key_is_blamed_on_the_item_that_wrote_it() {
    let (_folder, path) = written().await;
    let blamed = said(&path, Look::PIPED, "blame FILE s ratings.tea").out;
    let lines: Vec<&str> = blamed.lines().collect();
    assert!(lines[1].contains("rate {\"name\":\"cy\",\"ratings\":{\"tea\":40}}"), "{blamed}");
    assert!(lines[1].ends_with("ratings.tea  40"), "{blamed}");
    assert!(lines[2].starts_with("      overwrote what rate {\"name\":\"bob\""), "{blamed}");
    assert!(lines[2].ends_with("wrote at step 2: 45"), "{blamed}");
    let rum = said(&path, Look::PIPED, "blame FILE s ratings.rum --json").out;
    let rum: serde_json::Value = serde_json::from_str(&rum).unwrap();
    assert_eq!(rum["parts"][0]["author"]["item"]["name"], "bob");
    assert!(rum["parts"][0].get("overwrote").is_none(), "{rum}");
}
