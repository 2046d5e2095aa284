//! A production agent: it asks where it must, stays within its permissions, its context and its budget, and can be
//! stopped, resumed and taken back at any step.
//!
//! | module | holds |
//! |---|---|
//! | [`exit`] | the conditions under which the loop ends or continues |
//! | [`permission`] | which calls of tools are allowed, denied or asked about, and why |
//! | [`recovery`] | the next step after a failed model call, as a pure function |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

pub mod exit;
pub mod permission;
pub mod recovery;
