//! What `sandbox-exec` of macOS is told: all is allowed, but to change files elsewhere than beneath
//! the roots.
//!
//! The last rule that fits decides. Rules are about real paths, which the roots' are.

use std::path::Path;

use super::command::{Network, Restrictions};
use crate::path::RelPath;
use crate::roots::{Root, Roots};

/// What every command may write to, and the terminals that it opens.
const DEVICES: &str = r#"(allow file-write*
  (literal "/dev/null") (literal "/dev/zero") (literal "/dev/full") (literal "/dev/tty")
  (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))
"#;

/// The profile for `restrictions`; nothing if a path is no UTF-8, which it cannot express.
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the system whose program reads it has no fence yet")
)]
pub(super) fn profile(restrictions: &Restrictions) -> Option<String> {
    let Restrictions { roots, network, .. } = restrictions;
    let mut profile = String::from("(version 1)\n(allow default)\n(deny file-write*)\n");
    profile.push_str(DEVICES);
    for root in roots.iter().flat_map(Roots::iter) {
        profile.push_str(&format!("(allow file-write* (subpath {}))\n", quoted(root.path())?));
    }
    for place in restrictions.protected() {
        let root = roots.iter().flat_map(Roots::iter).find(|root| root.id() == place.root)?;
        profile.push_str(&held(root, &place.path)?);
    }
    if *network == Network::Denied {
        profile.push_str("(deny network*)\n");
    }
    Some(profile)
}

/// Keeps a path as it is, and each directory above it from being moved away.
fn held(root: &Root, path: &RelPath) -> Option<String> {
    let at: std::path::PathBuf = root.path().join(path.as_path()).components().collect();
    let mut rules = format!("(deny file-write* (subpath {}))\n", quoted(&at)?);
    let above = at.ancestors().skip(1).take_while(|above| *above != root.path());
    for above in above.filter(|above| above.starts_with(root.path())) {
        rules.push_str(&format!("(deny file-write-unlink (literal {}))\n", quoted(above)?));
    }
    Some(rules)
}

/// A string of the profile's language.
fn quoted(path: &Path) -> Option<String> {
    let text = path.to_str()?.replace('\\', "\\\\").replace('"', "\\\"");
    Some(format!("\"{text}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::RootedPath;

    /// With these paths protected beneath the first of them.
    fn protecting(roots: Roots, paths: &[&str]) -> Roots {
        let first = roots.iter().next().unwrap().id();
        let places = paths.iter().map(|path| RootedPath::new(first, RelPath::new(path).unwrap()));
        roots.protecting(places.collect::<Vec<_>>())
    }

    fn profile_in(place: &Path, names: &[&str], protected: &[&str]) -> String {
        let paths = names.iter().map(|name| {
            let path = place.join(name);
            std::fs::create_dir(&path).unwrap();
            path
        });
        let roots = names.first().map(|_| protecting(Roots::open(paths).unwrap(), protected));
        let restrictions = Restrictions { roots, ..Restrictions::default() };
        profile(&restrictions).unwrap()
    }

    #[test]
    fn without_a_root_only_devices_can_be_written() {
        let profile = profile_in(Path::new("/nowhere"), &[], &["file"]);
        let denied = profile.find("(deny file-write*)").unwrap();
        assert_eq!(profile[denied..], format!("(deny file-write*)\n{DEVICES}"));
    }

    #[test]
    fn each_root_is_allowed_after_all_is_denied_and_what_is_protected_comes_last() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let profile = profile_in(&place, &["one", "two"], &[".git/hooks"]);
        let expected = [
            "(deny file-write*)".to_owned(),
            format!("(allow file-write* (subpath \"{}/one\"))", place.display()),
            format!("(allow file-write* (subpath \"{}/two\"))", place.display()),
            format!("(deny file-write* (subpath \"{}/one/.git/hooks\"))", place.display()),
            format!("(deny file-write-unlink (literal \"{}/one/.git\"))", place.display()),
        ];
        let rules = profile.lines().filter(|line| expected.iter().any(|rule| rule == line));
        assert_eq!(rules.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn no_name_of_a_directory_becomes_a_rule() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let profile = profile_in(&place, &["a\"))(allow file-write*)\\"], &[]);
        let spelled = format!("{}/a\\\"))(allow file-write*)\\\\", place.display());
        let rule = format!("(allow file-write* (subpath \"{spelled}\"))\n");
        assert!(profile.ends_with(&rule), "{profile}");
    }

    #[test]
    fn a_command_without_a_network_is_denied_it() {
        let restrictions = Restrictions { network: Network::Denied, ..Restrictions::default() };
        assert!(profile(&restrictions).unwrap().ends_with("(deny network*)\n"));
    }
}
