//! The services of a graph: their names and settings, and the calls of their handlers.

use std::sync::Arc;

use restate_sdk::discovery;
use restate_sdk::endpoint::{ContextInternal, Error};
use restate_sdk::serde::Json;
use restate_sdk::service::macro_support::{ServiceBoxFuture, service_definition};
use restate_sdk::service::{Service, ServiceDefinition};
use serde_json::json;

use crate::thread;
use crate::work::{self, Begin, Served};

/// The first and the longest delay between the attempts of an invocation, in milliseconds.
const DELAYS: [u64; 2] = [50, 1000];

/// The attempts until Restate pauses an invocation. A store may be away for days.
const ATTEMPTS: u64 = 1_000_000;

/// The time without a message after which Restate asks an invocation to suspend, in milliseconds. The handlers of a
/// thread wait, and the others run nodes, which may take as long as they like.
const SUSPENDED: [u64; 2] = [10_000, 365 * 24 * 60 * 60 * 1000];

/// The handlers of a thread, and those of the work on it.
#[derive(Clone, Copy)]
enum Role {
    Thread,
    Work,
}

/// One service of a graph.
struct Handlers {
    served: Arc<Served>,
    role: Role,
}

/// Returns the name of the service that drives the runs of a graph.
pub(crate) fn work_name(graph: &str) -> String {
    format!("{graph}.work")
}

/// Returns both services of a graph.
///
/// # Errors
/// Returns an error if the name of the graph cannot be that of a service.
pub(crate) fn services(served: Served) -> Result<[ServiceDefinition; 2], serde_json::Error> {
    let served = Arc::new(served);
    let define = |role| {
        let handlers = Handlers { served: Arc::clone(&served), role };
        Ok(service_definition(handlers, described(&served, role)?))
    };
    Ok([define(Role::Thread)?, define(Role::Work)?])
}

/// Describes a service to Restate.
fn described(served: &Served, role: Role) -> Result<discovery::Service, serde_json::Error> {
    let (input, output) = (
        json!({ "contentType": "application/json", "required": true }),
        json!({ "contentType": "application/json" }),
    );
    let handler = |name: &str, ty: &str| json!({ "name": name, "ty": ty, "input": input, "output": output });
    let no_input = |name: &str, ty: &str| json!({ "name": name, "ty": ty, "input": {}, "output": output });
    let plain = |name: &str| json!({ "name": name, "input": input, "output": output });
    let graph = served.graph.description();
    let (name, ty, suspended, handlers) = match role {
        Role::Thread => {
            let run = ["run", "answer", "answers", "drive"].map(|name| handler(name, "EXCLUSIVE"));
            let mut cancel = handler("cancel", "SHARED");
            cancel["input"]["required"] = false.into();
            let others = [no_input("resume", "EXCLUSIVE"), cancel];
            (&graph.name, "VIRTUAL_OBJECT", SUSPENDED[0], [&run[..], &others].concat())
        }
        Role::Work => (&served.work, "SERVICE", SUSPENDED[1], ["slices", "tasks"].map(plain).to_vec()),
    };
    serde_json::from_value(json!({
        "name": name,
        "ty": ty,
        "handlers": handlers,
        "inactivityTimeout": suspended,
        "ingressPrivate": matches!(role, Role::Work),
        "retryPolicyInitialInterval": DELAYS[0],
        "retryPolicyMaxInterval": DELAYS[1],
        "retryPolicyExponentiationFactor": 2.0,
        "retryPolicyMaxAttempts": ATTEMPTS,
        "metadata": {
            "graph": graph.topology_fingerprint.to_string(),
            "state": graph.schema.fingerprint().to_string(),
        },
    }))
}

impl Service for Handlers {
    type Future = ServiceBoxFuture;

    fn handle(&self, ctx: ContextInternal) -> Self::Future {
        let (served, role) = (Arc::clone(&self.served), self.role);
        Box::pin(async move {
            match (role, ctx.handler_name()) {
                (Role::Thread, "run") => run(&ctx, served, Begin::Input).await,
                (Role::Thread, "answer") => run(&ctx, served, Begin::Answer).await,
                (Role::Thread, "answers") => run(&ctx, served, Begin::Answers).await,
                (Role::Thread, "drive") => {
                    let (Json(order), metadata) = ctx.input().await;
                    ctx.handle_handler_result(thread::drive(served, (&ctx, metadata).into(), order).await);
                }
                (Role::Thread, "resume") => {
                    let ((), metadata) = ctx.input().await;
                    ctx.handle_handler_result(
                        thread::run(served, (&ctx, metadata).into(), Begin::Resume).await,
                    );
                }
                (Role::Thread, "cancel") => {
                    let (invocation, metadata) = ctx.input().await;
                    ctx.handle_handler_result(thread::cancel((&ctx, metadata).into(), invocation).await);
                }
                (Role::Work, "slices") => {
                    let (Json(work), metadata) = ctx.input().await;
                    ctx.handle_handler_result(work::slices(served, (&ctx, metadata).into(), work).await);
                }
                (Role::Work, "tasks") => {
                    let (Json(tasks), metadata) = ctx.input().await;
                    ctx.handle_handler_result(work::tasks(served, (&ctx, metadata).into(), tasks).await);
                }
                (_, name) => return Err(Error::unknown_handler(ctx.service_name(), name)),
            }
            ctx.end();
            Ok(())
        })
    }
}

/// Calls a handler that begins a run with its input.
async fn run<T: for<'de> serde::Deserialize<'de>>(
    ctx: &ContextInternal,
    served: Arc<Served>,
    begin: impl FnOnce(T) -> Begin,
) {
    let (Json(input), metadata) = ctx.input().await;
    ctx.handle_handler_result(thread::run(served, (ctx, metadata).into(), begin(input)).await);
}
