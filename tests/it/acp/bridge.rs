//! What an agent embeds, alone: two ends of one connection in this process.

use std::sync::Arc;

use ringfence::acp::protocol::v1::ConnectionTo;
use ringfence::acp::protocol::v1::schema::{
    RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SelectedPermissionOutcome, SessionUpdate,
};
use ringfence::acp::protocol::{Agent, Channel, Client, ErrorCode, on_receive_request};
use ringfence::acp::{PermissionRequests, SessionModes};
use ringfence::{
    Approval, ApprovalPolicy, Approver, Call, Code, Escalation, Mode, ModeSource, PolicyService,
    Presets, Request, SessionOptions, Settings, WriteIntent,
};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::stage;
use crate::support::{Person, Stage};

fn service(stage: &Stage) -> (Arc<PolicyService>, Arc<Presets>) {
    let settings = Settings::default().workspace(stage.root());
    let presets = Presets::shipped(&settings).unwrap();
    (PolicyService::load(settings).unwrap(), Arc::new(presets))
}

/// Runs `act` with a connection to a client that allows whatever it is asked. It is called on a
/// thread of its own, as a call of a tool is.
fn with_client(act: impl FnOnce(ConnectionTo<Client>) + Send + 'static) {
    let (here, there) = Channel::duplex();
    let client = Client
        .v1()
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                let allow = request.options[0].option_id.clone();
                let allow = SelectedPermissionOutcome::new(allow);
                let outcome = RequestPermissionOutcome::Selected(allow);
                responder.respond(RequestPermissionResponse::new(outcome))
            },
            on_receive_request!(),
        )
        .connect_to(there);
    let agent = Agent.v1().connect_with(here, async |client: ConnectionTo<Client>| {
        let (ended, end) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            act(client);
            drop(ended);
        });
        assert!(end.await.is_err());
        thread.join().unwrap();
        Ok(())
    });
    let both = futures::future::join(agent, client);
    let (agent, _) = Builder::new_current_thread().build().unwrap().block_on(both);
    agent.unwrap();
}

/// What a write that asks for more comes to in this session.
fn asked(options: SessionOptions, approver: PermissionRequests, id: Option<&str>) -> Option<Code> {
    let session = options.approver(Arc::new(approver)).open().unwrap();
    let (path, text) = ("asked".into(), "x".into());
    let call = Call::new(Request::WriteText { path, text, intent: WriteIntent::Any });
    let (to, justification) = (Mode::WorkspaceWrite, "wanted".to_owned());
    let mut call = call.escalate(Escalation { to, justification });
    if let Some(id) = id {
        call = call.id(id);
    }
    session.call(call).err().map(|error| error.code())
}

#[test]
fn a_client_is_asked_for_the_calls_of_its_session_and_the_next_approver_for_others() {
    let stage = stage();
    let (service, _) = service(&stage);
    with_client(move |client| {
        let own = || PermissionRequests::new(client.clone(), "s1".into());
        let session = |name: &str| service.session().name(name);
        assert_eq!(asked(session("s1"), own(), Some("c")), None);
        let unavailable = Some(Code::SandboxEscalationUnavailable);
        assert_eq!(asked(session("s1"), own(), None), unavailable, "no call");
        assert_eq!(asked(session("s2"), own(), Some("c")), unavailable, "not its session");

        let next = Person::who_says(Approval::Rejected);
        let with_next = || own().or_else(Arc::<Person>::clone(&next));
        let rejected = Some(Code::SandboxEscalationRejected);
        assert_eq!(asked(session("s1"), with_next(), None), rejected);
        assert_eq!(asked(session("s2"), with_next(), Some("c")), rejected);
        assert_eq!(asked(session("s1"), with_next(), Some("c")), None);
        assert_eq!(next.asked().len(), 2, "not for the call of the client");
    });
}

#[test]
fn a_client_that_is_gone_allows_nothing_and_reaches_nobody() {
    let stage = stage();
    let (service, _) = service(&stage);
    let (kept, left) = std::sync::mpsc::channel();
    with_client(move |client| kept.send(client).unwrap());
    let approver = PermissionRequests::new(left.recv().unwrap(), "s1".into());
    assert!(!approver.reaches_a_person());
    let code = asked(service.session().name("s1"), approver, Some("c"));
    assert_eq!(code, Some(Code::SandboxEscalationUnavailable));
}

#[test]
fn the_modes_are_the_presets_and_a_switch_by_others_is_told_once() {
    let stage = stage();
    let (service, presets) = service(&stage);
    let session = service.session().presets(Arc::clone(&presets)).open().unwrap();
    let mut modes = SessionModes::new(Arc::clone(&presets));
    let state = modes.state(&session).unwrap();
    assert_eq!((&*state.current_mode_id.0, state.available_modes.len()), ("read-only", 3));

    modes.set(&session, &"workspace-write".into()).unwrap();
    assert_eq!(session.policy().unwrap().mode(), Mode::WorkspaceWrite);
    assert_eq!(modes.update(&session), None, "it was the client's own wish");
    presets.set(&session, "read-only").unwrap();
    let told = |update| match update {
        Some(SessionUpdate::CurrentModeUpdate(update)) => update.current_mode_id.0.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(told(modes.update(&session)), "read-only");
    assert_eq!(modes.update(&session), None);

    session.set_mode(Mode::WorkspaceWrite, ModeSource::Host);
    session.set_approvals(ApprovalPolicy::Never);
    assert_eq!(told(modes.update(&session)), "custom");
    let state = modes.state(&session).unwrap();
    assert_eq!(&*state.current_mode_id.0, "custom");
    assert!(state.available_modes.iter().all(|mode| &*mode.id.0 != "custom"));
    let error = modes.set(&session, &"custom".into()).unwrap_err();
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    assert_eq!(session.approvals(), ApprovalPolicy::Never, "nothing is switched");
}
