//! Places beneath the roots that no change touches, however they are spelled.
//!
//! A place is looked up anew for each change. What is there is told by identity, so that neither a
//! link nor another spelling is a way round. What is missing is told by its name, without regard to
//! the case of ASCII letters: a directory that folds case would make a place of either spelling.
//! Everything on the way to a place stays where it is as well, links too, so that nothing can be
//! put there by a rename.

use crate::dir::Dir;
use crate::error::{ErrorKind, Fault};
use crate::held::Held;
use crate::path::{Name, RelPath};
use crate::resolve::{Rules, Scope, Walk};
use crate::roots::Root;
use crate::stat::FileId;

/// Looks wherever links lead, since a change may be aimed there by another root. Changes nothing.
const ANYWHERE: Walk = Walk(Rules { scope: Scope::Ambient, no_xdev: false, foreign_links: true });

/// What a change does to an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Touch {
    /// It becomes a directory, an empty one, if it is none already.
    MakeDir,
    /// It is removed.
    Remove,
    /// Something else takes its place, or it is taken elsewhere.
    Replace,
}

impl Held {
    /// Fails if a protected place would be touched by a change of the entry `names` of `dir`, of
    /// which all but the last are missing.
    pub(crate) fn spare(&self, dir: &Dir, names: &[&Name], touch: Touch) -> Result<(), Fault> {
        for place in self.roots.protected() {
            let way = Way::to(self.root(place.root)?, &place.path)?;
            Fault::new(ErrorKind::Protected).unless(!way.is_touched(dir, names, touch)?)?;
        }
        Ok(())
    }
}

/// The way to a protected place, as it is now.
struct Way {
    /// The entries that it leads through: the directory each is in, and what it is.
    passed: Vec<(FileId, FileId)>,
    /// The place, if it is a directory, or else the last directory on the way.
    end: FileId,
    /// The names from there on; none if the place is a directory.
    rest: Vec<Name>,
    /// Whether something may be there, or in the way.
    is_there: bool,
}

impl Way {
    fn to(root: &Root, place: &RelPath) -> Result<Self, Fault> {
        let (mut passed, mut last) = (Vec::new(), None);
        let walked = ANYWHERE.descend(root, place.as_path(), 0, |dir, name| {
            let (at, _) = last.insert((dir.id()?, name.clone()));
            passed.extend(dir.look(name)?.map(|there| (*at, there.id())));
            Ok(())
        });
        let (end, is_there, rest) = match walked {
            Ok((dir, _, rest)) => (dir.id()?, rest.is_empty(), rest),
            Err(fault) => {
                // It leads no further than to the last entry, which then stays as it is.
                let is_end = !matches!(fault.kind, ErrorKind::Io | ErrorKind::Busy);
                let (end, name) = last.filter(|_| is_end).ok_or(fault)?;
                (end, true, vec![name])
            }
        };
        Ok(Self { passed, end, rest, is_there })
    }

    /// Whether a change of the entry `names` of `dir` would alter the place, take it away, or bring
    /// something there.
    fn is_touched(&self, dir: &Dir, names: &[&Name], touch: Touch) -> Result<bool, Fault> {
        let (Self { passed, end, rest, is_there }, at) = (self, dir.id()?);
        let same = |(a, b): (&&Name, &Name)| a.as_os_str().eq_ignore_ascii_case(b.as_os_str());
        let is_towards = at == *end && names.iter().zip(rest).all(same);
        let is_within = match rest.len() {
            0 => dir.is_beneath(*end)?,
            missing => is_towards && names.len() >= missing,
        };
        let met = if let [leaf] = names { dir.look(leaf)? } else { None };
        let is_on_way = met.is_some_and(|met| passed.contains(&(at, met.id())));
        let keeps_it = touch == Touch::MakeDir || touch == Touch::Remove && !is_there;
        Ok(is_within || (is_towards || is_on_way) && !keeps_it)
    }
}
