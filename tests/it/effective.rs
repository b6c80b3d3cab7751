//! What is told of the policy in force, and that calls and commands are held to just that.

use ringfence::{
    ApprovalPolicy, AreaRole, Enforcement, Exec, Mode, ModeSource, Session, ShellGap, TempAreas,
};

use crate::support::{Stage, Tree, builder_in, dir, file, offered, runs_commands};

fn stage() -> Stage {
    Stage::new(&Tree::inside([file("kept/f", "f")]).outside([dir("temp")]))
}

#[test]
fn the_areas_are_told_by_place_and_identity_and_what_is_protected_by_whether_it_is_there() {
    for kind in offered() {
        let stage = stage();
        let (root, temp) = (stage.root(), stage.base().join("temp"));
        let builder = builder_in(root, Mode::WorkspaceWrite, *kind);
        let builder = builder.protected_subpaths(["kept", "none"]).temps(TempAreas::only(&temp));
        let session = builder.build().unwrap();
        let policy = session.effective_policy().unwrap();
        assert_eq!((policy.mode, &*policy.workspace), (Mode::WorkspaceWrite, root));
        assert_eq!(policy.approvals, ApprovalPolicy::default());
        let areas: Vec<_> =
            policy.areas.iter().map(|area| (&*area.path, area.role, &area.within)).collect();
        let expected =
            [(root, AreaRole::Workspace, &None), (temp.as_path(), AreaRole::Temp, &None)];
        assert_eq!(areas, expected);
        let roots = session.policy().unwrap().roots().unwrap().clone();
        let keys: Vec<_> = roots.iter().map(|root| root.key()).collect();
        let told: Vec<_> = policy.areas.iter().map(|area| area.identity.clone()).collect();
        assert_eq!(told, keys);
        let protected: Vec<_> =
            policy.protected.iter().map(|place| (place.path.clone(), place.is_there)).collect();
        assert_eq!(protected, [(root.join("kept"), true), (root.join("none"), false)]);
        assert_eq!(policy.required, Enforcement::Checked);
        assert_eq!(policy.proven, session.assurance().unwrap(), "{kind}");
    }
}

/// What is told of commands is what one would be held to.
fn assert_as_explained(session: &Session) {
    let policy = session.effective_policy().unwrap();
    let commands = &policy.commands;
    match session.explain(&Exec::new([""; 0])) {
        Ok(explained) => {
            let Some(held) = &explained.held else {
                assert_eq!((commands.runners.len(), commands.taken), (0, None));
                return;
            };
            assert_eq!(commands.taken, Some(held.runner));
            let mut sets = commands.runners.iter().filter_map(|runner| runner.as_ref().ok());
            let set = sets.find(|set| set.held.runner == held.runner).unwrap();
            assert_eq!((&set.held, &set.roots), (held, &explained.roots));
            let holds = !held.gaps.contains(&ShellGap::ProtectedSubpaths);
            let there = policy.protected.iter().filter(|place| place.is_there);
            let there: Vec<_> = there.map(|place| place.path.clone()).collect();
            let kept = holds && explained.mode == Mode::WorkspaceWrite;
            assert_eq!(set.read_only, if kept { there } else { Vec::new() });
        }
        Err(_) => assert_eq!(commands.taken, None),
    }
}

#[test]
fn a_runner_is_told_with_the_set_that_a_command_gets() {
    let stage = stage();
    let builder = builder_in(stage.root(), Mode::WorkspaceWrite, offered()[0]);
    let session = builder.protected_subpaths(["kept", "none"]).build().unwrap();
    for mode in [Mode::WorkspaceWrite, Mode::ReadOnly, Mode::DangerFullAccess] {
        session.set_mode(mode, ModeSource::Host);
        let policy = session.effective_policy().unwrap();
        assert_eq!((policy.mode, policy.areas.len()), (mode, 1));
        let is_confined = mode != Mode::DangerFullAccess;
        assert_eq!(policy.commands.taken.is_some(), is_confined && runs_commands());
        assert_as_explained(&session);
    }
}
