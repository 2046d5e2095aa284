//! The code for a refused state: its errors, and stubs of what other code would miss.

use proc_macro2::TokenStream;
use syn::DeriveInput;

use super::ast::State;

/// The errors with stubs.
pub(crate) fn expand(
    _item: &DeriveInput,
    _state: Option<&State>,
    errors: Option<TokenStream>,
) -> TokenStream {
    errors.unwrap_or_default()
}
