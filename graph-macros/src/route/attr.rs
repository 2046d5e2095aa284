//! The attributes of a route.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr, Ident, Path, Token};

use crate::errors::Errors;

/// The attributes of the enum, of a variant or of a payload field.
#[derive(Default)]
pub(crate) struct RouteAttrs {
    /// `#[route(crate = path)]`.
    pub(crate) krate: Option<Path>,
    /// `#[route(example = expr)]`.
    pub(crate) example: Option<Expr>,
    /// The word in `#[serde(skip)]`, `#[serde(skip_serializing)]` and similar attributes.
    pub(crate) serde_skip: Option<Ident>,
}

/// The item that an attribute belongs to.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Place {
    Enum,
    Variant,
    Payload,
}

impl RouteAttrs {
    pub(crate) fn read(attrs: &[Attribute], place: Place, errors: &mut Errors) -> Self {
        let mut read = Self::default();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("route")) {
            errors.take(attr.parse_nested_meta(|meta| read.route(&meta, place)));
        }
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
            // Serde checks its own attributes. This only looks for those that keep a case from being stored.
            let _unread = attr.parse_nested_meta(|meta| {
                if ["skip", "skip_serializing", "skip_deserializing"]
                    .iter()
                    .any(|word| meta.path.is_ident(word))
                {
                    read.serde_skip = meta.path.get_ident().cloned();
                }
                if meta.input.peek(Token![=]) {
                    meta.value()?.parse::<Expr>()?;
                }
                Ok(())
            });
        }
        read
    }

    fn route(&mut self, meta: &ParseNestedMeta<'_>, place: Place) -> syn::Result<()> {
        const USAGE: &str = "write `#[route(example = value)]`";
        if meta.path.is_ident("crate") && place == Place::Enum {
            self.krate = Some(meta.value()?.call(Path::parse_mod_style)?);
            return Ok(());
        }
        if !meta.path.is_ident("example") {
            return Err(meta.error(match place {
                Place::Enum => {
                    "unknown attribute; the enum takes `crate`, its variants and their fields `example`"
                }
                Place::Variant | Place::Payload => {
                    "unknown attribute; variants and their fields take `example`"
                }
            }));
        }
        if place == Place::Enum {
            return Err(meta.error("an example belongs to a variant or to one of its fields"));
        }
        if !meta.input.peek(Token![=]) {
            return Err(meta.error(USAGE));
        }
        let example = meta.value()?.parse().map_err(|error| syn::Error::new(error.span(), USAGE))?;
        if self.example.is_some() {
            return Err(meta.error("one example is enough, and this is the second"));
        }
        self.example = Some(example);
        Ok(())
    }
}
