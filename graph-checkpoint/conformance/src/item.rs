//! The items of the suite, as data.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use super::bench::Bench;
use super::verdict::Verdict;

/// A requirement for stores.
pub struct Item {
    /// Its name, which never changes: the group, a dot and the requirement, such as `commit.parent_is_recorded`.
    pub name: &'static str,
    /// The group of the requirement, with which its name begins.
    pub group: &'static str,
    /// The required behaviour, as a sentence.
    pub checks: &'static str,
    pub(super) check: Check,
}

pub(super) type Check = for<'b> fn(&'b Bench<'b>) -> Checking<'b>;
pub(super) type Checking<'b> = Pin<Box<dyn Future<Output = Verdict> + Send + 'b>>;

impl fmt::Debug for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item").field("name", &self.name).field("checks", &self.checks).finish_non_exhaustive()
    }
}

/// Defines the items of a group: functions of its file, each with the behaviour that it checks.
macro_rules! items {
    ($group:literal: $($function:ident $checks:literal)*) => {
        pub(super) const ITEMS: &[$crate::item::Item] = &[$(
            $crate::item::Item {
                name: concat!($group, ".", stringify!($function)),
                group: $group,
                checks: $checks,
                check: |bench| Box::pin($function(bench)),
            },
        )*];
    };
}
pub(super) use items;
