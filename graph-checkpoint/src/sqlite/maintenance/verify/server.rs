//! Checks the rows of a server.

use std::collections::{BTreeMap, HashSet};

use superstep_core::checkpoint::StoreError;

use super::known::read;
use super::{Check, problem};
use crate::sqlite::records::{self, Digests, Tags};

impl Check<'_> {
    /// Checks the rows of a server, and their references.
    pub(super) fn server(&mut self) {
        let ids = |check: &mut Self, table: &'static str| -> HashSet<i64> {
            let sql = format!("SELECT id FROM {table}");
            let ids = check.findings.guard(table, || read(check.connection, &sql, |row| row.get(0)));
            ids.into_iter().collect()
        };
        let threads = ids(self, "server_thread");
        let (runs, queue) = (ids(self, "server_run"), ids(self, "server_queue"));
        for table in records::TABLES {
            self.server_table(table, &threads);
        }
        for run in runs.symmetric_difference(&queue) {
            let (table, other) = match runs.contains(run) {
                true => ("server_run", "server_queue"),
                false => ("server_queue", "server_run"),
            };
            self.findings.add(table, Some(*run), format_args!("its row in {other} is missing"));
        }
        self.tags();
        let mut expiring = Vec::new();
        self.findings.guard("server_expiring", || {
            records::check_expiring(self.connection, |thread, sound| expiring.push((thread, sound)))
        });
        for (thread, sound) in expiring {
            self.counts.server += 1;
            match sound {
                Err(error) => self.findings.add("server_expiring", None, problem(error)),
                Ok(()) if !threads.contains(&thread) => {
                    self.findings.add("server_expiring", None, missing(thread));
                }
                Ok(()) => {}
            }
        }
    }

    fn server_table(&mut self, table: &records::Table, threads: &HashSet<i64>) {
        let mut rows = Vec::new();
        self.findings.guard(table.name, || {
            table.each(self.connection, "ORDER BY id", [], |id, row| {
                let thread = row.map(|row| table.thread.and_then(|column| row.optional_int(column)));
                rows.push((id, thread));
                Ok(())
            })
        });
        for (id, thread) in rows {
            self.counts.server += 1;
            match self.ignore_unopened(thread).map(Option::flatten) {
                Err(error) => self.findings.add(table.name, Some(id), problem(error)),
                Ok(Some(thread)) if !threads.contains(&thread) => {
                    self.findings.add(table.name, Some(id), missing(thread));
                }
                Ok(_) => {}
            }
        }
    }

    /// Checks that each thread is found by the entries of its metadata, and by no others.
    fn tags(&mut self) {
        if self.connection.is_unopened() {
            return;
        }
        let mut stored =
            self.findings.guard("server_tag", || records::all_tags(self.connection).map(BTreeMap::from_iter));
        let mut wrong = Vec::new();
        let connection = self.connection;
        let check = |id: i64, text: &str| -> Result<bool, StoreError> {
            let tags = Tags::of_text(connection, text, Digests::OfFile)?;
            Ok(stored.remove(&id).unwrap_or_default() == tags)
        };
        let mut check = check;
        self.findings.guard("server_tag", || {
            records::TABLES[0].each(connection, "", [], |id, row| {
                // A damaged row was found before.
                if let Ok(row) = row
                    && !check(id, &row.text)?
                {
                    wrong.push(id);
                }
                Ok(())
            })
        });
        for id in wrong {
            let problem = "its hashes in server_tag are not those of its metadata";
            self.findings.add("server_thread", Some(id), problem);
        }
        for thread in stored.into_keys() {
            self.findings.add("server_tag", None, missing(thread));
        }
    }
}

fn missing(thread: i64) -> String {
    format!("it belongs to server_thread row {thread}, which is missing")
}
