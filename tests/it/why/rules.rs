//! Which rule is named, and what is told beside the verdict.

use ringfence::{Code, Mode, Op, Rule, Verdict};

use super::OPS;
use crate::support::{Stage, Tree, builder_in, dir, each_session_on, fifo, file, link, offered};

fn tree() -> Tree {
    let inside = [
        file("f", "text\n"),
        file("bytes", "a\0b"),
        dir("d"),
        fifo("fifo"),
        file("kept/f", "kept"),
        link("out", "../out"),
        link("by", "d/../out"),
        link("in", "d"),
        link("loop", "loop"),
    ];
    Tree::inside(inside).outside([file("out/f", "out")])
}

#[test]
fn each_verdict_names_the_rule_that_settles_it() {
    use Code::*;
    let fails = |code| Verdict::Fails { code, reason: None };
    for kind in offered() {
        let stage = Stage::new(&tree());
        let builder = builder_in(stage.root(), Mode::WorkspaceWrite, *kind);
        let session = builder.protected_subpaths(["kept"]).build().unwrap();
        let before = stage.snapshot();
        for (op, path, verdict, rule) in [
            (Op::Read, "out/f", Verdict::Allowed, Rule::Reading),
            (Op::Read, "d", fails(FsNotRegularFile), Rule::Kind),
            (Op::List, "d", Verdict::Allowed, Rule::Reading),
            (Op::List, "f", fails(FsNotDirectory), Rule::Kind),
            (Op::Write, "f", Verdict::Allowed, Rule::Containment),
            (Op::Write, "n/n/n", Verdict::Allowed, Rule::Containment),
            (Op::Write, "out/f", Verdict::Denied, Rule::Containment),
            (Op::Write, "../n", Verdict::Denied, Rule::Containment),
            (Op::Write, "kept/n", Verdict::Denied, Rule::Protected),
            (Op::Write, "fifo", fails(FsNotRegularFile), Rule::Kind),
            (Op::Write, "f/n", fails(FsNotFound), Rule::Existence),
            (Op::Write, "", fails(FsNotFound), Rule::Path),
            (Op::Edit, "f", Verdict::Allowed, Rule::Containment),
            (Op::Edit, "n", fails(FsNotFound), Rule::Existence),
            (Op::Edit, "bytes", fails(FsNotText), Rule::Kind),
            (Op::CreateDir, "n", Verdict::Allowed, Rule::Containment),
            (Op::CreateDir, "n/n", fails(FsNotFound), Rule::Existence),
            (Op::Remove, "out", Verdict::Allowed, Rule::Containment),
            (Op::Remove, "d", fails(FsNotRegularFile), Rule::Kind),
            (Op::Remove, ".", Verdict::Denied, Rule::Containment),
            (Op::Rename, "kept", Verdict::Denied, Rule::Protected),
            (Op::Symlink, "f", fails(FsNotObserved), Rule::Existence),
        ] {
            let why = session.why(op, path.as_ref()).unwrap();
            assert_eq!((why.verdict, why.rule), (verdict, rule), "{why:?} on {kind}");
            assert!(why.is_forecast(), "{why:?}");
            assert_eq!(why.error.is_none(), verdict == Verdict::Allowed, "{why:?}");
        }
        let why = session.why(Op::Write, "loop".as_ref()).unwrap();
        assert_eq!((why.rule, why.place), (Rule::Path, None));
        stage.assert_unchanged(&before);
    }
}

#[test]
fn it_tells_the_place_the_root_and_the_link_that_led_out() {
    each_session_on(&tree(), |stage, session| {
        let (root, out) = (stage.root(), stage.base().join("out"));
        let level = session.assurance().unwrap().map(|assurance| assurance.level);
        for (op, path, place, led_out_by) in [
            (Op::Write, "in/n", root.join("d/n"), None),
            (Op::Write, "out/n", out.join("n"), Some("out")),
            (Op::Write, "in/../out/n", out.join("n"), Some("out")),
            (Op::Write, "by/n", root.join("out/n"), None),
            (Op::Remove, "out", root.join("out"), None),
            (Op::Remove, "out/f", out.join("f"), Some("out")),
            (Op::Read, "out/f", out.join("f"), Some("out")),
        ] {
            let why = session.why(op, path.as_ref()).unwrap();
            let is_inside = place.starts_with(root) && why.led_out_by.is_none();
            let place = if path == "by/n" { out.join("n") } else { place };
            let led_out_by = if path == "by/n" { Some("by") } else { led_out_by };
            assert_eq!(why.place, Some(place), "{why:?}");
            assert_eq!(why.root.as_deref(), is_inside.then_some(root), "{why:?}");
            assert_eq!(why.led_out_by, led_out_by.map(|link| root.join(link)), "{why:?}");
            assert_eq!(why.level, level.filter(|_| op.changes()), "{why:?}");
        }
    });
}

#[test]
fn a_denial_tells_the_narrowest_mode_and_what_would_come_of_it_there() {
    let not_found = Verdict::Fails { code: Code::FsNotFound, reason: None };
    for kind in offered() {
        let stage = Stage::new(&tree());
        let session = |mode| {
            let builder = builder_in(stage.root(), mode, *kind);
            match mode {
                Mode::DangerFullAccess => builder.build().unwrap(),
                Mode::ReadOnly | Mode::WorkspaceWrite => {
                    builder.protected_subpaths(["kept"]).build().unwrap()
                }
            }
        };
        let (none, own) = (session(Mode::ReadOnly), session(Mode::WorkspaceWrite));
        let full = session(Mode::DangerFullAccess);
        let (workspace, everywhere) = (Mode::WorkspaceWrite, Mode::DangerFullAccess);
        for (op, path, of_none, of_own) in [
            (Op::Write, "f", Some((workspace, Verdict::Allowed)), None),
            (Op::Write, "f/n", Some((workspace, not_found)), None),
            (Op::Write, "out/f", Some((everywhere, Verdict::Allowed)), Some(Verdict::Allowed)),
            (Op::Write, "out/f/n", Some((everywhere, not_found)), Some(not_found)),
            (Op::Write, "kept/f", Some((everywhere, Verdict::Allowed)), Some(Verdict::Allowed)),
            (Op::Remove, ".", None, None),
            (Op::Remove, "/", None, None),
        ] {
            let why = none.why(op, path.as_ref()).unwrap();
            assert_eq!((why.verdict, why.rule), (Verdict::Denied, Rule::Mode), "{why:?}");
            assert_eq!((why.narrowest, why.level), (of_none, None), "{why:?}");
            assert!(!why.is_forecast(), "{why:?}");
            let why = own.why(op, path.as_ref()).unwrap();
            assert_eq!(why.narrowest, of_own.map(|verdict| (everywhere, verdict)), "{why:?}");
            if let Some(verdict) = of_own {
                let why = full.why(op, path.as_ref()).unwrap();
                assert_eq!((why.verdict, why.narrowest), (verdict, None), "{why:?}");
            }
        }
        let why = full.why(Op::Write, "f".as_ref()).unwrap();
        assert_eq!((why.verdict, why.rule), (Verdict::Allowed, Rule::Mode));
    }
}

#[test]
fn a_workspace_that_was_moved_is_no_answer_and_a_command_is_not_asked_about() {
    each_session_on(&tree(), |stage, session| {
        let error = session.why(Op::Run, "f".as_ref()).unwrap_err();
        assert_eq!(error.code(), Code::FsIoError);
        std::fs::rename(stage.root(), stage.base().join("moved")).unwrap();
        for op in OPS.into_iter().filter(|op| op.changes()) {
            let error = session.why(op, "f".as_ref()).unwrap_err();
            assert_eq!(error.code(), Code::SandboxUnavailable, "{op}");
        }
        let why = session.why(Op::Read, stage.base().join("out/f").as_ref()).unwrap();
        assert_eq!(why.verdict, Verdict::Allowed);
    });
}
