//! The ingress of Restate, through which a server hands its runs over.

#[cfg(feature = "restate")]
mod client;

#[cfg(feature = "restate")]
pub(crate) use client::{Answer, Ingress};
#[cfg(not(feature = "restate"))]
pub(crate) use missing::Ingress;

#[cfg(not(feature = "restate"))]
mod missing {
    use superstep_core::records::RunRow;

    /// Without the feature `restate` there is none.
    #[derive(Clone, Debug)]
    pub(crate) enum Ingress {}

    impl Ingress {
        pub(crate) fn cancel_later(&self, _: RunRow) {
            match *self {}
        }
    }
}
