//! The same system with less in it: a filter of the acting thread answers for the kernel, and what
//! the thread starts inherits it.

use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// `landlock_create_ruleset`, `landlock_add_rule` and `landlock_restrict_self`, on every
/// architecture.
const LANDLOCK: [i64; 3] = [444, 445, 446];

/// `CLONE_NEWNS` and `CLONE_NEWUSER`.
const NEW_MOUNTS: u64 = 0x0002_0000;
const NEW_USER: u64 = 0x1000_0000;

/// What a system may lack.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Lack {
    Landlock,
    MountNamespaces,
    UserNamespaces,
}

/// Runs `body` on a thread for which the system lacks these.
pub(super) fn without<const N: usize>(lacks: [Lack; N], body: impl FnOnce() + Send + 'static) {
    let filtered = move || {
        for lack in lacks {
            match lack {
                Lack::Landlock => impose(LANDLOCK.map(|call| (call, Vec::new())), Errno::NOSYS),
                Lack::MountNamespaces => refuse_new(NEW_MOUNTS),
                Lack::UserNamespaces => refuse_new(NEW_USER),
            }
        }
        body();
    };
    std::thread::spawn(filtered).join().unwrap();
}

/// Refuses new namespaces of this kind.
fn refuse_new(kind: u64) {
    let op = SeccompCmpOp::MaskedEq(kind);
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, op, kind).unwrap();
    let rule = || vec![SeccompRule::new(vec![condition.clone()]).unwrap()];
    impose(makers_of_namespaces().map(|call| (call, rule())), Errno::PERM);
}

/// The numbers of `clone` and `unshare`.
fn makers_of_namespaces() -> [i64; 2] {
    if std::env::consts::ARCH == "x86_64" { [56, 272] } else { [220, 97] }
}

fn impose<const N: usize>(rules: [(i64, Vec<SeccompRule>); N], errno: Errno) {
    let rules = rules.into_iter().collect();
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let errno = SeccompAction::Errno(errno.raw_os_error().unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, errno, arch).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}
