//! The permission of a call: a tool's decision, and the policy on calls that a tool neither allows nor denies.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Tool, ToolContext};

/// A tool's decision on whether a call may be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    /// The call may be made, without asking the policy.
    Allow,
    /// Consent is needed, for this reason: the [`PermissionPolicy`](super::PermissionPolicy) decides.
    Ask(String),
    /// The call may not be made, for this reason; the policy is not asked.
    Deny(String),
    /// The tool does not know: the [`PermissionPolicy`](super::PermissionPolicy) decides.
    Passthrough,
}

/// The parts of one call, which the patterns of permission rules are compared with.
///
/// Most calls are one part. A command line has several, such as the commands of a pipeline: a rule that allows must
/// cover each of them, and a rule that denies applies if it is about any of them.
pub trait PermissionParts: Send + Sync + 'static {
    /// Returns the number of parts that a rule has to cover.
    fn count(&self) -> usize;

    /// Returns `true` if a rule with this pattern covers a part. A part that cannot be understood is covered by no
    /// pattern, and a pattern that cannot be read covers nothing.
    fn fits(&self, part: usize, pattern: &Pattern) -> bool;

    /// Returns whether a rule with this pattern is about any of the parts.
    fn touches(&self, pattern: &Pattern) -> Touch;

    /// Returns a pattern to offer for calls like a part: wider than the part, and narrower than all calls of the tool.
    /// `None` if there is no such pattern that is safe.
    fn offer(&self, part: usize) -> Option<String> {
        let _ = part;
        None
    }

    /// Returns the reason for which the call cannot be understood, if it cannot.
    fn unclear(&self) -> Option<String> {
        None
    }
}

/// The pattern of a permission rule. The tool defines its meaning, and parses it when it is first compared with a call;
/// clones share the parsed form.
#[derive(Clone)]
pub struct Pattern(Arc<Parsed>);

struct Parsed {
    text: String,
    form: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Pattern {
    /// Makes a pattern of its text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Arc::new(Parsed { text: text.into(), form: OnceLock::new() }))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Compares the parsed pattern. `parse` runs only at the first comparison, unless that was made with another type.
    pub fn compare<T: Send + Sync + 'static, R>(
        &self,
        parse: impl Fn(&str) -> T,
        compare: impl FnOnce(&T) -> R,
    ) -> R {
        let form = self.0.form.get_or_init(|| Box::new(parse(self.as_str())));
        match form.downcast_ref() {
            Some(form) => compare(form),
            None => compare(&parse(self.as_str())),
        }
    }
}

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Pattern {}

impl PartialOrd for Pattern {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pattern {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

/// The answer to the question whether a rule is about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// The rule is about no part of the call.
    No,
    /// The rule may be about a part, which is known only when the call runs.
    Unclear,
    /// The rule is about a part of the call.
    Yes,
}

/// Compares the patterns of permission rules with the input of one call.
pub struct PermissionMatcher(Box<dyn PermissionParts>);

impl PermissionMatcher {
    /// Makes the matcher of a call of one part, from a function that compares it with a pattern.
    pub fn new(matches: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self::of(OnePart(matches))
    }

    /// Makes the matcher of a call of several parts.
    pub fn of(parts: impl PermissionParts) -> Self {
        Self(Box::new(parts))
    }

    /// Returns the number of parts that a rule has to cover.
    pub fn parts(&self) -> usize {
        self.0.count()
    }

    /// Returns `true` if a rule with this pattern covers one part of the call.
    pub fn fits(&self, part: usize, pattern: &Pattern) -> bool {
        self.0.fits(part, pattern)
    }

    /// Returns `true` if a rule with this pattern covers every part of the call: the question of rules that allow.
    pub fn matches(&self, pattern: impl Into<Pattern>) -> bool {
        let pattern = pattern.into();
        (0..self.parts()).all(|part| self.fits(part, &pattern))
    }

    /// Returns whether a rule with this pattern is about any part of the call: the question of rules that ask or deny.
    pub fn touches(&self, pattern: &Pattern) -> Touch {
        self.0.touches(pattern)
    }

    /// Returns a pattern to offer for calls like one part of this one.
    pub fn offer(&self, part: usize) -> Option<String> {
        self.0.offer(part)
    }

    /// Returns the reason for which the call cannot be understood, if it cannot.
    pub fn unclear(&self) -> Option<String> {
        self.0.unclear()
    }
}

impl fmt::Debug for PermissionMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermissionMatcher").field("parts", &self.parts()).finish_non_exhaustive()
    }
}

/// A call of one part.
struct OnePart<F>(F);

impl<F: Fn(&str) -> bool + Send + Sync + 'static> PermissionParts for OnePart<F> {
    fn count(&self) -> usize {
        1
    }

    fn fits(&self, _: usize, pattern: &Pattern) -> bool {
        (self.0)(pattern.as_str())
    }

    fn touches(&self, pattern: &Pattern) -> Touch {
        if (self.0)(pattern.as_str()) { Touch::Yes } else { Touch::No }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    /// Two commands of one line.
    struct Two;

    impl PermissionParts for Two {
        fn count(&self) -> usize {
            2
        }

        fn fits(&self, part: usize, pattern: &Pattern) -> bool {
            ["git pull", "cargo test"][part] == pattern.as_str()
        }

        fn touches(&self, pattern: &Pattern) -> Touch {
            if (0..2).any(|part| self.fits(part, pattern)) { Touch::Yes } else { Touch::No }
        }
    }

    #[test]
    fn a_rule_that_allows_covers_every_part_and_a_rule_that_denies_is_about_any() {
        let matcher = PermissionMatcher::of(Two);
        assert!(!matcher.matches("git pull") && !matcher.matches("rm"));
        assert_eq!(
            (matcher.touches(&"git pull".into()), matcher.touches(&"rm".into())),
            (Touch::Yes, Touch::No)
        );
        assert_eq!(matcher.offer(0), None);
    }

    #[test]
    fn a_pattern_is_parsed_once_for_all_its_clones() {
        let (pattern, parses) = (Pattern::new("12"), AtomicU32::new(0));
        let parse = |text: &str| {
            parses.fetch_add(1, Relaxed);
            text.parse::<u32>().unwrap()
        };
        for same in [&pattern, &pattern.clone()] {
            assert_eq!(same.compare(parse, |number| number + 1), 13);
        }
        assert_eq!(parses.load(Relaxed), 1);
        assert_eq!(pattern.compare(str::len, |length| *length), 2, "another type has its own form");
    }

    #[test]
    fn in_a_call_of_one_part_both_questions_are_the_same() {
        let matcher = PermissionMatcher::new(|pattern| pattern == "a");
        assert_eq!(
            (matcher.parts(), matcher.matches("a"), matcher.touches(&"a".into())),
            (1, true, Touch::Yes)
        );
        assert_eq!((matcher.matches("b"), matcher.touches(&"b".into())), (false, Touch::No));
    }
}

/// Decides on calls that their tool neither allows nor denies.
#[async_trait]
pub trait PermissionPolicy: Send + Sync + 'static {
    /// Says whether the call may be made. It may take its time: no timeout of the tool runs meanwhile.
    async fn decide(&self, request: PermissionRequest<'_>) -> PermissionDecision;
}

/// A call that is to be decided on.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct PermissionRequest<'a> {
    /// The tool.
    pub tool: &'a dyn Tool,
    /// The input, which the tool found valid.
    pub input: &'a Value,
    /// The tool's reason for asking for consent; `None` if it does not know whether consent is needed.
    pub ask: Option<&'a str>,
    /// The circumstances of the call.
    pub context: &'a ToolContext,
}

/// The decision on whether a call may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionDecision {
    /// It may.
    Allow,
    /// It may not; the model reads the reason.
    Deny(String),
}

/// The default policy of a registry: registering a tool means that it may be used, so a call is allowed unless its tool
/// asks for consent. There is no one to give it, so such a call is denied.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowUnlessAsked;

#[async_trait]
impl PermissionPolicy for AllowUnlessAsked {
    async fn decide(&self, request: PermissionRequest<'_>) -> PermissionDecision {
        match request.ask {
            None => PermissionDecision::Allow,
            Some(reason) => {
                PermissionDecision::Deny(format!("it needs consent, and there is no user to ask ({reason})"))
            }
        }
    }
}

/// Allows only read-only calls, such as while a plan is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowReadOnly;

#[async_trait]
impl PermissionPolicy for AllowReadOnly {
    async fn decide(&self, request: PermissionRequest<'_>) -> PermissionDecision {
        match request.ask {
            None if request.tool.is_read_only(request.input) => PermissionDecision::Allow,
            _ => PermissionDecision::Deny("only calls that change nothing are allowed".to_owned()),
        }
    }
}
