//! A secret that goes through everything a program may do is in nothing that the command line says.

use std::path::Path;

use superstep::cli::Look;
use superstep::prelude::*;

use crate::said;

const CANARY: &str = "canary-7d2e";

/// A program whose node draws the canary as an effect, and keeps it in the field `token`. Then it asks about it, emits it,
/// and on another thread fails with it.
macro_rules! program {
    ($module:ident, $(#[$secret:meta])*) => {
        mod $module {
            use super::*;

            #[derive(State, Clone, Debug, Default)]
            pub(super) struct Session {
                $(#[$secret])*
                token: String,
                round: u32,
                fails: bool,
            }

            async fn login(fx: Effects, emit: Emit) -> Result<Update<Session>, NodeError> {
                let token: String =
                    fx.run("login", || async { Ok::<_, std::io::Error>(CANARY.to_owned()) }).await?;
                emit.emit("login", &token);
                Ok(Session::update().token(token).round(1_u32))
            }

            async fn work(
                session: Snapshot<Session>,
                fx: Effects,
                user: Ask<String, String>,
            ) -> Result<Update<Session>, NodeError> {
                let said = format!("{} is refused", session.token);
                if session.fails {
                    return Err(said.into());
                }
                let asked = said.clone();
                fx.run_keyed("call", &session.token, || async move { Ok::<_, std::io::Error>(asked) }).await?;
                let answer = user.ask(said).await;
                assert!(answer.contains(CANARY), "it is told again");
                Ok(Session::update().round(2_u32))
            }

            pub(super) async fn write(path: &Path) {
                let mut g = StateGraph::<Session>::new("session");
                let login = g.node("login", login);
                let work = g.node("work", work);
                g.edge(START, login);
                g.edge(login, work);
                g.edge(work, END);
                let graph = g.compile().unwrap().checkpointer(SqliteSaver::open(path).await.unwrap());
                let of = |thread: &str| graph.thread(thread);
                of("fails").run(Session::update().fails(true)).await.unwrap_err();
                of("asks").run(Session::update()).await.unwrap().interrupted().unwrap();
                of("ends").run(Session::update()).await.unwrap().interrupted().unwrap();
                of("ends").answer(&format!("use {CANARY}")).await.unwrap().finished().unwrap();
            }
        }
    };
}

program!(open,);
program!(secret, #[state(secret)]);

const VERBS: [&str; 22] = [
    "threads FILE",
    "interrupts FILE",
    "log FILE T",
    "log FILE T --graph",
    "show FILE T",
    "show FILE T --all",
    "show FILE T~1",
    "show FILE T token",
    "diff FILE T~1 T",
    "diff FILE T~2 T",
    "diff FILE fails T",
    "blame FILE T token",
    "why FILE T work",
    "grep FILE refused",
    "grep FILE canary",
    "compare FILE T fails",
    "graph FILE T --mermaid",
    "export FILE T --redact",
    "test FILE T",
    "du FILE",
    "verify FILE",
    "bisect FILE T --path round --is '>= 2'",
];

/// How often something that is said has the canary in it; and what that was.
fn hits(path: &Path) -> Vec<String> {
    let mut hits = Vec::new();
    let mut words = 0;
    for verb in VERBS {
        for thread in ["fails", "asks", "ends"] {
            let line = verb.replace(" T", &format!(" {thread}"));
            for (look, line) in crate::ways(&line) {
                let said = said(path, look, &line);
                words += said.out.len();
                if [&said.out, &said.err].iter().any(|text| text.contains(CANARY)) {
                    hits.push(format!("{line} ({}): {}{}", look == Look::PIPED, said.out, said.err));
                }
            }
        }
    }
    assert!(words > 20_000, "it says too little to find anything in: {words}");
    hits
}

#[tokio::test]
async fn a_secret_is_in_nothing_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (open, secret) = (folder.path().join("open.db"), folder.path().join("secret.db"));
    open::write(&open).await;
    secret::write(&secret).await;
    let found = hits(&secret);
    assert!(found.is_empty(), "{} hits: {}", found.len(), found.join("\n"));
    let found = hits(&open);
    assert!(found.len() > 30, "the same field, not secret, is seen only {} times", found.len());
}
