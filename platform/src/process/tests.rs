use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use super::*;
use crate::roots::Roots;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn bash(script: &str, words: &[&Path]) -> Command {
    let mut command = Command::new("bash", Workdir::open("/").unwrap());
    command.arguments = vec!["-c".into(), script.into(), "bash".into()];
    command.arguments.extend(words.iter().map(OsString::from));
    command.env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
    command
}

fn within(roots: &[&Path]) -> Restrictions {
    let roots = (!roots.is_empty()).then(|| Roots::open(roots).unwrap());
    Restrictions { roots, ..Restrictions::default() }
}

fn spawn(runners: &Runners, command: Command, restrictions: Restrictions) -> Child {
    let plan = runners.confine(command, restrictions, ShellEnforcement::Partial).unwrap();
    plan.spawn().unwrap()
}

/// What it wrote to each stream, and how it ended.
fn run(mut child: Child) -> (String, String, Ended) {
    let (mut out, mut err, mut how) = (Vec::new(), Vec::new(), None);
    let until = Some(Instant::now() + PATIENCE);
    loop {
        match child.next(until).unwrap() {
            Happened::Wrote(Stream::Stdout, bytes) => out.extend(bytes),
            Happened::Wrote(Stream::Stderr, bytes) => err.extend(bytes),
            Happened::Ended(ended) => {
                how = Some(ended);
                child.kill();
            }
            Happened::Silent => break,
            Happened::Late => panic!("it does not end: {}", String::from_utf8_lossy(&out)),
        }
    }
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(out), text(err), how.unwrap())
}

#[test]
fn a_command_writes_beneath_its_roots_and_nowhere_else() {
    let runners = Runners::probe();
    let place = tempfile::tempdir().unwrap();
    let [inside, outside] = ["in", "out"].map(|name| place.path().join(name));
    for dir in [&inside, &outside] {
        std::fs::create_dir(dir).unwrap();
    }
    let script = "echo text > \"$1/f\" && echo done; echo text > \"$2/f\"";
    let command = bash(script, &[&inside, &outside]);
    let (out, err, ended) = run(spawn(&runners, command, within(&[&inside])));
    assert_eq!((out.as_str(), ended), ("done\n", Ended::Exited(1)), "{err}");
    assert!(err.contains("Permission denied"), "{err}");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(std::fs::read(inside.join("f")).unwrap(), b"text\n");
}

#[test]
fn what_has_left_its_parents_and_its_session_ends_with_the_command() {
    let runners = Runners::probe();
    let place = tempfile::tempdir().unwrap();
    let script = "env -i setsid bash -c '(bash -c \"echo \\$\\$ >\\\"$1/pid\\\"; exec sleep 300\" \
        bash \"$1\" &)' bash \"$1\" >/dev/null 2>&1; until test -s \"$1/pid\"; do :; done";
    let (_, err, ended) =
        run(spawn(&runners, bash(script, &[place.path()]), within(&[place.path()])));
    assert_eq!(ended, Ended::Exited(0), "{err}");
    let pid: i32 =
        std::fs::read_to_string(place.path().join("pid")).unwrap().trim().parse().unwrap();
    let began = Instant::now();
    let runs = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains(") S ") || stat.contains(") R ")
    };
    while runs() {
        assert!(began.elapsed() < Duration::from_secs(1), "it is still there");
        std::thread::yield_now();
    }
}
