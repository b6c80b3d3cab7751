//! The configuration file: what it says counts for every command, unless it is wrong or an agent
//! could change it.

use std::path::{Path, PathBuf};

use super::{DENIED, FAILED, Run, command, finish, stage};
use crate::support::Stage;

/// A configuration outside of the workspace, in the usual place of a directory of its own.
fn configured(stage: &Stage, text: &str) -> PathBuf {
    let home = stage.root().join("../out/config");
    std::fs::create_dir_all(home.join("ringfence")).unwrap();
    std::fs::write(home.join("ringfence/config.toml"), text).unwrap();
    home
}

fn run_with(stage: &Stage, home: &Path, line: &[&str]) -> Run {
    let mut command = command(stage.root(), line);
    command.env("XDG_CONFIG_HOME", home);
    finish(command, b"new")
}

#[test]
fn what_it_says_counts_and_what_is_typed_counts_more() {
    let stage = stage();
    let home = configured(&stage, "mode = 'read-only'\nprotected_subpaths = ['d']\n");
    let write = |line: &[&str]| run_with(&stage, &home, line).code();
    assert_eq!(write(&["write", "n"]), DENIED);
    assert_eq!(write(&["write", "n", "--mode", "workspace-write"]), 0);
    let typed = ["write", "d/n", "--mode", "workspace-write", "--protect", "full"];
    assert_eq!(write(&typed), DENIED, "both are protected");
    let typed = ["write", "full/n", "--mode", "workspace-write", "--protect", "full"];
    assert_eq!(write(&typed), DENIED);
}

#[test]
fn a_file_that_is_named_is_taken_in_place_of_the_usual_one() {
    let stage = stage();
    let home = configured(&stage, "mode = 'read-only'");
    let other = home.join("other.toml");
    std::fs::write(&other, "default_preset = 'workspace-write'").unwrap();
    let named = ["write", "n", "--config", other.to_str().unwrap()];
    assert_eq!(run_with(&stage, &home, &named).code(), 0);
    let missing = ["write", "n", "--config", "../out/none.toml"];
    let told = run_with(&stage, &home, &missing);
    assert_eq!(told.code(), FAILED);
    assert!(told.err.contains("../out/none.toml"), "{told:?}");
}

#[test]
fn a_wrong_one_stops_everything_and_is_told_with_its_file_and_key() {
    let stage = stage();
    for (text, key) in [("mode = 'full'", "mode"), ("[mod]", "mod"), ("mode = ", "line 1")] {
        let home = configured(&stage, text);
        for line in [&["write", "n"][..], &["exec", "--", "true"], &["doctor"]] {
            let told = run_with(&stage, &home, line);
            assert_ne!(told.code(), 0, "{line:?}");
            let names = |what| told.err.contains(what);
            assert!(names("ringfence/config.toml") && names(key), "{told:?}");
        }
        assert!(!stage.root().join("n").exists());
    }
}

#[test]
fn one_that_an_agent_could_change_is_not_used() {
    let stage = stage();
    let within = stage.root().join("within");
    std::fs::create_dir_all(within.join("ringfence")).unwrap();
    std::fs::write(within.join("ringfence/config.toml"), "").unwrap();
    let outside = configured(&stage, "");
    let by_link = stage.root().join("by_link");
    std::os::unix::fs::symlink(&outside, &by_link).unwrap();
    let through = outside.join("through");
    std::fs::create_dir(&through).unwrap();
    std::os::unix::fs::symlink(by_link.join("ringfence"), through.join("ringfence")).unwrap();
    let temp = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
    std::fs::create_dir(temp.path().join("ringfence")).unwrap();
    std::fs::write(temp.path().join("ringfence/config.toml"), "").unwrap();
    assert_eq!(run_with(&stage, &outside, &["read", "f"]).code(), 0);
    for home in [&*within, &by_link, &through, temp.path()] {
        let told = run_with(&stage, home, &["read", "f"]);
        assert_eq!(told.code(), FAILED, "{home:?}");
        assert!(told.err.contains("its own policy"), "{told:?}");
        let unfenced = ["read", "f", "--mode", "danger-full-access"];
        assert_eq!(run_with(&stage, home, &unfenced).code(), 0, "there is no boundary to keep");
    }
}

#[test]
fn one_that_names_another_workspace_is_not_used_where_it_could_have_been_written() {
    let stage = stage();
    let within = stage.root().join("within");
    std::fs::create_dir_all(within.join("ringfence")).unwrap();
    let out = stage.root().join("../out").canonicalize().unwrap();
    let text = format!("mode = 'danger-full-access'\nworkspace_root = {out:?}\n");
    std::fs::write(within.join("ringfence/config.toml"), text).unwrap();
    let told = run_with(&stage, &within, &["write", "n"]);
    assert_eq!(told.code(), FAILED);
    assert!(told.err.contains("its own policy"), "{told:?}");
}

#[test]
fn what_is_no_file_is_refused_and_not_waited_for() {
    let stage = stage();
    let home = configured(&stage, "");
    let path = home.join("ringfence/config.toml");
    std::fs::remove_file(&path).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let told = run_with(&stage, &home, &["read", "f"]);
    assert_eq!(told.code(), FAILED);
    assert!(told.err.contains("no regular file"), "{told:?}");
}
