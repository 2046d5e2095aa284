//! The passes, in their order.

use std::fmt;

use super::draft::Draft;
use super::{boundary, fold, micro, result_budget, snip};

/// One of the passes over a conversation. There are those of [`PASSES`], and no others can be made.
pub struct Pass {
    name: &'static str,
    pub(super) run: fn(&mut Draft<'_>),
}

/// The passes, in the order in which they run before each request. Each works on what those before it left:
///
/// | pass | for |
/// |---|---|
/// | boundary | the others do not look at what a compaction covers |
/// | result budget | what the others count has its final size |
/// | snip | no message is shortened that goes anyway |
/// | micro | results that are out of date are not summarised by a fold |
/// | fold | a conversation is compacted only where folds do not help |
pub const PASSES: [Pass; 5] = [BOUNDARY, RESULT_BUDGET, SNIP, MICRO, FOLD];

const BOUNDARY: Pass = Pass { name: "boundary", run: boundary::run };
const RESULT_BUDGET: Pass = Pass { name: "result_budget", run: result_budget::run };
const SNIP: Pass = Pass { name: "snip", run: snip::run };
const MICRO: Pass = Pass { name: "micro", run: micro::run };
const FOLD: Pass = Pass { name: "fold", run: fold::run };

impl Pass {
    /// Returns the name of the pass.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl fmt::Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pass").field(&self.name).finish()
    }
}
