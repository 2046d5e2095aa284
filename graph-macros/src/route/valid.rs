//! Checks of an item that derives `Route`.

use syn::GenericParam;

use super::ast::{Route, Variant};
use crate::errors::Errors;

/// Adds an error for everything that cannot be expanded.
pub(crate) fn check(route: &Route, errors: &mut Errors) {
    for param in &route.generics.params {
        if let GenericParam::Lifetime(lifetime) = param {
            errors.at(lifetime, "a route is stored in checkpoints: it cannot have a lifetime parameter");
        }
    }
    if route.is_enum && route.variants.is_empty() {
        errors.at(&route.ident, "a route has at least one case; a node that decides nothing returns `()`");
    }
    for variant in &route.variants {
        examples(variant, errors);
        let skips = variant.payload.iter().map(|payload| &payload.attrs).chain([&variant.attrs]);
        for skip in skips.filter_map(|attrs| attrs.serde_skip.as_ref()) {
            errors.at(skip, "a route is stored in checkpoints with all it carries: it cannot skip a part");
        }
    }
}

/// Rejects examples on variants without a payload, and variants with two examples.
fn examples(variant: &Variant, errors: &mut Errors) {
    let Some(example) = &variant.attrs.example else {
        return;
    };
    if variant.payload.is_empty() {
        errors.at(example, "a case without a payload is its own example; remove this one");
    }
    for payload in &variant.payload {
        if let Some(second) = &payload.attrs.example {
            errors.at(second, "the variant has an example of the whole case already");
            errors.at(example, "this is that example");
        }
    }
}
