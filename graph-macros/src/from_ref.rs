//! `#[derive(FromRef)]`.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, GenericParam, Member, Path, Type};

use crate::errors::Errors;
use crate::source;

/// Expands the derive for the item in `input`.
pub(crate) fn derive(input: TokenStream) -> TokenStream {
    let item: DeriveInput = match syn::parse2(input) {
        Ok(item) => item,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = Errors::default();
    let context = Context::read(&item, &mut errors);
    let expansion = context.expand(&item);
    let errors = errors.into_tokens();
    quote!(#errors #expansion)
}

/// A struct that derives `FromRef`: a graph's context.
struct Context {
    /// The fields that get a `FromRef` implementation: at most one per type.
    parts: Vec<(Member, Type)>,
    /// The `__private` module of the crate that the expansion calls.
    private: TokenStream,
}

impl Context {
    fn read(item: &DeriveInput, errors: &mut Errors) -> Self {
        let krate =
            item_attrs(&item.attrs, errors).map_or_else(|| quote!(::superstep), ToTokens::into_token_stream);
        let mut context = Self { parts: Vec::new(), private: quote!(#krate::__private) };
        for param in &item.generics.params {
            if let GenericParam::Lifetime(lifetime) = param {
                errors.at(lifetime, "a context outlives every run: it cannot have a lifetime parameter");
                return context;
            }
        }
        let fields = match &item.data {
            Data::Struct(data) => &data.fields,
            Data::Enum(data) => {
                errors.at(data.enum_token, "a context is a struct, with one field per thing that nodes need");
                return context;
            }
            Data::Union(data) => {
                errors
                    .at(data.union_token, "a context is a struct, with one field per thing that nodes need");
                return context;
            }
        };
        let mut seen: BTreeMap<String, &syn::Field> = BTreeMap::new();
        for (field, member) in fields.iter().zip(fields.members()) {
            if is_skipped(&field.attrs, errors) {
                continue;
            }
            if item.generics.type_params().any(|param| is_param(&field.ty, &param.ident)) {
                errors.at(
                    &field.ty,
                    "a part of a context has a type of its own; wrap this type parameter in a newtype, \
                     or leave the field out with `#[from_ref(skip)]`",
                );
                continue;
            }
            let text = source::text(&field.ty);
            if let Some(first) = seen.get(text.as_str()) {
                let message = format!(
                    "two fields have the type `{text}`, so `Dep<{text}>` could be either; wrap one of them in a \
                     newtype, or leave one out with `#[from_ref(skip)]`"
                );
                errors.at(&field.ty, message);
                errors.at(&first.ty, format!("the other field of type `{text}`"));
                continue;
            }
            seen.insert(text, field);
            context.parts.push((member, field.ty.clone()));
        }
        context
    }

    fn expand(&self, item: &DeriveInput) -> TokenStream {
        let (ident, private) = (&item.ident, &self.private);
        if item.generics.lifetimes().next().is_some() {
            return TokenStream::new();
        }
        let (impl_generics, arguments, clause) = item.generics.split_for_impl();
        let mut cloned = item.generics.clone();
        if item.generics.type_params().next().is_some() {
            cloned.make_where_clause().predicates.push(syn::parse_quote!(Self: #private::Clone));
        }
        let (_, _, whole_clause) = cloned.split_for_impl();
        let parts = self.parts.iter().map(|(member, ty)| {
            let clone = quote_spanned!(ty.span()=> <#ty as #private::Clone>::clone(&context.#member));
            quote! {
                #[automatically_derived]
                #[allow(deprecated)]
                impl #impl_generics #private::FromRef<#ident #arguments> for #ty #clause {
                    fn from_ref(context: &#ident #arguments) -> Self {
                        #clone
                    }
                }
            }
        });
        quote! {
            #[automatically_derived]
            impl #impl_generics #private::FromRef<Self> for #ident #arguments #whole_clause {
                fn from_ref(context: &Self) -> Self {
                    #private::Clone::clone(context)
                }
            }

            #(#parts)*
        }
    }
}

/// Reads `#[from_ref(crate = path)]` above the struct.
fn item_attrs(attrs: &[Attribute], errors: &mut Errors) -> Option<Path> {
    let mut krate = None;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("from_ref")) {
        errors.take(attr.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("unknown attribute; the struct takes `crate`, a field takes `skip`"));
            }
            krate = Some(meta.value()?.call(Path::parse_mod_style)?);
            Ok(())
        }));
    }
    krate
}

/// Returns `true` if the field has `#[from_ref(skip)]`.
fn is_skipped(attrs: &[Attribute], errors: &mut Errors) -> bool {
    let mut skipped = false;
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("from_ref")) {
        errors.take(attr.parse_nested_meta(|meta| {
            if !meta.path.is_ident("skip") {
                return Err(meta.error("unknown attribute; a field takes `skip`"));
            }
            skipped = true;
            Ok(())
        }));
    }
    skipped
}

fn is_param(ty: &Type, param: &syn::Ident) -> bool {
    matches!(ty, Type::Path(path) if path.qself.is_none() && path.path.is_ident(param))
}
