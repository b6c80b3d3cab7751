//! Systems for which there is no fence.

compile_error!("ringfence has a fence for Linux only so far");
