//! Where a change goes: each path beneath its writable root, and anew where a symlink needs it.

use std::error::Error as _;
use std::io;
use std::path::{Path, PathBuf};

use ringfence_platform::{
    self as platform, Assurance, Confinement, ErrorKind, Fence, Follow, Parents, RelPath, Snapshot,
};

use crate::error::{Denial, Error, Layer, Result};
use crate::lexical;
use crate::mode::Mode;
use crate::policy::Bounds;
use crate::request::Op;
use crate::target::{self, Aim, Target};

/// How often a call may start again with another spelling of the place that was asked for.
const MAX_REAIMS: usize = 8;

/// Finds the targets of one operation, and says what it means where there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aiming<'a> {
    pub(crate) op: Op,
    pub(crate) bounds: &'a Bounds,
    pub(crate) fence: &'a dyn Fence,
}

impl Aiming<'_> {
    /// The writable root of each path.
    pub(crate) fn targets<const N: usize>(&self, raw: [&PathBuf; N]) -> Result<[Target; N]> {
        let targets = each(&raw, |raw| {
            let shown = lexical::shown(self.op, self.bounds.workspace(), raw)?;
            self.aim().take(shown.clone()).map_err(|kind| {
                if matches!(kind, ErrorKind::Escape | ErrorKind::Loop) {
                    self.denied(shown, Layer::Roots)
                } else {
                    self.failed(shown, kind, None)
                }
            })
        })?;
        self.spare_the_roots(&targets)?;
        Ok(targets)
    }

    /// Opens the file that `target` names, by the fence and thus beneath its root.
    pub(crate) fn open(&self, target: &mut [Target; 1]) -> Result<(PathBuf, Snapshot)> {
        let snapshot = self.until_it_hits(target, |fence, [target]| fence.open(&target.at))?;
        Ok((target[0].shown.clone(), snapshot))
    }

    /// Asks the fence, and again with other spellings as long as it does not take one.
    pub(crate) fn until_it_hits<T, const N: usize>(
        &self,
        targets: &mut [Target; N],
        ask: impl Fn(&dyn Fence, &[Target; N]) -> platform::Result<T>,
    ) -> Result<T> {
        let mut reaims = 0;
        loop {
            match ask(self.fence, targets) {
                Ok(answer) => return Ok(answer),
                Err(error) if matches!(error.kind(), ErrorKind::Escape | ErrorKind::Loop) => {
                    self.again(targets, &mut reaims, error)?;
                }
                Err(error) => return Err(self.refused(targets, error)),
            }
        }
    }

    /// Finds another spelling of each place after the fence has not taken one, or says what that
    /// means.
    pub(crate) fn again<const N: usize>(
        &self,
        targets: &mut [Target; N],
        reaims: &mut usize,
        error: platform::Error,
    ) -> Result<()> {
        let again = each(targets, |target| {
            let again = self.aim().through_links(target.shown.clone());
            again.map_err(|kind| (target.shown.clone(), kind))
        });
        let (path, kind) = match again {
            Ok(again) if again != *targets && *reaims < MAX_REAIMS => {
                self.spare_the_roots(&again)?;
                *targets = again;
                *reaims += 1;
                return Ok(());
            }
            Ok(_) => (culprit(targets, &error), error.kind()),
            Err(miss) => miss,
        };
        Err(self.misaimed(path, kind, error))
    }

    /// What a failure of the fence means for the path that it is about.
    pub(crate) fn refused(&self, targets: &[Target], error: platform::Error) -> Error {
        let path = culprit(targets, &error);
        if error.kind() == ErrorKind::Protected {
            self.denied(path, Layer::Protected)
        } else {
            target::failed(self.op, path, error)
        }
    }

    /// What it means that a change cannot even be asked for: an absolute text of a symlink is
    /// refused in every mode.
    pub(crate) fn malformed(&self, path: PathBuf, error: platform::Error) -> Error {
        if error.kind() != ErrorKind::Escape {
            return self.failed(path, error.kind(), Some(error));
        }
        let denial = self.bounds.deny(self.op, path, Layer::LinkText);
        Error::Denied(Denial { narrowest: None, ..denial })
    }

    fn aim(&self) -> Aim<'_> {
        Aim { reader: self.bounds.reader(), roots: self.fence.roots(), op: self.op }
    }

    /// A root itself is never removed or renamed: what it is called is not the policy's.
    fn spare_the_roots(&self, targets: &[Target]) -> Result<()> {
        let moves = matches!(self.op, Op::Remove | Op::Rename) && self.bounds.roots().is_some();
        let nested = moves && self.bounds.has_nested();
        let is_root = |target: &&Target| {
            let seen = nested.then(|| self.fence.stat(&target.at, Follow::No));
            target.at.path == RelPath::root()
                || seen.is_some_and(|seen| seen.is_ok_and(|s| self.bounds.is_nested(&s.key)))
        };
        match targets.iter().filter(|_| moves).find(is_root) {
            Some(root) => Err(self.denied(root.shown.clone(), Layer::Roots)),
            None => Ok(()),
        }
    }

    /// What it means that the fence does not take a path, once there is nowhere else to aim.
    fn misaimed(&self, path: PathBuf, kind: ErrorKind, error: platform::Error) -> Error {
        // Everything is beneath a root that is the whole volume, so there the fence knows better.
        let unbounded = kind == ErrorKind::Escape && self.bounds.roots().is_none();
        let kind = if unbounded { error.kind() } else { kind };
        if kind == ErrorKind::Escape {
            self.denied(path, self.layer(&error))
        } else {
            self.failed(path, kind, Some(error))
        }
    }

    /// Who found that a path leads out of the roots. A refusal by the host on the way out is the
    /// confined thread's: resolution had let the path pass.
    fn layer(&self, error: &platform::Error) -> Layer {
        let Assurance { resolution, confinement, .. } = *self.fence.assurance();
        let by_host = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        let refused = by_host.is_some_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
        if refused && confinement != Confinement::Nothing {
            Layer::Confinement(confinement)
        } else {
            Layer::Resolution(resolution)
        }
    }

    fn denied(&self, path: PathBuf, by: Layer) -> Error {
        Error::Denied(self.bounds.deny(self.op, path, by))
    }

    fn failed(&self, path: PathBuf, kind: ErrorKind, source: Option<platform::Error>) -> Error {
        Error::Failed { op: self.op, path, kind, source }
    }
}

/// The narrowest mode that would let what was denied be changed, by where its path leads now.
pub(crate) fn narrowest(bounds: &Bounds, denial: &Denial) -> Mode {
    needed(bounds, denial.op, &denial.path)
}

/// The narrowest mode that would let `path` be changed, by where it leads now.
pub(crate) fn needed(bounds: &Bounds, op: Op, path: &Path) -> Mode {
    let (reader, roots) = (bounds.reader(), bounds.roots_of_workspace_write());
    match (Aim { reader, roots, op }).through_links(path.to_owned()) {
        Ok(_) => Mode::WorkspaceWrite,
        Err(_) => Mode::DangerFullAccess,
    }
}

/// The path that a failure is about.
fn culprit(targets: &[Target], error: &platform::Error) -> PathBuf {
    let named = targets.iter().find(|target| target.at.path.as_path() == error.path());
    named.unwrap_or(&targets[0]).shown.clone()
}

/// Whether missing directories may be made on the way to all of them.
pub(crate) fn passable(targets: &[Target]) -> Parents {
    match targets.iter().all(|target| target.parents == Parents::Create) {
        true => Parents::Create,
        false => Parents::Require,
    }
}

fn each<'a, T, U: std::fmt::Debug, E, const N: usize>(
    items: &'a [T; N],
    find: impl FnMut(&'a T) -> Result<U, E>,
) -> Result<[U; N], E> {
    let found: Vec<U> = items.iter().map(find).collect::<Result<_, E>>()?;
    Ok(found.try_into().expect("there is one for each item"))
}

#[cfg(test)]
mod tests {
    use ringfence_platform::{Enforcement, Options, Removal, RootedPath};
    use std::cell::Cell;

    use super::*;
    use crate::error::Code;
    use crate::mode::Mode;
    use crate::policy::{Areas, Required, TempAreas, WORKSPACE};
    use crate::request::Request;
    use crate::session::Session;

    /// A directory with a workspace in it, changed without a fence; removed when dropped.
    struct Scene {
        session: Session,
        workspace: PathBuf,
    }

    impl Scene {
        fn new() -> Self {
            let name = format!("ringfence-aiming-{}", std::process::id());
            let base = std::env::temp_dir().canonicalize().unwrap().join(name);
            let parent = base.parent().unwrap();
            let session = Session::builder().workspace(parent).temps(TempAreas::none());
            let session = session.mode(Mode::DangerFullAccess).build().unwrap();
            let scene = Self { session, workspace: base.join("ws") };
            scene.act(Request::CreateDir {
                path: scene.workspace.clone(),
                parents: Parents::Create,
            });
            scene.link("out", "..");
            scene
        }

        fn act(&self, request: Request) {
            self.session.perform(request).unwrap();
        }

        fn link(&self, name: &str, text: &str) {
            let (path, text) = (self.workspace.join(name), text.into());
            self.act(Request::Symlink { path, text });
        }

        fn remove(&self, path: &Path) {
            self.act(Request::Remove { path: path.to_owned(), what: Removal::Tree });
        }

        /// How often the fence is asked, and what comes of it, if `link` leads elsewhere within the
        /// workspace at each of `moves` looks and the fence sees it lead out.
        fn asked(&self, fence: &dyn Fence, bounds: &Bounds, moves: usize) -> (usize, Option<Code>) {
            let aiming = Aiming { op: Op::Stat, bounds, fence };
            self.link("link", "first");
            let link = self.workspace.join("link");
            let mut targets = aiming.targets([&link]).unwrap();
            let asks = Cell::new(0);
            let answer = aiming.until_it_hits(&mut targets, |fence, targets| {
                asks.set(asks.get() + 1);
                let at = &targets[0].at;
                if asks.get() > moves {
                    return fence.stat(at, Follow::Yes);
                }
                self.remove(&link);
                self.link("link", &asks.get().to_string());
                let out = RelPath::new("out/f")?;
                fence.stat(&RootedPath::new(at.root, out), Follow::Yes)
            });
            self.remove(&link);
            (asks.get(), answer.err().map(|error| error.code()))
        }
    }

    impl Drop for Scene {
        fn drop(&mut self) {
            self.remove(self.workspace.parent().unwrap());
        }
    }

    #[test]
    fn a_link_that_leads_elsewhere_at_each_look_is_aimed_at_eight_times_more() {
        let scene = Scene::new();
        let required = Required { at_least: Enforcement::Checked, kind: None };
        let areas = Areas::open(WORKSPACE, &scene.workspace, &TempAreas::none(), required, &[]);
        let bounds = Bounds::of(Mode::WorkspaceWrite, areas.unwrap()).unwrap();
        let offers = platform::survey(bounds.roots().unwrap(), Options::default());
        let fences: Vec<_> = offers.filter_map(|offer| offer.fence.ok()).collect();
        assert!(!fences.is_empty(), "a walk is offered everywhere");
        for fence in fences {
            let asked = |moves| scene.asked(fence.as_ref(), &bounds, moves);
            assert_eq!(asked(0), (1, None));
            assert_eq!(asked(8), (9, None));
            assert_eq!(asked(9), (9, Some(Code::FsSandboxDenied)));
        }
    }
}
