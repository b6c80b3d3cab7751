//! The containment matrix, row by row: what each mode says of each kind of place, on every fence
//! the host offers, with a picture of everything inside and outside before and after.

mod protected;
mod tools;

use std::collections::BTreeSet;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::AsRawFd;
use std::path::Path;

use ringfence::{
    Code, Durability, Error, Lost, Mode, Outcome, Parents, Precondition, Reason, Removal, Request,
    Session, TempAreas,
};

use crate::support::{
    Effect, Entry, FenceKind, LeftOut, NodeKind, Stage, Tree, as_user, dir, fifo, file, hard,
    is_root, link, offered, report, say, sock, this_test, with_own_mounts,
};
use crate::why::{agrees, said};

/// What must come of a change.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Verdict {
    /// It is done, and these are all its effects.
    Done(BTreeSet<Effect>),
    /// It is refused or fails, and nothing has any effect.
    Not(Code, Option<Reason>),
}

const DENIED: Verdict = Verdict::Not(Code::FsSandboxDenied, None);
const NOT_FOUND: Verdict = Verdict::Not(Code::FsNotFound, None);
const NO_FILE: Verdict = Verdict::Not(Code::FsNotRegularFile, None);
const LOOP: Verdict = Verdict::Not(Code::FsIoError, Some(Reason::Loop));
const TOO_LONG: Verdict = Verdict::Not(Code::FsIoError, Some(Reason::NameTooLong));

fn done(effects: impl IntoIterator<Item = Effect>) -> Verdict {
    Verdict::Done(effects.into_iter().collect())
}

fn replaces(path: &str) -> Verdict {
    done([Effect::Replaced(path.to_owned())])
}

/// A new file, in these new directories.
fn creates(path: &str, parents: &[&str]) -> Verdict {
    let dirs = parents.iter().map(|dir| Effect::New(NodeKind::Dir, (*dir).to_owned()));
    done(dirs.chain([Effect::New(NodeKind::File, path.to_owned())]))
}

/// One place to write to. Every row is denied under read-only.
struct Row {
    number: u8,
    path: &'static str,
    workspace_write: Verdict,
    full_access: Verdict,
}

/// The same verdict where the policy allows it.
fn row(number: u8, path: &'static str, verdict: Verdict) -> Row {
    Row { number, path, workspace_write: verdict.clone(), full_access: verdict }
}

/// Denied, but for the host.
fn outside(number: u8, path: &'static str, full_access: Verdict) -> Row {
    Row { number, path, workspace_write: DENIED, full_access }
}

fn rows() -> Vec<Row> {
    vec![
        row(1, "f", replaces("f")),
        row(1, "$ROOT/d/g", replaces("d/g")),
        row(1, "n", creates("n", &[])),
        row(1, "p/q/n", creates("p/q/n", &["p", "p/q"])),
        row(2, "$BASE/tmp/t", replaces("$BASE/tmp/t")),
        row(2, "../tmp/p/n", creates("$BASE/tmp/p/n", &["$BASE/tmp/p"])),
        outside(3, "$BASE/out/secret", replaces("$BASE/out/secret")),
        outside(3, "$BASE/out/p/n", creates("$BASE/out/p/n", &["$BASE/out/p"])),
        outside(4, "../out/secret", replaces("$BASE/out/secret")),
        outside(4, "../n", creates("$BASE/n", &[])),
        outside(4, "d/../../out/n", creates("$BASE/out/n", &[])),
        row(5, "d/../n", creates("n", &[])),
        row(5, "missing/../f", replaces("f")),
        row(5, "outdir/../f", replaces("f")),
        row(5, "../ws/n", creates("n", &[])),
        outside(6, "outdir/secret", replaces("$BASE/out/secret")),
        outside(6, "outdir_abs/secret", replaces("$BASE/out/secret")),
        outside(7, "outdir/n", creates("$BASE/out/n", &[])),
        outside(
            7,
            "outdir_abs/p/q/n",
            creates("$BASE/out/p/q/n", &["$BASE/out/p", "$BASE/out/p/q"]),
        ),
        outside(8, "outfile", replaces("$BASE/out/secret")),
        outside(8, "outfile_abs", replaces("$BASE/out/secret")),
        row(9, ".", NO_FILE),
        row(9, "$ROOT/", NO_FILE),
        row(9, "$BASE/alias", NO_FILE),
        outside(10, "..", NO_FILE),
        outside(10, "/", NO_FILE),
        outside(10, "$BASE/out", NO_FILE),
        outside(13, "../ws2/x", replaces("$BASE/ws2/x")),
        outside(13, "$BASE/ws-evil/n", creates("$BASE/ws-evil/n", &[])),
        row(14, "$BASE/alias/f", replaces("f")),
        row(14, "$BASE/alias/p/n", creates("p/n", &["p"])),
        row(14, "$BASE/alias_inner/p/n", creates("d/p/n", &["d/p"])),
        row(15, "in", replaces("d/g")),
        row(15, "indir/n", creates("d/n", &[])),
        row(16, "in_abs", replaces("d/g")),
        row(16, "indir_abs/g", replaces("d/g")),
        row(16, "indir_abs/p/q/n", creates("d/p/q/n", &["d/p", "d/p/q"])),
        row(17, "and_back", replaces("f")),
        row(17, "and_back_dir/p/n", creates("d/p/n", &["d/p"])),
        row(18, "across", replaces("$BASE/tmp/t")),
        row(18, "across_dir/p/n", creates("$BASE/tmp/p/n", &["$BASE/tmp/p"])),
        row(18, "across_abs", replaces("$BASE/tmp/t")),
        outside(19, "onward", replaces("$BASE/out/secret")),
        outside(19, "onward_dir/n", creates("$BASE/out/n", &[])),
        row(20, "dangling", creates("d/new", &[])),
        row(20, "dangling_abs", creates("d/new", &[])),
        row(20, "dangling_across", creates("$BASE/tmp/new", &[])),
        outside(21, "dangling_out", creates("$BASE/out/new", &[])),
        outside(21, "dangling_out_abs", creates("$BASE/out/new", &[])),
        row(22, "nowhere/n", NOT_FOUND),
        row(22, "nowhere_abs/n", NOT_FOUND),
        row(22, "nowhere_abs/p/n", NOT_FOUND),
        row(22, "nowhere_far", NOT_FOUND),
        row(22, "nowhere_far_abs", NOT_FOUND),
        row(22, "$BASE/alias_nowhere/p/n", NOT_FOUND),
        outside(23, "nowhere_out/n", NOT_FOUND),
        outside(23, "nowhere_out_abs/p/n", NOT_FOUND),
        outside(23, "nowhere_out_far", NOT_FOUND),
        row(24, "loop", LOOP),
        row(24, "loop/n", LOOP),
        row(24, "loop_abs", LOOP),
        outside(24, "$BASE/out/loop", LOOP),
        row(25, "hard", replaces("hard")),
        row(26, "fifo", NO_FILE),
        row(26, "sock", NO_FILE),
        row(26, "d", NO_FILE),
        outside(26, "$BASE/out/fifo", NO_FILE),
        outside(30, "$BASE/WS/n", creates("$BASE/WS/n", &["$BASE/WS"])),
        row(31, "/proc/self/root$ROOT/f", replaces("f")),
        row(31, "/proc/{pid}/root$ROOT/p/n", creates("p/n", &["p"])),
        row(31, "/proc/self/fd/{root}/n", creates("n", &[])),
        outside(31, "/proc/self/root$BASE/out/n", creates("$BASE/out/n", &[])),
        row(32, "magic_in", replaces("f")),
        row(32, "magic_in_dir/n", creates("n", &[])),
        outside(32, "magic_out", replaces("$BASE/out/secret")),
        row(32, "to_root/n", creates("n", &[])),
        row(32, "to_file", replaces("f")),
        outside(32, "to_pipe", NOT_FOUND),
        outside(32, "/proc/self/fd/{pipe}", NOT_FOUND),
        row(32, "to_deleted", NOT_FOUND),
        row(33, "f/child", NOT_FOUND),
        row(33, "f/p/child", NOT_FOUND),
        row(33, "in/child", NOT_FOUND),
        outside(33, "$BASE/out/secret/child", NOT_FOUND),
        row(34, "{x*256}", TOO_LONG),
        row(34, "p/q/{x*256}", TOO_LONG),
        row(34, "{x/*2500}n", TOO_LONG),
        outside(34, "$BASE/out/{x*256}", TOO_LONG),
    ]
}

/// Where the rows not in [`rows`] are, and which are nowhere.
const ELSEWHERE: [(u8, &str); 7] = [
    (11, "a root configured as /"),
    (12, "spellings of the root"),
    (27, "mounts"),
    (28, "mounts"),
    (29, "mounts"),
    (35, "Windows only"),
    (38, "protected places"),
];

fn tree() -> Tree {
    let inside = [
        file("f", "f"),
        file("d/g", "g"),
        link("outdir", "../out"),
        link("outdir_abs", "$BASE/out"),
        link("outfile", "../out/secret"),
        link("outfile_abs", "$BASE/out/secret"),
        link("in", "d/g"),
        link("indir", "d"),
        link("in_abs", "$ROOT/d/g"),
        link("indir_abs", "$ROOT/d"),
        link("and_back", "../ws/f"),
        link("and_back_dir", "../ws/d"),
        link("across", "../tmp/t"),
        link("across_dir", "../tmp"),
        link("across_abs", "$BASE/tmp/t"),
        link("onward", "../tmp/onward"),
        link("onward_dir", "$BASE/tmp/onward_dir"),
        link("dangling", "d/new"),
        link("dangling_abs", "$ROOT/d/new"),
        link("dangling_across", "$BASE/tmp/new"),
        link("dangling_out", "../out/new"),
        link("dangling_out_abs", "$BASE/out/new"),
        link("nowhere", "missing"),
        link("nowhere_abs", "$ROOT/missing"),
        link("nowhere_far", "missing/n"),
        link("nowhere_far_abs", "$ROOT/missing/n"),
        link("nowhere_out", "../out/missing"),
        link("nowhere_out_abs", "$BASE/out/missing"),
        link("nowhere_out_far", "../out/missing/n"),
        link("loop", "pool"),
        link("pool", "loop"),
        link("loop_abs", "$ROOT/loop_abs"),
        hard("hard", "out/secret"),
        fifo("fifo"),
        sock("sock"),
        link("magic_in", "/proc/{pid}/root$ROOT/f"),
        link("magic_in_dir", "/proc/self/root$ROOT"),
        link("magic_out", "/proc/self/root$BASE/out/secret"),
    ];
    let beside = [
        file("out/secret", "out"),
        link("out/loop", "loop"),
        fifo("out/fifo"),
        file("ws2/x", "x"),
        dir("ws-evil"),
        link("alias", "ws"),
        link("alias_inner", "ws/d"),
        link("alias_nowhere", "ws/missing"),
        file("tmp/t", "t"),
        link("tmp/onward", "../out/secret"),
        link("tmp/onward_dir", "../out"),
    ];
    with_temp(Tree::inside(inside)).outside(beside)
}

fn with_temp(tree: Tree) -> Tree {
    Tree { roots: vec!["ws".to_owned(), "tmp".to_owned()], ..tree }
}

/// Enough for what does not need every kind of link.
fn small_tree() -> Tree {
    let inside = [file("f", "f"), file("d/g", "g"), hard("hard", "out/secret")];
    with_temp(Tree::inside(inside)).outside([file("out/secret", "out"), link("alias", "ws")])
}

/// A stage with descriptors that magic links of `/proc` stand for.
struct Theatre {
    stage: Stage,
    _held: (std::fs::File, std::fs::File, std::fs::File, PipeReader, PipeWriter),
}

impl Theatre {
    fn new() -> Self {
        let mut stage = Stage::new(&tree());
        let open = |path: &str| std::fs::File::open(stage.root().join(path)).unwrap();
        std::fs::write(stage.root().join("deleted"), "").unwrap();
        let (root, f, deleted) = (open("."), open("f"), open("deleted"));
        std::fs::remove_file(stage.root().join("deleted")).unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        for (name, fd) in [
            ("to_root", root.as_raw_fd()),
            ("to_file", f.as_raw_fd()),
            ("to_deleted", deleted.as_raw_fd()),
            ("to_pipe", writer.as_raw_fd()),
        ] {
            let text = format!("/dev/fd/{fd}");
            std::os::unix::fs::symlink(text, stage.root().join(name)).unwrap();
        }
        stage.define("root", root.as_raw_fd());
        stage.define("pipe", writer.as_raw_fd());
        Self { stage, _held: (root, f, deleted, reader, writer) }
    }

    fn session(&self, mode: Mode, kind: Option<FenceKind>) -> Session {
        session(self.stage.root(), &self.stage.base().join("tmp"), mode, kind)
    }
}

fn session(workspace: &Path, temp: &Path, mode: Mode, kind: Option<FenceKind>) -> Session {
    let builder = Session::builder()
        .workspace(workspace)
        .mode(mode)
        .temps(TempAreas::only(temp))
        .durability(Durability::None);
    match kind {
        Some(kind) => builder.exactly(kind.resolution, kind.confinement),
        None => builder,
    }
    .build()
    .unwrap()
}

/// Each mode, and under workspace-write each fence.
fn settings() -> impl Iterator<Item = (Mode, Option<FenceKind>)> {
    let fences = offered().iter().map(|kind| (Mode::WorkspaceWrite, Some(*kind)));
    [(Mode::ReadOnly, None), (Mode::DangerFullAccess, None)].into_iter().chain(fences)
}

fn write(path: &str) -> Request {
    let (path, contents) = (path.into(), b"written".to_vec());
    Request::Write { path, contents, when: Precondition::None, parents: Parents::Create }
}

/// Does `request`, and tells what came of it by the answer and by the pictures.
#[track_caller]
fn verdict(stage: &Stage, session: &Session, request: Request) -> Result<Verdict, String> {
    let before = stage.snapshot();
    let said = said(session, &request);
    let answer = session.perform(request);
    let after = stage.snapshot();
    said.map_or(Ok(()), |said| agrees(&said, &answer))?;
    match answer {
        Ok(Outcome::Changed { .. }) => {
            Ok(Verdict::Done(before.effects(&after, stage.root_in_base())))
        }
        Ok(other) => Err(format!("{other:?} is no change")),
        Err(error) => match before.differences(&after) {
            none if none.is_empty() => Ok(Verdict::Not(error.code(), error.reason())),
            changed => Err(format!("{error}, and yet {changed:#?}")),
        },
    }
}

#[test]
fn every_place_gets_the_verdict_of_its_mode_on_every_fence() {
    play();
}

#[test]
fn an_ordinary_user_gets_the_same_verdicts() {
    as_user(this_test!(), play);
}

fn play() {
    let mut wrong = Vec::new();
    for (mode, kind) in settings() {
        let mut theatre = Theatre::new();
        for row in rows() {
            let expected = match mode {
                Mode::ReadOnly => DENIED,
                Mode::WorkspaceWrite => row.workspace_write,
                Mode::DangerFullAccess => row.full_access,
            };
            let request = write(&theatre.stage.expand(row.path));
            let got = verdict(&theatre.stage, &theatre.session(mode, kind), request);
            if got.as_ref() != Ok(&expected) {
                let fence = kind.map(|kind| kind.to_string()).unwrap_or_default();
                let (number, path) = (row.number, row.path);
                wrong.push(format!(
                    "row {number} {path} {mode} {fence}: expected {expected:?}, got {got:?}"
                ));
            }
            // What changed nothing, by the pictures, has left the stage as it was.
            if !matches!(got, Ok(Verdict::Not(..))) {
                theatre = Theatre::new();
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn each_row_of_the_matrix_is_played_or_listed_with_its_reason() {
    let played: BTreeSet<u8> = rows().iter().map(|row| row.number).collect();
    let elsewhere = ELSEWHERE.iter().map(|(number, _)| *number);
    let all: BTreeSet<u8> = played.iter().copied().chain(elsewhere).collect();
    assert_eq!(all, (1..=35).chain([38]).collect());
    let windows = ELSEWHERE.iter().filter(|(_, place)| place.starts_with("Windows"));
    report(windows.map(|(number, why)| LeftOut::new(format!("row {number}"), *why, 1)).collect());
}

#[test]
fn a_read_is_denied_in_no_mode_and_changes_nothing() {
    for (mode, kind) in settings() {
        let theatre = Theatre::new();
        let session = theatre.session(mode, kind);
        let before = theatre.stage.snapshot();
        for row in rows() {
            let path = theatre.stage.expand(row.path);
            for request in [
                Request::Read { path: path.clone().into() },
                Request::List { path: path.clone().into() },
            ] {
                if let Err(error) = session.perform(request) {
                    let code = error.code();
                    let by_kind = matches!(
                        code,
                        Code::FsNotFound
                            | Code::FsNotRegularFile
                            | Code::FsNotDirectory
                            | Code::FsIoError
                    );
                    assert!(by_kind, "{path} under {mode}: {error}");
                }
            }
        }
        theatre.stage.assert_unchanged(&before);
    }
}

/// Spellings of places that workspace-write may not change, for operations that do not follow the
/// last link.
const FORBIDDEN: [&str; 14] = [
    "$BASE/out/secret",
    "../out/secret",
    "d/../../out/fifo",
    "outdir/secret",
    "outdir_abs/secret",
    "onward_dir/secret",
    "../ws2/x",
    "$BASE/alias",
    "$BASE/alias_inner",
    "/proc/self/root$BASE/out/secret",
    ".",
    "..",
    "$BASE/tmp",
    "$BASE/alias/../out/secret",
];

#[test]
fn every_change_follows_the_same_verdicts_at_each_path_it_names() {
    for (mode, kind) in settings().filter(|(mode, _)| *mode != Mode::DangerFullAccess) {
        let theatre = Theatre::new();
        let session = theatre.session(mode, kind);
        for spelled in FORBIDDEN {
            let path = || theatre.stage.expand(spelled).into();
            for request in [
                Request::Remove { path: path(), what: Removal::File },
                Request::Remove { path: path(), what: Removal::EmptyDir },
                Request::Remove { path: path(), what: Removal::Tree },
                Request::Rename { from: path(), to: "n".into(), when: Precondition::None },
                Request::Rename { from: "f".into(), to: path(), when: Precondition::None },
                Request::Rename { from: "d".into(), to: path(), when: Precondition::Absent },
            ] {
                let asked = format!("{request:?} {mode} {kind:?}");
                let got = verdict(&theatre.stage, &session, request);
                assert_eq!(got, Ok(DENIED), "{asked}");
            }
        }
        for spelled in ["$BASE/out/n", "../n", "outdir/n", "onward_dir/p/n", "dangling_out/n"] {
            let path = || theatre.stage.expand(spelled).into();
            for request in [
                Request::CreateDir { path: path(), parents: Parents::Create },
                Request::CreateDir { path: path(), parents: Parents::Require },
                Request::Symlink { path: path(), text: "f".into() },
            ] {
                let asked = format!("{request:?} {mode} {kind:?}");
                let got = verdict(&theatre.stage, &session, request);
                assert_eq!(got, Ok(DENIED), "{asked}");
            }
        }
    }
}

#[test]
fn a_new_symlink_leads_nowhere_outside_its_root() {
    for (mode, kind) in settings().filter(|(_, kind)| kind.is_some()) {
        let theatre = Theatre::new();
        let session = theatre.session(mode, kind);
        for text in
            ["/", "$ROOT/f", "$BASE/out", "..", "../out", "../ws/f", "d/../../out", "outdir"]
        {
            let text = theatre.stage.expand(text);
            let request = Request::Symlink { path: "n".into(), text: text.clone().into() };
            assert_eq!(verdict(&theatre.stage, &session, request), Ok(DENIED), "{text} {kind:?}");
        }
        let request = Request::Symlink { path: "indir_abs/n".into(), text: "../f".into() };
        let created = done([Effect::New(NodeKind::Symlink, "d/n".into())]);
        assert_eq!(verdict(&theatre.stage, &session, request), Ok(created));
    }
}

#[test]
fn what_acts_on_an_entry_follows_links_on_the_way_but_not_the_last() {
    let moved = |from: &str, to: &str| done([Effect::Moved(from.into(), to.into())]);
    let gone = |kind, path: &str| done([Effect::Gone(kind, path.into())]);
    let remove = |path: &str, what| Request::Remove { path: path.into(), what };
    let rename = |from: &str, to: &str| {
        let (from, to) = (from.into(), to.into());
        Request::Rename { from, to, when: Precondition::None }
    };
    let mkdir = |path: &str, parents| Request::CreateDir { path: path.into(), parents };
    for (mode, kind) in settings().filter(|(mode, _)| *mode != Mode::ReadOnly) {
        for (request, expected) in [
            (remove("outfile", Removal::File), gone(NodeKind::Symlink, "outfile")),
            (remove("outdir_abs", Removal::Tree), gone(NodeKind::Symlink, "outdir_abs")),
            (remove("dangling_out", Removal::File), gone(NodeKind::Symlink, "dangling_out")),
            (remove("loop", Removal::File), gone(NodeKind::Symlink, "loop")),
            (remove("indir_abs/g", Removal::File), gone(NodeKind::File, "d/g")),
            (remove("across_dir/t", Removal::Tree), gone(NodeKind::File, "$BASE/tmp/t")),
            (remove("d", Removal::Tree), gone(NodeKind::Dir, "d")),
            (remove("nowhere_abs/n", Removal::File), NOT_FOUND),
            (rename("outfile", "n"), moved("outfile", "n")),
            (rename("f", "indir_abs/n"), moved("f", "d/n")),
            (rename("across_abs", "and_back_dir/n"), moved("across_abs", "d/n")),
            (rename("f", "across_dir/n"), moved("f", "$BASE/tmp/n")),
            (rename("../alias/f", "n"), moved("f", "n")),
            (mkdir("indir_abs/p/q", Parents::Require), NOT_FOUND),
            (mkdir("indir_abs", Parents::Create), done([])),
            (mkdir("indir_abs", Parents::Require), Verdict::Not(Code::FsNotObserved, None)),
            (mkdir("d", Parents::Require), done([])),
            (mkdir("dangling", Parents::Create), Verdict::Not(Code::FsNotObserved, None)),
            (mkdir("dangling_abs", Parents::Create), Verdict::Not(Code::FsNotObserved, None)),
            (mkdir("nowhere_abs/n", Parents::Create), NOT_FOUND),
            (mkdir("f", Parents::Create), Verdict::Not(Code::FsNotObserved, None)),
            (mkdir("f/n", Parents::Create), NOT_FOUND),
        ] {
            let theatre = Theatre::new();
            let asked = format!("{request:?} {mode} {kind:?}");
            let got = verdict(&theatre.stage, &theatre.session(mode, kind), request);
            assert_eq!(got, Ok(expected), "{asked}");
        }
    }
}

#[test]
fn forty_links_are_followed_and_no_more() {
    for (mode, kind) in settings().filter(|(mode, _)| *mode != Mode::ReadOnly) {
        for text in ["link{n}", "$ROOT/link{n}"] {
            let first = [file("f", "f"), link("link0", "f")];
            let chain = (1..=40).map(|n| {
                let text = text.replace("{n}", &(n - 1).to_string());
                Entry::Link(format!("link{n}"), text)
            });
            let stage = Stage::new(&with_temp(Tree::inside(first.into_iter().chain(chain))));
            let session = session(stage.root(), &stage.base().join("tmp"), mode, kind);
            let asked = format!("{text} {mode} {kind:?}");
            assert_eq!(verdict(&stage, &session, write("link40")), Ok(LOOP), "{asked}");
            assert_eq!(verdict(&stage, &session, write("link39")), Ok(replaces("f")), "{asked}");
        }
    }
}

#[test]
fn a_root_configured_as_the_whole_volume_contains_everything() {
    for (mode, kind) in settings().filter(|(_, kind)| kind.is_some()) {
        let stage = Stage::new(&small_tree());
        let builder = Session::builder().workspace("/").mode(mode).temps(TempAreas::none());
        let kind = kind.unwrap();
        let session = builder.exactly(kind.resolution, kind.confinement).build().unwrap();
        let path = stage.base().join("out/n");
        let got = verdict(&stage, &session, write(path.to_str().unwrap()));
        assert_eq!(got, Ok(creates("$BASE/out/n", &[])), "{kind}");
    }
}

#[test]
fn every_spelling_of_the_root_is_the_root() {
    for (mode, kind) in settings() {
        for spelled in ["$ROOT/", "$ROOT/.", "$BASE//ws", "$BASE/ws/d/..", "$BASE/alias"] {
            for (path, expected) in [
                ("n", creates("n", &[])),
                ("$ROOT/f", replaces("f")),
                ("$BASE/alias/f", replaces("f")),
            ] {
                let stage = Stage::new(&small_tree());
                let workspace = stage.expand(spelled);
                let temp = stage.base().join("tmp");
                let session = session(Path::new(&workspace), &temp, mode, kind);
                let expected = if mode == Mode::ReadOnly { DENIED } else { expected };
                let got = verdict(&stage, &session, write(&stage.expand(path)));
                assert_eq!(got, Ok(expected), "{path} in {spelled} {mode} {kind:?}");
            }
        }
    }
}

#[test]
fn a_hard_link_is_broken_and_the_receipt_says_so() {
    for (mode, kind) in settings().filter(|(mode, _)| *mode != Mode::ReadOnly) {
        let stage = Stage::new(&small_tree());
        let session = session(stage.root(), &stage.base().join("tmp"), mode, kind);
        let Ok(Outcome::Changed { receipt, .. }) = session.perform(write("hard")) else {
            panic!("row 25 under {mode}");
        };
        assert!(receipt.not_kept.iter().any(|lost| matches!(lost, Lost::HardLink(_))), "{mode}");
        assert_eq!(std::fs::read_to_string(stage.base().join("out/secret")).unwrap(), "out");
    }
}

#[test]
fn a_device_is_never_opened() {
    use rustix::fs::{CWD, FileType, Mode as Bits, makedev, mknodat};
    if !is_root() {
        say("left out: row 26 for a device: this user may not make one");
        return;
    }
    for (mode, kind) in settings().filter(|(mode, _)| *mode != Mode::ReadOnly) {
        let stage = Stage::new(&small_tree());
        let device = stage.root().join("device");
        let made = mknodat(
            CWD,
            &device,
            FileType::CharacterDevice,
            Bits::from_raw_mode(0o666),
            makedev(1, 3),
        );
        if made.is_err() {
            say("left out: row 26 for a device: none can be made here");
            return;
        }
        let session = session(stage.root(), &stage.base().join("tmp"), mode, kind);
        assert_eq!(verdict(&stage, &session, write("device")), Ok(NO_FILE), "{mode} {kind:?}");
    }
}

#[test]
fn what_the_operator_mounted_in_the_root_is_in_the_root() {
    with_own_mounts(this_test!(), || {
        for (mode, kind) in settings() {
            let stage = Stage::new(&small_tree());
            for place in ["bound", "read_only"] {
                std::fs::create_dir(stage.root().join(place)).unwrap();
            }
            std::fs::create_dir(stage.base().join("elsewhere")).unwrap();
            std::fs::write(stage.root().join("mounted"), "").unwrap();
            let out = stage.base().join("out");
            bind(&out, &stage.root().join("bound"));
            bind(&out.join("secret"), &stage.root().join("mounted"));
            bind(&out, &stage.root().join("read_only"));
            read_only(&stage.root().join("read_only"));
            bind(stage.root(), &stage.base().join("elsewhere"));

            let session = session(stage.root(), &stage.base().join("tmp"), mode, kind);
            let allowed = mode != Mode::ReadOnly;
            for (path, code, reason) in [
                ("mounted", Code::FsIoError, Some(Reason::Busy)),
                ("read_only/n", Code::FsPermissionDenied, None),
                ("read_only/secret", Code::FsPermissionDenied, None),
            ] {
                let before = stage.snapshot();
                let error = session.perform(write(path)).unwrap_err();
                let expected = if allowed { (code, reason) } else { (Code::FsSandboxDenied, None) };
                assert_eq!((error.code(), error.reason()), expected, "{path} {mode} {kind:?}");
                // A scratch file has come and gone, which only the times of its directory show.
                let mut effects = before.effects(&stage.snapshot(), stage.root_in_base());
                effects.retain(|effect| !matches!(effect, Effect::Mtime(_)));
                assert!(effects.is_empty(), "{path} {mode} {kind:?}: {effects:?}");
            }
            for (path, real) in [("bound/n", "out/n"), ("$BASE/elsewhere/n", "ws/n")] {
                let answer = session.perform(write(&stage.expand(path)));
                assert_eq!(answer.is_ok(), allowed, "{path} {mode} {kind:?}: {answer:?}");
                assert_eq!(stage.base().join(real).exists(), allowed, "{path} {mode} {kind:?}");
            }
            for place in ["elsewhere", "ws/read_only", "ws/mounted", "ws/bound"] {
                let place = stage.base().join(place);
                rustix::mount::unmount(place, rustix::mount::UnmountFlags::DETACH).unwrap();
            }
        }
    });
}

fn bind(from: &Path, to: &Path) {
    rustix::mount::mount_bind(from, to).unwrap();
}

fn read_only(place: &Path) {
    use rustix::mount::MountFlags;
    rustix::mount::mount_remount(place, MountFlags::BIND | MountFlags::RDONLY, "").unwrap();
}

#[test]
fn a_denial_says_who_refused_and_what_would_suffice() {
    use ringfence::Layer;
    let theatre = Theatre::new();
    for (mode, kind) in settings() {
        let session = theatre.session(mode, kind);
        for (path, by_roots, narrowest) in [
            ("f", None, Mode::WorkspaceWrite),
            ("$BASE/tmp/t", None, Mode::WorkspaceWrite),
            ("../out/secret", Some(true), Mode::DangerFullAccess),
            ("outfile", Some(false), Mode::DangerFullAccess),
        ] {
            let path = theatre.stage.expand(path);
            let request = Request::Remove { path: path.clone().into(), what: Removal::File };
            let request = if by_roots == Some(false) { write(&path) } else { request };
            if mode == Mode::DangerFullAccess || (mode != Mode::ReadOnly && by_roots.is_none()) {
                continue;
            }
            let Err(Error::Denied(denial)) = session.perform(request) else {
                panic!("{path} under {mode} is denied");
            };
            assert_eq!(denial.mode, mode);
            assert!(denial.path.is_absolute(), "{denial:?}");
            match kind {
                None => {
                    assert_eq!(denial.by, Layer::Mode);
                    assert!(denial.roots.is_empty());
                    if by_roots != Some(false) {
                        assert_eq!(denial.narrowest, Some(narrowest), "{path}");
                    }
                }
                Some(kind) => {
                    let fence = Layer::Resolution(kind.resolution);
                    let by = if by_roots == Some(true) { Layer::Roots } else { fence };
                    assert_eq!(denial.by, by, "{path}");
                    assert_eq!(denial.narrowest, Some(narrowest), "{path}");
                    let roots = [theatre.stage.root().to_owned(), theatre.stage.base().join("tmp")];
                    assert_eq!(denial.roots, roots);
                }
            }
        }
    }
}
