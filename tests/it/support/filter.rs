//! A filter of the acting thread, which answers for the kernel. What the thread starts inherits it.

use std::collections::BTreeMap;

use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// `landlock_create_ruleset`, `landlock_add_rule` and `landlock_restrict_self`, on every
/// architecture, as every call since Linux 5.1.
pub(crate) const LANDLOCK: [i64; 3] = [444, 445, 446];

/// `CLONE_NEWNS` and `CLONE_NEWUSER`.
const NAMESPACES: [u64; 2] = [0x0002_0000, 0x1000_0000];

/// The numbers of `clone` and `unshare`.
const MAKERS: [i64; 2] = if cfg!(target_arch = "x86_64") { [56, 272] } else { [220, 97] };

/// Answers these calls of this thread with an error, for good.
pub(crate) fn refuse(calls: impl IntoIterator<Item = i64>, errno: Errno) {
    let program = answering(every(calls), errno.raw_os_error().unsigned_abs());
    seccompiler::apply_filter(&program).unwrap();
}

/// The same for all threads of this process.
pub(crate) fn refuse_everywhere(calls: impl IntoIterator<Item = i64>, errno: Errno) {
    let program = answering(every(calls), errno.raw_os_error().unsigned_abs());
    seccompiler::apply_filter_all_threads(&program).unwrap();
}

/// Says of these calls of this thread that they have succeeded, and does nothing, for good.
pub(crate) fn pretend(calls: impl IntoIterator<Item = i64>) {
    seccompiler::apply_filter(&answering(every(calls), 0)).unwrap();
}

/// Refuses to this thread, for good, to make namespaces of users and of mounts.
pub(crate) fn refuse_namespaces() {
    let is_such = |kind| {
        let op = SeccompCmpOp::MaskedEq(kind);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, op, kind).unwrap();
        SeccompRule::new(vec![condition]).unwrap()
    };
    let rules = MAKERS.map(|call| (call, NAMESPACES.map(is_such).to_vec())).into();
    let errno = Errno::PERM.raw_os_error().unsigned_abs();
    seccompiler::apply_filter(&answering(rules, errno)).unwrap();
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn every(calls: impl IntoIterator<Item = i64>) -> Rules {
    calls.into_iter().map(|call| (call, Vec::new())).collect()
}

fn answering(rules: Rules, errno: u32) -> BpfProgram {
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let (other, these) = (SeccompAction::Allow, SeccompAction::Errno(errno));
    let filter = SeccompFilter::new(rules, other, these, arch).unwrap();
    filter.try_into().unwrap()
}
