//! Permissions: which calls of tools are allowed, denied or asked about, by which layer and which rule.
//!
//! ```text
//!              deny rules   the tool's check   rules, hooks    mode           the resolver
//! CallView ──▶ layer 1 ───▶ layer 2 ─────────▶ layer 3 ──────▶ layer 4 ─ask─▶ person, classifier, or none
//!               │ deny       │ deny             │ deny          │ allow, deny   │ allow, deny
//!               └────────────┴───── Decision ◀──┴───────────────┴───────────────┘
//! ```
//!
//! | layer | denies | asks | allows |
//! |---|---|---|---|
//! | 1 static | deny rules; a bare one takes the tool out of the registry | a deny rule may apply | – |
//! | 2 tool | its check | its check | its check |
//! | 3 rules | if/then rules, hooks | ask and if/then rules, hooks | rules and grants, hooks |
//! | 4 mode | `plan`: what changes something | all other modes: the same | what is read-only; `accept_edits`: edits |
//!
//! Every deny of layers 1 to 3 is looked for first, so no rule, hook or grant lifts it. Then all reasons to ask make one
//! question. An allow skips the question of layer 4 only, and mode `plan` denies what changes something in any case.
//! There is no mode that allows everything.
//!
//! [`Permissions::decide`] is pure. The tool's check and the hooks are asked before it, and a person or a
//! classifier after it.

mod classifier;
mod decision;
mod file_change;
mod permissions;
mod question;
mod rule;

pub(crate) use classifier::classifier_request;
pub use classifier::{Classification, Classified};
pub(crate) use decision::NOT_PERMITTED;
pub use decision::{CallView, Decision, HookVerdict, Layer, PermissionMode, Resolver, Verdict};
pub use file_change::{Extent, FileChange};
pub use permissions::Permissions;
pub use question::{Grant, PermissionAnswer, PermissionQuestion};
pub use rule::{Rule, RuleError, RuleKind, RulePlace, RuleSource, Trust};

#[cfg(test)]
mod tests;
