//! "A first graph" of `docs/tutorial.md`.

use superstep::prelude::*;

#[derive(State, Clone, Default)]
struct Chat {
    question: String,
    answer: String,
}

async fn answer(chat: Snapshot<Chat>) -> Update<Chat> {
    Chat::update().answer(format!("You asked: {}", chat.question))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut g = StateGraph::<Chat>::new("assistant");
    let answer = g.node("answer", answer);
    g.edge(START, answer);
    g.edge(answer, END);
    let assistant = g.compile()?;

    let chat = assistant.run(Chat::update().question("What does a pear cost?")).await?.finished()?;
    println!("{}", chat.answer);
    Ok(())
}

#[test]
#[ignore = "a program, which another test runs in a process of its own"]
fn program() {
    main().unwrap();
}
