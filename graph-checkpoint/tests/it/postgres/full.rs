//! A database that is full.

use std::path::{Path, PathBuf};
use std::process::Command;

use superstep_checkpoint::PostgresSaver;
use superstep_core::checkpoint::{At, Checkpointer, CheckpointerExt, Committed};
use superstep_core::store::Store;

use super::cluster::Cluster;
use super::run;
use crate::material::{commit_of, extend, graph, set, step, thread};

/// A small file system in memory.
struct Disk(PathBuf);

impl Disk {
    fn mount(folder: &Path, owner: (u32, u32)) -> Option<Self> {
        std::fs::create_dir(folder).expect("a folder");
        let (user, group) = owner;
        let options = format!("size=4m,mode=700,uid={user},gid={group}");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(folder).output();
        mounted.is_ok_and(|mounted| mounted.status.success()).then(|| Self(folder.to_owned()))
    }

    fn resize(&self) {
        let grown = Command::new("mount").args(["-o", "remount,size=64m"]).arg(&self.0).status();
        assert!(grown.expect("mount runs").success(), "it grows");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "it is unmounted");
    }
}

/// Returns a text that does not compress.
fn noise(number: u64) -> String {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let letter = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'0' + u8::try_from(state % 64).expect("small"))
    };
    (0..60_000).map(letter).filter(|letter| letter.is_ascii_alphanumeric()).collect()
}

/// What was stored stays, what fails is not stored, and calls succeed once there is space.
#[test]
fn a_full_disk_is_an_error_until_it_has_space() {
    let Some(cluster) = Cluster::own() else { return };
    let folder = cluster.folder().join("small");
    let disk = cluster.owner().and_then(|owner| Disk::mount(&folder, owner));
    let Some(disk) = disk else {
        eprintln!("not tested: a file system cannot be mounted");
        return;
    };
    run(async {
        cluster.execute(&format!("CREATE TABLESPACE small LOCATION '{}'", folder.display()));
        let role = "CREATE ROLE filler LOGIN; GRANT CREATE ON DATABASE postgres TO filler; \
                    GRANT CREATE ON TABLESPACE small TO filler; ALTER ROLE filler SET default_tablespace = 'small'";
        cluster.execute(role);
        let saver = PostgresSaver::open(cluster.url("filler")).await.expect("it fits");
        saver.register(&graph()).await.expect("it fits");
        let store = Store::new(saver.store());
        let mut last = step(None, [set(0, "[]")]);
        assert!(matches!(saver.commit(commit_of("t", &last)).await, Ok(Committed::New)));
        let mut stored = 0;
        let (next, error) = loop {
            let next = step(Some(&last), [extend(0, &format!("[\"{}\"]", noise(stored)))]);
            match saver.commit(commit_of("t", &next)).await {
                Ok(committed) => assert!(matches!(committed, Committed::New), "{committed:?}"),
                Err(error) => break (next, error.to_string()),
            }
            last = next;
            stored += 1;
        };
        let is_full = |error: &str| {
            error.starts_with("the store failed: the database is full: could not extend file \"pg_tblspc/")
                && error
                    .ends_with("\": No space left on device; nothing was stored, free space and try again")
        };
        assert!(stored > 0 && is_full(&error), "{stored}: {error}");
        let mut number = 0;
        let error = loop {
            match store.put(&["n"], &number.to_string(), &noise(number)).await {
                Ok(()) => number += 1,
                Err(error) => break error.to_string(),
            }
        };
        assert!(is_full(&error), "{error}");
        let head = saver.read(&thread("t"), At::Head).await.expect("it is read").expect("it is there");
        assert_eq!(head.checkpoint.id, last.id);
        assert_eq!(store.get::<String>(&["n"], &number.to_string()).await.expect("it is read"), None);
        disk.resize();
        assert!(matches!(saver.commit(commit_of("t", &next)).await, Ok(Committed::New)));
        store.put(&["n"], &number.to_string(), &noise(number)).await.expect("there is space");
    });
    drop(cluster);
    drop(disk);
}
