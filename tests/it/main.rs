//! The integration tests of ringfence, in one binary.

#![expect(clippy::disallowed_methods, reason = "tests set the stage outside the fence")]
#![expect(clippy::unwrap_used, reason = "a test whose stage cannot be set fails")]

mod acp;
mod act;
mod actor;
mod architecture;
mod assurance;
mod audit;
mod bad_input;
mod budget;
mod cancel;
mod cases;
mod cli;
mod confinement;
mod conformance;
mod edit;
mod effective;
mod effort;
mod escalation;
mod escape;
mod fallback;
mod field;
mod fork;
mod itself;
mod kernel;
mod limits;
mod listing;
mod locking;
mod matrix;
mod mcp;
mod metadata;
mod mounts;
mod moving;
mod policy;
mod presets;
mod properties;
mod provider;
mod publish;
mod race;
mod raw;
mod rehearse;
mod remains;
mod session;
mod settings;
mod shell;
mod stop;
mod strace;
mod stream;
mod support;
mod temps;
mod tools;
mod versions;
mod why;
mod workspaces;

/// A file that no `mod` line names is a test that nobody runs.
#[test]
fn every_file_of_the_tests_is_listed() {
    fn check(module: &std::path::Path, dir: &std::path::Path) {
        let text = std::fs::read_to_string(module).unwrap();
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap();
            if path.extension().is_some_and(|extension| extension == "rs") && path != module {
                let line = format!("mod {stem};");
                let listed = text.lines().any(|l| l.trim_start_matches("pub(crate) ") == line);
                assert!(listed, "{} does not list {}", module.display(), path.display());
                let inner = path.with_extension("");
                if inner.is_dir() {
                    check(&path, &inner);
                }
            } else if path.is_dir() {
                let owner = path.with_extension("rs");
                assert!(owner.is_file(), "{} belongs to no module", path.display());
            }
        }
    }
    let it = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    check(&it.join("main.rs"), &it);
}

/// One place that says what a run does not do, also when all of it passes.
#[test]
fn what_is_left_out_is_said() {
    let all = [
        bad_input::left_out(),
        confinement::left_out(),
        conformance::left_out(),
        escape::left_out(),
        field::left_out(),
        kernel::left_out(),
        mcp::left_out(),
        support::left_out(),
    ];
    support::report(all.concat());
}
