//! The thread protocol: commands and events.

use axum::extract::State;

use super::App;
use super::call::{Call, Reply};
use super::endpoint::{Endpoint, Gives, get, post};
use super::{socket, sse};
use crate::guard::{self, Action, Resource};
use crate::protocol::EventFilter;

pub(super) fn endpoints() -> Vec<Endpoint> {
    let endpoints = vec![
        post("/threads/{thread_id}/commands", command, "Send a command of the thread protocol")
            .action(Action::Run)
            .takes("Command")
            .gives(Gives::One("CommandResponse"))
            .also(&[Gives::Error(400, "CommandError")]),
        post("/threads/{thread_id}/stream/events", events, "Stream the events of the thread protocol")
            .action(Action::Read)
            .takes("Subscription")
            .gives(Gives::Events),
        post("/threads/{thread_id}/stream", events, "Stream the events of the thread protocol")
            .action(Action::Read)
            .takes("Subscription")
            .gives(Gives::Events),
        get("/threads/{thread_id}/stream/events", socket::connect, "Open a WebSocket of the thread protocol")
            .action(Action::Run)
            .gives(Gives::Nothing(101)),
    ];
    endpoints.into_iter().map(|endpoint| endpoint.on(Resource::Threads)).collect()
}

async fn command(State(app): State<App>, call: Call) -> Reply {
    let (status, response) = app.service.command(&call.scope, call.thread()?, &call.body).await;
    Ok(guard::json(status, &response))
}

async fn events(State(app): State<App>, call: Call) -> Reply {
    let open = call.open(&app)?;
    let filter = EventFilter::read(&call.body)?;
    let frames = app.service.protocol_events(&call.scope, call.thread()?, filter).await?;
    Ok(sse::respond(frames, open, None))
}
