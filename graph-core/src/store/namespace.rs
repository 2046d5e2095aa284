//! Namespaces: paths of names.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

use super::backend::AccessError;

/// A path of names, such as `["users", "ada"]`. A name may contain any text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Namespace(Vec<String>);

impl Namespace {
    /// Creates the namespace with these names, or the root if there are none.
    ///
    /// # Errors
    /// Returns [`AccessError::Empty`] if a name is empty.
    pub fn new<N: AsRef<str>>(names: &[N]) -> Result<Self, AccessError> {
        if names.iter().any(|name| name.as_ref().is_empty()) {
            return Err(AccessError::Empty("a part of the namespace"));
        }
        Ok(Self(names.iter().map(|name| name.as_ref().to_owned()).collect()))
    }

    /// Returns the names.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns the namespace as one text for storage: each name is escaped and followed by a `/`. The path of a
    /// namespace is therefore a prefix of the paths of all namespaces below it, and of no others.
    #[must_use]
    pub fn path(&self) -> String {
        let mut path = String::new();
        for name in &self.0 {
            for letter in name.chars() {
                match letter {
                    '/' => path.push_str("%2F"),
                    '%' => path.push_str("%25"),
                    '\0' => path.push_str("%00"),
                    letter => path.push(letter),
                }
            }
            path.push('/');
        }
        path
    }

    /// Parses a path; `None` if it is not the path of a namespace.
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        if path.is_empty() {
            return Some(Self::default());
        }
        let names = path.strip_suffix('/')?.split('/').map(unescaped);
        let names: Vec<String> = names.collect::<Option<_>>()?;
        Self::new(&names).ok()
    }
}

fn unescaped(name: &str) -> Option<String> {
    let mut pieces = name.split('%');
    let mut whole = pieces.next()?.to_owned();
    for piece in pieces {
        let (code, rest) = piece.split_at_checked(2)?;
        whole.push(match code {
            "2F" => '/',
            "25" => '%',
            "00" => '\0',
            _ => return None,
        });
        whole.push_str(rest);
    }
    Some(whole)
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_escaped_so_that_no_name_looks_like_two() {
        let path = |names: &[&str]| Namespace::new(names).expect("no name is empty").path();
        assert_eq!(path(&["users", "ada"]), "users/ada/");
        assert_eq!(path(&["users/ada"]), "users%2Fada/");
        assert_ne!(path(&["a%2Fb"]), path(&["a/b"]));
        assert_eq!(path(&[]), "");
        assert!(!path(&["users2"]).starts_with(&path(&["users"])));
        Namespace::new(&["users", ""]).expect_err("an empty name is a mistake");
    }

    #[test]
    fn what_is_no_path_is_no_namespace() {
        for path in ["users", "/", "a//", "%/", "%2/", "%41/", "é%é/"] {
            assert_eq!(Namespace::from_path(path), None, "{path}");
        }
    }

    proptest! {
        #[test]
        fn every_namespace_comes_back_from_its_path(names in prop::collection::vec("[a/%\u{0}\u{e9}]{1,4}", 0..4)) {
            let namespace = Namespace::new(&names).expect("no name is empty");
            prop_assert_eq!(Namespace::from_path(&namespace.path()), Some(namespace));
        }

        #[test]
        fn a_path_begins_others_exactly_where_its_names_do(
            one in prop::collection::vec("[a/%]{1,2}", 0..3), other in prop::collection::vec("[a/%]{1,2}", 0..3)
        ) {
            let path = |names: &[String]| Namespace::new(names).expect("no name is empty").path();
            prop_assert_eq!(path(&other).starts_with(&path(&one)), other.starts_with(&one));
        }
    }

    #[test]
    fn it_is_shown_by_its_names() {
        let namespace = Namespace(vec!["users".into(), "a/b".into()]);
        assert_eq!(alloc::format!("{namespace}"), r#"["users", "a/b"]"#);
    }
}
