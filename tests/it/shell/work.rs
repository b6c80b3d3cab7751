//! Real work passes under workspace-write, by each runner, as root and as an ordinary user.

use std::path::Path;
use std::process::Command;

use ringfence::{Ending, Mode, Run, Runner, Settings, TempAreas};

use super::{service, stderr, stdout, usable};
use crate::effort::rounds;
use crate::support::{Stage, Tree, as_user, say, this_test};

/// What is done, by which programs, as one command line that fails if any of it does.
const WORK: [(&str, &[&str], &str); 10] = [
    (
        "version control",
        &["git"],
        "git init -q r && cd r && git config user.email a@b.c && git config user.name n && \
         echo 1 >f && git add f && git commit -qm one && git checkout -qb other && echo 2 >f && \
         git stash -q && git stash pop -q && git commit -qam two && git worktree add -q ../w \
         HEAD~1 && test \"$(cat ../w/f)\" = 1 && git checkout -q - && git merge -q other && \
         git gc -q && test -z \"$(git status --porcelain)\"",
    ),
    (
        "a compiler",
        &["cargo", "rustc", "cc"],
        "mkdir -p c/src && cd c && printf '[package]\nname = \"small\"\n[workspace]\n' >Cargo.toml && \
         echo 'fn main() { println!(\"built\"); }' >src/main.rs && cargo build -q --offline && \
         ./target/debug/small | grep built",
    ),
    (
        "a script and its package",
        &["node", "npm"],
        "mkdir n && cd n && npm init -y >out && node -e 'require(\"fs\").writeFileSync(\"x\", \
         JSON.stringify(require(\"./package.json\").name))' && test \"$(cat x)\" = '\"n\"'",
    ),
    (
        "an environment of its own",
        &["python3"],
        "python3 -m venv --without-pip v && v/bin/python -c 'import tempfile, multiprocessing; \
         tempfile.NamedTemporaryFile().write(b\"x\")'",
    ),
    (
        "a build by parts",
        &["make"],
        "printf 'all: a b\\na:\\n\\techo a >a\\nb:\\n\\techo b >b\\n' >Makefile && make -s -j2 && \
         cat a b",
    ),
    (
        "a terminal",
        &["script"],
        "script -qec 'tty && echo typed' typescript && grep typed typescript",
    ),
    (
        "large temporary files",
        &["sort", "seq"],
        "seq 400000 -1 1 >numbers && sort -n -S 1M numbers >sorted && head -1 sorted | grep -x 1",
    ),
    (
        "a temporary file",
        &["mktemp"],
        "f=$(mktemp) && echo x >\"$f\" && rm \"$f\" && d=$(mktemp -d) && \
         echo x >\"$d/f\" && mv \"$d/f\" moved && rmdir \"$d\"",
    ),
    (
        "moves and links between directories",
        &["mv", "ln"],
        "mkdir a b && echo x >a/x && mv a/x b/x && ln b/x a/y && ln -s ../b/x a/z && cat a/y a/z && \
         mv a b/a && rm -r b",
    ),
    (
        "every device that changes nothing",
        &["head"],
        "echo x >/dev/null && head -c 3 /dev/zero >z && ! echo x 2>/dev/null >/dev/full && \
         echo x | tee /dev/stderr >/dev/null",
    ),
];

fn has(program: &str) -> bool {
    let found = Command::new("bash").args(["-c", "exec \"$0\" --version", program]).output();
    found.is_ok_and(|output| output.status.success())
        || ["seq", "mv", "ln", "head"].contains(&program)
}

fn do_it(runner: Runner) {
    // A brief run does the first of it.
    for (what, programs, script) in WORK.into_iter().take(rounds(WORK.len())) {
        if let Some(missing) = programs.iter().find(|program| !has(program)) {
            say(format_args!("left out: {what} by {runner}: {missing} cannot be run here"));
            continue;
        }
        let stage = Stage::new(&Tree::inside([]));
        let settings = Settings::default()
            .workspace(stage.root())
            .mode(Mode::WorkspaceWrite)
            .temps(TempAreas::from_env())
            .runner(runner);
        let session = service(settings).session().open().unwrap();
        let home: &Path = stage.root();
        let ran = session.run(Run::new(script).env("HOME", home)).unwrap();
        let (out, err) = (stdout(&ran), stderr(&ran));
        assert_eq!(ran.ending, Ending::Exited(0), "{what} by {runner}:\n{out}\n{err}");
        assert_eq!(ran.sandbox.denied, None, "{what} by {runner}");
        assert_eq!(ran.sandbox.held.unwrap().runner, runner);
    }
}

#[test]
fn real_work_passes() {
    for runner in usable() {
        do_it(runner);
    }
}

#[test]
fn real_work_passes_for_an_ordinary_user() {
    as_user(this_test!(), || {
        for runner in usable() {
            do_it(runner);
        }
    });
}
