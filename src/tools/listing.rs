//! From the entries of a directory to those that are shown of it. Pure.

use std::ops::Range;

use super::answer::Listed;
use super::window::PastEnd;

/// The entries that are shown, and how many there are at all.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Page {
    /// The first that is shown, from 1.
    pub(super) offset: u64,
    pub(super) entries: Vec<Listed>,
    pub(super) total: u64,
}

impl Page {
    /// Which entries are shown, as far as they are there; the first has the number 0.
    pub(super) fn range(offset: u64, limit: usize) -> Range<usize> {
        let before = usize::try_from(offset - 1).unwrap_or(usize::MAX);
        before..before.saturating_add(limit)
    }

    /// # Errors
    ///
    /// If the first entry that was asked for is not there, how many there are.
    pub(super) fn of(entries: Vec<Listed>, offset: u64, limit: usize) -> Result<Self, PastEnd> {
        let total = entries.len() as u64;
        PastEnd::check(offset, total)?;
        let shown = Self::range(offset, limit);
        let entries = entries.into_iter().skip(shown.start).take(shown.len()).collect();
        Ok(Self { offset, entries, total })
    }

    /// The last that is shown; the one before the first, if none is.
    pub(super) fn last(&self) -> u64 {
        self.offset - 1 + self.entries.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::Found;
    use super::*;

    fn entries(count: u8) -> Vec<Listed> {
        let named = |byte| Listed { name: char::from(byte).to_string().into(), kind: Found::Other };
        (b'a'..).take(count.into()).map(named).collect()
    }

    #[test]
    fn a_page_begins_at_the_offset_and_knows_the_total() {
        let page = |offset, limit| {
            let page = Page::of(entries(4), offset, limit).unwrap();
            assert_eq!(page.total, 4);
            let names = page.entries.iter().map(|entry| entry.name.to_str().unwrap());
            (names.collect::<String>(), page.last())
        };
        assert_eq!(page(1, 2), ("ab".into(), 2));
        assert_eq!(page(3, 9), ("cd".into(), 4));
        assert_eq!(page(4, 1), ("d".into(), 4));
    }

    #[test]
    fn what_is_past_the_end_is_told_with_the_total() {
        let past = |count, offset| Page::of(entries(count), offset, 1).unwrap_err();
        assert_eq!(past(2, 3), PastEnd { offset: 3, total: 2 });
        assert_eq!(past(0, 2), PastEnd { offset: 2, total: 0 });
        assert!(Page::of(entries(0), 1, 1).is_ok(), "the beginning is always there");
    }
}
