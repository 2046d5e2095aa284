//! Snippets of `docs/routing-and-fan-out.md`.

use serde::{Deserialize, Serialize};
use superstep::prelude::*;

#[derive(State, Clone, Debug, Default)]
struct Report {
    pages: u32,
    #[reducer(Append)]
    lines: Vec<String>,
}

#[derive(Route, Serialize, Deserialize)]
enum Plan {
    Read(Vec<u32>),
    Skip,
}

#[derive(Route, Serialize, Deserialize)]
enum Size {
    Small,
    Large,
}

async fn plan(report: Snapshot<Report>) -> Plan {
    match report.pages {
        0 => Plan::Skip,
        pages => Plan::Read((1..=pages).collect()),
    }
}

async fn read(page: Input<u32>) -> Update<Report> {
    Report::update().lines([format!("page {}", *page)])
}

async fn count(report: Snapshot<Report>) -> Update<Report> {
    Report::update().lines([format!("{} pages", report.lines.len())])
}

async fn log() -> Update<Report> {
    Report::update().lines(["logged"])
}

async fn done() {}

#[tokio::test]
async fn a_route_fans_out() -> super::Result {
    let mut g = StateGraph::<Report>::new("report");
    let plan = g.node("plan", plan);
    let read = g.node("read", read);
    let count = g.node("count", count);
    let log = g.node("log", log);
    let done = g.node("done", done);
    g.edge(START, plan);
    g.route(plan, move |plan| match plan {
        Plan::Read(pages) => each(read, pages).and(to(log)), // one task per page, and `log` beside them
        Plan::Skip => to(done),
    });
    g.edge(read, count); // one task, after all pages
    g.join([count, log], done); // when both have run
    g.edge(done, END);
    let report = g.compile()?.run(Report::update().pages(3)).await?.finished()?;
    assert_eq!(report.lines, ["logged", "page 1", "page 2", "page 3", "4 pages"]);
    Ok(())
}

#[tokio::test]
async fn a_branch_looks_at_the_state() -> super::Result {
    let mut g = StateGraph::<Report>::new("report");
    let count = g.node("count", count);
    let shorten = g.node("shorten", log);
    g.edge(START, count);
    g.branch(
        count,
        |report: &Report| {
            if report.lines.len() > 10 { Size::Large } else { Size::Small }
        },
        move |size| match size {
            Size::Large => to(shorten),
            Size::Small => END,
        },
    );
    g.edge(shorten, END);
    assert_eq!(g.compile()?.run(Report::default()).await?.finished()?.lines, ["0 pages"]);
    Ok(())
}
