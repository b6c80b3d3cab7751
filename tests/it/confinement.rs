//! What Landlock by itself holds and does not hold: the ground that the confined thread stands on.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    RestrictSelfError, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Timespec, Timestamps, XattrFlags,
};
use rustix::io::Errno;

use crate::cases::{Case, Ok as Answer, Op, Table, errno_of};
use crate::support::{LeftOut, Needs, Stage, open_dir, say, this_test};

/// Rows about rules that the safe interface makes no call for.
const NO_SAFE_CALL: &[&str] = &["A-047", "A-048", "A-049"];

pub(crate) fn rows(table: &Table) -> impl Iterator<Item = &Case> {
    table.cases.iter().filter(|case| case.op == Op::Landlock)
}

pub(crate) fn left_out() -> Vec<LeftOut> {
    let table = Table::attacks();
    let malformed = LeftOut::new(
        "malformed Landlock rules",
        "the landlock crate refuses them before there is a call",
        NO_SAFE_CALL.len(),
    );
    let Some(why) = Needs::Landlock.missing() else { return vec![malformed] };
    let rest = rows(&table).count() - NO_SAFE_CALL.len();
    vec![malformed, LeftOut::new("landlock", why, rest)]
}

fn handled(text: &str) -> BitFlags<AccessFs> {
    match text {
        "every right" => AccessFs::from_all(ABI::V3),
        "every write right" | "every write right, REFER and TRUNCATE" => {
            AccessFs::from_write(ABI::V3)
        }
        "every write right, REFER and TRUNCATE, EXECUTE" => {
            AccessFs::from_write(ABI::V3) | AccessFs::Execute
        }
        "every write right without REFER" => AccessFs::from_write(ABI::V3) & !AccessFs::Refer,
        other => panic!("no such rights are known: {other}"),
    }
}

/// Which rights are granted beneath which place.
fn granted(
    text: &str,
    handled: BitFlags<AccessFs>,
    stage: &Stage,
) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
    let place = |name: &str| stage.base().join(name);
    match text {
        "R1, R2" => vec![(place("R1"), handled), (place("R2"), handled)],
        "all but TRUNCATE on R1" => vec![(place("R1"), handled & !AccessFs::Truncate)],
        "all but EXECUTE on R1; all on `e`" => {
            vec![(place("R1"), handled & !AccessFs::Execute), (place("R1/e"), handled)]
        }
        other => panic!("no such grant is known: {other}"),
    }
}

fn ruleset(case: &Case, stage: &Stage) -> RulesetCreated {
    let handled = handled(case.args.handled.as_deref().expect("a row says what is handled"));
    let grants =
        granted(case.args.granted.as_deref().expect("and what is granted"), handled, stage);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(handled)
        .and_then(Ruleset::create)
        .unwrap();
    for (place, rights) in grants {
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(place).unwrap(), rights)).unwrap();
    }
    ruleset
}

/// What was open before the thread was restricted.
struct Before {
    out: OwnedFd,
    secret_by_path: OwnedFd,
    secret_to_write: File,
}

impl Before {
    fn new(stage: &Stage) -> Self {
        let out = open_dir(CWD, stage.base().join("out")).unwrap();
        let secret = stage.base().join("out/secret");
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let secret_by_path = rustix::fs::open(&secret, flags, Mode::empty()).unwrap();
        let secret_to_write = File::options().append(true).open(secret).unwrap();
        Self { out, secret_by_path, secret_to_write }
    }
}

type Answers = Vec<(&'static str, Result<(), Errno>)>;

/// Does what the row says, on a thread that has just been restricted.
fn act(case: &Case, stage: &Stage, before: &Before) -> Answers {
    let (r1, out) = (stage.root(), stage.base().join("out"));
    let (f, secret) = (r1.join("f"), out.join("secret"));
    let nothing = |result: Result<OwnedFd, Errno>| result.map(drop);
    let open = |path: PathBuf, flags: OFlags| {
        nothing(rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()))
    };
    let rename = |to: PathBuf| rustix::fs::renameat(CWD, &f, CWD, to);
    match case.args.action.as_deref().expect("a row says what is done") {
        "list the directory" => vec![("list", open(out, OFlags::DIRECTORY))],
        "mkdir, unlink, rmdir, symlink, mkfifo, mknod, truncate, each outside" => {
            let new = out.join("new");
            let device = rustix::fs::makedev(1, 3);
            let node = |kind, device| rustix::fs::mknodat(CWD, &new, kind, Mode::RUSR, device);
            vec![
                ("mkdir", rustix::fs::mkdir(&new, Mode::RWXU)),
                ("unlink", rustix::fs::unlink(&secret)),
                ("rmdir", rustix::fs::rmdir(out.join("sub"))),
                ("symlink", rustix::fs::symlink("x", &new)),
                ("mkfifo", node(FileType::Fifo, 0)),
                ("mknod", node(FileType::CharacterDevice, device)),
                ("truncate", open(secret, OFlags::WRONLY | OFlags::TRUNC)),
            ]
        }
        "openat for writing, on a descriptor of `out` opened before the restriction" => {
            let flags = OFlags::WRONLY | OFlags::CLOEXEC;
            let fd = rustix::fs::openat(&before.out, "secret", flags, Mode::empty());
            vec![("openat", nothing(fd))]
        }
        "open for writing; {fd} is an O_PATH descriptor of `out/secret`" => {
            let path = format!("/proc/self/fd/{}", before.secret_by_path.as_raw_fd());
            vec![("open", open(path.into(), OFlags::WRONLY))]
        }
        "rename it to `$BASE/out/f`" => vec![("rename", rename(out.join("f")))],
        "rename it to `d/f`" => vec![("rename", rename(r1.join("d/f")))],
        "rename it to `f2`" => vec![("rename", rename(r1.join("f2")))],
        "rename it to `e/f`, where `e` grants more than the directory of `f`" => {
            vec![("rename", rename(r1.join("e/f")))]
        }
        "exchange it with `$BASE/out/secret`" => {
            let exchange = rustix::fs::renameat_with(CWD, &f, CWD, secret, RenameFlags::EXCHANGE);
            vec![("exchange", exchange)]
        }
        "O_TMPFILE in the root, then linkat" => {
            let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
            let linked = rustix::fs::open(r1, flags, Mode::RUSR | Mode::WUSR).and_then(|fd| {
                let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
                rustix::fs::linkat(CWD, path, CWD, r1.join("new"), AtFlags::SYMLINK_FOLLOW)
            });
            vec![("link", linked)]
        }
        "truncate by path" => vec![("truncate", open(f, OFlags::WRONLY | OFlags::TRUNC))],
        "chmod, chown, utimensat, setxattr, removexattr" => {
            let time = Timespec { tv_sec: 1, tv_nsec: 0 };
            let times = Timestamps { last_access: time, last_modification: time };
            let user = rustix::process::geteuid();
            vec![
                ("chmod", rustix::fs::chmod(&secret, Mode::RUSR | Mode::WUSR)),
                ("chown", rustix::fs::chown(&secret, Some(user), None)),
                ("utimensat", rustix::fs::utimensat(CWD, &secret, &times, AtFlags::empty())),
                ("setxattr", rustix::fs::setxattr(&secret, "user.t", b"1", XattrFlags::empty())),
                ("removexattr", rustix::fs::removexattr(&secret, "user.t")),
            ]
        }
        "write and fchmod on a descriptor opened before the restriction" => {
            let wrote = (&before.secret_to_write).write_all(b"more");
            let wrote = wrote.map_err(|e| Errno::from_io_error(&e).expect("from the system"));
            let chmod = rustix::fs::fchmod(&before.secret_to_write, Mode::RUSR | Mode::WUSR);
            vec![("write", wrote), ("fchmod", chmod)]
        }
        "restrict the same thread 17 times" => {
            // Once has been done; sixteen layers are allowed.
            let again = || restrict(ruleset(case, stage));
            let last = (0..16).map(|_| again()).find(Result::is_err);
            vec![("restrict", last.unwrap_or(Ok(())))]
        }
        other => panic!("no such action is known: {other}"),
    }
}

fn restrict(ruleset: RulesetCreated) -> Result<(), Errno> {
    match ruleset.restrict_self() {
        Ok(_) => Ok(()),
        Err(RulesetError::RestrictSelf(RestrictSelfError::RestrictSelfCall { source, .. })) => {
            Err(Errno::from_io_error(&source).expect("from the system"))
        }
        Err(other) => panic!("not an answer of the kernel: {other:?}"),
    }
}

#[test]
fn landlock_holds_and_lets_through_what_the_table_says() {
    if let Some(why) = Needs::Landlock.missing() {
        return say(format_args!("left out: {}: {why}", this_test!()));
    }
    let table = Table::attacks();
    for case in rows(&table).filter(|case| !NO_SAFE_CALL.contains(&case.id.as_str())) {
        let stage = Stage::new(table.tree(case));
        let before = Before::new(&stage);
        let picture = stage.snapshot();
        // A domain ends with its thread.
        let answers = std::thread::scope(|scope| {
            let restricted = scope.spawn(|| {
                restrict(ruleset(case, &stage)).expect("a fresh thread can be restricted");
                act(case, &stage, &before)
            });
            restricted.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        for (what, answer) in answers {
            let right = match answer {
                Ok(()) => case.expect.ok == Answer::Known(true),
                Err(Errno::OPNOTSUPP) if what.ends_with("xattr") => {
                    say(format_args!("left out: {what} of {}: no such attributes here", case.id));
                    true
                }
                Err(errno) => errno_of(&case.expect.error, errno),
            };
            assert!(right, "{case}: {what} answers {answer:?}");
        }
        if case.expect.ok == Answer::Known(false) {
            stage.assert_unchanged(&picture);
        }
    }
}
