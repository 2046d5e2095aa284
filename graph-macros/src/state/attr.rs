//! The attributes of a state and its fields.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Ident, LitInt, LitStr, Meta, Path, Token, Type};

use super::case::Rule;
use crate::errors::Errors;

/// The attributes of the struct.
#[derive(Default)]
pub(crate) struct StateAttrs {
    /// `#[state(crate = path)]`.
    pub(crate) krate: Option<Path>,
    /// `#[state(version = 2)]`.
    pub(crate) version: Option<LitInt>,
    /// `#[state(migrate = from_v1)]`.
    pub(crate) migrate: Option<Path>,
    /// `#[serde(rename_all = "..")]`.
    pub(crate) rename_all: Option<Rule>,
}

/// The attributes of one field.
#[derive(Default)]
pub(crate) struct FieldAttrs {
    /// `#[reducer(Type)]`.
    pub(crate) reducer: Option<Type>,
    /// The word in `#[state(transient)]`.
    pub(crate) transient: Option<Ident>,
    /// The word in `#[state(flatten)]`.
    pub(crate) flatten: Option<Ident>,
    /// The word in `#[state(secret)]`.
    pub(crate) secret: Option<Ident>,
    /// `#[serde(rename = "..")]`.
    pub(crate) rename: Option<LitStr>,
    /// `#[serde(alias = "..")]`.
    pub(crate) aliases: Vec<LitStr>,
    /// The word in `#[serde(skip)]` and similar attributes, which only transient fields may have.
    pub(crate) serde_skip: Option<Ident>,
}

impl StateAttrs {
    pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut read = Self::default();
        for attr in attrs {
            let result = if attr.path().is_ident("state") {
                attr.parse_nested_meta(|meta| read.state(&meta))
            } else if attr.path().is_ident("serde") {
                attr.parse_nested_meta(|meta| read.serde(&meta))
            } else if attr.path().is_ident("reducer") {
                Err(syn::Error::new_spanned(
                    attr,
                    "a reducer belongs to a field: write `#[reducer(..)]` above one",
                ))
            } else {
                Ok(())
            };
            errors.take(result);
        }
        read
    }

    fn state(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if meta.path.is_ident("crate") {
            self.krate = Some(meta.value()?.call(Path::parse_mod_style)?);
            return Ok(());
        }
        if meta.path.is_ident("version") {
            const USAGE: &str = "a version is a whole number: write `version = 2`";
            let version: LitInt = meta
                .value()
                .and_then(|value| value.parse())
                .map_err(|error| syn::Error::new(error.span(), USAGE))?;
            if self.version.replace(version).is_some() {
                return Err(meta.error("a state has one version, and this one has two"));
            }
            return Ok(());
        }
        if meta.path.is_ident("migrate") {
            const USAGE: &str = "name a function from the older state to this one: write `migrate = from_v1`";
            let migrate: Path = meta
                .value()
                .and_then(|value| value.parse())
                .map_err(|error| syn::Error::new(error.span(), USAGE))?;
            if self.migrate.replace(migrate).is_some() {
                return Err(meta.error(
                    "a state migrates from one older version; let that one migrate from those before it",
                ));
            }
            return Ok(());
        }
        let on_field = ["flatten", "secret", "transient"].iter().any(|name| meta.path.is_ident(name));
        Err(meta.error(match on_field {
            true => "this belongs to a field; the struct itself takes `crate`, `version` and `migrate`",
            false => {
                "unknown attribute; the struct takes `crate`, `version` and `migrate`, a field takes `flatten`, \
                 `secret` or `transient`"
            }
        }))
    }

    fn serde(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        if meta.path.is_ident("rename_all") {
            self.rename_all = Some(Rule::parse(&string(
                meta,
                "a state has one set of stored names: write `rename_all = \"..\"`",
            )?)?);
            return Ok(());
        }
        // None of these changes the names or the values of stored fields.
        if ["bound", "crate", "default", "deny_unknown_fields"].iter().any(|name| meta.path.is_ident(name)) {
            return skip_value(meta);
        }
        Err(meta.error(
            "a state is stored field by field, so this would have no effect; \
             of serde's attributes a state takes `rename_all`, `default`, `deny_unknown_fields`, `bound` and `crate`",
        ))
    }
}

impl FieldAttrs {
    pub(crate) fn read(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let mut read = Self::default();
        for attr in attrs {
            let result = if attr.path().is_ident("reducer") {
                read.reducer(attr)
            } else if attr.path().is_ident("state") {
                attr.parse_nested_meta(|meta| read.state(&meta))
            } else if attr.path().is_ident("serde") {
                attr.parse_nested_meta(|meta| read.serde(&meta))
            } else {
                Ok(())
            };
            errors.take(result);
        }
        read
    }

    fn reducer(&mut self, attr: &Attribute) -> syn::Result<()> {
        const USAGE: &str = "name the reducer as a type in parentheses: `#[reducer(Append)]`";
        let Meta::List(list) = &attr.meta else {
            return Err(syn::Error::new_spanned(attr, USAGE));
        };
        if list.tokens.is_empty() {
            return Err(syn::Error::new_spanned(attr, USAGE));
        }
        if let Ok(text) = syn::parse2::<LitStr>(list.tokens.clone()) {
            return Err(syn::Error::new(
                text.span(),
                format!("a reducer is a type, not a string: write `#[reducer({})]`", text.value()),
            ));
        }
        let reducer = list.parse_args::<Type>().map_err(|error| syn::Error::new(error.span(), USAGE))?;
        if self.reducer.is_some() {
            return Err(syn::Error::new_spanned(attr, "a field has one reducer, and this one has two"));
        }
        self.reducer = Some(reducer);
        Ok(())
    }

    fn state(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let word = meta.path.get_ident().cloned();
        let slot = match word.as_ref().map(Ident::to_string).as_deref() {
            Some("flatten") => &mut self.flatten,
            Some("secret") => &mut self.secret,
            Some("transient") => &mut self.transient,
            Some(name @ ("crate" | "version" | "migrate")) => {
                return Err(meta.error(format!("`{name}` belongs above the struct, not to a field")));
            }
            _ => {
                return Err(meta.error("unknown attribute; a field takes `flatten`, `secret` or `transient`"));
            }
        };
        if !meta.input.is_empty() && !meta.input.peek(Token![,]) {
            return Err(meta.error("this attribute is a single word and takes no value"));
        }
        *slot = word;
        Ok(())
    }

    fn serde(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        let word = meta.path.get_ident().cloned();
        match word.as_ref().map(Ident::to_string).as_deref() {
            Some("rename") => {
                let name = string(meta, "a field has one stored name: write `rename = \"..\"`")?;
                self.rename = Some(name);
                Ok(())
            }
            Some("alias") => {
                let alias = string(meta, "write `alias = \"former_name\"`")?;
                self.aliases.push(alias);
                Ok(())
            }
            // Neither of these changes the name or the value of a stored field.
            Some("bound" | "default") => skip_value(meta),
            Some("skip" | "skip_serializing" | "skip_deserializing") => {
                self.serde_skip = word;
                skip_value(meta)
            }
            Some("flatten") => Err(meta.error(
                "to embed another state, write `#[state(flatten)]`; serde's `flatten` would have no effect",
            )),
            Some("with" | "serialize_with" | "deserialize_with") => Err(meta.error(
                "a state stores each field by the `Serialize` and `Deserialize` of its type, so this would have \
                 no effect; wrap the field's type in a newtype that implements them",
            )),
            _ => Err(meta.error(
                "a state is stored field by field, so this would have no effect; \
                 of serde's attributes a field takes `rename`, `alias`, `default` and `bound`",
            )),
        }
    }
}

/// Parses the string after `=`, or returns an error with the text `usage`.
fn string(meta: &ParseNestedMeta<'_>, usage: &str) -> syn::Result<LitStr> {
    if !meta.input.peek(Token![=]) {
        return Err(meta.error(usage));
    }
    meta.value()?.parse().map_err(|error| syn::Error::new(error.span(), usage))
}

/// Skips an optional `= value`.
fn skip_value(meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    if meta.input.peek(Token![=]) {
        meta.value()?.parse::<syn::Expr>()?;
    } else if meta.input.peek(syn::token::Paren) {
        let content;
        syn::parenthesized!(content in meta.input);
        content.parse::<proc_macro2::TokenStream>()?;
    }
    Ok(())
}
