//! Whether a command was denied something, by what it says and what the policy says to that.
//!
//! A command may say anything. So what it says is taken for a hint where to look: a denial is only
//! what names a path that the policy denies and that this user could otherwise change. At the most
//! it leads to a question to the user. What the kernel has recorded needs no word of the command.

use std::fmt;
use std::path::{Path, PathBuf};

use ringfence_platform::process::may_write;

use super::ran::{CommandDenial, Ending, Evidence};
use crate::mode::Mode;

/// What the C library calls `EACCES`, `EPERM` and `EROFS`, in lower case.
const REFUSALS: [&str; 3] =
    ["permission denied", "operation not permitted", "read-only file system"];

/// What a line says that is about an entry and not about what is in it.
const ENTRIES: [&str; 8] =
    ["remove", "unlink", "rename", "move", "create", "link", "mkdir", "rmdir"];

/// How many lines before one that names an error alone may name its path.
const ABOVE: usize = 3;

/// How much of what a command says is looked at: it may say anything, and is not to hold up whoever
/// waits for it.
const MOST_LINES: usize = 500;
const MOST_PATHS: usize = 64;
const LONGEST_PATH: usize = 4096;
const MOST_NAMES: usize = 64;

/// What is known of a command that has ended.
pub(crate) struct Judgement<'a> {
    /// Where it began: what its relative paths are taken against.
    pub(crate) workdir: &'a Path,
    pub(crate) mode: Mode,
    /// The narrowest mode in which a path may be changed.
    pub(crate) needs: &'a dyn Fn(&Path) -> Mode,
}

/// What comes of it.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Judged {
    pub(crate) denied: Option<CommandDenial>,
    /// It speaks of a refusal, and nothing shows whose that was.
    pub(crate) may_be_denied: bool,
}

impl fmt::Debug for Judgement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judgement").field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl Judgement<'_> {
    /// Judges a command by its end, by what it wrote last to its standard error, and by what the
    /// kernel has recorded.
    pub(crate) fn judge(&self, ending: Ending, stderr: &[u8], recorded: &[PathBuf]) -> Judged {
        let Ending::Exited(code) = ending else { return Judged::default() };
        if self.mode == Mode::DangerFullAccess {
            return Judged::default();
        }
        // What is denied of an entry is recorded of its directory.
        let denied = |path: &PathBuf| self.denied_at(path, false);
        if let Some(denied) = recorded.iter().find_map(denied) {
            let denied = CommandDenial { evidence: Evidence::KernelAudit, ..denied };
            return Judged { denied: Some(denied), may_be_denied: false };
        }
        match code {
            0 => return Judged::default(),
            // What cannot be executed is not refused by a policy that is about changes.
            126 | 127 => return Judged { denied: None, may_be_denied: false },
            _ => {}
        }
        let text = String::from_utf8_lossy(stderr);
        let lines: Vec<_> = text.lines().collect();
        let lines = &lines[lines.len().saturating_sub(MOST_LINES)..];
        let (mut may_be_denied, mut left) = (false, MOST_PATHS);
        for (number, line) in lines.iter().enumerate() {
            let Some(refusal) = Refusal::in_line(line) else { continue };
            may_be_denied = true;
            let above = if refusal.names_nothing() { ABOVE.min(number) } else { 0 };
            let near = lines[number - above..number].iter().rev().copied();
            let named = refusal.paths().chain(near.flat_map(last_words));
            let named = named.filter(|path| is_short(path)).take(left);
            let named = named.inspect(|_| left = left.saturating_sub(1));
            if let Some(denied) = named.filter_map(|path| self.denied(path, refusal.entry)).next() {
                return Judged { denied: Some(denied), may_be_denied: false };
            }
        }
        Judged { denied: None, may_be_denied }
    }

    /// The denial of this path, if the policy denies it and the host does not.
    fn denied(&self, path: &str, of_entry: bool) -> Option<CommandDenial> {
        self.denied_at(Path::new(path), of_entry)
    }

    fn denied_at(&self, path: &Path, of_entry: bool) -> Option<CommandDenial> {
        let path = self.workdir.join(path);
        let needed = (self.needs)(&path);
        let denies = needed > self.mode && may_write(&path, of_entry);
        let (evidence, narrowest) = (Evidence::PolicyReplay, Some(needed));
        denies.then_some(CommandDenial { path: Some(path), evidence, narrowest })
    }
}

/// A line that says that something was refused.
#[derive(Debug)]
struct Refusal<'a> {
    /// What is before the words of it.
    before: &'a str,
    /// What is after them.
    after: &'a str,
    /// It is about an entry of a directory.
    entry: bool,
}

impl<'a> Refusal<'a> {
    fn in_line(line: &'a str) -> Option<Self> {
        let lower = line.to_ascii_lowercase();
        let found = REFUSALS.iter().filter_map(|words| Some((lower.rfind(words)?, words.len())));
        let (at, length) = found.max()?;
        let (before, after) = (&line[..at], &line[at + length..]);
        // What follows in parentheses says of what the permission was: of a public key, say.
        let is_of_something_else = after.starts_with(" (") && !after.starts_with(" (os error");
        let entry = ENTRIES.iter().any(|word| lower[..at].contains(word));
        (!is_of_something_else).then_some(Self { before, after, entry })
    }

    /// The words alone, perhaps with a number.
    fn names_nothing(&self) -> bool {
        self.before.trim().is_empty()
    }

    /// What it may name: what is quoted, and what stands right before the words.
    fn paths(&self) -> impl Iterator<Item = &'a str> {
        let quoted = quoted(self.before).into_iter().chain(quoted(self.after));
        quoted.chain(last_words(self.before.trim_end().trim_end_matches([':', ',', '-'])))
    }
}

/// Whether it may be a path that the system takes.
fn is_short(path: &str) -> bool {
    path.len() < LONGEST_PATH && path.split('/').count() <= MOST_NAMES
}

/// The last part between colons, and its last word.
fn last_words(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim();
    let part = text.rsplit(": ").next().unwrap_or(text).trim();
    let word = part.rsplit(' ').next().unwrap_or(part);
    [part, word].into_iter().filter(|path| !path.is_empty())
}

/// What stands in quotes.
fn quoted(text: &str) -> Vec<&str> {
    let pairs = [('\'', '\''), ('"', '"'), ('`', '\''), ('\u{2018}', '\u{2019}')];
    let within = |(open, close): (char, char)| {
        let from = text.find(open)? + open.len_utf8();
        let length = text[from..].rfind(close)?;
        Some(&text[from..from + length])
    };
    pairs.into_iter().filter_map(within).filter(|path| !path.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is judged where everything but `/tmp` is denied, by the first path that is denied.
    fn denied(stderr: &str) -> Option<PathBuf> {
        judged(Ending::Exited(1), stderr).denied.and_then(|denial| denial.path)
    }

    fn judged(ending: Ending, stderr: &str) -> Judged {
        judged_with(ending, stderr, &[])
    }

    fn judged_with(ending: Ending, stderr: &str, recorded: &[PathBuf]) -> Judged {
        let needs = |path: &Path| match path.starts_with("/tmp") {
            true => Mode::WorkspaceWrite,
            false => Mode::DangerFullAccess,
        };
        let workdir = &std::env::temp_dir();
        let judgement = Judgement { workdir, mode: Mode::WorkspaceWrite, needs: &needs };
        judgement.judge(ending, stderr.as_bytes(), recorded)
    }

    /// A directory outside of it in which this user may write.
    fn own() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap()
    }

    #[test]
    fn what_the_kernel_has_recorded_is_evidence_whatever_the_command_says() {
        let recorded = [PathBuf::from("/tmp"), own()];
        for (code, says) in [(0, String::new()), (1, format!("{:?}: Permission denied", own()))] {
            let judged = judged_with(Ending::Exited(code), &says, &recorded);
            let denied = judged.denied.expect("it was recorded");
            assert_eq!((denied.path, denied.evidence), (Some(own()), Evidence::KernelAudit));
            assert_eq!(denied.narrowest, Some(Mode::DangerFullAccess));
        }
    }

    #[test]
    fn what_is_recorded_of_a_place_that_the_policy_allows_or_the_host_refuses_is_no_evidence() {
        let recorded = ["/tmp", "/no such directory/x"].map(PathBuf::from);
        assert_eq!(judged_with(Ending::Exited(0), "", &recorded), Judged::default());
        assert_eq!(judged_with(Ending::TimedOut, "", &[own()]), Judged::default());
    }

    #[test]
    fn a_path_that_is_named_and_denied_is_evidence_in_the_words_of_many_programs() {
        let new = own().join("new file");
        let path = new.display();
        for line in [
            format!("bash: line 1: {path}: Permission denied"),
            format!("touch: cannot touch '{path}': Read-only file system"),
            format!("mkdir: cannot create directory \u{2018}{path}\u{2019}: Permission denied"),
            format!("PermissionError: [Errno 13] Permission denied: '{path}'"),
            format!("Error: EACCES: permission denied, open '{path}'"),
            format!("cp: cannot create regular file \"{path}\": Operation not permitted"),
            format!(
                "warning\nerror: failed to open: {path}\n\nCaused by:\n  Permission denied (os error 13)"
            ),
        ] {
            assert_eq!(denied(&line).as_ref(), Some(&new), "{line}");
        }
    }

    #[test]
    fn what_the_policy_allows_or_the_host_refuses_or_is_about_something_else_is_no_denial() {
        for line in [
            "ssh: git@example.org: Permission denied (publickey).",
            "bash: /tmp/x: Permission denied",
            "test failed: expected 'Read-only file system'",
            "sandbox: permission denied",
            "kill: (1) - Operation not permitted",
        ] {
            assert_eq!(denied(line), None, "{line}");
        }
    }

    #[test]
    fn what_a_command_says_does_not_hold_anybody_up() {
        let endless = format!("'{}': Permission denied\n", "/a".repeat(100_000));
        let many = "/a/b/c d/e: Permission denied\n".repeat(100_000);
        let looks = std::cell::Cell::new(0);
        let needs = |path: &Path| {
            looks.set(looks.get() + 1);
            assert!(path.as_os_str().len() <= LONGEST_PATH + 100);
            Mode::WorkspaceWrite
        };
        let workdir = &std::env::temp_dir();
        let judgement = Judgement { workdir, mode: Mode::WorkspaceWrite, needs: &needs };
        let text = endless + &many;
        assert!(judgement.judge(Ending::Exited(1), text.as_bytes(), &[]).may_be_denied);
        assert!(looks.get() <= MOST_PATHS, "{} looks", looks.get());
    }

    #[test]
    fn only_what_ended_by_itself_and_failed_is_judged() {
        let line = format!("bash: {}: Permission denied", own().join("x").display());
        for ending in [Ending::Exited(0), Ending::Signalled(9), Ending::TimedOut, Ending::Aborted] {
            assert_eq!(judged(ending, &line), Judged::default(), "{ending:?}");
        }
        assert!(judged(Ending::Exited(2), &line).denied.is_some());
        let words = judged(Ending::Exited(1), "Permission denied");
        assert!(words.denied.is_none() && words.may_be_denied);
    }
}
