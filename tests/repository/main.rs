//! Checks of the files of this repository.

mod behaviour_table;
mod builds;
mod house_rules;
mod recipes;
mod requirements;
