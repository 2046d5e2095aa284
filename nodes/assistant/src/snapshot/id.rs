//! Names of snapshots and of contents: digests, as hexadecimal text.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of a snapshot: a digest of the snapshot before it and of what has changed since.
///
/// A store that was replaced by another one has other names, so an id never leads to the files of another history.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct SnapshotId([u8; 16]);

/// The digest of a content, by blake3.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Digest([u8; 32]);

/// The error of a text that is not the name of a snapshot. Names have 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a snapshot id: expected {digits} hexadecimal digits")]
pub struct InvalidSnapshotId {
    digits: usize,
}

impl Digest {
    pub(super) fn of(content: &[u8]) -> Self {
        Self(*blake3::hash(content).as_bytes())
    }
}

/// Writes what both names have in common.
macro_rules! hexadecimal {
    ($name:ident, $bytes:literal) => {
        impl $name {
            pub(super) const fn from_bytes(bytes: [u8; $bytes]) -> Self {
                Self(bytes)
            }

            pub(super) const fn as_bytes(&self) -> &[u8; $bytes] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({self})", stringify!($name))
            }
        }

        impl FromStr for $name {
            type Err = InvalidSnapshotId;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let invalid = InvalidSnapshotId { digits: 2 * $bytes };
                let (digits, []) = text.as_bytes().as_chunks::<2>() else { return Err(invalid) };
                let mut bytes = [0; $bytes];
                if digits.len() != bytes.len() {
                    return Err(invalid);
                }
                for (byte, &[high, low]) in bytes.iter_mut().zip(digits) {
                    *byte = digit(high).zip(digit(low)).map(|(high, low)| high << 4 | low).ok_or(invalid)?;
                }
                Ok(Self(bytes))
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidSnapshotId;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.to_string()
            }
        }
    };
}

hexadecimal!(SnapshotId, 16);
hexadecimal!(Digest, 32);

fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_text_in_json_and_nothing_else_is_an_id() {
        let id = SnapshotId::from_bytes(std::array::from_fn(|index| index as u8 * 17));
        let json = serde_json::to_value(id).unwrap();
        assert_eq!(json, "00112233445566778899aabbccddeeff");
        assert_eq!(serde_json::from_value::<SnapshotId>(json).unwrap(), id);
        for text in ["", "00", "00112233445566778899aabbccddeef", "00112233445566778899aabbccddeefg"] {
            assert!(text.parse::<SnapshotId>().is_err(), "{text}");
        }
    }
}
