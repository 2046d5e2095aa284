//! The table of endpoints, from which the router and the OpenAPI document are built.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::routing::{MethodFilter, MethodRouter, on};

use super::App;
use crate::guard::{self, Access, Action, Guard, Resource};
use crate::wire::Failure;

/// An endpoint: a method at a path.
pub(crate) struct Endpoint {
    /// The method, in small letters.
    pub(crate) method: &'static str,
    /// The path, with the names of its parameters in braces.
    pub(crate) path: &'static str,
    /// A line that describes it.
    pub(crate) summary: &'static str,
    /// The kind of object.
    pub(crate) resource: Resource,
    /// The action.
    pub(crate) action: Action,
    /// The schema of the JSON body of requests.
    pub(crate) takes: Option<&'static str>,
    /// The names of the parameters in the query.
    pub(crate) query: &'static [&'static str],
    /// The body of successful responses.
    pub(crate) gives: Gives,
    /// Other responses, with other statuses.
    pub(crate) also: &'static [Gives],
    handler: MethodRouter<App>,
}

/// The body of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gives {
    /// JSON of this schema.
    One(&'static str),
    /// A JSON list of this schema.
    Many(&'static str),
    /// JSON without a schema.
    Json,
    /// Server-sent events.
    Events,
    /// Text of this content type.
    Text(&'static str),
    /// Nothing, with this status.
    Nothing(u16),
    /// JSON of this schema that describes an error, with this status.
    Error(u16, &'static str),
}

macro_rules! methods {
    ($($method:ident: $filter:ident, $action:ident;)*) => {$(
        #[doc = concat!("Makes an endpoint of a `", stringify!($method), "` request.")]
        pub(super) fn $method<H, T>(path: &'static str, handler: H, summary: &'static str) -> Endpoint
        where
            H: Handler<T, App>,
            T: 'static,
        {
            Endpoint {
                method: stringify!($method),
                path,
                summary,
                resource: Resource::Server,
                action: Action::$action,
                takes: None,
                query: &[],
                gives: Gives::Json,
                also: &[],
                handler: on(MethodFilter::$filter, handler),
            }
        }
    )*};
}

methods! {
    get: GET, Read;
    post: POST, Create;
    put: PUT, Update;
    patch: PATCH, Update;
    delete: DELETE, Delete;
}

impl Endpoint {
    /// Sets the kind of object.
    pub(super) fn on(self, resource: Resource) -> Self {
        Self { resource, ..self }
    }

    /// Sets the action, where it does not follow from the method.
    pub(super) fn action(self, action: Action) -> Self {
        Self { action, ..self }
    }

    /// Sets the schema of the body of requests.
    pub(super) fn takes(self, schema: &'static str) -> Self {
        Self { takes: Some(schema), ..self }
    }

    /// Sets the parameters in the query.
    pub(super) fn query(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }

    /// Sets the body of successful responses.
    pub(super) fn gives(self, gives: Gives) -> Self {
        Self { gives, ..self }
    }

    /// Adds other responses.
    pub(super) fn also(self, also: &'static [Gives]) -> Self {
        Self { also, ..self }
    }
}

/// Builds the router of these endpoints. Each one asks the guard for its filter before its handler runs. On a server that
/// only reads, endpoints that write refuse all requests.
pub(super) fn router(endpoints: Vec<Endpoint>, guard: &Arc<Guard>) -> Router<App> {
    endpoints.into_iter().fold(Router::new(), |router, endpoint| {
        let Endpoint { path, summary, resource, action, handler, .. } = endpoint;
        let handler = match guard.is_read_only && action != Action::Read {
            true => handler.route_layer(from_fn(async move |_: Request, _: Next| refused(summary))),
            false => handler,
        };
        let access = Access { resource, action };
        let admit = from_fn_with_state((Arc::clone(guard), access), guard::admit);
        router.route(path, handler.route_layer(admit))
    })
}

/// Returns the response to a request that would write to a server that only reads.
fn refused(summary: &str) -> Failure {
    Failure::new(
        403,
        format!(
            "{summary}: refused, because this server only reads; to do it, serve the graphs with the program that has \
             their code"
        ),
    )
}
