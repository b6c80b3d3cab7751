//! Texts that are read piece by piece, and bytes that are read up to a limit.

use std::io::{Read as _, Write as _};

use ringfence::{
    Code, Error, Follow, Kind, NotText, Outcome, Request, Session, Snapshot, Text, TextStream,
    Unread, Version, WriteIntent,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::effort::rounds;
use crate::support::{
    Stage, Tree, each_session_on, file, in_own_process, link, offered, session_in, this_test,
};

/// How much is read at a time.
const PIECE: usize = 64 * 1024;
/// How much of a file's start must be without a NUL.
const PROBED: usize = 8_192;

fn open(session: &Session, path: &str) -> Snapshot {
    let outcome = session.perform(Request::Read { path: path.into() }).unwrap();
    let Outcome::Opened { snapshot, .. } = outcome else { panic!("{outcome:?}") };
    snapshot
}

fn read(session: &Session, path: &str) -> Result<Text, Code> {
    match session.perform(Request::ReadText { path: path.into() }) {
        Ok(Outcome::Text { text, .. }) => Ok(text),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.code()),
    }
}

fn in_pieces(session: &Session, path: &str) -> TextStream {
    let outcome = session.perform(Request::StreamText { path: path.into() }).unwrap();
    let Outcome::Stream { stream, .. } = outcome else { panic!("{outcome:?}") };
    stream
}

fn read_bytes(session: &Session, path: &str, most: u64) -> Result<(Vec<u8>, Version), Error> {
    let outcome = session.perform(Request::ReadBytes { path: path.into(), most })?;
    let Outcome::Bytes { bytes, version, .. } = outcome else { panic!("{outcome:?}") };
    Ok((bytes, version))
}

/// All of it, and then the stream, which has nothing more.
fn all(mut stream: TextStream) -> (Result<String, Unread>, TextStream) {
    assert!(stream.version().is_none(), "nothing has been read");
    let text = stream.by_ref().inspect(|piece| assert!(!matches!(piece, Ok(p) if p.is_empty())));
    let text = text.collect();
    assert!(stream.next().is_none() && stream.next().is_none(), "it has ended");
    (text, stream)
}

fn write(session: &Session, path: &str, new: &str, intent: WriteIntent) -> Result<Version, Code> {
    let (path, text) = (path.into(), new.into());
    match session.perform(Request::WriteText { path, text, intent }) {
        Ok(Outcome::Written { version, .. }) => Ok(version),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.code()),
    }
}

fn replace(session: &Session, path: &str, new: &str, seen: &Version) -> Result<(), Code> {
    write(session, path, new, WriteIntent::ReplaceIfVersion(seen.clone())).map(drop)
}

#[test]
fn no_char_is_cut_wherever_a_piece_ends() {
    each_session_on(&Tree::inside([file("f", "")]), |stage, session| {
        let path = stage.root().join("f");
        for shift in 0..4 {
            for bom in ["", "\u{feff}"] {
                let chars = "é\r\n😀€\r".repeat(3 * PIECE / 15);
                let text = format!("{}{chars}", "a".repeat(shift));
                std::fs::write(&path, format!("{bom}{text}")).unwrap();
                let (streamed, stream) = all(in_pieces(session, "f"));
                assert!(streamed.unwrap() == text, "shifted by {shift}");
                assert_eq!(stream.bom(), !bom.is_empty());
                let version = stream.version().expect("all has been read").clone();
                assert_eq!(replace(session, "f", "new", &version), Ok(()));
                assert_eq!(replace(session, "f", "newer", &version), Err(Code::FsStaleVersion));
            }
        }
    });
}

/// Files with the edges of what is text.
fn edges() -> Vec<Vec<u8>> {
    let at = |at: usize, what: &[u8]| [&vec![b'a'; at], what].concat();
    let mut all: Vec<Vec<u8>> = [
        &b""[..],
        b"a",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf\xef\xbb\xbfa",
        b"\xef\xbb",
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"caf\xe9",
        b"\xff\xfea\0",
        b"\0",
    ]
    .map(<[u8]>::to_vec)
    .into();
    all.extend([PROBED - 1, PROBED, PIECE].map(|place| at(place, b"\0")));
    for place in PIECE - 4..PIECE + 1 {
        for bytes in ["😀".as_bytes(), b"\xf0\x9f\x98", b"\xf0\x9f\x98a", b"\xff", b"\xf0\x9f\xff"]
        {
            all.push(at(place, bytes));
            all.push([at(place, bytes), vec![b'b'; PIECE]].concat());
        }
    }
    all
}

#[test]
fn what_is_text_does_not_depend_on_how_it_is_read() {
    each_session_on(&Tree::inside([file("f", "")]), |stage, session| {
        for bytes in edges() {
            std::fs::write(stage.root().join("f"), &bytes).unwrap();
            let shown = || format!("{} bytes, {:?}", bytes.len(), bytes.escape_ascii().last());
            let (streamed, stream) = all(in_pieces(session, "f"));
            match (read(session, "f"), streamed) {
                (Ok(whole), Ok(text)) => {
                    assert!(whole.text == text, "{}", shown());
                    assert_eq!((whole.bom, stream.version().is_some()), (stream.bom(), true));
                }
                (Err(Code::FsNotText), Err(Unread::NotText(why))) => {
                    let has_nul = bytes.iter().take(PROBED).any(|&byte| byte == 0);
                    let expected = if has_nul { NotText::Nul } else { NotText::Encoding };
                    assert_eq!((why, stream.version()), (expected, None), "{}", shown());
                }
                (whole, streamed) => {
                    panic!("{}: {:?}, {:?}", shown(), whole.is_ok(), streamed.is_ok());
                }
            }
        }
    });
}

#[test]
fn a_file_that_changes_while_it_is_streamed_is_of_no_version_that_is_replaced() {
    each_session_on(&Tree::inside([file("f", "")]), |stage, session| {
        let path = stage.root().join("f");
        let text = "line\n".repeat(PIECE);
        std::fs::write(&path, &text).unwrap();
        let mut stream = in_pieces(session, "f");
        let first = stream.next().unwrap().unwrap();
        let mut log = std::fs::File::options().append(true).open(&path).unwrap();
        log.write_all(b"line\n").unwrap();
        let rest: String = stream.by_ref().map(Result::unwrap).collect();
        assert!(first + &rest == text + "line\n");
        let version = stream.version().unwrap().clone();
        assert_eq!(replace(session, "f", "new", &version), Err(Code::FsStaleVersion));
    });
}

#[test]
fn a_file_of_proc_is_read_to_its_end_though_it_has_no_size() {
    each_session_on(&Tree::inside([]), |_, session| {
        let path = "/proc/self/mountinfo";
        assert_eq!(open(session, path).stamp.size(), 0);
        let (streamed, stream) = all(in_pieces(session, path));
        assert_eq!(streamed.unwrap(), std::fs::read_to_string(path).unwrap());
        assert!(stream.version().is_some());
        let (bytes, _) = read_bytes(session, path, 1 << 20).unwrap();
        assert_eq!(bytes, std::fs::read(path).unwrap());
    });
}

#[test]
fn bytes_are_read_up_to_a_limit_and_never_in_part() {
    each_session_on(&Tree::inside([file("f", "ab\u{fffd}"), file("g", "")]), |_, session| {
        let (bytes, version) = read_bytes(session, "f", 5).unwrap();
        assert_eq!(bytes, "ab\u{fffd}".as_bytes());
        let (same, again) = read_bytes(session, "f", u64::MAX).unwrap();
        assert_eq!((same, again), (bytes, version.clone()));
        for limit in [0, 4] {
            let error = read_bytes(session, "f", limit).unwrap_err();
            let told = matches!(error, Error::TooLarge { size: 5, limit: l, .. } if l == limit);
            assert!(told, "{error:?}");
        }
        assert_eq!(read_bytes(session, "g", 0).unwrap().0, b"");
        // Of a size that is not told, no more is read than shows that it is too much.
        let error = read_bytes(session, "/proc/self/mountinfo", 10).unwrap_err();
        assert!(matches!(error, Error::TooLarge { size: 11, limit: 10, .. }), "{error:?}");
        assert_eq!(replace(session, "f", "new", &version), Ok(()));
    });
}

#[test]
fn a_version_of_what_was_only_looked_at_goes_by_the_stamp() {
    let tree = Tree::inside([file("d/f", "old"), link("d/l", "f")]);
    each_session_on(&tree, |stage, session| {
        let listed = session.perform(Request::List { path: "d".into() }).unwrap();
        let Outcome::Listed { entries, .. } = listed else { panic!("{listed:?}") };
        let targets: Vec<_> = entries.iter().map(|entry| entry.target.unwrap()).collect();
        assert!(targets.iter().all(|(kind, _)| *kind == Kind::File));
        assert_eq!(targets[0], targets[1], "the link leads to the file");
        let look = |path: &str| {
            let stat = Request::Stat { path: path.into(), follow: Follow::Yes };
            let Ok(Outcome::Info { info, .. }) = session.perform(stat) else { panic!("{path}") };
            info
        };
        let info = look("d/l").unwrap();
        assert_eq!((info.kind, info.size, Some(&info)), (Kind::File, 3, look("d/f").as_ref()));
        for nothing in ["d/none", "none/f", "d/f/none"] {
            assert_eq!(look(nothing), None, "{nothing}");
        }
        let stamps = || look("d/f").unwrap().version;
        let seen = stamps();
        // Another time is another stamp, whatever the bytes are.
        let path = stage.root().join("d/f");
        let touched = std::fs::File::options().write(true).open(&path).unwrap();
        touched.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(replace(session, "d/f", "new", &seen), Err(Code::FsStaleVersion));
        assert_eq!(replace(session, "d/f", "new", &stamps()), Ok(()));
        assert_eq!(std::fs::read(path).unwrap(), b"new");
    });
}

#[test]
fn a_version_of_what_was_written_is_that_of_its_bytes() {
    each_session_on(&Tree::inside([file("f", "old")]), |stage, session| {
        let seen = read(session, "f").unwrap().version;
        let version = write(session, "f", "new", WriteIntent::ReplaceIfVersion(seen.clone()));
        let version = version.unwrap();
        assert_eq!(replace(session, "f", "newer", &seen), Err(Code::FsStaleVersion));
        let same = write(session, "f", "new", WriteIntent::Any).unwrap();
        assert_eq!(replace(session, "f", "new", &same), Ok(()), "it is left as it is");
        std::fs::write(stage.root().join("f"), "new").unwrap();
        assert_eq!(replace(session, "f", "newer", &version), Ok(()), "the same bytes anew");
    });
}

/// The size of this process's memory, in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_file_of_a_gibibyte_is_streamed_in_memory_that_does_not_grow_with_it() {
    const ROOM: u64 = 16 << 20;
    in_own_process(this_test!(), || {
        let length = rounds(1024) as u64 * (1 << 20);
        let stage = Stage::new(&Tree::inside([file("f", &"é".repeat(PROBED / 2)), file("n", "")]));
        let lengthen = |path: &str, length: u64| {
            let path = stage.root().join(path);
            let file = std::fs::File::options().write(true).open(path).unwrap();
            file.set_len(length).unwrap();
        };
        lengthen("f", length);
        lengthen("n", length);
        let session = session_in(stage.root(), offered()[0]);
        let limit = getrlimit(Resource::As);
        let most = Rlimit { current: Some(memory() + ROOM), ..limit };
        setrlimit(Resource::As, most).unwrap();
        let mut all = Vec::<u8>::new();
        assert!(all.try_reserve_exact(256 << 20).is_err(), "there is a limit");

        let mut stream = in_pieces(&session, "f");
        let streamed: usize = stream.by_ref().map(|piece| piece.unwrap().len()).sum();
        assert_eq!(streamed as u64, length);
        assert!(stream.version().is_some());
        let (no_text, _) = self::all(in_pieces(&session, "n"));
        assert!(matches!(no_text, Err(Unread::NotText(NotText::Nul))));
        let error = read_bytes(&session, "f", ROOM / 4).unwrap_err();
        assert!(matches!(error, Error::TooLarge { size, .. } if size == length), "{error:?}");
        lengthen("f", 1 << 30);
        assert_eq!(read(&session, "f").unwrap_err(), Code::FsTooLarge);
        setrlimit(Resource::As, limit).unwrap();
    });
}

#[test]
fn an_open_file_tells_whether_it_has_changed() {
    each_session_on(&Tree::inside([file("f", "old")]), |stage, session| {
        let mut snapshot = open(session, "f");
        assert_eq!(snapshot.now().unwrap(), snapshot.stamp);
        let mut bytes = Vec::new();
        snapshot.file.read_to_end(&mut bytes).unwrap();
        assert_eq!(snapshot.now().unwrap(), snapshot.stamp, "reading is no change");
        std::fs::write(stage.root().join("f"), "longer").unwrap();
        assert_ne!(snapshot.now().unwrap(), snapshot.stamp);
        assert_eq!(snapshot.now().unwrap().size(), 6);
    });
}
