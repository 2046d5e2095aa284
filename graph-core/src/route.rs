//! Routes: the typed decisions by which a node says where to go next.

use alloc::vec::Vec;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// ```
/// # extern crate superstep_core as superstep;
/// use serde::{Deserialize, Serialize};
/// use superstep::route::Route;
///
/// #[derive(Serialize, Deserialize)]
/// struct Query {
///     text: String,
/// }
///
/// #[derive(Route, Serialize, Deserialize)]
/// enum Plan {
///     Research(Vec<Query>),
///     Ask(#[route(example = Query { text: "why".into() })] Query),
///     Write,
/// }
///
/// let names: Vec<_> = Plan::cases().iter().map(|case| case.name).collect();
/// assert_eq!(names, ["Research", "Ask", "Write"]);
/// assert_eq!(Plan::Write.case(), "Write");
/// ```
pub use superstep_macros::Route;

/// A decision of a node, wired to targets with `graph.route(node, |route| match route { .. })`.
///
/// Derive it on an enum: `#[derive(Route, Serialize, Deserialize)]`. A case that the wiring forgets is then
/// rustc's own "non-exhaustive patterns" error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a route",
    note = "derive it on an enum: `#[derive(Route, Serialize, Deserialize)] enum {Self} {{ .. }}`"
)]
pub trait Route: Serialize + DeserializeOwned + Send + 'static {
    /// One example per case, so that `compile()` can see and draw where each case leads.
    ///
    /// Payloads are defaulted, or given by `#[route(example = ..)]`; targets that depend on a payload are
    /// therefore a lower bound, and declared with `may_reach`.
    fn cases() -> Vec<Case<Self>>;

    /// The name of this value's case.
    fn case(&self) -> &'static str;
}

/// One case of a [`Route`].
#[derive(Clone, Debug)]
pub struct Case<R> {
    /// The variant's name.
    pub name: &'static str,
    /// A value of that variant.
    pub example: R,
}

/// The payload that the derive gives an example.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `Default`, so the case needs an example",
    label = "no example of this payload",
    note = "implement `Default` for `{Self}`, or write `#[route(example = ..)]` above the variant or the field"
)]
pub trait Example {
    /// The example.
    fn example() -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Default> Example for T {
    fn example() -> Self {
        Self::default()
    }
}
