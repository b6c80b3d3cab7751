//! What the policy in force is, where it lets be written, and what holds it.

use std::path::{Path, PathBuf};

use ringfence::{
    Area, CommandPolicy, EffectivePolicy, Gap, Mode, PassedOver, ProtectedPlace, RunnerSet,
    Session, ShellGap, spelled,
};
use serde_json::{Map, Value, json};

use super::Failure;
use super::render::{Renderer, print, tokens};

/// Prints all of it.
pub(super) fn run(session: &Session, renderer: Renderer) -> Result<(), Failure> {
    let policy = session.effective_policy()?;
    if renderer.json { renderer.object(object(&policy)) } else { print(text(&policy).as_bytes()) }
}

fn text(policy: &EffectivePolicy) -> String {
    let EffectivePolicy { mode, approvals, workspace, required, proven, commands, .. } = policy;
    let mut lines = vec![("mode", mode.to_string()), ("approvals", approvals.to_string())];
    lines.push(("workspace", format!("{workspace:?}")));
    match mode {
        Mode::ReadOnly => lines.push(("writable", "nothing".to_owned())),
        Mode::DangerFullAccess => lines.push(("writable", "everything".to_owned())),
        Mode::WorkspaceWrite => {
            lines.extend(policy.areas.iter().map(|area| ("writable", located(area))));
        }
    }
    lines.extend(policy.protected.iter().map(|ProtectedPlace { path, is_there, .. }| {
        ("protected", format!("{path:?}{}", if *is_there { "" } else { " (missing)" }))
    }));
    let level = proven.as_ref().map_or("none".to_owned(), |proven| proven.level.to_string());
    lines.push(("boundary", format!("{level}; required: {required}")));
    let gaps = proven.as_ref().map(|proven| tokens(&proven.gaps)).unwrap_or_default();
    lines.extend((!gaps.is_empty()).then_some(("gaps", gaps)));
    lines.push(("durability", policy.durability.to_string()));
    lines.push(("texts", format!("at most {} bytes", policy.max_text_bytes)));
    let head: String =
        lines.into_iter().map(|(what, value)| format!("{what:<11}{value}\n")).collect();
    head + &of_commands(commands)
}

fn located(Area { path, identity, role, within, .. }: &Area) -> String {
    match within {
        Some(root) => format!("{path:?} ({role}, {identity}, within {root:?})"),
        None => format!("{path:?} ({role}, {identity})"),
    }
}

fn of_commands(commands: &CommandPolicy) -> String {
    let CommandPolicy { required, protect_metadata, limits, devices, runners, taken, .. } =
        commands;
    let metadata = if *protect_metadata { "asked to be held" } else { "not asked to be held" };
    let mut text = format!(
        "\ncommands   required: {required}; metadata elsewhere: {metadata}\n\
         limits     {:?}, at most {:?}, {:?} to end; {} bytes kept, {} in a file\n\
         devices    {}\n",
        limits.timeout,
        limits.max_timeout,
        limits.grace,
        limits.max_output_bytes,
        limits.max_spill_bytes,
        quoted(devices),
    );
    for runner in runners {
        match runner {
            Ok(RunnerSet { held, roots, read_only, .. }) => {
                let is_taken = *taken == Some(held.runner);
                let head = format!("\nrunner {}", held.runner);
                let line = format!("{head:<21}{:<11}{}", held.enforcement(), tokens(&held.gaps));
                text += line.trim_end();
                text += if is_taken { "  (taken)\n" } else { "\n" };
                text += &format!("  writable   {}\n", or_nothing(quoted(roots)));
                text += &format!("  read-only  {}\n", or_nothing(quoted(read_only)));
                text += &format!("  not held   {}\n", tokens(&held.not_covered));
            }
            Err(PassedOver { runner, why, .. }) => {
                let head = format!("\nrunner {runner}");
                text += &format!("{head:<21}-          {why}\n");
            }
        }
    }
    text
}

fn quoted(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("{path:?}")).collect::<Vec<_>>().join(", ")
}

fn or_nothing(list: String) -> String {
    if list.is_empty() { "nothing".to_owned() } else { list }
}

fn object(policy: &EffectivePolicy) -> Map<String, Value> {
    let areas = policy.areas.iter().map(|Area { path, identity, role, within, .. }| {
        let mut object = at(path);
        object.insert("identity".into(), identity.to_string().into());
        object.insert("role".into(), role.to_string().into());
        match within {
            Some(root) => object.extend(spelled("within", root.as_os_str().as_encoded_bytes())),
            None => object.extend([("within".to_owned(), Value::Null)]),
        }
        Value::from(object)
    });
    let protected = policy.protected.iter().map(|ProtectedPlace { path, is_there, .. }| {
        let mut object = at(path);
        object.insert("present".into(), (*is_there).into());
        Value::from(object)
    });
    let proven = policy.proven.as_ref().map(|proven| {
        json!({
            "level": proven.level.to_string(),
            "resolution": proven.resolution.to_string(),
            "confinement": proven.confinement.to_string(),
            "gaps": proven.gaps.iter().map(Gap::to_string).collect::<Vec<_>>(),
        })
    });
    let mut object = spelled("workspace", policy.workspace.as_os_str().as_encoded_bytes());
    let fields = [
        ("mode", Value::from(policy.mode.as_str())),
        ("approvals", policy.approvals.to_string().into()),
        ("areas", areas.collect()),
        ("protected", protected.collect()),
        ("required_level", policy.required.to_string().into()),
        ("proven", json!(proven)),
        ("durability", policy.durability.to_string().into()),
        ("max_text_bytes", policy.max_text_bytes.into()),
        ("commands", commands_object(&policy.commands)),
    ];
    object.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    object
}

fn commands_object(commands: &CommandPolicy) -> Value {
    let CommandPolicy { required, protect_metadata, limits, devices, runners, taken, .. } =
        commands;
    let runners = runners.iter().map(|runner| match runner {
        Ok(RunnerSet { held, roots, read_only, .. }) => json!({
            "runner": held.runner.to_string(),
            "enforcement": held.enforcement().to_string(),
            "gaps": held.gaps.iter().map(ShellGap::to_string).collect::<Vec<_>>(),
            "not_covered": held.not_covered.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "roots": each(roots),
            "read_only": each(read_only),
        }),
        Err(PassedOver { runner, cause, why, .. }) => json!({
            "runner": runner.to_string(),
            "enforcement": null,
            "lacks": cause.to_string(),
            "error": why,
        }),
    });
    json!({
        "required_enforcement": required.to_string(),
        "protect_metadata": protect_metadata,
        "timeout_ms": limits.timeout.as_millis() as u64,
        "max_timeout_ms": limits.max_timeout.as_millis() as u64,
        "grace_ms": limits.grace.as_millis() as u64,
        "max_output_bytes": limits.max_output_bytes,
        "max_spill_bytes": limits.max_spill_bytes,
        "devices": each(devices),
        "runners": runners.collect::<Value>(),
        "taken": taken.map(|runner| runner.to_string()),
    })
}

fn at(path: &Path) -> Map<String, Value> {
    spelled("path", path.as_os_str().as_encoded_bytes())
}

fn each(paths: &[PathBuf]) -> Value {
    paths.iter().map(|path| Value::from(at(path))).collect()
}
