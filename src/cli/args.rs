//! What a person types.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use clap::{CommandFactory as _, Parser, Subcommand, ValueEnum};
use ringfence::{
    ApprovalPolicy, Code, Durability, Edit, Enforcement, Matches, Mode, Op, Parents, Precondition,
    Removal, Request,
};

use super::workspace::WorkspaceCommand;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  failed: the host refused, nothing is there, the boundary cannot be held
  2  the command line is wrong
  3  denied by the policy; nothing was changed
  4  something is there that was to be left as it is, or it changed meanwhile
exec ends as its command does, 128 above the signal if one killed it, and else with:
  125  it cannot be held to the policy
  126  it cannot be executed
  127  there is no such program

Set RINGFENCE_LOG (for example to `info`) to see decisions and outcomes on standard error.";

/// Changes files beneath a workspace, and nowhere else.
///
/// Paths are absolute or relative to the workspace; `..` is folded by text. Beside the workspace,
/// /tmp and TMPDIR are writable. Reads are not restricted.
#[derive(Debug, Parser)]
#[command(name = "ringfence", version, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(super) policy: PolicyOptions,

    /// Print one JSON object, on standard output or, for an error, on standard error
    #[arg(long, global = true)]
    pub(super) json: bool,

    #[command(subcommand)]
    pub(super) command: Command,
}

/// What is said of the policy, before what the configuration says.
#[derive(Debug, clap::Args)]
pub(super) struct PolicyOptions {
    /// The directory that may be changed [default: the current directory]
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,

    /// How far changes may reach: read-only, workspace-write or danger-full-access
    /// [default: what the configuration says, or workspace-write, and for mcp and acp
    /// read-only]
    #[arg(long, global = true, value_name = "MODE")]
    pub(super) mode: Option<Mode>,

    /// What becomes of a question whether a call may run in a wider mode: ask or never
    /// [default: what the configuration says, or ask]
    #[arg(long, global = true, value_name = "POLICY")]
    pub(super) approvals: Option<ApprovalPolicy>,

    /// The weakest boundary to accept in workspace-write; the strongest there is will be used
    /// [default: checked]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(super) require: Option<Level>,

    /// What is synced to disk before a change is reported
    #[arg(long, global = true, value_name = "WHAT", default_value = "file")]
    pub(super) durability: Synced,

    /// What is not changed all the same, relative to the workspace; can be given more than once
    #[arg(long, global = true, value_name = "PATH")]
    pub(super) protect: Vec<PathBuf>,

    /// The configuration [default: ringfence/config.toml in XDG_CONFIG_HOME or ~/.config, if it is
    /// there]
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    #[command(flatten)]
    File(FileCommand),
    /// Call a tool as an agent would, with the JSON arguments that standard input gives
    ///
    /// Files are changed though nothing has read them in this process. A wider mode, if one is
    /// asked for, is decided on at the terminal.
    Tool {
        /// The tool; without, print all of them with their schemas
        name: Option<String>,
    },
    /// Run a command that can change no more than the policy allows
    ///
    /// It begins in the current directory, with the standard streams of this process, and this
    /// process ends as it does. Nothing else is printed.
    Exec(ExecCommand),
    /// List, add and remove workspaces that are known, which grants nothing
    ///
    /// No other command reads them, and the options of the policy are nothing to them.
    Workspace(WorkspaceCommand),
    #[command(flatten)]
    Serve(ServeCommand),
    /// Say which boundaries this host offers, and why not stronger ones
    Doctor,
    #[command(flatten)]
    Ask(AskCommand),
    #[command(flatten)]
    Pages(PagesCommand),
}

/// Whom the tools are served to.
#[derive(Debug, Subcommand)]
pub(super) enum ServeCommand {
    /// Serve the tools to a client of the Model Context Protocol, on standard input and output
    ///
    /// Whoever starts it for a client says what that may change: without a mode, nothing.
    Mcp(McpCommand),
    /// Serve one client of the Agent Client Protocol on standard input and output, without a model
    ///
    /// A prompt is a call of a tool as JSON, or an array of them: {"tool": .., "arguments": {..}}.
    /// Each session has the working directory that the client names.
    Acp,
}

/// What is asked of the policy. Nothing is changed.
#[derive(Debug, Subcommand)]
pub(super) enum AskCommand {
    /// Say what would come of an operation, by which rule, and what would suffice
    ///
    /// A write is of any bytes, and makes its parents; an edit is of a text that is there; a rename
    /// is to a free name beside the old one; a symlink is one that stays inside.
    Why {
        /// The path
        path: PathBuf,
        /// What would be done there
        #[arg(long, value_name = "OP", default_value = "write")]
        op: AskedOp,
    },
    /// Say what the policy is, where it lets be written, and what holds it
    Policy,
}

/// What is made of the command line itself.
#[derive(Debug, Subcommand)]
pub(super) enum PagesCommand {
    /// Print what completes command lines in a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of one command or of all
    Man {
        /// The command
        command: Option<String>,
    },
}

/// An operation, by the command that does it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum AskedOp {
    /// Reading a file
    Read,
    /// Listing a directory
    #[value(alias = "list")]
    Ls,
    /// Creating or replacing a file
    Write,
    /// Replacing a part of a text file
    Edit,
    /// Creating a directory
    Mkdir,
    /// Removing a file or a symlink
    Rm,
    /// Renaming what is there
    Mv,
    /// Creating a symlink
    Ln,
}

impl From<AskedOp> for Op {
    fn from(op: AskedOp) -> Self {
        match op {
            AskedOp::Read => Self::Read,
            AskedOp::Ls => Self::List,
            AskedOp::Write => Self::Write,
            AskedOp::Edit => Self::Edit,
            AskedOp::Mkdir => Self::CreateDir,
            AskedOp::Rm => Self::Remove,
            AskedOp::Mv => Self::Rename,
            AskedOp::Ln => Self::Symlink,
        }
    }
}

/// What a client is offered, and what it has a say in.
#[derive(Debug, clap::Args)]
pub(super) struct McpCommand {
    /// Offer no commands, only files
    #[arg(long)]
    pub(super) no_bash: bool,
    /// Let commands go on in the background
    #[arg(long, conflicts_with = "no_bash")]
    pub(super) background: bool,
    /// Work in the workspace, whatever roots the client names
    #[arg(long)]
    pub(super) ignore_roots: bool,
    /// Where roots of the client may lie beside the workspace; can be given more than once
    #[arg(long, value_name = "DIR", conflicts_with = "ignore_roots")]
    pub(super) allow_root: Vec<PathBuf>,
}

/// A command to run, and what is taken from it beside what the mode takes.
#[derive(Debug, clap::Args)]
pub(super) struct ExecCommand {
    /// Which network it has [default: that of this machine]
    #[arg(long, value_name = "WHICH")]
    pub(super) net: Option<Net>,
    /// Say what it would be held to, and run nothing
    #[arg(long)]
    pub(super) explain: bool,
    /// The program and its arguments
    #[arg(last = true, value_name = "CMD", required_unless_present = "explain")]
    pub(super) command: Vec<OsString>,
}

/// Which network a command has.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Net {
    /// None
    None,
}

#[derive(Debug, Subcommand)]
pub(super) enum FileCommand {
    /// Create a file or replace it whole, with what standard input gives; make its parents
    Write {
        /// The file
        path: PathBuf,
        /// Refuse what exists
        #[arg(long)]
        new: bool,
    },
    /// Replace a part of a text file, and not one byte around it
    Edit {
        /// The file
        path: PathBuf,
        /// The text to replace, literal; CRLF and LF are the same
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        old: String,
        /// What replaces it, literal
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        new: String,
        /// Replace all matches; without, there must be exactly one
        #[arg(long)]
        all: bool,
    },
    /// Print a file
    Read {
        /// The file
        path: PathBuf,
    },
    /// List a directory
    Ls {
        /// The directory
        #[arg(default_value = ".")]
        path: PathBuf,
    },
    /// Create a directory; one that exists is left as it is
    Mkdir {
        /// The directory
        path: PathBuf,
        /// Make its parents too
        #[arg(short, long)]
        parents: bool,
    },
    /// Rename a file or directory to exactly the new name
    Mv {
        /// What to rename
        from: PathBuf,
        /// Its new name
        to: PathBuf,
        /// Refuse what exists
        #[arg(long)]
        no_replace: bool,
    },
    /// Remove a file, or a symlink itself
    Rm {
        /// What to remove
        path: PathBuf,
        /// Remove a directory and all that is in it
        #[arg(short, long)]
        recursive: bool,
        /// Remove an empty directory
        #[arg(short, long, conflicts_with = "recursive")]
        dir: bool,
    },
    /// Create a symlink
    Ln {
        /// The only kind of link there is
        #[arg(short, long, required = true)]
        symbolic: bool,
        /// Where it points: relative to the link, and beneath the same root
        text: PathBuf,
        /// The link
        path: PathBuf,
    },
}

impl Args {
    /// What was typed; ends the process where that makes no sense.
    pub(crate) fn from_command_line() -> Self {
        let args = Self::parse();
        if let Err(error) = args.check() {
            error.exit();
        }
        args
    }

    fn check(&self) -> Result<(), clap::Error> {
        let PolicyOptions { mode, require, protect, .. } = &self.policy;
        let held = match &self.command {
            _ if *mode != Some(Mode::DangerFullAccess) => None,
            _ if require.is_some() => Some("--require"),
            _ if !protect.is_empty() => Some("--protect"),
            Command::Exec(exec) if exec.net.is_some() => Some("--net"),
            Command::Exec(_) | Command::File(_) | Command::Tool { .. } | Command::Doctor => None,
            Command::Workspace(_) | Command::Serve(_) => None,
            Command::Ask(_) | Command::Pages(_) => None,
        };
        let Some(held) = held else { return Ok(()) };
        let text =
            format!("{held} cannot be held by --mode danger-full-access, which has no boundary");
        Err(Self::command().error(clap::error::ErrorKind::ArgumentConflict, text))
    }
}

/// What to say of a refusal, by its code.
pub(super) type Advice = &'static [(Code, &'static str)];

impl FileCommand {
    /// What would help, if the command is refused.
    pub(super) fn advice(&self) -> Advice {
        match self {
            Self::Write { new: true, .. } => {
                &[(Code::FsNotObserved, "without --new it is replaced")]
            }
            Self::Mv { no_replace: true, .. } => {
                &[(Code::FsNotObserved, "without --no-replace it is replaced")]
            }
            Self::Mkdir { parents: false, .. } => {
                &[(Code::FsNotFound, "with -p its parents are made")]
            }
            Self::Rm { recursive: false, dir: false, .. } => {
                &[(Code::FsNotRegularFile, "with -d an empty directory is removed, with -r any")]
            }
            Self::Write { .. }
            | Self::Read { .. }
            | Self::Edit { .. }
            | Self::Ls { .. }
            | Self::Mkdir { .. }
            | Self::Mv { .. }
            | Self::Rm { .. }
            | Self::Ln { .. } => &[],
        }
    }

    /// What is asked for. The contents of a file are read to their end here, before anything is
    /// done.
    pub(super) fn into_request(self, contents: &mut dyn io::Read) -> io::Result<Request> {
        Ok(match self {
            Self::Write { path, new } => {
                let mut bytes = Vec::new();
                contents.read_to_end(&mut bytes)?;
                let parents = Parents::Create;
                Request::Write { path, contents: bytes, when: unless_there(new), parents }
            }
            Self::Edit { path, old, new, all } => {
                let matches = if all { Matches::All } else { Matches::One };
                Request::Edit { path, edit: Edit { old, new, matches }, seen: None }
            }
            Self::Read { path } => Request::Read { path },
            Self::Ls { path } => Request::List { path },
            Self::Mkdir { path, parents: false } => {
                Request::CreateDir { path, parents: Parents::Require }
            }
            Self::Mkdir { path, parents: true } => {
                Request::CreateDir { path, parents: Parents::Create }
            }
            Self::Mv { from, to, no_replace } => {
                Request::Rename { from, to, when: unless_there(no_replace) }
            }
            Self::Rm { path, recursive: true, .. } => Request::Remove { path, what: Removal::Tree },
            Self::Rm { path, dir: true, .. } => Request::Remove { path, what: Removal::EmptyDir },
            Self::Rm { path, .. } => Request::Remove { path, what: Removal::File },
            Self::Ln { text, path, .. } => Request::Symlink { path, text },
        })
    }
}

fn unless_there(refuse: bool) -> Precondition {
    if refuse { Precondition::Absent } else { Precondition::None }
}

/// How hard the boundary has to be.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Level {
    /// This process resolves paths and proves where they lead
    Checked,
    /// The kernel refuses to resolve a path that leads outside (openat2)
    Kernel,
    /// The acting thread may write nowhere else either (Landlock)
    Confined,
}

impl From<Level> for Enforcement {
    fn from(level: Level) -> Self {
        match level {
            Level::Checked => Self::Checked,
            Level::Kernel => Self::Kernel,
            Level::Confined => Self::Confined,
        }
    }
}

/// What is on disk when a change is reported.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Synced {
    /// Nothing for certain
    None,
    /// The new bytes
    File,
    /// The new bytes and the name
    Full,
}

impl From<Synced> for Durability {
    fn from(synced: Synced) -> Self {
        match synced {
            Synced::None => Self::None,
            Synced::File => Self::File,
            Synced::Full => Self::Full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, clap::error::ErrorKind> {
        Args::try_parse_from(line.split(' ')).map_err(|error| error.kind())
    }

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_mode_and_a_boundary_are_the_configurations_unless_a_person_says_otherwise() {
        let Args { policy, .. } = parse("ringfence read a").unwrap();
        assert_eq!((policy.mode, policy.approvals), (None, None));
        assert!(policy.require.is_none());
        assert_eq!(Durability::from(policy.durability), Durability::File);
    }

    #[test]
    fn a_mode_or_a_level_that_there_is_not_is_a_usage_error() {
        for line in [
            "ringfence read a --mode Read-Only",
            "ringfence read a --mode full",
            "ringfence read a --require unfenced",
            "ringfence read a --require landlock",
            "ringfence read a --durability all",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert!(parse("ringfence ln a b").is_err(), "a hard link is not offered");
        let held_by_nobody = "ringfence read a --mode danger-full-access --require checked";
        assert!(parse(held_by_nobody).unwrap().check().is_err());
        assert!(
            parse("ringfence read a --mode read-only --require checked").unwrap().check().is_ok()
        );
        assert!(parse("ringfence rm -r -d a").is_err());
    }

    #[test]
    fn a_command_to_run_stands_behind_two_dashes_and_is_left_alone() {
        let line = "ringfence exec --net none --protect .git --protect a/b -- ls --mode -- x";
        let Args { command: Command::Exec(exec), policy, .. } = parse(line).unwrap() else {
            panic!("exec")
        };
        assert_eq!(exec.command, ["ls", "--mode", "--", "x"]);
        assert_eq!(policy.protect, [PathBuf::from(".git"), "a/b".into()]);
        assert!(exec.net.is_some());
        for line in ["ringfence exec", "ringfence exec ls", "ringfence exec --net all -- ls"] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert!(parse("ringfence exec --explain").is_ok(), "nothing is run");
        for option in ["--net none", "--protect a"] {
            let line = format!("ringfence --mode danger-full-access exec {option} -- ls");
            assert!(parse(&line).unwrap().check().is_err(), "{line}");
        }
    }

    #[test]
    fn write_reads_its_contents_and_nothing_else_does() {
        for (line, left) in [("ringfence write a", 0), ("ringfence rm a", 3)] {
            let Command::File(command) = parse(line).unwrap().command else { panic!("{line}") };
            let mut contents = &b"abc"[..];
            let request = command.into_request(&mut contents).unwrap();
            assert_eq!(contents.len(), left);
            if let Request::Write { contents, when, parents, .. } = request {
                assert_eq!(
                    (&contents[..], when, parents),
                    (&b"abc"[..], Precondition::None, Parents::Create)
                );
            }
        }
    }
}
