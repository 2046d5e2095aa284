//! `#[derive(Route)]`.

mod ast;
mod attr;
mod expand;
mod valid;

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
    let route = ast::Route::read(item, &mut errors);
    valid::check(&route, &mut errors);
    match errors.into_tokens() {
        None => expand::expand(&route),
        Some(errors) => expand::fallback(&route, errors),
    }
}
