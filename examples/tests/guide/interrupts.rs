//! Snippets of `docs/interrupts.md`.

use std::time::Duration;

use superstep::prelude::*;

use superstep::state::Json;

use super::story::{Verdict, stories, topic};

#[derive(State, Clone, Debug, Default)]
struct Trip {
    to: String,
    nights: u32,
}

async fn book(place: Ask<String, String>, nights: Ask<String, u32>) -> Update<Trip> {
    let (to, nights) = futures_util::future::join(
        place.ask("Where to?".into()),
        nights.ask_as("nights", "How many nights?".into()),
    )
    .await;
    Trip::update().to(to).nights(nights)
}

#[tokio::test]
async fn a_question_pauses_the_thread() -> super::Result {
    let (stories, _) = stories();
    let thread = stories.thread("rust");
    let asked = thread.run(topic("Rust")).await?.interrupted()?;
    println!("{} asks {}", asked[0].node, asked[0].question::<String>()?);
    let story = thread.answer(&Verdict::Accept).await?.finished()?;
    assert_eq!(story.topic, "Rust");
    Ok(())
}

#[tokio::test]
async fn a_wrong_answer_is_refused() -> super::Result {
    let (stories, _) = stories();
    let thread = stories.thread("rust");
    thread.run(topic("Rust")).await?.interrupted()?;
    let refused = thread.answer("perhaps").await;
    assert!(matches!(refused, Err(RunError::WrongAnswer { .. })));
    thread.answer(&Verdict::Accept).await?.finished()?;
    assert!(matches!(thread.answer(&Verdict::Accept).await, Err(RunError::NothingAsked { .. })));
    Ok(())
}

#[tokio::test]
async fn several_questions_are_answered_in_any_order() -> super::Result {
    let mut g = StateGraph::<Trip>::new("trip");
    let book = g.node("book", book);
    g.edge(START, book);
    g.edge(book, END);
    let trips = g.compile()?.checkpointer(MemorySaver::new());

    let thread = trips.thread("summer");
    let asked = thread.run(Trip::default()).await?.interrupted()?;
    let nights = asked.iter().find(|ask| ask.key == "nights").expect("it was asked");
    let left = thread.answer_to(nights.id, &3).await?.interrupted()?;
    assert_eq!(left.len(), 1);
    let trip = thread.answer("Rome").await?.finished()?;
    assert_eq!((trip.to.as_str(), trip.nights), ("Rome", 3));

    let thread = trips.thread("winter");
    let asked = thread.run(Trip::default()).await?.interrupted()?;
    let answers = [(asked[0].id, Json::encode("Oslo")?), (asked[1].id, Json::encode(&2)?)];
    let trip = thread.answers(answers).await?.finished()?;
    assert_eq!(trip.nights, 2);
    Ok(())
}

#[derive(State, Clone, Debug, Default)]
struct Stay {
    booked: bool,
}

mod patient {
    use super::{Ask, Duration, Stay, Update};

    pub(super) async fn book(hotel: Ask<String, bool>) -> Update<Stay> {
        let day = Duration::from_secs(24 * 60 * 60);
        let sure = hotel.within(day, false).ask("Book it?".into()).await;
        Stay::update().booked(sure)
    }
}

/// The system's clock, a day ahead.
struct Tomorrow;

impl superstep::run::Ambient for Tomorrow {
    fn id(&self) -> uuid::Uuid {
        superstep::run::System.id()
    }

    fn now(&self) -> Duration {
        superstep::run::System.now() + Duration::from_secs(24 * 60 * 60)
    }

    fn roll(&self) -> f64 {
        0.0
    }
}

#[tokio::test]
async fn a_question_answers_itself() -> super::Result {
    let mut g = StateGraph::<Stay>::new("stay");
    let book = g.node("book", patient::book);
    g.edge(START, book);
    g.edge(book, END);
    let stays = g.compile()?.checkpointer(MemorySaver::new());
    let asked = stays.thread("t").run(Stay::default()).await?.interrupted()?;
    let schema: serde_json::Value = asked[0].answer_schema.as_ref().expect("the node is there").decode()?;
    assert_eq!(schema["type"], "boolean");

    let stays = stays.ambient(Tomorrow);
    for (thread, question) in stays.tick().await? {
        println!("nobody answered {} on {thread}", question.question);
        stays.thread(thread).resume().await?.finished()?;
    }
    assert!(stays.unfinished().await?.is_empty());
    Ok(())
}
