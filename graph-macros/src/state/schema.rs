//! Assigns field ids, and generates the schema.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use syn::Type;

use super::ast::{Kind, State};
use crate::source;

/// The ids of each field of the struct. An embedded state takes one id per field. Only the compiler knows how many
/// these are, so the ids after it are counted from a constant.
pub(crate) struct Layout<'a> {
    state: &'a State,
    /// The slots, one for each field of the struct.
    pub(crate) slots: Vec<Slot>,
    /// The number of ids.
    pub(crate) len: TokenStream,
    /// The types of the embedded states, each with the id of its first field.
    embedded: Vec<(&'a Type, TokenStream)>,
}

/// The ids of one field of the struct.
pub(crate) struct Slot {
    /// The field's first id, as an expression of type `u16`.
    pub(crate) id: TokenStream,
    /// A pattern that matches the field's ids, if smaller ids were matched before.
    pub(crate) pattern: TokenStream,
}

impl<'a> Layout<'a> {
    pub(crate) fn of(state: &'a State) -> Self {
        let write = state.write();
        let (_, arguments, _) = state.generics.split_for_impl();
        let turbofish = arguments.as_turbofish();
        let mut slots = Vec::with_capacity(state.fields.len());
        let mut embedded = Vec::new();
        let mut base: Option<TokenStream> = None;
        let mut offset = 0_u16;
        let id = |base: &Option<TokenStream>, offset: u16| {
            let offset = Literal::u16_suffixed(offset);
            base.as_ref().map_or_else(|| quote!(#offset), |base| quote!((#base + #offset)))
        };
        for field in &state.fields {
            let first = id(&base, offset);
            let pattern = if let Kind::Embedded = field.kind {
                let after = format_ident!("__AFTER_{}", embedded.len());
                embedded.push((&field.ty, first.clone()));
                let after = quote!(#write #turbofish::#after);
                base = Some(after.clone());
                offset = 0;
                quote!(id if id < #after)
            } else {
                offset += 1;
                match &base {
                    None => first.clone(),
                    Some(_) => quote!(id if id == #first),
                }
            };
            slots.push(Slot { id: first, pattern });
        }
        Self { state, slots, len: id(&base, offset), embedded }
    }

    /// Returns the constants from which the ids are counted.
    pub(crate) fn constants(&self) -> Option<TokenStream> {
        if self.embedded.is_empty() {
            return None;
        }
        let (write, private) = (self.state.write(), &self.state.private);
        let (impl_generics, arguments, clause) = self.state.generics.split_for_impl();
        let constants = self.embedded.iter().enumerate().map(|(index, (ty, first))| {
            let after = format_ident!("__AFTER_{}", index);
            quote!(const #after: u16 = #first + <#ty as #private::State>::FIELDS;)
        });
        Some(quote! {
            #[automatically_derived]
            impl #impl_generics #write #arguments #clause { #(#constants)* }
        })
    }
}

/// Generates the body of `State::schema`.
pub(crate) fn schema(state: &State) -> TokenStream {
    let (private, name) = (&state.private, state.name());
    let parts = state.fields.iter().map(|field| {
        let (stored, ty) = (&field.stored, &field.ty);
        let (shown, default) = (source::text(ty), field.reducer(private));
        let reducer = match (field.kind, &field.attrs.reducer) {
            (Kind::Embedded, _) => {
                return quote!(#private::Part::Embedded { path: #stored, schema: <#ty as #private::State>::schema });
            }
            (Kind::Transient, _) => "Transient".to_owned(),
            (Kind::Stored, Some(reducer)) => source::text(reducer),
            (Kind::Stored, None) => "LastValue".to_owned(),
        };
        let (aliases, secret) = (&field.attrs.aliases, field.attrs.secret.is_some());
        quote!(#private::Part::Field {
            name: #stored,
            aliases: &[#(#aliases),*],
            rust_type: #shown,
            reducer: #reducer,
            writers: <#default as #private::Reducer<#ty>>::WRITERS,
            lifetime: <#default as #private::Reducer<#ty>>::LIFETIME,
            secret: #secret,
        })
    });
    let version = state.version();
    quote!(#private::FieldList { state: #name, version: #version, parts: &[#(#parts),*] }.schema())
}
