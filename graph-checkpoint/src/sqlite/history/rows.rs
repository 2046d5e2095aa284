//! The rows of threads and checkpoints. Checksums are checked when a row is read.

use std::borrow::Cow;
use std::ops::ControlFlow;

use rusqlite::{OptionalExtension, Row, params};
use superstep_core::checkpoint::{Seq, Source, StoreError, Summary};
use superstep_core::id::{CheckpointId, RunId, ThreadId};
use uuid::Uuid;

use crate::checksum::Checksum;
use crate::error::{corrupt, mismatch};
use crate::history::decode::Outline;
use crate::history::rows::{ThreadRow, source_code, source_of};
use crate::sqlite::column::{optional_text, text};
use crate::sqlite::connection::Connection;
use crate::sqlite::error::sqlite;
use crate::sqlite::history::row_texts::{NO_CHANGES, NO_MANIFEST, Stored};

impl ThreadRow {
    pub(crate) fn find(connection: &Connection, name: &ThreadId) -> Result<Option<Self>, StoreError> {
        let mut find = connection
            .prepare_cached("SELECT id, name, graph, head, sum FROM thread WHERE name = ?")
            .map_err(sqlite)?;
        let found = find.query_row([name.as_str()], |row| Ok(Self::read(row, 0))).optional();
        found.map_err(sqlite)?.transpose()
    }

    pub(crate) fn get(connection: &Connection, id: i64) -> Result<Self, StoreError> {
        let mut find = connection
            .prepare_cached("SELECT id, name, graph, head, sum FROM thread WHERE id = ?")
            .map_err(sqlite)?;
        let found = find.query_row([id], |row| Ok(Self::read(row, 0))).optional();
        found
            .map_err(sqlite)?
            .unwrap_or_else(|| Err(corrupt(format_args!("thread row {id}"), "the row is missing")))
    }

    pub(crate) fn all(connection: &Connection) -> Result<Vec<Self>, StoreError> {
        let mut all = connection
            .prepare_cached("SELECT id, name, graph, head, sum FROM thread ORDER BY name")
            .map_err(sqlite)?;
        let rows = all.query_map([], |row| Ok(Self::read(row, 0))).map_err(sqlite)?;
        rows.map(|row| row.map_err(sqlite)?).collect()
    }

    /// Returns all rows except damaged ones.
    pub(crate) fn readable(connection: &Connection) -> Result<Vec<Self>, StoreError> {
        let mut all = connection
            .prepare_cached("SELECT id, name, graph, head, sum FROM thread ORDER BY name")
            .map_err(sqlite)?;
        let rows = all.query_map([], |row| Ok(Self::read(row, 0))).map_err(sqlite)?;
        let mut readable = Vec::new();
        for row in rows {
            match row.map_err(sqlite)? {
                Ok(row) => readable.push(row),
                Err(StoreError::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(readable)
    }

    /// Returns the rows of a thread and of the threads below it, by name.
    pub(crate) fn on_or_below(connection: &Connection, name: &ThreadId) -> Result<Vec<Self>, StoreError> {
        // The names of threads below it continue with the byte 1f.
        let mut all = connection
            .prepare_cached(
                "SELECT id, name, graph, head, sum FROM thread WHERE name = ?1 \
                 UNION ALL SELECT id, name, graph, head, sum FROM thread \
                 WHERE name > ?1 || char(31) AND name < ?1 || char(32)",
            )
            .map_err(sqlite)?;
        let rows = all.query_map([name.as_str()], |row| Ok(Self::read(row, 0))).map_err(sqlite)?;
        rows.map(|row| row.map_err(sqlite)?).collect()
    }

    /// Changes the name and the head of the thread.
    pub(crate) fn rename(
        &self,
        connection: &Connection,
        name: &ThreadId,
        head: i64,
    ) -> Result<(), StoreError> {
        let sum = Self::sum(self.id, name, &self.graph, head);
        connection
            .prepare_cached("UPDATE thread SET name = ?, head = ?, sum = ? WHERE id = ?")
            .and_then(|mut update| update.execute(params![name.as_str(), head, sum, self.id]))
            .map(drop)
            .map_err(sqlite)
    }

    /// Reads the row whose columns begin at `first`.
    fn read(row: &Row<'_>, first: usize) -> Result<Self, StoreError> {
        let found = Self {
            id: row.get(first).map_err(sqlite)?,
            name: text(row, first + 1)?.into(),
            graph: text(row, first + 2)?.into(),
            head: row.get(first + 3).map_err(sqlite)?,
        };
        let sum: i64 = row.get(first + 4).map_err(sqlite)?;
        if sum != Self::sum(found.id, &found.name, &found.graph, found.head) {
            return Err(mismatch(format_args!("thread row {}", found.id)));
        }
        Ok(found)
    }

    pub(crate) fn sum(id: i64, name: &ThreadId, graph: &str, head: i64) -> i64 {
        let sum = Checksum::of("thread").int(id).text(name.as_str());
        sum.text(graph).int(head).finish()
    }
}

/// The numeric and id columns of a row of `checkpoint`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckpointRow {
    pub(crate) seq: i64,
    pub(crate) id: CheckpointId,
    pub(crate) parent: Option<i64>,
    pub(crate) thread: i64,
    pub(crate) run: RunId,
    pub(crate) step: i64,
    pub(crate) source: Source,
    pub(crate) schema: i64,
    pub(crate) topology: i64,
}

/// A checkpoint's row with its manifest.
pub(crate) struct Manifested {
    pub(crate) row: CheckpointRow,
    pub(crate) manifest: String,
}

/// The columns of a row that contain versions.
pub(crate) struct Changed<'r> {
    pub(crate) parent: Option<i64>,
    pub(crate) changes: &'r str,
    pub(crate) fields: Option<&'r str>,
}

impl CheckpointRow {
    /// Returns the ids and numbers of the row, except its parent.
    pub(crate) fn identity(&self) -> ([u8; 48], [u8; 32]) {
        let mut ids = [0; 32];
        ids[..16].copy_from_slice(self.id.0.as_bytes());
        ids[16..].copy_from_slice(self.run.0.as_bytes());
        let numbers =
            [self.seq, self.thread, self.step, source_code(self.source).into(), self.schema, self.topology];
        let mut bytes = [0; 48];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        (bytes, ids)
    }

    /// Returns the checksum of everything except the changes.
    pub(crate) fn sum(&self, manifest: &str) -> i64 {
        let (numbers, ids) = self.identity();
        let sum = Checksum::of("checkpoint").bytes(&numbers).bytes(&ids);
        sum.optional_int(self.parent).text(manifest).finish()
    }

    pub(crate) fn insert(&self, connection: &Connection, texts: &Stored<'_>) -> Result<(), rusqlite::Error> {
        let Stored { changes, fields, manifest } = texts;
        let fields = fields.as_deref();
        let mut insert = connection.prepare_cached(
            "INSERT INTO checkpoint(seq, id, parent, thread, run, step, source, schema, topology, sum, \
             changes_sum, fields, changes, manifest) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        insert.execute(params![
            self.seq,
            self.id.0.as_bytes(),
            self.parent,
            self.thread,
            self.run.0.as_bytes(),
            self.step,
            source_code(self.source),
            self.schema,
            self.topology,
            self.sum(manifest),
            Changed::sum(self.seq, self.parent, changes, fields),
            fields,
            &**changes,
            &**manifest,
        ])?;
        Ok(())
    }

    /// Reads the row at `seq` and passes its manifest, after its checksum was checked, to `with`.
    pub(crate) fn visit<T>(
        connection: &Connection,
        seq: i64,
        with: impl FnOnce(Self, &str) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut with = Some(with);
        let mut found = None;
        Self::descend(connection, seq, |row, manifest| {
            if let Some(with) = with.take() {
                found = Some(with(row, manifest)?);
            }
            Ok(None)
        })?;
        found.ok_or_else(|| corrupt(format_args!("checkpoint row {seq}"), "the row is missing"))
    }

    /// Visits the threads after a name, in the order of names, with their heads, in one query. `visit` receives the
    /// thread's row, reads the head's row only if it needs it, and returns `true` to continue.
    pub(crate) fn heads(
        connection: &Connection,
        after: Option<&ThreadId>,
        mut visit: impl FnMut(
            Result<ThreadRow, StoreError>,
            &dyn Fn(i64) -> Result<(Self, Outline), StoreError>,
        ) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        let sql = "SELECT c.seq, c.id, c.parent, c.thread, c.run, c.step, c.source, c.schema, c.topology, c.sum, \
                   c.manifest, t.id, t.name, t.graph, t.head, t.sum \
                   FROM thread t LEFT JOIN checkpoint c ON c.seq = t.head \
                   WHERE t.name >= coalesce(?1, '') ORDER BY t.name";
        let mut heads = connection.prepare_cached(sql).map_err(sqlite)?;
        let mut rows = heads.query([after.map(ThreadId::as_str)]).map_err(sqlite)?;
        while let Some(row) = rows.next().map_err(sqlite)? {
            let head = |seq| {
                if row.get::<_, Option<i64>>(0).map_err(sqlite)?.is_none() {
                    return Err(corrupt(format_args!("checkpoint row {seq}"), "the row is missing"));
                }
                let (head, manifest) = Self::read(connection, row, seq)?;
                Ok((head, Outline::parse(&manifest)?))
            };
            let thread = ThreadRow::read(row, 11);
            if after.is_some_and(|after| thread.as_ref().is_ok_and(|thread| thread.name == *after)) {
                continue;
            }
            if visit(thread, &head)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Visits the row at `from`, and then each older row that `visit` returns.
    pub(crate) fn descend(
        connection: &Connection,
        from: i64,
        mut visit: impl FnMut(Self, &str) -> Result<Option<i64>, StoreError>,
    ) -> Result<(), StoreError> {
        let sql = "SELECT seq, id, parent, thread, run, step, source, schema, topology, sum, manifest \
                   FROM checkpoint WHERE seq <= ? ORDER BY seq DESC";
        descend(connection, sql, from, |row, seq| {
            let (found, manifest) = Self::read(connection, row, seq)?;
            visit(found, &manifest)
        })
    }

    /// Reads the first columns of a row.
    pub(crate) fn header(row: &Row<'_>, seq: i64) -> Result<Self, StoreError> {
        let place = format_args!("checkpoint row {seq}");
        Ok(Self {
            seq,
            id: CheckpointId(uuid(row, 1)?),
            parent: row.get(2).map_err(sqlite)?,
            thread: row.get(3).map_err(sqlite)?,
            run: RunId(uuid(row, 4)?),
            step: row.get(5).map_err(sqlite)?,
            source: source_of(place, row.get(6).map_err(sqlite)?)?,
            schema: row.get(7).map_err(sqlite)?,
            topology: row.get(8).map_err(sqlite)?,
        })
    }

    fn read<'r>(
        connection: &Connection,
        row: &'r Row<'_>,
        seq: i64,
    ) -> Result<(Self, Cow<'r, str>), StoreError> {
        let place = format_args!("checkpoint row {seq}");
        let found = Self::header(row, seq)?;
        let sum: i64 = row.get(9).map_err(sqlite)?;
        let manifest = text(row, 10)?;
        if sum != found.sum(manifest) {
            return Err(mismatch(place));
        }
        // A parent is always older, so no walk can form a cycle.
        if found.parent.is_some_and(|parent| parent >= seq) {
            return Err(corrupt(place, "its parent is not older"));
        }
        if found.thread == 0 && manifest == NO_MANIFEST {
            return Ok((found, manifest.into()));
        }
        Ok((found, connection.decrypt(manifest, || found.manifest_cell())?))
    }

    pub(crate) fn get(connection: &Connection, seq: i64) -> Result<Manifested, StoreError> {
        Self::visit(connection, seq, |row, manifest| {
            let manifest = manifest.to_owned();
            Ok(Manifested { row, manifest })
        })
    }

    pub(crate) fn summary(
        &self,
        outline: &Outline,
        parent: Option<CheckpointId>,
        thread: ThreadId,
    ) -> Result<Summary, StoreError> {
        let (ran, next, metadata) = outline.parts();
        Ok(Summary {
            seq: Seq(u64::try_from(self.seq).map_err(|error| corrupt("a sequence number", error))?),
            id: self.id,
            parent,
            thread,
            run: self.run,
            step: self.step,
            source: self.source,
            created_ms: self.id.unix_ms(),
            ran,
            next,
            metadata,
        })
    }
}

impl Changed<'_> {
    pub(crate) fn sum(seq: i64, parent: Option<i64>, changes: &str, fields: Option<&str>) -> i64 {
        let sum = Checksum::of("changes").int(seq).optional_int(parent);
        sum.text(changes).optional_text(fields).finish()
    }

    /// Visits the changes at `from`, and then those of each older checkpoint that `visit` returns.
    pub(crate) fn descend(
        connection: &Connection,
        from: i64,
        mut visit: impl FnMut(i64, Changed<'_>) -> Result<Option<i64>, StoreError>,
    ) -> Result<(), StoreError> {
        let sql = "SELECT seq, parent, changes_sum, fields, changes, thread FROM checkpoint \
                   WHERE seq <= ? ORDER BY seq DESC";
        descend(connection, sql, from, |row, seq| {
            let place = format_args!("changes of checkpoint row {seq}");
            let sum: i64 = row.get(2).map_err(sqlite)?;
            let (parent, changes, fields): (Option<i64>, _, _) =
                (row.get(1).map_err(sqlite)?, text(row, 4)?, optional_text(row, 3)?);
            if sum != Self::sum(seq, parent, changes, fields) {
                return Err(mismatch(place));
            }
            if parent.is_some_and(|parent| parent >= seq) {
                return Err(corrupt(place, "its parent is not older"));
            }
            if changes == NO_CHANGES && row.get::<_, i64>(5).map_err(sqlite)? == 0 {
                return visit(seq, Changed { parent, changes, fields: None });
            }
            let changes = connection.decrypt(changes, || Self::cell("changes", seq, parent))?;
            let fields = connection.decrypt_optional(fields, || Self::cell("fields", seq, parent))?;
            visit(seq, Changed { parent, changes: &changes, fields: fields.as_deref() })
        })
    }
}

/// The maximum number of rows of other branches that are skipped before the next row is looked up instead.
const STEPPED_OVER: usize = 8;

/// Visits rows of `checkpoint` from newer to older with one statement, whose first column is `seq`, because the next
/// row is nearly always near.
fn descend(
    connection: &Connection,
    sql: &str,
    from: i64,
    mut visit: impl FnMut(&Row<'_>, i64) -> Result<Option<i64>, StoreError>,
) -> Result<(), StoreError> {
    let mut statement = connection.prepare_cached(sql).map_err(sqlite)?;
    let mut wanted = from;
    'look_up: loop {
        let mut rows = statement.query([wanted]).map_err(sqlite)?;
        let mut stepped_over = 0;
        let mut is_near = false;
        while let Some(row) = match rows.next() {
            // A damaged row of another branch lies between: look the next row up.
            Err(_) if is_near => continue 'look_up,
            row => row.map_err(sqlite)?,
        } {
            is_near = true;
            let seq: i64 = row.get(0).map_err(sqlite)?;
            if seq < wanted {
                break;
            }
            if seq > wanted {
                stepped_over += 1;
                if stepped_over > STEPPED_OVER {
                    continue 'look_up;
                }
                continue;
            }
            match visit(row, seq)? {
                None => return Ok(()),
                Some(older) if older < seq => wanted = older,
                Some(_) => {
                    return Err(corrupt(format_args!("checkpoint row {seq}"), "it names no older one"));
                }
            }
            stepped_over = 0;
        }
        return Err(corrupt(format_args!("checkpoint row {wanted}"), "the row is missing"));
    }
}

fn uuid(row: &Row<'_>, column: usize) -> Result<Uuid, StoreError> {
    row.get::<_, [u8; 16]>(column).map(Uuid::from_bytes).map_err(sqlite)
}
