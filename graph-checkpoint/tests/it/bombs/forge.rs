//! Malicious files: sound ones with rows whose texts and checksums were replaced.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, params};
use superstep_checkpoint::SqliteSaver;
use superstep_core::checkpoint::{Checkpoint, CheckpointerExt, Commit, Emitted};
use twox_hash::XxHash3_64;

use crate::material::*;

/// A checksum as the file has it.
struct Sum(u64);

impl Sum {
    fn of(table: &str) -> Self {
        Self(XxHash3_64::oneshot(table.as_bytes()))
    }

    fn bytes(self, bytes: &[u8]) -> Self {
        Self(XxHash3_64::oneshot_with_seed(self.0, bytes))
    }

    fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    fn int(self, value: i64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    fn optional_int(self, value: Option<i64>) -> Self {
        match value {
            Some(value) => self.int(value),
            None => self.bytes(b"absent"),
        }
    }

    fn optional_text(self, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.int(1).text(text),
            None => self.bytes(b"absent"),
        }
    }

    fn finish(self) -> i64 {
        self.0.cast_signed()
    }
}

/// A row of `segment`.
pub(crate) struct Claimed<'t> {
    pub(crate) prev: Option<i64>,
    pub(crate) versions: i64,
    pub(crate) ends: &'t str,
    pub(crate) is_list: bool,
    pub(crate) whole: Option<&'t str>,
    pub(crate) text: &'t str,
}

/// A file with the thread `t` of three checkpoints, 1 to 3, and work of each kind on the last one.
pub(crate) struct Forge(Connection);

impl Forge {
    pub(crate) async fn at(path: &Path) -> Self {
        let saver = registered(Arc::new(SqliteSaver::open(path).await.unwrap())).await;
        let first = advance(&saver, "t", None, [set(0, "[0]")]).await;
        let second = advance(&saver, "t", Some(&first), [extend(0, "[1]")]).await;
        let third = step(Some(&second), [extend(0, "[2]")]);
        let emitted = vec![(0, Emitted { dropped: 1, events: Vec::new() })];
        let commit = Commit { emitted, ..commit_of("t", &third) };
        saver.commit(commit).await.unwrap();
        Self::work_on(&saver, &third).await;
        drop(saver);
        let connection = Connection::open(path).unwrap();
        connection.pragma_update(None, "synchronous", "OFF").unwrap();
        Self(connection)
    }

    async fn work_on(saver: &Saver, on: &Checkpoint) {
        let name = thread("t");
        saver.record_result(&name, on.id, result(1, "1")).await.unwrap();
        saver.fail(&name, on.id, failure(2, "no")).await.unwrap();
        saver.ask(&name, on.id, vec![ask(3)]).await.unwrap();
        saver.begin_effect(&name, on.id, effect(4)).await.unwrap();
        saver.flush(&name).await.unwrap();
    }

    /// Runs `sql` on the file, like a program that checks nothing.
    pub(crate) fn run(&self, sql: &str) {
        self.0.execute_batch(sql).unwrap();
    }

    pub(crate) fn changes(&self, seq: i64, text: &str) {
        let (parent, fields): (Option<i64>, Option<String>) = self
            .0
            .query_row("SELECT parent, fields FROM checkpoint WHERE seq = ?", [seq], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        self.versions(seq, parent, text, fields.as_deref());
    }

    /// The state is one field with this value, at all checkpoints.
    pub(crate) fn value(&self, value: &str) {
        self.changes(1, &format!("[{{\"field\":0,\"ops\":[{{\"set\":{value}}}]}}]"));
        self.changes(2, "[]");
        self.changes(3, "[]");
    }

    pub(crate) fn fields(&self, seq: i64, text: &str) {
        let (parent, changes): (Option<i64>, String) = self
            .0
            .query_row("SELECT parent, changes FROM checkpoint WHERE seq = ?", [seq], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        self.versions(seq, parent, &changes, Some(text));
    }

    fn versions(&self, seq: i64, parent: Option<i64>, changes: &str, fields: Option<&str>) {
        let sum = Sum::of("changes").int(seq).optional_int(parent);
        let sum = sum.text(changes).optional_text(fields).finish();
        let sql = "UPDATE checkpoint SET changes = ?, fields = ?, changes_sum = ? WHERE seq = ?";
        self.0.execute(sql, params![changes, fields, sum, seq]).unwrap();
    }

    pub(crate) fn manifest(&self, seq: i64, text: &str) {
        let sql =
            "SELECT thread, step, source, schema, topology, id, run, parent FROM checkpoint WHERE seq = ?";
        let sum = self.0.query_row(sql, [seq], |row| {
            let mut numbers = seq.to_le_bytes().to_vec();
            for column in 0..5 {
                numbers.extend(row.get::<_, i64>(column)?.to_le_bytes());
            }
            let ids = [row.get::<_, [u8; 16]>(5)?, row.get(6)?].concat();
            let sum = Sum::of("checkpoint").bytes(&numbers).bytes(&ids).optional_int(row.get(7)?);
            Ok(sum.text(text).finish())
        });
        let sql = "UPDATE checkpoint SET manifest = ?, sum = ? WHERE seq = ?";
        self.0.execute(sql, params![text, sum.unwrap(), seq]).unwrap();
    }

    /// A long text of this number.
    pub(crate) fn body(&self, id: i64, text: &str) {
        let hash = blake3::hash(text.as_bytes());
        let sum = Sum::of("body").int(id).bytes(hash.as_bytes()).finish();
        let sql = "INSERT INTO body(id, hash, text, sum) VALUES(?, ?, ?, ?)";
        self.0.execute(sql, params![id, hash.as_bytes(), text, sum]).unwrap();
    }

    /// The segment of number 1.
    pub(crate) fn segment(&self, claimed: &Claimed<'_>) {
        let Claimed { prev, versions, ends, is_list, whole, text } = claimed;
        let sum = Sum::of("segment").int(1).int(1).optional_int(*prev).int(0).int(*versions);
        let sum = sum.int((*is_list).into()).int(0).int(0).text(ends).optional_text(*whole).text(text);
        let sql = "INSERT INTO segment(id, thread, prev, prev_field, versions, ends, is_list, weight, due, whole, \
                   sum, text) VALUES(1, 1, ?, 0, ?, ?, ?, 0, 0, ?, ?, ?)";
        self.0.execute(sql, params![prev, versions, ends, is_list, whole, sum.finish(), text]).unwrap();
    }

    /// The text of the first row of `pending`.
    pub(crate) fn pending(&self, text: &str) {
        let sql = "SELECT thread, base, task, id FROM pending ORDER BY id LIMIT 1";
        let (sum, id): (i64, i64) = self
            .0
            .query_row(sql, [], |row| {
                let sum = Sum::of("pending").int(row.get(0)?).int(row.get(1)?);
                Ok((sum.bytes(&row.get::<_, [u8; 16]>(2)?).text(text).finish(), row.get(3)?))
            })
            .unwrap();
        let sql = "UPDATE pending SET text = ?, sum = ? WHERE id = ?";
        self.0.execute(sql, params![text, sum, id]).unwrap();
    }

    /// The texts of the question and of the answer.
    pub(crate) fn ask(&self, text: Option<&str>, answer: Option<&str>) {
        let sql = "SELECT thread, base, interrupt, text, deadline, fallback FROM ask";
        let (held, sum): (String, i64) = self
            .0
            .query_row(sql, [], |row| {
                let held: String = row.get(3)?;
                let sum = Sum::of("ask").int(row.get(0)?).int(row.get(1)?);
                let sum = sum.bytes(&row.get::<_, [u8; 16]>(2)?).text(text.unwrap_or(&held));
                let sum = sum.optional_text(answer);
                let (deadline, fallback): (Option<i64>, Option<String>) = (row.get(4)?, row.get(5)?);
                if deadline.is_none() && fallback.is_none() {
                    return Ok((held, sum.finish()));
                }
                let sum = sum.optional_int(deadline).optional_text(fallback.as_deref()).int(0);
                Ok((held, sum.finish()))
            })
            .unwrap();
        let sql = "UPDATE ask SET text = ?, answer = ?, sum = ?";
        self.0.execute(sql, params![text.unwrap_or(&held), answer, sum]).unwrap();
    }

    /// The outcome of the effect.
    pub(crate) fn outcome(&self, text: &str) {
        let sql = "SELECT thread, base, task, name, key, occurrence, attempt, starts, token FROM effect";
        let sum = self.0.query_row(sql, [], |row| {
            let sum = Sum::of("effect").int(row.get(0)?).int(row.get(1)?);
            let sum = sum.bytes(&row.get::<_, [u8; 16]>(2)?).text(&row.get::<_, String>(3)?);
            let sum = sum.text(&row.get::<_, String>(4)?).int(row.get(5)?).int(row.get(6)?);
            let sum = sum.optional_text(Some(text)).int(row.get(7)?);
            Ok(sum.bytes(&row.get::<_, [u8; 16]>(8)?).finish())
        });
        self.0.execute("UPDATE effect SET outcome = ?, sum = ?", params![text, sum.unwrap()]).unwrap();
    }

    /// Replaces what the task of the last checkpoint emitted.
    pub(crate) fn emitted(&self, text: &str) {
        let sum = Sum::of("emitted").int(3).int(0).text(text).finish();
        let sql = "UPDATE emitted SET text = ?, sum = ? WHERE checkpoint = 3";
        assert_eq!(self.0.execute(sql, params![text, sum]).unwrap(), 1);
    }

    pub(crate) fn schema(&self, text: &str) {
        let fingerprint: [u8; 16] =
            self.0.query_row("SELECT fingerprint FROM schema", [], |row| row.get(0)).unwrap();
        let sum = Sum::of("schema").int(1).bytes(&fingerprint).text(text).finish();
        self.0.execute("UPDATE schema SET text = ?, sum = ?", params![text, sum]).unwrap();
    }

    pub(crate) fn topology(&self, text: &str) {
        let (fingerprint, graph): ([u8; 16], String) = self
            .0
            .query_row("SELECT fingerprint, graph FROM topology", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        let sum = Sum::of("topology").int(1).bytes(&fingerprint).text(&graph).text(text).finish();
        self.0.execute("UPDATE topology SET text = ?, sum = ?", params![text, sum]).unwrap();
    }
}
