//! The parsed struct.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Data, DeriveInput, Fields, GenericParam, Generics, Ident, LitInt, Path, Token, Type,
    Visibility,
};

use super::attr::{FieldAttrs, StateAttrs};
use super::case;
use crate::errors::Errors;
use crate::source::mentions;

/// A struct that derives `State`.
pub(crate) struct State {
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    /// The generics as written, with the bounds that the expansion needs.
    pub(crate) generics: Generics,
    pub(crate) fields: Vec<Field>,
    /// The version as written.
    pub(crate) version: Option<LitInt>,
    /// The function that migrates the state of an older version.
    pub(crate) migrate: Option<Path>,
    /// The `__private` module of the crate that the expansion calls.
    pub(crate) private: TokenStream,
}

/// One field.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    pub(crate) ty: Type,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) kind: Kind,
    /// The name under which the field is stored.
    pub(crate) stored: String,
    pub(crate) attrs: FieldAttrs,
    /// The alias of the fitted reducer, for a field with its own reducer in a struct without parameters.
    pub(crate) fitted: Option<Ident>,
}

/// The kind of a field.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// A field that is written through a reducer: the one in `#[reducer(..)]`, or `LastValue`.
    Stored,
    /// A field with `#[state(transient)]`: kept in memory only.
    Transient,
    /// A field with `#[state(flatten)]`: another state.
    Embedded,
}

impl State {
    /// Parses `item`. If it is not a struct with named fields, adds an error and returns a state without fields.
    pub(crate) fn read(item: &DeriveInput, errors: &mut Errors) -> Self {
        let attrs = StateAttrs::read(&item.attrs, errors);
        let mut fields: Vec<_> = named_fields(item, errors)
            .into_iter()
            .flatten()
            .filter_map(|field| Field::read(field, &attrs, errors))
            .collect();
        if item.generics.params.is_empty() {
            fields.iter_mut().for_each(|field| field.fit(&item.ident));
        }
        let StateAttrs { krate, version, migrate, .. } = attrs;
        let krate = krate.map_or_else(|| quote!(::superstep), ToTokens::into_token_stream);
        let private = quote!(#krate::__private);
        let generics = bounded(item, &fields, &private);
        Self { ident: item.ident.clone(), vis: item.vis.clone(), generics, fields, version, migrate, private }
    }

    /// Returns the name of the generated update type.
    pub(crate) fn update(&self) -> Ident {
        format_ident!("{}Update", self.ident.unraw(), span = self.ident.span())
    }

    /// Returns the name of the generated write type.
    pub(crate) fn write(&self) -> Ident {
        format_ident!("{}Write", self.ident.unraw(), span = self.ident.span())
    }

    /// Returns the version in the schema.
    pub(crate) fn version(&self) -> u32 {
        self.version.as_ref().and_then(|version| version.base10_parse().ok()).unwrap_or(1)
    }

    /// Returns the name in the schema.
    pub(crate) fn name(&self) -> String {
        self.ident.unraw().to_string()
    }
}

impl Field {
    fn read(field: &syn::Field, state: &StateAttrs, errors: &mut Errors) -> Option<Self> {
        let ident = field.ident.clone()?;
        let attrs = FieldAttrs::read(&field.attrs, errors);
        let kind = match (&attrs.flatten, &attrs.transient) {
            (Some(_), _) => Kind::Embedded,
            (None, Some(_)) => Kind::Transient,
            (None, None) => Kind::Stored,
        };
        let written = ident.unraw().to_string();
        let stored = match (&attrs.rename, state.rename_all) {
            (Some(name), _) => name.value(),
            (None, Some(rule)) => rule.apply(&written),
            (None, None) => written,
        };
        Some(Self {
            vis: field.vis.clone(),
            ty: field.ty.clone(),
            docs: field.attrs.iter().filter(|attr| attr.path().is_ident("doc")).cloned().collect(),
            kind,
            stored,
            attrs,
            fitted: None,
            ident,
        })
    }

    /// Names the field's reducer by an alias, which exists whether or not the reducer fits.
    fn fit(&mut self, state: &Ident) {
        if self.attrs.reducer.is_some() && matches!(self.kind, Kind::Stored) {
            let (state, field) = (state.unraw(), self.ident.unraw());
            self.fitted = Some(format_ident!("__{state}_{field}", span = self.ident.span()));
        }
    }

    /// Returns the field's name without `r#`.
    pub(crate) fn name(&self) -> String {
        self.ident.unraw().to_string()
    }

    /// Returns the name of the setter that overwrites the field.
    pub(crate) fn setter(&self) -> Ident {
        format_ident!("set_{}", self.ident.unraw(), span = self.ident.span())
    }

    /// Returns the name of the setter that resets the field to its initial value, for fields with an explicit
    /// reducer.
    pub(crate) fn clearer(&self) -> Option<Ident> {
        self.attrs.reducer.as_ref()?;
        Some(format_ident!("clear_{}", self.ident.unraw(), span = self.ident.span()))
    }

    /// Returns the name of the write type's constant with the field's codec.
    pub(crate) fn codec(&self) -> Ident {
        format_ident!("__{}", self.ident.unraw(), span = self.ident.span())
    }

    /// Returns the name of the constant with the field's handle.
    pub(crate) fn handle(&self) -> Ident {
        Ident::new(&case::screaming_snake(&self.name()), self.ident.span())
    }

    /// Returns the reducer's type.
    pub(crate) fn reducer(&self, private: &TokenStream) -> TokenStream {
        match (self.kind, &self.attrs.reducer) {
            (Kind::Transient, _) => quote!(#private::Transient),
            (_, Some(reducer)) => match &self.fitted {
                Some(fitted) => fitted.to_token_stream(),
                None => reducer.to_token_stream(),
            },
            (_, None) => quote!(#private::LastValue),
        }
    }
}

/// Returns the fields of a struct with named fields.
fn named_fields<'a>(
    item: &'a DeriveInput,
    errors: &mut Errors,
) -> Option<&'a Punctuated<syn::Field, Token![,]>> {
    match &item.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => return Some(&fields.named),
            Fields::Unnamed(fields) => {
                errors.at(fields, "a state has named fields: the names are what checkpoints store")
            }
            Fields::Unit => {
                errors.at(&item.ident, "a state has named fields: write them in braces after the name")
            }
        },
        Data::Enum(data) => {
            errors.at(data.enum_token, "a state is a struct; keep this enum in one of its fields")
        }
        Data::Union(data) => errors.at(data.union_token, "a state is a struct with named fields"),
    }
    None
}

/// Returns the item's generics with the bounds of a state: every type parameter can be shared between tasks, those
/// in stored fields can be serialised, and the state itself implements `Clone` and `Default`.
fn bounded(item: &DeriveInput, fields: &[Field], private: &TokenStream) -> Generics {
    let mut generics = item.generics.clone();
    let params: Vec<Ident> = item.generics.type_params().map(|param| param.ident.clone()).collect();
    if params.is_empty() {
        return generics;
    }
    for param in &mut generics.params {
        if let GenericParam::Type(param) = param {
            param.default = None;
        }
    }
    let clause = generics.make_where_clause();
    for param in &params {
        clause.predicates.push(syn::parse_quote!(
            #param: ::core::clone::Clone + ::core::marker::Send + ::core::marker::Sync + 'static
        ));
        let stored = |field: &&Field| {
            !matches!(field.kind, Kind::Transient) && mentions(&field.ty, &param.to_string())
        };
        if fields.iter().any(|field| stored(&field)) {
            clause
                .predicates
                .push(syn::parse_quote!(#param: #private::Serialize + #private::DeserializeOwned));
        }
    }
    for embedded in fields.iter().filter(|field| matches!(field.kind, Kind::Embedded)) {
        let ty = &embedded.ty;
        if params.iter().any(|param| mentions(ty, &param.to_string())) {
            clause.predicates.push(syn::parse_quote!(#ty: #private::State));
        }
    }
    let (ident, (_, arguments, _)) = (&item.ident, item.generics.split_for_impl());
    clause
        .predicates
        .push(syn::parse_quote!(#ident #arguments: ::core::clone::Clone + ::core::default::Default));
    generics
}
