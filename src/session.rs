//! The one door: every request passes here once, from a raw path to a receipt.

use std::path::{Path, PathBuf};
use std::time::Instant;

use ringfence_platform::{
    self as platform, Assurance, Confinement, Durability, Enforcement, ErrorKind, Fence, LinkText,
    Mutation, Options, Parents, Resolution, RootedPath, Roots, Terms,
};

use crate::audit;
use crate::change::{Change, Judged};
use crate::error::{Error, Result};
use crate::guarded::Guarded;
use crate::lexical;
use crate::mode::Mode;
use crate::physical::physical;
use crate::policy::{Policy, TempAreas};
use crate::reader::ReadOnly;
use crate::request::{Op, Outcome, Request};
use crate::target;
use crate::text::{MAX_TEXT_BYTES, Read, Unread};

/// How often a file that changes while it is read is read again.
const MOST_READS: usize = 3;

/// A policy, and the fence that holds it. Every request passes here.
///
/// Reads go anywhere that the host lets this user read. A change needs a grant of the policy, and
/// is made by the fence, beneath the writable roots.
#[derive(Debug)]
pub struct Session {
    policy: Policy,
    fence: Option<Box<dyn Fence>>,
    reader: ReadOnly,
    terms: Terms,
}

/// How a session is to be opened.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened until it is built"]
pub struct SessionBuilder {
    workspace: Option<PathBuf>,
    mode: Mode,
    temps: TempAreas,
    require: Enforcement,
    kind: Option<(Resolution, Confinement)>,
    durability: Durability,
}

impl SessionBuilder {
    /// The directory that relative paths are taken against, and which workspace-write may change.
    /// The default is the process's working directory.
    pub fn workspace(mut self, path: impl Into<PathBuf>) -> Self {
        self.workspace = Some(path.into());
        self
    }

    /// The mode. The default is read-only.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// The temp areas. The default is [`TempAreas::from_env`].
    pub fn temps(mut self, temps: TempAreas) -> Self {
        self.temps = temps;
        self
    }

    /// The weakest enforcement to accept for workspace-write; the strongest that the host offers
    /// is used. The default is [`Enforcement::Checked`].
    pub fn require(mut self, at_least: Enforcement) -> Self {
        self.require = at_least;
        self
    }

    #[doc(hidden)]
    /// This kind of fence and no other, though the host may offer a stronger one. For tests and
    /// diagnostics.
    pub fn exactly(mut self, resolution: Resolution, confinement: Confinement) -> Self {
        self.kind = Some((resolution, confinement));
        self
    }

    /// What a change syncs. The default is [`Durability::File`].
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Loads the policy and opens its fence.
    ///
    /// # Errors
    ///
    /// [`Code::PolicyInvalid`](crate::Code::PolicyInvalid) as
    /// [`writable_roots`](crate::writable_roots), or if the working directory is `/` and nothing
    /// else was said; [`Code::SandboxUnavailable`](crate::Code::SandboxUnavailable) if the host
    /// cannot give the required enforcement.
    pub fn build(self) -> Result<Session> {
        let workspace = match self.workspace {
            Some(path) => path,
            None => working_directory()?,
        };
        let required = self.require;
        let unavailable = |source| Error::Unavailable { required, source };

        let policy = Policy::load(self.mode, &workspace, &self.temps)?;
        let options = Options { at_least: required };
        let fence = match (policy.mode(), policy.roots()) {
            (Mode::DangerFullAccess, _) => {
                Some(platform::unfenced(platform::ambient_authority()).map_err(Some))
            }
            (Mode::ReadOnly | Mode::WorkspaceWrite, Some(roots)) => Some(match self.kind {
                None => platform::open(roots, options).map_err(Some),
                Some(kind) => open_kind(roots, options, kind),
            }),
            (Mode::ReadOnly | Mode::WorkspaceWrite, None) => None,
        };
        Ok(Session {
            policy,
            fence: fence.transpose().map_err(unavailable)?,
            reader: ReadOnly::open().map_err(Some).map_err(unavailable)?,
            terms: Terms { durability: self.durability, ..Terms::default() },
        })
    }
}

fn working_directory() -> Result<PathBuf> {
    let invalid = |found| Error::PolicyInvalid {
        setting: "workspace_root",
        expected: "a working directory other than /, or a workspace that is named",
        found,
    };
    match std::env::current_dir() {
        Ok(path) if path.parent().is_some() => Ok(path),
        Ok(path) => Err(invalid(path)),
        Err(_) => Err(invalid(PathBuf::from("."))),
    }
}

type Opened = Result<Box<dyn Fence>, Option<platform::Error>>;

fn open_kind(roots: &Roots, options: Options, kind: (Resolution, Confinement)) -> Opened {
    let offer = platform::survey(roots)
        .find(|offer| (offer.resolution, offer.confinement) == kind)
        .ok_or(None)?;
    let fence = offer.fence.map_err(Some)?;
    if fence.assurance().level < options.at_least { Err(None) } else { Ok(fence) }
}

impl Session {
    /// Begins to describe a session.
    pub fn builder() -> SessionBuilder {
        SessionBuilder {
            workspace: None,
            mode: Mode::default(),
            temps: TempAreas::from_env(),
            require: Enforcement::Checked,
            kind: None,
            durability: Durability::default(),
        }
    }

    /// The standing policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What the fence was seen to hold; nothing under a mode that has none.
    #[must_use]
    pub fn assurance(&self) -> Option<&Assurance> {
        self.fence.as_deref().map(Fence::assurance)
    }

    /// Does what is asked, if the policy allows it.
    ///
    /// # Errors
    ///
    /// [`Code::FsSandboxDenied`](crate::Code::FsSandboxDenied) if the policy refuses, and then
    /// nothing has changed; [`Code`](crate::Code) says what the others mean.
    pub fn perform(&self, request: Request) -> Result<Outcome> {
        let _span = audit::request(&request, self.policy.mode()).entered();
        match &request {
            Request::Read { path } => {
                let (path, snapshot) = self.read(Op::Read, path, ReadOnly::open_file)?;
                Ok(Outcome::Opened { path, snapshot })
            }
            Request::ReadText { path } => self.read_text(path),
            Request::List { path } => {
                let (path, entries) = self.read(Op::List, path, ReadOnly::list)?;
                Ok(Outcome::Listed { path, entries })
            }
            Request::Write { path, contents, when, parents } => {
                self.change(&request, [path], |[path], passable| {
                    let (contents, when) = (contents.clone(), when.clone());
                    Ok(Mutation::Write { path, contents, when, parents: both(*parents, passable) })
                })
            }
            Request::Replace { path, contents, seen } => {
                self.audited(&request, [path], |change, judged| {
                    let guarded = Guarded { change, request: &request, raw: path };
                    guarded.replace(judged, contents, seen)
                })
            }
            Request::Edit { path, edit, seen } => {
                self.audited(&request, [path], |change, judged| {
                    let guarded = Guarded { change, request: &request, raw: path };
                    guarded.edit(judged, edit, seen.as_ref())
                })
            }
            Request::CreateDir { path, parents } => {
                self.change(&request, [path], |[path], passable| {
                    Ok(Mutation::CreateDir { path, parents: both(*parents, passable) })
                })
            }
            Request::Remove { path, what } => self
                .change(&request, [path], |[path], _| Ok(Mutation::Remove { path, what: *what })),
            Request::Rename { from, to, when } => {
                self.change(&request, [from, to], |[from, to], _| {
                    Ok(Mutation::Rename { from, to, when: when.clone() })
                })
            }
            Request::Symlink { path, text } => self.change(&request, [path], |[path], _| {
                Ok(Mutation::Symlink { path, text: LinkText::new(text)? })
            }),
        }
    }

    /// Reads at a path that no policy restricts. A magic link is not followed but read: its text
    /// is an ordinary path.
    fn read<T>(
        &self,
        op: Op,
        raw: &Path,
        read: fn(&ReadOnly, &Path) -> platform::Result<T>,
    ) -> Result<(PathBuf, T)> {
        let shown = lexical::shown(op, self.policy.workspace(), raw)?;
        let mut result = read(&self.reader, &shown);
        if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Loop)
            && let Ok(place) = physical(&shown)
        {
            result = read(&self.reader, &place);
        }
        match result {
            Ok(found) => Ok((shown, found)),
            Err(error) => Err(target::failed(op, shown, error)),
        }
    }

    /// Reads a whole text. One that does not stand still is told all the same, and is of no
    /// version.
    fn read_text(&self, raw: &Path) -> Result<Outcome> {
        let op = Op::ReadText;
        for left in (0..MOST_READS).rev() {
            let (path, snapshot) = self.read(op, raw, ReadOnly::open_file)?;
            let unread = |why: Unread| Error::unedited(op, path.clone(), why.into());
            let read = Read::all(snapshot, MAX_TEXT_BYTES).map_err(unread)?;
            if read.stood_still() || left == 0 {
                let text = read.text().map_err(unread)?;
                return Ok(Outcome::Text { path, text });
            }
        }
        unreachable!("the last read returns")
    }

    fn change<const N: usize>(
        &self,
        request: &Request,
        raw: [&PathBuf; N],
        mutation: impl Fn([RootedPath; N], Parents) -> platform::Result<Mutation>,
    ) -> Result<Outcome> {
        self.audited(request, raw, |change, judged| change.make(judged, mutation))
    }

    /// Decides and, if a grant comes of it, has `act` act on it; says both to the audit.
    fn audited<'s, const N: usize>(
        &'s self,
        request: &Request,
        raw: [&PathBuf; N],
        act: impl FnOnce(&Change<'s>, Judged<'s, N>) -> Result<Outcome>,
    ) -> Result<Outcome> {
        let begun = Instant::now();
        let change = Change {
            op: request.op(),
            policy: &self.policy,
            fence: self.fence.as_deref(),
            reader: &self.reader,
            terms: &self.terms,
        };
        let judged = change.judge(request, raw);
        audit::decided(self.policy.roots(), judged.as_ref().err());
        let result = judged.and_then(|judged| act(&change, judged));
        audit::ended(request, &result, begun.elapsed());
        result
    }
}

/// Directories are made where the caller asks for them and the way allows it.
fn both(asked: Parents, passable: Parents) -> Parents {
    match passable {
        Parents::Create => asked,
        Parents::Require => Parents::Require,
    }
}
