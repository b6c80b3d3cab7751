//! What a person or a program gets to see.

use std::error::Error as StdError;
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use ringfence::{
    Assurance, Code, Denial, Enforcement, Entry, Error, Kind, Lost, Outcome, Receipt, Snapshot,
    spelled,
};
use serde_json::{Map, Value, json};

use super::Failure;
use super::args::Advice;

/// Prints in the form that was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renderer {
    pub(super) json: bool,
}

impl Renderer {
    /// Prints what came of a request. For people a change is quiet, unless there is something that
    /// they may not expect.
    pub(super) fn outcome(
        self,
        outcome: Outcome,
        assurance: Option<&Assurance>,
    ) -> Result<(), Failure> {
        match outcome {
            Outcome::Opened { snapshot: Snapshot { mut file, .. }, .. } if !self.json => {
                let mut out = io::stdout().lock();
                io::copy(&mut file, &mut out).and_then(|_| out.flush()).map_err(Failure::Output)
            }
            Outcome::Opened { path, snapshot: Snapshot { mut file, .. } } => {
                let mut contents = Vec::new();
                file.read_to_end(&mut contents).map_err(Failure::Input)?;
                let mut object = spelled("path", path.as_os_str().as_encoded_bytes());
                object.extend(spelled("contents", &contents));
                self.object(object)
            }
            Outcome::Listed { entries, .. } if !self.json => {
                let lines: String = entries.iter().map(|entry| line(&entry.name)).collect();
                print(lines.as_bytes())
            }
            Outcome::Listed { path, entries } => {
                let mut object = spelled("path", path.as_os_str().as_encoded_bytes());
                object.insert("entries".into(), entries.iter().map(listed).collect());
                self.object(object)
            }
            Outcome::Changed { path, receipt } if self.json => {
                let mut object = spelled("path", path.as_os_str().as_encoded_bytes());
                object.extend(received(&receipt));
                self.object(object)
            }
            Outcome::Written { path, receipt, replaced, .. } if self.json => {
                let mut object = spelled("path", path.as_os_str().as_encoded_bytes());
                object.extend(received(&receipt));
                object.extend(replaced.map(|replaced| ("replaced".to_owned(), replaced.into())));
                self.object(object)
            }
            Outcome::Changed { path, receipt } | Outcome::Written { path, receipt, .. } => {
                warn(&path, &receipt, assurance);
                Ok(())
            }
            Outcome::Text { .. } | _ => Ok(()),
        }
    }

    /// Prints one object on a line of its own.
    pub(super) fn object(self, object: Map<String, Value>) -> Result<(), Failure> {
        print(format!("{}\n", Value::Object(object)).as_bytes())
    }

    /// Says on standard error, in one line, what was refused or failed, by whom, and what would
    /// suffice.
    pub(super) fn failure(self, failure: &Failure) {
        let line = match failure {
            Failure::Request(error, _) if self.json => refusal(error).to_string(),
            Failure::Configuration(_) if self.json => {
                let code = Code::PolicyInvalid.as_str();
                json!({ "code": code, "message": failure.to_string() }).to_string()
            }
            Failure::Input(error) if self.json => io_refusal("cannot read the input", error),
            Failure::Output(error) if self.json => io_refusal("cannot print the output", error),
            Failure::Request(..)
            | Failure::Configuration(_)
            | Failure::Input(_)
            | Failure::Output(_) => format!("ringfence: {failure}"),
        };
        // There is nowhere left to say that standard error is closed.
        drop(writeln!(io::stderr(), "{line}"));
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error, advice) => f.write_str(&sentence(error, advice)),
            Self::Configuration(unusable) => write!(f, "{unusable}"),
            Self::Input(error) => write!(f, "cannot read the input: {error}"),
            Self::Output(error) => write!(f, "cannot print the output: {error}"),
        }
    }
}

pub(super) fn print(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(Failure::Output)
}

/// Says what a person may not expect of a change.
fn warn(path: &Path, receipt: &Receipt, assurance: Option<&Assurance>) {
    let level = receipt.enforcement;
    if level != Enforcement::Unfenced && level < Enforcement::Confined {
        let gaps = assurance.map(|found| tokens(&found.gaps)).unwrap_or_default();
        tell(&format!("the boundary is {level} and not confined ({gaps}); see doctor"));
    }
    if !receipt.not_kept.is_empty() {
        let lost = tokens(&receipt.not_kept);
        tell(&format!("{path:?} was replaced and has not kept: {lost}"));
    }
}

/// Says something to a person, on a line of standard error.
pub(super) fn tell(what: &str) {
    // There is nowhere left to say that standard error is closed.
    drop(writeln!(io::stderr(), "ringfence: {what}"));
}

/// The stable tokens, as people read a list.
pub(super) fn tokens(list: &[impl ToString]) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// What was wrong, the system's account of it, and what would help.
fn sentence(error: &Error, advice: Advice) -> String {
    let mut text = with_causes(error);
    if let Error::Denied(Denial { narrowest: Some(narrowest), .. }) = error {
        text += &format!("; --mode {narrowest} would allow it");
    }
    let advised = advice.iter().find(|(code, _)| *code == error.code()).map(|(_, text)| *text);
    if let Some(remedy) = advised.or(remedy(error.code())) {
        text += "; ";
        text += remedy;
    }
    text
}

fn remedy(code: Code) -> Option<&'static str> {
    if code == Code::FsPermissionDenied {
        Some("it was not refused by the policy, so a wider mode would not help")
    } else if code == Code::SandboxUnavailable {
        Some("`ringfence doctor` says what is missing")
    } else {
        None
    }
}

/// `error` and what lies beneath it.
pub(super) fn with_causes(error: &(dyn StdError + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    // The fence says the same of a request in its own words, with a path beneath the root.
    let retold = usize::from(matches!(
        error.downcast_ref(),
        Some(Error::Failed { .. } | Error::NotWorkspace { .. })
    ));
    causes.skip(retold).fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn refusal(error: &Error) -> Value {
    let mut object = Map::new();
    object.insert("code".into(), error.code().as_str().into());
    object.insert("message".into(), with_causes(error).into());
    if let Some(op) = error.op() {
        object.insert("operation".into(), op.to_string().into());
    }
    if let Some(reason) = error.reason() {
        object.insert("reason".into(), reason.to_string().into());
    }
    if let Some(os_error) = error.os_error() {
        object.insert("os_error".into(), os_error.to_string().into());
    }
    match error {
        Error::Denied(Denial { path, mode, roots, narrowest, by, .. }) => {
            object.extend(spelled("path", path.as_os_str().as_encoded_bytes()));
            object.insert("mode".into(), mode.as_str().into());
            let roots = roots
                .iter()
                .map(|root| spelled("path", root.as_os_str().as_encoded_bytes()).into());
            object.insert("roots".into(), Value::Array(roots.collect()));
            object.insert("narrowest".into(), narrowest.map(|mode| mode.as_str()).into());
            object.insert("by".into(), by.to_string().into());
        }
        Error::Failed { path, .. }
        | Error::WrongFence { path, .. }
        | Error::NotWorkspace { path, .. }
        | Error::UnspellableWorkspace { path }
        | Error::Inconsistent { path, .. } => {
            object.extend(spelled("path", path.as_os_str().as_encoded_bytes()));
        }
        Error::Unavailable { .. } | Error::PolicyInvalid { .. } | _ => {}
    }
    Value::Object(object)
}

fn io_refusal(what: &str, error: &io::Error) -> String {
    json!({ "code": Code::FsIoError.as_str(), "message": format!("{what}: {error}") }).to_string()
}

fn received(receipt: &Receipt) -> Map<String, Value> {
    let not_kept: Vec<_> = receipt.not_kept.iter().map(ToString::to_string).collect();
    let fields = [
        ("effect", receipt.effect.to_string().into()),
        ("enforcement", receipt.enforcement.to_string().into()),
        ("cas", receipt.cas.to_string().into()),
        ("durability", receipt.durability.to_string().into()),
        ("not_kept", not_kept.into()),
        ("parents_created", receipt.parents_created.into()),
    ];
    let mut object: Map<_, _> =
        fields.into_iter().map(|(key, value): (&str, Value)| (key.to_owned(), value)).collect();
    for lost in &receipt.not_kept {
        if let Lost::HardLink(names) = lost {
            object.insert("hard_links".into(), (*names).into());
        }
    }
    object
}

fn listed(entry: &Entry) -> Value {
    let mut object = spelled("name", entry.name.as_encoded_bytes());
    let kind = match entry.kind {
        Kind::File => "file",
        Kind::Dir => "directory",
        Kind::Symlink => "symlink",
        Kind::Other | _ => "other",
    };
    object.insert("kind".into(), kind.into());
    Value::Object(object)
}

/// A name on a line. One that would not stay on it, or is no text, is quoted.
fn line(name: &OsStr) -> String {
    match name.to_str() {
        Some(text) if !text.contains(char::is_control) => format!("{text}\n"),
        _ => format!("{name:?}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_name_stays_on_its_line() {
        assert_eq!(line(OsStr::new("plain name")), "plain name\n");
        assert_eq!(line(OsStr::new("two\nlines")), "\"two\\nlines\"\n");
        assert_eq!(line(OsStr::new("\u{1b}[2J")), "\"\\u{1b}[2J\"\n");
    }
}
