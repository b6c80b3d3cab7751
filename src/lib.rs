//! One sandbox policy for an AI agent's file tools, held by the kernel.
//!
//! A [`PolicyService`] owns mode and workspace; a [`Session`] is what one agent does under them. It
//! takes [`Request`]s with paths as a person types them, alone or in a [`Call`] that says more: who
//! asks, what may be replaced, in which mode. The [`Policy`] of the moment says whether a change
//! may be made and beneath which directories; a fence makes it, and resolves the path in the very
//! call that acts, so there is no moment between a check and its use. What the host gave is said by
//! every [`Receipt`].
//!
//! A [`ToolSet`] is all of that as tools for a model: JSON in, a text and a value out.
//!
//! ```
//! use ringfence::{Code, Mode, Parents, Precondition, Request, Session};
//! # let workspace = format!("target/ringfence-doc-{}", std::process::id());
//! # std::fs::create_dir_all(&workspace)?;
//! let session = Session::builder().workspace(&workspace).mode(Mode::WorkspaceWrite).build()?;
//! let write = |path: &str| Request::Write {
//!     path: path.into(),
//!     contents: b"hello\n".to_vec(),
//!     when: Precondition::None,
//!     parents: Parents::Create,
//! };
//! session.perform(write("notes/hello.txt"))?;
//! let refused = session.perform(write("/outside.txt")).unwrap_err();
//! assert_eq!(refused.code(), Code::FsSandboxDenied);
//! # std::fs::remove_dir_all(&workspace)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This is no sandbox for hostile code inside the process, and no defence against a privileged
//! one. Reads are not fenced.

#![forbid(unsafe_code)]

#[cfg(feature = "acp")]
pub mod acp;
mod aiming;
mod approvals;
mod asking;
mod audit;
mod call;
mod change;
mod commands;
mod effective;
mod error;
mod events;
mod gate;
mod lexical;
mod log;
mod mode;
mod mutations;
mod observation;
mod opening;
mod physical;
mod policy;
mod presets;
mod reader;
mod reading;
mod request;
mod service;
mod session;
mod shell;
mod spelling;
mod survey;
mod target;
mod text;
mod texts;
mod tools;
mod turn;
mod why;
mod workspaces;

pub use approvals::{ApprovalPolicy, UnknownApprovalPolicy};
pub use call::Call;
pub use effective::{Area, AreaRole, CommandPolicy, EffectivePolicy, ProtectedPlace, RunnerSet};
pub use error::{Code, Denial, Error, Inconsistency, Layer, Mismatch, Reason, Result, Unescalated};
pub use events::{
    ApprovalOverride, Event, ModeOverride, ModeSource, approval_override, mode_override,
};
pub use mode::{Mode, UnknownMode};
pub use opening::{SessionBuilder, SessionOptions};
pub use policy::{
    Answer, Approval, Approver, Decision, Escalation, Grant, Policy, Question, Settings,
    ShellLimits, Subject, TempAreas, writable_roots,
};
pub use presets::{CurrentPreset, Preset, Presets};
pub use request::{Entry, Info, Op, Outcome, Request, WriteIntent};
pub use ringfence_platform::process::{
    Cause, Held, Network, NoRunner, NotCovered, PassedOver, Runner, ShellEnforcement, ShellGap,
    Stream, kernel_release, leave_interrupts_to_the_command,
};
pub use ringfence_platform::{
    Assurance, Cancel, Cas, Confinement, Digest, Durability, Effect, Enforcement,
    Error as FenceError, ErrorKind, Follow, Gap, Kind, Lost, Parents, Precondition, Receipt,
    Removal, Resolution, Root, RootId, Roots, Snapshot, Stamp, TargetKey,
};
pub use service::PolicyService;
pub use session::Session;
pub use shell::{
    CommandDenial, Ending, Evidence, Exec, Explained, Job, JobState, Output, Ran, Run, Sandbox,
    Spill,
};
pub use spelling::spelled;
pub use survey::{Boundary, RunnerSurvey, runners, survey};
pub use text::{
    Diff, DiffLimits, Edit, Hunk, Lines, Matches, Newlines, NotText, Part, Text, TextStream,
    Unread, Version,
};
pub use tools::{
    CallContext, Hints, Limits, LimitsBuilder, OutputListener, StandingPolicy, Tool, ToolResult,
    ToolSet, ToolSpec,
};
pub use why::{Rule, Verdict, Why};
pub use workspaces::{
    SessionHeader, Sessions, Workspace, WorkspaceId, WorkspaceStatus, Workspaces,
};

/// Compiles the code of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
