//! The parsed enum.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, Fields, Generics, Ident, Member, Type};

use super::attr::{Place, RouteAttrs};
use crate::errors::Errors;

/// An enum that derives `Route`.
pub(crate) struct Route {
    pub(crate) ident: Ident,
    pub(crate) generics: Generics,
    pub(crate) variants: Vec<Variant>,
    /// `true` if the item is an enum.
    pub(crate) is_enum: bool,
    /// The `__private` module of the crate that the expansion calls.
    pub(crate) private: TokenStream,
}

/// A variant of the enum: one case of the route.
pub(crate) struct Variant {
    pub(crate) ident: Ident,
    pub(crate) payload: Vec<Payload>,
    pub(crate) attrs: RouteAttrs,
}

/// A payload field of a variant.
pub(crate) struct Payload {
    pub(crate) member: Member,
    pub(crate) ty: Type,
    pub(crate) attrs: RouteAttrs,
}

impl Route {
    pub(crate) fn read(item: DeriveInput, errors: &mut Errors) -> Self {
        let attrs = RouteAttrs::read(&item.attrs, Place::Enum, errors);
        let krate = attrs.krate.map_or_else(|| quote!(::superstep), ToTokens::into_token_stream);
        let mut route = Self {
            ident: item.ident,
            generics: item.generics,
            variants: Vec::new(),
            is_enum: false,
            private: quote!(#krate::__private),
        };
        match item.data {
            Data::Enum(data) => {
                route.is_enum = true;
                route.variants =
                    data.variants.into_iter().map(|variant| Variant::read(variant, errors)).collect();
            }
            Data::Struct(data) => errors.at(
                data.struct_token,
                "a route is an enum with one variant per case; to go to one place only, wire an edge",
            ),
            Data::Union(data) => errors.at(data.union_token, "a route is an enum with one variant per case"),
        }
        route
    }
}

impl Variant {
    fn read(variant: syn::Variant, errors: &mut Errors) -> Self {
        let attrs = RouteAttrs::read(&variant.attrs, Place::Variant, errors);
        let fields = match variant.fields {
            Fields::Named(fields) => fields.named,
            Fields::Unnamed(fields) => fields.unnamed,
            Fields::Unit => syn::punctuated::Punctuated::new(),
        };
        let payload = fields.into_iter().enumerate().map(|(index, field)| Payload {
            attrs: RouteAttrs::read(&field.attrs, Place::Payload, errors),
            member: field.ident.map_or_else(|| Member::from(index), Member::Named),
            ty: field.ty,
        });
        Self { ident: variant.ident, payload: payload.collect(), attrs }
    }
}
