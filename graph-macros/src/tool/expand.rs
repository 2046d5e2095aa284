//! Generates the code for a tool.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Type, TypeReference};

use super::ast::{Argument, Role, ToolFunction};

/// Generates the function that returns the tool.
pub(crate) fn expand(tool: &ToolFunction) -> TokenStream {
    let ToolFunction { vis, signature, block, description, private, .. } = tool;
    let (ident, output) = (&signature.ident, &signature.output);
    let attrs = outer(tool);
    let dependencies = dependencies(tool);
    let (input, made, definition, unpacked) = input(tool);

    let shared: Vec<_> = tool.of_role(Role::Dependency).map(Argument::ident).collect();
    let inner = tool.arguments.iter().map(|argument| {
        let Argument { pattern, ty, .. } = argument;
        let attrs = &argument.attrs.of_argument;
        quote!(#(#attrs)* #pattern: #ty)
    });
    let passed = tool.arguments.iter().map(|argument| {
        let name = argument.ident();
        match argument.role {
            Role::Property | Role::Input => quote!(#name),
            Role::Dependency => quote!(&*#name),
            Role::Context => quote!(&__context),
        }
    });
    // An error about an invalid output type points at that type.
    let span = tool.output().map_or_else(|| ident.span(), Spanned::span);
    let called = quote_spanned!(span=> #private::IntoToolOutput::into_tool_output(__answer));
    let (name, options) = (tool.name().0, options(tool));
    quote! {
        #(#attrs)*
        #[must_use]
        #vis fn #ident(#(#dependencies),*) -> #private::TypedTool<#made> {
            #definition

            #[allow(clippy::too_many_arguments, clippy::unused_async)]
            async fn __call(#(#inner),*) #output #block

            #(let #shared = #private::Arc::new(#shared);)*
            #private::TypedTool::with_context(
                #name,
                #description,
                move |__input: #input, __context: #private::ToolContext| {
                    #(let #shared = #private::Arc::clone(&#shared);)*
                    async move {
                        #unpacked
                        let __answer = __call(#(#passed),*).await;
                        #called
                    }
                },
            )
            #options
        }
    }
}

/// Generates the errors, and a stub that keeps other code from failing because the function is missing.
pub(crate) fn fallback(tool: &ToolFunction, errors: TokenStream) -> TokenStream {
    let ToolFunction { vis, signature, private, .. } = tool;
    let (ident, attrs, dependencies) = (&signature.ident, outer(tool), dependencies(tool));
    quote! {
        #errors
        #(#attrs)*
        #[allow(unused_variables)]
        #vis fn #ident(#(#dependencies),*) -> #private::TypedTool<#private::Value> {
            ::core::unreachable!()
        }
    }
}

/// The attributes of the function.
fn outer(tool: &ToolFunction) -> impl Iterator<Item = &syn::Attribute> {
    tool.attrs.iter()
}

/// Returns the tool's dependencies, as arguments of the generated function.
fn dependencies(tool: &ToolFunction) -> Vec<TokenStream> {
    let dependency = |argument: &Argument| {
        let name = argument.ident();
        let ty = match &argument.ty {
            Type::Reference(TypeReference { elem, .. }) => elem.to_token_stream(),
            ty => ty.to_token_stream(),
        };
        quote!(#name: #ty)
    };
    tool.of_role(Role::Dependency).map(dependency).collect()
}

/// Returns the type of the input, its type in the signature, its definition, and the code that destructures it.
fn input(tool: &ToolFunction) -> (TokenStream, TokenStream, TokenStream, TokenStream) {
    if let Some(argument) = tool.of_role(Role::Input).next() {
        let (name, ty) = (argument.ident(), argument.ty.to_token_stream());
        return (ty.clone(), ty, TokenStream::new(), quote!(let #name = __input;));
    }
    let private = &tool.private;
    let path = |krate: &str| {
        let krate = format_ident!("{krate}");
        quote!(#private::#krate).to_string()
    };
    let (serde, schemars) = (path("serde"), path("schemars"));
    let properties = tool.of_role(Role::Property).map(|argument| {
        let (name, ty, attrs) = (argument.ident(), &argument.ty, &argument.attrs.of_property);
        quote!(#(#attrs)* #name: #ty)
    });
    let names: Vec<_> = tool.of_role(Role::Property).map(Argument::ident).collect();
    // The model can only correct an unknown property if the call returns an error.
    let definition = quote! {
        #[derive(#private::serde::Deserialize, #private::schemars::JsonSchema)]
        #[serde(crate = #serde, deny_unknown_fields)]
        #[schemars(crate = #schemars)]
        struct __Input {
            #(#properties),*
        }
    };
    (
        quote!(__Input),
        quote!(impl #private::schemars::JsonSchema + #private::DeserializeOwned + ::core::marker::Send + 'static),
        definition,
        quote!(let __Input { #(#names),* } = __input;),
    )
}

/// Returns the options of the attribute, as method calls on the tool.
fn options(tool: &ToolFunction) -> TokenStream {
    let (private, options) = (&tool.private, &tool.options);
    let effect = match (&options.read_only, &options.idempotent) {
        (Some(_), _) => Some(quote!(ReadOnly)),
        (None, Some(_)) => Some(quote!(Idempotent)),
        (None, None) => None,
    };
    let effect = effect.map(|effect| quote!(.with_effect(#private::ToolEffect::#effect)));
    let concurrency =
        options.concurrent.as_ref().map(|_| quote!(.with_concurrency(#private::Concurrency::Safe)));
    let timeout = options.timeout.as_ref().map(|timeout| quote!(.with_timeout(#timeout)));
    let most = options.max_result_chars.as_ref().map(|most| quote!(.with_max_result_chars(#most)));
    quote!(#effect #concurrency #timeout #most)
}
