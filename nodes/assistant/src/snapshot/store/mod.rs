//! The store of snapshots: contents by their digests, and manifests as differences.

mod row;
mod schema;

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use self::row::{LineRow, to_row};
use super::SnapshotError;
use super::id::{Digest, SnapshotId};
use super::manifest::{Delta, Manifest, Name};
use super::stat::{Seen, Stat};

/// The file in which snapshots are.
pub(super) struct Store {
    db: Connection,
}

/// A change of the store: all of it or nothing.
pub(super) struct Change<'s>(Transaction<'s>);

/// A snapshot, as the one that follows another.
pub(super) struct Link {
    pub(super) parent: SnapshotId,
    pub(super) id: SnapshotId,
    pub(super) delta: Delta,
}

/// The result of a [collection](super::Snapshots::collect).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// The number of deleted snapshots.
    pub snapshots: u64,
    /// The number of deleted contents.
    pub contents: u64,
    /// The size of the deleted contents, in bytes.
    pub bytes: u64,
}

impl Store {
    /// Opens the file, and makes it if it is not there.
    pub(super) fn open(path: &Path) -> Result<Self, SnapshotError> {
        Ok(Self { db: schema::open(path)? })
    }

    /// Returns the snapshot that was inserted last.
    pub(super) fn newest(&self) -> Result<Option<SnapshotId>, SnapshotError> {
        let select = "select name from snapshot order by id desc limit 1";
        let name = self.db.query_row(select, [], |row| row.get(0)).optional()?;
        Ok(name.map(SnapshotId::from_bytes))
    }

    /// Returns the manifest of a snapshot. It is made of the differences of all that led to it.
    pub(super) fn manifest(&self, id: SnapshotId) -> Result<Manifest, SnapshotError> {
        let mut select = self.db.prepare_cached(
            "with recursive line_of (id, parent) as (
                 select id, parent from snapshot where id = ?1
                 union all
                 select snapshot.id, snapshot.parent from snapshot join line_of on snapshot.id = line_of.parent
             )
             select id from line_of order by id",
        )?;
        let rows = select.query_map([number(&self.db, id)?], |row| row.get(0))?;
        let mut manifest = Manifest::default();
        for row in rows {
            manifest.apply(&self.delta(row?)?);
        }
        Ok(manifest)
    }

    /// Returns the snapshots that led from one to a later one, the earliest first.
    ///
    /// # Errors
    ///
    /// Fails if the one did not lead to the other.
    pub(super) fn links(&self, to: SnapshotId, from: SnapshotId) -> Result<Vec<Link>, SnapshotError> {
        let (first, last) = (number(&self.db, to)?, number(&self.db, from)?);
        let mut select = self.db.prepare_cached(
            "with recursive line_of (id, parent) as (
                 select id, parent from snapshot where id = ?2
                 union all
                 select snapshot.id, snapshot.parent from snapshot join line_of on snapshot.id = line_of.parent
                 where line_of.id > ?1
             )
             select line_of.id, snapshot.name from line_of join snapshot on snapshot.id = line_of.id order by line_of.id",
        )?;
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, SnapshotId::from_bytes(row.get(1)?)));
        let line: Vec<(i64, SnapshotId)> = select.query_map([first, last], row)?.collect::<Result<_, _>>()?;
        // A parent has a lower number than its children, so the line ends with the first number that is not higher.
        let line = line.iter().position(|(id, _)| *id == first).map(|at| &line[at..]);
        let line = line.ok_or(SnapshotError::NotBefore { to, from })?;
        let link = |pair: &[(i64, SnapshotId)]| {
            Ok(Link { parent: pair[0].1, id: pair[1].1, delta: self.delta(pair[1].0)? })
        };
        line.windows(2).map(link).collect()
    }

    /// Returns a snapshot with all that led to it.
    pub(super) fn line(&self, id: SnapshotId) -> Result<HashSet<SnapshotId>, SnapshotError> {
        let mut select = self.db.prepare_cached(
            "with recursive line_of (name, parent) as (
                 select name, parent from snapshot where id = ?1
                 union all
                 select snapshot.name, snapshot.parent from snapshot join line_of on snapshot.id = line_of.parent
             )
             select name from line_of",
        )?;
        let rows = select.query_map([number(&self.db, id)?], |row| row.get(0))?;
        Ok(rows.map(|name| name.map(SnapshotId::from_bytes)).collect::<Result<_, _>>()?)
    }

    /// Copies snapshots with all that led to them, and their contents, into another store, as taken at a time.
    pub(super) fn copy(&self, ids: &[SnapshotId], into: &Path, taken: i64) -> Result<(), SnapshotError> {
        let there = Self::open(into)?;
        there.db.execute("attach database ?1 as origin", [self.db.path()])?;
        let change = there.change()?;
        // A parent has a lower number than its children.
        let mut numbers = BTreeSet::new();
        for id in ids {
            let mut select = self.db.prepare_cached(
                "with recursive line_of (id, parent) as (
                     select id, parent from snapshot where id = ?1
                     union all
                     select snapshot.id, snapshot.parent from snapshot join line_of on snapshot.id = line_of.parent
                 )
                 select id from line_of",
            )?;
            for number in select.query_map([number(&self.db, *id)?], |row| row.get::<_, i64>(0))? {
                numbers.insert(number?);
            }
        }
        numbers.into_iter().try_for_each(|number| change.copy(number, taken))?;
        change.commit()
    }

    fn delta(&self, snapshot: i64) -> Result<Delta, SnapshotError> {
        let mut select = self.db.prepare_cached(
            "select path, kind, named, digest, target, mode, size, modified from line where snapshot = ?1",
        )?;
        let mut rows = select.query([snapshot])?;
        let mut delta = Delta::new();
        while let Some(row) = rows.next()? {
            let name: String = row.get(0)?;
            delta.insert(Name::from(name), LineRow::read(row)?.line()?);
        }
        Ok(delta)
    }

    /// Returns a content; `None` if it is not there, or if its bytes are not those of its digest.
    pub(super) fn content(&self, digest: &Digest) -> Result<Option<Vec<u8>>, SnapshotError> {
        let mut select = self.db.prepare_cached("select bytes from content where digest = ?1")?;
        let bytes: Option<Vec<u8>> = select.query_row([digest.as_bytes()], |row| row.get(0)).optional()?;
        Ok(bytes.filter(|bytes| Digest::of(bytes) == *digest))
    }

    /// Returns the stat cache; it is empty if it is that of another folder.
    pub(super) fn seen(&self, folder: &Path) -> Result<Vec<(Name, Seen)>, SnapshotError> {
        let select = "select exists (select 1 from folder where path = ?1)";
        if !self.db.query_row(select, [folder.as_os_str().as_encoded_bytes()], |row| row.get(0))? {
            return Ok(Vec::new());
        }
        let select = "select path, digest, size, modified, changed, inode, device from seen";
        let row = |row: &rusqlite::Row<'_>| {
            let stat = Stat {
                size: row.get::<_, i64>(2)?.cast_unsigned(),
                modified: row.get(3)?,
                changed: row.get(4)?,
                inode: row.get::<_, i64>(5)?.cast_unsigned(),
                device: row.get::<_, i64>(6)?.cast_unsigned(),
            };
            let digest = Digest::from_bytes(row.get(1)?);
            Ok((Name::from(row.get::<_, String>(0)?), Seen { stat, digest }))
        };
        Ok(self.db.prepare_cached(select)?.query_map([], row)?.collect::<Result<_, _>>()?)
    }

    /// Begins a change. Other processes wait until it ends.
    pub(super) fn change(&self) -> Result<Change<'_>, SnapshotError> {
        Ok(Change(Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?))
    }

    /// Waits until all that was committed is on the disk.
    pub(super) fn sync(&self) -> Result<(), SnapshotError> {
        Ok(self.db.execute_batch("pragma wal_checkpoint(passive)")?)
    }

    /// Deletes all snapshots that are neither kept nor taken at a time or after it, in nanoseconds, and the contents
    /// that no remaining snapshot has.
    pub(super) fn collect(&self, keep: &HashSet<SnapshotId>, taken: i64) -> Result<Swept, SnapshotError> {
        let change = self.change()?;
        let swept = change.collect(keep, taken)?;
        change.commit()?;
        self.db.execute_batch("pragma incremental_vacuum; pragma wal_checkpoint(truncate);")?;
        Ok(swept)
    }
}

impl Change<'_> {
    pub(super) fn has(&self, digest: &Digest) -> Result<bool, SnapshotError> {
        let mut select = self.0.prepare_cached("select exists (select 1 from content where digest = ?1)")?;
        Ok(select.query_row([digest.as_bytes()], |row| row.get(0))?)
    }

    /// Keeps a content, once.
    pub(super) fn put(&self, digest: &Digest, bytes: &[u8]) -> Result<(), SnapshotError> {
        let insert = "insert into content (digest, bytes) values (?1, ?2) on conflict (digest) do nothing";
        self.0.prepare_cached(insert)?.execute(params![digest.as_bytes(), bytes])?;
        Ok(())
    }

    /// Inserts the snapshot that differs from its parent by a delta. Inserting one a second time only makes it younger.
    pub(super) fn insert(
        &self,
        parent: Option<SnapshotId>,
        delta: &Delta,
        taken: i64,
    ) -> Result<SnapshotId, SnapshotError> {
        let id = SnapshotId::after(parent, delta);
        let parent = parent.map(|parent| number(&self.0, parent)).transpose()?;
        if self.touch(id, taken)? {
            return Ok(id);
        }
        let insert = "insert into snapshot (name, parent, taken) values (?1, ?2, ?3)";
        self.0.prepare_cached(insert)?.execute(params![id.as_bytes(), parent, taken])?;
        let snapshot = self.0.last_insert_rowid();
        let mut insert = self.0.prepare_cached(
            "insert into line (snapshot, path, kind, named, digest, target, mode, size, modified)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?;
        for (name, line) in delta {
            let row = to_row(line.as_ref());
            let digest = row.digest.as_ref().map(Digest::as_bytes);
            insert.execute(params![
                snapshot,
                &**name,
                row.kind,
                row.named,
                digest,
                row.target,
                row.mode,
                row.size.cast_signed(),
                row.modified
            ])?;
        }
        Ok(id)
    }

    /// Makes a snapshot younger. Returns `false` if it is not there.
    pub(super) fn touch(&self, id: SnapshotId, taken: i64) -> Result<bool, SnapshotError> {
        let update = "update snapshot set taken = max(taken, ?2) where name = ?1";
        Ok(self.0.prepare_cached(update)?.execute(params![id.as_bytes(), taken])? > 0)
    }

    /// Copies a snapshot of the attached store `origin`. Its parent has been copied.
    fn copy(&self, number: i64, taken: i64) -> Result<(), SnapshotError> {
        let name = "select name from origin.snapshot where id = ?1";
        let name = self.0.prepare_cached(name)?.query_row([number], |row| row.get(0))?;
        if self.touch(SnapshotId::from_bytes(name), taken)? {
            return Ok(());
        }
        let insert = "insert into main.snapshot (name, parent, taken)
            select name, (
                select copied.id from main.snapshot copied join origin.snapshot parent using (name)
                where parent.id = child.parent
            ), ?2 from origin.snapshot child where id = ?1";
        self.0.prepare_cached(insert)?.execute([number, taken])?;
        let copied = self.0.last_insert_rowid();
        let lines = "insert into main.line
            select ?1, path, kind, named, digest, target, mode, size, modified
            from origin.line where snapshot = ?2";
        self.0.prepare_cached(lines)?.execute([copied, number])?;
        let contents = "insert or ignore into main.content (digest, bytes)
            select digest, bytes from origin.content
            where digest in (select digest from origin.line where snapshot = ?1)";
        self.0.prepare_cached(contents)?.execute([number])?;
        Ok(())
    }

    /// Makes the stat cache that of a folder, and empty.
    pub(super) fn forget_all(&self, folder: &Path) -> Result<(), SnapshotError> {
        self.0.execute_batch("delete from seen; delete from folder;")?;
        let folder = folder.as_os_str().as_encoded_bytes();
        self.0.execute("insert into folder (path) values (?1)", [folder])?;
        Ok(())
    }

    /// Writes a line of the stat cache.
    pub(super) fn see(&self, name: &str, seen: &Seen) -> Result<(), SnapshotError> {
        let Seen { stat, digest } = seen;
        self.0
            .prepare_cached(
                "insert or replace into seen (path, digest, size, modified, changed, inode, device)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                name,
                digest.as_bytes(),
                stat.size.cast_signed(),
                stat.modified,
                stat.changed,
                stat.inode.cast_signed(),
                stat.device.cast_signed()
            ])?;
        Ok(())
    }

    /// Deletes a line of the stat cache.
    pub(super) fn forget(&self, name: &str) -> Result<(), SnapshotError> {
        self.0.prepare_cached("delete from seen where path = ?1")?.execute([name])?;
        Ok(())
    }

    pub(super) fn commit(self) -> Result<(), SnapshotError> {
        Ok(self.0.commit()?)
    }

    fn collect(&self, keep: &HashSet<SnapshotId>, taken: i64) -> Result<Swept, SnapshotError> {
        let mut select = self.0.prepare("select id, name, parent, taken from snapshot order by id")?;
        let row = |row: &rusqlite::Row<'_>| {
            let is_kept =
                keep.contains(&SnapshotId::from_bytes(row.get(1)?)) || row.get::<_, i64>(3)? >= taken;
            Ok((row.get(0)?, row.get(2)?, is_kept))
        };
        let snapshots: Vec<(i64, Option<i64>, bool)> =
            select.query_map([], row)?.collect::<Result<_, _>>()?;
        let (mut kept, mut gone) = (HashSet::new(), Vec::new());
        for (id, parent, is_kept) in snapshots {
            if is_kept {
                self.take_over(id, parent, &kept)?;
                kept.insert(id);
            } else {
                gone.push(id);
            }
        }
        // Children first: a parent may not go before them.
        for id in gone.iter().rev() {
            self.0.prepare_cached("delete from snapshot where id = ?1")?.execute([id])?;
        }
        let unused = "from content where digest not in (select digest from line where digest is not null)";
        let sum = format!("select count(*), coalesce(sum(length(bytes)), 0) {unused}");
        let (contents, bytes): (i64, i64) =
            self.0.query_row(&sum, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        self.0.execute(&format!("delete {unused}"), [])?;
        Ok(Swept {
            snapshots: gone.len() as u64,
            contents: contents.cast_unsigned(),
            bytes: bytes.cast_unsigned(),
        })
    }

    /// Gives a kept snapshot the lines of those before it that are not kept, so that they can go.
    fn take_over(&self, id: i64, parent: Option<i64>, kept: &HashSet<i64>) -> Result<(), SnapshotError> {
        let mut above = parent;
        while let Some(gone) = above.filter(|above| !kept.contains(above)) {
            // Its own lines are later ones.
            let take =
                "insert or ignore into line select ?1, path, kind, named, digest, target, mode, size, modified
                        from line where snapshot = ?2";
            self.0.prepare_cached(take)?.execute([id, gone])?;
            let parent = "select parent from snapshot where id = ?1";
            above = self.0.prepare_cached(parent)?.query_row([gone], |row| row.get(0))?;
        }
        if above != parent {
            self.0
                .prepare_cached("update snapshot set parent = ?2 where id = ?1")?
                .execute(params![id, above])?;
        }
        Ok(())
    }
}

fn number(db: &Connection, id: SnapshotId) -> Result<i64, SnapshotError> {
    let mut select = db.prepare_cached("select id from snapshot where name = ?1")?;
    let number = select.query_row([id.as_bytes()], |row| row.get(0)).optional()?;
    number.ok_or(SnapshotError::Unknown(id))
}

#[cfg(test)]
mod tests;
