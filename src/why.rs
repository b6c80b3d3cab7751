//! What would come of an operation, and which rule decides it. Nothing is changed and nobody is
//! asked.

use std::fmt;
use std::path::{Path, PathBuf};

use ringfence_platform::{Enforcement, ErrorKind, Follow, Parents, Precondition, Removal};

use crate::aiming::Aiming;
use crate::call::Call;
use crate::error::{Code, Denial, Error, Layer, Reason, Result};
use crate::lexical;
use crate::mode::Mode;
use crate::mutations;
use crate::physical::physical;
use crate::policy::{Bounds, Decision, Policy};
use crate::reading::Reading;
use crate::request::{Op, Request};
use crate::target::Aim;
use crate::text::{Edit, Matches, TextTerms};

/// What would come of an operation at a path, by which rule, and what would suffice.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Why {
    /// The operation.
    pub op: Op,
    /// The path: absolute and normalised by text.
    pub path: PathBuf,
    /// The mode that it was judged under.
    pub mode: Mode,
    /// What would come of it.
    pub verdict: Verdict,
    /// What settles that.
    pub rule: Rule,
    /// What the error would say, if it is not allowed.
    pub error: Option<String>,
    /// Where it would act, once symlinks are followed. Nothing if they lead nowhere.
    pub place: Option<PathBuf>,
    /// The root that contains the place, of those that workspace-write may write beneath, whatever
    /// the mode is.
    pub root: Option<PathBuf>,
    /// The symlink on the way, as `path` spells it, that leads from beneath a writable root to
    /// beneath none. It may lead there by way of others.
    pub led_out_by: Option<PathBuf>,
    /// How hard the boundary is that would hold the change; nothing for what only reads, and under
    /// a mode that allows no change.
    pub level: Option<Enforcement>,
    /// The narrowest mode that would not deny it, and what would come of it there. Nothing if it is
    /// not denied, or is denied in every mode.
    pub narrowest: Option<(Mode, Verdict)>,
}

/// What would come of an operation. `Display` gives its stable token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// It would be done.
    Allowed,
    /// The policy would refuse it: [`Code::FsSandboxDenied`].
    Denied,
    /// The policy would allow it, and it would fail.
    Fails {
        /// With this.
        code: Code,
        /// And this.
        reason: Option<Reason>,
    },
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Fails { .. } => "fails",
        })
    }
}

/// What settles a verdict. `Display` gives its stable token.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// Every mode lets be read what the host lets be read.
    Reading,
    /// The mode: one allows no change, and one has no boundary.
    Mode,
    /// Whether the place is beneath a writable root, or is one.
    Containment,
    /// It is a protected place, or on the way to one.
    Protected,
    /// What the host permits this user.
    HostPermission,
    /// What kind of thing is there, and whether it is text.
    Kind,
    /// Whether anything is there.
    Existence,
    /// The path itself: it can name nothing, its symlinks are too many, or a name is too long.
    Path,
    /// How large a text may be.
    Size,
    /// Whatever else the system says.
    System,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reading => "reading",
            Self::Mode => "mode",
            Self::Containment => "containment",
            Self::Protected => "protected",
            Self::HostPermission => "host_permission",
            Self::Kind => "kind",
            Self::Existence => "existence",
            Self::Path => "path",
            Self::Size => "size",
            Self::System => "system",
        })
    }
}

impl Why {
    /// Whether it is told from what was seen, so that it can be otherwise by the time of the call:
    /// others may change what is there, and space may run out. Only what the mode alone refuses is
    /// certain while the mode stays.
    #[must_use]
    pub fn is_forecast(&self) -> bool {
        (self.rule, self.verdict) != (Rule::Mode, Verdict::Denied)
    }
}

/// A question that is asked of a policy.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) op: Op,
    pub(crate) path: &'a Path,
    pub(crate) texts: TextTerms<'a>,
}

impl Asked<'_> {
    /// What would come of a change.
    ///
    /// # Errors
    ///
    /// [`Error::Unavailable`] if the boundary cannot be held, so that nothing is known.
    pub(crate) fn change(&self, policy: &Policy) -> Result<Why> {
        let request = self.request()?;
        let bounds = policy.bounds();
        let (answer, level) = match policy.decide(&request) {
            Decision::Deny(denial) => (Err(Error::Denied(denial)), None),
            Decision::Allow(_) => {
                let level = bounds.fence()?.map(|fence| fence.assurance().level);
                (self.foresee(&request, bounds), level)
            }
        };
        let allowed = match policy.mode() {
            Mode::ReadOnly | Mode::DangerFullAccess => Rule::Mode,
            Mode::WorkspaceWrite => Rule::Containment,
        };
        let denied = answer.as_ref().err();
        let narrowest = denied.and_then(|error| self.narrowest(&request, bounds, error));
        let why = self.told(policy.mode(), bounds, answer, allowed)?;
        Ok(Why { level, narrowest, ..why })
    }

    /// What would come of reading, which `mode` allows as every mode does.
    pub(crate) fn reading(
        &self,
        reading: &Reading<'_>,
        mode: Mode,
        bounds: &Bounds,
    ) -> Result<Why> {
        let call = Call::new(self.request()?).following(0..0);
        let answer = reading.answer(&call, self.texts.most_bytes).map(|_| None);
        self.told(mode, bounds, answer, Rule::Reading)
    }

    fn told(
        &self,
        mode: Mode,
        bounds: &Bounds,
        answer: Result<Option<PathBuf>>,
        allowed: Rule,
    ) -> Result<Why> {
        if let Err(error) = answer.as_ref()
            && error.code() == Code::SandboxUnavailable
        {
            return Err(answer.expect_err("it is one"));
        }
        let shown = lexical::shown(self.op, bounds.workspace(), self.path);
        let path = shown.unwrap_or_else(|_| self.path.to_owned());
        let (reader, roots, op) = (bounds.reader(), bounds.roots_of_workspace_write(), self.op);
        let aim = Aim { reader, roots, op };
        let verdict = verdict(&answer);
        let (seen, error) = match answer {
            Ok(place) => (place, None),
            Err(error) => (None, Some(error)),
        };
        let place = seen.or_else(|| aim.place(&path).ok());
        let root = place.as_deref().and_then(|place| aim.root_of(place));
        Ok(Why {
            op,
            mode,
            verdict,
            rule: error.as_ref().map_or(allowed, rule),
            error: error.map(|error| error.to_string()),
            root: root.map(|root| root.path().to_owned()),
            led_out_by: led_out_by(aim, &path),
            place,
            path,
            level: None,
            narrowest: None,
        })
    }

    /// What a change would come to within `bounds`, by the steps of the change itself.
    fn foresee(&self, request: &Request, bounds: &Bounds) -> Result<Option<PathBuf>> {
        let fence = bounds.fence()?.expect("a mode that allows changes has a fence");
        let aiming = Aiming { op: self.op, bounds, fence: &*fence };
        match mutations::rehearse(request, &aiming, self.texts) {
            // Which text is to be replaced was not asked.
            Err(Error::EditNotFound { .. } | Error::AmbiguousEdit { .. }) => Ok(None),
            answer => answer,
        }
    }

    /// The narrowest mode that does not deny it either, if one is told of at all.
    fn narrowest(
        &self,
        request: &Request,
        bounds: &Bounds,
        error: &Error,
    ) -> Option<(Mode, Verdict)> {
        let Error::Denied(Denial { narrowest: Some(_), mode: denied, .. }) = error else {
            return None;
        };
        let wider = Mode::ALL.into_iter().filter(|mode| mode > denied);
        wider
            .filter_map(|mode| {
                let bounds = bounds.under(mode).ok()?;
                Some((mode, verdict(&self.foresee(request, &bounds))))
            })
            .find(|(_, verdict)| *verdict != Verdict::Denied)
    }

    /// The request that stands for the operation.
    fn request(&self) -> Result<Request> {
        let path = self.path.to_owned();
        Ok(match self.op {
            Op::Read => Request::Read { path },
            Op::ReadText => Request::ReadText { path },
            Op::Stat => Request::Stat { path, follow: Follow::Yes },
            Op::List => Request::List { path },
            Op::Write => {
                let (when, parents) = (Precondition::None, Parents::Create);
                Request::Write { path, contents: Vec::new(), when, parents }
            }
            Op::Edit => {
                let (old, new, matches) = ("\n".to_owned(), "\n".to_owned(), Matches::All);
                Request::Edit { path, edit: Edit { old, new, matches }, seen: None }
            }
            Op::CreateDir => Request::CreateDir { path, parents: Parents::Require },
            Op::Remove => Request::Remove { path, what: Removal::File },
            Op::Rename => {
                Request::Rename { from: path.clone(), to: path, when: Precondition::Absent }
            }
            Op::Symlink => Request::Symlink { path, text: ".".into() },
            Op::Run => {
                let (op, kind) = (self.op, ErrorKind::Unsupported);
                return Err(Error::Failed { op, path, kind, source: None });
            }
        })
    }
}

fn verdict<T>(answer: &Result<T>) -> Verdict {
    match answer {
        Ok(_) => Verdict::Allowed,
        Err(Error::Denied(_)) => Verdict::Denied,
        Err(error) => Verdict::Fails { code: error.code(), reason: error.reason() },
    }
}

/// What settles that an operation is not done.
fn rule(error: &Error) -> Rule {
    if let Error::Denied(Denial { by, .. }) = error {
        return match by {
            Layer::Mode => Rule::Mode,
            Layer::Protected => Rule::Protected,
            Layer::Roots | Layer::LinkText | Layer::Resolution(_) | Layer::Confinement(_) => {
                Rule::Containment
            }
        };
    }
    if let Error::Failed { kind: ErrorKind::InvalidPath, .. } = error {
        return Rule::Path;
    }
    let (code, reason) = (error.code(), error.reason());
    if code == Code::FsPermissionDenied {
        Rule::HostPermission
    } else if matches!(code, Code::FsNotRegularFile | Code::FsNotDirectory | Code::FsNotText) {
        Rule::Kind
    } else if matches!(code, Code::FsNotFound | Code::FsNotObserved | Code::FsStaleVersion) {
        Rule::Existence
    } else if code == Code::FsTooLarge {
        Rule::Size
    } else if matches!(reason, Some(Reason::Loop | Reason::NameTooLong)) {
        Rule::Path
    } else {
        Rule::System
    }
}

/// The first symlink on the way to `shown` that is beneath a root and leads to beneath none.
fn led_out_by(aim: Aim<'_>, shown: &Path) -> Option<PathBuf> {
    let way: Vec<_> = shown.ancestors().collect();
    let there = way.into_iter().rev().map_while(|step| {
        let is_link = std::fs::symlink_metadata(step).ok()?.is_symlink();
        Some((step, is_link))
    });
    let leads_out = |step: &&Path| {
        let Some((parent, name)) = step.parent().zip(step.file_name()) else { return false };
        let itself = physical(parent).map(|parent| parent.join(name));
        let end = if *step == shown { aim.place(step) } else { physical(step) };
        itself.is_ok_and(|itself| aim.root_of(&itself).is_some())
            && end.is_ok_and(|end| aim.root_of(&end).is_none())
    };
    let mut links = there.filter(|(_, is_link)| *is_link).map(|(step, _)| step);
    links.find(leads_out).map(Path::to_owned)
}
