//! What each runner promises, on every one that this host has.

mod apart;
mod beginning;
mod choice;
mod ending;
mod lack;
mod namespaces;
mod protection;
mod recording;
mod support;
mod writes;
