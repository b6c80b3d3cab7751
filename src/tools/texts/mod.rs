//! All that a model reads, made of data. Nothing of it is ever read back to decide something.

mod answers;
mod commands;
mod descriptions;
mod failures;
mod policy;

#[cfg(test)]
mod tests;

pub(super) use answers::{answer, cut_mark};
pub(super) use descriptions::{description, parameter};
pub(super) use failures::{Asking, Standing, failure};
pub(super) use policy::standing;
