//! The threads that have data on each page of a file.
//!
//! | page | belongs to |
//! |---|---|
//! | leaf of a table or an index | the threads that have rows or entries on it, or that refer to such a row |
//! | overflow | the threads of the row that it continues |
//! | the schema, roots and inner pages of trees | all threads, because each search reads them: [`Page::Shared`] |
//! | free | no thread |
//!
//! A thread is *intact* when the damaged page is not shared and contains no data of the thread.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;
use superstep::id::ThreadId;

/// Threads, with the threads of their subgraphs.
type Owners = BTreeSet<ThreadId>;

/// The threads of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Shared,
    Of {
        threads: Owners,
        /// `true` if it holds the newest checkpoints or ids, which every writer reads and continues.
        newest: bool,
    },
}

/// The pages of a file that contain data.
pub(crate) struct Pages(BTreeMap<i64, Page>);

/// A tree, and its rows in their order in the tree: each with the name of its thread, or with a text that names the row
/// in [`REFERRED`]. Index entries are also on inner pages.
struct Tree {
    name: &'static str,
    is_index: bool,
    rows: &'static str,
}

const TREES: [Tree; 21] = [
    Tree::table("thread", "SELECT name FROM thread ORDER BY id"),
    Tree::index("sqlite_autoindex_thread_1", "SELECT name FROM thread ORDER BY name"),
    Tree::table("checkpoint", "SELECT t.name FROM checkpoint r LEFT JOIN thread t ON t.id = r.thread ORDER BY seq"),
    Tree::index(
        "locator",
        "SELECT t.name FROM locator r LEFT JOIN checkpoint c ON c.seq = r.seq LEFT JOIN thread t ON t.id = c.thread
         ORDER BY r.id",
    ),
    Tree::table("schema", "SELECT 'schema ' || id FROM schema ORDER BY id"),
    Tree::index("sqlite_autoindex_schema_1", "SELECT 'schema ' || id FROM schema ORDER BY fingerprint"),
    Tree::table("topology", "SELECT 'topology ' || id FROM topology ORDER BY id"),
    Tree::index("sqlite_autoindex_topology_1", "SELECT 'topology ' || id FROM topology ORDER BY fingerprint"),
    Tree::table("body", "SELECT 'body ' || id FROM body ORDER BY id"),
    Tree::index("sqlite_autoindex_body_1", "SELECT 'body ' || id FROM body ORDER BY hash"),
    Tree::table("segment", "SELECT t.name FROM segment r JOIN thread t ON t.id = r.thread ORDER BY r.id"),
    Tree::table("pending", "SELECT t.name FROM pending r JOIN thread t ON t.id = r.thread ORDER BY r.id"),
    Tree::index(
        "sqlite_autoindex_pending_1",
        "SELECT t.name FROM pending r JOIN thread t ON t.id = r.thread ORDER BY r.thread, base, task",
    ),
    Tree::table("ask", "SELECT t.name FROM ask r JOIN thread t ON t.id = r.thread ORDER BY r.id"),
    Tree::index(
        "sqlite_autoindex_ask_1",
        "SELECT t.name FROM ask r JOIN thread t ON t.id = r.thread ORDER BY r.thread, base, interrupt",
    ),
    Tree::index(
        "ask_open",
        "SELECT t.name FROM ask r JOIN thread t ON t.id = r.thread WHERE answer IS NULL
         ORDER BY deadline, r.thread, base, r.id",
    ),
    Tree::table("effect", "SELECT t.name FROM effect r JOIN thread t ON t.id = r.thread ORDER BY r.id"),
    Tree::index(
        "sqlite_autoindex_effect_1",
        "SELECT t.name FROM effect r JOIN thread t ON t.id = r.thread
         ORDER BY r.thread, base, task, r.name, key, occurrence",
    ),
    Tree::table(
        "emitted",
        "SELECT t.name FROM emitted r JOIN checkpoint c ON c.seq = r.checkpoint JOIN thread t ON t.id = c.thread
         ORDER BY r.id",
    ),
    Tree::index(
        "branch",
        "SELECT t.name FROM branch r JOIN thread t ON t.id = r.thread ORDER BY r.thread, checkpoint",
    ),
    Tree::table("named", "SELECT t.name FROM named r JOIN thread t ON t.id = r.thread ORDER BY r.id"),
];

/// Every thread with the rows that it refers to, and with texts that refer to rows.
const REFERRED: &str = "
SELECT t.name, 'schema ' || c.schema, 'topology ' || c.topology, c.changes || c.manifest
FROM checkpoint c JOIN thread t ON t.id = c.thread
UNION ALL SELECT t.name, '', '', s.text || coalesce(s.whole, '') FROM segment s JOIN thread t ON t.id = s.thread
UNION ALL SELECT t.name, '', '', p.text FROM pending p JOIN thread t ON t.id = p.thread";

/// The checkpoints that are not in the locator yet.
const NEWEST: &str =
    "SELECT max(count(*), 1) FROM checkpoint WHERE seq > (SELECT max(seq) FROM checkpoint) / 64 * 64";

impl Tree {
    const fn table(name: &'static str, rows: &'static str) -> Self {
        Self { name, is_index: false, rows }
    }

    const fn index(name: &'static str, rows: &'static str) -> Self {
        Self { name, is_index: true, rows }
    }
}

/// The outermost thread.
fn root(name: &str) -> ThreadId {
    name.split('\u{1f}').next().unwrap_or(name).into()
}

impl Pages {
    pub(crate) fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let referred = referred(connection)?;
        let roots = "SELECT rootpage FROM sqlite_schema WHERE rootpage > 0";
        let roots: Vec<i64> =
            connection.prepare(roots)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        let mut pages: BTreeMap<i64, Page> = roots.into_iter().map(|page| (page, Page::Shared)).collect();
        let schema = "SELECT pageno FROM dbstat WHERE name IN ('sqlite_schema', 'sqlite_master')";
        for page in connection.prepare(schema)?.query_map([], |row| row.get(0))? {
            pages.insert(page?, Page::Shared);
        }
        for tree in &TREES {
            let rows = connection
                .prepare(tree.rows)?
                .query_map([], |row| row.get::<_, Option<String>>(0))?
                .map(|name| Ok(owners(name?, &referred)))
                .collect::<rusqlite::Result<Vec<Owners>>>()?;
            tree.lay_out(connection, &rows, &mut pages)?;
        }
        Ok(Self(pages))
    }

    /// Returns the threads of a page, by its number from 1.
    pub(crate) fn whose(&self, page: i64) -> Page {
        self.0.get(&page).cloned().unwrap_or(Page::Of { threads: Owners::new(), newest: false })
    }
}

impl Tree {
    /// Assigns rows to pages: leaves hold rows in order, and overflow pages name their cell.
    fn lay_out(
        &self,
        connection: &Connection,
        rows: &[Owners],
        pages: &mut BTreeMap<i64, Page>,
    ) -> rusqlite::Result<()> {
        let mut all = connection
            .prepare("SELECT pageno, path, pagetype, ncell FROM dbstat WHERE name = ? ORDER BY path")?;
        let all: Vec<(i64, String, String, usize)> = all
            .query_map([self.name], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, u32>(3)? as usize))
            })?
            .collect::<rusqlite::Result<_>>()?;
        let newest = match self.name {
            "checkpoint" => connection.query_row(NEWEST, [], |row| row.get::<_, u32>(0))? as usize,
            // An entry that does not fit on the last leaf moves entries between it and the two before it.
            "locator" => 1 + 2 * all.iter().map(|(.., cells)| *cells).max().unwrap_or(0),
            // All threads are continued with the same text, which has one place among the hashes.
            "sqlite_autoindex_body_1" => rows.len(),
            // New rows go to the last leaf of a table.
            _ => usize::from(!self.is_index),
        };
        let mut next = 0;
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        for (page, path, kind, cells) in &all {
            match kind.as_str() {
                "leaf" => {
                    // A tree that is one page has its root there.
                    first.insert(path, next);
                    let held = rows[next..next + cells].iter().flatten().cloned().collect();
                    let newest = next + cells + newest > rows.len();
                    pages.insert(
                        *page,
                        if path == "/" { Page::Shared } else { Page::Of { threads: held, newest } },
                    );
                    // Between two leaves of an index, one entry is on an inner page.
                    next += cells + usize::from(self.is_index);
                }
                "internal" => drop(pages.insert(*page, Page::Shared)),
                _ => {}
            }
        }
        assert!(rows.len() <= next, "{}: every row is on a leaf: {} of {next}", self.name, rows.len());
        for (page, path, ..) in all.iter().filter(|(.., kind, _)| kind == "overflow") {
            let (leaf, cell) = path.rsplit_once('/').expect("a path");
            let cell = cell.split_once('+').expect("it is of a cell").0;
            let cell = usize::from_str_radix(cell, 16).expect("cells are numbered");
            let whose = match first.get(format!("{leaf}/").as_str()) {
                Some(first) => Page::Of {
                    threads: rows[first + cell].clone(),
                    newest: first + cell + newest >= rows.len(),
                },
                // The overflow of an entry on an inner page.
                None => Page::Shared,
            };
            pages.insert(*page, whose);
        }
        Ok(())
    }
}

/// The threads that refer to each row to which several may refer.
fn referred(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Owners>> {
    let mut referred: BTreeMap<String, Owners> = BTreeMap::new();
    let mut all = connection.prepare(REFERRED)?;
    let mut rows = all.query([])?;
    while let Some(row) = rows.next()? {
        let thread = root(&row.get::<_, String>(0)?);
        let text: String = row.get(3)?;
        let bodies = text.split("_body\":").skip(1).map(|rest| {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            format!("body {}", &rest[..digits])
        });
        for what in bodies.chain([row.get(1)?, row.get(2)?]) {
            referred.entry(what).or_default().insert(thread.clone());
        }
    }
    Ok(referred)
}

/// The thread of a row. A row without one takes a number in the order.
fn owners(name: Option<String>, referred: &BTreeMap<String, Owners>) -> Owners {
    match name {
        None => Owners::new(),
        Some(name) => referred.get(&name).cloned().unwrap_or_else(|| [root(&name)].into()),
    }
}
