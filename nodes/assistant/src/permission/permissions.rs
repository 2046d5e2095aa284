//! The rules of an assistant, and the decision on a call.

use std::collections::{BTreeMap, BTreeSet};

use superstep_nodes::tool::{Permission, PermissionMatcher, ToolRegistry, Touch};

use super::classifier::{Classification, Classified};
use super::decision::{CallView, Decision, Layer, PermissionMode, Resolver, Verdict};
use super::question::Grant;
use super::rule::{Rule, RuleKind, RulePlace, RuleSource, Trust};

/// The permissions of an assistant: its rules, and the authority that resolves an ask.
///
/// ```
/// use superstep_assistant::permission::{Permissions, RuleKind, RulePlace, RuleSource};
///
/// let user = |rule: &str| Ok(RulePlace::new(rule.parse()?, RuleSource::User));
/// let permissions = Permissions::new()
///     .rule(RuleKind::Allow, user("bash(cargo test*)")?)
///     .rule(RuleKind::Deny, user("bash(rm*)")?)
///     .if_then(user("bash(npm *)")?, RuleKind::Deny, "this project uses pnpm");
/// # Ok::<(), superstep_assistant::permission::RuleError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Permissions {
    /// The deny rules of layer 1, by tool.
    denies: BTreeMap<String, Vec<RulePlace>>,
    /// The rules of layer 3, by tool.
    rules: BTreeMap<String, Vec<Conditional>>,
    edit_tools: BTreeSet<String>,
    trust: Trust,
    resolver: Resolver,
}

/// The number of rules of each kind that a question names.
const NAMED: usize = 3;

/// A rule of layer 3.
#[derive(Clone, Debug)]
struct Conditional {
    place: RulePlace,
    then: RuleKind,
    /// The reason of an if/then rule.
    reason: Option<String>,
}

impl Default for Permissions {
    /// The same as [`Permissions::new`].
    fn default() -> Self {
        Self::new()
    }
}

impl Permissions {
    /// Makes permissions without rules, with a person who is asked. `edit_file`, `write_file` and
    /// `remember` count as edits.
    pub fn new() -> Self {
        Self {
            denies: BTreeMap::new(),
            rules: BTreeMap::new(),
            edit_tools: ["edit_file", "remember", "write_file"].map(str::to_owned).into(),
            trust: Trust::Untrusted,
            resolver: Resolver::Person,
        }
    }

    /// Adds a rule. A deny rule is one of layer 1, and all others are of layer 3.
    #[must_use]
    pub fn rule(mut self, kind: RuleKind, place: RulePlace) -> Self {
        let tool = place.rule.tool().to_owned();
        match kind {
            RuleKind::Deny => self.denies.entry(tool).or_default().push(place),
            RuleKind::Allow | RuleKind::Ask => {
                let rule = Conditional { place, then: kind, reason: None };
                self.rules.entry(tool).or_default().push(rule);
            }
        }
        self
    }

    /// Adds an if/then rule of layer 3: if a call matches the rule, then this happens, for this reason. Unlike a deny
    /// rule, it leaves the tool in the registry, and the model reads the reason.
    #[must_use]
    pub fn if_then(mut self, place: RulePlace, then: RuleKind, reason: impl Into<String>) -> Self {
        let rule = Conditional { then, reason: Some(reason.into()), place };
        self.rules.entry(rule.place.rule.tool().to_owned()).or_default().push(rule);
        self
    }

    /// Sets the tools whose calls are edits of files in the workspace, which mode `accept_edits` allows. A call counts
    /// only if its path is in the workspace, so the tool must compare paths with rules.
    #[must_use]
    pub fn edit_tools(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.edit_tools = tools.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the trust in the rules of the project. Without it they may ask and deny, and not allow.
    #[must_use]
    pub const fn trust_project(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Lets the session run without a person: an ask that a classifier does not resolve is denied.
    #[must_use]
    pub const fn headless(mut self) -> Self {
        self.resolver = Resolver::Nobody;
        self
    }

    /// Returns `false` if the session runs without a person.
    pub(crate) fn has_person(&self) -> bool {
        self.resolver != Resolver::Nobody
    }

    /// Returns the tools that a bare deny rule takes out of the registry.
    pub fn hidden_tools(&self) -> impl Iterator<Item = &str> {
        let is_bare = |rules: &[RulePlace]| rules.iter().any(|place| place.rule.pattern().is_none());
        self.denies.iter().filter(move |(_, rules)| is_bare(rules)).map(|(tool, _)| tool.as_str())
    }

    /// Returns the registry without the tools that a bare deny rule names, so that no request lists them.
    pub fn assemble(&self, tools: ToolRegistry) -> ToolRegistry {
        self.hidden_tools().fold(tools, ToolRegistry::without)
    }

    /// Decides on a call, up to an ask: [`resolver`](Self::resolver) says who resolves it.
    pub fn decide(&self, call: &CallView<'_>, mode: PermissionMode, grants: &[Grant]) -> Decision {
        let about = self.rules_about(call);
        if let Some(decision) = self.denied(call, &about, mode) {
            return decision;
        }
        let asked = self.asked(call, &about, grants);
        let decision =
            asked.or_else(|| self.allowed(call, grants)).unwrap_or_else(|| self.by_mode(call, mode));
        match decision.verdict {
            Verdict::Ask if self.resolver(&decision, mode) == Resolver::Nobody => without_person(decision),
            Verdict::Allow | Verdict::Ask | Verdict::Deny => decision,
        }
    }

    /// Returns who resolves an ask. In mode `auto` a classifier does, unless a rule or a hook asks for consent, or a
    /// deny rule may be about the call.
    pub fn resolver(&self, decision: &Decision, mode: PermissionMode) -> Resolver {
        match (mode, decision.layer) {
            (PermissionMode::Auto, Layer::Tool | Layer::Mode) => Resolver::Classifier,
            _ => self.resolver,
        }
    }

    /// Returns the decision after a classifier answered an ask. If it is unsure, a person is asked, or the call is
    /// denied.
    #[must_use]
    pub fn classified(&self, ask: Decision, answer: &Classification) -> Decision {
        let reason = format!("classifier: {}", answer.reason);
        match answer.verdict {
            Classified::Allow => Decision { layer: Layer::Mode, verdict: Verdict::Allow, reason, ..ask },
            Classified::Deny => Decision { layer: Layer::Mode, verdict: Verdict::Deny, reason, ..ask },
            Classified::Unsure => {
                let ask = Decision { reason: format!("{}; {reason}", ask.reason), ..ask };
                if self.resolver == Resolver::Nobody { without_person(ask) } else { ask }
            }
        }
    }

    /// Returns `true` for a tool whose calls are edits of files.
    pub(crate) fn is_edit_tool(&self, tool: &str) -> bool {
        self.edit_tools.contains(tool)
    }

    /// Returns the rules that are about a call, or may be, of all that deny or ask.
    fn rules_about(&self, call: &CallView<'_>) -> Vec<About<'_>> {
        let tool = call.call.name.as_str();
        let denies = self.denies.get(tool).into_iter().flatten();
        let denies = denies.map(|place| (Layer::Static, RuleKind::Deny, place, None));
        let rules = self.rules.get(tool).into_iter().flatten().filter(|rule| rule.then != RuleKind::Allow);
        let rules = rules.map(|rule| (Layer::Rules, rule.then, &rule.place, rule.reason.as_deref()));
        denies
            .chain(rules)
            .filter_map(|(layer, kind, place, reason)| match touch(&place.rule, call.matcher) {
                Touch::No => None,
                touch => Some(About { layer, kind, place, reason, touch }),
            })
            .collect()
    }

    fn denied(&self, call: &CallView<'_>, about: &[About<'_>], mode: PermissionMode) -> Option<Decision> {
        let by_rule = |layer| {
            let denies =
                |it: &&About<'_>| it.layer == layer && it.kind == RuleKind::Deny && it.touch == Touch::Yes;
            about.iter().find(denies).map(|it| it.decision(call, Verdict::Deny, it.text("denies this call")))
        };
        let by_tool = || match call.check {
            Permission::Deny(reason) => Some(decision(call, Layer::Tool, Verdict::Deny, reason.clone())),
            Permission::Allow | Permission::Ask(_) | Permission::Passthrough => None,
        };
        let by_hook = || {
            let hook = call.hooks.iter().find(|hook| hook.verdict == Verdict::Deny)?;
            Some(decision(call, Layer::Rules, Verdict::Deny, format!("hook {}: {}", hook.hook, hook.reason)))
        };
        let by_plan = || {
            let reason = "mode plan allows only calls that change nothing";
            (mode == PermissionMode::Plan && !call.is_read_only)
                .then(|| decision(call, Layer::Mode, Verdict::Deny, reason.to_owned()))
        };
        by_rule(Layer::Static)
            .or_else(by_tool)
            .or_else(|| by_rule(Layer::Rules))
            .or_else(by_hook)
            .or_else(by_plan)
    }

    /// Makes one question of all reasons to ask. A grant answers those of the tool, of rules and of hooks, as the
    /// person was asked about such a call; a deny rule that may be about the call is asked about each time.
    fn asked(&self, call: &CallView<'_>, about: &[About<'_>], grants: &[Grant]) -> Option<Decision> {
        let (denies, asks): (Vec<_>, Vec<_>) = about.iter().partition(|it| it.kind == RuleKind::Deny);
        let mut granted = granted(call, grants).peekable();
        if denies.is_empty() && granted.peek().is_some() && cover(call, granted).is_some() {
            return None;
        }
        let mut reasons: Vec<(Layer, Option<&RulePlace>, String)> = Vec::new();
        let unclear = call.matcher.and_then(PermissionMatcher::unclear);
        for it in denies.into_iter().take(NAMED) {
            let because = unclear.as_deref().unwrap_or("it is known only when the call runs");
            reasons.push((it.layer, Some(it.place), it.text(&format!("may deny this call: {because}"))));
        }
        if let Permission::Ask(reason) = call.check {
            reasons.push((Layer::Tool, None, reason.clone()));
        }
        reasons.extend(
            asks.iter().take(NAMED).map(|it| (it.layer, Some(it.place), it.text("asks for consent"))),
        );
        let hooks = call.hooks.iter().filter(|hook| hook.verdict == Verdict::Ask);
        reasons
            .extend(hooks.map(|hook| (Layer::Rules, None, format!("hook {}: {}", hook.hook, hook.reason))));
        // The layer that binds most: what a rule or a hook asks is not for a classifier.
        let binding = [Layer::Static, Layer::Rules, Layer::Tool];
        let layer = binding.into_iter().find(|layer| reasons.iter().any(|(of, ..)| of == layer))?;
        let rules = reasons.iter().filter_map(|(_, place, _)| place.cloned()).collect();
        let reasons: Vec<_> = reasons.into_iter().map(|(.., reason)| reason).collect();
        Some(Decision { rules, ..decision(call, layer, Verdict::Ask, reasons.join("; ")) })
    }

    fn allowed(&self, call: &CallView<'_>, grants: &[Grant]) -> Option<Decision> {
        if *call.check == Permission::Allow {
            return Some(decision(call, Layer::Tool, Verdict::Allow, "the tool allows this call".to_owned()));
        }
        if let Some(hook) = call.hooks.iter().find(|hook| hook.verdict == Verdict::Allow) {
            let reason = format!("hook {}: {}", hook.hook, hook.reason);
            return Some(decision(call, Layer::Rules, Verdict::Allow, reason));
        }
        let allow = self.allow_rules(call).map(Allowing::Rule);
        let rules = cover(call, allow.chain(granted(call, grants)))?;
        let texts: Vec<_> = rules.iter().map(ToString::to_string).collect();
        let reason = if texts.is_empty() {
            "it runs nothing".to_owned()
        } else {
            format!("allowed by {}", texts.join(", "))
        };
        Some(Decision { rules, ..decision(call, Layer::Rules, Verdict::Allow, reason) })
    }

    /// Returns the rules that may allow a call. Those of a project that is not trusted do not count.
    pub(super) fn allow_rules<'p>(
        &'p self,
        call: &CallView<'_>,
    ) -> impl Iterator<Item = &'p RulePlace> + Clone + use<'p> {
        let rules = self.rules.get(&call.call.name).into_iter().flatten();
        let trust = self.trust;
        let counts = move |rule: &&Conditional| {
            let is_trusted = rule.place.source != RuleSource::Project || trust == Trust::Trusted;
            rule.then == RuleKind::Allow && is_trusted
        };
        rules.filter(counts).map(|rule| &rule.place)
    }

    fn by_mode(&self, call: &CallView<'_>, mode: PermissionMode) -> Decision {
        let is_edit = || self.is_edit_tool(&call.call.name) && call.matcher.is_some();
        let (verdict, reason) = match mode {
            _ if call.is_read_only => (Verdict::Allow, "it changes nothing"),
            PermissionMode::AcceptEdits if is_edit() => {
                (Verdict::Allow, "mode accept_edits allows edits of files")
            }
            PermissionMode::Plan => (Verdict::Deny, "mode plan allows only calls that change nothing"),
            PermissionMode::Default | PermissionMode::Auto | PermissionMode::AcceptEdits => {
                (Verdict::Ask, "it may change something, and no rule allows it")
            }
        };
        decision(call, Layer::Mode, verdict, reason.to_owned())
    }
}

/// A rule that is about a call, or may be.
struct About<'p> {
    layer: Layer,
    kind: RuleKind,
    place: &'p RulePlace,
    reason: Option<&'p str>,
    touch: Touch,
}

impl About<'_> {
    fn text(&self, says: &str) -> String {
        match self.reason {
            Some(reason) => format!("{reason} ({})", self.place),
            None => format!("the rule {} {says}", self.place),
        }
    }

    fn decision(&self, call: &CallView<'_>, verdict: Verdict, reason: String) -> Decision {
        Decision { rules: vec![self.place.clone()], ..decision(call, self.layer, verdict, reason) }
    }
}

/// Returns whether a rule is about a call. A pattern that cannot be compared with the call may be.
fn touch(rule: &Rule, matcher: Option<&PermissionMatcher>) -> Touch {
    match (rule.parsed_pattern(), matcher) {
        (None, _) => Touch::Yes,
        (Some(_), None) => Touch::Unclear,
        (Some(pattern), Some(matcher)) => matcher.touches(pattern),
    }
}

/// A rule that allows calls.
#[derive(Clone, Copy)]
pub(super) enum Allowing<'p> {
    Rule(&'p RulePlace),
    Grant(&'p Grant),
}

impl Allowing<'_> {
    /// Returns `true` if it covers one part of a call.
    pub(super) fn fits(self, matcher: &PermissionMatcher, part: usize) -> bool {
        self.rule().parsed_pattern().is_none_or(|pattern| matcher.fits(part, pattern))
    }

    fn rule(&self) -> &Rule {
        match self {
            Self::Rule(place) => &place.rule,
            Self::Grant(grant) => &grant.rule,
        }
    }

    fn place(self) -> RulePlace {
        match self {
            Self::Rule(place) => place.clone(),
            Self::Grant(grant) => RulePlace::new(grant.rule.clone(), RuleSource::Session),
        }
    }
}

/// Returns the rules among these that together cover every part of a call; `None` if a part is left.
fn cover<'p>(
    call: &CallView<'_>,
    rules: impl Iterator<Item = Allowing<'p>> + Clone,
) -> Option<Vec<RulePlace>> {
    if let Some(bare) = rules.clone().find(|rule| rule.rule().pattern().is_none()) {
        return Some(vec![bare.place()]);
    }
    let matcher = call.matcher?;
    let mut used: Vec<RulePlace> = Vec::new();
    for part in 0..matcher.parts() {
        let place = rules.clone().find(|rule| rule.fits(matcher, part))?.place();
        if !used.contains(&place) {
            used.push(place);
        }
    }
    Some(used)
}

/// Returns the grants of a session that are about a call's tool.
pub(super) fn granted<'p>(
    call: &CallView<'p>,
    grants: &'p [Grant],
) -> impl Iterator<Item = Allowing<'p>> + Clone {
    let tool = call.call.name.as_str();
    grants.iter().filter(move |grant| grant.rule.tool() == tool).map(Allowing::Grant)
}

fn decision(call: &CallView<'_>, layer: Layer, verdict: Verdict, reason: String) -> Decision {
    let (call, tool) = (call.call.id.clone(), call.call.name.clone());
    Decision { call, tool, layer, rules: Vec::new(), verdict, reason }
}

/// Denies a call that a person would be asked about.
fn without_person(ask: Decision) -> Decision {
    let reason = format!("this call needs consent, and the session runs without a person ({})", ask.reason);
    Decision { layer: Layer::Mode, verdict: Verdict::Deny, reason, ..ask }
}
