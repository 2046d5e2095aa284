//! The verbs on a Postgres database instead of a file, and copies between both. Where Postgres is not installed, the tests
//! say so and pass, unless `SUPERSTEP_NEEDS_POSTGRES` is set.

#[path = "../../../graph-checkpoint/tests/it/postgres/cluster.rs"]
#[expect(dead_code, reason = "other tests crash their servers")]
mod cluster;

use std::path::{Path, PathBuf};

use superstep::checkpoint::CheckpointFile;
use superstep::cli::{CheckpointSource, Documents, Exit, Look};
use superstep::prelude::*;

use self::cluster::Cluster;
use crate::debugger::debug;
use crate::portable::library;
use crate::program::{Essay, essays, written};
use crate::{Said, compare, masked, said};

/// The address of a schema, where a verb takes the path of a file.
fn url(cluster: &Cluster, schema: &str) -> PathBuf {
    format!("postgres://superstep@/postgres?host={}&schema={schema}", cluster.folder().display()).into()
}

fn fine(place: &Path, line: &str) -> String {
    let told = said(place, Look::PIPED, line);
    assert_eq!((told.exit, &*told.err), (Exit::Fine, ""), "{line}");
    told.out
}

fn copy(from: &Path, to: &Path, more: &str) -> Said {
    said(from, Look::PIPED, &format!("copy FILE '{}'{more}", to.display()))
}

fn copied(from: &Path, to: &Path) -> String {
    let told = copy(from, to, "");
    assert_eq!((told.exit, &*told.err), (Exit::Fine, ""));
    told.out
}

/// Everything that the verbs say of a file or a database. Only the sizes of stored texts depend on the place.
fn told(place: &Path) -> Vec<(String, String)> {
    let mut told = Vec::new();
    let mut tell = |line: String| {
        let Said { exit, out, err } = said(place, Look::PIPED, &line);
        told.push((line, format!("{exit:?} {out}{err}")));
        told.last().unwrap().1.clone()
    };
    let without_bytes = |text: &str| {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("\"bytes\""));
        lines.collect::<Vec<_>>().join("\n")
    };
    let listed = without_bytes(&fine(place, "threads FILE --json --depth 3"));
    tell("interrupts FILE --json".into());
    tell("grep FILE . --json".into());
    tell("grep FILE sesame".into());
    tell("show FILE nobody".into());
    tell("log FILE rust@99".into());
    tell("compare FILE rust zig --json".into());
    tell("diff FILE rust@2 zig@3 --json".into());
    tell("diff FILE owl fox --json".into());
    let list: serde_json::Value =
        serde_json::from_str(&fine(place, "threads FILE --json --depth 3")).unwrap();
    for thread in list["threads"].as_array().unwrap() {
        // The thread of a subgraph has a name of its own.
        let name = thread["name"].as_str().or(thread["thread"].as_str()).unwrap();
        for verb in ["export", "graph", "name"] {
            tell(format!("{verb} FILE '{name}' --json"));
        }
        for line in ["log FILE N -n 0 --json", "log FILE N --graph --json", "log FILE N --depth 4 --json"] {
            tell(line.replace(" N ", &format!(" '{name}' ")));
        }
        let log = fine(place, &format!("log FILE '{name}' -n 0 --json"));
        let log: serde_json::Value = serde_json::from_str(&log).unwrap();
        for line in log["checkpoints"].as_array().unwrap() {
            let id = line["id"].as_str().unwrap();
            for verb in ["show", "diff", "test", "calls"] {
                tell(format!("{verb} FILE '{name}~0' --json"));
                tell(format!("{verb} FILE {id} --json"));
            }
            tell(format!("show FILE {}", &id[28..]));
            tell(format!("blame FILE {id} . --json"));
            for node in line["ran"].as_array().into_iter().flatten() {
                tell(format!("why FILE {id} {} --json", node.as_str().unwrap()));
            }
        }
        tell(format!("bisect FILE '{name}' --path topic --is '= \"Zig\"' --json"));
    }
    told.push(("threads".into(), listed));
    told
}

fn same(one: &Path, other: &Path) {
    let (one, other) = (told(one), told(other));
    assert_eq!(one.len(), other.len());
    for ((line, one), (_, other)) in one.iter().zip(&other) {
        assert!(one == other, "{line}\n{one}\n\nis not\n\n{other}");
    }
}

#[tokio::test]
async fn every_verb_that_reads_says_the_same_of_a_database_as_of_a_file() {
    let Some(cluster) = Cluster::shared() else { return };
    for (schema, file) in [("essays", written().await), ("library", library().await)] {
        let database = url(&cluster, schema);
        copied(&file.path, &database);
        same(&file.path, &database);
        let back = file.folder.path().join("back.db");
        copied(&database, &back);
        same(&file.path, &back);
        for place in [&back, &database] {
            assert_eq!(fine(place, "verify FILE --json").lines().nth(1), Some("  \"sound\": true,"));
        }
        assert!(fine(&database, "verify FILE").starts_with("the database is sound\n"));
    }
}

#[tokio::test]
async fn a_copy_says_what_it_copied_and_leaves_the_same_threads_out() {
    let Some(cluster) = Cluster::shared() else { return };
    let (file, database) = (written().await, url(&cluster, "copies"));
    let mut text = String::new();
    let to = |text: String| text.replace(database.to_str().unwrap(), "TO");
    for more in [" zig", "", "", " --json"] {
        let Said { exit, out, err } = copy(&file.path, &database, more);
        text += &to(format!("$ superstep copy FILE TO{more}\n{out}{err}[exit {}]\n\n", exit as u8));
    }
    // A thread that goes on in one of them only.
    fine(&database, "edit FILE trouble --set 'topic=\"none\"'");
    let before = fine(&database, "export FILE trouble");
    fine(&file.path, "delete FILE zig");
    let Said { exit, out, err } = copy(&file.path, &database, "");
    text += &to(format!("$ superstep copy FILE TO\n{out}{err}[exit {}]\n", exit as u8));
    compare("copy", &text);
    assert_eq!(fine(&database, "export FILE trouble"), before);
}

/// The verbs that write do the same in a database as in a file.
#[tokio::test]
async fn verbs_write_to_a_database() {
    let Some(cluster) = Cluster::shared() else { return };
    let (file, database) = (written().await, url(&cluster, "writes"));
    copied(&file.path, &database);
    let export = file.folder.path().join("zig.json");
    fine(&file.path, &format!("export FILE zig -o {}", export.display()));
    for line in [
        "name FILE rust@3 before-release".to_owned(),
        "name FILE rust final --rename before-release".into(),
        "name FILE rust --remove nothing".into(),
        "fork FILE rust@2 --name other".into(),
        "fork FILE rust@2 --name other".into(),
        "edit FILE other --set 'topic=\"Go\"'".into(),
        "delete FILE rust".into(),
        "delete FILE rust".into(),
        "show FILE zig".into(),
        "delete FILE zig".into(),
        format!("import FILE {}", export.display()),
        format!("import FILE {}", export.display()),
        "release FILE zig".into(),
        "log FILE zig".into(),
        "threads FILE --unfinished".into(),
    ] {
        let both = [&*file.path, &*database].map(|place| {
            let Said { exit, out, err } = said(place, Look::PIPED, &line);
            let text = format!("{exit:?} {out}{err}");
            // The bytes of threads depend on the place.
            let lines = text.lines().map(|text| match line.starts_with("threads") {
                true => text.split_whitespace().take(2).collect::<Vec<_>>().join(" "),
                false => text.to_owned(),
            });
            masked(&lines.collect::<Vec<_>>().join("\n"))
        });
        assert_eq!(both[0], both[1], "{line}");
    }
}

/// Old checkpoints go as they do in a file, and the threads that stay read the same.
#[tokio::test]
async fn gc_prunes_a_database_as_it_prunes_a_file() {
    let Some(cluster) = Cluster::shared() else { return };
    let (file, database) = (written().await, url(&cluster, "gc"));
    copied(&file.path, &database);
    let counts = |text: &str| text.rsplit_once(" (").map_or(text.trim(), |(counts, _)| counts).to_owned();
    for line in [
        "gc FILE --keep-last 2 --thread rust --dry-run",
        "gc FILE --keep-last 2 --thread rust",
        "gc FILE --keep-last 1",
        "gc FILE --keep-last 1",
        "gc FILE --keep-days 9",
        "gc FILE --keep-last 1 --thread nobody",
    ] {
        let both = [&*file.path, &*database].map(|place| {
            let Said { exit, out, err } = said(place, Look::PIPED, line);
            format!("{exit:?} {} {err}", counts(&out))
        });
        assert_eq!(both[0], both[1], "{line}");
    }
    let counts: serde_json::Value =
        serde_json::from_str(&fine(&database, "gc FILE --keep-last 1 --json")).unwrap();
    assert_eq!((&counts["pruned"]["checkpoints"], &counts["dry_run"]), (&0.into(), &false.into()));
    same(&file.path, &database);
    let missing = said(&url(&cluster, "no_gc"), Look::PIPED, "gc FILE");
    assert_eq!(missing.exit, Exit::Unusable);
    assert!(missing.err.contains("has no checkpoints in the schema no_gc"), "{}", missing.err);
}

/// Texts have the same sizes as in a file, and tables those on disk.
#[tokio::test]
async fn du_measures_a_database() {
    let Some(cluster) = Cluster::shared() else { return };
    let (file, database) = (written().await, url(&cluster, "du"));
    copied(&file.path, &database);
    let measured =
        |place: &Path, line: &str| -> serde_json::Value { serde_json::from_str(&fine(place, line)).unwrap() };
    let [of_file, of_database] = [&*file.path, &*database].map(|place| measured(place, "du FILE --json"));
    let outline = |usage: &serde_json::Value| {
        let threads = usage["threads"].as_array().unwrap().iter();
        let threads = threads.map(|thread| {
            let fields = thread["fields"].as_array().unwrap().iter();
            let fields = fields.map(|field| field["field"].clone()).collect::<Vec<_>>();
            (thread["thread"].clone(), thread["checkpoints"].clone(), fields)
        });
        threads.collect::<Vec<_>>()
    };
    assert_eq!(outline(&of_file), outline(&of_database));
    // A text is stored with its checksum.
    let described = |usage: &serde_json::Value| usage["described"].as_u64().unwrap();
    assert!(described(&of_database) > described(&of_file));
    let tables = of_database["tables"].as_array().unwrap();
    let sizes =
        |table: &serde_json::Value| table["bytes"].as_u64().unwrap() + table["indexes"].as_u64().unwrap();
    assert_eq!(tables.iter().map(sizes).sum::<u64>(), of_database["size"].as_u64().unwrap());
    let change = tables.iter().find(|table| table["table"] == "change").unwrap();
    assert!(change["bytes"].as_u64().unwrap() >= 8_192 && change["indexes"].as_u64().unwrap() >= 8_192);
    let page = fine(&database, "du FILE");
    assert!(page.contains("\nchange ") && page.contains("\nsize "), "{page}");
    let [of_file, of_database] =
        [&*file.path, &*database].map(|place| measured(place, "du FILE rust --json"));
    assert_eq!(of_file["checkpoints"], of_database["checkpoints"]);
    assert!(of_database["manifests"].as_u64() > Some(0));
    assert_eq!(said(&database, Look::PIPED, "du FILE nobody").exit, Exit::No);
}

#[tokio::test]
async fn a_debugger_replays_and_continues_threads_of_a_database() {
    let Some(cluster) = Cluster::shared() else { return };
    let (file, database) = (written().await, url(&cluster, "debugger"));
    copied(&file.path, &database);
    let graph: Graph<Essay> = essays(SqliteSaver::open(&file.path).await.unwrap(), 5_000);
    let run = async |line: &str| {
        let Said { exit, out, err } =
            debug(superstep::debugger(&[&graph]), file.folder.path(), Look::PIPED, line).await;
        assert_eq!(err, "", "{line}");
        (exit as u8, out)
    };
    let on = format!("--file '{}'", database.display());
    for thread in ["rust", "zig"] {
        let (exit, told) = run(&format!("replay {thread}")).await;
        assert_eq!(exit, 0, "{told}");
        assert_eq!(run(&format!("replay {on} {thread}")).await, (0, told));
    }
    let (exit, told) = run(&format!("answer {on} zig '\"good\"'")).await;
    assert_eq!(exit, 0, "{told}");
    assert!(fine(&database, "threads FILE --json").contains("\"status\": \"finished\""));
    let (_, listed) = run(&format!("tail {on} zig")).await;
    assert!(listed.contains("finished"), "{listed}");
    assert!(fine(&file.path, "threads FILE --json").contains("\"waiting\""), "the file is another place");
}

#[tokio::test]
async fn verbs_for_files_say_what_to_use_instead_and_no_password_is_printed() {
    let address = Path::new("postgres://essays:sesame@127.0.0.1:1/essays?schema=a&password=sesame");
    let shown = "postgres://essays@127.0.0.1:1/essays?schema=a";
    for (line, instead) in [
        ("vacuum FILE", "VACUUM FULL"),
        ("backup FILE there.db", "pg_dump"),
        ("migrate FILE", "upgrades its tables"),
    ] {
        let Said { exit, out, err } = said(address, Look::PIPED, line);
        assert_eq!((exit, &*out), (Exit::Unusable, ""));
        assert!(err.contains(instead) && err.contains(shown), "{err}");
    }
    for line in
        ["threads FILE", "show FILE rust --json", "fork FILE a", "copy FILE there.db", "copy there.db FILE"]
    {
        let Said { exit, err, .. } = said(address, Look::PIPED, line);
        assert_eq!(exit, Exit::Unusable);
        assert!(!err.contains("sesame"), "{err}");
        let why = if line.starts_with("copy there") {
            "there is no file"
        } else {
            "failed to connect to the database"
        };
        assert!(err.contains(why), "{err}");
    }
    let Some(cluster) = Cluster::shared() else { return };
    let missing = said(&url(&cluster, "missing"), Look::PIPED, "threads FILE");
    assert_eq!(
        (missing.exit, &*missing.err),
        (
            Exit::Unusable,
            "error: the database has no checkpoints in the schema missing: name its schema with ?schema=NAME in the \
             address\n"
        )
    );
}

/// The verbs read an encrypted database with its keys only.
#[tokio::test]
async fn rekey_encrypts_a_database_and_the_verbs_read_it_with_its_keys() {
    let Some(cluster) = Cluster::shared() else { return };
    let (file, database) = (written().await, url(&cluster, "keyed"));
    copied(&file.path, &database);
    let keys = file.folder.path().join("keys.txt");
    std::fs::write(&keys, crate::keys::KEY).unwrap();
    let named = format!("--key-file {}", keys.display());
    let lines = [
        "interrupts FILE",
        "show FILE rust",
        "grep FILE e",
        "export FILE rust",
        "gc FILE --dry-run",
        "verify FILE",
    ];
    let before = lines.map(|line| fine(&database, line));
    let plain = said(&database, Look::PIPED, &format!("threads FILE {named}"));
    assert_eq!((plain.exit, plain.err.contains("is not encrypted")), (Exit::Unusable, true), "{}", plain.err);
    let none = said(&database, Look::PIPED, "rekey FILE");
    assert_eq!((none.exit, none.err.contains("keys are needed")), (Exit::Unusable, true), "{}", none.err);

    let told = fine(&database, &format!("rekey FILE {named}"));
    assert!(told.contains("rows rewritten"), "{told}");
    for (line, before) in lines.into_iter().zip(&before) {
        assert_eq!(&fine(&database, &format!("{line} {named}")), before);
        let refused = said(&database, Look::PIPED, line);
        assert_eq!(refused.exit, Exit::Unusable);
        assert!(
            refused.err.contains("is encrypted with the key first: open it with its keys"),
            "{}",
            refused.err
        );
    }
    // A copy into a schema that does not exist yet is encrypted, too.
    let (other, plain) = (url(&cluster, "keyed_copy"), url(&cluster, "plain_copy"));
    let told = copy(&database, &other, &format!(" {named} --to-key-file {}", keys.display()));
    assert_eq!((told.exit, &*told.err), (Exit::Fine, ""));
    assert_eq!(fine(&other, &format!("export FILE rust {named}")), before[3]);
    assert_eq!(said(&other, Look::PIPED, "threads FILE").exit, Exit::Unusable);
    let told = copy(&other, &plain, &format!(" {named}"));
    assert_eq!((told.exit, &*told.err), (Exit::Fine, ""));
    assert_eq!(fine(&plain, "export FILE rust"), before[3]);

    fine(&database, &format!("rekey FILE {named} --plain"));
    assert_eq!(lines.map(|line| fine(&database, line)), before);
}

/// The studio asks `Documents`.
#[tokio::test]
async fn documents_of_a_database_are_those_of_a_file_and_follow_its_changes() {
    let Some(cluster) = Cluster::shared() else { return };
    let (file, database) = (written().await, url(&cluster, "documents"));
    copied(&file.path, &database);
    let shown = database.to_str().unwrap();
    let source = CheckpointSource::database(shown).expect("it is a URL");
    let (of_file, of_database) =
        (Documents::open(CheckpointFile::at(&file.path)).unwrap(), Documents::open(source).unwrap());
    assert_eq!(of_database.path(), database);
    assert_eq!(of_file.graphs().unwrap(), of_database.graphs().unwrap());
    let answer = |documents: &Documents, line: &str| {
        let (verb, arguments) = line.split_once(' ').unwrap_or((line, ""));
        let (options, arguments): (Vec<_>, Vec<_>) =
            arguments.split_whitespace().partition(|word| word.starts_with('-'));
        documents.answer(verb, options.into_iter().map(str::to_owned), arguments).unwrap()
    };
    for line in [
        "log --graph rust",
        "show rust@1",
        "grep about",
        "export zig",
        "blame rust .",
        "interrupts",
        "show zig",
    ] {
        // What was read is remembered.
        for _ in 0..2 {
            assert_eq!(answer(&of_file, line), answer(&of_database, line), "{line}");
        }
    }
    let watcher = of_database.watcher().unwrap();
    let before = watcher.version().unwrap();
    assert_eq!(watcher.version().unwrap(), before);
    let open = answer(&of_database, "interrupts");
    for place in [&*file.path, &*database] {
        fine(place, "delete FILE zig");
    }
    assert_ne!(watcher.version().unwrap(), before);
    assert_ne!(answer(&of_database, "interrupts"), open);
    for line in ["log --graph rust", "interrupts", "show rust"] {
        assert_eq!(answer(&of_file, line), answer(&of_database, line), "{line}");
    }
}
