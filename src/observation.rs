//! What the owner of a session has seen, and what follows for a change. A table, without I/O.

use std::collections::HashMap;

use ringfence_platform::TargetKey;

use crate::request::WriteIntent;
use crate::text::Version;

/// What one owner has seen of each place. It lives as long as its session, and is not restored.
#[derive(Debug, Default)]
pub(crate) struct Observations(HashMap<TargetKey, Seen>);

/// What was seen of a place, last.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Seen {
    /// Nothing was there.
    Absent,
    /// A file of this version was.
    Present(Version),
}

/// Why an edit has nothing to go by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unseen {
    /// Nobody has looked.
    Never,
    /// There was nothing.
    Absent,
}

impl Observations {
    pub(crate) fn saw(&mut self, key: TargetKey, seen: Seen) {
        self.0.insert(key, seen);
    }

    /// What a write may replace: what was seen, and otherwise nothing.
    pub(crate) fn write(&self, key: &TargetKey) -> WriteIntent {
        match self.0.get(key) {
            None | Some(Seen::Absent) => WriteIntent::CreateIfAbsent,
            Some(Seen::Present(version)) => WriteIntent::ReplaceIfVersion(version.clone()),
        }
    }

    /// The version that an edit may change.
    pub(crate) fn edit(&self, key: &TargetKey) -> Result<Version, Unseen> {
        match self.0.get(key) {
            None => Err(Unseen::Never),
            Some(Seen::Absent) => Err(Unseen::Absent),
            Some(Seen::Present(version)) => Ok(version.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ringfence_platform::Follow;

    use super::*;
    use crate::reader::ReadOnly;

    #[test]
    fn a_change_is_of_what_was_seen_last_and_of_nothing_else() {
        let reader = ReadOnly::open().unwrap();
        let key = |name: &str| {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
            reader.stat(&path, Follow::Yes).unwrap().key
        };
        let (here, there) = (key("Cargo.toml"), key("none"));
        let version = Version::changing();

        let mut seen = Observations::default();
        assert_eq!(seen.write(&here), WriteIntent::CreateIfAbsent);
        assert_eq!(seen.edit(&here), Err(Unseen::Never));

        seen.saw(here.clone(), Seen::Present(version.clone()));
        assert_eq!(seen.write(&here), WriteIntent::ReplaceIfVersion(version.clone()));
        assert_eq!(seen.edit(&here), Ok(version));
        assert_eq!(seen.edit(&there), Err(Unseen::Never));

        seen.saw(here.clone(), Seen::Absent);
        assert_eq!(seen.write(&here), WriteIntent::CreateIfAbsent);
        assert_eq!(seen.edit(&here), Err(Unseen::Absent));
    }
}
