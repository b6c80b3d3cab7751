//! Which boundaries and runners this host offers, why not stronger ones, and what to do about it.

use std::path::Path;

use ringfence::{
    Assurance, Boundary, Cause, Confinement, Enforcement, Gap, Held, Mode, NoRunner, PassedOver,
    Resolution, Roots, Runner, RunnerSurvey, ShellGap, TempAreas, kernel_release, runners, spelled,
    survey, writable_roots,
};
use serde_json::{Map, Value, json};

use super::Failure;
use super::render::{Renderer, print, tokens, with_causes};

/// What was found out.
struct Report {
    roots: Roots,
    boundaries: Vec<Boundary>,
    runners: RunnerSurvey,
    kernel: String,
}

/// Examines the boundary around `workspace` and the temp areas, and what can hold commands to it.
/// Answers whether the strongest boundary is good enough.
pub(super) fn run(
    workspace: &Path,
    required: Enforcement,
    renderer: Renderer,
) -> Result<bool, Failure> {
    let roots = writable_roots(Mode::WorkspaceWrite, workspace, &TempAreas::from_env())?
        .expect("workspace-write has writable roots");
    let (boundaries, runners) = (survey(&roots), runners(&roots));
    let report = Report { boundaries, runners, roots, kernel: kernel_release() };
    if renderer.json {
        renderer.object(report.object())?;
    } else {
        print(report.text().as_bytes())?;
    }
    Ok(report.strongest().is_some_and(|best| best.level >= required))
}

impl Report {
    fn strongest(&self) -> Option<&Assurance> {
        self.boundaries.iter().find_map(|boundary| boundary.assurance.as_ref().ok())
    }

    /// The version of Landlock, if one could confine.
    fn landlock_abi(&self) -> Option<i32> {
        let mut seen =
            self.boundaries.iter().filter_map(|boundary| boundary.assurance.as_ref().ok());
        seen.find_map(|assurance| assurance.landlock_abi)
    }

    /// What keeps the strongest fence from being stronger.
    fn gaps(&self) -> Vec<Gap> {
        let mut gaps = self.strongest().map(|assurance| assurance.gaps.clone()).unwrap_or_default();
        let lacks = |has: &dyn Fn(&Boundary) -> bool| {
            !self.boundaries.iter().any(|boundary| has(boundary) && boundary.assurance.is_ok())
        };
        for (gap, lacks) in [
            (Gap::NoOpenat2, lacks(&|boundary| boundary.resolution == Resolution::Openat2)),
            (Gap::NoLandlock, lacks(&|boundary| boundary.confinement == Confinement::Landlock)),
        ] {
            if lacks && !gaps.contains(&gap) {
                gaps.push(gap);
            }
        }
        gaps
    }

    /// Whether a Landlock domain was seen to hold signals, if one can hold commands.
    fn holds_signals(&self) -> Option<bool> {
        let mut held = self.runners.runners.iter().filter_map(|runner| runner.as_ref().ok());
        let landlock = held.find(|held| held.runner == Runner::Landlock)?;
        Some(!landlock.gaps.contains(&ShellGap::Orphans))
    }

    fn unusable(&self) -> impl Iterator<Item = &PassedOver> {
        self.runners.runners.iter().filter_map(|runner| runner.as_ref().err())
    }

    fn text(&self) -> String {
        [self.fences_text(), self.runners_text()].concat()
    }

    fn fences_text(&self) -> String {
        let mut text = String::new();
        for root in self.roots.iter() {
            text += &format!("writable  {:?}\n", root.path());
        }
        let abi = self.landlock_abi().map_or("none".to_owned(), |abi| format!("ABI {abi}"));
        text += &format!("kernel    {}\nlandlock  {abi}\n\n", self.kernel);
        for boundary in &self.boundaries {
            let (level, why_not) = match &boundary.assurance {
                Ok(Assurance { level, gaps, .. }) => (level.to_string(), tokens(gaps)),
                Err(error) => ("-".to_owned(), with_causes(error)),
            };
            text += format!("{:<20}{level:<11}{why_not}", kind(boundary)).trim_end();
            text += "\n";
        }
        let level = self.strongest().map_or("none".to_owned(), |best| best.level.to_string());
        text += &format!("\nstrongest boundary here: {level}\n");
        for gap in self.gaps() {
            let (cause, remedy) = explain(gap);
            text += &format!("\n{gap}: {cause}\n  {remedy}\n");
        }
        text
    }

    fn runners_text(&self) -> String {
        let mut text = "\n".to_owned();
        for runner in &self.runners.runners {
            let (which, enforcement, why_not) = match runner {
                Ok(held) => (held.runner, held.enforcement().to_string(), tokens(&held.gaps)),
                Err(PassedOver { runner, why, .. }) => (*runner, "-".to_owned(), why.clone()),
            };
            let runner = format!("runner {which}");
            let line = format!("{runner:<20}{enforcement:<11}{why_not}");
            text += &format!("{}\n", line.trim_end());
        }
        let who = |taken: &Result<Held, NoRunner>| {
            taken.as_ref().map_or("none".to_owned(), |held| held.runner.to_string())
        };
        let RunnerSurvey { usual, protecting, .. } = &self.runners;
        let [usual, protecting] = [who(usual), who(protecting)];
        text += &format!("\nrunner of a command: {usual}, with protected paths: {protecting}\n");
        if let Some(holds_signals) = self.holds_signals() {
            let signals = if holds_signals { "held within each command" } else { "not held" };
            text += &format!("signals under landlock: {signals}\n");
        }
        for PassedOver { runner, cause, .. } in self.unusable() {
            let (meaning, remedy) = account(*cause);
            text += &format!("\n{runner}, {cause}: {meaning}\n  {remedy}\n");
        }
        text
    }

    fn runners_object(&self) -> Value {
        let runners = self.runners.runners.iter().map(|runner| match runner {
            Ok(held) => json!({
                "runner": held.runner.to_string(),
                "enforcement": held.enforcement().to_string(),
                "gaps": held.gaps.iter().map(ShellGap::to_string).collect::<Vec<_>>(),
            }),
            Err(PassedOver { runner, cause, why, .. }) => {
                let (meaning, remedy) = account(*cause);
                json!({
                    "runner": runner.to_string(),
                    "enforcement": null,
                    "error": why,
                    "lacks": cause.to_string(),
                    "cause": meaning,
                    "remedy": remedy,
                })
            }
        });
        runners.collect()
    }

    fn object(&self) -> Map<String, Value> {
        let roots = self
            .roots
            .iter()
            .map(|root| spelled("path", root.path().as_os_str().as_encoded_bytes()));
        let fences = self.boundaries.iter().map(|boundary| {
            let (level, gaps, error) = match &boundary.assurance {
                Ok(Assurance { level, gaps, .. }) => {
                    (Some(level.to_string()), gaps.as_slice(), None)
                }
                Err(error) => (None, [].as_slice(), Some(with_causes(error))),
            };
            json!({
                "resolution": boundary.resolution.to_string(),
                "confinement": boundary.confinement.to_string(),
                "level": level,
                "gaps": gaps.iter().map(Gap::to_string).collect::<Vec<_>>(),
                "error": error,
            })
        });
        let gaps = self.gaps().into_iter().map(|gap| {
            let (cause, remedy) = explain(gap);
            json!({ "gap": gap.to_string(), "cause": cause, "remedy": remedy })
        });
        let who = |taken: &Result<Held, NoRunner>| {
            json!(taken.as_ref().ok().map(|held| held.runner.to_string()))
        };
        let RunnerSurvey { usual, protecting, .. } = &self.runners;
        let taken = json!({ "usual": who(usual), "protecting": who(protecting) });
        let fields = [
            ("roots", roots.collect()),
            ("kernel", self.kernel.as_str().into()),
            ("landlock", json!({ "abi": self.landlock_abi(), "signals": self.holds_signals() })),
            ("fences", fences.collect()),
            ("strongest", self.strongest().map(|best| best.level.to_string()).into()),
            ("gaps", gaps.collect()),
            ("runners", self.runners_object()),
            ("taken", taken),
        ];
        fields.into_iter().map(|(key, value): (&str, Value)| (key.to_owned(), value)).collect()
    }
}

fn kind(boundary: &Boundary) -> String {
    let Boundary { resolution, confinement, .. } = boundary;
    if *confinement == Confinement::Nothing {
        resolution.to_string()
    } else {
        format!("{resolution} + {confinement}")
    }
}

/// What a gap comes from, and what closes it.
fn explain(gap: Gap) -> (&'static str, &'static str) {
    match gap {
        Gap::BindRoot => (
            "a writable root is, or contains, a bind mount; a directory that is moved away on the \
             other side of it still counts as beneath the root",
            "use a workspace on an ordinary directory, or give the container a volume of its own",
        ),
        Gap::MountsUnknown => (
            "the list of mounts could not be read, so there may be bind mounts beneath the roots",
            "mount /proc, readable for this user",
        ),
        Gap::Unproved => (
            "the confinement could not be seen to hold: a writable root covers /dev/null, or there \
             is none",
            "use a workspace that does not contain /dev, on a host that has /dev/null",
        ),
        Gap::NoOpenat2 => (
            "the kernel cannot be asked to resolve a path beneath a directory (openat2)",
            "use Linux 5.6 or newer, and a container profile that permits openat2",
        ),
        Gap::NoLandlock => (
            "the thread that acts cannot give up the right to write elsewhere (Landlock)",
            "use Linux 6.2 or newer with `landlock` in the lsm= list of the kernel's command line \
             (see /sys/kernel/security/lsm), and a container profile that permits landlock_*",
        ),
        _ => ("this version does not know more about it", "look into the documentation"),
    }
}

/// What keeps a runner from being used, and what helps.
fn account(cause: Cause) -> (&'static str, &'static str) {
    match cause {
        Cause::NotInstalled => (
            "it is in none of /usr/bin, /bin and /usr/local/bin",
            "install bubblewrap from the system's packages",
        ),
        Cause::NotInKernel => (
            "the kernel answers that it does not know the calls (ENOSYS)",
            "use Linux 6.2 or newer, built with CONFIG_SECURITY_LANDLOCK=y, and a container profile \
             that does not hide landlock_*",
        ),
        Cause::NotEnabled => (
            "the kernel was built with it and did not switch it on (EOPNOTSUPP)",
            "put `landlock` in the lsm= list of the kernel's command line, before what is in \
             /sys/kernel/security/lsm, and start the system again",
        ),
        Cause::Forbidden => (
            "its calls are refused, as by a filter of system calls (seccomp)",
            "use a container profile that permits landlock_create_ruleset, landlock_add_rule and \
             landlock_restrict_self",
        ),
        Cause::NotSetUp => (
            "it is there, and fails before a command begins; mostly since this user may make no \
             user namespaces",
            "see that user.max_user_namespaces is not 0, kernel.unprivileged_userns_clone not 0 and \
             kernel.apparmor_restrict_unprivileged_userns not 1, or that there is a profile for \
             bwrap, and that a container profile permits unshare, mount and pivot_root",
        ),
        Cause::NotEffective => (
            "a command that it was to hold was not seen to be held",
            "let TMPDIR be a directory of this system's own that this user can write; report it if \
             it is one",
        ),
        Cause::TooWeak | Cause::OtherSystem | _ => {
            ("this version does not know more about it", "look into the documentation")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gap_has_a_cause_and_a_remedy_of_its_own() {
        let gaps =
            [Gap::BindRoot, Gap::MountsUnknown, Gap::Unproved, Gap::NoOpenat2, Gap::NoLandlock];
        let texts: std::collections::HashSet<_> = gaps.into_iter().map(explain).collect();
        assert_eq!(texts.len(), gaps.len());
    }

    #[test]
    fn whatever_keeps_a_runner_from_being_used_has_a_remedy_of_its_own() {
        let causes = [
            Cause::NotInstalled,
            Cause::NotInKernel,
            Cause::NotEnabled,
            Cause::Forbidden,
            Cause::NotSetUp,
            Cause::NotEffective,
        ];
        let texts: std::collections::HashSet<_> = causes.into_iter().map(account).collect();
        assert_eq!(texts.len(), causes.len());
    }
}
