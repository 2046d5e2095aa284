//! The table.

use std::path::Path;

use super::documents;
use super::forge::{Claimed, Forge};
use super::reading::{Reader, in_a_process, most_mib, n};
use super::values::*;
use crate::material::run;

/// The memory that a process may take to read a bomb, beside what it takes for a small file, as a multiple of the size of a
/// record.
const TIMES: u64 = 7;

/// A bomb: its name, the error of some call, and the function that creates the file.
type Bomb = (&'static str, &'static str, fn(&Forge));

/// Nothing is refused: the size is detected without much memory.
const NOTHING: &str = "-";

const FILES: &[Bomb] = &[
    // Values in the row of a checkpoint.
    ("lists in lists", "Depth", |file| file.value(&deep("[", "]", 100_000))),
    ("objects in objects", "Depth", |file| file.value(&deep("{\"a\":", "}", 100_000))),
    ("lists and objects in turn", "Depth", |file| file.value(&deep("[{\"\":", "}]", 70_000))),
    ("one level too many", "Corrupt", |file| file.value(&deep("[", "]", 129))),
    ("lists that never end", "Depth", |file| file.changes(1, &"[".repeat(1 << 20))),
    ("a list of 8,000,000 numbers", "Values", |file| file.value(&wide("1", n(8_000_000)))),
    ("a list of 1,500,000 numbers", "Values", |file| file.value(&wide("1", n(1_500_000)))),
    ("a list of empty lists", "Values", |file| file.value(&wide("[]", n(3_000_000)))),
    ("a list of objects with one member", "Values", |file| file.value(&wide("{\"\":1}", n(700_000)))),
    ("a million and a half keys", "Values", |file| file.value(&members("k", n(1_500_000)))),
    ("one key a million and a half times", "Values", |file| {
        file.value(&wide("\"k\":1", n(1_500_000)).replace('[', "{").replace(']', "}"));
    }),
    ("a text of 66 MiB", "Bytes", |file| file.value(&long(n(66 << 20)))),
    ("a row of 200 MiB", "Row", |file| file.value(&long(n(200 << 20)))),
    ("a number beyond all numbers", "Decode", |file| file.value("1e999")),
    ("a number of 100,000 digits", "Decode", |file| file.value(&"9".repeat(100_000))),
    ("an exponent of 100,000 digits", "Decode", |file| {
        file.value(&format!("1e{}", "9".repeat(100_000)));
    }),
    ("half of a surrogate pair", "Decode", |file| file.value("\"\\ud800\"")),
    ("an escape that is none", "Corrupt", |file| file.value("\"\\x41\"")),
    ("a control character", "Corrupt", |file| file.value("\"\u{1}\"")),
    ("no text at all", "Corrupt", |file| file.changes(1, "")),
    ("two values", "Corrupt", |file| file.changes(1, "[] []")),
    ("bytes that are no text", "Corrupt", |file| {
        file.run("UPDATE checkpoint SET changes = CAST(x'5bff5d' AS TEXT) WHERE seq = 1");
    }),
    ("a blob where a text is due", "Corrupt", |file| {
        file.run(
            "CREATE TABLE copy AS SELECT * FROM body; DROP TABLE body; ALTER TABLE copy RENAME TO body;
             INSERT INTO body VALUES(1, zeroblob(32), zeroblob(4000000), 1, NULL)",
        );
        file.changes(1, "[{\"field\":0,\"ops\":[{\"set_body\":1}]}]");
    }),
    ("a sealed text in a plain file", "Corrupt", |file| {
        file.changes(1, &format!("~1.{}", "A".repeat(1 << 20)))
    }),
    ("a sealed text with a key of no number", "Corrupt", |file| {
        file.manifest(1, &format!("~{}.AAAA", "9".repeat(1 << 20)));
    }),
    // Long texts.
    ("a long text with 8,000,000 numbers", "Values", |file| {
        file.body(1, &wide("1", n(8_000_000)));
        file.changes(1, "[{\"field\":0,\"ops\":[{\"set_body\":1}]}]");
    }),
    ("a long text that is nested", "Depth", |file| {
        file.body(1, &deep("[", "]", 1 << 20));
        file.changes(1, "[{\"field\":0,\"ops\":[{\"set_body\":1}]}]");
    }),
    ("a long text that is not there", "Corrupt", |file| {
        file.changes(1, "[{\"field\":0,\"ops\":[{\"set_body\":-9223372036854775808}]}]");
    }),
    ("a long text that is added 3,000 times", "Bytes", |file| {
        file.body(1, &prose(n(1 << 20)));
        let ops = vec!["{\"extend_body\":1}"; 3000].join(",");
        file.changes(1, &format!("[{{\"field\":0,\"ops\":[{ops}]}}]"));
    }),
    ("three long texts that are too much together", "Bytes", |file| {
        (1..4).for_each(|id| file.body(id, &long(n(25 << 20) + id as usize)));
        let next = (1..4).map(|id| format!("{{\"node\":\"n\",\"cause\":\"input\",\"input_body\":{id}}}"));
        file.manifest(3, &format!("{{\"next\":[{}]}}", next.collect::<Vec<_>>().join(",")));
    }),
    ("a long text that is the input of 10,000 tasks", "Bytes", |file| {
        file.body(1, &long(n(40 << 20)));
        let next = vec!["{\"node\":\"n\",\"cause\":\"input\",\"input_body\":1}"; 10_000].join(",");
        file.manifest(3, &format!("{{\"next\":[{next}]}}"));
    }),
    // Maps and sets that are merged.
    ("two million entries of two operations", "Values", |file| {
        file.body(1, &members("a", n(900_000)));
        file.body(2, &members("b", n(900_000)));
        file.changes(1, "[{\"field\":0,\"ops\":[{\"map_put_body\":1},{\"map_put_body\":2}]}]");
    }),
    ("items that come and go", "Values", |file| {
        let (mut put, mut gone) = (String::from("["), String::from("["));
        for number in 0..n(200_000) {
            let comma = if number == 0 { "" } else { "," };
            put.push_str(&format!("{comma}{{\"id\":\"{number:x}\",\"item\":{{\"id\":\"{number:x}\"}}}}"));
            gone.push_str(&format!("{comma}{{\"id\":\"{number:x}\"}}"));
        }
        file.body(1, &(put + "]"));
        file.body(2, &(gone + "]"));
        let ops = ["{\"keyed_body\":1},{\"keyed_body\":2}"; 12].join(",");
        file.changes(1, &format!("[{{\"field\":0,\"ops\":[{ops}]}}]"));
    }),
    // Versions.
    ("a version before itself", "Corrupt", |file| {
        file.changes(3, "[{\"field\":0,\"prev\":3,\"ops\":[{\"extend\":[1]}]}]");
    }),
    ("a version before an older one", "Corrupt", |file| {
        file.changes(2, "[{\"field\":0,\"prev\":3,\"ops\":[{\"extend\":[1]}]}]");
    }),
    ("a version at no place", "Corrupt", |file| {
        file.changes(3, "[{\"field\":0,\"prev\":-1,\"ops\":[{\"extend\":[1]}]}]");
    }),
    ("a version at a place beyond all numbers", "Corrupt", |file| {
        file.changes(3, "[{\"field\":0,\"prev\":9223372036854775808,\"ops\":[{\"extend\":[1]}]}]");
    }),
    ("a field beyond all fields", "Corrupt", |file| {
        file.changes(3, "[{\"field\":65536,\"ops\":[{\"set\":1}]}]")
    }),
    ("a field that no schema has", "Corrupt", |file| {
        file.changes(3, "[{\"field\":65535,\"ops\":[{\"set\":1}]}]")
    }),
    ("24 fields that are one list of 30 MiB", "Bytes", many_fields),
    ("a map of 3,000,000 fields", "Values", |file| file.fields(3, &wide("1", n(3_000_000)))),
    ("a map of fields that is nested", "Depth", |file| file.fields(3, &deep("[", "]", 100_000))),
    // Segments.
    ("a segment that is too long", "Bytes", |file| {
        let items = prose(n(65 << 20));
        segment(file, &Claimed { text: &items[1..items.len() - 1], ..CLAIMED });
    }),
    ("a segment that ends behind its end", "Corrupt", |file| {
        segment(file, &Claimed { ends: "[9223372036854775807]", is_list: false, ..CLAIMED });
    }),
    ("a segment with ends before its beginning", "Corrupt", |file| {
        segment(file, &Claimed { ends: "[-9223372036854775808,-1]", is_list: false, ..CLAIMED });
    }),
    ("a segment with 3,000,000 ends", "Values", |file| {
        segment(file, &Claimed { ends: &wide("1", n(3_000_000)), ..CLAIMED });
    }),
    ("a segment with as many versions as there are numbers", "Corrupt", |file| {
        segment(file, &Claimed { versions: i64::MAX, ends: "[]", ..CLAIMED });
    }),
    ("a segment before itself", "Corrupt", |file| segment(file, &Claimed { prev: Some(3), ..CLAIMED })),
    ("a segment that stands on nothing", "Corrupt", |file| {
        segment(file, &Claimed { prev: Some(i64::MIN), ..CLAIMED });
    }),
    ("a segment whose whole value is 8,000,000 numbers", "Values", |file| {
        file.body(1, &wide("1", n(8_000_000)));
        segment(file, &Claimed { whole: Some("{\"set_body\":1}"), ..CLAIMED });
    }),
    ("a version beyond those of a segment", "Corrupt", |file| {
        file.segment(&CLAIMED);
        file.changes(3, "[{\"field\":0,\"segment\":[1,18446744073709551615]}]");
    }),
    ("a segment that is not there", "Corrupt", |file| {
        file.changes(3, "[{\"field\":0,\"segment\":[9223372036854775807,0]}]");
    }),
    // Other data of a checkpoint than its changes.
    ("1,500,000 tasks", "Values", |file| {
        file.manifest(3, &format!("{{\"tasks\":{}}}", wide("{\"node\":\"n\"}", n(1_500_000))));
    }),
    ("a task with 3,000,000 targets", "Values", |file| {
        file.manifest(
            3,
            &format!("{{\"tasks\":[{{\"node\":\"n\",\"targets\":{}}}]}}", wide("\"\"", n(3_000_000))),
        );
    }),
    ("as many tasks as there may be", NOTHING, |file| {
        file.manifest(3, &format!("{{\"tasks\":{}}}", wide("{\"node\":\"n\"}", n(1_000_000))));
    }),
    ("a write of no operation", "Corrupt", |file| {
        let write = "{\"op\":[0,18446744073709551615]}";
        file.manifest(3, &format!("{{\"tasks\":[{{\"node\":\"n\",\"writes\":[{write}]}}]}}"));
    }),
    ("metadata that is nested", "Depth", |file| {
        file.manifest(3, &format!("{{\"metadata\":{{\"a\":{}}}}}", deep("[", "]", 100_000)));
    }),
    ("no manifest", "Corrupt", |file| file.manifest(3, "")),
    // Work.
    ("a result that is nested", "Depth", |file| file.pending(&deep("{\"task\":", "}", 100_000))),
    ("a result with 3,000,000 values", "Values", |file| {
        file.pending(&format!("{{\"writes\":{}}}", wide("{}", n(3_000_000))));
    }),
    ("a failure with 3,000,000 causes", "Values", |file| {
        file.pending(&format!("{{\"failure\":{{\"error\":{{\"causes\":{}}}}}}}", wide("\"\"", n(3_000_000))));
    }),
    ("a question with 3,000,000 values", "Values", |file| {
        file.ask(Some(&format!("{{\"question\":{}}}", wide("0", n(3_000_000)))), None);
    }),
    ("an answer with 1,500,000 values", "Values", |file| file.ask(None, Some(&wide("0", n(1_500_000))))),
    ("an answer that is nested", "Depth", |file| file.ask(None, Some(&deep("[", "]", 100_000)))),
    ("an outcome with 3,000,000 values", "Values", |file| {
        file.outcome(&format!("{{\"ok\":{}}}", wide("0", n(3_000_000))));
    }),
    ("3,000,000 events", "Values", |file| {
        file.emitted(&format!("{{\"events\":{}}}", wide("{}", n(3_000_000))));
    }),
    // Descriptions.
    ("a schema with 1,500,000 fields", "Values", |file| {
        file.schema(&format!("{{\"name\":\"S\",\"fields\":{}}}", wide("{}", n(1_500_000))));
    }),
    ("a topology that is nested", "Depth", |file| file.topology(&deep("[", "]", 100_000))),
];

/// A text that is read as a whole: its name, its error, its kind, and the function that creates it.
type Text = (&'static str, &'static str, &'static str, fn() -> String);

const TEXTS: &[Text] = &[
    ("a value that is nested", "Depth", "json", || deep("[", "]", 1_000_000)),
    ("a value that never ends", "Depth", "json", || "{\"a\":".repeat(n(8_000_000))),
    ("a value with 8,000,000 numbers", "Values", "json", || wide("0", n(8_000_000))),
    ("a value of 65 MiB", "Bytes", "json", || long(n(65 << 20))),
    ("a value with a large number", "Decode", "json", || "-1e1000".into()),
    ("as many objects as there may be", NOTHING, "json", || wide("{\"\":1}", n(520_000))),
    ("an export that is nested", "Depth", "export", || deep("{\"kind\":", "}", 1_000_000)),
    ("an export with 6,000,000 threads", "Values", "export", || {
        format!("{{\"kind\":\"superstep thread\",\"format\":2,\"threads\":{}}}", wide("{}", n(6_000_000)))
    }),
    ("an export of 257 MiB", "Bytes", "export", || format!("{{\"kind\":{}}}", long(n(257 << 20)))),
    ("an export of another format", "Newer", "export", || {
        "{\"kind\":\"superstep thread\",\"format\":4294967295}".into()
    }),
    ("an export of a format beyond all numbers", "Unreadable", "export", || {
        "{\"kind\":\"superstep thread\",\"format\":-1}".into()
    }),
];

/// A segment that is sound.
const CLAIMED: Claimed<'static> =
    Claimed { prev: None, versions: 1, ends: "[3]", is_list: true, whole: None, text: "1,2" };

/// The operations of the last checkpoint are in the segment.
fn segment(file: &Forge, claimed: &Claimed<'_>) {
    file.segment(claimed);
    file.changes(3, "[{\"field\":0,\"segment\":[1,0]}]");
}

fn many_fields(file: &Forge) {
    file.body(1, &prose(n(30 << 20)));
    file.changes(1, "[{\"field\":0,\"ops\":[{\"extend_body\":1}]}]");
    let field = |number| {
        format!(
            "{{\"name\":\"f{number}\",\"rust_type\":\"T\",\"reducer\":\"R\",\"writers\":\"many\",\"lifetime\":\"stored\"}}"
        )
    };
    let fields: Vec<String> = (0..24).map(field).collect();
    file.schema(&format!("{{\"name\":\"S\",\"version\":1,\"fields\":[{}]}}", fields.join(",")));
    file.fields(3, &wide("[1,0]", 24));
}

#[test]
fn every_bomb_is_refused_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let small = most_for_a_small_file(folder.path());
    let mut wrong = Vec::new();
    let mut most = 0;
    let mut check = |name: &str, expected: &str, path: &Path| {
        let told = in_a_process(path, Reader::Limited);
        println!("{:>4} MiB  {name}: {}", told.peak, told.messages.first().map_or("read", String::as_str));
        most = most.max(told.peak);
        let is_refused = match expected {
            NOTHING => told.refused.is_empty(),
            expected => told.refused.contains(expected),
        };
        if !is_refused || told.peak > small + TIMES * most_mib() {
            wrong.push(format!("{name}: expected {expected}, {told:?}"));
        }
        std::fs::remove_file(path).unwrap();
    };
    for (name, expected, make) in FILES {
        let path = folder.path().join("bomb.db");
        run(async { make(&Forge::at(&path).await) });
        check(name, expected, &path);
    }
    for (name, expected, kind, make) in TEXTS {
        let path = folder.path().join(format!("bomb.{kind}"));
        std::fs::write(&path, make()).unwrap();
        check(name, expected, &path);
    }
    let path = folder.path().join("bomb.export");
    run(async { std::fs::write(&path, documents::grown(folder.path()).await).unwrap() });
    check("an export of a list that is too long", "Bytes", &path);
    println!("{} bombs, at most {most} MiB; a small file {small} MiB", FILES.len() + TEXTS.len() + 1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the MiB that a process takes to read a file that is no bomb: its code, its threads and caches.
fn most_for_a_small_file(folder: &Path) -> u64 {
    let path = folder.join("small.db");
    run(async { drop(Forge::at(&path).await) });
    let told = in_a_process(&path, Reader::Limited);
    assert!(told.refused.is_empty(), "{told:?}");
    told.peak
}

/// The mutant: without limits the same files are read, and one of them uses too much memory.
#[test]
fn a_reader_without_limits_takes_what_it_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let lifted = ["24 fields that are one list of 30 MiB", "a list of 1,500,000 numbers", "1,500,000 tasks"];
    let small = most_for_a_small_file(folder.path());
    let mut most = 0;
    for (name, _, make) in FILES.iter().filter(|(name, ..)| lifted.contains(name)) {
        let path = folder.path().join(format!("{name}.db"));
        run(async { make(&Forge::at(&path).await) });
        let told = in_a_process(&path, Reader::Lifted);
        assert!(told.refused.is_empty(), "{name}: {told:?}");
        most = most.max(told.peak);
    }
    assert!(most > small + TIMES * most_mib(), "{most} MiB are not too much");
}
