//! Which test answers which case about commands.

use super::Shown::{self, By, InPart};

/// A test of the runners themselves, which is there for each of them.
macro_rules! runners {
    ($test:literal) => {
        concat!("ringfence_platform::process::tests::", $test)
    };
}

const DOCTOR: &str = "that the doctor says so is not shown";
const NO_MODULE: &str = "there is no security module here that checks at exec";
const OLD_LANDLOCK: &str =
    "no old Landlock is to be had here; what is missing is what it never had";
const ONE_FILE: &str = "no single file is granted to a command but a device";
const MOUNTS_APART: &str =
    "under bubblewrap each root is its own mount: mv(1) copies, and no hard link is made";
const EXDEV: &str = "the kernel answers both alike, so the error names both";
const TWO_LAYERS: &str =
    "a command is in two layers of its own, and in another that is around all of this process";
const SEMAPHORE: &str = "where shared memory is denied, the library does not say which path it was";
const NO_OPERATION: &str = "the operation that a command tried is not known";
const NOT_TOLD: &str = "that something was left running and was ended is not told";
const NO_STANDING: &str = "there is no way to ask for a standing root";
const NOT_TIMED: &str = "what is done is counted, and no time is measured";
const NO_FILE: &str = "there is no file of settings; that of a host is protected like any other";

const NOTHING: &str = "field::commands::absent::\
    where_nothing_confines_no_command_runs_and_the_cause_of_each_is_told";
const BREAKS: &str = "field::commands::absent::\
    a_runner_that_fails_after_consent_is_told_as_that_and_nobody_is_asked_again";
const PRETENDS: &str =
    "field::commands::absent::a_landlock_that_only_says_so_is_no_runner_and_no_fence";
const COMMITS: &str = "field::commands::repositories::\
    commits_work_and_what_is_protected_is_held_or_named_as_a_gap";
const COMMITS_OF_A_USER: &str = "field::commands::repositories::they_work_for_an_ordinary_user";
const HOOKS: &str =
    "field::protected::hooks_are_protected_at_any_depth_and_the_rest_of_a_repository_is_not";
const WORK: &str = "shell::work::real_work_passes";
const WORK_OF_A_USER: &str = "shell::work::real_work_passes_for_an_ordinary_user";
const NO_NAMES: &str = "field::commands::litter::no_name_comes_up_while_commands_run";
const NO_TRACE: &str = runners!("writes::a_command_that_writes_nothing_leaves_no_trace");
const LEVELS: &str =
    "field::commands::layers::three_levels_of_runners_let_files_move_between_directories";
const USED_UP: &str =
    "field::commands::layers::where_the_layers_are_used_up_that_is_said_and_no_denial";
const ONE_LAYER: &str = "field::commands::layers::each_command_is_in_two_layers_of_its_own";
const ELSEWHERE: &str = runners!("writes::no_change_works_elsewhere");
const DEVICES: &str = "field::commands::places::the_same_devices_can_be_written_under_every_runner";
const NO_DENIAL: &str =
    "shell::telling::a_denied_path_is_told_with_its_evidence_and_another_failure_is_none";
const REFUSED_ITSELF: &str =
    "tools::bash::what_the_host_or_the_command_itself_refuses_is_no_denial";
const TOLD_ONCE: &str =
    "field::commands::judged::a_denied_write_is_told_once_by_a_tool_and_once_by_a_command";
const IN_THE_HOME: &str =
    "field::commands::judged::a_build_that_writes_in_the_home_is_told_which_path_was_refused";
const AGREE: &str = "shell::parity::file_tools_and_commands_agree_on_every_change_and_place";
const HELD_UP: &str = "shell::ending::a_grandchild_that_holds_the_pipes_holds_nobody_up";
const IN_TIME: &str = "shell::ending::a_limit_ends_all_of_it_in_time";
const NOT_READ: &str = "field::commands::size::no_directory_of_the_workspace_is_read_for_a_command";
const SERVER: &str =
    "field::commands::running::a_server_is_reached_in_its_own_command_and_is_gone_with_it";

/// Each case about commands.
pub(super) const CASES: &[(&str, Shown)] = &[
    ("F-058", By(&[NOTHING])),
    (
        "F-059",
        By(&[
            "cli::doctor::doctor_tells_how_to_get_landlock_where_the_kernel_has_none",
            "cli::doctor::doctor_tells_how_to_switch_landlock_on_where_it_is_off",
            "cli::doctor::doctor_tells_a_filter_from_a_kernel_that_has_no_landlock",
        ]),
    ),
    (
        "F-060",
        InPart(
            &["field::commands::absent::privileges_that_were_given_up_before_are_no_hindrance"],
            NO_MODULE,
        ),
    ),
    ("F-061", By(&[BREAKS, runners!("namespaces::what_bubblewrap_says_is_why_it_failed")])),
    (
        "F-062",
        By(&["field::commands::absent::\
             without_namespaces_changes_are_as_confined_as_before_and_so_are_commands"]),
    ),
    ("F-063", By(&["field::commands::absent::file_tools_start_no_process"])),
    (
        "F-064",
        InPart(
            &["field::commands::absent::\
              without_bubblewrap_the_native_runner_is_taken_and_it_is_told_why"],
            DOCTOR,
        ),
    ),
    ("F-065", By(&[NOTHING, "session::a_receipt_says_who_held_the_boundary"])),
    (
        "F-066",
        By(&[
            "field::commands::absent::a_root_that_cannot_be_opened_is_refused_by_its_name",
            PRETENDS,
        ]),
    ),
    (
        "F-067",
        InPart(
            &["field::commands::absent::what_is_required_of_a_runner_is_held_or_nothing_runs"],
            OLD_LANDLOCK,
        ),
    ),
    ("F-068", By(&["fallback::openat2_that_the_kernel_does_not_know"])),
    ("F-069", By(&[PRETENDS])),
    ("F-070", InPart(&["fallback::openat2_that_a_filter_forbids"], DOCTOR)),
    (
        "F-071",
        By(&[
            "fallback::openat2_that_a_filter_forbids",
            "bad_input::what_is_missing_is_not_found_and_nothing_is_made_for_it",
            "bad_input::what_an_ordinary_user_may_not_change_is_denied",
        ]),
    ),
    ("F-072", By(&[COMMITS, COMMITS_OF_A_USER, HOOKS])),
    ("F-073", By(&[WORK, WORK_OF_A_USER, COMMITS])),
    ("F-074", By(&[COMMITS, HOOKS])),
    (
        "F-075",
        By(&["field::commands::litter::\
             a_workspace_in_which_its_user_may_make_nothing_will_do"]),
    ),
    (
        "F-076",
        By(&[
            COMMITS,
            "field::protected::a_protected_place_cannot_be_emptied_and_one_beside_it_can",
        ]),
    ),
    ("F-077", By(&[NO_TRACE, "shell::a_command_that_writes_nothing_leaves_nothing"])),
    ("F-078", By(&["field::commands::litter::nothing_is_left_where_a_runner_is_killed"])),
    ("F-079", By(&[NO_NAMES])),
    ("F-080", By(&[COMMITS, COMMITS_OF_A_USER])),
    ("F-081", By(&[NO_TRACE, NO_NAMES])),
    ("F-082", By(&[WORK, WORK_OF_A_USER])),
    (
        "F-083",
        InPart(
            &[runners!("writes::files_move_between_roots_and_never_out_of_them"), WORK],
            MOUNTS_APART,
        ),
    ),
    (
        "F-084",
        InPart(
            &["field::commands::layers::\
              a_move_that_another_layer_forbids_is_no_denial_of_the_policy"],
            EXDEV,
        ),
    ),
    ("F-085", InPart(&[ONE_LAYER], TWO_LAYERS)),
    ("F-086", By(&[ONE_LAYER, LEVELS])),
    ("F-087", By(&[LEVELS])),
    (
        "F-088",
        By(&[
            COMMITS,
            "field::protected::nothing_that_was_written_elsewhere_is_renamed_onto_a_protected_name",
        ]),
    ),
    (
        "F-089",
        By(&[
            COMMITS,
            "field::protected::what_leads_to_a_protected_place_is_not_moved_away_and_back",
            runners!(
                "protection::\
                a_protected_directory_and_those_above_it_cannot_be_changed_or_moved"
            ),
        ]),
    ),
    ("F-090", By(&[ELSEWHERE, AGREE])),
    ("F-091", InPart(&[DEVICES], ONE_FILE)),
    ("F-092", By(&[DEVICES, "field::commands::places::an_ordinary_user_can_write_them_too"])),
    (
        "F-093",
        InPart(
            &[
                "field::commands::judged::\
                 a_semaphore_can_be_made_or_what_was_refused_is_suspected",
                runners!("writes::shared_memory_is_private_or_denied"),
            ],
            SEMAPHORE,
        ),
    ),
    ("F-094", By(&[NO_DENIAL, REFUSED_ITSELF])),
    ("F-095", By(&[NO_DENIAL, "field::commands::judged::no_failure_inside_the_root_is_a_denial"])),
    (
        "F-096",
        By(&["field::commands::judged::\
             words_of_a_denial_stay_in_the_output_as_they_were_written"]),
    ),
    (
        "F-097",
        By(&[
            "field::commands::judged::no_failure_inside_the_root_is_a_denial",
            "field::commands::judged::nor_is_any_to_an_ordinary_user",
        ]),
    ),
    ("F-098", InPart(&[IN_THE_HOME, TOLD_ONCE], NO_OPERATION)),
    (
        "F-099",
        By(&[
            AGREE,
            ELSEWHERE,
            runners!("namespaces::what_is_written_in_dev_fails_and_does_not_vanish"),
        ]),
    ),
    (
        "F-100",
        By(&["ringfence::policy::settings::tests::\
             what_is_no_setting_is_refused_with_the_key_and_what_was_expected_and_found"]),
    ),
    (
        "F-101",
        By(&[
            "field::commands::places::\
             a_temp_area_that_is_lost_is_lost_to_files_and_commands_alike_and_the_rest_works",
            "field::commands::absent::\
             a_directory_for_temporary_files_that_is_missing_keeps_no_command_from_running",
            "settings::a_shared_temp_area_that_is_no_directory_is_left_out_and_told",
        ]),
    ),
    (
        "F-102",
        By(&[
            "settings::a_path_that_leads_to_no_directory_is_refused_by_the_name_of_its_setting",
            "cli::exec::a_command_that_cannot_be_held_is_not_run",
        ]),
    ),
    (
        "F-103",
        By(&[
            "field::protected::\
             a_protected_place_that_is_missing_is_told_and_nothing_is_made_for_it",
            "field::commands::places::\
             what_is_protected_and_comes_to_be_there_is_held_from_the_next_command_or_a_gap",
        ]),
    ),
    (
        "F-104",
        InPart(
            &[
                "escalation::consent_is_for_one_call_and_the_next_is_judged_as_before",
                "tools::bash::consent_is_for_one_command",
            ],
            NO_STANDING,
        ),
    ),
    ("F-105", By(&[runners!("beginning::a_command_is_run_by_a_program_that_is_gone")])),
    (
        "F-106",
        By(&["field::commands::absent::\
             programs_of_a_runner_that_cannot_be_executed_are_its_failure_and_no_denial"]),
    ),
    ("F-107", By(&["cli::a_temp_directory_that_would_widen_the_policy_is_refused", WORK])),
    ("F-108", By(&[WORK, WORK_OF_A_USER, "session::the_temp_areas_are_writable_too"])),
    (
        "F-109",
        By(&["field::commands::places::\
             a_cache_is_led_beneath_a_root_by_a_variable_and_the_home_stays_as_it_is"]),
    ),
    ("F-110", By(&[IN_THE_HOME])),
    (
        "F-111",
        By(&[
            IN_TIME,
            runners!("ending::what_has_left_its_parents_and_its_session_ends_with_the_command"),
        ]),
    ),
    ("F-112", By(&[HELD_UP])),
    (
        "F-113",
        InPart(
            &[HELD_UP, runners!("ending::what_runs_in_the_background_ends_with_the_command")],
            NOT_TOLD,
        ),
    ),
    ("F-114", By(&[runners!("ending::everything_ends_with_this_process_however_it_ends")])),
    ("F-115", By(&[runners!("ending::a_command_may_end_its_own_processes")])),
    ("F-116", By(&["field::commands::asked::a_mode_is_changed_whole_a_hundred_times"])),
    ("F-117", By(&[LEVELS, USED_UP])),
    ("F-118", By(&[NOTHING, USED_UP])),
    ("F-119", InPart(&[NOT_READ], NOT_TIMED)),
    ("F-120", By(&[NOT_READ])),
    (
        "F-121",
        By(&["field::commands::size::long_commands_and_many_long_protected_paths_are_taken"]),
    ),
    (
        "F-122",
        By(&[runners!("protection::many_protected_paths_are_taken_and_too_many_are_refused")]),
    ),
    ("F-123", By(&[BREAKS])),
    ("F-124", By(&["field::commands::asked::consent_is_for_one_call_and_nothing_is_remembered"])),
    (
        "F-125",
        By(&["field::commands::asked::\
             each_command_is_asked_for_whole_and_another_mode_ends_the_questions"]),
    ),
    (
        "F-126",
        By(&[
            "tools::bash::a_command_that_nobody_allows_is_not_run",
            "shell::telling::without_consent_nothing_runs",
        ]),
    ),
    (
        "F-127",
        InPart(
            &["field::commands::asked::\
              settings_that_are_protected_or_outside_are_not_changed_and_those_in_force_stay"],
            NO_FILE,
        ),
    ),
    ("F-128", By(&[SERVER, "cli::exec::what_a_command_would_be_held_to_is_told_and_nothing_run"])),
    ("F-129", By(&[SERVER])),
    (
        "F-130",
        By(&["field::commands::running::\
             what_looks_like_a_secret_is_not_in_the_environment_of_a_command"]),
    ),
    ("F-131", InPart(&[TOLD_ONCE], NO_OPERATION)),
];
