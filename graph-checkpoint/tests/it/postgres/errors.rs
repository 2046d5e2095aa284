//! The texts of errors: each says what happened, and what to do.

use std::time::Duration;

use superstep_checkpoint::{PostgresOptions, PostgresSaver, PostgresStore};
use superstep_core::checkpoint::{At, Checkpointer, CheckpointerExt, Committed, StoreError};
use superstep_core::state::{Json, SizeLimits};
use superstep_core::store::{Namespace, Put, Search, Store, StoreBackend};
use tokio_postgres::{Client, NoTls};

use super::cluster::{Cluster, Settings, free_port};
use super::run;
use crate::material::{commit_of, graph, set, step, thread};

fn options() -> PostgresOptions {
    PostgresSaver::options().busy_limit(Duration::from_millis(500))
}

/// Opens the database, and expects this error.
async fn refused(options: PostgresOptions, url: &str, text: &str) {
    let error = options.open(url).await.expect_err("it is refused");
    assert!(matches!(error, StoreError::Io(_)), "{error:?}");
    assert!(!format!("{error:?} {error}").contains("hunter2"), "{error:?}");
    assert_eq!(error.to_string(), format!("the store failed: {text}"));
}

/// Commits to the saver and puts into its store, and expects this error of both.
async fn fails(saver: &PostgresSaver, text: &str) {
    let text = format!("the store failed: {text}");
    let error = saver.commit(commit_of("fails", &step(None, []))).await.expect_err("it fails");
    assert_eq!(error.to_string(), text);
    let store = saver.store();
    let error = store.put(put("1"), 0).await.expect_err("it fails");
    assert_eq!(error.to_string(), text);
}

fn put(value: &str) -> Put {
    let namespace = Namespace::new(&["n"]).expect("a name");
    Put { namespace, key: "k".to_owned(), value: Json::parse(value).expect("JSON"), expires_ms: None }
}

/// Runs statements in a transaction that stays open.
async fn transaction(cluster: &Cluster, sql: &str) -> Client {
    let (client, connection) =
        tokio_postgres::connect(&cluster.url("superstep"), NoTls).await.expect("the server accepts it");
    tokio::spawn(connection);
    client.batch_execute(&format!("BEGIN; {sql}")).await.expect("the statements are valid");
    client
}

#[test]
fn an_address_or_a_user_is_wrong() {
    let access =
        "local all secret scram-sha-256\nlocal all all trust\nhostnossl all all 127.0.0.1/32 trust\n";
    let settings = Settings { port: Some(free_port()), access: Some(access), certificate: None };
    let Some(cluster) = Cluster::with(settings) else { return };
    run(async {
        cluster.execute(
            "CREATE ROLE secret LOGIN PASSWORD 'right'; CREATE ROLE limited LOGIN CONNECTION LIMIT 1; \
             GRANT CREATE ON DATABASE postgres TO limited; CREATE ROLE strict LOGIN; \
             ALTER ROLE strict SET default_transaction_isolation TO 'serializable'",
        );
        let url = cluster.url("superstep");
        refused(
            options(),
            "postgres:/x",
            "the address of the database is not valid: invalid connection string: unexpected EOF; write \
             postgres://user@host/database",
        )
        .await;
        refused(
            options(),
            "host=/nowhere user=superstep password=hunter2",
            "failed to connect to the database: error connecting to server: No such file or directory (os error 2); check its \
             address and that it is running",
        )
        .await;
        refused(
            options(),
            &url.replace("dbname=postgres", "dbname=elsewhere"),
            "the database does not exist: database \"elsewhere\" does not exist; create it first",
        )
        .await;
        refused(
            options(),
            &cluster.url("no_such_role"),
            "the database refused the user: role \"no_such_role\" does not exist; check the user and the password",
        )
        .await;
        refused(
            options(),
            &format!("{} password=hunter2", cluster.url("secret")),
            "the database refused the user: password authentication failed for user \"secret\"; check the user and the password",
        )
        .await;
        refused(
            options(),
            &format!("{} sslmode=require", cluster.network_url("superstep")),
            "the connection to the database cannot be secured with TLS: server does not support TLS; check `sslmode` and \
             `sslrootcert`",
        )
        .await;
        refused(
            options(),
            &cluster.url("strict"),
            "the default isolation level of the user is serializable: set its `default_transaction_isolation` to 'read \
             committed'",
        )
        .await;
        let only =
            options().schema("of_limited").open(cluster.url("limited")).await.expect("it has one connection");
        refused(
            options().schema("of_limited"),
            &cluster.url("limited"),
            "the database has no more connections: too many connections for role \"limited\"; raise its `max_connections`, or \
             lower those of its users",
        )
        .await;
        drop(only);
    });
}

#[test]
fn a_schema_is_not_that_of_this_program() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let url = cluster.url("superstep");
        refused(
            options().schema("a b"),
            &url,
            "\"a b\" is not a name for a schema: use 1 to 63 letters, digits, hyphens and underscores of ASCII",
        )
        .await;
        refused(
            options().schema("none").no_migrate(),
            &url,
            "the schema none does not exist or has no checkpoints: open it once without `no_migrate`",
        )
        .await;
        cluster.execute("CREATE SCHEMA theirs; CREATE TABLE theirs.thread(id integer)");
        let theirs = "the schema theirs contains tables of another program: choose another schema";
        refused(options().schema("theirs"), &url, theirs).await;
        let saver = options().schema("other_format").open(&url).await.expect("it is created");
        cluster.execute("UPDATE other_format.format SET version = 7");
        refused(
            options().schema("other_format"),
            &url,
            "the schema other_format has format 7; this program supports up to 1: update the program",
        )
        .await;
        cluster.execute("UPDATE other_format.format SET version = 0");
        refused(
            options().schema("other_format"),
            &url,
            "the schema other_format has format 0, which this program neither reads nor upgrades: choose another schema",
        )
        .await;
        drop(saver);
    });
}

#[test]
fn a_user_lacks_a_right() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        cluster.execute("CREATE ROLE poor LOGIN");
        let remedy = "grant it, or open the saver as the owner of the schema";
        let no_create = "the user of the database lacks a right: permission denied for database postgres";
        refused(options().schema("of_poor"), &cluster.url("poor"), &format!("{no_create}; {remedy}")).await;
        let owner = options().schema("of_owner").open(cluster.url("superstep")).await.expect("it is created");
        owner.register(&graph()).await.expect("it is the owner");
        let no_usage = "the user of the database lacks a right: permission denied for schema of_owner";
        refused(options().schema("of_owner"), &cluster.url("poor"), &format!("{no_usage}; {remedy}")).await;
        cluster.execute("GRANT USAGE ON SCHEMA of_owner TO poor; GRANT SELECT ON of_owner.format, of_owner.encryption TO poor");
        let poor = options().schema("of_owner").open(cluster.url("poor")).await.expect("it may read these");
        let error = poor.commit(commit_of("t", &step(None, []))).await.expect_err("it may not");
        let no_table =
            "the store failed: the user of the database lacks a right: permission denied for table thread";
        assert_eq!(error.to_string(), format!("{no_table}; {remedy}"));
        let error = poor.store().put(put("1"), 0).await.expect_err("it may not");
        assert_eq!(error.to_string(), format!("{}; {remedy}", no_table.replace("thread", "item")));
    });
}

#[test]
fn the_server_does_not_do_what_is_asked() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let url = cluster.url("superstep");
        let saver = options().schema("refuses").connections(1).open(&url).await.expect("it opens");
        saver.register(&graph()).await.expect("it is registered");
        let committed = saver.commit(commit_of("t", &step(None, [set(0, "[]")]))).await;
        assert!(matches!(committed, Ok(Committed::New)), "{committed:?}");

        let hasty = format!("{url} options='-c statement_timeout=100ms'");
        let hasty = options().schema("refuses").open(hasty).await.expect("it opens");
        let locked = transaction(&cluster, "LOCK TABLE refuses.thread, refuses.item").await;
        let cancelled = "the database cancelled a statement: canceling statement due to statement timeout; raise its \
                         `statement_timeout`";
        fails(&hasty, cancelled).await;
        // The only connection waits for the lock.
        let waiting = tokio::spawn({
            let saver = saver.clone();
            async move { saver.read(&thread("t"), At::Head).await }
        });
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%refuses%load(%'";
        while cluster.execute(waits) != "1" {
            tokio::task::yield_now().await;
        }
        fails(
            &saver,
            "all connections are in use: allow the saver more of them, or wait longer with its `busy_limit`",
        )
        .await;
        drop(locked);
        assert!(waiting.await.expect("no panic").expect("it is read").is_some());

        let read_only = format!("{url} options='-c default_transaction_read_only=on'");
        let read_only = options().schema("refuses").open(read_only).await.expect("it is read");
        assert!(read_only.read(&thread("t"), At::Head).await.expect("it is read").is_some());
        for (writes, statement) in [(true, "SELECT FOR NO KEY UPDATE"), (false, "INSERT")] {
            let error = match writes {
                true => read_only
                    .commit(commit_of("t", &step(None, [])))
                    .await
                    .expect_err("it only reads")
                    .to_string(),
                false => read_only.store().put(put("1"), 0).await.expect_err("it only reads").to_string(),
            };
            assert_eq!(
                error,
                format!(
                    "the store failed: the database does not accept writes: cannot execute {statement} in a read-only \
                     transaction; it may be a replica, connect to the primary"
                )
            );
        }
    });
}

/// A replica reads what the primary has stored, and refuses to write.
#[test]
fn a_replica_only_reads() {
    let Some(cluster) = Cluster::own() else { return };
    run(async {
        let saver = PostgresSaver::open(cluster.url("superstep")).await.expect("it opens");
        saver.register(&graph()).await.expect("it is registered");
        let first = step(None, [set(0, "[1]")]);
        assert!(matches!(saver.commit(commit_of("t", &first)).await, Ok(Committed::New)));
        saver.store().put(put("1"), 0).await.expect("it is stored");
        let standby = cluster.standby();
        let replica = PostgresSaver::open(standby.url("superstep")).await.expect("it is read");
        let head = replica.read(&thread("t"), At::Head).await.expect("it is read").expect("it is there");
        assert_eq!(head.checkpoint.id, first.id);
        let store = Store::new(replica.store());
        assert_eq!(store.search(Search::under(&[]).expect("the root")).await.expect("it is read").len(), 1);
        let error = replica.commit(commit_of("t", &step(Some(&first), []))).await.expect_err("it only reads");
        assert_eq!(
            error.to_string(),
            "the store failed: the database does not accept writes: cannot execute SELECT FOR NO KEY UPDATE in a read-only \
             transaction; it may be a replica, connect to the primary"
        );
    });
}

#[test]
fn sizes_and_names_have_the_limits_of_other_savers() {
    let Some(cluster) = Cluster::shared() else { return };
    run(async {
        let limited = options().schema("limits").size_limits(SizeLimits::default().bytes(1_000));
        let saver = limited.open(cluster.url("superstep")).await.expect("it opens");
        saver.register(&graph()).await.expect("it is registered");
        let large = set(0, &format!("[\"{}\"]", "x".repeat(2_000)));
        let large = step(None, [large]);
        let error = saver.commit(commit_of("t", &large)).await.expect_err("it is too large");
        let id = large.id;
        assert_eq!(
            error.to_string(),
            format!(
                "checkpoint {id} of step -1 has more than 969 bytes, which the limits of the store do not allow"
            )
        );
        let store = Store::new(saver.store());
        let error = store.put(&["n"], "k", &"x".repeat(100 << 20)).await.expect_err("it is too large");
        assert_eq!(error.to_string(), "the value of \"k\" in [\"n\"]: it has more than 67108864 bytes");

        let odd = step(None, [set(0, "[\"\\u0000\"]")]);
        let committed = saver.commit(commit_of("a\0b", &odd)).await;
        assert!(matches!(committed, Ok(Committed::New)), "{committed:?}");
        let head = saver.read(&thread("a\0b"), At::Head).await.expect("it is read").expect("it is there");
        assert_eq!(head.values[0].value.as_str(), "[\"\\u0000\"]");
        store.put(&["a\0b"], "\0", "\0").await.expect("it is stored");
        assert_eq!(store.get(&["a\0b"], "\0").await.expect("it is read"), Some("\0".to_owned()));
    });
}

/// A server that is away for longer than the limit is an error of the call, not of the saver.
#[test]
fn a_saver_goes_on_after_the_server_was_away() {
    let Some(cluster) = Cluster::own() else { return };
    run(async {
        let saver = options().open(cluster.url("superstep")).await.expect("it opens");
        saver.register(&graph()).await.expect("it is registered");
        let store = PostgresStore::open(cluster.url("superstep")).await.expect("it opens");
        cluster.stop();
        let socket = "error connecting to server: No such file or directory (os error 2)";
        fails(
            &saver,
            &format!("failed to connect to the database: {socket}; check its address and that it is running"),
        )
        .await;
        let writing = tokio::spawn({
            let store = store.clone();
            async move { store.put(put("1"), 0).await }
        });
        tokio::task::yield_now().await;
        cluster.start();
        writing.await.expect("no panic").expect("it waits for the server");
        let committed = saver.commit(commit_of("t", &step(None, [set(0, "[]")]))).await;
        assert!(matches!(committed, Ok(Committed::New)), "{committed:?}");
    });
}
