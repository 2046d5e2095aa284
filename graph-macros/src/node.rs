//! `#[node]`.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::parse::Parser;
use syn::{FnArg, GenericArgument, ItemFn, Path, PathArguments, ReturnType, Type};

use crate::errors::Errors;
use crate::source;

/// The maximum number of arguments of a node function.
const MOST_ARGUMENTS: usize = 12;

/// Returns the unchanged function, followed by checks of its signature.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = errors.take(Options::read(arguments)).unwrap_or_default();
    let checks = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(function) => {
            let state = options.state.clone().or_else(|| inferred_state(&function, &mut errors));
            check(&function, &mut errors);
            match errors.is_empty() {
                true => checks(&function, state, &options),
                false => TokenStream::new(),
            }
        }
        Err(_) => {
            errors.at(&item, "`#[node]` belongs above an `async fn` outside of `impl` and `trait`");
            TokenStream::new()
        }
    };
    let errors = errors.into_tokens();
    quote!(#item #errors #checks)
}

/// The arguments of the attribute, as in `#[node(state = Essay, context = Deps)]`.
#[derive(Default)]
struct Options {
    state: Option<Type>,
    context: Option<Type>,
    krate: Option<Path>,
}

impl Options {
    fn read(arguments: TokenStream) -> syn::Result<Self> {
        let mut options = Self::default();
        let parser = syn::meta::parser(|meta| {
            if meta.path.is_ident("state") {
                options.state = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("context") {
                options.context = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("crate") {
                options.krate = Some(meta.value()?.call(Path::parse_mod_style)?);
            } else {
                return Err(
                    meta.error("unknown argument; `#[node]` takes `state = Type` and `context = Type`")
                );
            }
            Ok(())
        });
        parser.parse2(arguments)?;
        Ok(options)
    }
}

/// Rejects functions that cannot be nodes.
fn check(function: &ItemFn, errors: &mut Errors) {
    let signature = &function.sig;
    if signature.asyncness.is_none() {
        errors.at(signature.fn_token, "a node is an `async fn`: write `async` before `fn`");
    }
    let mut inputs: Vec<&Type> = Vec::new();
    for (index, argument) in signature.inputs.iter().enumerate() {
        let ty = match argument {
            FnArg::Receiver(receiver) => {
                errors.at(
                    receiver,
                    "a node function has no `self`; implement the trait `Node` for a node with data of its own",
                );
                continue;
            }
            FnArg::Typed(argument) => &*argument.ty,
        };
        if index == MOST_ARGUMENTS {
            errors.at(
                ty,
                "a node takes at most 12 arguments; gather parts of the context in one struct and take that",
            );
        }
        match ty {
            Type::ImplTrait(_) => errors.at(ty, "the type of a node's argument has to be named"),
            Type::Reference(_) => errors.at(
                ty,
                "a node owns its arguments; take `Snapshot<..>` for the state and `Dep<..>` for a part of the context",
            ),
            _ => {}
        }
        if last_segment(ty).is_some_and(|segment| segment.ident == "Input") {
            if let Some(first) = inputs.first() {
                errors.at(ty, "a node takes one `Input`; send both values as one struct or tuple");
                errors.at(first, "this is the first");
            }
            inputs.push(ty);
        }
    }
}

/// Generates the assertions. They are compiled and never called.
fn checks(function: &ItemFn, state: Option<Type>, options: &Options) -> TokenStream {
    let signature = &function.sig;
    let krate = options.krate.as_ref().map_or_else(|| quote!(::superstep), ToTokens::to_token_stream);
    let private = quote!(#krate::__private);

    // If the state or the context is unknown, the check is generic over it.
    let mut generics = signature.generics.clone();
    let state = state.map_or_else(
        || {
            generics.params.push(syn::parse_quote!(AnyState: #private::State));
            quote!(AnyState)
        },
        ToTokens::into_token_stream,
    );
    let context = options.context.as_ref().map_or_else(
        || {
            generics
                .params
                .push(syn::parse_quote!(AnyContext: ::core::marker::Send + ::core::marker::Sync + 'static));
            quote!(AnyContext)
        },
        ToTokens::to_token_stream,
    );
    let (impl_generics, _, clause) = generics.split_for_impl();

    let types: Vec<&Type> = signature
        .inputs
        .iter()
        .filter_map(|argument| match argument {
            FnArg::Typed(argument) => Some(&*argument.ty),
            FnArg::Receiver(_) => None,
        })
        .collect();
    // A `Dep` can only be checked against a known context.
    let knows_context = options.context.is_some();
    let arguments = types
        .iter()
        .filter(|ty| knows_context || last_segment(ty).is_none_or(|segment| segment.ident != "Dep"))
        .map(|ty| quote!(argument::<#state, #context, #ty>();));
    let output = match &signature.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => ty.to_token_stream(),
    };
    let names: Vec<_> = (0..types.len()).map(|index| format_ident!("a{index}")).collect();
    let called = called(function);
    let sent = quote_spanned!(signature.ident.span()=> send(#called(#(#names),*)););
    quote! {
        const _: () = {
            #[allow(dead_code)]
            fn argument<S: #private::State, C, A: #private::FromTask<S, C>>() {}
            #[allow(dead_code)]
            fn output<S: #private::State, O: #private::IntoOutcome<S>>() {}
            #[allow(dead_code)]
            fn send<F: ::core::marker::Send>(_: F) {}
            #[allow(dead_code, clippy::extra_unused_type_parameters, clippy::too_many_arguments)]
            fn node #impl_generics (#(#names: #types),*) #clause {
                #(#arguments)*
                output::<#state, #output>();
                #sent
            }
        };
    }
}

/// Returns the function's name with its type parameters, because the arguments may not determine them.
fn called(function: &ItemFn) -> TokenStream {
    let (ident, generics) = (&function.sig.ident, &function.sig.generics);
    if generics.lifetimes().next().is_some() {
        return quote!(#ident);
    }
    let (_, arguments, _) = generics.split_for_impl();
    let turbofish = arguments.as_turbofish();
    quote!(#ident #turbofish)
}

/// Returns the `S` of the first `Snapshot<S>` or `Update<S>` in the signature, and adds an error if another one
/// differs.
fn inferred_state(function: &ItemFn, errors: &mut Errors) -> Option<Type> {
    let mut found = Vec::new();
    for argument in &function.sig.inputs {
        if let FnArg::Typed(argument) = argument {
            states(&argument.ty, &mut found);
        }
    }
    if let ReturnType::Type(_, ty) = &function.sig.output {
        states(ty, &mut found);
    }
    let first = found.first()?.clone();
    if let Some(other) = found.iter().find(|ty| source::text(*ty) != source::text(&first)) {
        errors.at(other, "a node belongs to one graph and so to one state, and this is another one");
        errors.at(&first, "the node's state is given here");
    }
    Some(first)
}

/// Collects the states named in `ty`.
fn states(ty: &Type, found: &mut Vec<Type>) {
    if let Type::Tuple(tuple) = ty {
        tuple.elems.iter().for_each(|ty| states(ty, found));
        return;
    }
    let Some(segment) = last_segment(ty) else { return };
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return;
    };
    for argument in &arguments.args {
        let GenericArgument::Type(argument) = argument else {
            continue;
        };
        match segment.ident == "Snapshot" || segment.ident == "Update" {
            true => found.push(argument.clone()),
            false => states(argument, found),
        }
    }
}

fn last_segment(ty: &Type) -> Option<&syn::PathSegment> {
    match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}
