//! What the binary tells of a call beforehand, and that it changes nothing.

use serde_json::{Value, json};

use super::{Run, run, stage};
use crate::support::Stage;

fn why(stage: &Stage, line: &[&str]) -> Value {
    let line: Vec<_> = ["why", "--json"].iter().chain(line).copied().collect();
    let before = stage.snapshot();
    let told = run(stage, &line, "input");
    stage.assert_unchanged(&before);
    assert_eq!((told.code(), told.err.as_str()), (0, ""), "{told:?}");
    Run::json(&told.out)
}

#[test]
fn why_tells_the_verdict_the_rule_and_what_would_suffice() {
    let stage = stage();
    let [root, out] = ["$ROOT", "$BASE/out"].map(|path| stage.expand(path));
    let told = why(&stage, &["outdir/secret"]);
    assert_eq!(told["verdict"], "denied");
    assert_eq!((&told["operation"], &told["rule"]), (&json!("write"), &json!("containment")));
    assert_eq!((&told["place"], &told["root"]), (&json!(format!("{out}/secret")), &Value::Null));
    assert_eq!(told["led_out_by"], format!("{root}/outdir"));
    let sufficient = json!({ "mode": "danger-full-access", "verdict": "allowed" });
    assert_eq!((&told["narrowest"], &told["forecast"]), (&sufficient, &json!(true)));

    let told = why(&stage, &["f"]);
    assert_eq!((&told["verdict"], &told["root"]), (&json!("allowed"), &json!(root)));
    assert_eq!((&told["error"], &told["narrowest"]), (&Value::Null, &Value::Null));

    let told = why(&stage, &["f", "--mode", "read-only"]);
    assert_eq!((&told["verdict"], &told["rule"]), (&json!("denied"), &json!("mode")));
    assert_eq!(
        (&told["narrowest"]["mode"], &told["forecast"]),
        (&json!("workspace-write"), &json!(false))
    );
}

#[test]
fn why_takes_each_operation_by_the_name_of_its_command() {
    let stage = stage();
    for (op, operation, code) in [
        ("read", "read", Value::Null),
        ("ls", "list", json!("FS_NOT_DIRECTORY")),
        ("list", "list", json!("FS_NOT_DIRECTORY")),
        ("write", "write", Value::Null),
        ("edit", "edit", Value::Null),
        ("mkdir", "create directory", json!("FS_NOT_OBSERVED")),
        ("rm", "remove", Value::Null),
        ("mv", "rename", Value::Null),
        ("ln", "create symlink", json!("FS_NOT_OBSERVED")),
    ] {
        let told = why(&stage, &["f", "--op", op]);
        assert_eq!((&told["operation"], &told["code"]), (&json!(operation), &code), "{told}");
    }
}

#[test]
fn why_tells_a_person_the_same_in_lines() {
    let stage = stage();
    let told = run(&stage, &["why", "outdir/secret", "--op", "rm"], "").out;
    for (begins, ends) in [
        ("verdict", "denied"),
        ("asked", "remove \"$ROOT/outdir/secret\""),
        ("led out", "\"$ROOT/outdir\""),
        ("suffices", "--mode danger-full-access, where it is allowed"),
    ] {
        let line = stage.expand(&format!("{begins:<11}{ends}"));
        assert!(told.lines().any(|told| told == line), "{line}: {told}");
    }
    assert!(told.contains("this is a forecast"), "{told}");
    let told = run(&stage, &["why", "d", "--op", "rm"], "").out;
    assert!(told.starts_with("verdict    fails with FS_NOT_REGULAR_FILE\n"), "{told}");
    let told = run(&stage, &["why", "f", "--mode", "read-only"], "").out;
    assert!(!told.contains("forecast"), "the mode is certain: {told}");
}
