//! Which way imports point, and where the code may know what system it is on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What each module of the library may import of the others, which is the whole list. `error`,
/// `mode`, `request`, `lexical` and `physical` are the vocabulary.
const ALLOWED: [(&str, &[&str]); 36] = [
    ("acp", &["error", "policy", "presets", "session", "spelling", "tools"]),
    ("aiming", &["error", "lexical", "mode", "policy", "request", "target"]),
    ("approvals", &[]),
    (
        "asking",
        &[
            "aiming",
            "approvals",
            "audit",
            "call",
            "error",
            "events",
            "log",
            "physical",
            "policy",
            "request",
            "target",
            "text",
            "texts",
        ],
    ),
    ("audit", &["approvals", "call", "error", "mode", "observation", "policy", "request", "shell"]),
    ("call", &["error", "policy", "request", "text"]),
    ("change", &["aiming", "error", "policy", "request", "target", "text"]),
    ("commands", &["aiming", "asking", "audit", "error", "lexical", "policy", "request", "shell"]),
    ("effective", &["approvals", "error", "mode", "policy", "service"]),
    ("error", &["mode", "request", "text"]),
    ("events", &["approvals", "mode"]),
    (
        "gate",
        &["audit", "call", "error", "observation", "policy", "reading", "request", "text", "turn"],
    ),
    ("lexical", &["error", "request"]),
    ("log", &["events"]),
    ("mode", &[]),
    ("mutations", &["aiming", "audit", "change", "error", "request", "text", "texts"]),
    ("observation", &["reader", "request", "text"]),
    ("opening", &["audit", "error", "events", "mode", "policy", "presets", "service", "session"]),
    ("physical", &[]),
    ("policy", &["approvals", "error", "lexical", "mode", "policy", "reader", "request", "text"]),
    ("presets", &["approvals", "error", "events", "mode", "policy", "session"]),
    ("reader", &[]),
    ("reading", &["call", "error", "lexical", "physical", "reader", "request", "target", "text"]),
    ("request", &["text"]),
    ("service", &["approvals", "audit", "error", "mode", "policy", "shell"]),
    (
        "session",
        &[
            "approvals",
            "asking",
            "audit",
            "call",
            "change",
            "commands",
            "effective",
            "error",
            "events",
            "gate",
            "log",
            "mode",
            "mutations",
            "policy",
            "reading",
            "request",
            "service",
            "shell",
            "text",
            "turn",
            "why",
        ],
    ),
    ("shell", &["call", "mode", "policy"]),
    ("spelling", &[]),
    ("survey", &[]),
    ("target", &["error", "physical", "reader", "request"]),
    ("text", &["spelling"]),
    ("texts", &["aiming", "change", "error", "request", "target", "text"]),
    (
        "tools",
        &[
            "approvals",
            "call",
            "error",
            "mode",
            "policy",
            "request",
            "session",
            "shell",
            "spelling",
            "text",
        ],
    ),
    ("turn", &[]),
    (
        "why",
        &[
            "aiming",
            "call",
            "error",
            "lexical",
            "mode",
            "mutations",
            "physical",
            "policy",
            "reading",
            "request",
            "target",
            "text",
        ],
    ),
    // It grants nothing, so nothing of the above may use it.
    ("workspaces", &["error", "mode", "policy", "request", "service", "session", "text"]),
];

/// The modules of the binary, which have the library's public API like anyone else.
const BINARY: [(&str, &[&str]); 4] =
    [("main", &[]), ("agent", &[]), ("cli", &["agent", "mcp"]), ("mcp", &[])];

#[test]
fn imports_point_down() {
    let mut met = BTreeSet::new();
    for (path, text) in sources("src") {
        let module = module_of(&path);
        if module == "lib" {
            continue;
        }
        met.insert(module.clone());
        let mut listed = ALLOWED.iter().chain(&BINARY);
        let allowed = listed.find(|(name, _)| *name == module).map(|(_, list)| *list);
        let allowed = allowed.unwrap_or_else(|| panic!("{module} is not in the list of modules"));
        let is_binary = BINARY.iter().any(|(name, _)| *name == module);
        for (number, line) in code(&text) {
            for import in imports(line) {
                assert!(
                    allowed.contains(&import.as_str()),
                    "{}:{number}: {module} may not use {import}",
                    path.display()
                );
            }
            let knows_the_system = is_binary && line.contains("platform::");
            assert!(!knows_the_system, "{}:{number}: past the public API", path.display());
        }
    }
    for (name, _) in ALLOWED {
        assert!(met.contains(name), "{name} is in the list and not in src");
    }
}

/// The trusted base without its tests is to be read in an afternoon.
#[test]
fn the_trusted_base_stays_small() {
    const MOST_LINES: usize = 3_000;
    let of_code = |text: &str| {
        let own = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
        own.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
    };
    let sources = sources("platform/src").into_iter();
    // The part that acts on files: neither tests, nor what stands for the systems without a fence,
    // nor what only says what a change would do, nor what runs commands.
    let of_commands = root().join("platform/src/process");
    let own = sources.filter(|(path, _)| {
        let is_beside = ["tests.rs", "unsupported.rs", "mutate/rehearse.rs"];
        let is_beside = is_beside.iter().any(|beside| path.ends_with(beside));
        !is_beside && !path.starts_with(&of_commands)
    });
    let lines: usize = own.map(|(_, text)| of_code(&text)).sum();
    assert!(lines < MOST_LINES, "{lines} lines of code");
}

#[test]
fn only_the_fence_of_the_platform_is_unfenced() {
    let calls: Vec<_> = sources("src")
        .into_iter()
        .flat_map(|(path, text)| {
            let lines: Vec<_> = code(&text).map(|(_, line)| line.to_owned()).collect();
            lines.into_iter().filter(|line| line.contains("unfenced(")).map(move |_| path.clone())
        })
        .collect();
    let reviewed = ["src/policy/areas.rs", "src/reader.rs"].map(|path| root().join(path));
    assert_eq!(calls, reviewed, "one for danger-full-access and one to read with");
}

#[test]
fn only_a_grant_is_spent_on_a_command() {
    for (path, text) in sources("src") {
        for (number, line) in code(&text) {
            let plans = line.contains("unconfined(command") || line.contains("runners.confine(");
            let place = format!("{}:{number}", path.display());
            assert!(!plans || path == root().join("src/policy/command.rs"), "{place}: {line}");
        }
    }
}

#[test]
fn only_a_grant_is_spent_on_a_change() {
    for (path, text) in sources("src") {
        for (number, line) in code(&text) {
            let asks = line.contains(".apply(") || line.contains(".submit(");
            let place = format!("{}:{number}", path.display());
            assert!(!asks || path == root().join("src/policy/grant.rs"), "{place}: {line}");
        }
    }
}

#[test]
fn the_library_does_not_know_which_system_it_is_on() {
    for (path, text) in sources("src") {
        for (number, line) in code(&text) {
            let place = format!("{}:{number}", path.display());
            assert!(!is_about_the_system(line), "{place}: {line}");
            assert!(!line.contains("std::os::"), "{place}: {line}");
        }
    }
}

#[test]
fn the_platform_chooses_a_system_by_module() {
    for (path, text) in sources("platform/src") {
        let mut lines = code(&text).peekable();
        while let Some((number, line)) = lines.next() {
            if !is_about_the_system(line) {
                continue;
            }
            let next = lines.peek().map_or("", |(_, next)| next.trim_start());
            let visibility = ["pub(crate) ", "pub(super) ", "pub "];
            let item = visibility.iter().find_map(|v| next.strip_prefix(v)).unwrap_or(next);
            let is_choice = item.starts_with("mod ") || item.starts_with("use ");
            assert!(is_choice, "{}:{number}: {line}", path.display());
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file beneath `dir`, with its text.
fn sources(dir: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut to_do = vec![root().join(dir)];
    while let Some(dir) = to_do.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                to_do.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(found.len() > 5, "{dir} has sources");
    found.sort();
    found
}

/// The first name below `src`.
fn module_of(path: &Path) -> String {
    let relative = path.strip_prefix(root().join("src")).unwrap();
    let first = relative.components().next().unwrap().as_os_str();
    Path::new(first).file_stem().unwrap().to_str().unwrap().to_owned()
}

/// The lines that are no comment, numbered, without the tests at the end.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    numbered
        .take_while(|(_, line)| *line != "#[cfg(test)]")
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Each module named as `crate::module`.
fn imports(line: &str) -> Vec<String> {
    let parts = line.split("crate::").skip(1);
    parts
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next())
        .map(|name| name.unwrap_or_default().to_owned())
        .collect()
}

fn is_about_the_system(line: &str) -> bool {
    let about = line.contains("cfg(") || line.contains("cfg!(") || line.contains("cfg_attr(");
    let systems = ["unix", "windows", "target_", "linux", "macos"];
    about && systems.iter().any(|system| line.contains(system))
}

#[test]
fn an_import_and_a_cfg_are_told() {
    assert_eq!(imports("use crate::policy::{Grant, Unmade};"), ["policy"]);
    assert_eq!(imports("let x: crate::error::Result<()> = crate::mode();"), ["error", "mode"]);
    assert!(imports("pub(crate) fn f()").is_empty());
    assert!(imports("use crate::{error::Error, mode};").iter().any(String::is_empty));
    assert!(is_about_the_system("#[cfg(target_os = \"linux\")]"));
    assert!(is_about_the_system("if cfg!(unix) {"));
    assert!(!is_about_the_system("#[cfg(feature = \"cli\")]"));
}
