//! Generates the update type: a list of writes with one setter per field.

use proc_macro2::TokenStream;
use quote::quote;

use super::ast::{Field, Kind, State};
use crate::source;

/// Generates the struct, its setters and its traits.
pub(crate) fn expand(state: &State) -> TokenStream {
    let (write, (_, arguments, _)) = (state.write(), state.generics.split_for_impl());
    let setters = state.fields.iter().map(|field| setters(state, field)).collect();
    with_setters(state, &quote!(#write #arguments), &setters)
}

/// Generates the struct and its traits, with the given setters and the given write type.
pub(crate) fn with_setters(state: &State, write: &TokenStream, setters: &TokenStream) -> TokenStream {
    let State { ident, vis, private, .. } = state;
    let update = state.update();
    let (impl_generics, arguments, clause) = state.generics.split_for_impl();
    let doc = format!("An update of [`{ident}`]: a list of writes to its fields, in order.");

    quote! {
        #[doc = #doc]
        #[must_use = "an update writes nothing until a node returns it"]
        #vis struct #update #impl_generics #clause { writes: #private::Vec<#write> }

        #[allow(dead_code, private_bounds, private_interfaces, deprecated, clippy::should_implement_trait)]
        impl #impl_generics #update #arguments #clause {
            /// Combines two updates: the writes of this one, then those of `other`.
            #vis fn and(mut self, other: Self) -> Self {
                self.writes.extend(other.writes);
                self
            }

            #setters
        }

        #[automatically_derived]
        impl #impl_generics #private::Default for #update #arguments #clause {
            fn default() -> Self {
                Self { writes: #private::Vec::new() }
            }
        }

        #[automatically_derived]
        impl #impl_generics #private::fmt::Debug for #update #arguments #clause {
            fn fmt(&self, f: &mut #private::fmt::Formatter<'_>) -> #private::fmt::Result {
                #private::debug_update(self, f)
            }
        }

        #[automatically_derived]
        impl #impl_generics #private::StateUpdate for #update #arguments #clause {
            type State = #ident #arguments;

            fn from_writes(writes: #private::Vec<#write>) -> Self {
                Self { writes }
            }

            fn writes(&self) -> &[#write] {
                &self.writes
            }

            fn into_writes(self) -> #private::Vec<#write> {
                self.writes
            }
        }

        #[automatically_derived]
        impl #impl_generics #private::IntoInput<#ident #arguments> for #update #arguments #clause {
            fn into_input(self) -> #private::Input<#ident #arguments> {
                #private::Input::Update(self)
            }
        }

        #[automatically_derived]
        impl #impl_generics #private::IntoOutcome<#ident #arguments> for #update #arguments #clause {
            type Route = ();

            fn into_outcome(self) -> #private::Result<#private::Output<#ident #arguments, ()>, #private::NodeError> {
                #private::Ok(#private::Output::updated(self))
            }
        }
    }
}

/// Generates the setters of one field, with the visibility of the field.
fn setters(state: &State, field: &Field) -> TokenStream {
    let (private, variant_type) = (&state.private, state.write());
    let Field { ident, vis, ty, docs, .. } = field;
    let (name, set) = (field.name(), field.setter());
    if let Kind::Embedded = field.kind {
        let doc = format!("Writes to the fields of `{name}`.");
        let set_doc = format!("Overwrites every field of `{name}`.");
        return quote! {
            #[doc = #doc]
            #[doc = ""]
            #(#docs)*
            #vis fn #ident(mut self, update: <#ty as #private::State>::Update) -> Self {
                let writes = #private::StateUpdate::into_writes(update);
                self.writes.extend(#private::Iterator::map(#private::IntoIterator::into_iter(writes), #variant_type::#ident));
                self
            }

            #[doc = #set_doc]
            #vis fn #set(self, value: #ty) -> Self {
                self.#ident(#private::State::overwrite(value))
            }
        };
    }

    let reducer = field.reducer(private);
    let doc = match &field.attrs.reducer {
        Some(reducer) => format!("Writes `{name}` through the reducer `{}`.", source::text(reducer)),
        None => format!("Writes `{name}`."),
    };
    let set_doc =
        format!("Overwrites `{name}`, and with it what other tasks write to it in the same superstep.");
    let clear = field.clearer().map(|clear| {
        let doc = format!("Overwrites `{name}` with its initial value.");
        quote! {
            #[doc = #doc]
            #vis fn #clear(mut self) -> Self {
                self.writes.push(#variant_type::#ident(#private::Write::Set(
                    <<Self as #private::StateUpdate>::State as #private::State>::initial().#ident,
                )));
                self
            }
        }
    });
    quote! {
        #[doc = #doc]
        #[doc = ""]
        #(#docs)*
        #vis fn #ident(
            mut self,
            write: impl #private::IntoWrite<<#reducer as #private::Reducer<#ty>>::Write>,
        ) -> Self {
            self.writes.push(#variant_type::#ident(#private::Write::Reduce(#private::IntoWrite::into_write(write))));
            self
        }

        #[doc = #set_doc]
        #vis fn #set(mut self, value: impl #private::IntoWrite<#ty>) -> Self {
            self.writes.push(#variant_type::#ident(#private::Write::Set(#private::IntoWrite::into_write(value))));
            self
        }

        #clear
    }
}
