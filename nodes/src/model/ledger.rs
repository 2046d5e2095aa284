//! The model calls of a run, by purpose and model, with their usage.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep_core::reducer::{Addend, Overflow};

use super::{ModelReply, Prices, Purpose, Usage};

/// The model calls by purpose and model, with their usage.
///
/// A field of this type has the reducer `Sum`: each node adds its own calls. Counted are replies; a call that failed
/// adds nothing. What it all cost is asked of it with the [`Prices`] of the day, so a price that was wrong spoils
/// nothing.
///
/// ```
/// use superstep_core::reducer::Addend;
/// use superstep_nodes::model::{Ledger, ModelReply, Price, Prices, Purpose, Usage};
///
/// let reply = ModelReply::new("claude-x", "Paris.").with_usage(Usage::of(1_000, 200));
/// let mut ledger = Ledger::of(Purpose::Agent, &reply, 850);
/// ledger.try_add(Ledger::of(Purpose::Evaluator, &reply, 600))?;
/// assert_eq!((ledger.total().calls, ledger.total().usage.input_tokens), (2, 2_000));
///
/// let prices = Prices::none().with("claude-x", Price::per_million(3.0, 15.0));
/// assert_eq!(ledger.cost(&prices).micro_usd, 12_000);
/// # Ok::<(), superstep_core::reducer::Overflow>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Ledger(BTreeMap<Purpose, BTreeMap<String, Account>>);

/// The sum of the calls of one model for one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Account {
    /// The number of replies.
    pub calls: u64,
    /// The tokens used.
    #[serde(flatten)]
    pub usage: Usage,
    /// The time they took, in milliseconds: from the request to the end of the reply.
    pub elapsed_ms: u64,
}

/// The cost of calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Millionths of a US dollar, rounded up for each account.
    pub micro_usd: u64,
    /// The models that were used and have no price, so that nothing of theirs is in the sum.
    pub without_price: Vec<String>,
}

impl Ledger {
    /// Makes a ledger without calls.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Makes a ledger of one call.
    pub fn of(purpose: Purpose, reply: &ModelReply, elapsed_ms: u64) -> Self {
        let account = Account { calls: 1, usage: reply.usage, elapsed_ms };
        Self([(purpose, [(reply.model.clone(), account)].into())].into())
    }

    /// Returns the accounts by purpose and model, in order.
    pub fn accounts(&self) -> impl Iterator<Item = (Purpose, &str, &Account)> {
        let of_purpose = |(purpose, models): (&Purpose, _)| (*purpose, models);
        self.0.iter().map(of_purpose).flat_map(|(purpose, models): (_, &BTreeMap<String, Account>)| {
            models.iter().map(move |(model, account)| (purpose, model.as_str(), account))
        })
    }

    /// Returns what all calls for a purpose come to.
    pub fn purpose(&self, purpose: Purpose) -> Account {
        self.sum(|held| held == purpose)
    }

    /// Returns what all calls come to.
    pub fn total(&self) -> Account {
        self.sum(|_| true)
    }

    /// Returns what all calls cost.
    pub fn cost(&self, prices: &Prices) -> Cost {
        let mut cost = Cost::default();
        for (_, model, account) in self.accounts() {
            match prices.of(model) {
                Some(price) => {
                    cost.micro_usd = cost.micro_usd.saturating_add(price.micro_usd(&account.usage))
                }
                None if cost.without_price.iter().any(|held| held == model) => {}
                None => cost.without_price.push(model.to_owned()),
            }
        }
        cost
    }

    fn sum(&self, counts: impl Fn(Purpose) -> bool) -> Account {
        let mut sum = Account::default();
        for (_, _, account) in self.accounts().filter(|(purpose, _, _)| counts(*purpose)) {
            sum = sum.saturating_add(*account);
        }
        sum
    }
}

impl Account {
    fn saturating_add(self, more: Self) -> Self {
        let mut sum = self;
        if sum.try_add(more).is_err() {
            sum = Self { calls: u64::MAX, usage: Usage::of(u64::MAX, u64::MAX), elapsed_ms: u64::MAX };
        }
        sum
    }
}

impl Addend for Account {
    fn try_add(&mut self, more: Self) -> Result<(), Overflow> {
        let mut sum = *self;
        sum.calls.try_add(more.calls)?;
        sum.usage.try_add(more.usage)?;
        sum.elapsed_ms.try_add(more.elapsed_ms)?;
        *self = sum;
        Ok(())
    }
}

impl Addend for Ledger {
    fn try_add(&mut self, more: Self) -> Result<(), Overflow> {
        let mut sum = self.clone();
        for (purpose, models) in more.0 {
            let held = sum.0.entry(purpose).or_default();
            for (model, account) in models {
                held.entry(model).or_default().try_add(account)?;
            }
        }
        *self = sum;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Price;
    use super::*;

    fn call(purpose: Purpose, model: &str, input: u64) -> Ledger {
        Ledger::of(purpose, &ModelReply::new(model, "x").with_usage(Usage::of(input, 1)), 10)
    }

    #[test]
    fn calls_are_distinguished_by_purpose_and_model() {
        let mut ledger = call(Purpose::Agent, "a", 5);
        for more in
            [call(Purpose::Agent, "b", 7), call(Purpose::Agent, "a", 1), call(Purpose::Ranker, "a", 2)]
        {
            ledger.try_add(more).unwrap();
        }
        assert_eq!(ledger.purpose(Purpose::Agent).usage, Usage::of(13, 3));
        assert_eq!((ledger.total().calls, ledger.total().elapsed_ms), (4, 40));
        let listed: Vec<_> =
            ledger.accounts().map(|(purpose, model, account)| (purpose, model, account.calls)).collect();
        assert_eq!(listed, [(Purpose::Agent, "a", 2), (Purpose::Agent, "b", 1), (Purpose::Ranker, "a", 1)]);
        let json = serde_json::to_value(&ledger).unwrap();
        assert_eq!(json["agent"]["b"]["input_tokens"], 7);
        assert_eq!(serde_json::from_value::<Ledger>(json).unwrap(), ledger);
    }

    #[test]
    fn a_model_without_a_price_is_named_once() {
        let mut ledger = call(Purpose::Agent, "a", 1_000_000);
        ledger.try_add(call(Purpose::Agent, "b", 1)).unwrap();
        ledger.try_add(call(Purpose::Ranker, "b", 1)).unwrap();
        let cost = ledger.cost(&Prices::none().with("a", Price::per_million(2.0, 0.0)));
        assert_eq!(cost, Cost { micro_usd: 2_000_000, without_price: vec!["b".into()] });
    }

    #[test]
    fn too_much_is_an_error_and_changes_nothing() {
        let mut ledger = call(Purpose::Agent, "a", u64::MAX);
        let before = ledger.clone();
        assert!(ledger.try_add(call(Purpose::Agent, "a", 1)).is_err());
        assert_eq!(ledger, before);
    }
}
