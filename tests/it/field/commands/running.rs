//! What a command runs with: a network, and no secrets.

use std::time::Duration;

use ringfence::{Ending, Exec, Run, Runner, Settings, TempAreas};

use super::{session, stage};
use crate::actor::{self, Actor};
use crate::shell::{run, runs, service, stderr, stdout, usable, within};
use crate::support::{say, this_test};

/// A server that is left running, says who it is, and is asked once.
const SERVER: &str = "perl -MIO::Socket::INET -e '
    my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => \"127.0.0.1\") or die $!;
    open(my $f, \">\", \"port\") or die $!; print $f $s->sockport, \"\\n\"; close $f;
    rename(\"port\", \"ready\"); while (my $c = $s->accept) { print $c \"hello\\n\"; close $c }
    ' >/dev/null 2>&1 & echo $!; until test -e ready; do kill -0 $! || exit 9; done; \
    exec 3<>/dev/tcp/127.0.0.1/$(cat ready); cat <&3";

#[test]
fn a_server_is_reached_in_its_own_command_and_is_gone_with_it() {
    for runner in usable() {
        let stage = stage();
        let session = session(&stage, runner);
        if run(&session, "perl -MIO::Socket::INET -e 1").ending != Ending::Exited(0) {
            return say(format_args!("left out: a server: there is no perl for it"));
        }
        let limit = Duration::from_secs(20);
        let ran = session.run(Run::new(SERVER).timeout(limit)).unwrap();
        assert_eq!(ran.ending, Ending::Exited(0), "{runner}: {}", stderr(&ran));
        let (server, said) = stdout(&ran).split_once('\n').unwrap();
        assert_eq!(said, "hello\n", "{runner}");
        // Its number is one in there, where processes have numbers of their own.
        if runner == Runner::Landlock {
            within(Duration::from_secs(1), || !runs(server), "it is left");
        }
        let told = session.explain(&Exec::new(["true"])).unwrap();
        assert_eq!(told.network, ringfence::Network::Shared, "that it has one is told");
        let port = std::fs::read_to_string(stage.root().join("ready")).unwrap();
        let address = format!("127.0.0.1:{}", port.trim());
        within(
            Duration::from_secs(1),
            || std::net::TcpStream::connect(&address).is_err(),
            "it answers still",
        );
    }
}

const SECRETS: [&str; 8] = [
    "X_TOKEN",
    "API_KEY",
    "DB_PASSWORD",
    "MY_SECRET",
    "x_token",
    "api_key",
    "db_password",
    "my_secret",
];

#[test]
fn what_looks_like_a_secret_is_not_in_the_environment_of_a_command() {
    let test = this_test!();
    if let Some((_, words)) = actor::part() {
        for runner in usable() {
            let settings = Settings::default().workspace(&words[0]).temps(TempAreas::none());
            let session = service(settings.runner(runner)).session().open().unwrap();
            let ran = session.run(Run::new("env").env("OWN_TOKEN", "given")).unwrap();
            let text = stdout(&ran);
            let has = |name: &str| text.lines().any(|line| line.starts_with(&format!("{name}=")));
            assert!(!SECRETS.iter().any(|name| has(name)), "{runner}: {text}");
            assert_eq!(["PATH", "HOME", "OWN_TOKEN", "LEFT"].map(has), [true; 4], "{text}");
        }
        return actor::tell("done");
    }
    let stage = stage();
    let mut command = std::process::Command::new("env");
    command.args(SECRETS.map(|name| format!("{name}=secret"))).args(["HOME=/", "LEFT=x"]);
    command.arg(std::env::current_exe().unwrap());
    let actor = Actor::start_by(command, test, "look", &[stage.root().to_str().unwrap()]);
    assert_eq!(actor.end().as_deref(), Some("done"));
}
