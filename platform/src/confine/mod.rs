//! A thread that can write nowhere else, and how changes are handed to it.

mod landlock;
mod mounts;
#[cfg(test)]
mod tests;
mod worker;

pub(crate) use landlock::{assess, landlock};
pub(crate) use worker::{Answer, PAUSE, Worker, answered};
