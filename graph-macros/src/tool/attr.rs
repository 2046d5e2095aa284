//! The attributes of a tool and of its arguments.

use proc_macro2::TokenStream;
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::{Attribute, Expr, ExprLit, Ident, Lit, LitStr, Meta, Path, Token};

use crate::errors::Errors;

/// The arguments of the attribute, as in `#[tool(read_only, timeout = Duration::from_secs(5))]`.
#[derive(Default)]
pub(crate) struct ToolOptions {
    /// `crate = path`.
    pub(crate) krate: Option<Path>,
    /// `name = ".."`.
    pub(crate) name: Option<LitStr>,
    /// The word `read_only`.
    pub(crate) read_only: Option<Ident>,
    /// The word `idempotent`.
    pub(crate) idempotent: Option<Ident>,
    /// The word `concurrent`.
    pub(crate) concurrent: Option<Ident>,
    /// `timeout = expr`.
    pub(crate) timeout: Option<Expr>,
    /// `max_result_chars = expr`.
    pub(crate) max_result_chars: Option<Expr>,
}

impl ToolOptions {
    pub(crate) fn read(arguments: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let result = syn::meta::parser(|meta| options.option(&meta)).parse2(arguments);
        errors.take(result);
        options
    }

    fn option(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let word = meta.path.get_ident().cloned();
        match word.as_ref().map(Ident::to_string).as_deref() {
            Some("crate") => self.krate = Some(meta.value()?.call(Path::parse_mod_style)?),
            Some("name") => self.name = Some(value(meta, "write `name = \"..\"`")?),
            Some("timeout") => {
                self.timeout = Some(value(meta, "write `timeout = Duration::from_secs(30)`")?);
            }
            Some("max_result_chars") => {
                self.max_result_chars = Some(value(meta, "write `max_result_chars = 10_000`")?);
            }
            Some(flag @ ("read_only" | "idempotent" | "concurrent")) => {
                if !meta.input.is_empty() && !meta.input.peek(Token![,]) {
                    return Err(meta.error("this is a single word and takes no value"));
                }
                match flag {
                    "read_only" => self.read_only = word,
                    "idempotent" => self.idempotent = word,
                    _ => self.concurrent = word,
                }
            }
            _ => {
                return Err(meta.error(
                    "unknown argument; `#[tool]` takes `read_only`, `idempotent`, `concurrent`, `name = \"..\"`, \
                     `timeout = ..`, `max_result_chars = ..` and `crate = path`",
                ));
            }
        }
        Ok(())
    }
}

/// Parses the value after `=`, or returns an error with the text `usage`.
fn value<T: syn::parse::Parse>(meta: &ParseNestedMeta<'_>, usage: &str) -> syn::Result<T> {
    if !meta.input.peek(Token![=]) {
        return Err(meta.error(usage));
    }
    meta.value()?.parse().map_err(|error| syn::Error::new(error.span(), usage))
}

/// The attributes of an argument.
#[derive(Default)]
pub(crate) struct ArgumentAttrs {
    /// The word in `#[input]`.
    pub(crate) input: Option<Ident>,
    /// The word in `#[dep]`.
    pub(crate) dep: Option<Ident>,
    /// Doc comments and attributes of serde and schemars, which the expansion moves to the property.
    pub(crate) of_property: Vec<Attribute>,
    /// Lint attributes, which stay on the argument.
    pub(crate) of_argument: Vec<Attribute>,
}

impl ArgumentAttrs {
    pub(crate) fn read(attrs: Vec<Attribute>, errors: &mut Errors) -> Self {
        let mut read = Self::default();
        for attr in attrs {
            let word = attr.path().get_ident().cloned();
            match word.as_ref().map(Ident::to_string).as_deref() {
                Some("input" | "dep") if !matches!(attr.meta, Meta::Path(_)) => {
                    errors.at(&attr, "this attribute is a single word and takes no value");
                }
                Some("input") => read.input = word,
                Some("dep") => read.dep = word,
                Some("doc" | "serde" | "schemars") => read.of_property.push(attr),
                Some("allow" | "expect" | "warn" | "deny") => read.of_argument.push(attr),
                _ => errors.at(
                    attr,
                    "unknown attribute; an argument takes `#[input]`, `#[dep]`, `#[serde(..)]` and `#[schemars(..)]`",
                ),
            }
        }
        read
    }
}

/// Returns the text of the doc comment.
pub(crate) fn documentation(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter(|attr| attr.path().is_ident("doc")).filter_map(|attr| match &attr.meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    let lines = lines.map(|text| text.split('\n').map(str::trim).collect::<Vec<_>>().join("\n"));
    let lines: Vec<String> = lines.collect();
    lines.join("\n").trim().to_owned()
}
