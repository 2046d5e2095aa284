//! How a checkpoint is named on the command line.

/// What somebody may mean who does not name a thread that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Address<'t> {
    /// So many checkpoints before another one.
    Back(&'t str, usize),
    /// The step of a thread.
    Step(&'t str, i64),
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
        match text.rsplit_once('@').map(|(thread, step)| (thread, step.parse())) {
            Some((thread, Ok(step))) => Self::Step(thread, step),
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
        assert_eq!(Address::parse("me@home"), Address::Name("me@home"));
        assert_eq!(Address::parse("a~b"), Address::Name("a~b"));
    }
}
