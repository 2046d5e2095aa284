//! The parsed function.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Attribute, Block, FnArg, Ident, Pat, PatIdent, PatType, ReturnType, Signature, Type, Visibility};

use super::attr::{ArgumentAttrs, ToolOptions, documentation};
use crate::errors::Errors;

/// An `async fn` with `#[tool]`.
pub(crate) struct ToolFunction {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) signature: Signature,
    pub(crate) block: Block,
    pub(crate) arguments: Vec<Argument>,
    /// The description of the tool for the model.
    pub(crate) description: String,
    pub(crate) options: ToolOptions,
    /// The `__private` module of the crate that the expansion calls.
    pub(crate) private: TokenStream,
}

/// An argument of the function.
pub(crate) struct Argument {
    pub(crate) pattern: PatIdent,
    pub(crate) ty: Type,
    pub(crate) role: Role,
    pub(crate) attrs: ArgumentAttrs,
}

/// The role of an argument.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Role {
    /// A property of the input.
    Property,
    /// The whole input.
    Input,
    /// A dependency of the tool.
    Dependency,
    /// The `ToolContext` of the call.
    Context,
}

impl ToolFunction {
    pub(crate) fn read(function: syn::ItemFn, options: ToolOptions, errors: &mut Errors) -> Self {
        let krate =
            options.krate.as_ref().map_or_else(|| quote!(::superstep::nodes), ToTokens::to_token_stream);
        let mut signature = function.sig;
        let inputs = std::mem::take(&mut signature.inputs);
        Self {
            description: documentation(&function.attrs),
            attrs: function.attrs,
            vis: function.vis,
            signature,
            block: *function.block,
            arguments: inputs.into_iter().filter_map(|argument| Argument::read(argument, errors)).collect(),
            options,
            private: quote!(#krate::tool::__private),
        }
    }

    /// Returns the tool's name for models, and the span of that name.
    pub(crate) fn name(&self) -> (String, Span) {
        match &self.options.name {
            Some(name) => (name.value(), name.span()),
            None => (self.signature.ident.unraw().to_string(), self.signature.ident.span()),
        }
    }

    /// Returns the output type, or `None` if the function has none.
    pub(crate) fn output(&self) -> Option<&Type> {
        match &self.signature.output {
            ReturnType::Default => None,
            ReturnType::Type(_, ty) => Some(ty),
        }
    }

    /// Returns the arguments with the role `role`.
    pub(crate) fn of_role(&self, role: Role) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(move |argument| argument.role == role)
    }
}

impl Argument {
    fn read(argument: FnArg, errors: &mut Errors) -> Option<Self> {
        let PatType { attrs, pat, ty, .. } = match argument {
            FnArg::Typed(argument) => argument,
            FnArg::Receiver(receiver) => {
                errors.at(
                    receiver,
                    "a tool function has no `self`; take its dependencies as arguments with `#[dep]`",
                );
                return None;
            }
        };
        let attrs = ArgumentAttrs::read(attrs, errors);
        let Pat::Ident(pattern) = *pat else {
            errors.at(pat, "an argument of a tool has a name, which is the name of the property");
            return None;
        };
        let role = match (&attrs.input, &attrs.dep) {
            (Some(_), _) => Role::Input,
            (None, Some(_)) => Role::Dependency,
            (None, None) if is_context(&ty) => Role::Context,
            (None, None) => Role::Property,
        };
        Some(Self { pattern, ty: *ty, role, attrs })
    }

    pub(crate) fn ident(&self) -> &Ident {
        &self.pattern.ident
    }
}

/// Returns `true` if the type is `&ToolContext`.
fn is_context(ty: &Type) -> bool {
    let Type::Reference(reference) = ty else { return false };
    let Type::Path(path) = &*reference.elem else { return false };
    reference.mutability.is_none()
        && path.path.segments.last().is_some_and(|segment| segment.ident == "ToolContext")
}
