//! Webhooks: the addresses that may be called, and the calls.

#[cfg(feature = "webhooks")]
mod caller;

#[cfg(feature = "webhooks")]
pub(crate) use caller::{Webhooks, host};
#[cfg(not(feature = "webhooks"))]
pub(crate) use missing::Webhooks;

#[cfg(not(feature = "webhooks"))]
mod missing {
    use crate::wire::Failure;

    /// Without the feature `webhooks` no address is called.
    #[derive(Clone, Default)]
    pub(crate) struct Webhooks {}

    impl Webhooks {
        pub(crate) fn new(_: &[String]) -> Result<Self, String> {
            Ok(Self {})
        }

        pub(crate) fn check(&self, _: &str) -> Result<(), Failure> {
            let detail = "webhook: this server was built without webhooks (feature `webhooks`); wait for the run with join";
            Err(Failure::invalid(detail))
        }
    }
}
