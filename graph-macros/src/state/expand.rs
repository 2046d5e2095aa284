//! Generates the code for a valid state.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::ast::{Kind, State};
use super::schema::{Layout, schema};
use super::{update, write};

/// Generates everything that the derive emits.
pub(crate) fn expand(state: &State) -> TokenStream {
    let parts = [update::expand(state), write::expand(state), state_impl(state), handles(state)];
    parts.into_iter().collect()
}

/// Generates `impl State` and `impl IntoInput`.
fn state_impl(state: &State) -> TokenStream {
    let State { ident, private, .. } = state;
    let (update, write, name) = (state.update(), state.write(), state.name());
    let (impl_generics, arguments, clause) = state.generics.split_for_impl();
    let turbofish = arguments.as_turbofish();
    let write_path = quote!(#write #turbofish);
    let layout = Layout::of(state);
    let (len, schema) = (&layout.len, schema(state));

    let mut encodes = TokenStream::new();
    let mut decodes = TokenStream::new();
    let mut resets = TokenStream::new();
    let mut copies = TokenStream::new();
    for (field, slot) in state.fields.iter().zip(&layout.slots) {
        let (member, stored, codec) = (&field.ident, &field.stored, field.codec());
        let (id, pattern) = (&slot.id, &slot.pattern);
        if let Kind::Embedded = field.kind {
            let inner = quote!(#private::FieldId(field.0 - #id));
            encodes.extend(quote!(#pattern => #private::State::encode_field(&self.#member, #inner),));
            decodes
                .extend(quote!(#pattern => #private::State::decode_field(&mut self.#member, #inner, value),));
            resets.extend(quote!(#pattern => #private::State::reset_field(&mut self.#member, #inner),));
            copies.extend(
                quote!(#pattern => #private::State::copy_field(&mut self.#member, #inner, &from.#member),),
            );
            continue;
        }
        encodes.extend(quote!(#pattern => #write_path::#codec.encode(&self.#member, #stored),));
        decodes.extend(quote!(#pattern => #write_path::#codec.decode(&mut self.#member, value, #stored),));
        resets.extend(quote!(#pattern => #private::swap(&mut self.#member, &mut initial.#member),));
        copies.extend(quote!(#pattern => #private::Clone::clone_from(&mut self.#member, &from.#member),));
    }

    let version = state.version.as_ref().map(|_| {
        let version = state.version();
        quote!(const VERSION: u32 = #version;)
    });
    let migration = state.migrate.as_ref().map(|migrate| {
        quote_spanned! {migrate.span()=>
            fn migration() -> #private::Option<#private::Migration<Self>> {
                #private::Some(#private::Migration::<Self>::new(#migrate))
            }
        }
    });
    let writes = overwrite(state);
    quote! {
        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics #private::State for #ident #arguments #clause {
            type Update = #update #arguments;
            type Write = #write #arguments;
            const FIELDS: u16 = #len;
            #version

            fn schema() -> #private::Schema {
                #schema
            }

            fn initial() -> Self {
                #private::Default::default()
            }

            #migration

            fn json_schema(&self) -> #private::Option<#private::Json> {
                use #private::Undescribed as _;
                #private::Described::<Self>::JSON_SCHEMA.map(|schema| schema())
            }

            fn overwrite(self) -> Self::Update {
                #writes
            }

            fn encode_field(&self, field: #private::FieldId) -> #private::Result<#private::Json, #private::CodecError> {
                match field.0 {
                    #encodes
                    _ => #private::Err(#private::no_field(#name, field)),
                }
            }

            #[allow(unused_variables)]
            fn decode_field(
                &mut self,
                field: #private::FieldId,
                value: &#private::Json,
            ) -> #private::Result<(), #private::CodecError> {
                match field.0 {
                    #decodes
                    _ => #private::Err(#private::no_field(#name, field)),
                }
            }

            #[allow(unused_variables, unused_mut)]
            fn reset_field(&mut self, field: #private::FieldId) {
                let mut initial = <Self as #private::State>::initial();
                match field.0 {
                    #resets
                    _ => {}
                }
            }

            #[allow(unused_variables)]
            fn copy_field(&mut self, field: #private::FieldId, from: &Self) {
                match field.0 {
                    #copies
                    _ => {}
                }
            }
        }

        #[automatically_derived]
        impl #impl_generics #private::IntoInput<Self> for #ident #arguments #clause {
            fn into_input(self) -> #private::Input<Self> {
                #private::Input::State(#private::State::overwrite(self))
            }
        }
    }
}

/// Generates the body of `State::overwrite`.
fn overwrite(state: &State) -> TokenStream {
    let (private, write) = (&state.private, state.write());
    let embeds = state.fields.iter().any(|field| matches!(field.kind, Kind::Embedded));
    if !embeds {
        let writes = state.fields.iter().map(|field| {
            let member = &field.ident;
            quote!(#write::#member(#private::Write::Set(self.#member)))
        });
        return quote!(#private::StateUpdate::from_writes(#private::vec![#(#writes),*]));
    }
    let writes = state.fields.iter().map(|field| {
        let (member, set) = (&field.ident, field.setter());
        quote!(.#set(self.#member))
    });
    quote!(<Self::Update as #private::Default>::default()#(#writes)*)
}

/// Generates `update()` and the field handles.
fn handles(state: &State) -> TokenStream {
    let State { ident, vis, private, .. } = state;
    let (update, write) = (state.update(), state.write());
    let (impl_generics, arguments, clause) = state.generics.split_for_impl();
    let layout = Layout::of(state);
    let handles = state.fields.iter().zip(&layout.slots).map(|(field, slot)| {
        let (member, vis, ty, stored) = (&field.ident, &field.vis, &field.ty, &field.stored);
        let (handle, id, docs, reducer) = (field.handle(), &slot.id, &field.docs, field.reducer(private));
        let doc = format!("The handle of `{}`.", field.name());
        let value = match field.kind {
            Kind::Embedded => quote! {
                #private::Embedded<Self, #ty> =
                    #private::Embedded::new(#id, |state| &state.#member, #write::#member)
            },
            _ => quote! {
                #private::Field<Self, #ty, <#reducer as #private::Reducer<#ty>>::Write> =
                    #private::Field::direct(#private::FieldId(#id), #stored, |state| &state.#member, #write::#member)
            },
        };
        quote! {
            #[doc = #doc]
            #[doc = ""]
            #(#docs)*
            #vis const #handle: #value;
        }
    });
    quote! {
        #[allow(dead_code, private_interfaces, deprecated)]
        impl #impl_generics #ident #arguments #clause {
            /// Returns an empty update; its setters add writes.
            #vis fn update() -> #update #arguments {
                #private::Default::default()
            }

            #(#handles)*
        }
    }
}
