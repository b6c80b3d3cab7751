//! Where the calls of a client act: what it names, as far as the operator allows that.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ringfence::{Approver, PolicyService, Root};
use rmcp::RoleServer;
use rmcp::model::{ClientCapabilities, ClientResult, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions};
use tokio::sync::watch;

use super::options::ClientRoots;
use super::seat::Seat;
use super::uri;

/// How long a client has to say what its roots are.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is to be done where the roots of a client cannot be acted in.
const WAY_OUT: &str = "Whoever has set up ringfence can allow one of these directories there, or \
                       have the roots of the client ignored.";

/// Why no call can be made.
pub(super) type Refusal = Arc<str>;

/// Where the calls act at the moment.
#[derive(Clone, Debug)]
enum Standing {
    /// The client has not said it yet.
    Asked,
    /// Here.
    Taken(Arc<Seat>),
    /// Nowhere, and why.
    Refused(Refusal),
}

/// Where the calls of a client act.
#[derive(Debug)]
pub(super) struct Place {
    service: Arc<PolicyService>,
    client_roots: ClientRoots,
    allowed: Vec<Root>,
    approver: OnceLock<Arc<dyn Approver>>,
    standing: watch::Sender<Standing>,
    last: Mutex<Option<Arc<Seat>>>,
    turns: Mutex<Turns>,
}

/// How often the client is to be asked, and whether it is being asked. However often it says that
/// its roots have changed, one question is open.
#[derive(Debug, Default)]
struct Turns {
    newest: u64,
    is_asking: bool,
}

impl Place {
    pub(super) fn new(
        service: Arc<PolicyService>,
        client_roots: ClientRoots,
        allowed: Vec<Root>,
    ) -> Self {
        Self {
            service,
            client_roots,
            allowed,
            approver: OnceLock::new(),
            standing: watch::Sender::new(Standing::Asked),
            last: Mutex::default(),
            turns: Mutex::default(),
        }
    }

    /// Begins for a client, and says where its calls act if that is known: it has no say, or says
    /// nothing.
    pub(super) fn begin(
        &self,
        client: &ClientCapabilities,
        approver: Option<Arc<dyn Approver>>,
    ) -> Option<Arc<Seat>> {
        if let Some(approver) = approver {
            // There is one client, which begins once.
            drop(self.approver.set(approver));
        }
        if self.is_named_by(client) {
            return None;
        }
        self.settle(self.seat_of_operator());
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the client says where its calls act.
    pub(super) fn is_named_by(&self, client: &ClientCapabilities) -> bool {
        self.client_roots == ClientRoots::Honoured && client.roots.is_some()
    }

    /// Where a call acts, or why nowhere. It waits for the client to say it, but not for ever.
    pub(super) async fn seat(&self) -> Result<Arc<Seat>, Refusal> {
        let mut standing = self.standing.subscribe();
        let settled = standing.wait_for(|standing| !matches!(standing, Standing::Asked));
        let settled = tokio::time::timeout(PATIENCE, settled).await;
        match settled.ok().and_then(Result::ok).as_deref() {
            Some(Standing::Taken(seat)) => Ok(Arc::clone(seat)),
            Some(Standing::Refused(why)) => Err(Arc::clone(why)),
            Some(Standing::Asked) | None => Err(unsaid("it has not said that it is ready")),
        }
    }

    /// Asks the client what its roots are. From the first moment on no call begins until it has
    /// answered, and only the answer to the last question holds.
    pub(super) async fn ask(self: Arc<Self>, peer: Peer<RoleServer>) {
        self.standing.send_replace(Standing::Asked);
        let mut turn = {
            let mut turns = self.turns();
            turns.newest += 1;
            if std::mem::replace(&mut turns.is_asking, true) {
                return;
            }
            turns.newest
        };
        loop {
            let listed = list(&peer).await;
            let this = Arc::clone(&self);
            let found = tokio::task::spawn_blocking(move || this.seat_in(&listed?)).await;
            let mut turns = self.turns();
            if turns.newest == turn {
                turns.is_asking = false;
                return self
                    .settle(found.unwrap_or_else(|_| Err(unsaid("they could not be looked at"))));
            }
            turn = turns.newest;
        }
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on the calls act there. Whatever runs in another place is given up.
    fn settle(&self, found: Result<Arc<Seat>, Refusal>) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let standing = match (found, last.as_ref()) {
            (Ok(found), Some(last)) if found.is_where(last) => Standing::Taken(Arc::clone(last)),
            (Ok(found), _) => Standing::Taken(found),
            (Err(why), _) => Standing::Refused(why),
        };
        let next = match &standing {
            Standing::Taken(seat) => Some(Arc::clone(seat)),
            Standing::Refused(_) | Standing::Asked => None,
        };
        if let Some(left) = last.take()
            && next.as_ref().is_none_or(|next| !Arc::ptr_eq(next, &left))
        {
            left.left.set();
        }
        *last = next;
        self.standing.send_replace(standing);
    }

    fn seat_of_operator(&self) -> Result<Arc<Seat>, Refusal> {
        self.open(None)
    }

    /// The seat in the first of the roots that the operator allows.
    fn seat_in(&self, roots: &[String]) -> Result<Arc<Seat>, Refusal> {
        if roots.is_empty() {
            return self.seat_of_operator();
        }
        let workspace = self.workspace()?;
        let allowed: Vec<_> = std::iter::once(&workspace).chain(&self.allowed).collect();
        let mut refused = String::new();
        for uri in roots {
            match within(&allowed, uri) {
                Ok(root) if root.key() == allowed[0].key() => return self.seat_of_operator(),
                Ok(root) => return self.open(Some(&root)),
                Err(why) => refused.push_str(&format!("{uri:?}: {why}\n")),
            }
        }
        let text = format!(
            "The sandbox is not available: the client works in a place that ringfence is not \
             allowed to work in, so nothing was done.\n{refused}{WAY_OUT}"
        );
        Err(text.into())
    }

    /// The workspace of the operator.
    fn workspace(&self) -> Result<Root, Refusal> {
        let policy = self.service.policy().map_err(|error| unopened(&error))?;
        Root::open(policy.workspace()).map_err(|error| unopened(&error))
    }

    fn open(&self, root: Option<&Root>) -> Result<Arc<Seat>, Refusal> {
        let mut options = self.service.session();
        if let Some(root) = root {
            options = options.cwd(root.path());
        }
        if let Some(approver) = self.approver.get() {
            options = options.approver(Arc::clone(approver));
        }
        let session = options.open().map_err(|error| unopened(&error))?;
        let seat = Seat::new(session, root.map(Root::key));
        match root {
            Some(root) if !seat.is_at(root.path()) => Err(moved(root.path())),
            Some(_) | None => Ok(Arc::new(seat)),
        }
    }
}

/// The root that a URI names, if it is one of the `allowed` or lies beneath one.
fn within(allowed: &[&Root], uri: &str) -> Result<Root, String> {
    let path = uri::path(uri)?;
    let root = Root::open(path).map_err(|error| error.to_string())?;
    if allowed.iter().any(|allowed| allowed.contains(&root).unwrap_or(false)) {
        Ok(root)
    } else {
        Err("it is not beneath a directory that is allowed".to_owned())
    }
}

#[expect(deprecated, reason = "clients of today have roots")]
async fn list(peer: &Peer<RoleServer>) -> Result<Vec<String>, Refusal> {
    let request = ServerRequest::ListRootsRequest(Default::default());
    let options = PeerRequestOptions::with_timeout(PATIENCE);
    let asked = peer.send_cancellable_request(request, options).await;
    let asked = asked.map_err(|_| unsaid("it cannot be asked"))?;
    match asked.await_response().await {
        Ok(ClientResult::ListRootsResult(listed)) => {
            Ok(listed.roots.into_iter().map(|root| root.uri).collect())
        }
        Ok(_) => Err(unsaid("its answer is none")),
        Err(error) => Err(unsaid(&error.to_string())),
    }
}

fn unsaid(why: &str) -> Refusal {
    format!(
        "The sandbox is not available: the client has roots and does not say what they are \
         ({why}), so nothing was done. Whoever has set up ringfence can have the roots of the \
         client ignored."
    )
    .into()
}

fn unopened(error: &dyn std::error::Error) -> Refusal {
    format!("The sandbox is not available, so nothing was done: {error}. See `ringfence doctor`.")
        .into()
}

fn moved(path: &Path) -> Refusal {
    format!("The sandbox is not available: {path:?} was moved while it was opened.").into()
}
