//! Every row of the table of situations, asked about and then played by a session.

use std::collections::{BTreeMap, BTreeSet};

use ringfence::{Code, Mode, Op, Session};

use super::{agrees, call, said};
use crate::cases::{Case, Op as Played, Table};
use crate::conformance::left_out_because;
use crate::support::{FenceKind, Stage, builder_in, offered, say};

/// The operation of a session that is most like it.
#[expect(clippy::wildcard_enum_match_arm, reason = "what a session does not do is not asked")]
fn op(played: Played) -> Option<Op> {
    Some(match played {
        Played::Open => Op::Read,
        Played::OpenDir | Played::List => Op::List,
        Played::Create | Played::CreateNew | Played::CreateTruncate | Played::Write => Op::Write,
        Played::Replace => Op::Edit,
        Played::Mkdir | Played::MkdirAll => Op::CreateDir,
        Played::RemoveFile | Played::RemoveDir | Played::RemoveAll => Op::Remove,
        Played::Rename => Op::Rename,
        Played::Symlink => Op::Symlink,
        _ => return None,
    })
}

/// A stage, and a session on each fence around it.
fn ground(table: &Table, case: &Case, start: &str) -> (Stage, Vec<Session>) {
    let stage = Stage::new(table.tree(case));
    let workspace = stage.root().join(start);
    let on = |kind: &FenceKind| builder_in(&workspace, Mode::WorkspaceWrite, *kind).build();
    let sessions = offered().iter().map(|kind| on(kind).unwrap()).collect();
    (stage, sessions)
}

/// Each fence is asked about each row, and takes its turn to play one.
#[test]
fn what_is_said_of_every_row_of_the_table_is_what_comes_of_it_on_every_fence() {
    let table = Table::resolve();
    let (mut stages, mut played) = (BTreeMap::new(), BTreeSet::new());
    // Removed together in the end: ext4 is slow to make files where it has just removed many.
    let (mut used, mut wrong) = (Vec::new(), Vec::new());
    for case in table.cases.iter().filter(|case| left_out_because(case).is_none()) {
        let start = case.args.start.as_deref().unwrap_or(".");
        let Some(op) = op(case.op) else { continue };
        if !played.insert((&case.tree, start, op.to_string(), &case.path)) {
            continue;
        }
        let place = (&case.tree, start);
        let (stage, sessions) = stages.entry(place).or_insert_with(|| ground(&table, case, start));
        let request = call(op, &stage.expand(&case.path));
        let said: Vec<_> =
            sessions.iter().map(|session| said(session, &request).unwrap()).collect();
        let turn = played.len() % sessions.len();
        let answer = sessions[turn].perform(request);
        if let Err(difference) = agrees(&said[turn], &answer) {
            wrong.push(format!("{case}: {difference}"));
        }
        for other in said.iter().filter(|other| other.verdict != said[turn].verdict) {
            wrong.push(format!("{case}: {other:?} on another fence than {:?}", said[turn]));
        }
        let unchanged = answer.is_err_and(|error| error.code() != Code::FsEditNotFound);
        if !unchanged && op.changes() {
            used.extend(stages.remove(&place));
        }
    }
    say(format_args!("{} rows asked about", played.len()));
    assert!(played.len() > 200, "{}", played.len());
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
