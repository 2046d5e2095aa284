//! Random sessions in one folder, compared with naive copies of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Few names, so that changes meet; `d` and `d/e` are files, links and folders in turn.
const PATHS: [&str; 9] = ["a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "new\nline", "f/a"];

#[derive(Clone, Debug)]
pub(crate) enum Write {
    File { path: usize, content: u8 },
    Remove { path: usize },
    Folder { path: usize },
    Link { path: usize, target: usize },
    Execute { path: usize, yes: bool },
    Rename { path: usize, to: usize },
}

#[derive(Clone, Debug)]
enum Step {
    /// A call of a session: a tool writes one file, a command writes several.
    Call {
        session: usize,
        writes: Vec<Write>,
    },
    /// Another program.
    Foreign(Write),
    /// Back by so many snapshots.
    Rewind {
        session: usize,
        by: usize,
    },
    Redo {
        session: usize,
    },
    /// Another process opens the store.
    Reopen,
}

pub(crate) fn write() -> impl Strategy<Value = Write> {
    let path = || 0..PATHS.len();
    prop_oneof![
        6 => (path(), 0_u8..4).prop_map(|(path, content)| Write::File { path, content }),
        3 => path().prop_map(|path| Write::Remove { path }),
        1 => path().prop_map(|path| Write::Folder { path }),
        1 => (path(), path()).prop_map(|(path, target)| Write::Link { path, target }),
        1 => (path(), any::<bool>()).prop_map(|(path, yes)| Write::Execute { path, yes }),
        1 => (path(), path()).prop_map(|(path, to)| Write::Rename { path, to }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let session = || 0..2_usize;
    prop_oneof![
        8 => (session(), vec(write(), 1..4)).prop_map(|(session, writes)| Step::Call { session, writes }),
        3 => write().prop_map(Step::Foreign),
        4 => (session(), 1..6_usize).prop_map(|(session, by)| Step::Rewind { session, by }),
        2 => session().prop_map(|session| Step::Redo { session }),
        1 => Just(Step::Reopen),
    ]
}

impl Write {
    /// Writes as any program does. What is not possible is not done.
    pub(crate) fn carry_out(&self, folder: &Path, clock: &mut u64) {
        *clock += 1;
        let at = |path: &usize| folder.join(PATHS[*path]);
        match self {
            Self::File { path, content } => {
                let path = at(path);
                drop(fs::create_dir_all(path.parent().unwrap()));
                // Not through a link: it may lead to a path that another step looks at.
                if path.symlink_metadata().is_ok_and(|it| it.is_symlink()) {
                    fs::remove_file(&path).unwrap();
                }
                if fs::write(&path, [*content]).is_ok() {
                    // Each write has a time of its own, so the cache can be relied on.
                    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(*clock);
                    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
                }
            }
            Self::Remove { path } => {
                let path = at(path);
                let is_folder = path.symlink_metadata().is_ok_and(|it| it.is_dir());
                drop(if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) });
            }
            Self::Folder { path } => drop(fs::create_dir_all(at(path))),
            Self::Link { path, target } => drop(std::os::unix::fs::symlink(PATHS[*target], at(path))),
            Self::Execute { path, yes } => {
                use std::os::unix::fs::PermissionsExt;
                let path = at(path);
                if path.symlink_metadata().is_ok_and(|it| it.is_file()) {
                    let mode = if *yes { 0o755 } else { 0o600 };
                    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
                }
            }
            Self::Rename { path, to } => drop(fs::rename(at(path), at(to))),
        }
    }
}

/// A session, with a copy of the folder for each of its snapshots.
#[derive(Default)]
struct Session {
    line: Vec<(SnapshotId, Files)>,
    own: Vec<Change>,
    /// The last rewind, and the changes before it.
    rewound: Option<(Restored, Vec<Change>)>,
}

struct World {
    fixture: Fixture,
    sessions: [Session; 2],
    clock: u64,
}

impl World {
    fn new() -> Self {
        let fixture = Fixture::new();
        fixture.write("a", "0");
        fixture.write("d/a", "0");
        Self { fixture, sessions: Default::default(), clock: 0 }
    }

    fn snapshot(&mut self, session: usize) -> Taken {
        let before = self.sessions[session].line.last().map(|(id, _)| *id);
        let files = self.fixture.files();
        let taken = self.fixture.take_at(before, &[], ALL_SETTLED);
        self.sessions[session].note(taken.id, files);
        taken
    }

    fn carry_out(&mut self, step: &Step) {
        match step {
            Step::Call { session, writes } => {
                self.snapshot(*session);
                let folder = self.fixture.folder();
                writes.iter().for_each(|write| write.carry_out(&folder, &mut self.clock));
                let taken = self.snapshot(*session);
                let session = &mut self.sessions[*session];
                session.own.extend(taken.change());
                session.rewound = None;
            }
            Step::Foreign(write) => write.carry_out(&self.fixture.folder(), &mut self.clock),
            Step::Rewind { session, by } => {
                let line = &self.sessions[*session].line;
                let Some(&(from, _)) = line.last() else { return };
                let to = line[line.len().saturating_sub(1 + by)].0;
                let own = self.sessions[*session].own.clone();
                let restored = self.restore(*session, from, to, &own);
                let session = &mut self.sessions[*session];
                let known = session.line.iter().position(|(id, _)| *id == to).unwrap();
                let is_kept =
                    |change: &Change| session.line[..=known].iter().any(|(id, _)| *id == change.after);
                session.own.retain(is_kept);
                session.rewound = Some((restored, own));
            }
            Step::Redo { session } => {
                let Some((restored, own)) = self.sessions[*session].rewound.take() else { return };
                self.restore(*session, restored.after, restored.before, &[restored.change()]);
                self.sessions[*session].own = own;
            }
            Step::Reopen => self.fixture.reopen(),
        }
    }

    /// Restores, and compares the folder with what the naive rules say.
    fn restore(&mut self, session: usize, from: SnapshotId, to: SnapshotId, own: &[Change]) -> Restored {
        let line = &self.sessions[session].line;
        let at = |id: SnapshotId| line.iter().rposition(|(known, _)| *known == id).unwrap();
        let now = self.fixture.files();
        let expected = naive(&line[at(to)..=at(from)], own, &now);
        let plan = self.fixture.plan(from, to, own);
        let foreign: Vec<_> = plan.foreign().collect();
        let foreign = paths(&foreign).into_iter().map(|path| path.trim_end_matches('/').to_owned());
        assert_eq!(foreign.collect::<BTreeSet<_>>(), expected.foreign, "foreign files");
        let restored = self.fixture.state.restore(&plan, ALL_SETTLED).unwrap();
        assert_eq!(self.fixture.files(), expected.files, "files after {plan:?}");
        self.sessions[session].note(restored.before, now);
        self.sessions[session].note(restored.after, expected.files);
        restored
    }
}

impl Session {
    fn note(&mut self, id: SnapshotId, files: Files) {
        if self.line.last().is_none_or(|(last, _)| *last != id) {
            self.line.push((id, files));
        }
    }
}

pub(crate) struct Expected {
    pub(crate) files: Files,
    pub(crate) foreign: BTreeSet<String>,
}

/// The rules, with whole copies of the folder.
pub(crate) fn naive(line: &[(SnapshotId, Files)], own: &[Change], now: &Files) -> Expected {
    let mut traced: BTreeMap<&String, (Option<&Node>, Option<&Node>, bool)> = BTreeMap::new();
    for pair in line.windows(2) {
        let ((before, old), (after, new)) = (&pair[0], &pair[1]);
        if !own.contains(&Change { before: *before, after: *after }) {
            continue;
        }
        let all: BTreeSet<_> = old.keys().chain(new.keys()).collect();
        for path in all.into_iter().filter(|path| old.get(*path) != new.get(*path)) {
            let (_, left, foreign) = traced.entry(path).or_insert((old.get(path), old.get(path), false));
            *foreign |= *left != old.get(path);
            *left = new.get(path);
        }
    }
    let mut foreign = BTreeSet::new();
    let mut targets: BTreeMap<&String, Option<&Node>> = BTreeMap::new();
    for (path, (first, left, is_foreign)) in traced {
        if now.get(path) == first {
            continue;
        }
        if is_foreign || now.get(path) != left {
            foreign.insert(path.clone());
        } else {
            targets.insert(path, first);
        }
    }
    let mut files = now.clone();
    let mut kept = BTreeSet::new();
    for (path, target) in targets.iter().rev() {
        let below = format!("{path}/");
        let is_folder = files.get(*path) == Some(&Node::Folder);
        let clears = target.is_none() || is_folder != (*target == Some(&Node::Folder));
        if clears && is_folder && files.keys().any(|other| other.starts_with(&below)) {
            kept.insert(*path);
            if target.is_some() {
                foreign.insert((*path).clone());
            }
        } else if clears {
            files.remove(*path);
        }
    }
    for (path, target) in targets {
        let Some(target) = target.filter(|_| !kept.contains(path)) else { continue };
        let above: Vec<_> = path.match_indices('/').map(|(end, _)| path[..end].to_owned()).collect();
        if above.iter().all(|path| files.get(path).is_none_or(|node| *node == Node::Folder)) {
            files.extend(above.into_iter().map(|path| (path, Node::Folder)));
            files.insert(path.clone(), target.clone());
        }
    }
    Expected { files, foreign }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rewinds_and_redos_of_two_sessions_are_those_of_naive_copies(steps in vec(step(), 1..25)) {
        let mut world = World::new();
        for step in &steps {
            world.carry_out(step);
        }
    }
}
