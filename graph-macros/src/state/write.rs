//! Generates the write type: one variant per field.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::ast::{Field, Kind, State};
use super::schema::Layout;
use crate::source;

/// Generates the enum and its `FieldWrite` impl.
pub(crate) fn expand(state: &State) -> TokenStream {
    let State { ident, vis, private, .. } = state;
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
    let fitted = state.fields.iter().filter_map(|field| fitted(state, field));
    let variants = state.fields.iter().map(|field| variant(state, field));
    let codecs = state.fields.iter().filter_map(|field| codec(state, field));
    let mut fields = TokenStream::new();
    let mut kinds = TokenStream::new();
    let mut applies = TokenStream::new();
    let mut duplicates = TokenStream::new();
    let mut encodes = TokenStream::new();
    let mut decodes = TokenStream::new();
    for (field, slot) in state.fields.iter().zip(&layout.slots) {
        let (variant, stored, codec) = (&field.ident, &field.stored, field.codec());
        let (id, pattern) = (&slot.id, &slot.pattern);
        if let Kind::Embedded = field.kind {
            fields.extend(quote! {
                Self::#variant(write) => #private::FieldId(#id + #private::FieldWrite::field(write).0),
            });
            kinds.extend(quote!(Self::#variant(write) => #private::FieldWrite::kind(write),));
            applies.extend(quote! {
                Self::#variant(write) => #private::FieldWrite::apply_with(write, &mut state.#variant, indexes.within(#id)),
            });
            duplicates.extend(quote! {
                Self::#variant(write) => #private::FieldWrite::duplicate(write).map(Self::#variant),
            });
            encodes.extend(quote! {
                Self::#variant(write) => #private::lift(#private::FieldWrite::encode(write), #id),
            });
            decodes.extend(quote! {
                #pattern => #private::FieldWrite::decode(&#private::lower(logged, #id)).map(Self::#variant),
            });
        } else {
            fields.extend(quote!(Self::#variant(_) => #private::FieldId(#id),));
            kinds.extend(quote!(Self::#variant(write) => write.kind(),));
            applies.extend(quote! {
                Self::#variant(write) => Self::#codec.apply(write, &mut state.#variant, indexes, #id),
            });
            duplicates.extend(quote!(Self::#variant(write) => Self::#codec.copy(write).map(Self::#variant),));
            encodes.extend(quote!(Self::#variant(write) => Self::#codec.encode_write(write, #id),));
            decodes.extend(quote! {
                #pattern => Self::#codec.decode_write(logged, #stored).map(Self::#variant),
            });
        }
    }

    quote! {
        #(#fitted)*

        #[doc(hidden)]
        #[allow(non_camel_case_types, clippy::large_enum_variant, private_interfaces)]
        #vis enum #write #impl_generics #clause { #(#variants,)* }

        #bases

        #[automatically_derived]
        #[allow(non_upper_case_globals, private_interfaces, deprecated)]
        impl #impl_generics #write #arguments #clause { #(#codecs)* }

        #[automatically_derived]
        impl #impl_generics #private::FieldWrite for #write #arguments #clause {
            type State = #ident #arguments;

            fn field(&self) -> #private::FieldId {
                match self { #fields }
            }

            fn kind(&self) -> #private::WriteKind {
                match self { #kinds }
            }

            fn apply_with(self, state: &mut Self::State, indexes: &mut #private::Indexes) {
                match self { #applies }
            }

            fn duplicate(&self) -> #private::Result<Self, #private::CodecError> {
                match self { #duplicates }
            }

            fn encode(&self) -> #private::Result<#private::Option<#private::LoggedWrite>, #private::CodecError> {
                match self { #encodes }
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

fn variant(state: &State, field: &Field) -> TokenStream {
    let private = &state.private;
    let (variant, ty, reducer) = (&field.ident, &field.ty, field.reducer(private));
    match field.kind {
        Kind::Embedded => quote!(#variant(<#ty as #private::State>::Write)),
        Kind::Stored | Kind::Transient => {
            quote!(#variant(#private::Write<#ty, <#reducer as #private::Reducer<#ty>>::Write>))
        }
    }
}

/// Generates the alias of a field's reducer, and the assertion that the reducer fits.
fn fitted(state: &State, field: &Field) -> Option<TokenStream> {
    let (private, ty) = (&state.private, &field.ty);
    let (alias, reducer) = (field.fitted.as_ref()?, field.attrs.reducer.as_ref()?);
    let span = reducer.span();
    let here = source::respan(private, span);
    let assertion = quote_spanned!(span=> #here::assert_reducer::<#reducer, #ty>());
    Some(quote! {
        const _: () = #assertion;

        #[allow(non_camel_case_types)]
        type #alias = #private::Fitted<#reducer, {
            #[allow(unused_imports)]
            use #private::Unfit as _;
            <#private::Fitting<#reducer, #ty>>::FITS
        }>;
    })
}

/// Generates the constant that encodes, decodes and reduces a field.
fn codec(state: &State, field: &Field) -> Option<TokenStream> {
    let private = &state.private;
    let (codec, ty, reducer) = (field.codec(), &field.ty, field.reducer(private));
    // The bounds of the field's type are checked here, so errors have its span.
    let span = ty.span();
    let here = source::respan(private, span);
    let value = match field.kind {
        Kind::Embedded => return None,
        Kind::Stored => quote_spanned!(span=> #here::Codec::<#ty, _>::stored::<#reducer>()),
        Kind::Transient => quote_spanned!(span=> #here::Codec::<#ty, _>::transient::<#reducer>()),
    };
    Some(quote! {
        const #codec: #private::Codec<#ty, <#reducer as #private::Reducer<#ty>>::Write> = #value;
    })
}
