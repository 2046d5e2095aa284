//! The files of the page.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use superstep_studio::Asset;

use crate::guard::{self, Guard};
use crate::wire::Failure;

/// The page runs its own code and asks its own origin, and nothing else; no other page may frame it.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
);

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// The file that is the page itself.
const INDEX: &str = "index.html";

/// Builds the router of these files. They need no token: the page gets it in the fragment of its address.
pub(super) fn router(guard: &Arc<Guard>) -> Router {
    let index = async |headers: HeaderMap| file(INDEX, &headers);
    let named = async |Path(name): Path<String>, headers: HeaderMap| file(&name, &headers);
    Router::new()
        .route("/studio", get(index))
        .route("/studio/", get(index))
        .route("/studio/{file}", get(named))
        .layer(from_fn_with_state(Arc::clone(guard), guard::check))
}

/// Returns the response with a file.
fn file(name: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = Asset::named(name) else {
        return Failure::not_found("Not Found").into_response();
    };
    let tag = format!("\"{}\"", asset.digest());
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|known| known.to_str().ok());
    let is_known = known.flat_map(|known| known.split(',')).any(|known| known.trim() == tag);
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::new(Body::from(asset.bytes)),
    };
    let headers = response.headers_mut();
    let tag = HeaderValue::try_from(tag).expect("a digest has letters and digits");
    headers.insert(ETAG, tag);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    // A browser asks each time, and gets a file only if the program was replaced by another version.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(OPENER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    response
}
