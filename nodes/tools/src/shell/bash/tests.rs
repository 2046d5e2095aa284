use std::time::Instant;

use serde_json::{Value, json};
use superstep_core::run::CancellationToken;
use superstep_nodes::message::ToolCall;
use superstep_nodes::tool::{Tool, ToolOutcome, ToolRegistry, ToolSession};

use super::*;
use crate::session::Session;

/// Nothing takes as long as this, on a busy machine either.
const HANGS: Duration = Duration::from_secs(1_000);

fn session_of(tool: Bash) -> Session {
    Session::of(ToolRegistry::new().with(tool).unwrap(), &[("a.txt", "inside\n")])
}

fn session() -> Session {
    session_of(Bash::new(Workspace::of_session()).with_time(HANGS))
}

fn command(command: impl Into<String>) -> Value {
    json!({ "command": command.into() })
}

/// Runs a command and returns its output.
async fn printed(session: &Session, line: impl Into<String>) -> String {
    session.done("bash", command(line)).await
}

/// Waits until there is no process of this number, or only one that is about to be forgotten.
fn is_gone(process: &str) -> bool {
    let until = Instant::now() + HANGS;
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.trim()));
        if stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z ")) {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a command that does not end by itself until its time is over, and returns what it had printed. On a busy
/// machine it gets more time, until it has had enough to make the file `ready`.
async fn stopped(line: &str) -> (Session, String) {
    for time in [1, 10, 100, 1_000].map(Duration::from_secs) {
        let session = session_of(Bash::new(Workspace::of_session()).with_time(time));
        let (outcome, said) = session.refused("bash", json!({ "command": line, "seconds": 10_000 })).await;
        assert_eq!(outcome, ToolOutcome::Error);
        let stopped =
            format!("the tool `bash` failed: it was stopped after {time:?}; until then it printed:\n");
        let printed = said.strip_prefix(&stopped).unwrap_or_else(|| panic!("{said}")).to_owned();
        if session.path("ready").exists() {
            return (session, printed);
        }
    }
    panic!("it does not begin");
}

#[tokio::test]
async fn a_command_runs_in_the_workspace_and_what_it_prints_comes_back() {
    let session = session();
    assert_eq!(printed(&session, "cat a.txt; echo b >&2; printf c").await, "inside\nb\nc\n");
    assert_eq!(printed(&session, "true").await, "[nothing was printed]\n");
    assert_eq!(printed(&session, "cat").await, "[nothing was printed]\n", "there is no input");
    printed(&session, "mkdir new; echo x > new/file; ln new/file new/other; mv new/file b.txt").await;
    assert_eq!(session.get("b.txt"), "x\n");
    let result = session.call("bash", command("echo a; exit 3")).await;
    assert_eq!((result.outcome(), result.content.to_text().as_ref()), (ToolOutcome::Ok, "a\n[exit code 3]"));
    assert_eq!(result.data, Some(json!({ "exit_code": 3, "bytes": 2, "complete": true })));
    assert_eq!(printed(&session, "kill -9 $$").await, "[nothing was printed]\n[ended by signal 9]");
}

#[tokio::test]
async fn the_environment_has_nothing_that_the_program_did_not_give() {
    let session = session_of(Bash::new(Workspace::of_session()).variable("GIVEN", "a b"));
    let environment = printed(&session, "env | cut -d= -f1 | sort | tr '\\n' ' '").await;
    let known = ["GIVEN", "HOME", "LANG", "PATH", "PWD", "SHLVL", "TMPDIR", "_"];
    assert!(environment.split_whitespace().all(|name| known.contains(&name)), "{environment}");
    let places = printed(&session, "echo $GIVEN; cd; pwd; touch here; echo $TMPDIR").await;
    let [given, home, temporary] = places.lines().collect::<Vec<_>>()[..] else { panic!("{places}") };
    assert_eq!((given, home), ("a b", temporary));
    assert!(home.contains("superstep-") && !std::path::Path::new(home).exists(), "{home}");
}

#[cfg(target_os = "linux")]
mod in_the_sandbox {
    use super::*;

    /// Ways to read what is outside. `KEY` is a file there.
    const READING: [&str; 12] = [
        "cat KEY",
        "ln -s KEY link; cat link",
        "ln KEY hard; cat hard",
        "cp KEY copy; cat copy",
        "mv KEY moved; cat moved",
        "cd /; cat .KEY",
        "cat /proc/self/root/KEY",
        "cat /proc/1/root/KEY",
        "exec 3< KEY; cat <&3",
        "tar c KEY",
        "bash -c 'cat KEY'",
        "cat \"$(dirname KEY)\"/*",
    ];

    /// Ways to change what is outside.
    const WRITING: [&str; 11] = [
        "echo x > KEY",
        "echo x >> KEY",
        ": > KEY",
        "truncate -s 0 KEY",
        "rm KEY",
        "rm -rf \"$(dirname KEY)\"",
        "mv a.txt KEY",
        "cp a.txt KEY",
        "ln -s KEY link; echo x > link",
        "touch \"$(dirname KEY)\"/new",
        "mkdir \"$(dirname KEY)\"/new",
    ];

    #[tokio::test]
    async fn a_command_neither_reads_nor_changes_what_is_outside() {
        let outside = tempfile::tempdir().unwrap();
        let key = outside.path().join("key");
        std::fs::write(&key, "top-secret").unwrap();
        for attempt in READING.into_iter().chain(WRITING) {
            let session = session();
            let said = printed(&session, attempt.replace("KEY", key.to_str().unwrap())).await;
            assert!(!said.contains("top-secret"), "{attempt}: {said}");
            assert!(said.contains("[exit code"), "{attempt}: {said}");
            let held = std::fs::read_to_string(&key).unwrap_or_default();
            assert_eq!(held, "top-secret", "{attempt}: {said}");
            assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "{attempt}: {said}");
        }
    }

    #[tokio::test]
    async fn a_program_may_let_it_reach_more() {
        let outside = tempfile::tempdir().unwrap();
        let key = outside.path().join("key");
        std::fs::write(&key, "shared").unwrap();
        let reading = session_of(Bash::new(Workspace::of_session()).readable(outside.path()));
        let line = format!("cat {0}; echo x > {0}", key.display());
        let said = printed(&reading, &line).await;
        assert!(said.starts_with("shared") && said.contains("Permission denied"), "{said}");
        let writing = session_of(Bash::new(Workspace::of_session()).writable(outside.path()));
        printed(&writing, &line).await;
        assert_eq!(std::fs::read_to_string(&key).unwrap(), "x\n");
    }

    #[tokio::test]
    async fn what_is_secret_on_a_system_is_not_read() {
        let session = session();
        for attempt in [
            "cat /etc/shadow".to_owned(),
            "ls ~root".to_owned(),
            "ls /home /root /var".to_owned(),
            format!("cat /proc/{}/environ", std::process::id()),
            format!("cat /proc/{}/maps", std::process::id()),
            format!("cat /proc/{}/fd/0", std::process::id()),
            format!("ls /proc/{}/cwd/", std::process::id()),
            format!("head -c 1 /proc/{}/mem", std::process::id()),
            "ls /dev".to_owned(),
        ] {
            let said = printed(&session, &attempt).await;
            assert!(said.contains("denied") && said.contains("[exit code"), "{attempt}: {said}");
        }
    }

    #[tokio::test]
    async fn there_is_no_network_unless_the_program_says_so() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let tcp = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected");
        let udp = format!("echo x > /dev/udp/127.0.0.1/{port} && echo sent");
        let session = session();
        for attempt in [&tcp, &udp] {
            let said = printed(&session, attempt).await;
            assert!(
                said.contains("Operation not permitted") && said.contains("[exit code"),
                "{attempt}: {said}"
            );
        }
        let open = session_of(Bash::new(Workspace::of_session()).network(Network::Allowed));
        assert_eq!(printed(&open, &tcp).await, "connected\n");
    }

    #[tokio::test]
    async fn what_only_who_looks_after_a_machine_does_is_refused() {
        let session = session();
        for attempt in [
            "mkdir m; mount -t tmpfs none m",
            "mknod disk b 8 0",
            "mknod memory c 1 1",
            "unshare --net true",
            "unshare --user true",
            "unshare --mount true",
            "nsenter --target 1 --mount true",
            "swapoff -a; false",
            "echo x > /proc/sys/kernel/hostname",
            "echo x > /proc/self/oom_score_adj",
        ] {
            let said = printed(&session, attempt).await;
            assert!(said.contains("[exit code"), "{attempt}: {said}");
        }
        assert!(!session.path("disk").exists() && !session.path("memory").exists());
    }

    #[tokio::test]
    async fn it_signals_no_other_process() {
        let session = session();
        for who in [std::process::id().to_string(), "$PPID".to_owned(), "1".to_owned()] {
            let said = printed(&session, format!("kill -0 {who}")).await;
            assert!(said.contains("Operation not permitted"), "{who}: {said}");
        }
    }

    #[tokio::test]
    async fn what_a_command_leaves_running_is_killed_with_it() {
        let session = session();
        for line in [
            "sleep 1000 & echo $! > pid",
            "nohup sleep 1000 > /dev/null & echo $! > pid",
            "setsid bash -c 'echo $$ > pid; exec sleep 1000' & while [ ! -s pid ]; do :; done",
            "setsid bash -c 'echo $$ > pid; sleep 1000' > /dev/null 2>&1 & while [ ! -s pid ]; do :; done",
            "(env -i setsid bash -c 'echo $$ > pid; exec sleep 1000' > /dev/null 2>&1 &); while [ ! -s pid ]; do :; done",
            "set -m; sleep 1000 & echo $! > pid",
        ] {
            printed(&session, format!("rm -f pid; {line}")).await;
            let process = session.get("pid");
            assert!(!process.trim().is_empty() && is_gone(&process), "{line}: {process} is still there");
        }
    }

    /// A process that starts itself again in another session and ends, again and again: it never has a number for long.
    #[tokio::test]
    async fn what_is_always_another_process_is_killed_too() {
        let session = session();
        session.put("chain", "echo $$ >> pids; setsid bash chain & exit");
        printed(&session, "bash chain; while [ \"$(wc -l < pids)\" -lt 5 ]; do :; done").await;
        let links = || session.get("pids").lines().count();
        let held = links();
        std::thread::sleep(Duration::from_millis(100));
        assert!(held > 3 && links() == held, "it went on from {held} to {}", links());
    }

    /// Returns `true` if a process has this folder as its working directory.
    fn is_worked_in(folder: &std::path::Path) -> bool {
        let folder = folder.canonicalize().unwrap();
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes
            .map(|entry| entry.path().join("cwd"))
            .any(|link| std::fs::read_link(link).is_ok_and(|at| at == folder))
    }

    #[tokio::test]
    async fn many_processes_in_sessions_of_their_own_are_killed_when_time_is_over() {
        let (session, _) =
            stopped("for i in {1..100}; do setsid sleep 10000 & done; : > ready; sleep 10000").await;
        assert!(!is_worked_in(&session.path(".")));
    }

    #[tokio::test]
    async fn the_mark_of_processes_stays() {
        let session = session();
        for line in ["ulimit -R 5", "prlimit --rttime=5 true", "prlimit --pid $$ --rttime=5"] {
            let said = printed(&session, line).await;
            assert!(said.contains("not permitted") && said.contains("[exit code"), "{line}: {said}");
        }
    }

    #[tokio::test]
    async fn a_command_uses_no_more_than_it_may() {
        let limits = ProcessLimits::default().with_memory_bytes(64 << 20).with_file_bytes(1_000);
        let session = session_of(Bash::new(Workspace::of_session()).limits(limits).with_time(HANGS));
        let said = printed(&session, "head -c 300000000 /dev/zero | tail -c 300000000 | wc -c").await;
        assert!(said.contains("memory exhausted"), "{said}");
        let said = printed(&session, "head -c 5000 /dev/zero > large").await;
        assert!(said.contains("[exit code 153]"), "{said}");
        assert_eq!(session.path("large").metadata().unwrap().len(), 1_000);
        assert_eq!(printed(&session, "ulimit -c").await, "0\n");
    }

    /// A thread may be confined sixteen times, and what it starts is confined as often.
    #[test]
    fn without_a_sandbox_commands_are_refused_unless_the_program_says_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let said = std::thread::spawn(move || {
            let everything = vec![PathBuf::from("/")];
            let all =
                Confinement { readable: everything.clone(), writable: everything, network: Network::Allowed };
            while all.confine_this_thread().is_ok() {}
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            runtime.block_on(async {
                let mut said = Vec::new();
                for sandbox in [Sandbox::Required, Sandbox::WhereThereIsOne] {
                    let tool = Bash::new(Workspace::at(&path).unwrap()).sandbox(sandbox);
                    let tools = ToolRegistry::new().with(tool).unwrap();
                    let call = ToolCall::new("c", "bash", command("echo done"));
                    said.push(tools.answer("m", &call).await.content.to_text().into_owned());
                }
                said
            })
        });
        let said = said.join().unwrap();
        assert!(
            said[0].starts_with("the tool `bash` failed: there is no sandbox for commands here: ")
                && said[0].ends_with(", and without one commands are refused"),
            "{}",
            said[0]
        );
        assert_eq!(said[1], "done\n");
    }

    /// The program that the test below starts with open files.
    #[tokio::test]
    async fn a_program_with_open_files() {
        if let Ok(folder) = std::env::var("SUPERSTEP_TEST_BASH_OPEN") {
            let tools = ToolRegistry::new().with(Bash::new(Workspace::at(folder).unwrap())).unwrap();
            let line = "cat <&3 > said; cat <&11 >> said; echo x >&3; for fd in /proc/self/fd/*; do echo $fd; done >> said";
            tools.answer("m", &ToolCall::new("c", "bash", command(line))).await;
        }
    }

    /// Files that the program had inherited were open in the command, too, and no sandbox is asked for those. Where a
    /// test run was started with one, `cat <&3` read it.
    #[test]
    fn what_the_program_has_open_is_not_open_in_a_command() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let key = outside.path().join("key");
        std::fs::write(&key, "top-secret").unwrap();
        let name = "shell::bash::tests::in_the_sandbox::a_program_with_open_files";
        let ended = std::process::Command::new("bash")
            .args(["-c", "exec \"$0\" \"$1\" --exact 3<>\"$2\" 11<\"$2\""])
            .args([std::env::current_exe().unwrap().as_os_str(), name.as_ref(), key.as_os_str()])
            .env("SUPERSTEP_TEST_BASH_OPEN", inside.path())
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(ended.success());
        let said = std::fs::read_to_string(inside.path().join("said")).unwrap();
        assert!(!said.contains("top-secret") && !said.contains("fd/11"), "{said}");
        assert_eq!(std::fs::read_to_string(&key).unwrap(), "top-secret");
    }

    /// The program that the test below starts and kills.
    #[tokio::test]
    async fn a_program_that_waits_for_a_command() {
        if let Ok(folder) = std::env::var("SUPERSTEP_TEST_BASH_FOLDER") {
            let tools = ToolRegistry::new().with(Bash::new(Workspace::at(folder).unwrap())).unwrap();
            let call = ToolCall::new("c", "bash", command("echo $$ > pid; sleep 1000"));
            tools.answer("m", &call).await;
        }
    }

    #[test]
    fn when_the_program_is_killed_so_is_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let name = "shell::bash::tests::in_the_sandbox::a_program_that_waits_for_a_command";
        let mut program = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact"])
            .env("SUPERSTEP_TEST_BASH_FOLDER", folder.path())
            // What it cannot take away, as it is killed, goes with the folder.
            .env("TMPDIR", folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let pid = folder.path().join("pid");
        let read = || std::fs::read_to_string(&pid).unwrap_or_default();
        let until = Instant::now() + HANGS;
        while !read().ends_with('\n') && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        let process = read();
        assert!(process.ends_with('\n'), "the command did not begin");
        program.kill().unwrap();
        program.wait().unwrap();
        assert!(is_gone(&process), "{process} is still there");
    }
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed_and_what_it_printed_is_reported() {
    let (session, said) =
        stopped("trap '' TERM INT; echo $$ > pid; echo begun; : > ready; sleep 1000 & wait; sleep 1000")
            .await;
    assert_eq!(said, "begun\n");
    assert!(is_gone(&session.get("pid")));
}

#[tokio::test]
async fn a_command_whose_caller_is_gone_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let tool = Bash::new(Workspace::at(folder.path()).unwrap());
    let call = ToolCall::new("c", "bash", command("echo $$ > pid; sleep 1000"));
    let stop = CancellationToken::new();
    let tools = ToolRegistry::new().with(tool).unwrap();
    let context = ToolContext::new(&call, ToolSession::new()).cancel_on(&stop);
    let pid = folder.path().join("pid");
    let begun = async {
        while !std::fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')) {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    };
    let (result, ()) = tokio::join!(tools.call(&call, &context), begun);
    assert_eq!(result.outcome(), ToolOutcome::Cancelled);
    assert!(is_gone(&std::fs::read_to_string(&pid).unwrap()));
}

#[tokio::test]
async fn much_output_is_cut_in_the_middle() {
    let result = session().call("bash", command("seq 1 100000; echo the end")).await;
    let text = result.content.to_text().into_owned();
    assert!(text.starts_with("1\n2\n") && text.ends_with("100000\nthe end\n"), "{}", text.len());
    assert!(text.contains(" bytes left out …]\n") && text.len() < 41_000);
    assert_eq!(result.data, Some(json!({ "exit_code": 0, "bytes": 588_903, "complete": false })));
}

#[tokio::test]
async fn a_program_may_do_without_a_sandbox() {
    let outside = tempfile::tempdir().unwrap();
    let session = session_of(Bash::new(Workspace::of_session()).sandbox(Sandbox::None));
    printed(&session, format!("echo x > {}/file; sleep 1000 & echo $! > pid", outside.path().display()))
        .await;
    assert!(outside.path().join("file").exists());
    assert!(is_gone(&session.get("pid")));
}

#[test]
fn a_command_is_taken_for_the_worst() {
    let tool = Bash::new(Workspace::of_session());
    let input = command("git status");
    assert!(!tool.is_read_only(&input) && !tool.is_concurrency_safe(&input) && tool.is_destructive(&input));
    assert_eq!(tool.effect(&input), ToolEffect::Changes);
    assert_eq!(tool.classifier_input(&input).unwrap(), "run the command git status");
}

#[test]
fn a_rule_is_about_a_command_only_if_all_of_it_fits() {
    let tool = Bash::new(Workspace::of_session());
    let fits =
        |line: &str| tool.permission_matcher(&command(line)).is_some_and(|matcher| matcher.matches("git *"));
    for line in ["git status", "git add . && git commit", "git log | git shortlog", "git \"a;b\""] {
        assert!(fits(line), "{line}");
    }
    for line in [
        "git status; rm x",
        "git log\nrm x",
        "git log & rm x",
        "git log > x",
        "git $(rm x)",
        "git `rm x`",
        "git <(rm x)",
        "rm x",
    ] {
        assert!(!fits(line), "{line}");
    }
}
