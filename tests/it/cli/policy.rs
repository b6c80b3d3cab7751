//! What the binary tells of the policy in force.

use serde_json::{Value, json};

use super::{Run, run, stage};
use crate::support::runs_commands;

#[test]
fn policy_tells_what_is_in_force_and_what_holds_it() {
    let stage = stage();
    let line = ["policy", "--json", "--protect", "full", "--protect", "none"];
    let told = Run::json(&run(&stage, &line, "").out);
    let root = stage.expand("$ROOT");
    assert_eq!((&told["mode"], &told["workspace"]), (&json!("workspace-write"), &json!(root)));
    assert_eq!(
        (&told["areas"][0]["path"], &told["areas"][0]["role"]),
        (&json!(root), &json!("workspace"))
    );
    assert_eq!(told["areas"][1]["path"], "/tmp");
    let protected = json!([
        { "path": format!("{root}/full"), "present": true },
        { "path": format!("{root}/none"), "present": false },
    ]);
    assert_eq!((&told["protected"], &told["required_level"]), (&protected, &json!("checked")));
    let doctor = Run::json(&run(&stage, &["doctor", "--json"], "").out);
    assert_eq!(told["proven"]["level"], doctor["strongest"]);
    let commands = &told["commands"];
    assert_eq!(commands["timeout_ms"], 120_000);
    assert_eq!(commands["taken"], doctor["taken"]["protecting"]);
    assert_eq!(commands["taken"].is_null(), !runs_commands());
    for runner in commands["runners"].as_array().unwrap() {
        let kept = json!([{ "path": format!("{root}/full") }]);
        if !runner["enforcement"].is_null() {
            let is_bwrap = runner["runner"] == "bwrap";
            assert_eq!(runner["read_only"], if is_bwrap { kept } else { json!([]) }, "{runner}");
        }
    }
}

#[test]
fn policy_tells_a_person_the_same_in_lines() {
    let stage = stage();
    let told = run(&stage, &["policy", "--protect", "none", "--require", "checked"], "");
    assert_eq!(told.code(), 0, "{told:?}");
    for line in ["mode       workspace-write", "protected  \"$ROOT/none\" (missing)"] {
        let line = stage.expand(line);
        assert!(told.out.lines().any(|told| told == line), "{line}: {}", told.out);
    }
    for (mode, writable) in [("read-only", "nothing"), ("danger-full-access", "everything")] {
        let told = run(&stage, &["policy", "--mode", mode], "").out;
        assert!(told.contains(&format!("\nwritable   {writable}\n")), "{told}");
        let json = Run::json(&run(&stage, &["policy", "--mode", mode, "--json"], "").out);
        let is_null = json["commands"]["taken"].is_null();
        assert_eq!(is_null, mode == "danger-full-access" || !runs_commands(), "{json}");
        assert_ne!(json["areas"], Value::Null);
    }
}

#[test]
fn a_workspace_in_a_temp_area_is_told_to_lie_within_it() {
    let place = format!("/tmp/ringfence-policy-{}", std::process::id());
    std::fs::create_dir(&place).unwrap();
    let told = run(&stage(), &["policy", "--json", "--workspace", &place], "");
    std::fs::remove_dir(&place).unwrap();
    let areas = &Run::json(&told.out)["areas"];
    assert_eq!((&areas[0]["within"], &areas[1]["within"]), (&areas[1]["path"], &Value::Null));
    assert_ne!(areas[0]["identity"], areas[1]["identity"]);
}
