//! Checks of the files of this repository.

mod behaviour_table;
mod house_rules;
mod recipes;
mod requirements;
mod shared_build;
