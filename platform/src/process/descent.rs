//! Finds the processes of a command in `/proc`, by their parents and by a mark in their
//! environment.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::tree::Mark;

/// How long the members may take to be gone.
const PATIENCE: Duration = Duration::from_millis(500);

/// Sends `signal` to each member that there is now.
pub(super) fn signal_once(first: Pid, mark: &Mark, signal: Signal) {
    for (_, fd) in members(first, Some(mark), Instant::now() + PATIENCE) {
        // It may be gone, or another's.
        let _ = pidfd_send_signal(&fd, signal);
    }
}

/// Sends `signal` to all that descends from `first` now, and not to itself.
pub(super) fn signal_below(first: Pid, signal: Signal) {
    let below = members(first, None, Instant::now() + PATIENCE).into_iter();
    for (_, fd) in below.filter(|(pid, _)| *pid != first) {
        let _ = pidfd_send_signal(&fd, signal);
    }
}

/// Ends each member, and those that came meanwhile, until there are none.
pub(super) fn kill_all(first: Pid, mark: &Mark) {
    let until = Instant::now() + PATIENCE;
    loop {
        let members = members(first, Some(mark), until);
        let mut is_alive = false;
        for (_, fd) in &members {
            is_alive |= pidfd_send_signal(fd, Signal::KILL).is_ok();
        }
        let left = until.saturating_duration_since(Instant::now());
        if !is_alive || left.is_zero() {
            return;
        }
        wait_for(&members, left);
    }
}

/// Until each is gone, or the time is over.
fn wait_for(members: &[(Pid, OwnedFd)], patience: Duration) {
    let until = Instant::now() + patience;
    for (_, member) in members {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).expect("half a second");
        let _ = poll(&mut [PollFd::new(member, PollFlags::IN)], Some(&left));
    }
}

/// Every process that descends from `first` or has the mark, `first` among them, and each before
/// those that it has started: a shell whose program is ended before itself goes on with what comes
/// next. Each is looked at again once it is held, since its number may be another's by then. What
/// is not found until then is not looked for any longer: there may be as many as the system has
/// room for.
fn members(first: Pid, mark: Option<&Mark>, until: Instant) -> Vec<(Pid, OwnedFd)> {
    let all = processes(until);
    let mut known: HashSet<i32> = HashSet::from([first.as_raw_nonzero().get()]);
    let in_time = |_: &i32| Instant::now() < until;
    let is_marked = |pid: i32| mark.is_some_and(|mark| has_mark(pid, mark));
    known.extend(all.keys().copied().take_while(in_time).filter(|pid| is_marked(*pid)));
    loop {
        let before = known.len();
        let children = all.iter().filter(|(_, found)| known.contains(&found.parent));
        let children: Vec<_> = children.map(|(pid, _)| *pid).collect();
        known.extend(children);
        if known.len() == before {
            break;
        }
    }
    let held = |number: i32| {
        let before = all.get(&number)?;
        let pid = Pid::from_raw(number)?;
        let fd = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        (process(number)?.started == before.started).then_some((pid, fd))
    };
    let mut known: Vec<_> = known.into_iter().collect();
    known.sort_unstable_by_key(|pid| (all.get(pid).map(|found| found.started), *pid));
    known.into_iter().filter_map(held).collect()
}

/// What `/proc/PID/stat` says of a process, proc_pid_stat(5).
#[derive(Debug)]
struct Found {
    parent: i32,
    started: u64,
}

/// All processes that still run, as far as there is time to look.
fn processes(until: Instant) -> HashMap<i32, Found> {
    let Ok(entries) = fs::read_dir("/proc") else { return HashMap::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let in_time = names.take_while(|_| Instant::now() < until);
    in_time.filter_map(|pid: i32| Some((pid, process(pid)?))).collect()
}

/// One that runs; nothing once it has ended, though its parent may not have looked yet.
fn process(pid: i32) -> Option<Found> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name, which may hold anything, is in parentheses.
    let rest = &stat[stat.iter().rposition(|byte| *byte == b')')? + 1..];
    let mut fields = str::from_utf8(rest).ok()?.split_ascii_whitespace();
    let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
    let started = fields.nth(17)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(Found { parent, started })
}

/// The parent of one that runs.
pub(super) fn parent(pid: Pid) -> Option<Pid> {
    Pid::from_raw(process(pid.as_raw_nonzero().get())?.parent)
}

fn has_mark(pid: i32, mark: &Mark) -> bool {
    let env = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    env.split(|byte| *byte == 0).any(|pair| pair == mark.0.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use super::*;

    /// Starts itself again as often as it is told, and waits for the end of its input.
    const NESTED: &str =
        "if [ $1 -gt 0 ]; then sh -c \"$0\" \"$0\" $(($1 - 1)); :; else echo; read -r _; fi";

    #[test]
    fn each_comes_before_those_that_it_has_started() {
        let mut command = Command::new("sh");
        command.args(["-c", NESTED, NESTED, "12"]);
        let mut first = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        first.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let pid = Pid::from_child(&first);
        let found = members(pid, None, Instant::now() + PATIENCE);
        let parents: Vec<_> = found.iter().map(|(pid, _)| parent(*pid).unwrap()).collect();
        drop(first.stdin.take());
        first.wait().unwrap();
        assert_eq!(found.len(), 13);
        for (place, parent) in parents.iter().enumerate().skip(1) {
            assert!(found[..place].iter().any(|(pid, _)| pid == parent), "{found:?} {parents:?}");
        }
    }
}
