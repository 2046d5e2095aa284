//! `#[tool]`.

mod ast;
mod attr;
mod expand;
mod valid;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemFn;

use crate::errors::Errors;

/// Expands the attribute for the function in `item`.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = attr::ToolOptions::read(arguments, &mut errors);
    let Ok(function) = syn::parse2::<ItemFn>(item.clone()) else {
        errors.at(&item, "`#[tool]` belongs above an `async fn` outside of `impl` and `trait`");
        let errors = errors.into_tokens();
        return quote!(#item #errors);
    };
    let tool = ast::ToolFunction::read(function, options, &mut errors);
    valid::check(&tool, &mut errors);
    match errors.into_tokens() {
        None => expand::expand(&tool),
        Some(errors) => expand::fallback(&tool, errors),
    }
}
