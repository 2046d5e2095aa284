//! The exact drawings of the examples' graphs: `graph --svg`, whose layout is that of the studio's page. `UPDATE_GOLDEN=1`
//! writes them into the folder `drawings`.

use std::fs;
use std::path::Path;

use super::Recorded;
use super::verbs::superstep;
use crate::documents;

/// The examples that keep a file, with those whose debugger is tested elsewhere.
fn all() -> Vec<Recorded> {
    let agentic = Recorded { folder: documents(), ..Recorded::new("agentic", "agentic.db", "", "") };
    let agentic = Recorded { file: agentic.folder.path().join("agentic.db"), ..agentic };
    let critic = Recorded::new("photo_critic", "critique.db", "", "");
    // It writes the calls of its tools to stderr.
    assert!(critic.command(&["--db", "critique.db"]).output().unwrap().status.success());
    let more = [
        agentic.after(&[&["What does a fork copy?", "--docs", "docs", "--db", "agentic.db"]]),
        Recorded::new("analyst", "analyst/sessions.db", "", "").after(&[&[]]),
        critic,
    ];
    Recorded::all().into_iter().chain(more).collect()
}

#[test]
fn the_graph_of_each_example_is_drawn_as_before() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/debugger/drawings"));
    for recorded in all() {
        let file = recorded.file.to_str().unwrap();
        let threads = superstep(&["threads", file, "--json"]).json();
        let said = superstep(&["graph", file, threads["threads"][0]["thread"].as_str().unwrap(), "--svg"]);
        assert_eq!((said.code, &*said.err), (0, ""), "{}", recorded.name);
        let kept = folder.join(format!("{}.svg", recorded.name));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(kept, said.out).unwrap();
            continue;
        }
        let before = fs::read_to_string(&kept).unwrap_or_else(|error| panic!("{}: {error}", kept.display()));
        assert!(said.out == before, "the drawing of {} has changed:\n{}", recorded.name, said.out);
    }
}
