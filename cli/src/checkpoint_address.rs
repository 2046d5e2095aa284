//! Addresses of checkpoints on the command line.

use superstep_core::checkpoint::CheckpointName;

/// The readings of a text that is not the name of an existing thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address<'t> {
    /// The checkpoint this many steps before another one.
    Back(&'t str, usize),
    /// The step of a thread.
    Step(&'t str, i64),
    /// The checkpoint with this name on a thread.
    Named(&'t str, CheckpointName),
    /// A thread, or part of an id.
    Name(&'t str),
}

impl<'t> Address<'t> {
    pub(super) fn parse(text: &'t str) -> Self {
        if let Some((of, count)) = text.rsplit_once('~')
            && let Some(count) = if count.is_empty() { Some(1) } else { count.parse().ok() }
        {
            return Self::Back(of, count);
        }
        let Some((thread, which)) = text.rsplit_once('@') else { return Self::Name(text) };
        match (which.parse(), which.parse()) {
            (Ok(step), _) => Self::Step(thread, step),
            (_, Ok(name)) => Self::Named(thread, name),
            _ => Self::Name(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sign_counts() {
        assert_eq!(Address::parse("t~2"), Address::Back("t", 2));
        assert_eq!(Address::parse("t@3~"), Address::Back("t@3", 1));
        assert_eq!(Address::parse("me@home@-1"), Address::Step("me@home", -1));
        assert_eq!(Address::parse("me@home"), Address::Named("me", "home".parse().unwrap()));
        assert_eq!(Address::parse("me@"), Address::Name("me@"));
        assert_eq!(Address::parse("t@done~"), Address::Back("t@done", 1));
        assert_eq!(Address::parse("a~b"), Address::Name("a~b"));
    }
}
