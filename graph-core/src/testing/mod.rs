//! Tools for testing graphs.
//!
//! | to | take |
//! |---|---|
//! | run a graph without the outside world | a [`Cassette`]: its recordings supply outcomes and answers |
//! | see what one node does with a state | [`node()`]: it runs alone |
//! | keep the result of a recorded turn | [`turn()`]: `superstep test` writes the test |
//! | assert on the tasks that ran | a [`Trace`] |
//! | get the same bytes from every run | [`TestAmbient`]: a clock that is moved by hand, and seeded ids |
//!
//! ```
//! # extern crate superstep_core as superstep;
//! # use serde::{Deserialize, Serialize};
//! # use superstep::checkpoint::MemorySaver;
//! # use superstep::graph::{END, START, StateGraph};
//! # use superstep::node::Effects;
//! # use superstep::run::Graph;
//! # use superstep::state::{State, Update};
//! # use superstep::testing::Cassette;
//! # #[derive(State, Clone, Default, Serialize, Deserialize)]
//! # struct Essay { draft: String }
//! # fn essays(model: impl Fn() -> String + Copy + Send + Sync + 'static) -> Graph<Essay> {
//! #     let mut g = StateGraph::<Essay>::new("essay");
//! #     let write = g.node("write", move |fx: Effects| async move {
//! #         Ok::<_, String>(Essay::update().draft(fx.run("draft", || async { Ok::<_, String>(model()) }).await?))
//! #     });
//! #     g.edge(START, write);
//! #     g.edge(write, END);
//! #     g.compile().unwrap().checkpointer(MemorySaver::new())
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Once, with the model.
//! let thread = essays(|| "All about Rust.".into()).thread("rust");
//! thread.run(Essay::update()).await?.finished()?;
//! let cassette = Cassette::of(&thread).await?;
//!
//! // In the test, without it.
//! let essays = essays(|| panic!("no call is made")).with_cassette(&cassette);
//! let essay = essays.run(Essay::update()).await?.finished()?;
//! assert_eq!(essay.draft, "All about Rust.");
//! cassette.finish()?;
//! # Ok(())
//! # }
//! ```

mod ambient;
mod cassette;
mod difference;
mod error;
mod file;
mod journal;
mod node;
mod node_run;
mod trace;
mod turn;

pub use self::ambient::TestAmbient;
pub use self::cassette::Cassette;
pub use self::error::{CassetteError, TurnError};
pub use self::journal::Journal;
pub use self::node::{NodeTest, node};
pub use self::node_run::NodeRun;
pub use self::trace::Trace;
pub use self::turn::{TurnTest, turn};
