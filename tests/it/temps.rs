//! Which temp directories a policy takes: none that somebody else could have chosen, and none that
//! widens it.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use ringfence::{Code, Mode, TempAreas, writable_roots};

use crate::actor::{self, Actor};
use crate::support::{Base, Stage, Tree, dir, link, this_test};

const MODES: [Mode; 3] = [Mode::ReadOnly, Mode::WorkspaceWrite, Mode::DangerFullAccess];

/// The writable roots with this temp directory, or what is wrong with it.
fn roots(workspace: &Path, temps: &TempAreas) -> Result<Vec<String>, Code> {
    let roots = writable_roots(Mode::WorkspaceWrite, workspace, temps).map_err(|e| e.code())?;
    let roots = roots.expect("this mode has roots");
    Ok(roots.iter().map(|root| root.path().to_str().unwrap().to_owned()).collect())
}

fn with_temp(stage: &Stage, temp: &str) -> Result<Vec<String>, Code> {
    let temp = stage.expand(temp);
    // It is refused in each mode, or in none.
    let checked = MODES.map(|mode| {
        writable_roots(mode, stage.root(), &TempAreas::only(&temp)).map_err(|e| e.code())
    });
    let refused = checked.iter().filter(|checked| checked.is_err()).count();
    assert!([0, MODES.len()].contains(&refused), "{checked:?}");
    roots(stage.root(), &TempAreas::only(temp))
}

fn stage() -> Stage {
    let inside = [
        dir("tmp"),
        link("to-out", "../out"),
        link("to-tmp", "tmp"),
        link("chain", "to-out"),
        dir("d"),
        link("d/to-deep", "$BASE/out/deep"),
    ];
    let outside = [
        dir("out/deep"),
        link("to-out", "out"),
        link("to-root", "ROOT"),
        link("to-tmp", "ROOT/tmp"),
    ];
    Stage::new(&Tree::inside(inside).outside(outside))
}

#[test]
fn a_temp_directory_that_a_link_in_the_workspace_leads_to_is_refused() {
    let stage = stage();
    for temp in [
        "$ROOT/to-out",
        "$ROOT/to-out/deep",
        "$ROOT/chain",
        "$ROOT/chain/deep",
        "$ROOT/d/to-deep",
        "$ROOT/d/../to-out",
        "$ROOT/tmp/../to-out/deep",
        "$BASE/to-root/to-out",
        "$BASE/out/../ROOT/to-out",
    ] {
        assert_eq!(with_temp(&stage, temp), Err(Code::PolicyInvalid), "{temp}");
    }
}

#[test]
fn a_temp_directory_in_the_workspace_gets_no_root_of_its_own() {
    let stage = stage();
    for temp in ["$ROOT", "$ROOT/tmp", "$ROOT/to-tmp", "$BASE/to-tmp", "$BASE/to-root/d"] {
        assert_eq!(with_temp(&stage, temp), Ok(vec![stage.expand("$ROOT")]), "{temp}");
    }
}

#[test]
fn a_temp_directory_beside_the_workspace_is_a_root_however_it_is_spelled_there() {
    let stage = stage();
    for temp in ["$BASE/out", "$BASE/to-out", "$BASE/out/deep/.."] {
        let both = ["$ROOT", "$BASE/out"].map(|root| stage.expand(root));
        assert_eq!(with_temp(&stage, temp), Ok(both.to_vec()), "{temp}");
    }
}

/// A process whose environment says where the temp directory and the home directory are.
fn in_environment(test: &str, variables: &[(&str, Option<&str>)], workspace: &Path) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let said = Actor::start_by(command, test, "policy", &[workspace.to_str().unwrap()]).end();
    said.expect("it says what it got")
}

/// The process.
fn says_what_it_gets(words: &[String]) {
    let got = match roots(Path::new(&words[0]), &TempAreas::from_env()) {
        Ok(roots) => roots.join(" "),
        Err(code) => format!("{code:?}"),
    };
    actor::tell(got);
}

#[test]
fn a_temp_directory_above_home_is_refused_however_it_is_spelled() {
    if let Some((_, words)) = actor::part() {
        return says_what_it_gets(&words);
    }
    let test = this_test!();
    let outside = [dir("above/home/me"), link("to-above", "above"), link("to-me", "above/home/me")];
    let stage = Stage::new(&Tree::inside([]).outside(outside));
    let at = |path: &str| stage.base().join(path).to_str().unwrap().to_owned();
    let get = |temp: &str, home: &str| {
        let variables = [("TMPDIR", Some(&*at(temp))), ("HOME", Some(&*at(home)))];
        in_environment(test, &variables, stage.root())
    };
    let refused = format!("{:?}", Code::PolicyInvalid);
    for home in ["above/home/me", "to-me", "to-above/home/me"] {
        for temp in ["above", "to-above", "above/home", "to-above/home", "above/home/me", "to-me"] {
            assert_eq!(get(temp, home), refused, "{temp} above {home}");
        }
    }
    let beside = get("to-above", "ROOT");
    assert!(beside.ends_with(&at("above")), "{beside}");
}

#[test]
fn a_temp_directory_that_would_widen_a_policy_is_refused_also_where_it_is_writable_already() {
    if let Some((_, words)) = actor::part() {
        return says_what_it_gets(&words);
    }
    let test = this_test!();
    let outside = [dir("above/home/me"), dir("above/beside")];
    let stage = Stage::new(&Tree::inside([]).outside(outside));
    let (shared, refused) = (SharedDir::new(), format!("{:?}", Code::PolicyInvalid));
    std::fs::create_dir(shared.0.join("ws")).unwrap();
    let home = stage.base().join("above/home/me");
    let get = |temp: &Path, workspace: &Path| {
        let [temp, home] = [temp, &home].map(|path| path.to_str());
        in_environment(test, &[("TMPDIR", temp), ("HOME", home)], workspace)
    };
    let (volume, above) = (Path::new("/"), stage.base().join("above"));
    for (temp, workspace) in [
        (volume, volume),
        (&*home, volume),
        (&*above, volume),
        (&*home, &*above),
        (&*above, &*above),
        (&*home, &*home),
        (&*shared.0, &*shared.0.join("ws")),
    ] {
        assert_eq!(get(temp, workspace), refused, "{temp:?} with the workspace {workspace:?}");
    }
    let beside = above.join("beside");
    for workspace in [volume, &above, &beside] {
        let got = get(&beside, workspace);
        assert!(got.starts_with(workspace.to_str().unwrap()), "{workspace:?}: {got}");
    }
}

#[test]
fn the_shared_area_may_hold_the_workspace_whatever_it_is_called() {
    if let Some((_, words)) = actor::part() {
        return says_what_it_gets(&words);
    }
    let (shared, elsewhere) = (SharedDir::new(), Base::new());
    let to_shared = elsewhere.path().join("link");
    std::os::unix::fs::symlink("/tmp", &to_shared).unwrap();
    for temp in ["/tmp", "/tmp/.", to_shared.to_str().unwrap()] {
        let got = in_environment(this_test!(), &[("TMPDIR", Some(temp))], &shared.0);
        assert_eq!(Path::new(&got), Path::new("/tmp").canonicalize().unwrap(), "{temp}");
    }
}

/// Also one in the shared area, where everybody may leave links.
#[test]
fn a_temp_directory_that_a_link_in_the_shared_area_leads_to_is_refused() {
    if let Some((_, words)) = actor::part() {
        return says_what_it_gets(&words);
    }
    let test = this_test!();
    let (workspace, elsewhere, shared) = (Base::new(), Base::new(), SharedDir::new());
    let [to_elsewhere, own] = ["link", "own"].map(|name| shared.0.join(name));
    std::os::unix::fs::symlink(elsewhere.path(), &to_elsewhere).unwrap();
    std::fs::create_dir(&own).unwrap();
    let get = |temp: &Path| {
        in_environment(test, &[("TMPDIR", Some(temp.to_str().unwrap()))], workspace.path())
    };
    assert_eq!(get(&to_elsewhere), format!("{:?}", Code::PolicyInvalid));
    let both = get(&own);
    assert_eq!(both.split(' ').count(), 2, "the shared area holds it already: {both}");
    let three = get(elsewhere.path());
    assert!(three.ends_with(elsewhere.path().to_str().unwrap()), "{three}");
}

#[test]
fn without_a_variable_there_is_the_shared_area_only() {
    if let Some((_, words)) = actor::part() {
        return says_what_it_gets(&words);
    }
    let workspace = Base::new();
    let got = in_environment(this_test!(), &[("TMPDIR", None)], workspace.path());
    let shared = Path::new("/tmp").canonicalize().unwrap();
    let both = [workspace.path(), &shared].map(|path| path.to_str().unwrap());
    assert_eq!(got, both.join(" "));
}

/// A directory in the shared temp area; removed when dropped.
struct SharedDir(std::path::PathBuf);

impl SharedDir {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ringfence-test-{}-{number}", std::process::id());
        let path = Path::new("/tmp").join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for SharedDir {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}
