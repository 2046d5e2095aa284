//! Random sessions in one folder, compared with naive copies of it.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::snapshot::tests::model::{Write, naive, write};
use crate::snapshot::tests::{Files, paths};

#[derive(Clone, Debug)]
enum Step {
    /// A call of `write_file`.
    Tool {
        session: usize,
        path: usize,
        content: u8,
    },
    /// A command that writes several files.
    Shell {
        session: usize,
        writes: Vec<Write>,
    },
    /// Another program.
    Foreign(Write),
    /// Back by so many messages.
    Rewind {
        session: usize,
        by: usize,
    },
    Redo {
        session: usize,
    },
}

/// The files of `write_file`, some of them those of commands.
const PATHS: [&str; 4] = ["a", "d/a", "d/e/a", "g"];

fn step() -> impl Strategy<Value = Step> {
    let session = || 0..2_usize;
    prop_oneof![
        3 => (session(), 0..PATHS.len(), 0_u8..4)
            .prop_map(|(session, path, content)| Step::Tool { session, path, content }),
        5 => (session(), vec(write(), 1..4)).prop_map(|(session, writes)| Step::Shell { session, writes }),
        3 => write().prop_map(Step::Foreign),
        4 => (session(), 1..4_usize).prop_map(|(session, by)| Step::Rewind { session, by }),
        2 => session().prop_map(|session| Step::Redo { session }),
    ]
}

/// A message of a session that was worked on.
#[derive(Clone)]
struct Point {
    checkpoint: CheckpointId,
    snapshot: Option<SnapshotId>,
}

struct Session {
    thread: Thread<AssistantState>,
    /// The messages that led to the latest checkpoint.
    points: Vec<Point>,
    /// All snapshots, each with a copy of the folder.
    line: Vec<(SnapshotId, Files)>,
    /// Those messages before each rewind that can be taken back.
    rewound: Vec<Vec<Point>>,
}

struct World {
    desk: Desk,
    sessions: Vec<Session>,
    clock: Arc<Mutex<u64>>,
}

impl World {
    async fn new() -> Self {
        let desk = Desk::new();
        desk.put("a", "0");
        let mut sessions = Vec::new();
        for name in ["one", "two"] {
            let thread = desk.session(name);
            let checkpoint = desk.ask(&thread).await.id();
            let points = vec![Point { checkpoint, snapshot: None }];
            sessions.push(Session { thread, points, line: Vec::new(), rewound: Vec::new() });
        }
        Self { desk, sessions, clock: Arc::default() }
    }

    async fn carry_out(&mut self, step: &Step) {
        match step {
            Step::Tool { session, path, content } => {
                self.desk.will_write(PATHS[*path], &content.to_string());
                self.work(*session).await;
            }
            Step::Shell { session, writes } => {
                let (writes, clock) = (writes.clone(), Arc::clone(&self.clock));
                self.desk.will_run(move |folder| {
                    writes.iter().for_each(|write| write.carry_out(folder, &mut clock.lock().unwrap()));
                });
                self.work(*session).await;
            }
            Step::Foreign(write) => write.carry_out(&self.desk.folder(), &mut self.clock.lock().unwrap()),
            Step::Rewind { session, by } => self.rewind(*session, *by).await,
            Step::Redo { session } => self.redo(*session).await,
        }
    }

    /// Has a session work on a message.
    async fn work(&mut self, session: usize) {
        let before = read(&self.desk.folder());
        let session = &mut self.sessions[session];
        let known = session.thread.head().await.unwrap().state().changes.len();
        let head = self.desk.ask(&session.thread).await;
        if let [change] = head.state().changes[known..] {
            session.note(change.before, before);
            session.note(change.after, read(&self.desk.folder()));
        } else {
            assert_eq!(read(&self.desk.folder()), before);
            // A call that is refused takes none.
            head.state().snapshot.into_iter().for_each(|now| session.note(now, before.clone()));
        }
        session.points.push(Point { checkpoint: head.id(), snapshot: head.state().snapshot });
        session.rewound.clear();
    }

    async fn rewind(&mut self, session: usize, by: usize) {
        let (desk, session) = (&self.desk, &mut self.sessions[session]);
        let at = session.points.len().saturating_sub(1 + by);
        let point = session.points[at].clone();
        let head = session.thread.head().await.unwrap().into_state();
        let plan = Rewind::plan(&session.thread, point.checkpoint, &desk.snapshots).await.unwrap();
        let now = read(&desk.folder());
        let first = point.snapshot.or(head.changes.first().map(|change| change.before));
        let line = head.snapshot.zip(first).map(|(from, to)| session.between(to, from));
        let expected = line.map(|line| naive(line, &head.changes, &now));
        let foreign: Vec<_> = plan.foreign().collect();
        let foreign = paths(&foreign).into_iter().map(|path| path.trim_end_matches('/').to_owned());
        let expected_foreign = expected.iter().flat_map(|expected| expected.foreign.iter().cloned());
        assert_eq!(foreign.collect::<Vec<_>>(), expected_foreign.collect::<Vec<_>>(), "foreign files");
        let restored = plan.apply().await.unwrap();
        let files = expected.map_or_else(|| now.clone(), |expected| expected.files);
        session.restored(desk, restored, now, files);
        let later = std::mem::take(&mut session.points);
        session.points = later[..=at].to_vec();
        session.rewound.push(later);
    }

    async fn redo(&mut self, session: usize) {
        let (desk, session) = (&self.desk, &mut self.sessions[session]);
        let head = session.thread.head().await.unwrap().into_state();
        let Some(later) = session.rewound.pop() else {
            redo(&session.thread, &desk.snapshots).await.unwrap_err();
            return;
        };
        let now = read(&desk.folder());
        let change = head.rewound.expect("it was rewound").change;
        let line =
            change.zip(head.snapshot).map(|(change, from)| (change, session.between(change.before, from)));
        let expected = line.map(|(change, line)| naive(line, &[change], &now).files);
        let restored = redo(&session.thread, &desk.snapshots).await.unwrap();
        session.restored(desk, restored, now.clone(), expected.unwrap_or(now));
        session.points = later;
    }
}

impl Session {
    fn note(&mut self, id: SnapshotId, files: Files) {
        if self.line.last().is_none_or(|(last, _)| *last != id) {
            self.line.push((id, files));
        }
    }

    fn between(&self, to: SnapshotId, from: SnapshotId) -> &[(SnapshotId, Files)] {
        let at = |id: SnapshotId| self.line.iter().rposition(|(known, _)| *known == id).unwrap();
        &self.line[at(to)..=at(from)]
    }

    /// Compares the folder with what it should be.
    fn restored(&mut self, desk: &Desk, restored: Option<Restored>, before: Files, after: Files) {
        assert_eq!(read(&desk.folder()), after);
        if let Some(restored) = restored {
            self.note(restored.before, before);
            self.note(restored.after, after);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_sessions_in_one_folder_are_rewound_and_redone_as_naive_copies_of_it(steps in vec(step(), 1..8)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new().await;
            for step in &steps {
                world.carry_out(step).await;
            }
        });
    }
}
