//! What a model is told of the tools before it calls one.

use super::super::key::Key;
use super::super::limits::Limits;
use super::super::schema::{Background, Offer, Pair};
use super::super::tool::Tool;

/// What `tool` does and how it is used.
pub(in super::super) fn description(tool: Tool, limits: &Limits, offer: Offer) -> String {
    let Limits { read_limit, read_max_line_length, list_limit, .. } = limits;
    match tool {
        Tool::Read => format!(
            "Shows lines of a UTF-8 text file, each with its number. Use it rather than a shell \
             command to look at a file. One answer has at most {read_limit} lines, and \
             {read_max_line_length} chars of a line; its last line says where to go on."
        ),
        Tool::Write => "Creates a file, or replaces all that is in one. Missing directories on \
                        the way are made. Read a file before you overwrite it, and prefer `edit` \
                        where only a part of it changes."
            .into(),
        Tool::Edit => "Replaces a text in a file by another. Both are literal: no patterns, no \
                       trimming, and no line numbers. `old_string` must be in the file exactly \
                       once, unless `replace_all` is set. Read the file first. All around the \
                       change stays as it is, line ends too."
            .into(),
        Tool::List => format!(
            "Lists a directory, one level deep and hidden entries too: each with its kind, a file \
             with its size. Use it rather than a shell command. One answer has at most \
             {list_limit} entries; its last line says where to go on."
        ),
        Tool::Bash => bash(offer),
        Tool::BashOutput => "Shows what a command in the background has written since the last \
                             look, and how it ended if it has."
            .into(),
        Tool::BashKill => "Ends a command in the background and all that it started, and shows \
                           what it has written since the last look."
            .into(),
    }
}

fn bash(Offer { pair, background }: Offer) -> String {
    let asking = match pair {
        Pair::Advertised => {
            " Try without a wider mode first. If that was denied and the command is needed, retry \
             it once, in the same turn, with `sandbox_permissions` and `justification`; never on \
             speculation. A rejection is final."
        }
        Pair::Absent => "",
    };
    let going_on = match background {
        Background::Offered => {
            " With `run_in_background` the answer is the name of a job at once: `bash_output` \
             shows what it writes and how it ends, `bash_kill` ends it."
        }
        Background::Absent => "",
    };
    format!(
        "Runs a command line with bash. Each call is a fresh shell: of an earlier one only files \
         are left. Its standard input is empty, and all that it starts ends with it. Use `read` \
         rather than a command to look at a file, and `edit` to change one.\n\nThe sandbox's mode \
         says which files it may change. A denial is policy, and not to be worked \
         around.{asking}{going_on}"
    )
}

/// What one argument of `tool` means.
pub(in super::super) fn parameter(tool: Tool, key: Key) -> &'static str {
    match key {
        Key::FilePath => "The file: absolute, or relative to the workspace.",
        Key::Path => "The directory: absolute, or relative to the workspace.",
        Key::Offset => match tool {
            Tool::Read
            | Tool::Write
            | Tool::Edit
            | Tool::Bash
            | Tool::BashOutput
            | Tool::BashKill => "The first line that is shown, from 1.",
            Tool::List => "The first entry that is shown, from 1.",
        },
        Key::Limit => match tool {
            Tool::Read
            | Tool::Write
            | Tool::Edit
            | Tool::Bash
            | Tool::BashOutput
            | Tool::BashKill => "The most lines that are shown.",
            Tool::List => "The most entries that are shown.",
        },
        Key::Content => "All of the new content, exactly as it is to be.",
        Key::OldString => "The text to replace, with enough around it to be found exactly once.",
        Key::NewString => "What replaces it; another text than the old one.",
        Key::ReplaceAll => "Replaces each place where the old text is, and not just one.",
        Key::Command => "The command line.",
        Key::Description => "What it does, in a few words for whoever watches.",
        Key::TimeoutMs => {
            "After how many milliseconds it is ended; no longer than the session allows. Not in \
             the background."
        }
        Key::Workdir => {
            "The directory it begins in: absolute, or relative to the workspace, which is the \
             default."
        }
        Key::RunInBackground => "Has the command go on while you do something else.",
        Key::Job => "The name of the job, as `bash` gave it.",
        Key::SandboxPermissions => {
            "Asks that this one call run in a wider mode. Only to retry once, in the same turn, \
             what the sandbox has just denied, and never on speculation. Needs `justification`. \
             The user decides."
        }
        Key::Justification => {
            "One sentence that tells the user why this call needs the wider mode. Only together \
             with `sandbox_permissions`."
        }
    }
}
