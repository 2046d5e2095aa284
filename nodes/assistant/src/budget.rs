//! Budgets: limits on tokens, money and time that no call may exceed.
//!
//! A call is sent only if the worst case of it fits: the tokens of its request, and the most tokens that its reply may
//! have. A call that fits only with a shorter reply is sent with that limit of output tokens.
//!
//! ```text
//! Limits ──┐
//! Spent  ──┼──▶ Meter::may_call ──▶ the limit of output tokens, or Exceeded
//! request ─┘
//! ```

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_nodes::model::{Ledger, Price, Prices};

use crate::exit::Resource;

/// The limits of a budget. A limit that is absent does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The maximum number of tokens, read and written.
    pub tokens: Option<u64>,
    /// The maximum cost, in millionths of a US dollar.
    pub micro_usd: Option<u64>,
    /// The maximum time since the message of the user, in milliseconds.
    pub time_ms: Option<u64>,
}

/// The resources that are used up or promised to sub-agents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Spent {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Cost, in millionths of a US dollar.
    pub micro_usd: u64,
    /// Time since the message of the user, in milliseconds.
    pub time_ms: u64,
}

impl Spent {
    /// Returns the sum of both; the time is that of this one, as sub-agents work at the same time.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            micro_usd: self.micro_usd.saturating_add(other.micro_usd),
            time_ms: self.time_ms,
        }
    }
}

/// The error of a call that could exceed a limit. It is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the budget does not allow another model call: its limit of {} is reached", name(*.0))]
pub struct Exceeded(
    /// The resource.
    pub Resource,
);

/// The error of a limit on money for a model whose price is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the model `{model}` has no price, so a limit on money cannot be kept: give its price, or limit tokens"
)]
pub struct NoPrice {
    /// The model.
    pub model: String,
}

const fn name(resource: Resource) -> &'static str {
    match resource {
        Resource::Tokens => "tokens",
        Resource::Money => "money",
        Resource::Time => "time",
    }
}

/// The smallest reply that is worth a call, in tokens.
const LEAST_REPLY: u64 = 256;

/// The share of a request by which its tokens are counted higher, one of so many: counts of another tokenizer than the
/// model's are too low at times.
const MARGIN: u64 = 8;

impl Limits {
    /// Returns `true` if there is no limit.
    pub const fn is_none(&self) -> bool {
        self.tokens.is_none() && self.micro_usd.is_none() && self.time_ms.is_none()
    }

    /// Limits the time.
    #[must_use]
    pub fn time(mut self, time: Duration) -> Self {
        self.time_ms = Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Returns the limits that remain after this was spent.
    #[must_use]
    pub fn after(&self, spent: &Spent) -> Self {
        let left = |limit: Option<u64>, spent| limit.map(|limit| limit.saturating_sub(spent));
        Self {
            tokens: left(self.tokens, spent.tokens),
            micro_usd: left(self.micro_usd, spent.micro_usd),
            time_ms: left(self.time_ms, spent.time_ms),
        }
    }

    /// Returns the limits of each of so many sub-agents that run at the same time: equal shares of tokens and money, and
    /// the whole time. No share is above `most`, the limits of its own.
    #[must_use]
    pub fn share(&self, agents: u32, most: &Self) -> Self {
        let share = |limit: Option<u64>| limit.map(|limit| limit / u64::from(agents.max(1)));
        let least = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self {
            tokens: least(share(self.tokens), most.tokens),
            micro_usd: least(share(self.micro_usd), most.micro_usd),
            time_ms: least(self.time_ms, most.time_ms),
        }
    }
}

/// A request whose call is to be paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The model.
    pub model: &'a str,
    /// The tokens of the request, as they were counted.
    pub input_tokens: u64,
    /// The maximum number of tokens of the reply that the request asks for; `None` if it does not limit it.
    pub max_output: Option<u32>,
}

/// Decides whether a call is within the limits.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    limits: Limits,
    prices: Arc<Prices>,
}

impl Meter {
    /// Makes a meter of these limits and prices.
    pub fn new(limits: Limits, prices: Prices) -> Self {
        Self { limits, prices: Arc::new(prices) }
    }

    /// Returns the meter of other limits at the same prices.
    #[must_use]
    pub fn with_limits(&self, limits: Limits) -> Self {
        Self { limits, prices: Arc::clone(&self.prices) }
    }

    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Checks that the cost of these models can be known, if money is limited.
    ///
    /// # Errors
    /// Names the first model without a price.
    pub fn check<'m>(&self, models: impl IntoIterator<Item = &'m str>) -> Result<(), NoPrice> {
        if self.limits.micro_usd.is_none() {
            return Ok(());
        }
        match models.into_iter().find(|model| self.prices.of(model).is_none()) {
            Some(model) => Err(NoPrice { model: model.to_owned() }),
            None => Ok(()),
        }
    }

    /// Returns the amounts that a session has spent: those of its calls, and the time.
    pub fn spent(&self, ledger: &Ledger, time_ms: u64) -> Spent {
        let (tokens, micro_usd) = (ledger.total().usage.total(), ledger.cost(&self.prices).micro_usd);
        Spent { tokens, micro_usd, time_ms }
    }

    /// Decides on a call after this was spent. Returns the limit of output tokens with which it may be sent; `None` if
    /// nothing limits it.
    ///
    /// # Errors
    /// Names the resource of which not enough is left for the request and a short reply.
    pub fn may_call(&self, spent: &Spent, call: Call<'_>) -> Result<Option<u32>, Exceeded> {
        let left = self.limits.after(spent);
        if left.time_ms == Some(0) {
            return Err(Exceeded(Resource::Time));
        }
        let input = call.input_tokens.saturating_add(call.input_tokens.div_ceil(MARGIN));
        let by_tokens = left.tokens.map(|left| left.saturating_sub(input));
        if by_tokens.is_some_and(|output| output < LEAST_REPLY) {
            return Err(Exceeded(Resource::Tokens));
        }
        let by_money = match left.micro_usd {
            None => None,
            Some(left) => {
                let price = self.prices.of(call.model).ok_or(Exceeded(Resource::Money))?;
                Some(affordable(&price, left, input))
            }
        };
        if by_money.is_some_and(|output| output < LEAST_REPLY) {
            return Err(Exceeded(Resource::Money));
        }
        let limits = [by_tokens, by_money, call.max_output.map(u64::from)];
        let limit = limits.into_iter().flatten().min();
        Ok(limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)))
    }
}

/// Returns the number of output tokens that so much money pays for behind the request.
fn affordable(price: &Price, micro_usd: u64, input: u64) -> u64 {
    // Writing to a cache is the dearest way to read a token.
    let read = price.input.max(price.cache_write.unwrap_or(0.0)).max(price.cache_read.unwrap_or(0.0));
    let left = micro_usd as f64 - (input as f64 * read).ceil();
    if left <= 0.0 {
        return 0;
    }
    if price.output <= 0.0 {
        return u64::MAX;
    }
    (left / price.output).floor() as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use superstep_nodes::model::{ModelReply, Purpose, Usage};

    use super::*;
    use crate::agents::{BackgroundAgent, Delegation, Handover, reserve};

    fn prices() -> Prices {
        Prices::none().with("m", Price { cache_write: Some(3.75), ..Price::per_million(3.0, 15.0) })
    }

    fn call(input_tokens: u64, max_output: Option<u32>) -> Call<'static> {
        Call { model: "m", input_tokens, max_output }
    }

    #[test]
    fn s2_010_167_a_call_that_could_exceed_a_limit_is_refused_or_shortened() {
        let tokens = Meter::new(Limits { tokens: Some(10_000), ..Limits::default() }, prices());
        let spent = |tokens| Spent { tokens, ..Spent::default() };
        assert_eq!(tokens.may_call(&spent(0), call(800, None)), Ok(Some(9_100)));
        assert_eq!(tokens.may_call(&spent(0), call(800, Some(500))), Ok(Some(500)));
        assert_eq!(tokens.may_call(&spent(8_900), call(800, None)), Err(Exceeded(Resource::Tokens)));

        let money = Meter::new(Limits { micro_usd: Some(20_000), ..Limits::default() }, prices());
        let output = money.may_call(&Spent::default(), call(800, None)).unwrap().unwrap();
        let worst = Usage { cache_write_tokens: 900, ..Usage::of(900, output.into()) };
        assert!(prices().of("m").unwrap().micro_usd(&worst) <= 20_000);
        let spent = Spent { micro_usd: 14_000, ..Spent::default() };
        assert_eq!(money.may_call(&spent, call(800, None)), Err(Exceeded(Resource::Money)));

        let time = Meter::new(Limits::default().time(Duration::from_secs(1)), prices());
        let after = |time_ms| Spent { time_ms, ..Spent::default() };
        assert_eq!(time.may_call(&after(999), call(800, None)), Ok(None));
        assert_eq!(time.may_call(&after(1_000), call(800, None)), Err(Exceeded(Resource::Time)));
    }

    #[test]
    fn a_limit_on_money_needs_a_price() {
        let money = Meter::new(Limits { micro_usd: Some(1), ..Limits::default() }, prices());
        assert_eq!(money.check(["m", "local"]), Err(NoPrice { model: "local".into() }));
        let tokens = Meter::new(Limits { tokens: Some(1), ..Limits::default() }, prices());
        assert_eq!(tokens.check(["local"]), Ok(()));
    }

    /// A step of a session or an agent.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// A call with so many tokens, of whose reply's limit the model uses this part in 8.
        Call(u64, u64),
        /// So many agents are started, which work at the same time.
        Batch(usize),
        /// An agent is started that works beside the session.
        Beside,
        /// An agent beside the session works until it has ended.
        Arrival,
        End,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            6 => (1_u64..20_000, 0_u64..=8).prop_map(|(input, part)| Step::Call(input, part)),
            3 => (1_usize..5).prop_map(Step::Batch),
            1 => Just(Step::Beside),
            1 => Just(Step::Arrival),
            3 => Just(Step::End),
        ]
    }

    fn add(ledger: &mut Ledger, more: Ledger) {
        superstep_core::reducer::Addend::try_add(ledger, more).unwrap();
    }

    /// Works with a budget as the nodes do, until the steps end, and returns the calls.
    fn work(meter: &Meter, own: Limits, level: u8, steps: &mut impl Iterator<Item = Step>) -> Ledger {
        let (mut ledger, mut beside) = (Ledger::new(), Vec::<Delegation>::new());
        let agent = || Delegation {
            call: 0,
            agent: String::new(),
            task: String::new(),
            handover: Handover::Awaited,
            limits: Limits::default(),
        };
        while let Some(step) = steps.next() {
            let reserved =
                beside.iter().map(|it| BackgroundAgent { name: String::new(), delegation: it.clone() });
            let spent = reserved.fold(meter.spent(&ledger, 0), |spent, it| spent.and(it.reserved()));
            let left = meter.limits().after(&spent);
            match step {
                Step::Call(input, part) => {
                    if let Ok(most) = meter.may_call(&spent, call(input, None)) {
                        let output = u64::from(most.unwrap_or(1_000)) * part / 8;
                        let reply = ModelReply::new("m", "x").with_usage(Usage::of(input, output));
                        add(&mut ledger, Ledger::of(Purpose::Agent, &reply, 1));
                    }
                }
                Step::Batch(agents) if level < 2 => {
                    let mut batch = vec![agent(); agents];
                    reserve(&mut batch, 0, &left, |_| own);
                    for agent in batch {
                        add(&mut ledger, work(&meter.with_limits(agent.limits), own, level + 1, steps));
                    }
                }
                Step::Beside if level == 0 => {
                    let mut begun = [agent()];
                    reserve(&mut begun, 1, &left, |_| own);
                    beside.extend(begun);
                }
                Step::Arrival => {
                    if let Some(agent) = beside.pop() {
                        add(&mut ledger, work(&meter.with_limits(agent.limits), own, level + 1, steps));
                    }
                }
                Step::End if level > 0 => break,
                Step::Batch(_) | Step::Beside | Step::End => {}
            }
        }
        ledger
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        /// Calls of a session and batches of agents, on three levels and beside the session, in any order. Each spends
        /// all that it may at the most, and none of them more than its share.
        #[test]
        fn s2_184_shares_are_within_the_limits(
            tokens in prop::option::of(1_000_u64..1_000_000),
            micro_usd in prop::option::of(1_000_u64..5_000_000),
            own in prop::option::of(500_u64..200_000),
            steps in prop::collection::vec(step(), 0..60),
        ) {
            let limits = Limits { tokens, micro_usd, time_ms: None };
            let own = Limits { tokens: own, ..Limits::default() };
            let mut steps = steps.into_iter();
            let ledger = work(&Meter::new(limits, prices()), own, 0, &mut steps);
            let spent = Meter::new(limits, prices()).spent(&ledger, 0);
            prop_assert!(tokens.is_none_or(|limit| spent.tokens <= limit), "{spent:?}");
            prop_assert!(micro_usd.is_none_or(|limit| spent.micro_usd <= limit), "{spent:?}");
        }
    }
}
