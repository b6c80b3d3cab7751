//! What came of a command, for a program.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::shell::{Ending, Output, Ran, Sandbox, Spill};
use crate::spelling::{signal_name, spelled};

use super::super::shown;

/// How a command ended, and what it wrote.
pub(super) fn ended(job: Option<&str>, ran: &Ran) -> Value {
    let Ran { ending, timeout, stdout, stderr, sandbox, .. } = ran;
    let (exit_code, signal) = match ending {
        Ending::Exited(code) => (Some(*code), None),
        Ending::Signalled(signal) => (None, Some(signal_name(*signal))),
        Ending::TimedOut | Ending::Aborted | Ending::Unknown | Ending::NotExecuted(_) => {
            (None, None)
        }
    };
    let mut object = of_kind(kind(*ending), job);
    object.insert("exitCode".into(), exit_code.into());
    object.insert("signal".into(), json!(signal));
    object.insert("timedOut".into(), (*ending == Ending::TimedOut).into());
    object.insert("aborted".into(), (*ending == Ending::Aborted).into());
    object.insert("timeoutMs".into(), timeout.map_or(Value::Null, millis));
    object.extend(written(stdout, stderr));
    object.insert("sandbox".into(), held(sandbox).into());
    object.into()
}

/// That a command goes on.
pub(super) fn started(job: &str) -> Value {
    of_kind("started", Some(job)).into()
}

/// What a job has written.
pub(super) fn running(job: &str, stdout: &Output, stderr: &Output) -> Value {
    let mut object = of_kind("running", Some(job));
    object.extend(written(stdout, stderr));
    object.into()
}

/// A time as a number of milliseconds, which is an integer wherever it can be.
pub(in super::super) fn millis(time: Duration) -> Value {
    let whole = u64::try_from(time.as_millis()).ok();
    let whole = whole.filter(|whole| Duration::from_millis(*whole) == time);
    whole.map_or_else(|| (time.as_secs_f64() * 1_000.0).into(), Value::from)
}

fn of_kind(kind: &str, job: Option<&str>) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("kind".into(), kind.into());
    object.extend(job.map(|job| ("job".to_owned(), job.into())));
    object
}

/// The stable token.
fn kind(ending: Ending) -> &'static str {
    match ending {
        Ending::Exited(0) => "completed",
        Ending::Exited(_) | Ending::Signalled(_) | Ending::Unknown | Ending::NotExecuted(_) => {
            "failed"
        }
        Ending::TimedOut => "timed_out",
        Ending::Aborted => "aborted",
    }
}

fn written(stdout: &Output, stderr: &Output) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("stdout".into(), shown::text(stdout).into());
    object.insert("stderr".into(), shown::text(stderr).into());
    let truncated = stdout.is_truncated() || stderr.is_truncated();
    object.insert("truncated".into(), truncated.into());
    for (key, output) in [("stdoutFile", stdout), ("stderrFile", stderr)] {
        match &output.spill {
            Spill::File(path) | Spill::Cut(path) if output.is_truncated() => {
                object.extend(spelled(key, path.as_os_str().as_encoded_bytes()));
            }
            Spill::File(_) | Spill::Cut(_) | Spill::None | Spill::Lost => {}
        }
    }
    object
}

fn held(sandbox: &Sandbox) -> Map<String, Value> {
    let Sandbox { mode, held, denied, may_be_denied } = sandbox;
    let gaps = sandbox.gaps().iter().map(ToString::to_string);
    let not_covered = held.iter().flat_map(|held| &held.not_covered).map(ToString::to_string);
    let mut object = Map::new();
    object.insert("mode".into(), mode.as_str().into());
    object.insert("runner".into(), json!(held.as_ref().map(|held| held.runner.to_string())));
    let enforcement = held.as_ref().map(|held| held.enforcement().to_string());
    object.insert("enforcement".into(), json!(enforcement));
    object.insert("gaps".into(), gaps.collect());
    object.insert("notCovered".into(), not_covered.collect());
    object.insert("denied".into(), denied.is_some().into());
    match denied {
        Some(denied) => {
            object.insert("evidence".into(), denied.evidence.to_string().into());
            let path = denied.path.as_ref();
            object.extend(
                path.into_iter()
                    .flat_map(|path| spelled("path", path.as_os_str().as_encoded_bytes())),
            );
        }
        None if *may_be_denied => {
            object.insert("evidence".into(), "heuristic".into());
        }
        None => {}
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::Mode;
    use crate::shell::{CommandDenial, Evidence};

    fn output(tail: &[u8], total: u64, spill: Spill) -> Output {
        Output { tail: tail.to_vec(), total, spill }
    }

    fn ran(ending: Ending) -> Ran {
        let mode = Mode::DangerFullAccess;
        Ran {
            workdir: "/ws".into(),
            ending,
            timeout: Some(Duration::from_secs(120)),
            stdout: output(b"out\n", 4, Spill::None),
            stderr: Output::default(),
            sandbox: Sandbox { mode, held: None, denied: None, may_be_denied: false },
        }
    }

    #[test]
    fn a_command_has_all_its_facts() {
        assert_eq!(
            ended(None, &ran(Ending::Exited(0))),
            json!({
                "kind": "completed",
                "exitCode": 0,
                "signal": null,
                "timedOut": false,
                "aborted": false,
                "timeoutMs": 120_000,
                "stdout": "out\n",
                "stderr": "",
                "truncated": false,
                "sandbox": {
                    "mode": "danger-full-access",
                    "runner": null,
                    "enforcement": null,
                    "gaps": ["orphans"],
                    "notCovered": [],
                    "denied": false,
                },
            })
        );
    }

    #[test]
    fn each_ending_has_its_kind() {
        for (ending, kind, exit_code, signal) in [
            (Ending::Exited(0), "completed", json!(0), json!(null)),
            (Ending::Exited(3), "failed", json!(3), json!(null)),
            (Ending::Signalled(15), "failed", json!(null), json!("SIGTERM")),
            (Ending::TimedOut, "timed_out", json!(null), json!(null)),
            (Ending::Aborted, "aborted", json!(null), json!(null)),
            (Ending::Unknown, "failed", json!(null), json!(null)),
            (Ending::NotExecuted(std::io::ErrorKind::NotFound), "failed", json!(null), json!(null)),
        ] {
            let value = ended(Some("j"), &ran(ending));
            assert_eq!((&value["kind"], &value["job"]), (&kind.into(), &"j".into()));
            assert_eq!((&value["exitCode"], &value["signal"]), (&exit_code, &signal), "{kind}");
            assert_eq!(value["timedOut"], ending == Ending::TimedOut, "{kind}");
            assert_eq!(value["aborted"], ending == Ending::Aborted, "{kind}");
        }
    }

    #[test]
    fn a_denial_has_its_evidence_and_a_suspicion_is_none() {
        let sandbox = |denied, may_be_denied| {
            let mode = Mode::ReadOnly;
            json!(held(&Sandbox { mode, held: None, denied, may_be_denied }))
        };
        let (evidence, narrowest) = (Evidence::PolicyReplay, None);
        let denial = |path| Some(CommandDenial { path, evidence, narrowest });
        let denied = sandbox(denial(Some("/ws/a".into())), true);
        assert_eq!(denied["denied"], true);
        assert_eq!(
            (&denied["evidence"], &denied["path"]),
            (&"policy_replay".into(), &"/ws/a".into())
        );
        assert!(sandbox(denial(None), false).get("path").is_none());
        let suspected = sandbox(None, true);
        assert_eq!(
            (&suspected["denied"], &suspected["evidence"]),
            (&false.into(), &"heuristic".into())
        );
        assert!(sandbox(None, false).get("evidence").is_none());
    }

    #[test]
    fn an_output_that_is_cut_tells_where_the_rest_is() {
        let cut = |spill| json!(written(&output(b"\x82\xacb", 9, spill), &Output::default()));
        let there = json!({
            "stdout": "b", "stderr": "", "truncated": true, "stdoutFile": "/tmp/o",
        });
        assert_eq!(cut(Spill::File("/tmp/o".into())), there);
        assert_eq!(cut(Spill::Cut("/tmp/o".into())), there);
        assert_eq!(cut(Spill::Lost), json!({ "stdout": "b", "stderr": "", "truncated": true }));
    }

    #[test]
    fn a_time_is_an_integer_wherever_it_can_be() {
        assert_eq!(millis(Duration::from_millis(1_500)), json!(1_500));
        assert_eq!(millis(Duration::from_micros(500)), json!(0.5));
        assert!(millis(Duration::MAX).is_number());
    }
}
