//! The write type: one variant per field.

use proc_macro2::TokenStream;
use quote::quote;

use super::ast::{Kind, State};
use super::schema::Layout;

/// The enum and its `FieldWrite`.
pub(crate) fn expand(state: &State) -> TokenStream {
    let State {
        ident, vis, private, ..
    } = state;
    let (write, name) = (state.write(), state.name());
    let (impl_generics, arguments, clause) = state.generics.split_for_impl();
    if state.fields.is_empty() {
        return quote! {
            #[doc(hidden)]
            #vis type #write #impl_generics = #private::NoWrite<#ident #arguments>;
        };
    }
    let layout = Layout::of(state);
    let bases = layout.constants();

    let variants = state.fields.iter().map(|field| {
        let (variant, ty, reducer) = (&field.ident, &field.ty, field.reducer(private));
        match field.kind {
            Kind::Embedded => quote!(#variant(<#ty as #private::State>::Write)),
            _ => quote!(#variant(#private::Write<#ty, <#reducer as #private::Reducer<#ty>>::Write>)),
        }
    });
    let mut fields = TokenStream::new();
    let mut kinds = TokenStream::new();
    let mut applies = TokenStream::new();
    let mut encodes = TokenStream::new();
    let mut decodes = TokenStream::new();
    for (field, slot) in state.fields.iter().zip(&layout.slots) {
        let (variant, stored, reducer) = (&field.ident, &field.stored, field.reducer(private));
        let (id, pattern) = (&slot.id, &slot.pattern);
        if let Kind::Embedded = field.kind {
            fields.extend(quote!(
                Self::#variant(write) => #private::FieldId(#id + #private::FieldWrite::field(write).0),
            ));
            kinds.extend(quote!(Self::#variant(write) => #private::FieldWrite::kind(write),));
            applies.extend(quote!(
                Self::#variant(write) => #private::FieldWrite::apply(write, &mut state.#variant),
            ));
            encodes.extend(quote!(
                Self::#variant(write) => #private::lift(#private::FieldWrite::encode(write)?, #id),
            ));
            decodes.extend(quote!(
                #pattern => #private::FieldWrite::decode(&#private::lower(logged, #id)).map(Self::#variant),
            ));
            continue;
        }
        fields.extend(quote!(Self::#variant(_) => #private::FieldId(#id),));
        kinds.extend(quote!(Self::#variant(write) => write.kind(),));
        applies.extend(quote!(Self::#variant(write) => write.apply::<#reducer>(&mut state.#variant),));
        if let Kind::Transient = field.kind {
            encodes.extend(quote!(Self::#variant(_) => #private::None,));
            decodes.extend(quote!(#pattern => #private::Err(#private::not_stored(#stored)),));
        } else {
            encodes
                .extend(quote!(Self::#variant(write) => write.encode::<#reducer>(#private::FieldId(#id))?,));
            decodes.extend(
                quote!(#pattern => #private::Write::decode::<#reducer>(&logged.write).map(Self::#variant),),
            );
        }
    }
    quote! {
        #[doc(hidden)]
        #[allow(non_camel_case_types, clippy::large_enum_variant, private_interfaces)]
        #vis enum #write #impl_generics #clause { #(#variants,)* }

        #bases

        #[automatically_derived]
        #[allow(deprecated)]
        impl #impl_generics #private::FieldWrite for #write #arguments #clause {
            type State = #ident #arguments;

            fn field(&self) -> #private::FieldId {
                match self { #fields }
            }

            fn kind(&self) -> #private::WriteKind {
                match self { #kinds }
            }

            fn apply(self, state: &mut Self::State) {
                match self { #applies }
            }

            fn encode(&self) -> #private::Result<#private::Option<#private::LoggedWrite>, #private::CodecError> {
                #private::Ok(match self { #encodes })
            }

            fn decode(logged: &#private::LoggedWrite) -> #private::Result<Self, #private::CodecError> {
                match logged.field.0 {
                    #decodes
                    _ => #private::Err(#private::no_field(#name, logged.field)),
                }
            }
        }
    }
}
