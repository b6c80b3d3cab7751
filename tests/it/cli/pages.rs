//! Completions and manual pages, as the programs that read them take them.

use std::process::{Command, Output};

use super::{USAGE, command, finish, run, stage};
use crate::support::{Stage, say};

/// Every command that is told of.
fn commands(stage: &Stage) -> Vec<String> {
    let help = run(stage, &["help"], "").out;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| !line.is_empty());
    let names = names.filter(|line| !line.starts_with("   "));
    let names: Vec<_> =
        names.filter_map(|line| line.split_whitespace().next().map(ToOwned::to_owned)).collect();
    assert!(names.len() > 10, "{help}");
    names
}

fn bash(words: &[&str]) -> Output {
    Command::new("bash").arg("--norc").args(words).output().unwrap()
}

#[test]
fn bash_takes_its_completions_and_completes_a_command_and_a_value() {
    let stage = stage();
    let script = stage.base().join("completions.bash");
    let told = run(&stage, &["completions", "bash"], "");
    std::fs::write(&script, &told.out).unwrap();
    let script = script.to_str().unwrap();
    let checked = bash(&["-n", script]);
    assert!(checked.status.success() && checked.stderr.is_empty(), "{checked:?}");
    for (words, last, before, expected) in [
        ("ringfence wh", "wh", "ringfence", "why"),
        ("ringfence comp", "comp", "ringfence", "completions"),
        ("ringfence why f --op mk", "mk", "--op", "mkdir"),
    ] {
        let complete = format!(
            "source {script}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _ringfence ringfence {last} {before}; echo \"${{COMPREPLY[@]}}\""
        );
        let completed = bash(&["-c", &complete]);
        assert_eq!(String::from_utf8(completed.stdout).unwrap().trim(), expected, "{words}");
    }
}

#[test]
fn there_are_completions_for_each_shell_and_no_other() {
    let stage = stage();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let told = run(&stage, &["completions", shell], "");
        assert_eq!((told.code(), told.err.as_str()), (0, ""), "{shell}");
        for command in commands(&stage) {
            assert!(told.out.contains(&command), "{command} in {shell}");
        }
    }
    assert_eq!(run(&stage, &["completions", "tcsh"], "").code(), USAGE);
}

#[test]
fn every_command_is_in_the_manual_and_has_a_page_of_its_own() {
    let stage = stage();
    let told = run(&stage, &["man"], "").out;
    for command in commands(&stage) {
        let entry = format!("ringfence\\-{command}(1)");
        assert!(told.contains(&entry), "{entry}: {told}");
        let page = run(&stage, &["man", &command], "").out;
        assert!(page.contains(&format!(".TH ringfence-{command} 1")), "{page}");
    }
    let none = run(&stage, &["man", "nothing"], "");
    assert_eq!((none.code(), none.out.as_str()), (USAGE, ""));
}

#[test]
fn the_manual_is_typeset_without_a_warning() {
    let stage = stage();
    let typeset = |page: &str| {
        let mut groff = Command::new("groff");
        groff.args(["-man", "-Tutf8", "-ww"]).stdout(std::process::Stdio::piped());
        groff.stderr(std::process::Stdio::piped());
        finish(groff, page.as_bytes())
    };
    if Command::new("groff").arg("--version").output().is_err() {
        say(format_args!("no groff here, so the manual is not typeset"));
        return;
    }
    for command in [None, Some("write"), Some("why"), Some("exec")] {
        let line: Vec<_> = ["man"].into_iter().chain(command).collect();
        let page = run(&stage, &line, "").out;
        let set = typeset(&page);
        assert_eq!((set.code(), set.err.as_str()), (0, ""), "{command:?}");
        assert!(set.out.contains("ringfence"), "{}", set.out);
    }
}

#[test]
fn pages_are_made_whatever_the_configuration_says() {
    let stage = stage();
    let missing = stage.base().join("none.toml");
    for line in [&["man"][..], &["completions", "fish"]] {
        let mut command = command(stage.root(), line);
        command.arg("--config").arg(&missing);
        assert_eq!(finish(command, b"").code(), 0, "{line:?}");
    }
}
