//! What would come of an operation, and why.

use std::path::Path;

use ringfence::{Rule, Session, Verdict, Why, spelled};
use serde_json::{Map, Value, json};

use super::Failure;
use super::args::AskedOp;
use super::render::{Renderer, print};

/// What only the call itself can tell.
const FORECAST: &str = "this is a forecast: the call looks again, and it alone can tell whether \
                        others were faster or space runs out";

/// Prints what would come of `op` at `path`. That is done whatever the answer is.
pub(super) fn run(
    session: &Session,
    op: AskedOp,
    path: &Path,
    renderer: Renderer,
) -> Result<(), Failure> {
    let why = session.why(op.into(), path)?;
    if renderer.json { renderer.object(object(&why)) } else { print(text(&why).as_bytes()) }
}

fn text(why: &Why) -> String {
    let Why { op, path, mode, verdict, rule, error, place, root, led_out_by, level, .. } = why;
    let quoted = |path: &Path| format!("{path:?}");
    let mut lines = vec![("verdict", told(*verdict)), ("asked", format!("{op} {path:?}"))];
    lines.push(("mode", mode.to_string()));
    lines.push(("rule", format!("{rule}: {}", meaning(why))));
    lines.extend(error.clone().map(|error| ("error", error)));
    lines.extend(place.as_deref().map(|place| ("place", quoted(place))));
    lines.extend(root.as_deref().map(|root| ("beneath", quoted(root))));
    lines.extend(led_out_by.as_deref().map(|link| ("led out", quoted(link))));
    lines.extend(level.map(|level| ("boundary", level.to_string())));
    if let Some((mode, verdict)) = why.narrowest {
        lines.push(("suffices", format!("--mode {mode}, where it is {}", told(verdict))));
    }
    let mut text: String =
        lines.into_iter().map(|(what, value)| format!("{what:<11}{value}\n")).collect();
    if why.is_forecast() {
        text += &format!("\n{FORECAST}\n");
    }
    text
}

fn told(verdict: Verdict) -> String {
    match verdict {
        Verdict::Fails { code, reason: Some(reason) } => {
            format!("{verdict} with {code} ({reason})")
        }
        Verdict::Fails { code, reason: None } => format!("{verdict} with {code}"),
        Verdict::Allowed | Verdict::Denied | _ => verdict.to_string(),
    }
}

/// The rule in words.
fn meaning(why: &Why) -> &'static str {
    match (why.rule, why.verdict) {
        (Rule::Reading, _) => "every mode lets be read what the host lets be read",
        (Rule::Mode, Verdict::Allowed) => "the mode has no boundary, and the host allows it",
        (Rule::Mode, _) => "the mode allows no change",
        (Rule::Containment, Verdict::Allowed) => "a writable root contains the place",
        (Rule::Containment, _) => "no writable root contains the place, or it is one itself",
        (Rule::Protected, _) => "the place is protected, or on the way to a protected one",
        (Rule::HostPermission, _) => {
            "the host does not permit it to this user; a wider mode would not help"
        }
        (Rule::Kind, _) => "what is there is of another kind",
        (Rule::Existence, _) => "something is missing that has to be there, or there that must not",
        (Rule::Path, _) => "the path can name nothing, or leads in circles",
        (Rule::Size, _) => "it is larger than a text may be",
        (Rule::System | _, _) => "the system fails it",
    }
}

fn object(why: &Why) -> Map<String, Value> {
    let mut object = spelled("path", why.path.as_os_str().as_encoded_bytes());
    let fields = [
        ("operation", Value::from(why.op.to_string())),
        ("mode", why.mode.as_str().into()),
        ("rule", why.rule.to_string().into()),
        ("error", json!(why.error)),
        ("enforcement", json!(why.level.map(|level| level.to_string()))),
        ("forecast", why.is_forecast().into()),
    ];
    object.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    object.extend(judged(why.verdict));
    for (key, path) in [("place", &why.place), ("root", &why.root), ("led_out_by", &why.led_out_by)]
    {
        match path {
            Some(path) => object.extend(spelled(key, path.as_os_str().as_encoded_bytes())),
            None => object.extend([(key.to_owned(), Value::Null)]),
        }
    }
    let narrowest = why.narrowest.map(|(mode, verdict)| {
        let mut there = judged(verdict);
        there.insert("mode".into(), mode.as_str().into());
        there
    });
    object.insert("narrowest".into(), json!(narrowest));
    object
}

fn judged(verdict: Verdict) -> Map<String, Value> {
    let mut object = Map::new();
    object.insert("verdict".into(), verdict.to_string().into());
    if let Verdict::Fails { code, reason } = verdict {
        object.insert("code".into(), code.as_str().into());
        object.extend(reason.map(|reason| ("reason".to_owned(), reason.to_string().into())));
    }
    object
}
