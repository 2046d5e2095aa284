//! Checks the rows of checkpoints, and the rows to which they refer.

use std::cell::RefCell;
use std::collections::HashSet;

use superstep_core::checkpoint::StoreError;
use superstep_core::state::{Change, Json};

use super::versions::Versions;
use super::{Check, problem};
use crate::error::corrupt;
use crate::history::manifest::Bodies;
use crate::sqlite::history::changes::{Fields, StoredChange, parse_changes, parse_fields};
use crate::sqlite::history::rows::{Changed, CheckpointRow};

/// A checkpoint's texts, with valid checksums.
pub(super) struct Texts {
    pub(super) changes: Vec<StoredChange>,
    pub(super) fields: Option<Fields>,
    manifest: String,
}

impl Check<'_> {
    pub(super) fn checkpoints(&mut self) {
        let mut versions = Versions::new(&self.known);
        let places: Vec<i64> = self.known.checkpoints.keys().copied().collect();
        for seq in places {
            let known = &self.known.checkpoints[&seq];
            // A row of no thread is an empty row of a deletion, or holds versions of a pruned checkpoint.
            let is_checkpoint = known.thread != 0;
            if is_checkpoint {
                self.counts.checkpoints += 1;
                for lack in self.lacks(seq) {
                    self.found("checkpoint", seq, seq, lack);
                }
            }
            let texts = match self.connection.is_unopened() {
                true => self.sums(seq).map(|()| None),
                false => texts(self, seq).map(Some),
            };
            match texts {
                Ok(None) => {}
                Err(error) => {
                    self.found("checkpoint", seq, seq, problem(error));
                    versions.unreadable(seq);
                }
                Ok(Some(texts)) => {
                    // A manifest is decoded with the operations to which it refers.
                    if let Some(changes) = self.resolved(&texts.changes).filter(|_| is_checkpoint) {
                        self.manifest(seq, changes, &texts.manifest);
                    }
                    for wrong in versions.take(self, seq, &texts) {
                        self.found("checkpoint", seq, seq, wrong);
                    }
                }
            }
        }
        self.counts.versions = versions.count();
        if self.connection.is_unopened() {
            return;
        }
        for (seq, wrong) in versions.fold(self.connection, &self.known) {
            self.found("checkpoint", seq, seq, wrong);
        }
    }

    /// Checks the checksums of a row whose texts cannot be decrypted.
    fn sums(&self, seq: i64) -> Result<(), StoreError> {
        self.ignore_unopened(CheckpointRow::get(self.connection, seq))?;
        self.ignore_unopened(Changed::descend(self.connection, seq, |_, _| Ok(None)))?;
        Ok(())
    }

    /// Returns the changes with their operations, if all of those exist.
    fn resolved(&mut self, changes: &[StoredChange]) -> Option<Vec<Change>> {
        let bodies = Referred { there: &self.known.bodies, used: (&mut self.used).into() };
        let resolve = |change: &StoredChange| change.resolve(self.connection, &mut self.read, &bodies).ok();
        changes.iter().map(resolve).collect()
    }

    /// Returns descriptions of the rows to which a checkpoint refers and that do not exist.
    fn lacks(&self, seq: i64) -> Vec<String> {
        let known = &self.known.checkpoints[&seq];
        let is_there = |parent: &i64| self.known.checkpoints.get(parent).is_some_and(|row| row.thread != 0);
        let mut lacks = Vec::new();
        let mut lack =
            |what: &str, row: i64| lacks.push(format!("its {what}, row {row}, is missing or damaged"));
        if let Some(parent) = known.parent.filter(|parent| !is_there(parent)) {
            lack("parent", parent);
        }
        if !self.known.threads.contains_key(&known.thread) {
            lack("thread", known.thread);
        }
        if !self.known.schemas.contains_key(&known.schema) {
            lack("schema", known.schema);
        }
        if !self.known.topologies.contains_key(&known.topology) {
            lack("topology", known.topology);
        }
        lacks
    }
}

fn texts(check: &mut Check<'_>, seq: i64) -> Result<Texts, StoreError> {
    let manifest = CheckpointRow::get(check.connection, seq)?.manifest;
    let mut texts = Texts { changes: Vec::new(), fields: None, manifest };
    Changed::descend(check.connection, seq, |_, changed| {
        texts.changes = parse_changes(changed.changes)?;
        texts.fields = changed.fields.map(parse_fields).transpose()?;
        Ok(None)
    })?;
    Ok(texts)
}

/// Long texts, of which only the existence is checked: their rows are checked separately.
pub(super) struct Referred<'k> {
    pub(super) there: &'k HashSet<i64>,
    pub(super) used: RefCell<&'k mut HashSet<i64>>,
}

impl Bodies for Referred<'_> {
    fn keep(&self, _: &str) -> Result<i64, StoreError> {
        Err(corrupt("a body", "nothing is written here"))
    }

    fn find(&self, id: i64) -> Result<Json, StoreError> {
        self.used.borrow_mut().insert(id);
        if !self.there.contains(&id) {
            return Err(corrupt("a body", format_args!("body row {id}, which it refers to, is missing")));
        }
        Json::parse("null".to_owned()).map_err(|error| corrupt("a body", error))
    }
}
