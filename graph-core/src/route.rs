//! Routes: the typed decisions by which a node selects the next nodes.

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
/// Derive it on an enum: `#[derive(Route, Serialize, Deserialize)]`. If the wiring forgets a case, rustc reports
/// its "non-exhaustive patterns" error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a route",
    note = "derive it on an enum: `#[derive(Route, Serialize, Deserialize)] enum {Self} {{ .. }}`"
)]
pub trait Route: Serialize + DeserializeOwned + Send + 'static {
    /// Returns one example per case, with which `compile()` determines where each case leads.
    ///
    /// The payloads have their default values, or those of `#[route(example = ..)]`. If targets depend on a
    /// payload, declare them with `may_reach`, because the examples only show some of them.
    fn cases() -> Vec<Case<Self>>;

    /// Returns the name of this value's case.
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

/// A payload for which the derive provides an example.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `Default`, so the case needs an example",
    label = "no example of this payload",
    note = "implement `Default` for `{Self}`, or write `#[route(example = ..)]` above the variant or the field"
)]
pub trait Example {
    /// Returns the example.
    fn example() -> Self;
}

#[diagnostic::do_not_recommend]
impl<T: Default> Example for T {
    fn example() -> Self {
        Self::default()
    }
}
