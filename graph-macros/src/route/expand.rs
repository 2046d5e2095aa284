//! Generates the code for a route.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use super::ast::{Payload, Route, Variant};
use crate::source::mentions;

/// Generates `impl Route` and `impl IntoOutcome`.
pub(crate) fn expand(route: &Route) -> TokenStream {
    let private = &route.private;
    let cases = route.variants.iter().map(|variant| {
        let (name, example) = (variant.ident.unraw().to_string(), example(private, variant));
        quote!(#private::Case { name: #name, example: #example })
    });
    let names = route.variants.iter().map(|variant| {
        let (ident, name) = (&variant.ident, variant.ident.unraw().to_string());
        quote!(Self::#ident { .. } => #name)
    });
    impls(route, &quote!(#private::vec![#(#cases),*]), &quote!(match self { #(#names),* }))
}

/// Generates the errors, and impls that keep other code from failing because the route is missing.
pub(crate) fn fallback(route: &Route, errors: TokenStream) -> TokenStream {
    if route.generics.lifetimes().next().is_some() {
        return errors;
    }
    let impls = impls(route, &quote!(::core::unreachable!()), &quote!(::core::unreachable!()));
    quote!(#errors #impls)
}

fn impls(route: &Route, cases: &TokenStream, case: &TokenStream) -> TokenStream {
    let Route { ident, private, .. } = route;
    let generics = bounded(route);
    let (impl_generics, arguments, clause) = generics.split_for_impl();
    let mut outcome = generics.clone();
    outcome.params.push(syn::parse_quote!(__S: #private::State));
    let (outcome_generics, _, _) = outcome.split_for_impl();
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics #private::Route for #ident #arguments #clause {
            fn cases() -> #private::Vec<#private::Case<Self>> {
                #cases
            }

            fn case(&self) -> &'static str {
                #case
            }
        }

        #[automatically_derived]
        impl #outcome_generics #private::IntoOutcome<__S> for #ident #arguments #clause {
            type Route = Self;

            fn into_outcome(self) -> #private::Result<#private::Output<__S, Self>, #private::NodeError> {
                #private::Ok(#private::Output::routed(self))
            }
        }
    }
}

/// Returns the generics with the bounds that the impls need: each payload has an example, and the route can be
/// stored.
fn bounded(route: &Route) -> syn::Generics {
    let private = &route.private;
    let mut generics = route.generics.clone();
    if generics.type_params().next().is_none() {
        return generics;
    }
    let params: Vec<_> = generics.type_params().map(|param| param.ident.clone()).collect();
    let payloads = route.variants.iter().filter(|variant| variant.attrs.example.is_none());
    let payloads =
        payloads.flat_map(|variant| &variant.payload).filter(|payload| payload.attrs.example.is_none());
    let defaulted: Vec<_> = payloads
        .map(|payload| &payload.ty)
        .filter(|ty| params.iter().any(|param| mentions(ty, &param.to_string())))
        .collect();
    let clause = generics.make_where_clause();
    for param in &params {
        clause.predicates.push(syn::parse_quote!(#param: ::core::marker::Send + 'static));
    }
    for ty in defaulted {
        clause.predicates.push(syn::parse_quote!(#ty: #private::Default));
    }
    clause.predicates.push(syn::parse_quote!(Self: #private::Serialize + #private::DeserializeOwned));
    generics
}

/// Generates the example value of a variant.
fn example(private: &TokenStream, variant: &Variant) -> TokenStream {
    if let Some(example) = &variant.attrs.example {
        return quote!(#example);
    }
    let ident = &variant.ident;
    let fields = variant.payload.iter().map(|Payload { member, ty, attrs }| {
        let value = match &attrs.example {
            Some(example) => quote!(#example),
            None => quote_spanned!(ty.span()=> <#ty as #private::Example>::example()),
        };
        quote!(#member: #value)
    });
    quote!(Self::#ident { #(#fields),* })
}
