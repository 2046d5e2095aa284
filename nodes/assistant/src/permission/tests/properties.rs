//! Random rule sets, compared with what each layer says alone.

use proptest::prelude::*;
use superstep_nodes::tool::{Pattern, PermissionParts, Touch};

use super::*;

/// The parts of a call: letters, or `None` for a part that is not understood.
#[derive(Clone, Debug)]
struct Parts(Vec<Option<&'static str>>);

impl PermissionParts for Parts {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn fits(&self, part: usize, pattern: &Pattern) -> bool {
        self.0[part].is_some_and(|text| letter_fits(pattern.as_str(), text))
    }

    fn touches(&self, pattern: &Pattern) -> Touch {
        let pattern = pattern.as_str();
        let touch = |part: &Option<&str>| match part {
            None => Touch::Unclear,
            Some(text) if letter_fits(pattern, text) => Touch::Yes,
            Some(_) => Touch::No,
        };
        self.0.iter().map(touch).max().unwrap_or(Touch::No)
    }
}

fn letter_fits(pattern: &str, text: &str) -> bool {
    pattern == "*" || pattern.strip_suffix('*').map_or(pattern == text, |start| text.starts_with(start))
}

#[derive(Clone, Debug)]
struct Case {
    parts: Option<Parts>,
    denies: Vec<RulePlace>,
    rules: Vec<(RulePlace, RuleKind)>,
    conditions: Vec<(RulePlace, RuleKind)>,
    check: Permission,
    hooks: Vec<Verdict>,
    grants: Vec<Grant>,
    mode: PermissionMode,
    trust: Trust,
    is_headless: bool,
    is_read_only: bool,
}

fn case() -> impl Strategy<Value = Case> {
    let part = prop::option::weighted(0.85, prop::sample::select(vec!["a", "ab", "b", "c"]));
    let parts = prop::option::weighted(0.9, prop::collection::vec(part, 0..4).prop_map(Parts));
    let rule =
        prop::sample::select(vec!["t", "t(a)", "t(a*)", "t(b*)", "t(*)", "t(ab)", "t(c)", "u", "u(a)"]);
    let source = prop::sample::select(vec![RuleSource::CommandLine, RuleSource::User, RuleSource::Project]);
    let place =
        (rule.clone(), source).prop_map(|(rule, source)| RulePlace::new(rule.parse().unwrap(), source));
    let kind = prop::sample::select(vec![RuleKind::Allow, RuleKind::Allow, RuleKind::Ask, RuleKind::Deny]);
    let placed = (place.clone(), kind.clone());
    let check = prop::sample::select(vec![
        Permission::Passthrough,
        Permission::Passthrough,
        Permission::Allow,
        Permission::Ask("ask".to_owned()),
        Permission::Deny("deny".to_owned()),
    ]);
    let hook = prop::sample::select(vec![Verdict::Allow, Verdict::Ask, Verdict::Deny]);
    let mode = prop::sample::select(PermissionMode::ALL.to_vec());
    let flags = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.2));
    (
        (parts, prop::collection::vec(place, 0..3), prop::collection::vec(placed.clone(), 0..5)),
        (prop::collection::vec(placed, 0..2), check, prop::collection::vec(hook, 0..2)),
        (prop::collection::vec(rule, 0..2), mode, flags),
    )
        .prop_map(|((parts, denies, rules), (conditions, check, hooks), (grants, mode, flags))| Case {
            parts,
            denies,
            rules: rules.into_iter().filter(|(_, kind)| *kind != RuleKind::Deny).collect(),
            conditions,
            check,
            hooks,
            grants: grants.into_iter().map(grant).collect(),
            mode,
            trust: if flags.0 { Trust::Trusted } else { Trust::Untrusted },
            is_headless: flags.1,
            is_read_only: flags.2,
        })
}

impl Case {
    fn decide(&self) -> Decision {
        let mut permissions = Permissions::new().trust_project(self.trust);
        for place in &self.denies {
            permissions = permissions.rule(RuleKind::Deny, place.clone());
        }
        for (place, kind) in &self.rules {
            permissions = permissions.rule(*kind, place.clone());
        }
        for (place, kind) in &self.conditions {
            permissions = permissions.if_then(place.clone(), *kind, "because");
        }
        if self.is_headless {
            permissions = permissions.headless();
        }
        let mut call = Call {
            call: ToolCall::new("c1", "t", json!({})),
            matcher: self.parts.clone().map(PermissionMatcher::of),
            is_read_only: self.is_read_only,
            check: self.check.clone(),
            hooks: Vec::new(),
        };
        for verdict in &self.hooks {
            call = call.hooked(*verdict);
        }
        permissions.decide(&call.view(), self.mode, &self.grants)
    }

    fn touch(&self, place: &RulePlace) -> Touch {
        match (place.rule.tool(), place.rule.pattern(), &self.parts) {
            ("t", None, _) => Touch::Yes,
            ("t", Some(_), None) => Touch::Unclear,
            ("t", Some(pattern), Some(parts)) => parts.touches(&pattern.into()),
            _ => Touch::No,
        }
    }

    /// Returns `true` if a layer alone denies the call.
    fn is_denied_by(&self, layer: Layer) -> bool {
        match layer {
            Layer::Static => self.denies.iter().any(|place| self.touch(place) == Touch::Yes),
            Layer::Tool => matches!(self.check, Permission::Deny(_)),
            Layer::Rules => {
                let denies = |(place, kind): &(RulePlace, RuleKind)| {
                    *kind == RuleKind::Deny && self.touch(place) == Touch::Yes
                };
                self.conditions.iter().any(denies) || self.hooks.contains(&Verdict::Deny)
            }
            Layer::Mode => self.mode == PermissionMode::Plan && !self.is_read_only,
        }
    }

    fn without(&self, layer: Layer) -> Self {
        let mut case = self.clone();
        match layer {
            Layer::Static => case.denies.clear(),
            Layer::Tool => case.check = Permission::Passthrough,
            Layer::Rules => {
                case.rules.clear();
                case.conditions.clear();
                case.hooks.clear();
                case.grants.clear();
            }
            Layer::Mode => {
                case.mode = PermissionMode::AcceptEdits;
                case.is_headless = false;
            }
        }
        case
    }

    /// Returns `true` if rules that count and grants cover every part.
    fn is_covered(&self) -> bool {
        let rules = self.rules.iter().chain(&self.conditions).filter(|(place, kind)| {
            *kind == RuleKind::Allow && (place.source != RuleSource::Project || self.trust == Trust::Trusted)
        });
        let rules = rules.map(|(place, _)| &place.rule).chain(self.grants.iter().map(|grant| &grant.rule));
        let rules: Vec<_> = rules.filter(|rule| rule.tool() == "t").collect();
        if rules.iter().any(|rule| rule.pattern().is_none()) {
            return true;
        }
        let Some(parts) = &self.parts else { return false };
        (0..parts.count())
            .all(|part| rules.iter().any(|rule| parts.fits(part, &rule.pattern().unwrap_or_default().into())))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn s2_116_an_allow_never_overrides_a_deny(case in case()) {
        let decision = case.decide();
        let first = Layer::ALL.into_iter().find(|layer| case.is_denied_by(*layer));
        if let Some(layer) = first {
            prop_assert_eq!((decision.verdict, decision.layer), (Verdict::Deny, layer));
        } else if !case.is_headless {
            prop_assert_ne!(decision.verdict, Verdict::Deny);
        }
    }

    #[test]
    fn s2_038_disabling_a_layer_never_allows_what_another_denies(case in case()) {
        for disabled in Layer::ALL {
            let denied = Layer::ALL.into_iter().any(|layer| layer != disabled && case.is_denied_by(layer));
            if denied {
                prop_assert_eq!(case.without(disabled).decide().verdict, Verdict::Deny, "without {:?}", disabled);
            }
        }
    }

    #[test]
    fn s2_048_a_call_is_allowed_only_by_a_layer_that_allows_it(case in case()) {
        let decision = case.decide();
        let by_hook = case.hooks.contains(&Verdict::Allow);
        let reasons = [case.is_read_only, case.check == Permission::Allow, by_hook, case.is_covered()];
        if decision.verdict == Verdict::Allow {
            prop_assert!(reasons.contains(&true), "{:?}", decision);
            let may_be_denied = |place: &RulePlace| case.touch(place) == Touch::Unclear;
            prop_assert!(!case.denies.iter().any(may_be_denied), "{:?}", decision);
        }
        if case.is_headless && case.mode != PermissionMode::Auto {
            prop_assert_ne!(decision.verdict, Verdict::Ask);
        }
    }
}
