//! The threads of each example go from its file into a Postgres database, and from there into another file: they have the
//! same documents, the verbs say the same of them, and the code of the example replays them. Where Postgres is not
//! installed, the test says so and passes, unless `SUPERSTEP_NEEDS_POSTGRES` is set.

use serde_json::Value;

use super::Recorded;
use crate::cluster::Cluster;

impl Recorded {
    /// Runs a verb on its own file, or on another file or a database.
    fn says(&self, place: Option<&str>, arguments: &[&str]) -> (i32, String) {
        let arguments = match place {
            Some(place) => [&arguments[..1], &["--file", place], &arguments[1..]].concat(),
            None => arguments.to_vec(),
        };
        let said = self.debug(&arguments);
        (said.code, said.out + &said.err)
    }

    /// What the verbs say of all threads. The bytes of a thread depend on the place.
    fn told(&self, place: Option<&str>) -> Vec<(i32, String)> {
        let (_, listed) = self.says(place, &["threads", "--json", "--depth", "4"]);
        let listed: Vec<&str> = listed.lines().filter(|line| !line.contains("\"bytes\"")).collect();
        let mut told = vec![(0, listed.join("\n")), self.says(place, &["interrupts", "--json"])];
        told.push(self.says(place, &["grep", "a", "--json"]));
        for thread in &self.threads() {
            for arguments in [
                &["log", thread, "-n", "0", "--json"][..],
                &["log", thread, "--depth", "4", "--json"],
                &["log", thread, "--strip", "40", "--json"],
                &["show", thread, "--json"],
                &["diff", thread, "--json"],
                &["blame", thread, ".", "--json"],
                &["bisect", thread, "--path", self.field, "--is", "!= null", "--json"],
                &["calls", thread, "--json"],
                &["graph", thread, "--json"],
                &["test", thread, "--json"],
                &["export", thread],
                &["replay", thread, "--json"],
            ] {
                told.push(self.says(place, arguments));
            }
            let (_, log) = self.says(place, &["log", thread, "-n", "0", "--json"]);
            let log: Value = serde_json::from_str(&log).unwrap();
            for line in log["checkpoints"].as_array().unwrap() {
                let id = line["id"].as_str().unwrap();
                told.push(self.says(place, &["show", id, "--json"]));
                if let Some(node) = line["ran"][0].as_str() {
                    told.push(self.says(place, &["why", id, node, "--json"]));
                }
            }
        }
        told
    }
}

#[test]
fn threads_go_into_a_database_and_back_and_are_the_same() {
    let Some(cluster) = Cluster::shared() else { return };
    for recorded in Recorded::all() {
        let folder = cluster.folder().display();
        let database = format!("postgres://superstep@/postgres?host={folder}&schema={}", recorded.name);
        let back = recorded.folder.path().join("back.db");
        let back = back.to_str().unwrap();
        let (code, copied) = recorded.says(None, &["copy", &database]);
        assert_eq!((code, copied.matches("copied ").count()), (0, recorded.threads().len()), "{copied}");
        assert_eq!(recorded.says(Some(&database), &["copy", back]).0, 0);
        let first = recorded.told(None);
        for place in [&database, back] {
            let other = recorded.told(Some(place));
            assert_eq!(first.len(), other.len());
            for (first, other) in first.iter().zip(&other) {
                assert!(first == other, "{} on {place}\n{first:?}\n{other:?}", recorded.name);
            }
        }
        assert!(
            recorded
                .says(Some(&database), &["copy", back])
                .1
                .lines()
                .all(|line| line.starts_with("unchanged "))
        );
    }
}
