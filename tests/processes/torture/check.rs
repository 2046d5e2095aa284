//! The checker: the requirements on a file after any failure of the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use superstep::checkpoint::{StoreError, maintenance};

use crate::torture::child::{Ended, Started};
use crate::torture::drive;
use crate::torture::order::Order;
use crate::torture::said::{Line, Told};

/// A violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bad {
    /// The file is not sound.
    Damaged(String),
    /// An acknowledged step or effect is missing.
    Lost(String),
    /// History has more than one line.
    Forked(String),
    /// Recorded work ran again.
    Repeated(String),
    /// The final state differs from that of an undisturbed run.
    OtherEnd(String),
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// The recorded work of a file, which may not run again.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    /// Tasks with recorded results in unfinished supersteps.
    tasks: BTreeSet<String>,
    /// Effects that ended: task and name.
    effects: BTreeSet<(String, String)>,
    /// The step of each thread's head.
    heads: BTreeMap<String, i64>,
}

impl Recorded {
    /// The amount of recorded work of unfinished supersteps.
    pub(crate) fn work(&self) -> usize {
        self.tasks.len() + self.effects.len()
    }
}

/// The life of a file under one order: the runs of its program, and the acknowledgements.
pub(crate) struct Life {
    pub(crate) order: Order,
    expected: Value,
    pub(crate) told: Told,
    recorded: Recorded,
}

impl Life {
    pub(crate) fn new(order: Order) -> Self {
        let expected = drive::expected(order.workload, order.turns);
        Self::with_end(order, expected)
    }

    /// The same with the known final states of the threads.
    pub(crate) fn with_end(order: Order, expected: Value) -> Self {
        Self { order, expected, told: Told::default(), recorded: Recorded::default() }
    }

    /// Checks the actions of a program in this life, however it ended, and the file afterwards.
    pub(crate) fn check(&mut self, said: &[Line]) -> Result<&Recorded, Bad> {
        for line in said {
            self.told.add(line);
            self.check_line(line)?;
        }
        self.recorded = check_file(&self.order.db, &self.told)?;
        Ok(&self.recorded)
    }

    fn check_line(&self, line: &Line) -> Result<(), Bad> {
        let again = |what: String| Err(Bad::Repeated(what));
        match line {
            Line::Start { task, thread, step } => {
                if self.recorded.tasks.contains(task) {
                    return again(format!("task {task} of {thread} at step {step} had a result"));
                }
                if self.recorded.heads.get(thread).is_some_and(|head| head >= step) {
                    return again(format!("step {step} of {thread} was stored"));
                }
                Ok(())
            }
            Line::Effect { task, name } if self.recorded.effects.contains(&(task.clone(), name.clone())) => {
                again(format!("the effect {name} of {task} had ended"))
            }
            Line::End { thread, state } if *state != self.expected => {
                Err(Bad::OtherEnd(format!("{thread} came to {state} and not to {}", self.expected)))
            }
            _ => Ok(()),
        }
    }

    /// Lets the program continue undisturbed, and checks that it finishes.
    pub(crate) fn resume(&mut self) -> Result<Ended, Bad> {
        let ended = Started::new(self.order.command()).end();
        self.check(&ended.said)?;
        self.check_ends(&ended.said)?;
        Ok(ended)
    }

    /// Checks that every thread finished.
    pub(crate) fn check_ends(&self, said: &[Line]) -> Result<(), Bad> {
        let ends = said.iter().filter(|line| matches!(line, Line::End { .. })).count();
        if ends != self.order.threads as usize {
            let last = said.last();
            return Err(Bad::OtherEnd(format!(
                "{ends} of {} threads ended; last: {last:?}",
                self.order.threads
            )));
        }
        Ok(())
    }

    /// The final state of each thread.
    pub(crate) fn end(&self) -> &Value {
        &self.expected
    }

    /// The message of a failure.
    pub(crate) fn replay(&self) -> String {
        format!("SUPERSTEP_TORTURE_ORDER='{}'", self.order)
    }
}

/// Checks a file against the acknowledgements.
pub(crate) fn check_file(db: &Path, told: &Told) -> Result<Recorded, Bad> {
    match maintenance::verify(db) {
        Ok(verified) if verified.is_sound() => {}
        Ok(verified) => return Err(Bad::Damaged(format!("{:?}", verified.findings))),
        // A file may be killed during its creation. The next program creates it.
        Err(_) if told.is_nothing() => return Ok(Recorded::default()),
        Err(error @ StoreError::Io(_)) => return Err(Bad::Lost(format!("everything: {error}"))),
        Err(error) => return Err(Bad::Damaged(error.to_string())),
    }
    Tables::open(db)
        .and_then(|tables| {
            if let Some(lost) = tables.lost(told)? {
                return Ok(Err(Bad::Lost(lost)));
            }
            if let Some(forked) = tables.forked()? {
                return Ok(Err(Bad::Forked(forked)));
            }
            tables.recorded().map(Ok)
        })
        .unwrap_or_else(|error| Err(Bad::Damaged(format!("the tables cannot be read: {error}"))))
}

/// Reads the tables directly, so that the check does not depend on the framework.
struct Tables(Connection);

impl Tables {
    /// Opens the file without changing it.
    fn open(db: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open_with_flags(db, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        Ok(Self(connection))
    }

    fn texts(&self, query: &str) -> rusqlite::Result<Vec<(String, String)>> {
        let mut query = self.0.prepare(query)?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }

    fn lost(&self, told: &Told) -> rusqlite::Result<Option<String>> {
        let saved = self.texts("SELECT lower(hex(id)), '' FROM checkpoint WHERE thread <> 0")?;
        let saved: BTreeSet<String> = saved.into_iter().map(|(id, _)| id).collect();
        if let Some((id, step)) = told.saved.iter().find(|(id, _)| !saved.contains(*id)) {
            return Ok(Some(format!("checkpoint {id} of step {step}, of {} acknowledged", told.saved.len())));
        }
        let asked = self.texts("SELECT lower(hex(interrupt)), '' FROM ask")?;
        let asked: BTreeSet<String> = asked.into_iter().map(|(id, _)| id).collect();
        if let Some(id) = told.asked.iter().find(|id| !asked.contains(*id)) {
            return Ok(Some(format!("question {id}")));
        }
        let begun: BTreeSet<_> =
            self.texts("SELECT lower(hex(task)), name FROM effect")?.into_iter().collect();
        let begun = told.begun.iter().find(|effect| !begun.contains(*effect));
        Ok(begun.map(|(task, name)| format!("the start of the effect {name} of {task}")))
    }

    fn forked(&self) -> rusqlite::Result<Option<String>> {
        let steps = self.texts(
            "SELECT t.name, 'has step ' || c.step || ' ' || count(*) || ' times' FROM checkpoint c
             JOIN thread t ON t.id = c.thread GROUP BY c.thread, c.step HAVING count(*) > 1",
        )?;
        let parents = self.texts(
            "SELECT 'checkpoint ' || parent, 'is continued ' || count(*) || ' times' FROM checkpoint
             WHERE parent IS NOT NULL GROUP BY parent HAVING count(*) > 1",
        )?;
        Ok(steps.into_iter().chain(parents).next().map(|(what, how)| format!("{what} {how}")))
    }

    fn recorded(&self) -> rusqlite::Result<Recorded> {
        let tasks =
            self.texts("SELECT lower(hex(task)), '' FROM pending WHERE text NOT LIKE '{\"failure\"%'")?;
        let effects = self.texts("SELECT lower(hex(task)), name FROM effect WHERE outcome IS NOT NULL")?;
        let mut heads =
            self.0.prepare("SELECT t.name, c.step FROM thread t JOIN checkpoint c ON c.seq = t.head")?;
        let heads = heads.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Recorded {
            tasks: tasks.into_iter().map(|(task, _)| task).collect(),
            effects: effects.into_iter().collect(),
            heads: heads.collect::<Result<_, _>>()?,
        })
    }
}
