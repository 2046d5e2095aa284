//! The reasoning that is requested from a model.

/// The reasoning that is requested from a model. The provider never shows it unencrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reasoning {
    /// None: models without reasoning refuse requests for it.
    Off,
    /// Encrypted reasoning, which is sent back to the model that produced it.
    Sealed,
    /// Encrypted reasoning, with a summary for people who watch.
    Summarised,
}

impl Reasoning {
    /// Returns the reasoning that models of this name support: models before GPT-5 have none, except the o series.
    pub(super) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model);
        let name = name.strip_prefix("ft:").unwrap_or(name);
        let thinks = !["gpt-3.5", "gpt-4", "chatgpt-"].iter().any(|before| name.starts_with(before));
        if thinks { Self::Sealed } else { Self::Off }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_do_not_think_are_not_asked_for_thoughts() {
        for model in ["gpt-5", "o4-mini", "gpt-oss-120b", "a-new-one"] {
            assert_eq!(Reasoning::of(model), Reasoning::Sealed, "{model}");
        }
        for model in ["gpt-4.1", "gpt-4o-mini", "ft:gpt-4o:org", "openai/gpt-3.5-turbo", "chatgpt-4o-latest"]
        {
            assert_eq!(Reasoning::of(model), Reasoning::Off, "{model}");
        }
    }
}
