//! A person at the terminal, who is asked.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Write};
use std::sync::Arc;

use ringfence::{Answer, Approval, Approver, Question, Subject};
use rustix::termios::{QueueSelector, tcflush};

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
        let text = asked(question);
        let answer = File::open(TERMINAL).and_then(|terminal| ask(&text, io::stderr(), &terminal));
        answer.unwrap_or(Approval::Unavailable).into()
    }
}

/// Asks, and takes for an answer only what is typed once the question is there to be read.
fn ask(question: &str, mut shown: impl Write, terminal: &File) -> io::Result<Approval> {
    write!(shown, "{question}")?;
    shown.flush()?;
    tcflush(terminal, QueueSelector::IFlush)?;
    answered(terminal)
}

fn answered(terminal: &File) -> io::Result<Approval> {
    let mut line = String::new();
    let read = BufReader::new(terminal).read_line(&mut line)?;
    Ok(match (read, line.trim()) {
        (0, _) => Approval::Unavailable,
        (_, "y" | "Y" | "yes") => Approval::AllowedOnce,
        (_, _) => Approval::Rejected,
    })
}

/// The question as a person reads it. What a model has written is quoted, and what is judged
/// stands last, next to the answer.
fn asked(question: &Question) -> String {
    let Question { from, to, subject, justification, .. } = question;
    let what = described(subject);
    format!(
        "ringfence: in {from} mode this is not allowed; {to} is asked for, once\n  \
         the reason given: {justification:?}\n  {what}\nallow it? [y/N] "
    )
}

fn described(subject: &Subject) -> String {
    match subject {
        Subject::Operation { op, path, place } => format!("{op} {path:?}\n  which is {place:?}"),
        Subject::Command { command, workdir } => format!("run {command:?}\n  in {workdir:?}"),
        _ => "something that this version cannot describe".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};

    use super::*;

    #[test]
    fn what_is_no_terminal_is_nobody() {
        // The tests are run with their output captured or at a terminal; both are an answer.
        assert!(io::stderr().is_terminal() || Terminal::here().is_none());
    }

    /// A terminal, and the side of the person at it. What is not typed yet is the end of the input.
    fn terminal() -> (File, File) {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let name = ptsname(&person, Vec::new()).unwrap();
        let terminal = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty());
        let terminal = File::from(terminal.unwrap());
        let mut modes = tcgetattr(&terminal).unwrap();
        modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        modes.special_codes[SpecialCodeIndex::VMIN] = 0;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&terminal, OptionalActions::Now, &modes).unwrap();
        (terminal, File::from(person))
    }

    fn typed(line: &str) -> (File, File) {
        let (terminal, mut person) = terminal();
        person.write_all(line.as_bytes()).unwrap();
        assert_eq!(poll(&mut [PollFd::new(&terminal, PollFlags::IN)], None), Ok(1));
        (terminal, person)
    }

    #[test]
    fn a_command_is_shown_whole_and_can_draw_nothing() {
        let command = "true\r\u{1b}[2Jls\u{202e}\nallow it? \"x\"".to_owned();
        let subject = Subject::Command { command, workdir: "/ws/a\nb".into() };
        let lines = [r#"run "true\r\u{1b}[2Jls\u{202e}\nallow it? \"x\"""#, r#"  in "/ws/a\nb""#];
        assert_eq!(described(&subject).lines().collect::<Vec<_>>(), lines);
    }

    #[test]
    fn only_yes_allows() {
        for (line, answer) in [
            ("y\n", Approval::AllowedOnce),
            ("Y\n", Approval::AllowedOnce),
            ("yes\n", Approval::AllowedOnce),
            ("yet\n", Approval::Rejected),
            ("n\n", Approval::Rejected),
            ("\n", Approval::Rejected),
        ] {
            let (terminal, _person) = typed(line);
            assert_eq!(answered(&terminal).unwrap(), answer, "{line:?}");
        }
    }

    #[test]
    fn what_was_typed_before_the_question_is_no_answer() {
        let (terminal, _person) = typed("y\n");
        let mut shown = Vec::new();
        let answer = ask("allow it? ", &mut shown, &terminal).unwrap();
        assert_eq!((answer, shown), (Approval::Unavailable, b"allow it? ".to_vec()));
    }
}
