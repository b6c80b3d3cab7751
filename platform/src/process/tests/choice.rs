//! Which runner is taken, and what is said of those that are not.

use std::process::Stdio;

use super::super::*;
use super::lack::{Lack, without};
use super::support::{again, bash, on, outcome, part, place, tree, within};

/// The runner that is taken for a command, and which were passed over.
fn taken(
    runners: &Runners,
    restrictions: Restrictions,
    required: ShellEnforcement,
) -> (Runner, Vec<Runner>) {
    let plan = runners.confine(bash("echo ran", &[]), restrictions, required).unwrap();
    let taken = plan.held().unwrap().runner;
    let passed_over = plan.passed_over().iter().map(|other| other.runner).collect();
    assert_eq!(outcome(plan.spawn().unwrap()).out, "ran\n");
    (taken, passed_over)
}

/// Runs `body` where this host has both.
fn on_both(body: impl FnOnce(Runners)) {
    on(Runner::Landlock, |_| on(Runner::Bwrap, |_| body(Runners::probe())));
}

#[test]
fn landlock_is_taken_unless_more_is_asked_for_than_it_holds() {
    on_both(|runners| {
        let partial = |restrictions| taken(&runners, restrictions, ShellEnforcement::Partial);
        assert_eq!(partial(within(&[])), (Runner::Landlock, vec![]));
        let asked = Restrictions { metadata: true, ..within(&[]) };
        assert_eq!(partial(asked), (Runner::Bwrap, vec![]));
        let asked = Restrictions { network: Network::Denied, ..within(&[]) };
        assert_eq!(partial(asked), (Runner::Bwrap, vec![]));
        let place = place();
        let asked = super::support::protecting(&place.inside, &["no/such"]);
        assert_eq!(partial(asked), (Runner::Bwrap, vec![]));
        let full = taken(&runners, within(&[]), ShellEnforcement::Full);
        assert_eq!(full, (Runner::Bwrap, vec![Runner::Landlock]));
    });
}

#[test]
fn without_landlock_bubblewrap_is_taken() {
    on(Runner::Bwrap, |_| {
        without([Lack::Landlock], || {
            let taken = taken(&Runners::probe(), within(&[]), ShellEnforcement::Partial);
            assert_eq!(taken, (Runner::Bwrap, vec![Runner::Landlock]));
        });
    });
}

#[test]
fn where_namespaces_are_refused_landlock_is_taken_and_the_gaps_are_named() {
    on(Runner::Landlock, |_| {
        without([Lack::MountNamespaces], || {
            let runners = Runners::probe();
            let asked = Restrictions { metadata: true, ..within(&[]) };
            let taken = taken(&runners, asked.clone(), ShellEnforcement::Partial);
            assert_eq!(taken, (Runner::Landlock, vec![Runner::Bwrap]));
            let NoRunner(why) =
                runners.confine(bash(":", &[]), asked, ShellEnforcement::Full).unwrap_err();
            assert!(why[0].why.starts_with("bwrap: "), "{why:?}");
            assert!(why[1].why.contains("metadata"), "{why:?}");
        });
    });
}

#[test]
fn without_any_runner_the_cause_of_each_is_told() {
    without([Lack::Landlock, Lack::MountNamespaces], || {
        let runners = Runners::probe();
        let refused = runners.confine(bash(":", &[]), within(&[]), ShellEnforcement::Partial);
        let NoRunner(why) = refused.unwrap_err();
        let runners_of: Vec<_> = why.iter().map(|other| other.runner).collect();
        assert_eq!(runners_of, [Runner::Landlock, Runner::Bwrap]);
        assert!(why.iter().all(|other| !other.why.is_empty()), "{why:?}");
        assert!(runners.survey().iter().all(Result::is_err));
    });
}

#[test]
fn where_bubblewrap_is_not_installed_that_is_said() {
    let test = "choice::where_bubblewrap_is_not_installed_that_is_said";
    if part().is_some() {
        let runners = Runners::probe();
        let why = runners.survey().pop().unwrap().unwrap_err();
        return assert_eq!(why.to_string(), "bwrap: bubblewrap is not installed");
    }
    let hide = "for place in /usr/bin/bwrap /bin/bwrap /usr/local/bin/bwrap; do \
        ! test -f $place || mount --bind /dev/null $place || exit; done; exec \"$@\"";
    let unshare = || {
        let mut unshare = std::process::Command::new("unshare");
        unshare.arg("--mount").stdin(Stdio::null());
        if !rustix::process::geteuid().is_root() {
            unshare.arg("--map-root-user");
        }
        unshare.args(["--", "sh", "-c", hide, "sh"]);
        unshare
    };
    if !unshare().arg("true").output().is_ok_and(|output| output.status.success()) {
        return eprintln!("ringfence: left out: {test}: this user may not have mounts of its own");
    }
    let mut command = unshare();
    command.arg(std::env::current_exe().unwrap());
    again(command, test);
}

#[test]
fn a_probe_leaves_nothing_behind() {
    let test = "choice::a_probe_leaves_nothing_behind";
    if part().is_some() {
        Runners::probe().survey();
        return;
    }
    let place = place();
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.env("TMPDIR", &place.inside).env("XDG_RUNTIME_DIR", &place.outside);
    let before = tree(&place.inside);
    again(command, test);
    assert_eq!(tree(&place.inside), before, "it is another's");
    assert_eq!(std::fs::read_dir(&place.outside).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(&place.inside).unwrap().count(), 0);
}

#[test]
fn all_of_it_holds_for_an_ordinary_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
    command.arg(std::env::current_exe().unwrap());
    let can_begin = std::process::Command::new("setpriv")
        .args(command.get_args())
        .arg("--list")
        .output()
        .is_ok_and(|output| output.status.success());
    if !can_begin {
        return eprintln!("ringfence: left out: the tests as an ordinary user: closed to others");
    }
    let output = command.args(["process::tests", "--skip", "all_of_it"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("passed"), "{text}");
}
