//! Items of the store, which outlive threads.
//!
//! A client may have a part of the store of its own, below a namespace that it does not see: the prefix is added to
//! the namespaces of requests, and removed from those of responses.

use axum::extract::State;
use axum::http::StatusCode;
use serde_json::Value;

use super::App;
use super::call::{Call, Reply, nothing, ok};
use super::endpoint::{Endpoint, Gives, delete, get, post, put};
use crate::guard::{Action, Resource};
use crate::wire::store::{ItemKey, ItemPut, ItemSearch, NamespaceSearch};

pub(super) fn endpoints() -> Vec<Endpoint> {
    let endpoints = vec![
        put("/store/items", store, "Store an item").takes("ItemPut").gives(Gives::Nothing(204)),
        get("/store/items", read, "Read an item")
            .query(&["namespace", "key"])
            .gives(Gives::One("ItemOrNull")),
        delete("/store/items", remove, "Delete an item").takes("ItemKey").gives(Gives::Nothing(204)),
        post("/store/items/search", search, "Search items").action(Action::Read).takes("ItemSearch"),
        post("/store/namespaces", namespaces, "List namespaces")
            .action(Action::Read)
            .takes("NamespaceSearch"),
    ];
    endpoints.into_iter().map(|endpoint| endpoint.on(Resource::Store)).collect()
}

async fn store(State(app): State<App>, call: Call) -> Reply {
    let mut request = ItemPut::read(&call.body)?;
    request.at.namespace = below(&call, request.at.namespace);
    app.service.put_item(request).await?;
    nothing(StatusCode::NO_CONTENT)
}

async fn read(State(app): State<App>, call: Call) -> Reply {
    let mut item = app.service.item(key_below(&call, ItemKey::of_query(&call.query)?)).await?;
    remove_prefix(&call, item.get_mut("namespace"));
    ok(&item)
}

async fn remove(State(app): State<App>, call: Call) -> Reply {
    app.service.delete_item(key_below(&call, ItemKey::read(&call.body)?)).await?;
    nothing(StatusCode::NO_CONTENT)
}

async fn search(State(app): State<App>, call: Call) -> Reply {
    let mut request = ItemSearch::read(&call.body)?;
    request.prefix = below(&call, request.prefix);
    let mut found = app.service.search_items(request).await?;
    for item in found.get_mut("items").and_then(Value::as_array_mut).into_iter().flatten() {
        remove_prefix(&call, item.get_mut("namespace"));
    }
    ok(&found)
}

async fn namespaces(State(app): State<App>, call: Call) -> Reply {
    let mut request = NamespaceSearch::read(&call.body)?;
    request.prefix = below(&call, request.prefix);
    request.max_depth = request.max_depth.map(|depth| depth.saturating_add(call.namespace.len()));
    let mut found = app.service.namespaces(request).await?;
    for namespace in found.get_mut("namespaces").and_then(Value::as_array_mut).into_iter().flatten() {
        remove_prefix(&call, Some(namespace));
    }
    ok(&found)
}

fn key_below(call: &Call, key: ItemKey) -> ItemKey {
    ItemKey { namespace: below(call, key.namespace), ..key }
}

/// Returns a namespace of a client as the store has it.
fn below(call: &Call, namespace: Vec<String>) -> Vec<String> {
    call.namespace.iter().cloned().chain(namespace).collect()
}

/// Turns a namespace of the store into the client's.
fn remove_prefix(call: &Call, namespace: Option<&mut Value>) {
    if let Some(Value::Array(labels)) = namespace {
        labels.drain(..call.namespace.len().min(labels.len()));
    }
}
