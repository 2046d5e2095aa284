//! Keys and their sources.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use superstep_core::error::BoxError;
use zeroize::Zeroizing;

/// The name of a key. It is stored in the file and shown in errors, so it must not be secret. Use a date, a number, or
/// the name in a key management service.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Arc<str>);

impl KeyId {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for KeyId {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// A key: 32 random bytes. They are wiped from memory when the key is dropped, and are never displayed.
#[derive(Clone)]
pub struct Key(Zeroizing<[u8; Key::BYTES]>);

impl Key {
    /// The length of a key in bytes.
    pub const BYTES: usize = 32;

    /// Creates a key from these bytes. They must come from a random source that is suitable for keys; a password is not
    /// a key.
    #[must_use]
    pub fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Generates a random key.
    ///
    /// # Errors
    /// Returns [`KeyError::NoRandomness`].
    pub fn generate() -> Result<Self, KeyError> {
        let mut key = Self::new([0; Self::BYTES]);
        getrandom::fill(key.0.as_mut_slice()).map_err(|error| KeyError::NoRandomness(error.into()))?;
        Ok(key)
    }

    /// Parses a key of 64 hexadecimal digits; `None` if the text is anything else.
    #[must_use]
    pub fn from_hex(digits: &str) -> Option<Self> {
        let digits = digits.as_bytes();
        let mut key = Self::new([0; Self::BYTES]);
        if digits.len() != 2 * Self::BYTES {
            return None;
        }
        for (byte, pair) in key.0.iter_mut().zip(digits.chunks_exact(2)) {
            let value = |digit: u8| char::from(digit).to_digit(16);
            *byte = u8::try_from(value(pair[0])? * 16 + value(pair[1])?).ok()?;
        }
        Some(key)
    }

    pub(super) fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(<secret>)")
    }
}

/// An error about keys. No error contains a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The system's random number generator failed.
    #[error("the system provides no random numbers: {0}")]
    NoRandomness(#[source] std::io::Error),
    /// The file of keys cannot be read. Check the path and its permissions.
    #[error("the key file {0} cannot be read: {1}")]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// The line with this number does not contain a name and a key of 64 hexadecimal digits.
    #[error("line {0} is not a name and a key of 64 hexadecimal digits")]
    Malformed(usize),
    /// The line with this number repeats the name of an earlier key.
    #[error("line {0} names the key {1} again")]
    Repeated(usize, KeyId),
    /// No line contains a key.
    #[error("there is no key in it")]
    Empty,
}

/// A source of keys for files, such as a map, a file, or a key management service.
///
/// Both methods are called while a file is read or written, so an implementation should cache its answers in memory.
///
/// ```
/// use superstep_checkpoint::{Key, KeyId, Keys};
///
/// struct Vault {
///     this_year: Key,
/// }
///
/// impl Keys for Vault {
///     fn current(&self) -> KeyId {
///         "2026".into()
///     }
///
///     fn key(&self, id: &KeyId) -> Result<Key, superstep_core::error::BoxError> {
///         match id.as_str() {
///             "2026" => Ok(self.this_year.clone()),
///             other => Err(format!("the vault has no key {other}").into()),
///         }
///     }
/// }
/// ```
pub trait Keys: Send + Sync {
    /// Returns the name of the key that encrypts everything written from now on.
    fn current(&self) -> KeyId;

    /// Returns the key of this name: the current key, or an older one.
    ///
    /// # Errors
    /// Returns an error if there is no such key, or if it cannot be fetched.
    fn key(&self, id: &KeyId) -> Result<Key, BoxError>;
}

impl<K: Keys + ?Sized> Keys for Arc<K> {
    fn current(&self) -> KeyId {
        (**self).current()
    }

    fn key(&self, id: &KeyId) -> Result<Key, BoxError> {
        (**self).key(id)
    }
}

/// Keys that are held in memory.
///
/// ```
/// use superstep_checkpoint::{Key, KeyRing};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let keys = KeyRing::new("2026-11", Key::generate()?).and("2026-05", Key::generate()?);
/// assert_eq!(format!("{keys:?}"), r#"KeyRing["2026-11", "2026-05"]"#);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct KeyRing(Vec<(KeyId, Key)>);

impl KeyRing {
    /// Creates a ring with the key that encrypts everything written from now on.
    #[must_use]
    pub fn new(id: impl Into<KeyId>, key: Key) -> Self {
        Self(vec![(id.into(), key)])
    }

    /// Adds an older key, which only decrypts.
    #[must_use]
    pub fn and(mut self, id: impl Into<KeyId>, key: Key) -> Self {
        self.0.push((id.into(), key));
        self
    }

    /// Parses keys from a text with one key per line: its name and its 64 hexadecimal digits. The first key encrypts
    /// everything written from now on. Empty lines and lines that begin with `#` are ignored.
    ///
    /// ```
    /// use superstep_checkpoint::{KeyRing, Keys};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let keys = KeyRing::parse(
    ///     "2026-11 c2f4a1f0b1d0e6a7a3f3e1c65d0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b
    ///      2026-05 0b1c2d3e4f5061728394a5b6c7d8e9fa0b1c2d3e4f5061728394a5b6c7d8e9fa",
    /// )?;
    /// assert_eq!(keys.current().as_str(), "2026-11");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns [`KeyError::Malformed`], [`KeyError::Repeated`] or [`KeyError::Empty`].
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let mut keys: Vec<(KeyId, Key)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parsed = line.split_once(char::is_whitespace);
            let parsed = parsed.and_then(|(id, key)| Some((KeyId::from(id), Key::from_hex(key.trim())?)));
            let Some((id, key)) = parsed else { return Err(KeyError::Malformed(number)) };
            if keys.iter().any(|(held, _)| *held == id) {
                return Err(KeyError::Repeated(number, id));
            }
            keys.push((id, key));
        }
        match keys.is_empty() {
            true => Err(KeyError::Empty),
            false => Ok(Self(keys)),
        }
    }

    /// Reads keys from a file, in the form that [`parse`](Self::parse) describes.
    ///
    /// # Errors
    /// Returns [`KeyError::Unreadable`], and the errors of [`parse`](Self::parse).
    pub fn read(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| KeyError::Unreadable(path.to_owned(), error))?;
        Self::parse(&Zeroizing::new(text))
    }
}

impl Keys for KeyRing {
    fn current(&self) -> KeyId {
        self.0[0].0.clone()
    }

    fn key(&self, id: &KeyId) -> Result<Key, BoxError> {
        let held = self.0.iter().find(|(held, _)| held == id);
        held.map(|(_, key)| key.clone()).ok_or_else(|| "it is not among the keys given".into())
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&KeyId> = self.0.iter().map(|(id, _)| id).collect();
        write!(f, "KeyRing{names:?}")
    }
}
