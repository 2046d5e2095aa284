//! The derive and attribute macros of [Superstep](https://docs.rs/superstep). Add `superstep` to a program,
//! not this crate: it re-exports every macro beside the trait it implements.
//!
//! Each macro reads in four steps, one file each: `ast` is what was written, `attr` parses the attributes,
//! `valid` refuses what cannot work, `expand` writes the code, and `fallback` keeps a refused item from
//! causing errors elsewhere.
#![forbid(unsafe_code)]

mod errors;
mod from_ref;
mod node;
mod route;
mod source;
mod state;

use proc_macro::TokenStream;

/// Implements `State` for a struct with named fields.
#[proc_macro_derive(State, attributes(reducer, state, serde))]
pub fn derive_state(input: TokenStream) -> TokenStream {
    state::derive(input.into()).into()
}

/// Implements `Route` for an enum.
#[proc_macro_derive(Route, attributes(route, serde))]
pub fn derive_route(input: TokenStream) -> TokenStream {
    route::derive(input.into()).into()
}

/// Implements `FromRef` for a graph's context.
#[proc_macro_derive(FromRef, attributes(from_ref))]
pub fn derive_from_ref(input: TokenStream) -> TokenStream {
    from_ref::derive(input.into()).into()
}

/// Checks the signature of a node function, so that a wrong argument or result is pointed at.
#[proc_macro_attribute]
pub fn node(arguments: TokenStream, item: TokenStream) -> TokenStream {
    node::expand(arguments.into(), item.into()).into()
}
