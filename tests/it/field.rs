//! What went wrong in the field, with other tools: each case is shown not to happen here, or it is
//! told why that is not shown.

mod bytes;
mod commands;
mod kept;
mod places;
mod protected;
mod raced;
mod runners;

use std::collections::BTreeMap;
use std::path::Path;

use ringfence::{
    Edit, Error, Matches, Outcome, Parents, Precondition, Receipt, Request, Session, Text,
};
use serde::Deserialize;

use crate::support::LeftOut;

/// How a case is answered.
#[derive(Clone, Copy, Debug)]
enum Shown {
    /// By these tests, each named by its module.
    By(&'static [&'static str]),
    /// By these tests, but for what the reason says.
    InPart(&'static [&'static str], &'static str),
}
use Shown::{By, InPart};

const MIXED_ENDS: &str =
    "where a file mixes line ends, one that was removed comes back as those around it";
const DENIED_KEY: &str = "a denial names the path that was asked for and no place";

const KEEPS_MODE: &str = "field::kept::every_change_keeps_the_permissions_whatever_the_umask";
const OWNER: &str = "metadata::owner::a_user_keeps_what_is_possible_and_is_told_the_rest";
const CLOSED: &str = "field::kept::a_file_that_its_owner_may_not_write_is_refused_and_stays";
const SCRATCH: &str = "metadata::scratch::a_scratch_file_is_never_more_open_than_the_file";
const LIST: &str = "metadata::acl::a_replaced_file_keeps_its_list";
const TAKES_ENDS: &str = "field::bytes::new_lines_end_as_the_lines_around_them";
const KEEPS_ENDS: &str = "field::bytes::no_line_end_changes_outside_the_match";
const MARK: &str = "field::bytes::a_mark_is_told_and_stays_whichever_line_is_edited";
const OTHER_ENCODING: &str = "field::bytes::a_file_in_another_encoding_is_refused_and_stays";
const LINKS_INSIDE: &str = "field::places::links_that_stay_inside_are_followed_and_stay_links";
const OUTSIDE: &str = "field::places::what_leads_outside_is_refused_to_every_change";
const EXCHANGED: &str = "race::a_parent_exchanged_for_a_link_by_a_thread_leads_nothing_outside";
const LANDS: &str = "field::raced::a_write_lands_in_the_real_directory_or_fails";
const MATRIX: &str = "matrix::every_place_gets_the_verdict_of_its_mode_on_every_fence";
const PARENTS: &str = "field::raced::no_parent_is_made_outside_while_one_is_exchanged";
const AGREE: &str = "shell::parity::file_tools_and_commands_agree_on_every_change_and_place";
const OTHER_NAMES: &str = "field::kept::the_other_names_of_a_changed_file_keep_its_bytes";

/// Each case about files and policy.
const CASES: &[(&str, Shown)] = &[
    ("F-001", By(&[KEEPS_MODE])),
    ("F-002", By(&[KEEPS_MODE])),
    ("F-003", By(&[KEEPS_MODE])),
    ("F-004", By(&[KEEPS_MODE, OWNER])),
    ("F-005", By(&[KEEPS_MODE, CLOSED])),
    ("F-006", By(&[SCRATCH])),
    ("F-007", By(&["field::kept::an_edit_leaves_no_copy_of_the_file", SCRATCH])),
    ("F-008", By(&[LIST])),
    ("F-009", By(&[TAKES_ENDS])),
    ("F-010", By(&[TAKES_ENDS])),
    ("F-011", By(&[KEEPS_ENDS])),
    ("F-012", By(&[KEEPS_ENDS])),
    ("F-013", InPart(&["field::bytes::an_edit_is_undone_by_its_inverse"], MIXED_ENDS)),
    ("F-014", By(&[MARK, "provider::a_mark_that_a_new_text_drops_is_named"])),
    ("F-015", By(&[MARK])),
    ("F-016", By(&[MARK])),
    ("F-017", By(&["field::bytes::the_first_line_is_matched_without_the_mark_before_it"])),
    ("F-018", By(&[OTHER_ENCODING])),
    ("F-019", By(&[OTHER_ENCODING])),
    ("F-020", By(&[OTHER_ENCODING])),
    ("F-021", By(&["field::bytes::nothing_is_normalised"])),
    ("F-022", By(&["field::bytes::the_new_text_is_written_as_it_is"])),
    ("F-023", By(&["field::bytes::of_two_matches_both_are_meant_or_it_is_an_error"])),
    ("F-024", By(&["field::places::a_path_is_no_pattern"])),
    ("F-025", By(&["field::places::a_root_is_the_same_by_each_of_its_spellings"])),
    (
        "F-026",
        By(&["publish::killed::\
             a_writer_that_is_killed_leaves_the_file_whole_and_at_most_one_scratch_file"]),
    ),
    (
        "F-027",
        By(&[
            "publish::leftovers::nothing_is_left_behind_on_a_full_disk",
            "bad_input::a_full_disk_is_told_and_leaves_the_old_file_whole",
        ]),
    ),
    ("F-028", By(&["field::kept::nothing_is_written_into_the_file_that_is_there"])),
    ("F-029", By(&["field::kept::what_is_written_is_told_so_though_its_directory_is_not_synced"])),
    ("F-030", By(&[LINKS_INSIDE])),
    ("F-031", By(&[LINKS_INSIDE])),
    (
        "F-032",
        By(&[
            "field::raced::what_somebody_has_added_since_it_was_read_is_not_lost",
            "tools::observation::what_another_has_changed_since_is_stale_until_it_is_read_again",
        ]),
    ),
    ("F-033", By(&["field::raced::two_who_edit_one_file_lose_nothing"])),
    ("F-034", By(&[OUTSIDE])),
    ("F-035", By(&[OUTSIDE])),
    ("F-036", By(&[OUTSIDE])),
    ("F-037", By(&[OUTSIDE])),
    ("F-038", By(&[OUTSIDE])),
    ("F-039", By(&[EXCHANGED, LANDS])),
    ("F-040", By(&[EXCHANGED, LANDS])),
    ("F-041", By(&[EXCHANGED, PARENTS])),
    ("F-042", By(&[EXCHANGED, PARENTS])),
    ("F-043", By(&[OUTSIDE])),
    (
        "F-044",
        By(&[
            "field::places::a_change_through_a_link_tells_the_path_and_the_place",
            "escalation::a_person_is_shown_where_a_link_leads_and_nothing_else_is_written",
        ]),
    ),
    ("F-045", By(&[OTHER_NAMES])),
    ("F-046", By(&[OTHER_NAMES])),
    ("F-047", By(&["field::places::full_access_has_no_outside_and_says_that_nobody_held_one"])),
    ("F-048", By(&["field::places::a_worktree_is_a_root_like_any_other"])),
    (
        "F-049",
        By(&["field::protected::\
             a_protected_name_that_is_a_link_is_so_at_both_ends_and_the_rest_works"]),
    ),
    ("F-050", By(&["matrix::what_the_operator_mounted_in_the_root_is_in_the_root"])),
    ("F-051", By(&["field::kept::a_refusal_by_the_directory_says_so_and_nothing_changes"])),
    ("F-052", InPart(&["field::places::a_path_is_one_place_to_read_and_to_write"], DENIED_KEY)),
    ("F-053", By(&[AGREE, "shell::parity::they_agree_for_an_ordinary_user"])),
    ("F-054", By(&[MATRIX, AGREE, "session::a_receipt_says_who_held_the_boundary"])),
    (
        "F-055",
        By(&[
            "field::protected::a_protected_file_is_refused_to_every_change",
            "field::commands::places::\
             what_is_protected_and_comes_to_be_there_is_held_from_the_next_command_or_a_gap",
        ]),
    ),
    (
        "F-056",
        By(&[
            "field::places::a_workspace_deeper_down_is_no_wider",
            "field::commands::places::a_workspace_deeper_down_is_no_wider_for_commands",
        ]),
    ),
    (
        "F-057",
        By(&[
            "ringfence_platform::confine::tests::the_kernel_refuses_what_a_lying_resolver_allows",
        ]),
    ),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    area: String,
    situation: String,
    right_behaviour: String,
    reproduce: String,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("../cases/field.json")).expect("the cases fit the model")
}

/// How each case is answered, in their order.
fn answers() -> impl Iterator<Item = &'static (&'static str, Shown)> {
    CASES.iter().chain(runners::CASES)
}

/// The cases that are not shown in all, by reason.
pub(crate) fn left_out() -> Vec<LeftOut> {
    let mut counts = BTreeMap::new();
    for (_, shown) in answers() {
        let key = match shown {
            By(_) => continue,
            InPart(_, why) => ("field cases, in part", *why),
        };
        *counts.entry(key).or_default() += 1;
    }
    counts.into_iter().map(|((what, why), count)| LeftOut::new(what, why, count)).collect()
}

#[test]
fn each_case_is_answered() {
    let all = cases();
    assert_eq!(all.len(), 131);
    for case in &all {
        let Case { id, situation, right_behaviour, reproduce, .. } = case;
        assert!([situation, right_behaviour, reproduce].iter().all(|t| !t.is_empty()), "{id}");
    }
    let areas = all.iter().map(|case| case.area.split('/').next().unwrap_or_default());
    assert!(areas.clone().all(|area| ["file", "policy", "runner"].contains(&area)), "{areas:?}");
    let answered: Vec<_> = answers().map(|(id, _)| *id).collect();
    assert_eq!(all.iter().map(|case| case.id.as_str()).collect::<Vec<_>>(), answered);
}

#[test]
fn each_test_that_answers_a_case_is_there() {
    for (id, shown) in answers() {
        let (By(tests) | InPart(tests, _)) = shown;
        assert!(!tests.is_empty(), "{id}");
        for test in *tests {
            assert!(is_there(test), "{id} is answered by {test}, which is not there");
        }
    }
    assert!(!is_there("field::is_there") && !is_there("field::bytes::no_such_test"));
    assert!(!is_there("ringfence_platform::process::tests::ending::stray"));
}

/// Whether the file of its module has this test, or one of it for each runner.
fn is_there(test: &str) -> bool {
    let (module, name) = test.rsplit_once("::").expect("a test is in a module");
    let (dir, module) = match module.split_once("::") {
        Some(("ringfence_platform", module)) => ("platform/src", module),
        Some(("ringfence", module)) => ("src", module.trim_end_matches("::tests")),
        _ => ("tests/it", module),
    };
    let path = format!("{}/{dir}/{}.rs", env!("CARGO_MANIFEST_DIR"), module.replace("::", "/"));
    let Ok(text) = std::fs::read_to_string(path) else { return false };
    let plain = text.lines().zip(text.lines().skip(1)).any(|(attribute, function)| {
        attribute.trim() == "#[test]" && function.trim() == format!("fn {name}() {{")
    });
    let listed = text.split_once("\non_each_runner! {").and_then(|(_, rest)| rest.split_once('}'));
    let listed = listed.is_some_and(|(names, _)| names.split(',').any(|own| own.trim() == name));
    plain || listed && text.contains(&format!("\nfn {name}(on: On) {{"))
}

fn write(session: &Session, path: impl AsRef<Path>, text: &str) -> Result<Receipt, Error> {
    let (path, contents) = (path.as_ref().to_owned(), text.into());
    let (when, parents) = (Precondition::None, Parents::Create);
    let outcome = session.perform(Request::Write { path, contents, when, parents })?;
    let Outcome::Changed { receipt, .. } = outcome else { panic!("{outcome:?}") };
    Ok(receipt)
}

fn edit_by(
    session: &Session,
    path: impl AsRef<Path>,
    edit: Edit,
) -> Result<(Receipt, usize), Error> {
    let path = path.as_ref().to_owned();
    let outcome = session.perform(Request::Edit { path, edit, seen: None })?;
    let Outcome::Written { receipt, replaced: Some(replaced), .. } = outcome else {
        panic!("{outcome:?}")
    };
    Ok((receipt, replaced))
}

fn edit(session: &Session, path: impl AsRef<Path>, old: &str, new: &str) -> Result<Receipt, Error> {
    let edit = Edit { old: old.into(), new: new.into(), matches: Matches::One };
    edit_by(session, path, edit).map(|(receipt, _)| receipt)
}

fn edit_all(
    session: &Session,
    path: impl AsRef<Path>,
    old: &str,
    new: &str,
) -> Result<(Receipt, usize), Error> {
    let edit = Edit { old: old.into(), new: new.into(), matches: Matches::All };
    edit_by(session, path, edit)
}

fn read(session: &Session, path: impl AsRef<Path>) -> Text {
    let outcome = session.perform(Request::ReadText { path: path.as_ref().to_owned() });
    let Ok(Outcome::Text { text, .. }) = outcome else { panic!("{outcome:?}") };
    text
}

/// A way to change the file at a path.
type Change = fn(&Session, &str) -> Result<Receipt, Error>;

/// Every way to give a file that says `old` other contents.
const CHANGES: [Change; 4] = [
    |session, path| write(session, path, "new"),
    |session, path| write(session, path, "newer and longer"),
    |session, path| edit(session, path, "old", "new"),
    |session, path| edit_all(session, path, "o", "0").map(|(receipt, _)| receipt),
];

/// The names in a directory, in order.
fn names_in(dir: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| name(entry).into_string().expect("a plain name"))
        .collect();
    names.sort_unstable();
    names
}
