use rusqlite::Connection;
use serde_json::json;
use superstep_core::run::CancellationToken;
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::{Tool, ToolOutcome, ToolRegistry, ToolResult, ToolSession};

use super::*;

/// A database of two people, in a folder of its own.
struct Database {
    folder: tempfile::TempDir,
}

impl Database {
    fn new() -> Self {
        let database = Self { folder: tempfile::tempdir().unwrap() };
        database
            .connection()
            .execute_batch(
                "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, height REAL, photo BLOB);
                 CREATE INDEX by_name ON people (name);
                 INSERT INTO people VALUES (1, 'Ada', 1.65, x'0102'), (2, 'Grace', NULL, NULL);",
            )
            .unwrap();
        database
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("people.db")
    }

    fn connection(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn names(&self) -> String {
        let names = "SELECT group_concat(name ORDER BY id) FROM people";
        self.connection().query_row(names, [], |row| row.get(0)).unwrap()
    }

    async fn call(&self, tool: SqlQuery, input: Value) -> ToolResult {
        let call = ToolCall::new("c", SqlQuery::NAME, input);
        let context = ToolContext::new(&call, ToolSession::new());
        ToolRegistry::new().with(tool).unwrap().call(&call, &context).await
    }

    async fn read(&self, sql: &str) -> ToolResult {
        self.call(SqlQuery::new(self.path()), json!({ "sql": sql })).await
    }

    async fn write(&self, sql: &str) -> ToolResult {
        self.call(SqlQuery::new(self.path()).writable(), json!({ "sql": sql })).await
    }
}

fn said(result: &ToolResult) -> String {
    result.content.to_text().into_owned()
}

#[tokio::test]
async fn a_question_is_answered_with_columns_and_rows() {
    let database = Database::new();
    let answer = database.read("SELECT * FROM people ORDER BY id").await;
    assert_eq!(
        said(&answer),
        "[\"id\",\"name\",\"height\",\"photo\"]\n[1,\"Ada\",1.65,\"[2 bytes]\"]\n[2,\"Grace\",null,null]\n[2 rows]\n"
    );
    assert_eq!(answer.data.unwrap()["rows"][1], json!([2, "Grace", null, null]));
    let input =
        json!({ "sql": "SELECT name FROM people WHERE id = ? OR name = ?", "parameters": [2, "Nobody"] });
    let answer = database.call(SqlQuery::new(database.path()), input).await;
    assert_eq!(said(&answer), "[\"name\"]\n[\"Grace\"]\n[1 row]\n");
    for question in ["SELECT sql FROM sqlite_schema", "PRAGMA table_info(people)", "EXPLAIN SELECT 1"] {
        assert_eq!(database.read(question).await.outcome(), ToolOutcome::Ok, "{question}");
    }
}

#[tokio::test]
async fn what_does_more_than_read_is_refused() {
    let database = Database::new();
    let other = database.folder.path().join("other.db");
    for statement in [
        "INSERT INTO people (name) VALUES ('Eve')",
        "UPDATE people SET name = 'Eve'",
        "DELETE FROM people",
        "DROP TABLE people",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)",
        "WITH x AS (SELECT 1) INSERT INTO people (name) SELECT 'Eve'",
        &format!("ATTACH '{}' AS other", other.display()),
        &format!("VACUUM INTO '{}'", other.display()),
        "PRAGMA user_version = 7",
        "PRAGMA journal_mode = WAL",
        "PRAGMA query_only = 0",
        "PRAGMA writable_schema = 1",
        "BEGIN",
        "SAVEPOINT s",
        "SELECT load_extension('/tmp/x.so')",
        "CREATE VIRTUAL TABLE t USING fts5(a)",
        "REINDEX",
        "ANALYZE",
    ] {
        let refused = database.read(statement).await;
        assert_eq!(refused.outcome(), ToolOutcome::Error, "{statement}: {}", said(&refused));
    }
    assert!(!other.exists());
    assert_eq!(database.names(), "Ada,Grace");
    assert_eq!(
        said(&database.read("DELETE FROM people").await),
        "the tool `sql_query` failed: this is not allowed: statements may only read (not authorized)"
    );
}

#[tokio::test]
async fn a_program_may_let_statements_write() {
    let database = Database::new();
    let answer = database.write("INSERT INTO people (name) VALUES ('Alan') RETURNING id").await;
    assert_eq!(said(&answer), "[\"id\"]\n[3]\n[1 row]\n[1 row was changed]\n");
    assert_eq!(said(&database.write("CREATE TABLE t (a)").await), "[0 rows were changed]\n");
    assert_eq!(database.names(), "Ada,Grace,Alan");
    let other = database.folder.path().join("other.db");
    for statement in [
        &format!("ATTACH '{}' AS other", other.display()),
        &format!("VACUUM INTO '{}'", other.display()),
        "PRAGMA user_version = 7",
        "COMMIT",
        "ROLLBACK",
        "SELECT load_extension('/tmp/x.so')",
    ] {
        let refused = database.write(statement).await;
        assert_eq!(refused.outcome(), ToolOutcome::Error, "{statement}: {}", said(&refused));
    }
    assert!(!other.exists());
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_interrupted_and_changes_nothing() {
    let database = Database::new();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
    let short = Duration::from_millis(50);
    let tool = SqlQuery::new(database.path()).with_time(short);
    let input = json!({ "sql": format!("{endless} SELECT count(*) FROM n") });
    let answer = database.call(tool.clone(), input).await;
    assert!(
        said(&answer).ends_with("the statement took longer than 50ms and was interrupted"),
        "{}",
        said(&answer)
    );
    let input = json!({ "sql": format!("{endless} INSERT INTO people (name) SELECT i FROM n") });
    let answer = database.call(tool.writable(), input).await;
    assert!(said(&answer).ends_with("was interrupted"), "{}", said(&answer));
    assert_eq!(database.names(), "Ada,Grace");
}

#[tokio::test]
async fn an_abandoned_statement_is_interrupted() {
    let database = Database::new();
    let gone = CancellationToken::new();
    gone.cancel();
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let call = ToolCall::new("c", SqlQuery::NAME, json!({ "sql": sql }));
    let context = ToolContext::new(&call, ToolSession::new()).cancel_on(&gone);
    let stopped = SqlQuery::new(database.path()).call(call.input.clone(), &context).await;
    assert_eq!(stopped.unwrap_err().to_string(), "stopped");
}

#[tokio::test]
async fn rows_and_values_are_limited() {
    let database = Database::new();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let input = json!({ "sql": endless, "limit": 2 });
    let answer = database.call(SqlQuery::new(database.path()), input).await;
    assert_eq!(said(&answer), "[\"i\"]\n[1]\n[2]\n[these are the first 2 rows; there are more]\n");
    let wide =
        database.read("SELECT printf('%.*c', 3000, 'x') AS x, people.name FROM people, sqlite_schema").await;
    assert!(said(&wide).contains("x [… 1000 characters more]\""), "{}", said(&wide));
    let huge = database.read("SELECT zeroblob(100000000)").await;
    assert!(said(&huge).ends_with("string or blob too big"), "{}", said(&huge));
}

#[tokio::test]
async fn a_mistake_is_reported_with_its_place() {
    let database = Database::new();
    let wrong = said(&database.read("SELECT nme FROM people").await);
    assert_eq!(wrong, "the tool `sql_query` failed: no such column: nme, at byte 7");
    let two = said(&database.read("SELECT 1; SELECT 2").await);
    assert!(two.ends_with("there is more than one statement: run them one by one"), "{two}");
    let input = json!({ "sql": "SELECT ?", "parameters": [] });
    assert_eq!(database.call(SqlQuery::new(database.path()), input).await.outcome(), ToolOutcome::Error);
    let input = json!({ "sql": "SELECT ?", "parameters": [[1]] });
    let invalid = database.call(SqlQuery::new(database.path()), input).await;
    assert_eq!(invalid.outcome(), ToolOutcome::Invalid);
    let missing = SqlQuery::new(database.folder.path().join("none.db"));
    let answer = said(&database.call(missing, json!({ "sql": "SELECT 1" })).await);
    assert!(answer.contains("the database cannot be opened: "), "{answer}");
    assert!(!database.folder.path().join("none.db").exists());
}

#[test]
fn a_tool_that_may_write_says_so() {
    let (reading, input) = (SqlQuery::new("a.db"), json!({ "sql": "SELECT 1" }));
    let writing = reading.clone().writable();
    assert!(reading.is_read_only(&input) && reading.is_concurrency_safe(&input));
    assert!(
        !writing.is_read_only(&input)
            && !writing.is_concurrency_safe(&input)
            && writing.is_destructive(&input)
    );
    assert_eq!((reading.effect(&input), writing.effect(&input)), (ToolEffect::ReadOnly, ToolEffect::Changes));
    assert!(reading.prompt().contains("read and not changed") && writing.prompt().contains("may change it"));
}
