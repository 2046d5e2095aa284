//! A text that was moved to another place is refused, even with correct checksums, which anyone who can write to a file
//! can compute.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use rusqlite::{Connection, params};
use superstep_core::checkpoint::StoreError;

use super::checksum::Checksum;
use super::*;

/// All columns with texts of states.
const COLUMNS: [(&str, &str); 11] = [
    ("checkpoint", "changes"),
    ("checkpoint", "fields"),
    ("checkpoint", "manifest"),
    ("body", "sealed"),
    ("pending", "text"),
    ("ask", "text"),
    ("ask", "fallback"),
    ("ask", "answer"),
    ("effect", "key"),
    ("effect", "outcome"),
    ("emitted", "text"),
];

/// Makes the checksums of all rows right, whatever is in them.
fn mend(connection: &Connection) {
    let each = |sql: &str, sums: &dyn Fn(&rusqlite::Row<'_>) -> Vec<i64>, update: &str| {
        let mut all = connection.prepare(sql).unwrap();
        let mut rows = all.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let mut values = sums(row);
            values.push(row.get(0).unwrap());
            connection.execute(update, rusqlite::params_from_iter(values)).unwrap();
        }
    };
    each(
        "SELECT seq, thread, step, source, schema, topology, id, run, parent, manifest, changes, fields FROM checkpoint",
        &|row| {
            let int = |at| row.get::<_, i64>(at).unwrap();
            let text = |at| row.get::<_, String>(at).unwrap();
            let numbers: Vec<u8> = (0..6).flat_map(|at| int(at).to_le_bytes()).collect();
            let ids: Vec<u8> = (6..8).flat_map(|at| row.get::<_, Vec<u8>>(at).unwrap()).collect();
            let (parent, fields): (Option<i64>, Option<String>) = (row.get(8).unwrap(), row.get(11).unwrap());
            let sum = Checksum::of("checkpoint").bytes(&numbers).bytes(&ids).optional_int(parent);
            let changes = Checksum::of("changes").int(int(0)).optional_int(parent).text(&text(10));
            vec![sum.text(&text(9)).finish(), changes.optional_text(fields.as_deref()).finish()]
        },
        "UPDATE checkpoint SET sum = ?, changes_sum = ? WHERE seq = ?",
    );
    each(
        "SELECT id, hash, sealed FROM body",
        &|row| {
            let (id, hash, sealed): (i64, Vec<u8>, Vec<u8>) =
                (row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap());
            vec![Checksum::of("sealed body").int(id).bytes(&hash).bytes(&sealed).finish()]
        },
        "UPDATE body SET sum = ? WHERE id = ?",
    );
    let work = |table, row: &rusqlite::Row<'_>| {
        let task: Vec<u8> = row.get(3).unwrap();
        Checksum::of(table).int(row.get(1).unwrap()).int(row.get(2).unwrap()).bytes(&task)
    };
    each(
        "SELECT id, thread, base, task, text FROM pending",
        &|row| vec![work("pending", row).text(&row.get::<_, String>(4).unwrap()).finish()],
        "UPDATE pending SET sum = ? WHERE id = ?",
    );
    each(
        "SELECT id, thread, base, interrupt, text, answer, deadline, fallback, by_deadline FROM ask",
        &|row| {
            let text = |at| row.get::<_, Option<String>>(at).unwrap();
            let sum = work("ask", row).text(&text(4).unwrap()).optional_text(text(5).as_deref());
            let sum = sum.optional_int(row.get(6).unwrap()).optional_text(text(7).as_deref());
            vec![sum.int(row.get(8).unwrap()).finish()]
        },
        "UPDATE ask SET sum = ? WHERE id = ?",
    );
    each(
        "SELECT id, thread, base, task, name, key, occurrence, attempt, outcome, starts, token FROM effect",
        &|row| {
            let text = |at| row.get::<_, String>(at).unwrap();
            let (outcome, token): (Option<String>, Vec<u8>) = (row.get(8).unwrap(), row.get(10).unwrap());
            let sum = work("effect", row).text(&text(4)).text(&text(5)).int(row.get(6).unwrap());
            let sum = sum.int(row.get(7).unwrap()).optional_text(outcome.as_deref());
            vec![sum.int(row.get(9).unwrap()).bytes(&token).finish()]
        },
        "UPDATE effect SET sum = ? WHERE id = ?",
    );
    each(
        "SELECT id, checkpoint, task, text FROM emitted",
        &|row| {
            let sum = Checksum::of("emitted").int(row.get(1).unwrap()).int(row.get(2).unwrap());
            vec![sum.text(&row.get::<_, String>(3).unwrap()).finish()]
        },
        "UPDATE emitted SET sum = ? WHERE id = ?",
    );
}

/// The first and the last row that have a text in a column.
fn rows(connection: &Connection, table: &str, column: &str) -> [i64; 2] {
    let sql = format!("SELECT min(rowid), max(rowid) FROM {table} WHERE {column} IS NOT NULL");
    connection.query_row(&sql, [], |row| Ok([row.get(0)?, row.get(1)?])).unwrap()
}

fn cell(connection: &Connection, table: &str, column: &str, row: i64) -> Vec<u8> {
    let sql = format!("SELECT CAST({column} AS BLOB) FROM {table} WHERE rowid = ?");
    connection.query_row(&sql, [row], |row| row.get(0)).unwrap()
}

fn put(connection: &Connection, table: &str, column: &str, row: i64, stored: &[u8]) {
    let form = if column == "sealed" { "BLOB" } else { "TEXT" };
    let sql = format!("UPDATE {table} SET {column} = CAST(? AS {form}) WHERE rowid = ?");
    assert_eq!(connection.execute(&sql, params![stored, row]).unwrap(), 1);
}

#[test]
fn a_text_in_another_place_is_refused_in_every_column_of_every_table() {
    run(async {
        let (_folder, path) = written(sealed()).await;
        let (_other, other) = written(sealed()).await;
        let (connection, other) = (Connection::open(&path).unwrap(), Connection::open(&other).unwrap());
        let whole = read(file(&path, first_key())).unwrap();
        mend(&connection);
        assert!(
            read(file(&path, first_key())).unwrap() == whole,
            "right checksums were mended into wrong ones"
        );
        let mut refused = 0;
        for (table, column) in COLUMNS {
            let [first, last] = rows(&connection, table, column);
            assert_ne!(first, last, "{table} has one row");
            let own = cell(&connection, table, column, first);
            let mut strangers = vec![
                ("of another row", cell(&connection, table, column, last)),
                ("of another file", cell(&other, table, column, first)),
                ("truncated", own[..own.len() - 4].to_vec()),
                ("cut in the middle", own[..own.len() / 2].to_vec()),
                ("a plain one", b"{}".to_vec()),
                ("empty", Vec::new()),
                ("with another number of a key", [b"~7.", &own[3..]].concat()),
            ];
            for (of, elsewhere) in COLUMNS.into_iter().filter(|place| *place != (table, column)) {
                if of == table {
                    strangers.push(("of another column", cell(&connection, table, elsewhere, first)));
                }
            }
            for (which, text) in strangers {
                put(&connection, table, column, first, &text);
                mend(&connection);
                match read(file(&path, first_key())) {
                    Err(StoreError::Corrupt { reason, .. }) => {
                        assert!(!reason.contains("checksum"), "{table}.{column} {which}: {reason}");
                    }
                    other => panic!("{table}.{column}, {which}, passed: {:?}", other.map(drop)),
                }
                refused += 1;
            }
            put(&connection, table, column, first, &own);
            mend(&connection);
        }
        assert!(refused > 80, "only {refused} were tried");
        assert!(read(file(&path, first_key())).unwrap() == whole);
    });
}

#[test]
fn what_a_row_says_beside_its_texts_is_sealed_with_its_manifest() {
    run(async {
        let (_folder, path) = written(sealed()).await;
        let connection = Connection::open(&path).unwrap();
        for change in
            ["step = step + 1", "source = 2", "schema = schema + 1", "parent = parent - 1", "thread = 2"]
        {
            connection.execute_batch("BEGIN").unwrap();
            connection.execute(&format!("UPDATE checkpoint SET {change} WHERE seq = 30"), []).unwrap();
            mend(&connection);
            connection.execute_batch("COMMIT").unwrap();
            let error = read(file(&path, first_key())).unwrap_err();
            assert!(matches!(error, StoreError::Corrupt { .. }), "{change}: {error}");
            let back = change.replace("+ 1", "- 1").replace("parent - 1", "parent + 1");
            let back = back.replace("source = 2", "source = 1").replace("thread = 2", "thread = 1");
            connection.execute(&format!("UPDATE checkpoint SET {back} WHERE seq = 30"), []).unwrap();
            mend(&connection);
            assert!(read(file(&path, first_key())).is_ok(), "{change} is undone");
        }
    });
}

/// The cipher of a file with the first key, and the authenticated data of a pending result.
fn cipher(connection: &Connection) -> (XChaCha20Poly1305, impl Fn(i64, i64) -> Vec<u8>) {
    let file: Vec<u8> = connection.query_row("SELECT file FROM seal", [], |row| row.get(0)).unwrap();
    let mut derived = blake3::Hasher::new_derive_key("superstep checkpoint file 2026-11 key of sealed texts");
    derived.update(&[1; 32]).update(&file);
    let cipher = XChaCha20Poly1305::new(derived.finalize().as_bytes().into());
    let authenticated = move |thread: i64, base: i64| {
        let task = [1; 16];
        let parts: [&[u8]; 5] = [b"pending", b"text", &thread.to_le_bytes(), &base.to_le_bytes(), &task];
        let mut bytes = file.clone();
        for part in parts {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part);
        }
        bytes
    };
    (cipher, authenticated)
}

/// The same text, encrypted again with the key for its new place, is accepted: so only the authenticated data refuses
/// the moved text.
#[test]
fn only_what_is_authenticated_with_a_text_tells_its_place() {
    run(async {
        let (_folder, path) = written(sealed()).await;
        let connection = Connection::open(&path).unwrap();
        let places: Vec<(i64, i64, i64)> = connection
            .prepare("SELECT id, thread, base FROM pending WHERE task = x'01010101010101010101010101010101' ORDER BY id")
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let [(of_t, t, base_t), (of_u, u, base_u)] = places[..] else { panic!("{places:?}") };
        let moved = cell(&connection, "pending", "text", of_t);
        put(&connection, "pending", "text", of_u, &moved);
        mend(&connection);
        assert!(read(file(&path, first_key())).is_err());

        let (cipher, authenticated) = cipher(&connection);
        let bytes = STANDARD_NO_PAD.decode(moved.strip_prefix(b"~1.").unwrap()).unwrap();
        let nonce: [u8; 24] = bytes[..24].try_into().unwrap();
        let aad = authenticated(t, base_t);
        let text = cipher.decrypt(&XNonce::from(nonce), Payload { msg: &bytes[24..], aad: &aad }).unwrap();
        assert!(String::from_utf8(text.clone()).unwrap().contains(CANARY));
        let aad = authenticated(u, base_u);
        let again = cipher.encrypt(&XNonce::from(nonce), Payload { msg: &text, aad: &aad }).unwrap();
        let again = format!("~1.{}", STANDARD_NO_PAD.encode([&nonce[..], &again].concat()));
        put(&connection, "pending", "text", of_u, again.as_bytes());
        mend(&connection);
        let read = read(file(&path, first_key())).unwrap();
        assert_eq!(read.heads[0].results, read.heads[1].results);
    });
}
