//! A person at the terminal, who is asked.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::sync::Arc;

use ringfence::{Answer, Approval, Approver, Question, Subject};

/// Where a process has its terminal, whatever its standard streams are.
const TERMINAL: &str = "/dev/tty";

/// Asks on standard error and reads the answer from the terminal: standard input is for arguments.
#[derive(Debug)]
pub(super) struct Terminal;

impl Terminal {
    /// Somebody to ask, if standard error is read by a person who can answer.
    pub(super) fn here() -> Option<Arc<dyn Approver>> {
        let reads = io::stderr().is_terminal() && File::open(TERMINAL).is_ok();
        reads.then(|| Arc::new(Self) as Arc<dyn Approver>)
    }
}

impl Approver for Terminal {
    fn ask<'a>(&'a self, question: &'a Question) -> Answer<'a> {
        let answer = ask(question).unwrap_or(Approval::Unavailable);
        answer.into()
    }
}

fn ask(question: &Question) -> io::Result<Approval> {
    write!(io::stderr(), "{}", asked(question))?;
    let mut line = String::new();
    let read = BufReader::new(File::open(TERMINAL)?).read_line(&mut line)?;
    Ok(match (read, line.trim()) {
        (0, _) => Approval::Unavailable,
        (_, "y" | "Y" | "yes") => Approval::AllowedOnce,
        (_, _) => Approval::Rejected,
    })
}

/// The question as a person reads it. What a model has written is quoted.
fn asked(question: &Question) -> String {
    let Question { from, to, subject, justification, .. } = question;
    let what = match subject {
        Subject::Operation { op, path, place } => {
            format!("{op} {path:?}\n  which is {place:?}")
        }
        _ => "something that this version cannot describe".to_owned(),
    };
    format!(
        "ringfence: in {from} mode this is not allowed; {to} is asked for, once:\n  \
         {what}\n  the reason given: {justification:?}\nallow it? [y/N] "
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_no_terminal_is_nobody() {
        // The tests are run with their output captured or at a terminal; both are an answer.
        use std::io::IsTerminal as _;
        assert!(std::io::stderr().is_terminal() || super::Terminal::here().is_none());
    }
}
