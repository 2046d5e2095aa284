//! An agent of your own: it answers questions about a SQLite file, with queries and charts.
//!
//! ```text
//! cargo run --features assistant --bin analyst                      # which city sells most? without a network
//! cargo run --features assistant --bin analyst -- debug log session # or another verb of the debugger: debug --help
//!
//! SUPERSTEP_MODEL=anthropic:claude-sonnet-4-5 \
//!     cargo run --features assistant,providers --bin analyst -- "Did sales grow?"
//! ```
//!
//! Everything is in the folder `analyst`: the database, the charts, and the session, which the next question continues.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use rusqlite::Connection;
use superstep::nodes::assistant::budget::Limits;
use superstep::nodes::assistant::context::ContextProfile;
use superstep::nodes::assistant::permission::Permissions;
use superstep::nodes::assistant::{AssistantConfig, AssistantState, Domain, assistant};
use superstep::nodes::model::{ChatModel, Prices, Scripted};
use superstep::nodes::tools::SqlQuery;
use superstep::prelude::*;
use superstep_examples::{Example, ended, model, print};

const EXAMPLE: Example = Example { name: "analyst", features: &["assistant"] };

const QUESTION: &str = "Which city sells the most umbrellas?";

/// The rows of the database.
const SALES: &str = "
    CREATE TABLE IF NOT EXISTS sales (day TEXT, city TEXT, umbrellas INTEGER);
    DELETE FROM sales;
    INSERT INTO sales VALUES
        ('2026-03-01', 'Bern', 3), ('2026-03-01', 'Oslo', 2), ('2026-03-01', 'Rome', 1),
        ('2026-03-02', 'Bern', 4), ('2026-03-02', 'Oslo', 5), ('2026-03-02', 'Rome', 0);
";

/// The work of a model on the question, for a machine without one: a query, a chart, an answer.
fn script() -> Arc<dyn ChatModel> {
    let sql = "SELECT city, sum(umbrellas) AS sold FROM sales GROUP BY city ORDER BY sold DESC";
    let chart = serde_json::json!({
        "path": "charts/cities.svg", "title": "Umbrellas", "form": "bars", "sql": sql, "x": "city", "y": ["sold"],
    });
    Arc::new(
        Scripted::new()
            .call("query", "sql_query", serde_json::json!({ "sql": sql }))
            .call("chart", "draw_chart", chart)
            .say("Bern and Oslo sell the most, 7 umbrellas each. The chart is charts/cities.svg."),
    )
}

/// Sets up the agent: the domain of data, short sessions, at most 200,000 tokens for each, and no questions to a
/// person. It may read the database, and draw into the folder `charts`; everything else is denied.
fn analyst(model: Arc<dyn ChatModel>, folder: &Path, database: &Path) -> AssistantConfig {
    AssistantConfig::new(model)
        .workspace(folder)
        .permissions(Permissions::new().headless())
        .domain(Domain::data(SqlQuery::new(database)))
        .length(ContextProfile::Short)
        .budget(Limits { tokens: Some(200_000), ..Limits::default() }, Prices::none())
}

#[tokio::main]
async fn main() -> ExitCode {
    ended(run().await)
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let folder = Path::new("analyst");
    std::fs::create_dir_all(folder)?;
    let database = folder.join("sales.db");
    Connection::open(&database)?.execute_batch(SALES)?;

    let model = match model::chosen(None)? {
        Some(name) => model::open::<Box<dyn Error>>(&name, EXAMPLE)?,
        None => script(),
    };
    let sessions = SqliteSaver::open(folder.join("sessions.db")).await?;
    let graph = assistant(analyst(model, folder, &database))?.checkpointer(sessions);
    if let Some(exit) = superstep::debugger(&[&graph]).subcommand("debug").await {
        return Ok(exit);
    }
    if let Some(exit) = superstep::serve(&[&graph]).subcommand("serve").await {
        return Ok(exit);
    }
    let question = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let question = if question.is_empty() { QUESTION } else { &question };
    let state = graph.thread("session").run(AssistantState::ask(question)).await?.finished()?;
    for decision in &state.decisions {
        print(format_args!("[{}: {:?}, {}]", decision.tool, decision.verdict, decision.reason))?;
    }
    print(state.response())?;
    Ok(ExitCode::SUCCESS)
}
