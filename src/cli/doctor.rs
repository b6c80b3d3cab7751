//! Which boundaries this host offers, why not stronger ones, and what to do about it.

use std::path::Path;

use ringfence::{
    Assurance, Boundary, Confinement, Enforcement, Gap, Mode, Resolution, Roots, TempAreas,
    spelled, survey, writable_roots,
};
use serde_json::{Map, Value, json};

use super::Failure;
use super::render::{Renderer, print, tokens, with_causes};

/// What was found out.
struct Report {
    roots: Roots,
    boundaries: Vec<Boundary>,
}

/// Examines the boundary around `workspace` and the temp areas. Answers whether the strongest one
/// is good enough.
pub(super) fn run(
    workspace: &Path,
    required: Enforcement,
    renderer: Renderer,
) -> Result<bool, Failure> {
    let roots = writable_roots(Mode::WorkspaceWrite, workspace, &TempAreas::from_env())?
        .expect("workspace-write has writable roots");
    let report = Report { boundaries: survey(&roots), roots };
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

    fn text(&self) -> String {
        let mut text = String::new();
        for root in self.roots.iter() {
            text += &format!("writable  {:?}\n", root.path());
        }
        let abi = self.landlock_abi().map_or("none".to_owned(), |abi| format!("ABI {abi}"));
        text += &format!("landlock  {abi}\n\n");
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
        let fields = [
            ("roots", roots.collect()),
            ("landlock", json!({ "abi": self.landlock_abi() })),
            ("fences", fences.collect()),
            ("strongest", self.strongest().map(|best| best.level.to_string()).into()),
            ("gaps", gaps.collect()),
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
}
