//! Ways out of the sandbox that are no files, each as a command would take it. Perl makes the calls that no tool makes.

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::json;
use superstep_nodes::tool::ToolRegistry;

use super::super::bash::Bash;
use super::*;
use crate::Workspace;
use crate::session::Session;

/// Nothing takes as long as this, on a busy machine either.
const HANGS: Duration = Duration::from_secs(1_000);

fn session() -> Session {
    let tools = ToolRegistry::new().with(Bash::new(Workspace::of_session()).with_time(HANGS)).unwrap();
    Session::of(tools, &[("a.txt", "inside\n")])
}

async fn printed(session: &Session, line: &str) -> String {
    session.done("bash", json!({ "command": line })).await
}

/// The number of the error with which a call ends, or `done`.
async fn error(session: &Session, call: i64, arguments: &str) -> String {
    let line = format!("perl -e '@a = ({arguments}); print syscall({call}, @a) == -1 ? $! + 0 : \"done\"'");
    printed(session, &line).await.trim_end().to_owned()
}

/// The numbers of the errors with which calls end that get nothing but zeros, which each would refuse in its own way.
async fn errors(session: &Session, calls: &[i64]) -> Vec<i32> {
    let numbers: Vec<String> = calls.iter().map(ToString::to_string).collect();
    let each = "for (@ARGV) { print syscall($_ + 0, 0, 0, 0, 0, 0, 0) == -1 ? $! + 0 : 0, \"\\n\" }";
    let said = printed(session, &format!("perl -e '{each}' {}", numbers.join(" "))).await;
    said.lines().map(|line| line.parse().unwrap()).collect()
}

/// A process of the user's own that is none of the command's.
struct Other(Child);

impl Other {
    fn start() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    /// Its limits, and what the scheduler knows of it.
    fn standing(&self) -> String {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", self.0.id())).unwrap();
        let status = read("status");
        let processors = status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap();
        let stat: Vec<String> = read("stat").split(' ').map(str::to_owned).collect();
        format!("{}{processors} nice {} policy {}", read("limits"), stat[18], stat[40])
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// `prlimit --pid $PPID --nofile=1:1` crippled the program of the agent, and `--cpu=1:1` killed it.
#[tokio::test]
async fn other_processes_keep_their_limits_priorities_and_processors() {
    let (session, other) = (session(), Other::start());
    let before = other.standing();
    for line in [
        "prlimit --pid PID --nofile=1:1",
        "renice -n 19 -p PID",
        "ionice -c 3 -p PID",
        "chrt --idle -p 0 PID",
        "taskset -p 1 PID",
    ] {
        let said = printed(&session, &line.replace("PID", &other.0.id().to_string())).await;
        assert!(said.contains("Operation not permitted") && said.contains("[exit code"), "{line}: {said}");
        assert_eq!(other.standing(), before, "{line}");
    }
    for (call, of_the_user) in
        [(libc::SYS_setpriority, libc::PRIO_USER.into()), (libc::SYS_ioprio_set, IOPRIO_WHO_USER)]
    {
        // None is changed where this is let through: it says what is so already.
        assert_eq!(error(&session, call, &format!("{of_the_user}, 0, 0")).await, "1", "{call}");
    }
    let own = "ulimit -n 64; nice -n 1 true; prlimit --nproc=64 true; ionice -c 3 true; chrt --idle 0 true; taskset 1 true";
    assert_eq!(printed(&session, own).await, "[nothing was printed]\n");
}

/// The kernel lets root use those of all users, and a database or an X server has some.
#[tokio::test]
async fn shared_memory_semaphores_and_queues_of_other_programs_are_out_of_reach() {
    let session = session();
    for (call, arguments) in [
        (libc::SYS_shmget, "0, 4096, 01600"),
        (libc::SYS_semget, "0, 1, 01600"),
        (libc::SYS_msgget, "0, 01600"),
        (libc::SYS_mq_open, "\"superstep-test\", 0102, 0600, 0"),
    ] {
        assert_eq!(error(&session, call, arguments).await, libc::EPERM.to_string(), "{call}");
    }
    assert_eq!(errors(&session, &SHARED).await, [libc::EPERM; SHARED.len()]);
}

#[tokio::test]
async fn attributes_of_files_are_not_changed_and_files_are_copied_without() {
    let (session, outside) = (session(), tempfile::tempdir().unwrap());
    let file = outside.path().join("file");
    std::fs::write(&file, "").unwrap();
    for call in [libc::SYS_setxattr, libc::SYS_lsetxattr] {
        let arguments = format!("\"{}\", \"user.note\", \"x\", 1, 0", file.display());
        assert_eq!(error(&session, call, &arguments).await, libc::EOPNOTSUPP.to_string(), "{call}");
    }
    assert_eq!(errors(&session, &ATTRIBUTES).await, [libc::EOPNOTSUPP; ATTRIBUTES.len()]);
    let copying = "mkdir b c; cp -a a.txt b; install -p -m 600 a.txt b/i; tar c b | tar x -C c; mv b/i d";
    assert_eq!(printed(&session, copying).await, "[nothing was printed]\n");
    assert_eq!(session.get("c/b/a.txt"), "inside\n");
}

/// A watch tells of every file that is made, opened or changed in a folder, also in one that may not be read.
#[tokio::test]
async fn files_are_not_watched() {
    let session = session();
    let calls: Vec<i64> = missing().into_keys().collect();
    assert_eq!(errors(&session, &calls).await, vec![libc::ENOSYS; calls.len()]);
}

/// Ways to give a file the setuid or the setgid bit. `CALL` makes the system call of a number.
const PRIVILEGED: [&str; 14] = [
    "chmod u+s a.txt",
    "chmod g+s a.txt",
    "chmod 6755 a.txt",
    "mkdir d && chmod 2755 d",
    "install -m 4755 a.txt b.txt",
    "cp --no-preserve=mode a.txt s && chmod u+s s",
    "perl -e 'open F, \"<\", \"a.txt\"; chmod 04755, *F or die \"$!\\n\"'",
    "perl -e 'umask 0; sysopen F, \"made\", 0101, 04755 or die \"$!\\n\"'",
    "perl -e 'umask 0; sysopen F, \"made\", 0101, 02755 or die \"$!\\n\"'",
    "perl -e 'umask 0; sysopen F, \".\", TMPFILE, 04755 or die \"$!\\n\"; link \"/proc/self/fd/\" . fileno F, \"made\"'",
    "CALL MKNODAT: -100, \"made\", 0104755, 0",
    "CALL FCHMODAT: -100, \"a.txt\", 04755",
    "CALL 452: -100, \"a.txt\", 04755, 0",
    "CALL OPENAT2: -100, \"made\", pack(\"QQQ\", 0101, 04755, 0), 24",
];

/// The line as the shell takes it.
fn privileged(line: &str) -> String {
    let numbers = [
        ("MKNODAT", libc::SYS_mknodat),
        ("FCHMODAT", libc::SYS_fchmodat),
        ("OPENAT2", libc::SYS_openat2),
        ("TMPFILE", (libc::O_TMPFILE | libc::O_RDWR).into()),
    ];
    let line =
        numbers.iter().fold(line.to_owned(), |line, (name, number)| line.replace(name, &number.to_string()));
    match line.strip_prefix("CALL ").and_then(|call| call.split_once(": ")) {
        Some((call, arguments)) => {
            format!("perl -e 'umask 0; @a = ({arguments}); syscall({call}, @a) == -1 and die \"$!\\n\"'")
        }
        None => line,
    }
}

/// A file with the setuid bit in the workspace of an agent that runs as root made root of every user who could reach
/// it.
#[tokio::test]
async fn no_file_gets_the_setuid_or_the_setgid_bit() {
    for line in PRIVILEGED {
        let session = session();
        let said = printed(&session, &privileged(line)).await;
        assert!(said.contains("not permitted") || said.contains("not implemented"), "{line}: {said}");
        assert!(said.contains("[exit code"), "{line}: {said}");
        for name in session.list(".") {
            let mode = session.path(&name).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o6000, 0, "{line}: {name}");
        }
    }
    let session = session();
    let usual = "umask 022; touch b; chmod 755 b; chmod u+w,+t .; mkdir -m 700 d; : > d/c; mkfifo -m 600 p; ln -s b l";
    assert_eq!(printed(&session, usual).await, "[nothing was printed]\n");
}
