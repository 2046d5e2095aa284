//! `#[derive(State)]`.

mod ast;
mod attr;
mod case;
mod expand;
mod fallback;
mod schema;
mod update;
mod valid;
mod write;

use proc_macro2::TokenStream;
use syn::DeriveInput;

use crate::errors::Errors;

/// Expands the derive for the item in `input`.
pub(crate) fn derive(input: TokenStream) -> TokenStream {
    let item: DeriveInput = match syn::parse2(input) {
        Ok(item) => item,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = Errors::default();
    let state = ast::State::read(&item, &mut errors);
    valid::check(&state, &mut errors);
    match errors.into_tokens() {
        None => expand::expand(&state),
        Some(errors) => fallback::expand(&state, errors),
    }
}
