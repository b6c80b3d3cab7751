//! Where calls act, if the client says it.

use super::*;
use crate::support::{dir, link};

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn answer(client: &mut Client, roots: &[String]) {
    let asked = client.told("roots/list");
    let roots: Vec<_> = roots.iter().map(|uri| json!({ "uri": uri, "name": "a" })).collect();
    client.reply(&asked, json!({ "roots": roots }));
}

/// A client that has named its roots.
fn client(stage: &Stage, roots: &[String], options: &[&str]) -> Client {
    let options = [&["--mode", "workspace-write"], options].concat();
    let mut client =
        Client::ready_with(stage, json!({ "roots": { "listChanged": true } }), &options);
    answer(&mut client, roots);
    client
}

/// Where a file comes to be that has no directory in its name.
#[track_caller]
fn acts_in(client: &mut Client, place: &Path) {
    let made = client.done("write", json!({ "file_path": "made", "content": "" }));
    assert_eq!(made["path"], json!(place.join("made")));
    std::fs::remove_file(place.join("made")).unwrap();
}

#[track_caller]
fn acts_nowhere(client: &mut Client) -> String {
    let refused = client.call("write", json!({ "file_path": "made", "content": "" }));
    assert_eq!(code(&refused), "SANDBOX_UNAVAILABLE");
    assert_eq!(client.code("read", json!({ "file_path": "f" })), "SANDBOX_UNAVAILABLE");
    text(&refused).to_owned()
}

#[test]
fn calls_act_in_the_first_root_that_is_allowed() {
    let entries = [file("f", ""), dir("d e"), link("in", "d e"), link("out", "../out")];
    let stage = Stage::new(&Tree::inside(entries).outside([dir("out"), link("back", "$ROOT/d e")]));
    let (root, out) = (stage.root(), stage.base().join("out"));
    let inner = root.join("d e");
    let encoded = format!("file://localhost{}/d%20e/", root.display());
    for (roots, place) in [
        (vec![], root),
        (vec![uri(root)], root),
        (vec![encoded], &*inner),
        (vec![uri(&root.join("in"))], &*inner),
        (vec![uri(&stage.base().join("back"))], &*inner),
        (vec![uri(&out), uri(&inner), uri(root)], &*inner),
    ] {
        let mut client = client(&stage, &roots, &[]);
        acts_in(&mut client, place);
        let outside = json!({ "file_path": stage.base().join("x"), "content": "" });
        assert_eq!(client.code("write", outside), "FS_SANDBOX_DENIED", "{roots:?}");
    }
    let mut one = client(&stage, &[uri(&inner)], &[]);
    let above = json!({ "file_path": root.join("x"), "content": "" });
    assert_eq!(one.code("write", above), "FS_SANDBOX_DENIED", "a root narrows");

    for path in [stage.base(), &out, &root.join("out"), &root.join("f"), &root.join("none")] {
        let mut client = client(&stage, &[uri(path)], &[]);
        let told = acts_nowhere(&mut client);
        assert!(told.contains(&uri(path)), "{told}");
    }
    for uri in ["https://localhost/", "", "file://elsewhere/"] {
        acts_nowhere(&mut client(&stage, &[uri.to_owned()], &[]));
    }
    let allowed = ["--allow-root", out.to_str().unwrap()];
    acts_in(&mut client(&stage, &[uri(&out)], &allowed), &out);
    acts_nowhere(&mut client(&stage, &[uri(stage.base())], &allowed));
}

#[test]
fn what_is_allowed_is_the_directory_and_not_what_its_name_leads_to_later() {
    let stage = stage();
    let (allowed, out) = (stage.base().join("allowed"), stage.base().join("out"));
    std::fs::create_dir(&allowed).unwrap();
    let options = ["--allow-root", allowed.to_str().unwrap()];
    let mut client = client(&stage, &[uri(stage.root())], &options);
    acts_in(&mut client, stage.root());
    std::fs::remove_dir(&allowed).unwrap();
    std::os::unix::fs::symlink(&out, &allowed).unwrap();
    client.tell("notifications/roots/list_changed", json!({}));
    answer(&mut client, &[uri(&allowed)]);
    acts_nowhere(&mut client);
}

#[test]
fn a_client_that_has_no_say_is_not_asked() {
    let stage = stage();
    let options = ["--mode", "workspace-write", "--ignore-roots"];
    let mut client = Client::ready_with(&stage, json!({ "roots": {} }), &options);
    acts_in(&mut client, stage.root());
}

#[test]
fn a_call_waits_for_the_roots_that_were_asked_for() {
    let stage = stage();
    let mut client = Client::ready(&stage, json!({ "roots": { "listChanged": true } }));
    let id = client.begin("write", json!({ "file_path": "made", "content": "" }));
    let place = stage.root().join("d");
    answer(&mut client, &[uri(&place)]);
    assert_eq!(client.answer(id)["result"]["isError"], false);
    assert!(place.join("made").exists());

    // And for those that are asked for anew.
    client.tell("notifications/roots/list_changed", json!({}));
    let id = client.begin("write", json!({ "file_path": "other", "content": "" }));
    answer(&mut client, &[]);
    assert_eq!(client.answer(id)["result"]["isError"], false);
    assert!(stage.root().join("other").exists());
}

#[test]
fn another_root_is_another_session() {
    let stage = stage();
    let pipe = Pipe::new(&stage);
    let place = stage.root().join("d");
    let mut client = client(&stage, &[uri(stage.root())], &["--background"]);
    client.done("read", json!({ "file_path": "d/g" }));
    let background = json!({
        "command": "exec 9> pipe; sleep 1000", "description": "a test", "run_in_background": true,
    });
    let job = client.done("bash", background)["job"].take();
    let held = pipe.held();
    let running = client.run("exec 9> pipe; echo begun; sleep 1000");
    client.told("notifications/progress");

    // The same root by another name is the same session.
    client.tell("notifications/roots/list_changed", json!({}));
    answer(&mut client, &[uri(&place.join(".."))]);
    assert_eq!(client.done("bash_output", json!({ "job": job }))["kind"], "running");

    client.tell("notifications/roots/list_changed", json!({}));
    answer(&mut client, &[uri(&place)]);
    client.answer(running);
    held.released();
    let edit = json!({ "file_path": "g", "old_string": "g", "new_string": "h" });
    assert_eq!(client.code("edit", edit), "FS_NOT_OBSERVED", "what was read is forgotten");
    assert!(client.call("bash_output", json!({ "job": job }))["isError"].as_bool().unwrap());

    client.tell("notifications/roots/list_changed", json!({}));
    answer(&mut client, &[uri(stage.base())]);
    acts_nowhere(&mut client);
    client.tell("notifications/roots/list_changed", json!({}));
    answer(&mut client, &[uri(&place)]);
    acts_in(&mut client, &place);
}

#[test]
fn a_client_that_does_not_say_its_roots_acts_nowhere() {
    let stage = stage();
    for result in [json!({ "roots": "all" }), json!({}), json!(null)] {
        let mut client = Client::ready(&stage, json!({ "roots": {} }));
        let asked = client.told("roots/list");
        client.reply(&asked, result);
        acts_nowhere(&mut client);
    }
    let mut client = Client::ready(&stage, json!({ "roots": {} }));
    let asked = client.told("roots/list");
    let error = json!({ "code": -32601, "message": "none" });
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "error": error }));
    acts_nowhere(&mut client);
}
