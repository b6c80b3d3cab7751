//! The `ringfence` binary as a process: what it prints, how it ends, and what it leaves alone.

mod config;
mod doctor;
mod exec;
mod pages;
mod policy;
mod tool;
mod why;
mod workspace;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::support::{Effect, NodeKind, Stage, Tree, dir, fifo, file, link};

const DENIED: i32 = 3;
const EXISTS: i32 = 4;
const USAGE: i32 = 2;
const FAILED: i32 = 1;

fn stage() -> Stage {
    let inside = [
        file("f", "old"),
        dir("d"),
        file("full/g", "g"),
        link("outdir", "../out"),
        link("outfile", "../out/secret"),
        link("in_abs", "$ROOT/f"),
        fifo("fifo"),
    ];
    Stage::new(&Tree::inside(inside).outside([file("out/secret", "out")]))
}

/// What a run of the binary came to.
#[derive(Debug)]
struct Run {
    status: ExitStatus,
    out: String,
    err: String,
}

impl Run {
    fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("it ended by a signal: {self:?}"))
    }

    fn json(text: &str) -> Value {
        assert_eq!(text.lines().count(), 1, "one object on one line: {text:?}");
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }
}

fn command(workspace: &Path, line: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringfence"));
    // Not beneath the target directory, whatever the variable is here.
    command.env("TMPDIR", "/tmp").env_remove("RINGFENCE_LOG");
    // No configuration of whoever runs the tests.
    command.env("XDG_CONFIG_HOME", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases"));
    command.current_dir(workspace).args(line);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn finish(mut command: Command, input: &[u8]) -> Run {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command that reads nothing may be gone before all is written.
    let written = stdin.write_all(input);
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    if output.status.success() && !input.is_empty() {
        written.unwrap();
    }
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Run { status: output.status, out: text(output.stdout), err: text(output.stderr) }
}

/// Runs the binary in the workspace of `stage`, with `input` to read.
fn run(stage: &Stage, line: &[&str], input: &str) -> Run {
    let line: Vec<_> = line.iter().map(|word| stage.expand(word)).collect();
    let line: Vec<_> = line.iter().map(String::as_str).collect();
    finish(command(stage.root(), &line), input.as_bytes())
}

/// Whether a line says that this host cannot confine, which it says of every change.
fn is_about_this_host(line: &str) -> bool {
    static CONFINES: OnceLock<bool> = OnceLock::new();
    let confines = CONFINES.get_or_init(|| {
        Run::json(&run(&stage(), &["doctor", "--json"], "").out)["strongest"] == "confined"
    });
    !confines && line.contains("and not confined")
}

/// Runs it, and returns what that changed.
#[track_caller]
fn changes(line: &[&str], input: &str) -> Vec<Effect> {
    let stage = stage();
    let before = stage.snapshot();
    let run = run(&stage, line, input);
    assert_eq!(run.code(), 0, "{line:?}: {run:?}");
    assert_eq!(run.out, "", "a change is quiet");
    assert!(run.err.lines().all(is_about_this_host), "{line:?}: {}", run.err);
    before.effects(&stage.snapshot(), stage.root_in_base()).into_iter().collect()
}

/// Runs it, and sees that it ends with `code`, says one line about it, and changes nothing.
#[track_caller]
fn refuses(code: i32, line: &[&str]) -> String {
    let stage = stage();
    let before = stage.snapshot();
    let run = run(&stage, line, "input");
    assert_eq!(run.code(), code, "{line:?}: {run:?}");
    assert_eq!(run.out, "", "{line:?}");
    stage.assert_unchanged(&before);
    if code != USAGE {
        assert_eq!(run.err.lines().count(), 1, "{line:?}: {}", run.err);
        assert!(run.err.starts_with("ringfence: "), "{line:?}: {}", run.err);
    }
    run.err
}

#[test]
fn write_makes_a_file_and_its_parents_of_what_it_reads() {
    let stage = stage();
    assert_eq!(run(&stage, &["write", "notes/hello.txt"], "hello\n").code(), 0);
    let hello = stage.root().join("notes/hello.txt");
    assert_eq!(std::fs::read_to_string(&hello).unwrap(), "hello\n");
    assert_eq!(run(&stage, &["write", "notes/hello.txt"], "").code(), 0);
    assert_eq!(std::fs::read_to_string(&hello).unwrap(), "");
    assert_eq!(run(&stage, &["read", "notes/hello.txt"], "").out, "");
    assert_eq!(run(&stage, &["ls", "notes"], "").out, "hello.txt\n");
    let binary = [0, 159, 146, 150, b'\n', 0];
    assert_eq!(finish(command(stage.root(), &["write", "binary"]), &binary).code(), 0);
    assert_eq!(std::fs::read(stage.root().join("binary")).unwrap(), binary);
}

#[test]
fn each_command_makes_its_change_and_no_other() {
    let new = |kind, path: &str| Effect::New(kind, path.to_owned());
    let gone = |kind, path: &str| Effect::Gone(kind, path.to_owned());
    let moved = |from: &str, to: &str| Effect::Moved(from.to_owned(), to.to_owned());
    let replaced = |path: &str| Effect::Replaced(path.to_owned());
    assert_eq!(changes(&["write", "f"], "x"), [replaced("f")]);
    assert_eq!(changes(&["write", "in_abs"], "x"), [replaced("f")]);
    assert_eq!(changes(&["write", "n", "--new"], "x"), [new(NodeKind::File, "n")]);
    assert_eq!(changes(&["edit", "f", "--old", "ld", "--new", "n"], ""), [replaced("f")]);
    assert_eq!(changes(&["edit", "f", "--old", "old", "--new", "old"], ""), []);
    assert_eq!(changes(&["mkdir", "n"], ""), [new(NodeKind::Dir, "n")]);
    assert_eq!(changes(&["mkdir", "d"], ""), []);
    let both = [new(NodeKind::Dir, "n"), new(NodeKind::Dir, "n/m")];
    assert_eq!(changes(&["mkdir", "-p", "n/m"], ""), both);
    assert_eq!(changes(&["mv", "f", "d/f"], ""), [moved("f", "d/f")]);
    assert_eq!(changes(&["mv", "f", "full/g"], ""), [moved("f", "full/g")]);
    assert_eq!(changes(&["mv", "f", "n", "--no-replace"], ""), [moved("f", "n")]);
    assert_eq!(changes(&["rm", "f"], ""), [gone(NodeKind::File, "f")]);
    assert_eq!(changes(&["rm", "outdir"], ""), [gone(NodeKind::Symlink, "outdir")]);
    assert_eq!(changes(&["rm", "-d", "d"], ""), [gone(NodeKind::Dir, "d")]);
    assert_eq!(changes(&["rm", "-r", "full"], ""), [gone(NodeKind::Dir, "full")]);
    assert_eq!(changes(&["ln", "-s", "../f", "d/l"], ""), [new(NodeKind::Symlink, "d/l")]);
}

#[test]
fn what_leads_outside_is_denied_by_whom_it_says_and_changes_nothing() {
    for (line, layer) in [
        (&["write", "../x"][..], "writable root"),
        (&["write", "$BASE/out/secret"], "writable root"),
        (&["write", "outdir/n"], "the fence ("),
        (&["write", "outdir/p/q"], "the fence ("),
        (&["write", "outfile"], "the fence ("),
        (&["edit", "outfile", "--old", "o", "--new", "n"], "the fence ("),
        (&["edit", "../out/secret", "--old", "o", "--new", "n"], "writable root"),
        (&["mkdir", "-p", "outdir/n/m"], "the fence ("),
        (&["mv", "f", "../f"], "writable root"),
        (&["mv", "../out/secret", "f"], "writable root"),
        (&["mv", "outdir/secret", "n"], "the fence ("),
        (&["rm", "-r", "../out"], "writable root"),
        (&["rm", "outdir/secret"], "the fence ("),
        (&["ln", "-s", "../out", "l"], "the fence ("),
    ] {
        let said = refuses(DENIED, line);
        assert!(said.contains(layer), "{line:?}: {said}");
        assert!(said.contains("workspace-write"), "{line:?}: {said}");
        assert!(said.contains("--mode danger-full-access"), "{line:?}: {said}");
    }
    let said = refuses(DENIED, &["ln", "-s", "/etc", "l"]);
    assert!(!said.contains("--mode"), "no mode allows an absolute text: {said}");
    assert!(said.contains("an absolute text"), "nobody has looked where it leads: {said}");
    refuses(DENIED, &["ln", "-s", "/etc", "l", "--mode", "danger-full-access"]);
}

#[test]
fn read_only_denies_every_change_and_says_which_mode_would_do() {
    for line in [
        &["--mode", "read-only", "write", "n"][..],
        &["--mode", "read-only", "mkdir", "n"],
        &["--mode", "read-only", "rm", "f"],
        &["--mode", "read-only", "mv", "f", "n"],
        &["ln", "-s", "f", "n", "--mode", "read-only"],
    ] {
        assert!(refuses(DENIED, line).contains("--mode workspace-write"), "{line:?}");
    }
    let said = refuses(DENIED, &["--mode", "read-only", "write", "../n"]);
    assert!(said.contains("--mode danger-full-access"), "{said}");
    let stage = stage();
    assert_eq!(run(&stage, &["--mode", "read-only", "read", "../out/secret"], "").out, "out");
}

#[test]
fn full_access_writes_outside_when_a_person_says_so() {
    let stage = stage();
    let run = run(&stage, &["--mode", "danger-full-access", "--json", "write", "../out/n"], "x");
    assert_eq!(run.code(), 0, "{run:?}");
    assert_eq!(Run::json(&run.out)["enforcement"], "unfenced");
    assert_eq!(std::fs::read_to_string(stage.base().join("out/n")).unwrap(), "x");
}

#[test]
fn what_exists_is_left_alone_where_that_was_asked_for() {
    for (line, path) in [
        (&["write", "f", "--new"][..], "f"),
        (&["write", "in_abs", "--new"], "in_abs"),
        (&["mv", "f", "full/g", "--no-replace"], "full/g"),
        (&["ln", "-s", "f", "d"], "d"),
    ] {
        let said = refuses(EXISTS, line);
        assert!(said.contains(&format!("{path}\"")), "{line:?} names {path}: {said}");
    }
}

#[test]
fn what_a_person_may_not_expect_of_a_change_is_said_in_a_line() {
    let stage = stage();
    let told = |line: &[&str], input| {
        let run = run(&stage, line, input);
        assert_eq!((run.code(), run.out.as_str()), (0, ""), "{line:?}: {run:?}");
        run.err
    };
    std::fs::hard_link(stage.root().join("f"), stage.root().join("other")).unwrap();
    let err = told(&["write", "f"], "new");
    let lines: Vec<_> = err.lines().filter(|line| !is_about_this_host(line)).collect();
    let [line] = lines[..] else { panic!("one line and not {err}") };
    assert!(line.ends_with("f\" was replaced and has not kept: hard_link"), "{line}");

    let err = told(&["--workspace", "/", "write", "$ROOT/n"], "x");
    assert!(err.contains("and not confined ("), "{err}");
    assert_eq!(told(&["--mode", "danger-full-access", "write", "m"], "x"), "");
}

/// All of `/tmp` is writable, but for the name of a workspace in it.
#[test]
fn a_workspace_beneath_a_temp_area_is_neither_removed_nor_renamed() {
    let place = format!("/tmp/ringfence-{}", std::process::id());
    std::fs::create_dir(&place).unwrap();
    std::fs::create_dir(format!("{place}/d")).unwrap();
    let line = |line: &[&str]| finish(command(Path::new(&place), line), b"");
    for refused in [&["rm", "-r", "."][..], &["rm", "-d", &place], &["mv", ".", "/tmp/other"]] {
        let run = line(refused);
        assert_eq!(run.code(), DENIED, "{run:?}");
        assert!(!run.err.contains("--mode"), "{run:?}");
    }
    assert_eq!(line(&["rm", "-r", "d"]).code(), 0);
    // By its absolute path it is an entry of the temp area for whoever has another workspace.
    assert_eq!(run(&stage(), &["rm", "-d", &place], "").code(), 0);
    assert!(!Path::new(&place).exists());
}

#[test]
fn what_would_not_help_is_not_advised() {
    for line in [
        &["rm", "-d", "f"][..],
        &["mkdir", "-p", "f/d"],
        &["mv", "f", "d"],
        &["--mode", "danger-full-access", "rm", "-r", "/"],
    ] {
        let said = refuses(FAILED, line);
        assert!(!said.contains("; with") && !said.contains("--mode"), "{line:?}: {said}");
    }
    for mode in ["read-only", "workspace-write"] {
        for root in ["/", ".", "$ROOT"] {
            let said = refuses(DENIED, &["--mode", mode, "rm", "-r", root]);
            assert!(!said.contains("--mode"), "{mode} {root}: {said}");
        }
    }
}

#[test]
fn other_failures_end_with_one_and_a_reason() {
    for (line, reason) in [
        (&["read", "missing"][..], "does not exist"),
        (&["ls", "f"], "another kind"),
        (&["read", "d"], "another kind"),
        (&["read", "fifo"], "another kind"),
        (&["write", "fifo"], "another kind"),
        (&["write", "d"], "another kind"),
        (&["write", "f/n"], "does not exist"),
        (&["mkdir", "n/m"], "-p"),
        (&["rm", "d"], "-r"),
        (&["rm", "-d", "full"], "not empty"),
        (&["rm", "missing"], "does not exist"),
        (&["edit", "f", "--old", "new", "--new", "n"], "is not in it"),
        (&["edit", "missing", "--old", "o", "--new", "n"], "does not exist"),
        (&["mv", "missing", "n"], "does not exist"),
        (&["write", "{x*256}"], "too long"),
        (&["--workspace", "missing", "write", "n"], "workspace_root"),
        (&["--workspace", "f", "write", "n"], "workspace_root"),
    ] {
        let said = refuses(FAILED, line).to_lowercase();
        assert!(said.contains(reason), "{line:?}: {said}");
    }
}

#[test]
fn a_wrong_command_line_ends_with_two() {
    for line in [
        &["write"][..],
        &["write", ""],
        &["--workspace", "", "write", "n"],
        &["shred", "f"],
        &["edit", "f", "--old", "o"],
        &["write", "f", "--mode", "Workspace-Write"],
        &["write", "f", "--require", "unfenced"],
        &["write", "f", "--mode", "danger-full-access", "--require", "checked"],
        &["ln", "f", "n"],
        &["rm", "-r", "-d", "d"],
    ] {
        refuses(USAGE, line);
    }
}

#[test]
fn help_documents_the_exit_codes() {
    let help = run(&stage(), &["--help"], "");
    assert_eq!(help.code(), 0);
    for code in ["0  done", "1  failed", "2  the command line", "3  denied", "4  something"] {
        assert!(help.out.contains(code), "{code}: {}", help.out);
    }
}

#[test]
fn json_is_one_object_with_what_the_receipt_says() {
    let stage = stage();
    let json = |line: &[&str], input| {
        let run = run(&stage, line, input);
        assert_eq!((run.code(), run.err.as_str()), (0, ""), "{line:?}: {run:?}");
        Run::json(&run.out)
    };
    let root = stage.root().to_str().unwrap();
    let receipt = json(&["write", "--json", "a/./b//c"], "x");
    assert_eq!(receipt["effect"], "created");
    assert_eq!(receipt["path"], format!("{root}/a/b/c"));
    assert_eq!(receipt["parents_created"], 2);
    assert_eq!(receipt["durability"], "file");
    assert_eq!(receipt["cas"], "unconditional");
    assert_eq!(receipt["not_kept"], serde_json::json!([]));
    assert!(["confined", "kernel", "checked"].contains(&receipt["enforcement"].as_str().unwrap()));

    std::fs::hard_link(stage.root().join("f"), stage.root().join("g")).unwrap();
    assert_eq!(json(&["write", "g", "--json"], "y")["hard_links"], 1);
    let receipt = json(&["write", "f", "--json", "--durability", "full"], "x");
    assert_eq!((&receipt["effect"], &receipt["durability"]), (&"replaced".into(), &"full".into()));
    assert_eq!(json(&["write", "n", "--new", "--json"], "x")["cas"], "atomic");
    assert_eq!(json(&["mkdir", "d", "--json"], "")["effect"], "unchanged");
    assert_eq!(json(&["mv", "n", "m", "--json"], "")["path"], format!("{root}/m"));
    let edited = json(&["edit", "m", "--old", "x", "--new", "y", "--all", "--json"], "");
    assert_eq!((&edited["effect"], &edited["replaced"]), (&"replaced".into(), &1.into()));
    assert_eq!(json(&["rm", "m", "--json"], "")["effect"], "removed");
    assert_eq!(json(&["read", "f", "--json"], "")["contents"], "x");
    let listed = json(&["ls", "full", "--json"], "");
    assert_eq!(listed["entries"], serde_json::json!([{ "name": "g", "kind": "file" }]));
}

#[test]
fn a_json_error_is_one_object_on_standard_error() {
    let stage = stage();
    let json = |code, line: &[&str]| {
        let run = run(&stage, line, "x");
        assert_eq!((run.code(), run.out.as_str()), (code, ""), "{line:?}: {run:?}");
        Run::json(&run.err)
    };
    let error = json(DENIED, &["write", "outdir/n", "--json"]);
    assert_eq!(error["code"], "FS_SANDBOX_DENIED");
    assert_eq!(error["operation"], "write");
    assert_eq!(error["mode"], "workspace-write");
    assert_eq!(error["narrowest"], "danger-full-access");
    assert!(["openat2", "walk"].contains(&error["by"].as_str().unwrap()), "{error}");
    assert_eq!(error["roots"][0]["path"], stage.root().to_str().unwrap());
    assert_eq!(json(EXISTS, &["write", "f", "--new", "--json"])["code"], "FS_NOT_OBSERVED");
    let error = json(FAILED, &["write", "{x*256}", "--json"]);
    assert_eq!(
        (&error["code"], &error["reason"]),
        (&"FS_IO_ERROR".into(), &"name_too_long".into())
    );
    let error = json(FAILED, &["read", "missing", "--json"]);
    assert_eq!(error["code"], "FS_NOT_FOUND");
    assert!(error["os_error"].is_string(), "{error}");
    let error = json(FAILED, &["--workspace", "f", "ls", "--json"]);
    assert_eq!(error["code"], "POLICY_INVALID");
}

#[test]
fn no_name_breaks_out_of_its_line() {
    let said = refuses(DENIED, &["write", "../a\nringfence: all is well\u{1b}[2J\r"]);
    assert!(said.contains(r"a\nringfence: all is well\u{1b}[2J\r"), "{said}");
    let stage = stage();
    assert_eq!(run(&stage, &["write", "full/two\nlines"], "").code(), 0);
    assert_eq!(run(&stage, &["ls", "full"], "").out, "g\n\"two\\nlines\"\n");
}

#[test]
fn a_temp_directory_that_would_widen_the_policy_is_refused() {
    let stage = stage();
    let home = std::env::home_dir().unwrap();
    let before = stage.snapshot();
    for temp in [Path::new("/"), Path::new("."), Path::new("/missing"), stage.base(), &home] {
        let mut command = command(stage.root(), &["--json", "write", "../out/n"]);
        command.env("TMPDIR", temp);
        let run = finish(command, b"x");
        assert_eq!(run.code(), FAILED, "{temp:?}: {run:?}");
        assert_eq!(Run::json(&run.err)["code"], "POLICY_INVALID", "{temp:?}");
    }
    stage.assert_unchanged(&before);
    let mut command = command(stage.root(), &["write", "../out/n"]);
    command.env("TMPDIR", stage.base().join("out"));
    assert_eq!(
        finish(command, b"x").code(),
        0,
        "a temp directory beside the workspace is writable"
    );
}

#[test]
fn a_boundary_that_the_host_cannot_give_is_not_replaced_by_a_weaker_one() {
    let stage = stage();
    let report = Run::json(&run(&stage, &["doctor", "--json"], "").out);
    let levels = ["checked", "kernel", "confined"];
    let rank = |level: &str| levels.iter().position(|l| *l == level).unwrap();
    let strongest = rank(report["strongest"].as_str().unwrap());
    for level in levels {
        let before = stage.snapshot();
        let run = run(&stage, &["--require", level, "--json", "write", "f"], "old");
        if rank(level) <= strongest {
            assert_eq!(run.code(), 0, "{level}: {run:?}");
            assert_eq!(rank(Run::json(&run.out)["enforcement"].as_str().unwrap()), strongest);
        } else {
            assert_eq!(run.code(), FAILED, "{level}: {run:?}");
            assert_eq!(Run::json(&run.err)["code"], "SANDBOX_UNAVAILABLE");
            stage.assert_unchanged(&before);
        }
    }
}

#[test]
fn no_boundary_is_confined_that_has_the_whole_volume_for_a_root() {
    let stage = stage();
    let line = ["--workspace", "/", "--require", "confined", "write", "$ROOT/n"];
    let before = stage.snapshot();
    let run = run(&stage, &line, "x");
    assert_eq!(run.code(), FAILED, "{run:?}");
    assert!(run.err.contains("ringfence doctor"), "{run:?}");
    stage.assert_unchanged(&before);
}

#[test]
fn doctor_tells_of_each_kind_of_fence_and_what_is_missing() {
    let stage = stage();
    let text = run(&stage, &["doctor"], "");
    assert_eq!(text.code(), 0, "{text:?}");
    for word in ["openat2 + landlock", "walk", "landlock  ", "strongest boundary here: "] {
        assert!(text.out.contains(word), "{word}: {}", text.out);
    }
    let report = Run::json(&run(&stage, &["doctor", "--json"], "").out);
    assert_eq!(report["fences"].as_array().unwrap().len(), 4);
    let confined = report["strongest"] == "confined";
    let abi = report["landlock"]["abi"].as_i64();
    assert!(!confined || abi >= Some(3), "{report}");
    assert_eq!(report["roots"][0]["path"], stage.root().to_str().unwrap());

    let report = Run::json(&run(&stage, &["--workspace", "/", "doctor", "--json"], "").out);
    assert_ne!(report["strongest"], "confined");
    let gap = &report["gaps"][0];
    for part in ["gap", "cause", "remedy"] {
        assert!(!gap[part].as_str().unwrap().is_empty(), "{part}: {report}");
    }
    let line = ["--workspace", "/", "doctor", "--require", "confined"];
    assert_eq!(run(&stage, &line, "").code(), FAILED, "it can be asked in a script");

    let mut at_the_top = command(stage.root(), &["doctor", "--json"]);
    at_the_top.current_dir("/");
    let refused = finish(at_the_top, b"");
    assert_eq!(refused.code(), FAILED, "nobody has said that it is to be the whole volume");
    assert_eq!(Run::json(&refused.err)["code"], "POLICY_INVALID");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let stage = stage();
    std::fs::write(stage.root().join("big"), vec![b'x'; 1 << 20]).unwrap();
    for line in [["read", "big"], ["--help", "ls"], ["ls", "."], ["doctor", "--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = command(stage.root(), &line);
        command.stdout(writer);
        let run = finish(command, b"");
        assert_eq!((run.code(), run.err.as_str()), (0, ""), "{line:?}");
    }
}

#[test]
fn nothing_is_replaced_before_all_the_input_is_there() {
    let stage = stage();
    let mut child = command(stage.root(), &["write", "f"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"the first half, ").unwrap();
    let before = stage.snapshot();
    stage.assert_unchanged(&before);
    assert_eq!(std::fs::read_to_string(stage.root().join("f")).unwrap(), "old");
    stdin.write_all(b"the second").unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    let written = std::fs::read_to_string(stage.root().join("f")).unwrap();
    assert_eq!(written, "the first half, the second");
}

#[test]
fn decisions_are_told_on_standard_error_and_never_the_contents() {
    let stage = stage();
    let mut command = command(stage.root(), &["write", "f"]);
    command.env("RINGFENCE_LOG", "info");
    let run = finish(command, b"a secret");
    assert_eq!((run.code(), run.out.as_str()), (0, ""));
    for word in ["policy/decided", "change/done", "ringfence::audit"] {
        assert!(run.err.contains(word), "{word}: {}", run.err);
    }
    assert!(!run.err.contains("a secret"), "{}", run.err);
}

#[test]
fn what_is_protected_is_so_to_every_command_and_tool() {
    let stage = stage();
    let before = stage.snapshot();
    for line in [&["write", "full/g"][..], &["rm", "full/g"], &["mv", "full", "other"]] {
        let refused = run(&stage, &[line, &["--protect", "f", "--protect", "full"]].concat(), "x");
        assert_eq!(refused.code(), DENIED, "{line:?}: {refused:?}");
    }
    let call = serde_json::json!({ "file_path": "full/g", "content": "x" }).to_string();
    let refused = run(&stage, &["tool", "--protect", "full", "write"], &call);
    assert_eq!(refused.code(), DENIED, "{refused:?}");
    stage.assert_unchanged(&before);
    assert_eq!(run(&stage, &["--protect", "full", "write", "f"], "x").code(), 0, "the rest is not");
}
