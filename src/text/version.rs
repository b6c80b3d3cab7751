//! Which version of a file somebody has seen.

use std::io::{self, Read as _};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringfence_platform::{Cancel, Digest, Hasher, Precondition, Snapshot, Stamp};

use super::{Read, Unedited};

/// How long before it was read a file must have changed last, for its stamp to be proof of its
/// bytes: longer than a tick of any file system's clock.
const SETTLED: Duration = Duration::from_secs(2);

/// How much of a file is read at a time, in bytes.
const PIECE: usize = 64 * 1024;

/// A version of a file: its stamp and, if it was read or written, a digest of all its bytes.
/// Opaque, and good within one boot of one host.
///
/// A file is still of this version while it has the same bytes: neither new times or permissions
/// nor the same bytes written anew make another. Equal stamps alone do not prove it, since two
/// writes can fall into one tick of the file system's clock. Of a file that was only
/// looked at there is nothing else to go by.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Version(Seen);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Seen {
    /// The file was whole while it was read, or was written.
    Whole { stamp: Stamp, digest: Digest, settled: bool },
    /// The file was looked at.
    Stamp(Stamp),
    /// It kept changing, so what was read may never have been there.
    Changing,
}

impl Version {
    /// The version of what has been read since `began`.
    pub(super) fn of(stamp: Stamp, digest: Digest, began: SystemTime) -> Self {
        // Not when it ended: what was read first may have changed in the same tick since.
        Self(Seen::Whole { stamp, digest, settled: is_settled(&stamp, began) })
    }

    /// The version of a file that has just been written: its stamp after that, and all its bytes.
    pub(crate) fn written(stamp: Stamp, bytes: &[u8]) -> Self {
        Self(Seen::Whole { stamp, digest: Digest::of(bytes), settled: false })
    }

    /// The version of a file that never stood still, which no file is of.
    pub(crate) fn changing() -> Self {
        Self(Seen::Changing)
    }

    /// Whether no file is of it.
    pub(crate) fn is_none(&self) -> bool {
        self.0 == Seen::Changing
    }

    /// Whether `read` is of this version.
    pub(crate) fn is(&self, read: &Read) -> bool {
        match &self.0 {
            Seen::Whole { digest, .. } => *digest == read.digest,
            Seen::Stamp(stamp) => *stamp == read.stamp,
            Seen::Changing => false,
        }
    }

    /// What must be there for `snapshot`, which is there now, to be replaced as this version.
    /// Nothing if it is another. Reads the file only where its stamp is no proof, and keeps none of
    /// it.
    pub(crate) fn precondition(
        &self,
        mut snapshot: Snapshot,
        cancel: &Cancel,
    ) -> Result<Option<Precondition>, Unedited> {
        let now = snapshot.stamp;
        let digest = match self.0 {
            Seen::Whole { stamp, settled: true, .. } if stamp == now => None,
            Seen::Stamp(stamp) if stamp == now => None,
            Seen::Stamp(_) | Seen::Changing => return Ok(None),
            Seen::Whole { digest, .. } => {
                if digest_of(&mut snapshot, cancel)? != digest {
                    return Ok(None);
                }
                Some(digest)
            }
        };
        Ok(Some(Precondition::Matches { stamp: now, digest }))
    }
}

/// The digest of a file, or of its first bytes: one that grows is another, and is not read for as
/// long as it does.
fn digest_of(snapshot: &mut Snapshot, cancel: &Cancel) -> Result<Digest, Unedited> {
    let mut hasher = Hasher::default();
    let mut bytes = snapshot.file.by_ref().take(snapshot.stamp.size().saturating_add(1));
    let mut piece = vec![0; PIECE];
    loop {
        if cancel.is_cancelled() {
            return Err(Unedited::Cancelled);
        }
        match bytes.read(&mut piece) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(read) => hasher.update(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Unedited::Failed(error)),
        }
    }
}

/// The version of a file that was looked at and not read. A file is of it while it has this stamp,
/// so any change makes another, of its metadata too; and one that falls into the same tick of the
/// file system's clock makes none.
impl From<Stamp> for Version {
    fn from(stamp: Stamp) -> Self {
        Self(Seen::Stamp(stamp))
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

    use ringfence_platform::Cancel;

    use super::*;
    use crate::reader::ReadOnly;

    #[test]
    fn what_counts_is_when_the_reading_began() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let read = Read::all(
            ReadOnly::open().unwrap().open_file(&path).unwrap(),
            u64::MAX,
            &Cancel::never(),
        );
        let Read { stamp, digest, .. } = read.unwrap();
        let changed = UNIX_EPOCH + Duration::from_nanos(stamp.changed_ns().try_into().unwrap());
        for (began, proves) in [(changed, false), (changed + SETTLED, true)] {
            let Seen::Whole { settled, .. } = Version::of(stamp, digest, began).0 else {
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
        let two_seconds = Duration::from_secs(2);
        assert!(is_settled(&stamp, changed + two_seconds));
        assert!(!is_settled(&stamp, changed + two_seconds - Duration::from_nanos(1)));
        assert!(!is_settled(&stamp, changed - two_seconds), "a clock that is behind");
        assert!(!is_settled(&stamp, UNIX_EPOCH - two_seconds), "or nowhere near");
    }

    #[test]
    fn a_file_is_not_compared_for_a_call_that_is_cancelled() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let open = || ReadOnly::open().unwrap().open_file(&path).unwrap();
        let bytes = Read::all(open(), u64::MAX, &Cancel::never()).unwrap().bytes;
        let version = Version::written(open().stamp, &bytes);
        assert!(version.precondition(open(), &Cancel::never()).unwrap().is_some());
        let cancel = Cancel::new();
        cancel.cancel();
        let cancelled = version.precondition(open(), &cancel);
        assert!(matches!(cancelled, Err(Unedited::Cancelled)), "{cancelled:?}");
    }
}
