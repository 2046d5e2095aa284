//! All metrics.

use super::Metric;

/// Bounds for what a program does by itself, and for what it waits for a model: milliseconds to minutes.
const SECONDS: &[f64] =
    &[0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// Bounds for parts of a whole.
const PARTS: &[f64] = &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

const MESSAGES: &[f64] = &[2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0];

const ATTEMPTS: &[f64] = &[0.0, 1.0, 2.0, 3.0, 5.0, 10.0];

pub(super) const COMPACTIONS: Metric = Metric::counter(
    "context.compaction.triggered_total",
    "compactions",
    &["by"],
    "Compacted conversations. `by` is `model`, or `nobody` if no model wrote a summary and only notes are left.",
);

pub(super) const COMPRESSION: Metric = Metric::histogram(
    "context.compaction.compression_ratio",
    "ratio",
    &[],
    "How many tokens a model is shown after a compaction, as a part of those before it.",
    PARTS,
);

pub(super) const OVERFLOWS_PREVENTED: Metric = Metric::counter(
    "context.overflow_prevented_total",
    "compactions",
    &[],
    "Compactions after which the conversation is within the threshold again that it was above.",
);

pub(super) const COMPACTION_DURATION: Metric = Metric::histogram(
    "context.compaction.duration",
    "seconds",
    &["part"],
    "How long a compaction took. `part` is `model` for the calls of the summariser, and `own` for all else.",
    SECONDS,
);

pub(super) const ROUTINGS: Metric = Metric::counter(
    "agent.routing.decisions_total",
    "decisions",
    &["action", "by"],
    "What routers decided, and by what means.",
);

pub(super) const ROUTING_CONFIDENCE: Metric =
    Metric::histogram("agent.routing.confidence", "ratio", &["action"], "How sure routers were.", PARTS);

pub(super) const PASSED: Metric = Metric::counter(
    "verification.passed_total",
    "verifications",
    &[],
    "Verifications that a response passed.",
);

pub(super) const FAILED: Metric = Metric::counter(
    "verification.failed_total",
    "verifications",
    &[],
    "Verifications that a response did not pass.",
);

pub(super) const UNJUDGED: Metric = Metric::counter(
    "verification.unjudged_total",
    "verifications",
    &[],
    "Verifications in which the response could not be judged.",
);

pub(super) const SCORES: Metric = Metric::histogram(
    "verification.score_distribution",
    "ratio",
    &[],
    "The overall scores of verified responses.",
    PARTS,
);

pub(super) const VERIFICATION_DURATION: Metric = Metric::histogram(
    "verification.duration",
    "seconds",
    &["part"],
    "How long a verification took. `part` is `model` for the calls of the judge, and `own` for all else.",
    SECONDS,
);

pub(super) const REFINEMENTS: Metric = Metric::counter(
    "verification.refinement_total",
    "refinements",
    &[],
    "Responses that were sent back to be given again.",
);

pub(super) const REFINED: Metric = Metric::counter(
    "refinement.outcome_total",
    "refinements",
    &["attempt", "outcome"],
    "What the verification after a refinement found. `attempt` is how many refinements there had been, `outcome` is `passed`, \
     `failed` or `unjudged`.",
);

pub(super) const REFINEMENT_DURATION: Metric = Metric::histogram(
    "refinement.duration",
    "seconds",
    &[],
    "How long an iteration took: from the beginning of a refinement to the end of the next verification.",
    SECONDS,
);

pub(super) const SCORES_BEFORE: Metric = Metric::histogram(
    "refinement.score_before",
    "ratio",
    &[],
    "The scores of responses that were refined and verified again, before that.",
    PARTS,
);

pub(super) const SCORES_AFTER: Metric = Metric::histogram(
    "refinement.score_after",
    "ratio",
    &[],
    "The scores of the same ones, after it.",
    PARTS,
);

pub(super) const ATTEMPTS_USED: Metric = Metric::histogram(
    "refinement.attempts",
    "refinements",
    &[],
    "How many refinements a run took whose responses are verified.",
    ATTEMPTS,
);

pub(super) const MODEL_CALLS: Metric = Metric::counter(
    "agent.llm.calls_total",
    "calls",
    &["model", "purpose"],
    "Calls of models that were answered.",
);

pub(super) const MODEL_ERRORS: Metric = Metric::counter(
    "agent.llm.errors_total",
    "calls",
    &["error", "model", "purpose"],
    "Calls of models that failed, by the kind of the error.",
);

pub(super) const TOKENS: Metric = Metric::counter(
    "agent.llm.tokens_total",
    "tokens",
    &["direction", "model", "purpose"],
    "Tokens that models read and wrote. `direction` is `input` or `output`.",
);

pub(super) const MODEL_DURATION: Metric = Metric::histogram(
    "agent.llm.duration",
    "seconds",
    &["model", "purpose"],
    "How long models took to answer.",
    SECONDS,
);

pub(super) const COST: Metric = Metric::counter(
    "agent.cost_micro_usd_total",
    "micro-USD",
    &["model", "purpose"],
    "What calls of models cost, in millionths of a US dollar; only with prices.",
);

pub(super) const UNPRICED: Metric = Metric::counter(
    "agent.llm.unpriced_total",
    "calls",
    &["model", "purpose"],
    "Calls whose cost is not counted because the model has no price; only with prices.",
);

pub(super) const TOOL_CALLS: Metric = Metric::counter(
    "agent.tool.calls_total",
    "calls",
    &["outcome", "tool"],
    "Tool calls that were answered. `tool` is `unknown` where there is none of the name that the model said.",
);

pub(super) const TOOL_DURATION: Metric = Metric::histogram(
    "agent.tool.duration",
    "seconds",
    &["tool"],
    "How long tool calls took that were made.",
    SECONDS,
);

pub(super) const NODE_DURATION: Metric = Metric::histogram(
    "agent.node.duration",
    "seconds",
    &["graph", "node"],
    "How long tasks took that finished.",
    SECONDS,
);

pub(super) const NODE_FAILURES: Metric = Metric::counter(
    "agent.node.failures_total",
    "attempts",
    &["graph", "node"],
    "Attempts of tasks that failed, whether or not another one followed.",
);

pub(super) const RUNS: Metric = Metric::counter(
    "agent.runs_total",
    "runs",
    &["graph", "outcome"],
    "Runs that ended, by how: `finished`, `failed`, `limit_reached`, `interrupted` and so on.",
);

pub(super) const RUN_DURATION: Metric =
    Metric::histogram("agent.run.duration", "seconds", &["graph"], "How long runs took.", SECONDS);

pub(super) const ERROR_RATE: Metric = Metric::gauge(
    "agent.error_rate",
    "ratio",
    &["graph"],
    "Of the runs that came to an end, the part that failed or reached the limit of their supersteps. Runs that \
     were cancelled, or wait for something, are not counted.",
);

pub(super) const CONVERSATION: Metric = Metric::histogram(
    "conversation.length",
    "messages",
    &[],
    "How many messages there are in a conversation when a run has given its response.",
    MESSAGES,
);

pub(super) const SATISFACTION: Metric =
    Metric::histogram("user.satisfaction", "ratio", &[], "How users rated runs, from 0 to 1.", PARTS);

pub(super) const ALL: &[Metric] = &[
    COMPACTIONS,
    COMPRESSION,
    OVERFLOWS_PREVENTED,
    COMPACTION_DURATION,
    ROUTINGS,
    ROUTING_CONFIDENCE,
    PASSED,
    FAILED,
    UNJUDGED,
    SCORES,
    VERIFICATION_DURATION,
    REFINEMENTS,
    REFINED,
    REFINEMENT_DURATION,
    SCORES_BEFORE,
    SCORES_AFTER,
    ATTEMPTS_USED,
    MODEL_CALLS,
    MODEL_ERRORS,
    TOKENS,
    MODEL_DURATION,
    COST,
    UNPRICED,
    TOOL_CALLS,
    TOOL_DURATION,
    NODE_DURATION,
    NODE_FAILURES,
    RUNS,
    RUN_DURATION,
    ERROR_RATE,
    CONVERSATION,
    SATISFACTION,
];
