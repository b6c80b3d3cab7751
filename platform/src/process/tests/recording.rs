//! What the kernel records of a command's denials, where audit can be enabled for a moment.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::net::netlink::AUDIT;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{recv, send, socket_with};

use super::super::records::{are_readable, status};
use super::super::*;
use super::support::{bash, on, outcome_of, place, within};

/// `AUDIT_SET`, with `NLM_F_REQUEST` and `NLM_F_ACK`.
const SET: u32 = 1001 | 5 << 16;

/// Audit is enabled for as long as this value lives.
#[derive(Debug)]
struct Enabled {
    restored: bool,
}

impl Enabled {
    /// Nothing where that cannot be, or its records cannot be read.
    fn begin() -> Option<Self> {
        if are_readable() {
            return Some(Self { restored: false });
        }
        let own = Self { restored: set(1).is_ok() };
        are_readable().then_some(own)
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        if self.restored {
            set(0).expect("audit was enabled by the same call");
        }
    }
}

/// Writes `struct audit_status`, of which only whether it is enabled counts.
fn set(enabled: u32) -> rustix::io::Result<()> {
    let family = AddressFamily::NETLINK;
    let socket: OwnedFd = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, Some(AUDIT))?;
    let words = [60, SET, 1, 0, 1, enabled].into_iter().chain([0; 9]);
    let request: Vec<u8> = words.flat_map(u32::to_ne_bytes).collect();
    send(&socket, &request, SendFlags::empty())?;
    let mut answer = [0; 64];
    recv(&socket, &mut answer, RecvFlags::empty())?;
    let errno = i32::from_ne_bytes(answer[16..20].try_into().unwrap());
    if errno == 0 { Ok(()) } else { Err(rustix::io::Errno::from_raw_os_error(-errno)) }
}

#[test]
fn what_the_kernel_has_denied_to_a_command_is_told_and_nothing_of_another() {
    let Some(_enabled) = Enabled::begin() else {
        return eprintln!("ringfence: left out: audit cannot be enabled here, or not be read");
    };
    on(Runner::Landlock, |on| {
        let before = status().map(|status| status.lost);
        let place = place();
        let file = place.outside.join("a file");
        std::fs::write(&file, "").unwrap();
        let spawn = |script, outside: &Path| {
            on.spawn(bash(script, &[&place.inside, outside]), within(&[&place.inside]))
        };
        let busy = "read -r _ <<<x; mkdir \"$2/new\"; : >\"$1/granted\"; echo x >>\"$2/a file\"; :";
        let mut first = spawn(busy, &place.outside);
        let mut other = spawn("touch \"$2/new\"; :", place.base.path());
        let mut quiet = spawn(": >\"$1/granted\"; cat /dev/null >/dev/null", &place.outside);
        for child in [&mut first, &mut other, &mut quiet] {
            assert_eq!(outcome_of(child).ended, Ended::Exited(0));
        }
        let told = |child: &mut Child| {
            let denials = child.denials().into_iter();
            denials.map(|denial| (denial.path, denial.rights)).collect::<Vec<_>>()
        };
        let [first_told, other_told, quiet_told] =
            [told(&mut first), told(&mut other), told(&mut quiet)];
        if status().map(|status| status.lost) != before {
            return eprintln!("ringfence: left out: records were lost");
        }
        let expected = [(place.outside.clone(), "fs.make_dir"), (file, "fs.write_file")];
        assert_eq!(first_told, expected.map(|(path, right)| (path, right.to_owned())));
        let expected = (place.base.path().to_owned(), "fs.make_reg".to_owned());
        assert_eq!(other_told, [expected]);
        assert_eq!(quiet_told, []);
        assert_eq!(told(&mut first), [], "it is asked once");
    });
}
