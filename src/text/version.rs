//! Which version of a file somebody has seen.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringfence_platform::{Digest, Precondition, Snapshot, Stamp};

use super::{Read, Unedited};

/// How long before it was read a file must have changed last, for its stamp to be proof of its
/// bytes: longer than a tick of any file system's clock.
const SETTLED: Duration = Duration::from_secs(2);

/// A version of a file: its stamp and a digest of all its bytes. Opaque, and good within one boot
/// of one host.
///
/// A file is still of this version while it has the same bytes: neither new times or permissions
/// nor the same bytes written anew make another. Equal stamps alone do not prove it, since two
/// writes can fall into one tick of the file system's clock.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Version(Seen);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Seen {
    /// The file was whole while it was read.
    Whole { stamp: Stamp, digest: Digest, settled: bool },
    /// It kept changing, so what was read may never have been there.
    Changing,
}

impl Version {
    /// The version of what has been read.
    pub(super) fn of(read: &Read) -> Self {
        Self(Seen::Whole {
            stamp: read.stamp,
            digest: read.digest,
            // Not when it ended: what was read first may have changed in the same tick since.
            settled: is_settled(&read.stamp, read.began),
        })
    }

    /// The version of a file that never stood still, which no file is of.
    pub(super) fn changing() -> Self {
        Self(Seen::Changing)
    }

    /// Whether `read` is of this version.
    pub(crate) fn is(&self, read: &Read) -> bool {
        match &self.0 {
            Seen::Whole { digest, .. } => *digest == read.digest,
            Seen::Changing => false,
        }
    }

    /// What must be there for `snapshot`, which is there now, to be replaced as this version.
    /// Nothing if it is another. Reads the file only where its stamp is no proof.
    pub(crate) fn precondition(
        &self,
        snapshot: Snapshot,
    ) -> Result<Option<Precondition>, Unedited> {
        if let Seen::Whole { stamp, settled: true, .. } = self.0
            && stamp == snapshot.stamp
        {
            return Ok(Some(Precondition::Matches { stamp, digest: None }));
        }
        let read = Read::all(snapshot)?;
        Ok(self.is(&read).then(|| read.precondition()))
    }
}

fn is_settled(stamp: &Stamp, at: SystemTime) -> bool {
    let at = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let then = stamp.changed_ns();
    i128::try_from(at.as_nanos()).is_ok_and(|at| at - then >= SETTLED.as_nanos() as i128)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::reader::ReadOnly;

    #[test]
    fn what_counts_is_when_the_reading_began() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let read = Read::all(ReadOnly::open().unwrap().open_file(&path).unwrap()).unwrap();
        let changed =
            UNIX_EPOCH + Duration::from_nanos(read.stamp.changed_ns().try_into().unwrap());
        for (began, proves) in [(changed, false), (changed + SETTLED, true)] {
            let Seen::Whole { settled, .. } = Version::of(&Read { began, ..read.clone() }).0 else {
                panic!("it was whole");
            };
            assert_eq!(settled, proves);
        }
    }

    #[test]
    fn a_stamp_is_proof_only_two_seconds_after_the_last_change() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let stamp = ReadOnly::open().unwrap().open_file(&path).unwrap().stamp;
        let changed = UNIX_EPOCH + Duration::from_nanos(stamp.changed_ns().try_into().unwrap());
        assert!(is_settled(&stamp, changed + SETTLED));
        assert!(!is_settled(&stamp, changed + SETTLED - Duration::from_nanos(1)));
        assert!(!is_settled(&stamp, changed - SETTLED), "a clock that is behind");
        assert!(!is_settled(&stamp, UNIX_EPOCH - SETTLED), "or nowhere near");
    }
}
