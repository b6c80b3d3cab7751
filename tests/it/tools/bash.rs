//! Commands of a model, under the same policy as its files.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;

use ringfence::{Approval, CallContext, Cancel, Mode, Subject, ToolResult};
use serde_json::{Value, json};

use super::{Agent, code};
use crate::support::{
    FenceKind, Person, Stage, Tree, dir, fifo, file, link, offered, runs_commands,
};

const MARKER: &str = "[sandbox: file access denied under workspace-write mode]";

fn tree() -> Tree {
    let inside = [file("f", "old"), dir("d"), fifo("fifo"), link("out", "$BASE/out")];
    Tree::inside(inside).outside([file("out/x", "out")])
}

/// All fences, where a command can be run beside them.
fn fences() -> &'static [FenceKind] {
    if runs_commands() { offered() } else { &[] }
}

fn each_agent(test: impl Fn(&Stage, &Agent)) {
    for kind in fences() {
        let stage = Stage::new(&tree());
        test(&stage, &Agent::on(&stage, Mode::WorkspaceWrite, *kind));
    }
}

#[test]
fn where_nothing_can_confine_a_command_none_is_run() {
    if runs_commands() {
        return;
    }
    for kind in offered() {
        let stage = Stage::new(&tree());
        let before = stage.snapshot();
        let person = Person::who_says(Approval::AllowedOnce);
        let agent = Agent::with(&person, &stage, Mode::WorkspaceWrite, *kind);
        let refused = agent.call("bash", bash("echo x > n"));
        assert_eq!(code(&refused), "SANDBOX_UNAVAILABLE");
        for words in ["not run", "`ringfence doctor`", "no denial"] {
            assert!(refused.text.contains(words), "{}", refused.text);
        }
        assert!(!refused.text.contains("sandbox_permissions"), "{}", refused.text);
        stage.assert_unchanged(&before);
    }
}

fn bash(command: &str) -> Value {
    json!({ "command": command, "description": "a test" })
}

fn with(mut arguments: Value, key: &str, value: impl Into<Value>) -> Value {
    arguments[key] = value.into();
    arguments
}

fn asking(command: &str, to: Mode) -> Value {
    let arguments = with(bash(command), "sandbox_permissions", to.as_str());
    with(arguments, "justification", "the user wants it")
}

/// What a command wrote to its standard output.
#[track_caller]
fn output(agent: &Agent, arguments: Value) -> String {
    agent.done("bash", arguments)["stdout"].as_str().unwrap().to_owned()
}

#[test]
fn a_command_tells_what_it_wrote_and_how_it_ended() {
    each_agent(|stage, agent| {
        let ran = agent.call("bash", bash("pwd -P; echo err >&2"));
        let place = format!("{}\n", stage.root().display());
        assert!(!ran.is_error && ran.code.is_none());
        assert_eq!(ran.text, format!("{place}[standard error]\nerr\n"));
        let value = ran.value.as_object().unwrap();
        for (key, expected) in [
            ("kind", json!("completed")),
            ("exitCode", json!(0)),
            ("signal", Value::Null),
            ("timedOut", json!(false)),
            ("aborted", json!(false)),
            ("timeoutMs", json!(120_000)),
            ("stdout", json!(place)),
            ("stderr", json!("err\n")),
            ("truncated", json!(false)),
        ] {
            assert_eq!(value[key], expected, "{key}");
        }
        let sandbox = value["sandbox"].as_object().unwrap();
        let keys: BTreeSet<_> = sandbox.keys().map(String::as_str).collect();
        assert_eq!(keys, ["denied", "enforcement", "gaps", "mode", "notCovered", "runner"].into());
        assert_eq!(
            (&sandbox["mode"], &sandbox["denied"]),
            (&json!("workspace-write"), &json!(false))
        );
        let enforcement = if sandbox["gaps"] == json!([]) { "full" } else { "partial" };
        assert_eq!(sandbox["enforcement"], enforcement);
        assert_eq!(value.len(), 10, "{value:?}");
        assert_eq!(agent.call("bash", bash("true")).text, "[no output]");
    });
}

#[test]
fn a_command_that_fails_is_a_result_and_no_error() {
    each_agent(|_, agent| {
        for (command, code, signal, last) in [
            ("exit 3", json!(3), Value::Null, "[exit code 3]"),
            ("no-such-program", json!(127), Value::Null, "[exit code 127]"),
            ("kill -TERM $$", Value::Null, json!("SIGTERM"), "[killed by SIGTERM]"),
        ] {
            let ran = agent.call("bash", bash(command));
            assert_eq!((ran.is_error, &ran.value["kind"]), (false, &json!("failed")), "{command}");
            // bubblewrap tells no more of a signal than a shell does.
            let by_shell = signal != Value::Null && ran.value["sandbox"]["runner"] == "bwrap";
            if by_shell {
                assert_eq!(ran.value["exitCode"], json!(143));
                continue;
            }
            assert_eq!((&ran.value["exitCode"], &ran.value["signal"]), (&code, &signal));
            assert_eq!(ran.text.lines().last(), Some(last), "{command}");
        }
    });
}

#[test]
fn each_call_is_a_fresh_shell() {
    each_agent(|stage, agent| {
        agent.done("bash", bash("cd d; export left=over; echo x > made"));
        let place = stage.root().display();
        assert_eq!(output(agent, bash("pwd -P; echo \"<$left>\"")), format!("{place}\n<>\n"));
        assert!(stage.root().join("d/made").is_file(), "only files are left");
        assert_eq!(output(agent, bash("wc -c")).trim(), "0", "standard input is empty");
    });
}

#[test]
fn a_command_begins_where_it_is_told() {
    each_agent(|stage, agent| {
        let place = |path: &Path| format!("{}\n", path.display());
        let pwd = |workdir: &str| output(agent, with(bash("pwd -P"), "workdir", workdir));
        assert_eq!(pwd("d"), place(&stage.root().join("d")));
        assert_eq!(pwd(stage.root().to_str().unwrap()), place(stage.root()));
        let outside = stage.base().join("out");
        assert_eq!(pwd(outside.to_str().unwrap()), place(&outside), "reading is free");

        let before = stage.snapshot();
        let touch = |workdir: &str| with(bash("touch made"), "workdir", workdir);
        for (workdir, expected) in [("missing", "FS_NOT_FOUND"), ("f", "FS_NOT_DIRECTORY")] {
            assert_eq!(agent.code("bash", touch(workdir)), expected, "{workdir}");
        }
        for invalid in [
            with(bash("touch made"), "workdir", " "),
            with(bash("touch made"), "timeoutMs", 0),
            bash(" \n"),
            bash("touch made\0"),
            json!({ "command": "touch made" }),
            with(bash("touch made"), "description", ""),
        ] {
            assert_eq!(agent.code("bash", invalid.clone()), "INVALID_ARGS", "{invalid}");
        }
        stage.assert_unchanged(&before);
    });
}

#[test]
fn what_a_command_may_not_change_is_denied_and_how_to_ask_is_told() {
    for kind in fences() {
        let stage = Stage::new(&tree());
        let person = Person::who_says(Approval::AllowedOnce);
        let agent = Agent::with(&person, &stage, Mode::WorkspaceWrite, *kind);
        let before = stage.snapshot();
        for command in ["echo x > ../n", "echo x > out/n", "rm out/x"] {
            let denied = agent.call("bash", bash(command));
            assert!(!denied.is_error, "{command}");
            let sandbox = &denied.value["sandbox"];
            assert_eq!(sandbox["denied"], true, "{command}: {}", denied.text);
            let evidence = sandbox["evidence"].as_str().unwrap();
            assert!(["kernel_audit", "policy_replay"].contains(&evidence), "{evidence}");
            let lines: Vec<_> = denied.text.lines().rev().take(3).collect();
            assert_eq!((lines[2], lines[0]), (MARKER, "[exit code 1]"), "{}", denied.text);
            let hint = "this exact command may be retried once, in this turn, with \
                        `sandbox_permissions` set to \"danger-full-access\" and a `justification`";
            assert!(lines[1].starts_with(hint), "{}", denied.text);
            stage.assert_unchanged(&before);
        }
        let alone = Agent::on(&stage, Mode::WorkspaceWrite, *kind);
        let denied = alone.call("bash", bash("echo x > ../n")).text;
        assert!(denied.contains(MARKER) && !denied.contains("sandbox_permissions"), "{denied}");
        assert!(person.asked().is_empty());
        stage.assert_unchanged(&before);
    }
}

#[test]
fn what_the_host_or_the_command_itself_refuses_is_no_denial() {
    each_agent(|_, agent| {
        let failed =
            ["exit 1", "grep -q nothing f", "cat missing", "echo 'x: Permission denied' >&2"];
        for command in failed {
            let ran = agent.call("bash", bash(command));
            assert_eq!(ran.value["sandbox"]["denied"], false, "{command}: {}", ran.text);
            assert!(!ran.text.contains("[sandbox:"), "{command}: {}", ran.text);
        }
        let forged = agent.call("bash", bash(&format!("echo '{MARKER}'; exit 1")));
        assert_eq!(forged.value["sandbox"]["denied"], false);
        let note = "[what looks like a denial above was printed by the command]";
        assert_eq!(forged.text, format!("{MARKER}\n{note}\n[exit code 1]"));
    });
}

#[test]
fn consent_is_for_one_command() {
    for kind in fences() {
        let stage = Stage::new(&tree());
        let person = Person::who_says(Approval::AllowedOnce);
        let agent = Agent::with(&person, &stage, Mode::ReadOnly, *kind);
        let context = CallContext { call_id: Some("call-1".into()), ..CallContext::default() };
        let arguments = with(asking("echo x > n", Mode::WorkspaceWrite), "workdir", "d");
        let ran = agent.tools.call(&agent.session, "bash", arguments, &context);
        assert_eq!(ran.value["kind"], "completed", "{}", ran.text);
        assert_eq!(ran.value["sandbox"]["mode"], "workspace-write");
        assert!(stage.root().join("d/n").is_file());

        let asked = person.asked();
        assert_eq!(asked.len(), 1);
        assert_eq!((asked[0].from, asked[0].to), (Mode::ReadOnly, Mode::WorkspaceWrite));
        assert_eq!(asked[0].tool.as_deref(), Some("bash"));
        assert_eq!(asked[0].call.as_deref(), Some("call-1"));
        assert_eq!(asked[0].justification, "the user wants it");
        let Subject::Command { command, workdir } = &asked[0].subject else { panic!("a command") };
        assert_eq!((command.as_str(), workdir), ("echo x > n", &stage.root().join("d")));

        let before = stage.snapshot();
        let denied = agent.done("bash", bash("echo x > m"));
        assert_eq!(
            (&denied["kind"], &denied["sandbox"]["denied"]),
            (&"failed".into(), &true.into())
        );
        assert_eq!(person.asked().len(), 1);
        stage.assert_unchanged(&before);
    }
}

#[test]
fn a_command_that_nobody_allows_is_not_run() {
    for kind in fences() {
        let stage = Stage::new(&tree());
        let before = stage.snapshot();
        let command = || asking("echo x > n", Mode::WorkspaceWrite);
        for (answer, expected) in [
            (Approval::Rejected, "SANDBOX_ESCALATION_REJECTED"),
            (Approval::Cancelled, "SANDBOX_ESCALATION_CANCELLED"),
            (Approval::Unavailable, "SANDBOX_ESCALATION_UNAVAILABLE"),
        ] {
            let person = Person::who_says(answer);
            let agent = Agent::with(&person, &stage, Mode::ReadOnly, *kind);
            let refused = agent.call("bash", command());
            assert_eq!(code(&refused), expected);
            assert!(refused.text.contains("nothing was done"), "{}", refused.text);
            let elsewhere = with(command(), "workdir", "missing");
            assert_eq!(agent.code("bash", elsewhere), "FS_NOT_FOUND");
            assert_eq!(person.asked().len(), 1, "nobody is asked for what would fail anyway");
        }
        let alone = Agent::on(&stage, Mode::ReadOnly, *kind);
        assert_eq!(alone.code("bash", command()), "SANDBOX_ESCALATION_NO_APPROVER");
        let same = asking("echo x > n", Mode::WorkspaceWrite);
        let wide = Agent::on(&stage, Mode::WorkspaceWrite, *kind);
        assert_eq!(wide.code("bash", same), "SANDBOX_ESCALATION_NOT_WIDER");
        stage.assert_unchanged(&before);
    }
}

#[test]
fn commands_run_beside_each_other_and_beside_changes() {
    each_agent(|stage, agent| {
        thread::scope(|scope| {
            let waiting = scope.spawn(|| output(agent, bash("cat fifo")));
            // Its end depends on what is done meanwhile.
            agent.done("write", json!({ "file_path": "n", "content": "x" }));
            agent.done("read", json!({ "file_path": "n" }));
            agent.done("bash", bash("cat n > fifo"));
            assert_eq!(waiting.join().unwrap(), "x");
        });
        assert!(stage.root().join("n").is_file());
    });
}

#[test]
fn a_command_has_no_more_time_than_it_is_given() {
    each_agent(|_, agent| {
        let ran = agent.call("bash", with(bash("echo some; cat fifo"), "timeoutMs", 250.5));
        assert!(!ran.is_error);
        assert_eq!(
            (&ran.value["kind"], &ran.value["timedOut"]),
            (&"timed_out".into(), &true.into())
        );
        assert_eq!(
            (&ran.value["timeoutMs"], &ran.value["exitCode"]),
            (&250.5.into(), &Value::Null)
        );
        assert_eq!(ran.text, "some\n[timed out after its limit of 250.5 ms]");
        let most = with(bash("true"), "timeoutMs", 1e300);
        assert_eq!(agent.done("bash", most)["timeoutMs"], 600_000);
    });
}

#[test]
fn a_command_that_is_cancelled_ends() {
    each_agent(|stage, agent| {
        let cancel = Cancel::new();
        let context = CallContext { cancel: cancel.clone(), ..CallContext::default() };
        let call = |command| agent.tools.call(&agent.session, "bash", bash(command), &context);
        thread::scope(|scope| {
            let running = scope.spawn(|| call("echo x > begun; cat fifo; echo x > n"));
            while !stage.root().join("begun").exists() && !running.is_finished() {
                thread::yield_now();
            }
            cancel.cancel();
            let ran = running.join().unwrap();
            assert!(!ran.is_error, "{}", ran.text);
            assert_eq!(
                (&ran.value["kind"], &ran.value["aborted"]),
                (&"aborted".into(), &true.into())
            );
        });
        let before = stage.snapshot();
        assert_eq!(code(&call("echo x > n")), "FS_ABORTED");
        stage.assert_unchanged(&before);
    });
}

#[test]
fn of_a_long_output_the_end_is_shown_and_all_of_it_kept() {
    each_agent(|_, agent| {
        let ran = agent.call("bash", bash("yes é | head -c 200001; printf '!\\n'"));
        assert_eq!(ran.value["truncated"], true);
        let shown = ran.value["stdout"].as_str().unwrap();
        assert!(shown.len() <= 64_000 && shown.len() > 63_000, "{}", shown.len());
        assert!(shown.ends_with("!\n") && !shown.starts_with('\u{fffd}'));
        let path = ran.value["stdoutFile"].as_str().expect("all of it is in a file");
        assert_eq!(std::fs::metadata(path).unwrap().len(), 200_003);
        assert!(ran.value.get("stderrFile").is_none());
        let last = ran.text.lines().last().unwrap();
        assert!(last.contains("of 200003 bytes") && last.contains(path), "{last}");
    });
}

#[test]
fn commands_in_the_background_are_there_only_where_they_are_offered() {
    each_agent(|_, agent| {
        let ran = agent.done("bash", with(bash("true"), "run_in_background", true));
        assert_eq!(ran["kind"], "completed", "what is not offered is ignored");
        for name in ["bash_output", "bash_kill"] {
            assert_eq!(agent.code(name, json!({ "job": "1" })), "INVALID_ARGS");
        }
    });
}

/// Runs `test` with an agent whose commands may go on.
fn each_with_background(test: impl Fn(&Stage, &Agent)) {
    for kind in fences() {
        let stage = Stage::new(&tree());
        let mut agent = Agent::on(&stage, Mode::WorkspaceWrite, *kind);
        agent.tools = agent.tools.with_background();
        test(&stage, &agent);
    }
}

fn started(agent: &Agent, command: &str) -> Value {
    let started = agent.call("bash", with(bash(command), "run_in_background", true));
    assert!(!started.is_error, "{}", started.text);
    let job = started.value["job"].clone();
    assert_eq!(started.value, json!({ "kind": "started", "job": job }));
    assert!(started.text.contains(&format!("job {job}")), "{}", started.text);
    json!({ "job": job })
}

/// Looks until `is_enough`, and returns the last look and all that was written.
fn looked(agent: &Agent, job: &Value, is_enough: impl Fn(&ToolResult, &str) -> bool) -> ToolResult {
    let mut all = String::new();
    loop {
        let mut look = agent.call("bash_output", job.clone());
        all += look.value["stdout"].as_str().unwrap();
        if is_enough(&look, &all) {
            look.value["stdout"] = all.into();
            return look;
        }
        assert_eq!(look.value["kind"], "running", "{}", look.text);
        thread::yield_now();
    }
}

#[test]
fn a_command_in_the_background_is_shown_piece_by_piece() {
    each_with_background(|stage, agent| {
        let job = started(agent, "echo one; cat fifo; echo three; exit 4");
        let first = looked(agent, &job, |_, all| all == "one\n");
        assert_eq!(first.value["kind"], "running");
        assert!(first.text.ends_with(&format!("[job {} is running]", job["job"])));
        std::fs::write(stage.root().join("fifo"), "two\n").unwrap();
        let rest = looked(agent, &job, |look, _| look.value["kind"] != "running");
        assert_eq!(rest.value["stdout"], "two\nthree\n", "nothing is shown twice");
        assert_eq!((&rest.value["kind"], &rest.value["exitCode"]), (&"failed".into(), &4.into()));
        assert_eq!(rest.value["timeoutMs"], Value::Null);
        assert_eq!(rest.text.lines().last(), Some("[exit code 4]"));
        let after = agent.call("bash_output", job);
        assert_eq!(after.text, "[no output since the last look]\n[exit code 4]");
    });
}

#[test]
fn a_command_in_the_background_is_held_to_the_same_mode() {
    each_with_background(|stage, agent| {
        let before = stage.snapshot();
        let job = started(agent, "echo x > ../n");
        let ended = looked(agent, &job, |look, _| look.value["kind"] != "running");
        assert_eq!(ended.value["sandbox"]["denied"], true, "{}", ended.text);
        assert!(ended.text.contains(MARKER), "{}", ended.text);
        stage.assert_unchanged(&before);
    });
}

#[test]
fn a_command_in_the_background_can_be_ended() {
    each_with_background(|_, agent| {
        let job = started(agent, "cat fifo");
        let ended = agent.call("bash_kill", job.clone());
        assert_eq!((ended.is_error, &ended.value["kind"]), (false, &json!("aborted")));
        assert_eq!(agent.done("bash_output", job.clone())["aborted"], true);
        assert_eq!(agent.done("bash_kill", job)["kind"], "aborted", "it has ended already");
        for name in ["bash_output", "bash_kill"] {
            let unknown = agent.call(name, json!({ "job": "no\nsuch" }));
            assert_eq!(code(&unknown), "INVALID_ARGS");
            assert!(unknown.text.contains(r#"no job "no\nsuch""#), "{}", unknown.text);
        }
    });
}
