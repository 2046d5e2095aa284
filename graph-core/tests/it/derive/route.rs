//! `#[derive(Route)]`.

use serde::{Deserialize, Serialize};
use superstep::node::IntoOutcome;
use superstep::route::Route;
use superstep::state::State;

#[derive(State, Clone, Default)]
struct Essay {
    topic: String,
}

/// A payload without `Default`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Query(String);

#[derive(Route, Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Plan {
    Research(Vec<Query>),
    Ask {
        question: String,
        #[route(example = Query("why".to_owned()))]
        query: Query,
    },
    Look(u8, #[route(example = Query("where".to_owned()))] Query),
    #[route(example = Plan::Retry(Query("again".to_owned())))]
    Retry(Query),
    Write,
    r#Loop,
}

#[test]
fn there_is_one_example_for_each_case() {
    let cases = Plan::cases();
    for case in &cases {
        assert_eq!(case.example.case(), case.name);
    }
    let examples: Vec<_> = cases.into_iter().map(|case| (case.name, case.example)).collect();
    let query = |text: &str| Query(text.to_owned());
    assert_eq!(
        examples,
        [
            ("Research", Plan::Research(Vec::new())),
            ("Ask", Plan::Ask { question: String::new(), query: query("why") }),
            ("Look", Plan::Look(0, query("where"))),
            ("Retry", Plan::Retry(query("again"))),
            ("Write", Plan::Write),
            ("Loop", Plan::Loop),
        ]
    );
}

#[test]
fn a_route_is_what_a_node_returns() {
    let output = IntoOutcome::<Essay>::into_outcome(Plan::Write).unwrap();
    assert!(output.update.is_none());
    assert_eq!(output.route, Plan::Write);

    let output = IntoOutcome::<Essay>::into_outcome((Essay::update().topic("a"), Plan::Write)).unwrap();
    assert!(output.update.is_some());
    let failed: Result<Plan, std::io::Error> = Err(std::io::ErrorKind::NotFound.into());
    assert!(IntoOutcome::<Essay>::into_outcome(failed).is_err());
}

#[derive(Route, Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Next<T, const N: usize> {
    Go(T),
    Each(Vec<T>),
    Stop,
}

#[test]
fn a_route_may_have_parameters() {
    let names: Vec<_> = Next::<String, 3>::cases().iter().map(|case| case.name).collect();
    assert_eq!(names, ["Go", "Each", "Stop"]);
    assert_eq!(Next::<u8, 0>::Go(1).case(), "Go");
    assert!(IntoOutcome::<Essay>::into_outcome(Next::<u8, 0>::Stop).is_ok());
}
