//! Owner and group: kept where the caller may give files away.

use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use ringfence_platform::Roots;

use super::{SOME_GROUP, SOMEBODY, acl, as_root, lost, mode_of, replacements, set_mode, write};
use crate::actor::{self, Actor};
use crate::support::{Base, Stage, Tree, each_fence_on, fences_on, file, offered, say, this_test};

/// The user and the group that root becomes here.
const NOBODY: u32 = 65_534;

#[test]
fn root_keeps_owner_and_group() {
    as_root(this_test!(), || {
        each_fence_on(&Tree::inside([file("f", "old")]), |stage, fence| {
            let path = stage.root().join("f");
            for mode in [0o640, 0o664, 0o2644] {
                chown(&path, Some(SOMEBODY), Some(SOME_GROUP)).unwrap();
                set_mode(&path, mode);
                for when in replacements(fence, "f") {
                    let receipt = write(fence, "f", when).unwrap();
                    assert_eq!(lost(&receipt), [""; 0]);
                    assert_eq!(state(&path), (SOMEBODY, SOME_GROUP, mode));
                }
            }
        });
    });
}

/// Owner, group and mode.
type State = (u32, u32, u32);

fn state(path: &Path) -> State {
    let metadata = path.symlink_metadata().unwrap();
    (metadata.uid(), metadata.gid(), mode_of(path))
}

fn set_state(path: &Path, (user, group, mode): State) {
    chown(path, Some(user), Some(group)).unwrap();
    set_mode(path, mode);
}

/// What there is before a user without rights replaces a file.
struct Before {
    dir: State,
    file: State,
    /// The file's access control list.
    list: Option<Vec<u8>>,
}

/// The user's own directory.
const OWN: State = (NOBODY, NOBODY, 0o755);

/// One that gives what is made in it a group that the user is not in.
const IN_GROUP: State = (NOBODY, SOME_GROUP, 0o2775);

#[test]
fn a_user_keeps_what_is_possible_and_is_told_the_rest() {
    let cases = [
        (OWN, (NOBODY, NOBODY, 0o640), "", (NOBODY, NOBODY, 0o640)),
        (OWN, (SOMEBODY, NOBODY, 0o666), "owner", (NOBODY, NOBODY, 0o666)),
        // The new group must not get what was meant for the old one.
        (OWN, (NOBODY, SOME_GROUP, 0o664), "group", (NOBODY, NOBODY, 0o644)),
        (OWN, (NOBODY, SOME_GROUP, 0o660), "group", (NOBODY, NOBODY, 0o600)),
        (OWN, (NOBODY, SOME_GROUP, 0o2644), "group setid", (NOBODY, NOBODY, 0o644)),
        (OWN, (NOBODY, SOME_GROUP, 0o6644), "group setid", (NOBODY, NOBODY, 0o644)),
        (OWN, (NOBODY, SOME_GROUP, 0o670), "group", (NOBODY, NOBODY, 0o600)),
        (OWN, (NOBODY, SOME_GROUP, 0o646), "group", (NOBODY, NOBODY, 0o646)),
        (OWN, (SOMEBODY, SOME_GROUP, 0o666), "group owner", (NOBODY, NOBODY, 0o666)),
        (OWN, (SOMEBODY, NOBODY, 0o4767), "owner setid", (NOBODY, NOBODY, 0o767)),
        // The directory gives what is new its own group.
        (IN_GROUP, (NOBODY, NOBODY, 0o640), "", (NOBODY, NOBODY, 0o640)),
        // To a group that the user is not in no file is given with setgid, and nobody is told.
        (IN_GROUP, (NOBODY, SOME_GROUP, 0o2644), "setid", (NOBODY, SOME_GROUP, 0o644)),
        (IN_GROUP, (NOBODY, SOME_GROUP, 0o664), "", (NOBODY, SOME_GROUP, 0o664)),
    ];
    play(this_test!(), |run| {
        for (dir, file, told, after) in cases {
            let (answer, stage) = run(&Before { dir, file, list: None });
            assert_eq!(answer, format!("made, lost {told}"), "{file:?}");
            let path = stage.root().join("f");
            assert_eq!(state(&path), after, "{file:?}");
            assert!(std::fs::read(&path).unwrap().starts_with(super::NEW));
        }
    });
}

/// The bits of the group are the most that a list allows to those it names, so they must not be
/// left to the group when the list is gone.
#[test]
fn a_list_that_is_lost_with_its_group_leaves_nobody_with_more_rights() {
    let list = |group, others| Some(acl::list(SOMEBODY, group, others));
    let cases = [
        ((NOBODY, SOME_GROUP, 0o660), list(4, 0), "acl group", (NOBODY, NOBODY, 0o600)),
        ((NOBODY, SOME_GROUP, 0o664), list(4, 4), "acl group", (NOBODY, NOBODY, 0o644)),
        ((SOMEBODY, SOME_GROUP, 0o666), list(4, 6), "acl group owner", (NOBODY, NOBODY, 0o666)),
        // Where the group is kept, the list is.
        ((NOBODY, NOBODY, 0o660), list(4, 0), "", (NOBODY, NOBODY, 0o660)),
    ];
    play(this_test!(), |run| {
        if acl::open_to_somebody(Base::new().path()).is_err() {
            return say("left out: lists that are lost: no access control lists");
        }
        for (file, list, told, after) in &cases {
            let (answer, stage) = run(&Before { dir: OWN, file: *file, list: list.clone() });
            assert_eq!(answer, format!("made, lost {told}"), "{file:?}");
            let path = stage.root().join("f");
            assert_eq!(state(&path), *after, "{file:?}");
            let kept = acl::get(&path, acl::ACCESS);
            assert_eq!(kept, list.clone().filter(|_| told.is_empty()), "{file:?}");
        }
    });
}

#[test]
fn a_file_that_the_caller_may_not_write_or_not_remove_is_refused_and_stays() {
    let cases = [
        (OWN, (0, 0, 0o644)),
        (OWN, (SOMEBODY, NOBODY, 0o646)),
        (OWN, (NOBODY, NOBODY, 0o466)),
        // In a sticky directory of somebody else, only their own files.
        ((0, 0, 0o1777), (SOMEBODY, SOME_GROUP, 0o666)),
    ];
    play(this_test!(), |run| {
        for (dir, file) in cases {
            let (answer, stage) = run(&Before { dir, file, list: None });
            assert_eq!(answer, "refused, Denied", "{file:?}");
            assert_eq!(state(&stage.root().join("f")), file);
            assert_eq!(std::fs::read(stage.root().join("f")).unwrap(), b"old");
            let names: Vec<_> = std::fs::read_dir(stage.root()).unwrap().collect();
            assert_eq!(names.len(), 1, "{names:?}");
        }
    });
}

/// Lets `test` replace files as a user without rights, on every fence and in both ways.
fn play(test: &'static str, cases: impl Fn(&dyn Fn(&Before) -> (String, Stage))) {
    if let Some((part, words)) = actor::part() {
        return replace(&part, &words);
    }
    as_root(test, || {
        if is_closed_to_others(&std::env::current_exe().unwrap())
            || is_closed_to_others(Stage::new(&Tree::inside([])).root())
        {
            return say(format_args!("left out: {test}: a directory on the way is closed"));
        }
        for (number, kind) in offered().iter().enumerate() {
            for way in ["by what is there", "blindly"] {
                cases(&|before| {
                    let stage = Stage::new(&Tree::inside([file("f", "old")]));
                    set_state(&stage.root().join("f"), before.file);
                    if let Some(list) = &before.list {
                        acl::set(&stage.root().join("f"), acl::ACCESS, list).unwrap();
                    }
                    set_state(stage.root(), before.dir);
                    let mut command = Command::new(std::env::current_exe().unwrap());
                    command.uid(NOBODY).gid(NOBODY);
                    let words = [stage.root().to_str().unwrap(), &number.to_string()];
                    let answer = Actor::start_by(command, test, way, &words).end();
                    (answer.unwrap_or_else(|| panic!("no answer on {kind} {way}")), stage)
                });
            }
        }
    });
}

/// What the user does.
fn replace(way: &str, words: &[String]) {
    let [root, number] = words else { panic!("a user needs two words, not {words:?}") };
    let fences = fences_on(&Roots::open([root]).unwrap());
    let fence = &fences[number.parse::<usize>().unwrap()];
    let [matching, none] = replacements(fence.as_ref(), "f");
    let when = if way == "blindly" { none } else { matching };
    match write(fence.as_ref(), "f", when) {
        Ok(receipt) => actor::tell(format_args!("made, lost {}", lost(&receipt).join(" "))),
        Err(error) => actor::tell(format_args!("refused, {:?}", error.kind())),
    }
}

fn is_closed_to_others(path: &Path) -> bool {
    let mut on_the_way = path.ancestors();
    on_the_way.any(|dir| mode_of(dir) & 0o001 == 0)
}
