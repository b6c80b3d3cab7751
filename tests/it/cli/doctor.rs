//! What the binary tells of what can hold commands, and of what is missing for it.

use rustix::io::Errno;
use serde_json::{Value, json};

use super::{Run, run, stage};
use crate::fallback::Lack;
use crate::support::runs_commands;

/// What is told where the calls of Landlock are answered so, as an object and in text.
fn where_landlock_answers(errno: Errno) -> (Value, String) {
    let filtered = move || {
        Lack { openat2: false, landlock: true, errno }.impose();
        let [object, text] = [&["doctor", "--json"][..], &["doctor"]].map(|line| {
            let told = run(&stage(), line, "");
            assert_eq!((told.code(), told.err.as_str()), (0, ""), "{told:?}");
            told.out
        });
        (Run::json(&object), text)
    };
    // The thread ends with its filter.
    std::thread::spawn(filtered).join().unwrap()
}

fn runner<'a>(report: &'a Value, which: &str) -> &'a Value {
    let runners = report["runners"].as_array().unwrap();
    runners.iter().find(|runner| runner["runner"] == which).unwrap()
}

/// The paragraph that begins so.
fn paragraph<'a>(text: &'a str, begins: &str) -> &'a str {
    let found = text.split("\n\n").find(|paragraph| paragraph.starts_with(begins));
    found.unwrap_or_else(|| panic!("no {begins:?}: {text}")).trim_end()
}

fn kernel() -> String {
    std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim().to_owned()
}

#[test]
fn doctor_tells_what_holds_commands_and_which_one_is_taken() {
    let stage = stage();
    let report = Run::json(&run(&stage, &["doctor", "--json"], "").out);
    let text = run(&stage, &["doctor"], "").out;
    assert_eq!(report["kernel"], kernel());
    assert!(text.contains(&format!("\nkernel    {}\n", kernel())), "{text}");
    let usable = |which| runner(&report, which)["error"].is_null();
    let [landlock, bwrap] = ["landlock", "bwrap"].map(usable);
    let first = |order: [(&'static str, bool); 2]| {
        order.into_iter().find(|(_, usable)| *usable).map(|(which, _)| which)
    };
    let usual = first([("landlock", landlock), ("bwrap", bwrap)]);
    let protecting = first([("bwrap", bwrap), ("landlock", landlock)]);
    assert_eq!(report["taken"], json!({ "usual": usual, "protecting": protecting }));
    assert_eq!(usual.is_some(), runs_commands());
    for (which, is_usable) in [("landlock", landlock), ("bwrap", bwrap)] {
        let told = runner(&report, which);
        let enforcement = if which == "bwrap" { "full" } else { "partial" };
        let enforcement = is_usable.then_some(enforcement);
        assert_eq!(told["enforcement"], json!(enforcement), "{told}");
        let line = format!("{:<20}{}", format!("runner {which}"), enforcement.unwrap_or("-"));
        assert!(text.contains(&line), "{line}: {text}");
    }
    assert_eq!(report["landlock"]["signals"].is_boolean(), landlock, "{report}");
}

#[test]
fn doctor_tells_how_to_get_landlock_where_the_kernel_has_none() {
    let (report, text) = where_landlock_answers(Errno::NOSYS);
    let landlock = runner(&report, "landlock");
    assert_eq!(landlock["lacks"], "not_in_kernel");
    assert_eq!(landlock["error"], "the kernel has no landlock");
    assert_eq!((&report["kernel"], &report["landlock"]["abi"]), (&json!(kernel()), &Value::Null));
    assert_eq!(
        paragraph(&text, "landlock, "),
        "landlock, not_in_kernel: the kernel answers that it does not know the calls (ENOSYS)\n  \
         use Linux 6.2 or newer, built with CONFIG_SECURITY_LANDLOCK=y, and a container profile \
         that does not hide landlock_*"
    );
}

#[test]
fn doctor_tells_how_to_switch_landlock_on_where_it_is_off() {
    let (report, text) = where_landlock_answers(Errno::OPNOTSUPP);
    let landlock = runner(&report, "landlock");
    assert_eq!(landlock["lacks"], "not_enabled");
    assert_eq!(landlock["error"], "landlock is not enabled");
    assert_eq!(
        paragraph(&text, "landlock, "),
        "landlock, not_enabled: the kernel was built with it and did not switch it on \
         (EOPNOTSUPP)\n  put `landlock` in the lsm= list of the kernel's command line, before what \
         is in /sys/kernel/security/lsm, and start the system again"
    );
}

#[test]
fn doctor_tells_a_filter_from_a_kernel_that_has_no_landlock() {
    let (report, text) = where_landlock_answers(Errno::PERM);
    let landlock = runner(&report, "landlock");
    assert_eq!((&landlock["lacks"], &landlock["enforcement"]), (&json!("forbidden"), &Value::Null));
    assert!(paragraph(&text, "landlock, ").contains("seccomp"), "{text}");
}
