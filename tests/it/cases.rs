//! The case tables in `tests/cases/`, typed: a field or a word that is not known here is an error.

mod fault;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;

use crate::support::{Effect, Needs, NodeKind, Tree};

pub(crate) use fault::{Fault, errno_of};

/// One table: trees, and the cases that are played on them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    about: String,
    trees: BTreeMap<String, Tree>,
    pub(crate) cases: Vec<Case>,
}

/// One situation and the right answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) group: String,
    pub(crate) tree: String,
    pub(crate) op: Op,
    pub(crate) path: String,
    pub(crate) args: Args,
    pub(crate) expect: Expect,
    pub(crate) os: Os,
    pub(crate) needs: Vec<Needs>,
    pub(crate) why: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Os {
    Linux,
    Posix,
    Macos,
    Windows,
    Any,
}

impl Os {
    pub(crate) fn is_linux(self) -> bool {
        matches!(self, Self::Linux | Self::Posix | Self::Any)
    }
}

/// What a case does.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Op {
    Lookup,
    LookupPartial,
    Open,
    OpenDir,
    List,
    Stat,
    Lstat,
    ReadLink,
    CreateNew,
    Create,
    CreateTruncate,
    Write,
    Replace,
    Mkdir,
    MkdirAll,
    RemoveFile,
    RemoveDir,
    RemoveAll,
    Rename,
    HardLink,
    Symlink,
    Chmod,
    Chown,
    SetTimes,
    SetXattr,
    MakeFifo,
    MakeBlockDevice,
    MakeCharDevice,
    Run,
    Openat2,
    Openat,
    Raw,
    Landlock,
    Fault,
}

/// How a case does it; each is absent where it does not apply.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Args {
    pub(crate) to: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) flag: Option<RenameFlag>,
    pub(crate) nofollow: bool,
    pub(crate) no_symlinks: bool,
    pub(crate) directory: bool,
    pub(crate) exclusive: bool,
    pub(crate) start: Option<String>,
    pub(crate) threads: Option<usize>,
    pub(crate) paths: Vec<String>,
    pub(crate) ops: Vec<Op>,
    pub(crate) make: Vec<Vec<String>>,
    pub(crate) steps: Vec<String>,
    pub(crate) attacker: Option<Attacker>,
    pub(crate) seconds: Option<u32>,
    pub(crate) repeat: Option<usize>,
    pub(crate) fences: Option<String>,
    pub(crate) inject: Option<String>,
    pub(crate) descriptors: Option<u64>,
    pub(crate) policy: Option<String>,
    pub(crate) call: Option<String>,
    pub(crate) fence_op: Option<Op>,
    #[serde(rename = "do")]
    pub(crate) action: Option<String>,
    pub(crate) handled: Option<String>,
    pub(crate) granted: Option<String>,
    pub(crate) flags: Vec<String>,
    pub(crate) resolve: Vec<String>,
    pub(crate) size: Option<serde_json::Value>,
    pub(crate) tail: Option<String>,
    pub(crate) fd: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) by: Option<String>,
    #[serde(rename = "while")]
    pub(crate) meanwhile: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum RenameFlag {
    NoReplace,
    Exchange,
    Whiteout,
}

/// Somebody who works against the call in a loop.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Attacker {
    Exchange { a: String, b: String },
    Move { from: String, to: String },
}

/// The right answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    pub(crate) ok: Ok,
    #[serde(default)]
    pub(crate) error: Vec<Fault>,
    /// Another outcome that is as good.
    pub(crate) or: Option<Box<Expect>>,
    pub(crate) resolves_to: Option<String>,
    pub(crate) kind: Option<NodeKind>,
    pub(crate) mode: Option<String>,
    pub(crate) value: Option<String>,
    pub(crate) count: Option<usize>,
    pub(crate) complete: Option<bool>,
    pub(crate) deepest: Option<String>,
    pub(crate) remaining: Option<String>,
    pub(crate) stopped_by: Option<Fault>,
    pub(crate) effects: Option<BTreeSet<Effect>>,
    #[serde(default)]
    pub(crate) leaves_root: bool,
    #[serde(default)]
    pub(crate) must: Vec<String>,
    #[serde(default)]
    pub(crate) never: Vec<String>,
    #[serde(default)]
    pub(crate) allowed: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(untagged)]
pub(crate) enum Ok {
    Known(bool),
    Either(Either),
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Either {
    Any,
}

impl Table {
    pub(crate) fn kernel() -> Self {
        Self::parse(include_str!("../cases/kernel.json"))
    }

    pub(crate) fn resolve() -> Self {
        Self::parse(include_str!("../cases/resolve.json"))
    }

    pub(crate) fn attacks() -> Self {
        Self::parse(include_str!("../cases/attacks.json"))
    }

    pub(crate) fn tree(&self, case: &Case) -> &Tree {
        &self.trees[&case.tree]
    }

    pub(crate) fn case(&self, id: &str) -> &Case {
        self.cases.iter().find(|case| case.id == id).unwrap_or_else(|| panic!("no case is {id}"))
    }

    fn parse(text: &str) -> Self {
        serde_json::from_str(text).expect("a case table fits the model")
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, op, path, tree, why, .. } = self;
        write!(f, "{id} {op} {path:?} on {tree} ({why})")
    }
}

impl fmt::Display for Attacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exchange { a, b } => write!(f, "exchanging {a} and {b}"),
            Self::Move { from, to } => write!(f, "moving {from} to {to} and back"),
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let debug = format!("{self:?}");
        for (i, letter) in debug.char_indices() {
            if letter.is_uppercase() && i > 0 {
                f.write_str("_")?;
            }
            write!(f, "{}", letter.to_lowercase())?;
        }
        Ok(())
    }
}

impl Args {
    /// The arguments that are there, by name.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let all = [
            ("to", self.to.is_some()),
            ("text", self.text.is_some()),
            ("mode", self.mode.is_some()),
            ("flag", self.flag.is_some()),
            ("nofollow", self.nofollow),
            ("no_symlinks", self.no_symlinks),
            ("directory", self.directory),
            ("exclusive", self.exclusive),
            ("start", self.start.is_some()),
            ("threads", self.threads.is_some()),
            ("paths", !self.paths.is_empty()),
            ("ops", !self.ops.is_empty()),
            ("make", !self.make.is_empty()),
            ("steps", !self.steps.is_empty()),
            ("attacker", self.attacker.is_some()),
            ("seconds", self.seconds.is_some()),
            ("repeat", self.repeat.is_some()),
            ("fences", self.fences.is_some()),
            ("inject", self.inject.is_some()),
            ("descriptors", self.descriptors.is_some()),
            ("policy", self.policy.is_some()),
            ("call", self.call.is_some()),
            ("fence_op", self.fence_op.is_some()),
            ("do", self.action.is_some()),
            ("handled", self.handled.is_some()),
            ("granted", self.granted.is_some()),
            ("flags", !self.flags.is_empty()),
            ("resolve", !self.resolve.is_empty()),
            ("size", self.size.is_some()),
            ("tail", self.tail.is_some()),
            ("fd", self.fd.is_some()),
            ("name", self.name.is_some()),
            ("value", self.value.is_some()),
            ("by", self.by.is_some()),
            ("while", self.meanwhile.is_some()),
        ];
        all.into_iter().filter_map(|(name, there)| there.then_some(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Either, Expect, Ok, Op, Table};

    fn is_well_formed(expect: &Expect) -> bool {
        let stopped =
            expect.deepest.is_some() && expect.remaining.is_some() && expect.stopped_by.is_some();
        let partial = match expect.complete {
            Some(false) => stopped,
            Some(true) | None => !stopped,
        };
        let error = (expect.ok == Ok::Known(false)) != expect.error.is_empty();
        let texts = [&expect.must, &expect.never, &expect.allowed];
        let judged = expect.ok != Ok::Either(Either::Any) || texts.iter().any(|t| !t.is_empty());
        partial && error && judged && expect.or.as_deref().is_none_or(is_well_formed)
    }

    #[test]
    fn the_tables_are_whole() {
        for (table, rows) in
            [(Table::kernel(), 103), (Table::resolve(), 717), (Table::attacks(), 96)]
        {
            assert!(!table.about.is_empty());
            assert_eq!(table.cases.len(), rows, "{}", table.about);
            let ids: std::collections::BTreeSet<_> = table.cases.iter().map(|c| &c.id).collect();
            assert_eq!(ids.len(), rows, "an id is given twice");
            for case in &table.cases {
                assert!(!table.tree(case).roots.is_empty(), "{case}: {}", table.tree(case).note);
                assert!(!case.group.is_empty() && is_well_formed(&case.expect), "{case}");
                let reads_a_link = case.op == Op::ReadLink && case.expect.ok == Ok::Known(true);
                assert_eq!(case.expect.value.is_some(), reads_a_link, "{case}");
            }
        }
    }
}
