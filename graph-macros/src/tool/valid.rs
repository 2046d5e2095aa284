//! Checks of a function that becomes a tool.

use syn::Type;

use super::ast::{Argument, Role, ToolFunction};
use crate::errors::Errors;

/// Adds an error for everything that cannot be expanded.
pub(crate) fn check(tool: &ToolFunction, errors: &mut Errors) {
    signature(tool, errors);
    options(tool, errors);
    for argument in &tool.arguments {
        owned(argument, errors);
    }
    inputs(tool, errors);
}

fn signature(tool: &ToolFunction, errors: &mut Errors) {
    let signature = &tool.signature;
    if signature.asyncness.is_none() {
        errors.at(signature.fn_token, "a tool is an `async fn`: write `async` before `fn`");
    }
    if !signature.generics.params.is_empty() {
        errors.at(&signature.generics, "a tool has one input and so no type parameters");
    }
    if tool.output().is_none() {
        errors.at(
            &signature.ident,
            "a tool returns what the model reads: write `-> String`, or a `Result` if it can fail",
        );
    }
    if tool.description.is_empty() {
        errors.at(
            &signature.ident,
            "a tool has a doc comment, which tells models what it does and when to use it",
        );
    }
}

fn options(tool: &ToolFunction, errors: &mut Errors) {
    let (name, span) = tool.name();
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !(1..=64).contains(&name.len()) || !name.bytes().all(letter) {
        errors.push(syn::Error::new(
            span,
            "the name of a tool has 1 to 64 letters of a-z, A-Z, 0-9, `_` and `-`; give another with `name = \"..\"`",
        ));
    }
    if let (Some(_), Some(idempotent)) = (&tool.options.read_only, &tool.options.idempotent) {
        errors.at(idempotent, "a read-only tool may be repeated anyway: write one of the two");
    }
}

/// Rejects arguments that cannot be read from an input.
fn owned(argument: &Argument, errors: &mut Errors) {
    let (pattern, ty) = (&argument.pattern, &argument.ty);
    if pattern.by_ref.is_some() || pattern.subpat.is_some() {
        errors.at(pattern, "an argument of a tool has a plain name");
    }
    if let (Some(_), Some(dep)) = (&argument.attrs.input, &argument.attrs.dep) {
        errors.at(dep, "a dependency is not part of the input: write one of the two");
    }
    if let Type::ImplTrait(_) = ty {
        errors.at(ty, "the type of a tool's argument has to be named");
    }
    let shared = matches!(ty, Type::Reference(reference) if reference.mutability.is_none());
    match argument.role {
        Role::Dependency if !shared => errors.at(
            ty,
            "calls share the tool's dependencies: take each as `&T`, and guard what changes with a lock",
        ),
        Role::Property | Role::Input if matches!(ty, Type::Reference(_)) => errors.at(
            ty,
            "a tool owns its input; mark a dependency with `#[dep]`, and take information about the call as `&ToolContext`",
        ),
        _ => {}
    }
    if matches!(argument.role, Role::Dependency | Role::Context)
        && let Some(attr) = argument.attrs.of_property.iter().find(|attr| !attr.path().is_ident("doc"))
    {
        errors.at(attr, "this attribute belongs to a property of the input, and this argument is not one");
    }
}

/// Rejects a second `#[input]`, and properties beside an `#[input]`.
fn inputs(tool: &ToolFunction, errors: &mut Errors) {
    let mut whole = tool.of_role(Role::Input);
    let Some(input) = whole.next() else { return };
    for second in whole {
        errors.at(&second.ty, "a tool has one `#[input]`, and this is the second");
    }
    for property in tool.of_role(Role::Property) {
        errors.at(
            property.ident(),
            "a tool with an `#[input]` has no other properties: put it into that struct",
        );
    }
    for attr in &input.attrs.of_property {
        errors.at(attr, "this belongs to a property: write it in the struct");
    }
}
