//! A command that is run under the policy by whoever has the binary.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::{Run, USAGE, command, finish, run, stage};
use crate::shell::is_slept_for;
use crate::support::{Effect, NodeKind, Stage, runs_commands, say};

/// It cannot be held as it is to be.
const NOT_RUN: i32 = 125;

fn executed(stage: &Stage, options: &[&str], words: &[&str], input: &str) -> Run {
    run(stage, &[&["exec"], options, &["--"], words].concat(), input)
}

/// What a command line comes to.
fn shell(stage: &Stage, options: &[&str], line: &str) -> Run {
    executed(stage, options, &["bash", "-c", line], "")
}

/// What a command would be held to.
fn explained(stage: &Stage, options: &[&str]) -> Value {
    let told = executed(stage, &[options, &["--explain", "--json"]].concat(), &["true"], "");
    assert_eq!((told.code(), told.err.as_str()), (0, ""), "{told:?}");
    Run::json(&told.out)
}

#[test]
fn a_command_has_the_streams_of_its_caller_and_its_arguments_to_the_byte() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let made = executed(&stage, &[], &["bash", "-c", "cat; echo err >&2"], "input\n");
    assert_eq!((made.code(), made.out.as_str(), made.err.as_str()), (0, "input\n", "err\n"));
    let words = ["printf", "%s|", "a b", "", "*", "--mode", "--", "\u{1b}\n"];
    let made = executed(&stage, &[], &words, "");
    assert_eq!((made.out.as_str(), made.err.as_str()), ("a b||*|--mode|--|\u{1b}\n|", ""));
    let place = format!("{}\n", stage.root().display());
    assert_eq!(shell(&stage, &[], "pwd -P").out, place);
}

#[test]
fn a_command_that_prints_nothing_prints_nothing() {
    if !runs_commands() {
        return;
    }
    for mode in ["read-only", "workspace-write", "danger-full-access"] {
        let quiet = executed(&stage(), &["--mode", mode], &["true"], "");
        assert_eq!((quiet.code(), quiet.out.as_str(), quiet.err.as_str()), (0, "", ""), "{mode}");
    }
}

#[test]
fn it_ends_as_its_command_does() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    for (line, code) in [("exit 0", 0), ("exit 1", 1), ("exit 255", 255), ("kill -TERM $$", 143)] {
        let ended = shell(&stage, &[], line);
        assert_eq!((ended.code(), ended.err.as_str()), (code, ""), "{line}: {ended:?}");
    }
}

#[test]
fn what_cannot_be_executed_is_told_as_a_shell_does() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let before = stage.snapshot();
    for (word, code) in [("./missing", 127), ("no-such-program", 127), ("./f", 126), ("./d", 126)] {
        let refused = executed(&stage, &[], &[word], "");
        assert_eq!((refused.code(), refused.out.as_str()), (code, ""), "{word}: {refused:?}");
        assert!(refused.err.starts_with("ringfence: "), "{word}: {refused:?}");
        assert_eq!(refused.err.lines().count(), 1, "{word}: {refused:?}");
    }
    stage.assert_unchanged(&before);
}

#[test]
fn a_command_that_cannot_be_held_is_not_run() {
    let stage = stage();
    let before = stage.snapshot();
    for options in [&["--workspace", "missing"][..], &["--workspace", "f"]] {
        let refused = executed(&stage, options, &["touch", "d/n"], "");
        assert_eq!((refused.code(), refused.out.as_str()), (NOT_RUN, ""), "{refused:?}");
        assert!(refused.err.starts_with("ringfence: "), "{refused:?}");
        let options = [options, &["--json"]].concat();
        let refused = executed(&stage, &options, &["touch", "d/n"], "");
        assert_eq!(Run::json(&refused.err)["code"], "POLICY_INVALID");
    }
    if !runs_commands() {
        let refused = executed(&stage, &["--json"], &["touch", "d/n"], "");
        assert_eq!(refused.code(), NOT_RUN, "{refused:?}");
        assert_eq!(Run::json(&refused.err)["code"], "SANDBOX_UNAVAILABLE");
    }
    stage.assert_unchanged(&before);
}

#[test]
fn a_wrong_command_line_of_a_command_ends_with_two() {
    let stage = stage();
    let before = stage.snapshot();
    for line in [
        &["exec"][..],
        &["exec", "touch", "n"],
        &["exec", "--net", "all", "--", "touch", "n"],
        &["exec", "--mode", "danger-full-access", "--net", "none", "--", "touch", "n"],
        &["exec", "--mode", "danger-full-access", "--protect", "d", "--", "touch", "n"],
    ] {
        assert_eq!(run(&stage, line, "").code(), USAGE, "{line:?}");
    }
    stage.assert_unchanged(&before);
}

#[test]
fn a_command_changes_what_its_mode_allows_and_no_more() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let before = stage.snapshot();
    for line in [
        "echo x > ../n",
        "echo x > outdir/n",
        "echo x >> outfile",
        "mv ../out/secret d/taken",
        "rm ../out/secret",
        "cd .. && echo x > n",
        "setsid bash -c 'echo x > ../n'",
    ] {
        assert_ne!(shell(&stage, &[], line).code(), 0, "{line}");
        // mv(1) has copied what it cannot remove, where it cannot rename.
        drop(std::fs::remove_file(stage.root().join("d/taken")));
        stage.assert_unchanged_but_times_of_dirs(&before);
    }
    let before = stage.snapshot();
    for line in ["echo x > n", "echo x > ../n", "rm f", "mkdir d/e"] {
        assert_ne!(shell(&stage, &["--mode", "read-only"], line).code(), 0, "{line}");
        stage.assert_unchanged(&before);
    }
    assert_eq!(shell(&stage, &[], "echo x > n; cat ../out/secret > /dev/null").code(), 0);
    let made = Effect::New(NodeKind::File, "n".to_owned());
    let effects = before.effects(&stage.snapshot(), stage.root_in_base());
    assert_eq!(effects.into_iter().collect::<Vec<_>>(), [made]);

    let outside = shell(&stage, &["--mode", "danger-full-access"], "echo x > ../n");
    assert_eq!(outside.code(), 0, "{outside:?}");
    assert!(stage.base().join("n").exists());
}

#[test]
fn what_a_command_would_be_held_to_is_told_and_nothing_run() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let before = stage.snapshot();
    let told = shell(&stage, &["--explain"], "echo x > n");
    assert_eq!((told.code(), told.err.as_str()), (0, ""), "{told:?}");
    let root = format!("writable   {:?}\n", stage.root());
    for line in ["mode       workspace-write\n", &root, "network    shared\n"] {
        assert!(told.out.contains(line), "{line}: {}", told.out);
    }

    let told = explained(&stage, &[]);
    assert_eq!(told["mode"], "workspace-write");
    assert_eq!(told["roots"][0]["path"], stage.root().to_str().unwrap());
    assert_eq!((&told["protected"], &told["network"]), (&json!([]), &"shared".into()));
    let enforcement = if told["gaps"] == json!([]) { "full" } else { "partial" };
    assert_eq!(told["enforcement"], enforcement);
    assert!(told["runner"].is_string(), "{told}");

    let told = explained(&stage, &["--mode", "read-only", "--net", "none"]);
    assert_eq!((&told["roots"], &told["network"]), (&json!([]), &"none".into()));
    let told = explained(&stage, &["--mode", "danger-full-access"]);
    assert_eq!((&told["roots"], &told["runner"]), (&Value::Null, &Value::Null));

    let told = explained(&stage, &["--protect", "d"]);
    assert_eq!(told["protected"], json!([{ "path": stage.root().join("d") }]));
    stage.assert_unchanged(&before);
}

/// Whether a command would be held to something. Where that is a gap, none is run.
fn is_held(stage: &Stage, options: &[&str], gap: &str) -> bool {
    let told = executed(stage, &[options, &["--explain", "--json"]].concat(), &["true"], "");
    let gaps = (told.code() == 0).then(|| Run::json(&told.out)["gaps"].clone());
    let is_held = gaps.is_some_and(|gaps| !gaps.as_array().unwrap().contains(&gap.into()));
    if !is_held {
        assert_eq!(shell(stage, options, "touch n").code(), NOT_RUN);
        assert!(!stage.root().join("n").exists());
    }
    is_held
}

#[test]
fn what_is_protected_is_left_as_it_is_or_nothing_is_run() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let options = ["--protect", "full", "--protect", "d"];
    if !is_held(&stage, &options, "protected_subpaths") {
        return;
    }
    // A name that leads there is none that a runner can hold, so nothing is run.
    let led = ["--protect", "link"];
    std::os::unix::fs::symlink("d", stage.root().join("link")).unwrap();
    assert!(!is_held(&stage, &led, "protected_subpaths"));
    std::fs::remove_file(stage.root().join("link")).unwrap();
    let before = stage.snapshot();
    for line in ["echo x > full/g", "touch d/n", "mv full other", "rm -r d"] {
        assert_ne!(shell(&stage, &options, line).code(), 0, "{line}");
        stage.assert_unchanged(&before);
    }
    assert_eq!(shell(&stage, &options, "echo x > f").code(), 0);
}

#[test]
fn a_command_without_a_network_reaches_nobody_or_is_not_run() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    assert_eq!(shell(&stage, &[], &connect).code(), 0);
    let options = ["--net", "none"];
    if !is_held(&stage, &options, "network") {
        return;
    }
    assert_ne!(shell(&stage, &options, &connect).code(), 0);
    assert_eq!(shell(&stage, &options, "echo x > n").code(), 0, "files are as before");
}

#[test]
fn a_command_begins_where_its_caller_is_whatever_the_workspace() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    let workspace = stage.root().to_str().unwrap();
    let line = ["--workspace", workspace, "exec", "--", "bash", "-c", "pwd -P; touch n"];
    let refused = finish(command(stage.base(), &line), b"");
    assert_eq!(refused.out, format!("{}\n", stage.base().display()));
    assert_ne!(refused.code(), 0, "the base is not beneath the workspace");
}

#[test]
fn an_interrupt_is_for_the_command_to_take() {
    if !runs_commands() {
        return;
    }
    let stage = stage();
    if explained(&stage, &[])["runner"] != "landlock" {
        return say("left out: an interrupt: bubblewrap takes it, and ends its command");
    }
    let line = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.05; done";
    // Where the tests run in the background it is ignored, and nobody could take it.
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_ringfence")]);
    command.current_dir(stage.root()).env("TMPDIR", "/tmp");
    command.args(["exec", "--", "bash", "-c", line]);
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut told = String::new();
    out.read_line(&mut told).unwrap();
    let group = Pid::from_raw(child.id().try_into().unwrap());
    killpg(group, Signal::SIGINT).unwrap();
    out.read_to_string(&mut told).unwrap();
    assert_eq!((told.as_str(), child.wait().unwrap().code()), ("ready\ncaught\n", Some(5)));
}

#[test]
fn a_command_dies_with_what_runs_it_and_leaves_nothing() {
    if !runs_commands() {
        return;
    }
    for (number, protect) in [&[][..], &["--protect", "d"]].into_iter().enumerate() {
        let stage = stage();
        let word = format!("300.{}{number}", std::process::id());
        let line = format!("setsid sleep {word} & echo ready; wait");
        let before = stage.snapshot();
        let words = [&["exec"], protect, &["--", "bash", "-c", &line]].concat();
        let mut child = command(stage.root(), &words).spawn().unwrap();
        let mut told = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut told).unwrap();
        assert_eq!(told, "ready\n");
        stage.assert_unchanged(&before);
        let started = Instant::now();
        while !is_slept_for(&word) {
            assert!(started.elapsed() < Duration::from_secs(30), "it does not begin");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let killed = Instant::now();
        while is_slept_for(&word) {
            assert!(killed.elapsed() < Duration::from_secs(1), "it still runs");
        }
        stage.assert_unchanged(&before);
    }
}
