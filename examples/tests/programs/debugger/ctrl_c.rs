//! Ctrl-C cancels the run at a resumable point. No other test of this program may run anything in this process.

use std::future::pending;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use superstep::cli::{Exit, Look, Screen};
use superstep::prelude::*;
use tokio::sync::Notify;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Mail {
    text: String,
}

#[tokio::test]
async fn a_run_that_is_cancelled_can_continue() {
    // From here on the signal does not end the process.
    let mut signal = Box::pin(tokio::signal::ctrl_c());
    tokio::select! {
        biased;
        _ = &mut signal => unreachable!("no signal was sent"),
        () = std::future::ready(()) => {}
    }
    let folder = tempfile::tempdir().unwrap();
    let (waits, patient) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(true)));
    let mut g = StateGraph::<Mail>::new("mail");
    let write = g.node("write", async || Mail::update().text("written"));
    let send = g.node("send", {
        let (waits, patient) = (Arc::clone(&waits), Arc::clone(&patient));
        move || {
            let (waits, patient) = (Arc::clone(&waits), Arc::clone(&patient));
            async move {
                waits.notify_one();
                if patient.load(Ordering::Relaxed) {
                    pending::<()>().await;
                }
                Mail::update().text("sent")
            }
        }
    });
    g.edge(START, write);
    g.edge(write, send);
    g.edge(send, END);
    let saver = SqliteSaver::open(folder.path().join("mails.db")).await.unwrap();
    let mails = g.compile().unwrap().checkpointer(saver);

    let debug = async |words: &[&str]| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let screen = Screen { out: &mut out, err: &mut err, look: Look::PIPED };
        let exit = superstep::debugger(&[&mails]).called("mails debug").run_on(words, screen).await;
        (exit, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    };
    let press = async {
        waits.notified().await;
        let sent = Command::new("kill").args(["-INT", &std::process::id().to_string()]).status();
        assert!(sent.unwrap().success());
    };
    let (told, ()) = tokio::join!(debug(&["run", "t"]), press);
    let said = "     1  write\ncancelled at step 1\n  to continue: mails debug resume t\n";
    assert_eq!(told, (Exit::Cancelled, said.into(), String::new()));

    patient.store(false, Ordering::Relaxed);
    let told = debug(&["resume", "t"]).await;
    assert_eq!(told, (Exit::Fine, "     2  send\nfinished at step 2\n".into(), String::new()));
}
