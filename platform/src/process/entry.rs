//! How a command begins among the mounts that bubblewrap has made: a shell sees that what is at each
//! path is what was opened, says so, and becomes the command.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;

use super::command::Streams;
use super::handover::file_of;
use super::spawn::{Image, SHELL, Started};
use crate::stat::FileId;

/// Longer than any host takes to mount what is mounted.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most that is told of what the runner wrote.
const MOST_TOLD: usize = 300;

/// Descriptors: 3 the options of bubblewrap, 4 paths, 5 what is to be at each, 6 the word, 7 who the
/// first process is, 8 what is exported last, 9 the command's own standard error. The word is written
/// only while somebody is there to read it, and by then all is tied to that process's life: the first
/// process, the last to be, waits for its children.
const PRELUDE: &str = r#"
PATH=/usr/bin:/bin
found=$(xargs -0 stat -c %d:%i -- <&4 2>/dev/null)
[ -n "$found" ] && [ "$found" = "$(cat <&5)" ] || {
  echo 'a directory is not at its path as it was opened' >&2
  exit 1
}
until read -r id name state rest </proc/1/stat && [ "$state" = S ]; do :; done
printf . >&6 || exit 1
exec 2>&9 4<&- 5<&- 6>&- 7>&- 9>&-
unset PWD OLDPWD SHLVL
while IFS= read -r pair; do export "$pair"; done <&8
exec 8<&-
exec "$@"
"#;

/// Becomes its arguments. For a program that env(1) would take for a part of the environment.
const BECOME: &str = "exec \"$@\"";

/// The command line of bubblewrap, which everybody can read: options from descriptor 3, and then the
/// shell. `odd` stands before the program.
pub(super) fn words(odd: Vec<OsString>, image: &Image) -> Vec<OsString> {
    let options = ["--args", "3", "--info-fd", "7", "--", SHELL, "-c", PRELUDE, "sh"];
    let is_like_a_pair = !odd.is_empty() && image.program().contains(&b'=');
    let become_it = is_like_a_pair.then_some([SHELL, "-c", BECOME, "sh"]);
    let mut words: Vec<OsString> = options.map(OsString::from).to_vec();
    words.extend(odd);
    words.extend(become_it.into_iter().flatten().map(OsString::from));
    words.extend(image.words());
    words
}

/// What bubblewrap and the shell are given, and what they say.
#[derive(Debug)]
pub(super) struct Entry {
    options: OwnedFd,
    paths: OwnedFd,
    wanted: OwnedFd,
    late: OwnedFd,
    word: Pipe,
    info: Pipe,
    errors: Pipe,
}

#[derive(Debug)]
struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
}

/// What they say, on this side.
#[derive(Debug)]
pub(super) struct Said {
    word: OwnedFd,
    info: OwnedFd,
    errors: OwnedFd,
}

impl Entry {
    /// Gives bubblewrap these options, and has it seen that `pinned` are where they are said to be.
    /// `late` is exported last.
    pub(super) fn new<'p>(
        options: impl IntoIterator<Item = OsString>,
        late: OwnedFd,
        pinned: impl IntoIterator<Item = (&'p Path, FileId)>,
    ) -> io::Result<Self> {
        let (mut paths, mut wanted) = (Vec::new(), String::new());
        for (path, FileId { dev, ino }) in pinned {
            paths.push(path.into());
            wanted.push_str(&format!("{dev}:{ino}\n"));
        }
        Ok(Self {
            options: file_of(&terminated(options))?,
            paths: file_of(&terminated(paths))?,
            wanted: file_of(wanted.as_bytes())?,
            late,
            word: Pipe::new()?,
            info: Pipe::new()?,
            errors: Pipe::new()?,
        })
    }

    /// Starts bubblewrap.
    pub(super) fn begin(self, bwrap: &Image, streams: Streams) -> io::Result<(Started, Said)> {
        let Self { options, paths, wanted, late, word, info, errors } = self;
        let extra = [&options, &paths, &wanted, &word.write, &info.write, &late].map(AsFd::as_fd);
        let started = bwrap.spawn_apart(streams, &extra, errors.write.as_fd())?;
        Ok((started, Said { word: word.read, info: info.read, errors: errors.read }))
    }
}

impl Said {
    /// Waits until the command is about to be executed. Gives the first process of its namespace.
    ///
    /// # Errors
    ///
    /// With what was written on it, if it did not come to that.
    pub(super) fn wait(self) -> io::Result<Pid> {
        let patience = Timespec::try_from(PATIENCE).expect("a few seconds");
        let mut word = [PollFd::new(&self.word, PollFlags::IN)];
        let has_come = loop {
            match poll(&mut word, Some(&patience)) {
                Ok(ready) => break ready == 1,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        };
        if !has_come {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "bubblewrap takes too long"));
        }
        if File::from(self.word).read(&mut [0])? == 0 {
            return Err(io::Error::other(told(self.errors)?));
        }
        first_of(&now_in(self.info)?)
            .ok_or_else(|| io::Error::other("bubblewrap does not say who its first process is"))
    }
}

impl Pipe {
    fn new() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self { read, write })
    }
}

/// What it says of itself, before anything runs: JSON with the number out here.
fn first_of(info: &str) -> Option<Pid> {
    let (_, number) = info.split_once("\"child-pid\":")?;
    let number = number.trim_start();
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    Pid::from_raw(number[..end].parse().ok()?)
}

/// Why it has failed, in its own words.
fn told(errors: OwnedFd) -> io::Result<String> {
    let text = now_in(errors)?;
    let text = text.trim();
    Ok(match text.char_indices().nth(MOST_TOLD) {
        _ if text.is_empty() => "bubblewrap has ended without a word".to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    })
}

/// What can be read at once.
fn now_in(pipe: OwnedFd) -> io::Result<String> {
    ioctl_fionbio(&pipe, true)?;
    let mut bytes = vec![0; 4096];
    let length = match File::from(pipe).read(&mut bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        read => read?,
    };
    Ok(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

fn terminated(words: impl IntoIterator<Item = OsString>) -> Vec<u8> {
    let bytes = words.into_iter().map(OsString::into_encoded_bytes);
    bytes.flat_map(|word| [word, vec![0]].concat()).collect()
}
