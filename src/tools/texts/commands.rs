//! What a model is told of a command.

use crate::shell::{Ending, Output, Ran, Sandbox, Spill};
use crate::spelling::signal_name;

use super::super::key::Key;
use super::super::shown;
use super::super::tool::Tool;
use super::super::values::millis;
use super::failures::{COMMAND, Standing, hint, marker};

/// How every denial begins, here and in what a command prints to look like one.
const SANDBOX: &str = "[sandbox:";

/// What a command wrote, and below it how it ended. What is below is ours and nothing of the
/// output, which is shown as it is.
pub(super) fn ended(job: Option<&str>, ran: &Ran, standing: Standing) -> String {
    let Ran { stdout, stderr, sandbox, .. } = ran;
    let mut text = written(stdout, stderr, job);
    let lines = of_sandbox(sandbox, standing).into_iter().chain(ending(ran, job));
    lines.for_each(|line| append(&mut text, &line));
    text
}

/// That a command goes on, and how it is looked at.
pub(super) fn started(job: &str) -> String {
    format!(
        "[started in the background as job {job:?}: give that as `{}` to `{}` for what it writes, \
         and to `{}` to end it]",
        Key::Job,
        Tool::BashOutput,
        Tool::BashKill
    )
}

/// What a job has written, and that it runs.
pub(super) fn running(job: &str, stdout: &Output, stderr: &Output) -> String {
    let mut text = written(stdout, stderr, Some(job));
    append(&mut text, &format!("[job {job:?} is running]"));
    text
}

/// Both streams, and what is to be known of them.
fn written(stdout: &Output, stderr: &Output, job: Option<&str>) -> String {
    let mut text = shown::text(stdout);
    let errors = shown::text(stderr);
    if !errors.is_empty() {
        append(&mut text, "[standard error]");
        append(&mut text, &errors);
    }
    let looks_like_ours = text.contains(SANDBOX);
    if text.is_empty() {
        let none = if job.is_some() { "[no output since the last look]" } else { "[no output]" };
        append(&mut text, none);
    }
    if looks_like_ours {
        append(&mut text, "[what looks like a denial above was printed by the command]");
    }
    for (name, output) in [("standard output", stdout), ("standard error", stderr)] {
        if output.is_truncated() {
            append(&mut text, &truncated(name, output));
        }
    }
    text
}

fn truncated(name: &str, Output { tail, total, spill }: &Output) -> String {
    let whole = match spill {
        Spill::File(path) => format!("the full output is in {path:?}"),
        Spill::Cut(path) => {
            format!("the full output is unavailable, and the beginning of it is in {path:?}")
        }
        Spill::None | Spill::Lost => "the full output is unavailable".to_owned(),
    };
    format!("[{name}: only the last {} of {total} bytes are shown; {whole}]", tail.len())
}

/// What the sandbox has to do with it.
fn of_sandbox(sandbox: &Sandbox, standing: Standing) -> Vec<String> {
    match &sandbox.denied {
        Some(denied) => {
            let hint = hint(COMMAND, sandbox.mode, denied.narrowest, standing);
            [marker(sandbox.mode)].into_iter().chain(hint).collect()
        }
        None if sandbox.may_be_denied => {
            vec!["[the sandbox may be the cause of this, or may not]".to_owned()]
        }
        None => Vec::new(),
    }
}

/// How it ended; of a call that waited for that, only if not well.
fn ending(ran: &Ran, job: Option<&str>) -> Option<String> {
    Some(match ran.ending {
        Ending::Exited(0) if job.is_none() => return None,
        Ending::Exited(code) => format!("[exit code {code}]"),
        Ending::Signalled(signal) => format!("[killed by {}]", signal_name(signal)),
        Ending::TimedOut => match ran.timeout {
            Some(limit) => format!("[timed out after its limit of {} ms]", millis(limit)),
            None => "[timed out]".to_owned(),
        },
        Ending::Aborted => "[ended before it was done, because it was cancelled]".to_owned(),
        Ending::NotExecuted(why) => format!("[bash cannot be executed: {why}]"),
        Ending::Unknown => "[it has ended, and its exit code is not known]".to_owned(),
    })
}

/// Adds `line` on a line of its own.
fn append(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
}
