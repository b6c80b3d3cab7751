//! A server of the Model Context Protocol on standard input and output: parses, calls the tools of
//! the library, renders. Decides nothing.

mod approver;
mod calls;
mod end;
mod inbox;
mod input;
mod lines;
mod message;
mod options;
mod output;
mod place;
mod progress;
mod question;
mod seat;
mod serve;
mod server;
mod transport;
mod uri;

pub(crate) use options::{ClientRoots, Options, Refresh};
pub(crate) use serve::serve;
