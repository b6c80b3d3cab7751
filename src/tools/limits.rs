//! How much one answer shows.

use crate::error::{Error, Result};

use super::texts;

/// How many bytes a char has at most in UTF-8.
const WIDEST_CHAR: usize = 4;

/// How many entries of a directory are told in one answer at most.
const MOST_ENTRIES: usize = 1_000;

/// How much one answer of a tool shows. Whatever they are, each answer gets a reader further.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    pub(super) read_limit: usize,
    pub(super) read_max_line_length: usize,
    pub(super) read_max_bytes: usize,
    pub(super) list_limit: usize,
}

/// Limits that nobody has checked yet.
#[derive(Clone, Debug)]
#[must_use = "there are no limits until they are built"]
pub struct LimitsBuilder {
    limits: Limits,
    read_stream_min_size: u64,
}

impl Limits {
    /// Begins with the default limits.
    pub fn builder() -> LimitsBuilder {
        LimitsBuilder { limits: Self::default(), read_stream_min_size: 10 * 1024 * 1024 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            read_limit: 2_000,
            read_max_line_length: 2_000,
            read_max_bytes: 51_200,
            list_limit: MOST_ENTRIES,
        }
    }
}

impl LimitsBuilder {
    /// The most lines of a file in one answer. The default is 2,000.
    pub fn read_limit(mut self, lines: usize) -> Self {
        self.limits.read_limit = lines;
        self
    }

    /// The most chars of a line that are shown; what is cut is told. The default is 2,000.
    pub fn read_max_line_length(mut self, chars: usize) -> Self {
        self.limits.read_max_line_length = chars;
        self
    }

    /// The most bytes of the lines in one answer as UTF-8, with the breaks between them and the
    /// marks of what is cut. The default is 51,200.
    pub fn read_max_bytes(mut self, bytes: usize) -> Self {
        self.limits.read_max_bytes = bytes;
        self
    }

    /// The size in bytes from which a file need not be held in memory. The default is 10 MiB. No
    /// answer depends on it: smaller files are not held either.
    pub fn read_stream_min_size(mut self, bytes: u64) -> Self {
        self.read_stream_min_size = bytes;
        self
    }

    /// The most entries of a directory in one answer. The default is 1,000, and no more can be set.
    pub fn list_limit(mut self, entries: usize) -> Self {
        self.limits.list_limit = entries;
        self
    }

    /// Checks the limits.
    ///
    /// # Errors
    ///
    /// [`Code::PolicyInvalid`](crate::Code::PolicyInvalid) if one is 0, if `list_limit` is more
    /// than 1,000, or if `read_max_bytes` has no room for a cut line of the widest chars.
    pub fn build(self) -> Result<Limits> {
        let Self { limits, read_stream_min_size } = self;
        for (setting, found) in [
            ("read_limit", limits.read_limit as u64),
            ("read_max_line_length", limits.read_max_line_length as u64),
            ("read_max_bytes", limits.read_max_bytes as u64),
            ("read_stream_min_size", read_stream_min_size),
            ("list_limit", limits.list_limit as u64),
        ] {
            if found == 0 {
                return Err(invalid(setting, "a positive integer", found));
            }
        }
        if limits.list_limit > MOST_ENTRIES {
            return Err(invalid("list_limit", "at most 1000", limits.list_limit as u64));
        }
        if limits.read_max_bytes < limits.of_one_cut_line() {
            let expected = "room for one line of read_max_line_length chars of 4 bytes, \
                            with the mark that it is cut and its line break";
            return Err(invalid("read_max_bytes", expected, limits.read_max_bytes as u64));
        }
        Ok(limits)
    }
}

impl Limits {
    fn of_one_cut_line(&self) -> usize {
        let chars = self.read_max_line_length;
        let mark = texts::cut_mark(chars).len();
        chars.saturating_mul(WIDEST_CHAR).saturating_add(mark + "\n".len())
    }
}

fn invalid(setting: &'static str, expected: &'static str, found: u64) -> Error {
    Error::PolicyInvalid { setting, expected, found: found.to_string().into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;

    fn is_refused(limits: LimitsBuilder) -> bool {
        limits.build().is_err_and(|error| error.code() == Code::PolicyInvalid)
    }

    #[test]
    fn the_default_limits_pass_their_own_check() {
        assert_eq!(Limits::builder().build().unwrap(), Limits::default());
    }

    #[test]
    fn a_limit_of_nothing_is_refused() {
        assert!(is_refused(Limits::builder().read_limit(0)));
        assert!(is_refused(Limits::builder().read_max_line_length(0)));
        assert!(is_refused(Limits::builder().read_max_bytes(0)));
        assert!(is_refused(Limits::builder().read_stream_min_size(0)));
        assert!(is_refused(Limits::builder().list_limit(0)));
    }

    #[test]
    fn no_answer_lists_more_than_a_thousand_entries() {
        assert!(Limits::builder().list_limit(1_000).build().is_ok());
        assert!(is_refused(Limits::builder().list_limit(1_001)));
    }

    #[test]
    fn a_cut_line_of_the_widest_chars_has_room() {
        let least = Limits { read_max_line_length: 7, ..Limits::default() }.of_one_cut_line();
        let limits = |bytes| Limits::builder().read_max_line_length(7).read_max_bytes(bytes);
        assert!(limits(least).build().is_ok());
        assert!(is_refused(limits(least - 1)));
        assert!(is_refused(Limits::builder().read_max_line_length(usize::MAX)));
    }
}
