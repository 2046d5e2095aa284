//! Assistants: graphs with configuration.

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;

use super::App;
use super::call::{Call, Reply, nothing, ok, page};
use super::endpoint::{Endpoint, Gives, delete, get, patch, post};
use crate::guard::{Action, Resource};
use crate::wire::assistant::{self, AssistantCreate, AssistantPatch, AssistantSearch, VersionSearch};
use crate::wire::graph::levels;

pub(super) fn endpoints() -> Vec<Endpoint> {
    let endpoints = vec![
        post("/assistants", create, "Create an assistant")
            .takes("AssistantCreate")
            .gives(Gives::One("Assistant")),
        post("/assistants/search", search, "List assistants")
            .action(Action::Read)
            .takes("AssistantSearch")
            .gives(Gives::Many("Assistant")),
        post("/assistants/count", count, "Count assistants").action(Action::Read).takes("AssistantSearch"),
        get("/assistants/{assistant_id}", read, "Read an assistant").gives(Gives::One("Assistant")),
        patch("/assistants/{assistant_id}", change, "Store a new version of an assistant")
            .takes("AssistantPatch")
            .gives(Gives::One("Assistant")),
        delete("/assistants/{assistant_id}", remove, "Delete an assistant").gives(Gives::Nothing(204)),
        post("/assistants/{assistant_id}/versions", versions, "List the versions of an assistant")
            .action(Action::Read)
            .takes("VersionSearch")
            .gives(Gives::Many("Assistant")),
        post(
            "/assistants/{assistant_id}/latest",
            set_latest,
            "Make a version of an assistant the current one",
        )
        .action(Action::Update)
        .takes("AssistantVersion")
        .gives(Gives::One("Assistant")),
        get("/assistants/{assistant_id}/graph", graph, "Read the nodes and edges of a graph")
            .query(&["xray"]),
        get("/assistants/{assistant_id}/schemas", schemas, "Read the JSON Schemas of a graph"),
        get("/assistants/{assistant_id}/subgraphs", subgraphs, "Read the JSON Schemas of the subgraphs")
            .query(&["recurse"]),
        get(
            "/assistants/{assistant_id}/subgraphs/{namespace}",
            subgraphs,
            "Read the JSON Schemas of a subgraph",
        )
        .query(&["recurse"]),
    ];
    endpoints.into_iter().map(|endpoint| endpoint.on(Resource::Assistants)).collect()
}

async fn create(State(app): State<App>, call: Call) -> Reply {
    ok(&app.service.create_assistant(&call.scope, AssistantCreate::read(&call.body)?).await?)
}

async fn search(State(app): State<App>, call: Call) -> Reply {
    let request = AssistantSearch::read(&call.body)?;
    let asked = request.page;
    page(app.service.search_assistants(&call.scope, request).await?, asked)
}

async fn count(State(app): State<App>, call: Call) -> Reply {
    ok(&Value::from(app.service.count_assistants(&call.scope, AssistantSearch::read(&call.body)?).await?))
}

async fn read(State(app): State<App>, call: Call) -> Reply {
    ok(&app.service.assistant(&call.scope, call.path("assistant_id")).await?)
}

async fn change(State(app): State<App>, call: Call) -> Reply {
    let request = AssistantPatch::read(&call.body)?;
    ok(&app.service.patch_assistant(&call.scope, call.path("assistant_id"), request).await?)
}

async fn remove(State(app): State<App>, call: Call) -> Reply {
    app.service.delete_assistant(&call.scope, call.path("assistant_id")).await?;
    nothing(StatusCode::NO_CONTENT)
}

async fn versions(State(app): State<App>, call: Call) -> Reply {
    let request = VersionSearch::read(&call.body)?;
    ok(&app.service.versions(&call.scope, call.path("assistant_id"), request).await?.into())
}

async fn set_latest(State(app): State<App>, call: Call) -> Reply {
    let version = assistant::version(&call.body)?;
    ok(&app.service.set_version(&call.scope, call.path("assistant_id"), version).await?)
}

async fn graph(State(app): State<App>, call: Call) -> Reply {
    ok(&app.service.drawing(&call.scope, call.path("assistant_id"), levels(&call.query)?).await?)
}

async fn schemas(State(app): State<App>, call: Call) -> Reply {
    ok(&app.service.schemas(&call.scope, call.path("assistant_id")).await?)
}

async fn subgraphs(State(app): State<App>, call: Call) -> Reply {
    let recurse = call.query.flag("recurse")?.unwrap_or(false);
    let (id, namespace) = (call.path("assistant_id"), call.param("namespace"));
    ok(&app.service.subgraph_schemas(&call.scope, id, namespace, recurse).await?)
}
