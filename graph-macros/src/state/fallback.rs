//! Generates the code for a rejected state: its errors, and stubs for the code that uses it.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use quote::quote;

use super::ast::{Kind, State};
use super::update;

/// Generates the errors and the stubs. The stubs compile whatever is wrong with the state, and never run.
pub(crate) fn expand(state: &State, errors: TokenStream) -> TokenStream {
    if state.generics.lifetimes().next().is_some() {
        return errors;
    }
    let State { ident, vis, private, .. } = state;
    let update = state.update();
    let (impl_generics, arguments, clause) = state.generics.split_for_impl();
    let write = quote!(#private::NoWrite<#ident #arguments>);
    let update_type = update::with_setters(state, &write, &setters(state));
    let handles = handles(state);
    let reducers = state.fields.iter().filter_map(|field| field.attrs.reducer.as_ref());
    quote! {
        #errors

        #update_type

        #[automatically_derived]
        impl #impl_generics #private::State for #ident #arguments #clause {
            type Update = #update #arguments;
            type Write = #write;
            const FIELDS: u16 = 0;

            fn schema() -> #private::Schema {
                ::core::unreachable!()
            }

            fn initial() -> Self {
                ::core::unreachable!()
            }

            fn overwrite(self) -> Self::Update {
                ::core::unreachable!()
            }

            fn encode_field(&self, _: #private::FieldId) -> #private::Result<#private::Json, #private::CodecError> {
                ::core::unreachable!()
            }

            fn decode_field(
                &mut self,
                _: #private::FieldId,
                _: &#private::Json,
            ) -> #private::Result<(), #private::CodecError> {
                ::core::unreachable!()
            }

            fn reset_field(&mut self, _: #private::FieldId) {}
        }

        #[automatically_derived]
        impl #impl_generics #private::IntoInput<Self> for #ident #arguments #clause {
            fn into_input(self) -> #private::Input<Self> {
                ::core::unreachable!()
            }
        }

        #[allow(dead_code, private_interfaces)]
        impl #impl_generics #ident #arguments #clause {
            #vis fn update() -> #update #arguments {
                #private::Default::default()
            }

            #handles

            // Uses the reducers, so that their imports cause no warning.
            fn __reducers(_: (#(#reducers,)*)) {}
        }
    }
}

/// Generates setters that take any value, because the field's type may be the mistake.
fn setters(state: &State) -> TokenStream {
    let mut taken = BTreeSet::from(["and".to_owned()]);
    let mut setters = TokenStream::new();
    for field in &state.fields {
        let vis = &field.vis;
        for setter in [field.ident.clone(), field.setter()] {
            if taken.insert(setter.to_string()) {
                setters.extend(quote!(#vis fn #setter<__Value>(self, _: __Value) -> Self { self }));
            }
        }
        if let Some(clear) = field.clearer()
            && taken.insert(clear.to_string())
        {
            setters.extend(quote!(#vis fn #clear(self) -> Self { self }));
        }
    }
    setters
}

fn handles(state: &State) -> TokenStream {
    let private = &state.private;
    let mut taken = BTreeSet::new();
    let mut handles = TokenStream::new();
    for field in &state.fields {
        let (vis, ty, handle) = (&field.vis, &field.ty, field.handle());
        let names_self = crate::source::mentions(ty, "Self");
        if names_self || matches!(field.kind, Kind::Embedded) || !taken.insert(handle.to_string()) {
            continue;
        }
        handles.extend(quote! {
            #vis const #handle: #private::Field<Self, #ty> = #private::Field::direct(
                #private::FieldId(0),
                "",
                |_| ::core::unreachable!(),
                |_| ::core::unreachable!(),
            );
        });
    }
    handles
}
