//! From the chunks of a text to the lines that are shown of it. Pure, and of constant memory: of a
//! line no more is held than is shown.

use std::mem;

/// Which lines are shown, and how much of them.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// The first line, from 1.
    pub(super) offset: u64,
    /// The most lines.
    pub(super) lines: usize,
    /// The most bytes of all of them, with the breaks between them.
    pub(super) bytes: usize,
    /// The most chars of one.
    pub(super) chars: usize,
    /// What is shown at the end of one that has more.
    pub(super) mark: String,
}

/// A line as it is shown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    /// Without its line end.
    pub(super) text: String,
}

/// The lines that are shown, and what is known of the others.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Window {
    pub(super) offset: u64,
    pub(super) lines: Vec<Line>,
    /// How many lines there are at all.
    pub(super) total: u64,
    pub(super) end: End,
}

/// Why no more lines are shown.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum End {
    /// The next one would be too many bytes.
    Bytes,
    /// They are as many as were asked for.
    Lines,
    /// There is none.
    File,
}

/// Nothing is there at the first place that was asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct PastEnd {
    pub(super) offset: u64,
    pub(super) total: u64,
}

impl PastEnd {
    /// Whether `offset` is past the end. The beginning never is, though there be nothing.
    pub(super) fn check(offset: u64, total: u64) -> Result<(), Self> {
        if offset > total.max(1) { Err(Self { offset, total }) } else { Ok(()) }
    }
}

/// A text that is looked at chunk by chunk. Where the chunks part carries no meaning.
#[derive(Debug)]
pub(super) struct Windowing {
    frame: Frame,
    shown: Vec<Line>,
    /// Of what is shown.
    bytes: usize,
    is_full: bool,
    /// The line that is being read.
    number: u64,
    has_begun: bool,
    line: Beginning,
}

impl Windowing {
    pub(super) fn new(frame: Frame) -> Self {
        let line = Beginning::new(frame.chars);
        Self {
            frame,
            shown: Vec::new(),
            bytes: 0,
            is_full: false,
            number: 1,
            has_begun: false,
            line,
        }
    }

    pub(super) fn push(&mut self, chunk: &str) {
        for piece in chunk.split_inclusive('\n') {
            self.has_begun = true;
            let text = piece.strip_suffix('\n');
            if self.is_in_frame() {
                self.line.push(text.unwrap_or(piece));
            }
            if text.is_some() {
                self.end_line(Ending::LineFeed);
            }
        }
    }

    /// # Errors
    ///
    /// If the first line that was asked for is not there, how many there are.
    pub(super) fn finish(mut self) -> Result<Window, PastEnd> {
        if self.has_begun {
            self.end_line(Ending::Nothing);
        }
        let (offset, total) = (self.frame.offset, self.number - 1);
        PastEnd::check(offset, total)?;
        let end = if self.is_full {
            End::Bytes
        } else if self.shown.last().is_some_and(|line| line.number < total) {
            End::Lines
        } else {
            End::File
        };
        Ok(Window { offset, lines: self.shown, total, end })
    }

    fn is_in_frame(&self) -> bool {
        self.number >= self.frame.offset && !self.is_full && self.shown.len() < self.frame.lines
    }

    fn end_line(&mut self, ending: Ending) {
        if self.is_in_frame() {
            let line = mem::replace(&mut self.line, Beginning::new(self.frame.chars));
            self.show(line.end(ending, &self.frame.mark));
        }
        self.number += 1;
        self.has_begun = false;
    }

    fn show(&mut self, text: String) {
        let line_break = usize::from(!self.shown.is_empty());
        let bytes = self.bytes + line_break + text.len();
        if bytes > self.frame.bytes {
            self.is_full = true;
        } else {
            self.bytes = bytes;
            self.shown.push(Line { number: self.number, text });
        }
    }
}

/// What a line ends in.
#[derive(Clone, Copy, Debug)]
enum Ending {
    LineFeed,
    Nothing,
}

/// As much of a line as is shown.
#[derive(Debug)]
struct Beginning {
    text: String,
    /// How many more chars are shown.
    room: usize,
    is_cut: bool,
    /// A carriage return that is shown only if it does not belong to the line's end.
    pending: bool,
}

impl Beginning {
    fn new(room: usize) -> Self {
        Self { text: String::new(), room, is_cut: false, pending: false }
    }

    fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.take_pending();
        let without = text.strip_suffix('\r');
        self.pending = without.is_some();
        self.take(without.unwrap_or(text));
    }

    fn end(mut self, ending: Ending, mark: &str) -> String {
        match ending {
            Ending::LineFeed => {}
            Ending::Nothing => self.take_pending(),
        }
        if self.is_cut {
            self.text.push_str(mark);
        }
        self.text
    }

    fn take_pending(&mut self) {
        if mem::take(&mut self.pending) {
            self.take("\r");
        }
    }

    fn take(&mut self, text: &str) {
        if self.is_cut {
            return;
        }
        match text.char_indices().nth(self.room) {
            Some((end, _)) => {
                self.text.push_str(&text[..end]);
                self.is_cut = true;
            }
            None => {
                self.text.push_str(text);
                self.room -= text.chars().count();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MARK: &str = "<cut>";

    fn frame(offset: u64, lines: usize, bytes: usize, chars: usize) -> Frame {
        Frame { offset, lines, bytes, chars, mark: MARK.into() }
    }

    fn all() -> Frame {
        frame(1, usize::MAX, usize::MAX, usize::MAX)
    }

    fn window<'a>(
        frame: &Frame,
        chunks: impl IntoIterator<Item = &'a str>,
    ) -> Result<Window, PastEnd> {
        let mut windowing = Windowing::new(frame.clone());
        chunks.into_iter().for_each(|chunk| windowing.push(chunk));
        windowing.finish()
    }

    fn texts(window: &Window) -> Vec<&str> {
        window.lines.iter().map(|line| line.text.as_str()).collect()
    }

    /// The same from the whole text at once.
    fn model(frame: &Frame, text: &str) -> Result<Window, PastEnd> {
        let mut all: Vec<&str> = text.split('\n').collect();
        let tail = all.pop().filter(|tail| !tail.is_empty());
        let ended = all.into_iter().map(|line| line.strip_suffix('\r').unwrap_or(line));
        let all: Vec<_> = ended.chain(tail).collect();
        let total = all.len() as u64;
        if frame.offset > total && (frame.offset, total) != (1, 0) {
            return Err(PastEnd { offset: frame.offset, total });
        }
        let cut = |line: &str| {
            let shown: String = line.chars().take(frame.chars).collect();
            if shown == line { shown } else { shown + MARK }
        };
        let wanted: Vec<_> = (1..).zip(all.into_iter().map(cut)).collect();
        let wanted = &wanted[frame.offset as usize - 1..];
        let wanted = &wanted[..wanted.len().min(frame.lines)];
        let joined = |count: usize| {
            wanted[..count].iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n")
        };
        let fits = |count: &usize| joined(*count).len() <= frame.bytes;
        let count = (0..=wanted.len()).rev().find(fits).unwrap();
        let lines = wanted[..count].iter().cloned();
        let end = if count < wanted.len() {
            End::Bytes
        } else if frame.offset - 1 + (count as u64) < total {
            End::Lines
        } else {
            End::File
        };
        let lines = lines.map(|(number, text)| Line { number, text }).collect();
        Ok(Window { offset: frame.offset, lines, total, end })
    }

    fn chunks() -> impl Strategy<Value = Vec<String>> {
        let piece = prop::sample::select(vec!["\n", "\r", "\r\n", "a", "bc", "é", "\u{1f642}"]);
        let chunk = prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat());
        prop::collection::vec(chunk, 0..8)
    }

    proptest! {
        #[test]
        fn the_window_is_that_of_the_whole_text(
            chunks in chunks(),
            offset in 1_u64..12,
            lines in 1_usize..12,
            bytes in 0_usize..60,
            chars in 0_usize..6,
        ) {
            let frame = frame(offset, lines, bytes, chars);
            let expected = model(&frame, &chunks.concat());
            prop_assert_eq!(window(&frame, chunks.iter().map(String::as_str)), expected);
        }
    }

    #[test]
    fn a_line_ends_at_a_line_feed_and_one_carriage_return_before_it_is_not_shown() {
        for (text, lines) in [
            ("", &[][..]),
            ("\n", &[""]),
            ("\r\n", &[""]),
            ("a", &["a"]),
            ("a\nb\r\n\nc", &["a", "b", "", "c"]),
            ("a\r\r\n\rb\r", &["a\r", "\rb\r"]),
        ] {
            let shown = window(&all(), [text]).unwrap();
            assert_eq!(texts(&shown), lines, "{text:?}");
            assert_eq!((shown.total, shown.end), (lines.len() as u64, End::File), "{text:?}");
            let chars = text.char_indices().map(|(at, char)| &text[at..][..char.len_utf8()]);
            assert_eq!(window(&all(), chars), Ok(shown), "{text:?}");
        }
    }

    #[test]
    fn a_carriage_return_that_ends_a_line_does_not_cut_it() {
        let shown = window(&frame(1, 9, 99, 3), ["abc\r\nabcd\r\nabc\r"]).unwrap();
        assert_eq!(texts(&shown), ["abc", "abc<cut>", "abc<cut>"]);
    }

    #[test]
    fn lines_are_shown_up_to_the_first_limit_and_counted_to_the_end() {
        let text = "aa\nbb\ncc\ndd\n";
        let shown = |frame| {
            let window = window(&frame, [text]).unwrap();
            assert_eq!(window.total, 4);
            (texts(&window).join("+"), window.end)
        };
        assert_eq!(shown(frame(1, 2, 99, 9)), ("aa+bb".into(), End::Lines));
        assert_eq!(shown(frame(3, 2, 99, 9)), ("cc+dd".into(), End::File));
        assert_eq!(shown(frame(1, 9, 8, 9)), ("aa+bb+cc".into(), End::Bytes));
        assert_eq!(shown(frame(1, 9, 7, 9)), ("aa+bb".into(), End::Bytes));
        assert_eq!(shown(frame(1, 3, 8, 9)), ("aa+bb+cc".into(), End::Lines));
    }

    #[test]
    fn what_is_past_the_end_is_told_with_the_total() {
        let past = |offset, text| window(&frame(offset, 9, 99, 9), [text]).unwrap_err();
        assert_eq!(past(3, "a\nb"), PastEnd { offset: 3, total: 2 });
        assert_eq!(past(2, ""), PastEnd { offset: 2, total: 0 });
        assert_eq!(past(u64::MAX, "a"), PastEnd { offset: u64::MAX, total: 1 });
        assert!(window(&frame(1, 9, 99, 9), [""]).is_ok(), "the beginning is always there");
    }

    #[test]
    fn no_more_of_a_line_is_held_than_is_shown() {
        let chunk = "x".repeat(64 * 1024);
        let mut windowing = Windowing::new(frame(1, 9, 99, 10));
        for _ in 0..1_024 {
            windowing.push(&chunk);
            assert!(windowing.line.text.capacity() < 64);
        }
        assert_eq!(texts(&windowing.finish().unwrap()), ["xxxxxxxxxx<cut>"]);
    }
}
