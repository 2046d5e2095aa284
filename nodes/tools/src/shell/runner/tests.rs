use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use superstep_nodes::tool::{Tool, ToolOutcome, ToolRegistry};

use super::*;
use crate::session::Session;
use crate::{Bash, Workspace};

/// A program that takes the options of `ssh` and runs the command here, for every host but three.
const FAKE: &str = r#"#!/bin/sh
printf '%s\n' "$*" > "${0%/*}/asked"
while [ "$1" != -- ]; do shift; done
case $2 in
    gone) echo "ssh: connect to host gone port 22: Connection refused" >&2; exit 255 ;;
    hangs) exec sleep 1000 ;;
    warns) echo "Warning: a banner" >&2 ;;
esac
cd "${0%/*}" || exit 1
shift 2
exec sh -c "$*"
"#;

/// A machine, with the folder of its account.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Written by another process: a file that this one has open for writing could not be started by a thread of it.
        let mut shell = Command::new("sh");
        let write = "cat > \"$1\" && chmod +x \"$1\"";
        shell.args(["-c", write, "sh"]).arg(folder.path().join("ssh")).stdin(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        shell.stdin.take().unwrap().write_all(FAKE.as_bytes()).unwrap();
        assert!(shell.wait().unwrap().success());
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn ssh(&self, host: &str) -> Ssh {
        Ssh::new(host).unwrap().program(self.path().join("ssh"))
    }
}

fn session(ssh: Ssh, time: Duration) -> Session {
    let bash = Bash::new(Workspace::of_session()).with_time(time).variable("GIVEN", "it's \"a b\"");
    Session::of(ToolRegistry::new().with(bash.runner(CommandRunner::Ssh(ssh))).unwrap(), &[])
}

fn command(command: &str) -> Value {
    json!({ "command": command })
}

const LONG: Duration = Duration::from_secs(1_000);

#[tokio::test]
async fn s2_170_a_command_runs_on_another_machine_and_its_output_comes_back() {
    let machine = Machine::new();
    std::fs::create_dir(machine.path().join("a 'b'")).unwrap();
    let session = session(machine.ssh("me@build").folder("a 'b'"), LONG);
    let printed =
        session.done("bash", command("echo \"$GIVEN\" 'x\\\\y'; basename \"$PWD\"; cat; echo end >&2")).await;
    assert_eq!(printed, "it's \"a b\" x\\\\y\na 'b'\nend\n");
    let result = session.call("bash", command("exit 255")).await;
    assert_eq!(
        result.content.to_text(),
        "[nothing was printed]\n[exit code 255]",
        "an exit code of the command's own"
    );
    assert_eq!(result.data, Some(json!({ "exit_code": 255, "bytes": 0, "complete": true })));
    let asked = std::fs::read_to_string(machine.path().join("asked")).unwrap();
    assert!(asked.starts_with("-o BatchMode=yes -o ConnectTimeout=10 -- me@build "), "{asked}");
}

#[tokio::test]
async fn s2_170_a_machine_that_is_not_reached_is_told_apart_from_a_command_that_failed() {
    let machine = Machine::new();
    let (outcome, said) = session(machine.ssh("gone"), LONG).refused("bash", command("echo a")).await;
    assert_eq!(outcome, ToolOutcome::Error);
    assert!(
        said.ends_with(
            "was not run on gone: `{}` says: ssh: connect to host gone port 22: Connection refused"
                .replace("{}", &machine.path().join("ssh").display().to_string())
                .as_str()
        ),
        "{said}"
    );
    let missing = Ssh::new("build").unwrap().program("/nowhere/ssh");
    let (_, said) = session(missing, LONG).refused("bash", command("echo a")).await;
    assert!(said.ends_with("`/nowhere/ssh` cannot be started; install an ssh client"), "{said}");
    let slow = session(machine.ssh("hangs"), Duration::from_secs(1));
    let (_, said) = slow.refused("bash", command("echo a")).await;
    assert!(said.ends_with("did not reach it in time"), "{said}");
    let printed = session(machine.ssh("warns"), LONG).done("bash", command("echo a")).await;
    assert_eq!(printed, "a\n", "messages of ssh are no output");
}

#[tokio::test]
async fn a_command_on_another_machine_has_a_time_limit() {
    let machine = Machine::new();
    // On a busy machine it gets more time, until the command has begun.
    for seconds in [2, 20, 200] {
        let session = session(machine.ssh("build"), Duration::from_secs(seconds));
        let result = session.call("bash", command("echo begun; exec sleep 1000")).await;
        let said = result.content.to_text().into_owned();
        if said.contains("begun\n") {
            // The other machine stops it, or this one, whichever is first.
            assert!(
                said.ends_with("[exit code 124]") || said.contains(&format!("after {seconds}s")),
                "{said}"
            );
            return;
        }
    }
    panic!("it does not begin");
}

#[test]
fn a_host_that_would_be_an_option_is_refused() {
    for host in ["", "-oProxyCommand=x", "a b", "a\nb"] {
        assert_eq!(Ssh::new(host).unwrap_err(), SshError::Host { host: host.to_owned() });
    }
}

#[test]
fn the_model_and_the_person_are_told_where_commands_run() {
    let bash = Bash::new(Workspace::of_session()).runner(CommandRunner::Ssh(Ssh::new("build").unwrap()));
    assert!(
        bash.prompt().contains("on the machine build, in its home folder")
            && bash.prompt().contains("no sandbox")
    );
    let question = bash.classifier_input(&command("ls")).unwrap();
    assert_eq!(question, "run on the machine build, in its home folder the command ls");
}
