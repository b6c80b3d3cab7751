//! What a command writes to one stream: the end of it in memory, and all of it in a file once that
//! is not all.

use std::path::PathBuf;

use ringfence_platform::process::SpillFile;

use super::ran::{Output, Spill};
use crate::policy::ShellLimits;

/// What was written so far.
#[derive(Debug, Default)]
pub(super) struct Capture {
    limits: ShellLimits,
    /// Where files may be made.
    places: Vec<PathBuf>,
    /// The last bytes, and up to as many before them.
    kept: Vec<u8>,
    total: u64,
    file: File,
}

/// Whether all of it is in a file.
#[derive(Debug, Default)]
enum File {
    /// Not needed so far.
    #[default]
    Unneeded,
    Open(SpillFile),
    /// It has reached its limit.
    Full(SpillFile),
    Lost,
}

impl Capture {
    pub(super) fn new(limits: ShellLimits, places: Vec<PathBuf>) -> Self {
        Self { limits, places, kept: Vec::new(), total: 0, file: File::Unneeded }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let most = self.limits.max_output_bytes;
        let overflows = self.total + bytes.len() as u64 > most as u64;
        if overflows && matches!(self.file, File::Unneeded) {
            self.file = SpillFile::create(&self.places).map_or(File::Lost, File::Open);
            let kept = std::mem::take(&mut self.kept);
            self.spill(0, &kept);
            self.kept = kept;
        }
        self.spill(self.total, bytes);
        self.total += bytes.len() as u64;
        self.kept.extend_from_slice(bytes);
        if self.kept.len() > most * 2 {
            self.kept.drain(..self.kept.len() - most);
        }
    }

    /// Writes what comes after the first `before` bytes.
    fn spill(&mut self, before: u64, bytes: &[u8]) {
        self.file = match std::mem::replace(&mut self.file, File::Lost) {
            File::Open(mut file) => {
                let room = self.limits.max_spill_bytes.saturating_sub(before);
                let fits = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
                match file.write(&bytes[..fits]) {
                    Ok(()) if fits == bytes.len() => File::Open(file),
                    Ok(()) => File::Full(file),
                    // What is there of it would be taken for all.
                    Err(_) => File::Lost,
                }
            }
            file @ (File::Unneeded | File::Full(_) | File::Lost) => file,
        };
    }

    /// What there is of it by now.
    pub(super) fn so_far(&self) -> Output {
        let from = self.kept.len().saturating_sub(self.limits.max_output_bytes);
        let spill = match &self.file {
            File::Unneeded => Spill::None,
            File::Open(file) => Spill::File(file.path().to_owned()),
            File::Full(file) => Spill::Cut(file.path().to_owned()),
            File::Lost => Spill::Lost,
        };
        Output { tail: self.kept[from..].to_vec(), total: self.total, spill }
    }

    /// All of it, and the file, which goes when it is dropped.
    pub(super) fn end(self) -> (Output, Option<SpillFile>) {
        let output = self.so_far();
        let file = match self.file {
            File::Open(file) | File::Full(file) => Some(file),
            File::Unneeded | File::Lost => None,
        };
        (output, file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(memory: usize, file: u64) -> ShellLimits {
        let default = ShellLimits::default();
        ShellLimits { max_output_bytes: memory, max_spill_bytes: file, ..default }
    }

    fn captured(limits: ShellLimits, places: Vec<PathBuf>) -> (Output, Option<Vec<u8>>) {
        let mut capture = Capture::new(limits, places);
        for chunk in b"0123456789abcdefghijklmnop".chunks(3) {
            capture.push(chunk);
        }
        let (output, file) = capture.end();
        (output, file.map(|file| std::fs::read(file.path()).unwrap()))
    }

    #[test]
    fn the_end_is_kept_and_all_of_it_is_in_a_file() {
        let (output, file) = captured(limits(4, 999), vec![std::env::temp_dir()]);
        assert_eq!((output.tail.as_slice(), output.total), (&b"mnop"[..], 26));
        assert!(matches!(output.spill, Spill::File(_)), "{output:?}");
        assert_eq!(file.unwrap(), b"0123456789abcdefghijklmnop");
    }

    #[test]
    fn what_fits_in_memory_is_in_no_file() {
        let (output, file) = captured(limits(26, 999), vec![std::env::temp_dir()]);
        assert_eq!(output.tail, b"0123456789abcdefghijklmnop");
        assert_eq!((output.spill, file), (Spill::None, None));
    }

    #[test]
    fn a_file_that_is_full_has_the_beginning_and_says_so() {
        let (output, file) = captured(limits(4, 11), vec![std::env::temp_dir()]);
        assert!(matches!(output.spill, Spill::Cut(_)), "{output:?}");
        assert_eq!((output.tail.as_slice(), output.total), (&b"mnop"[..], 26));
        assert_eq!(file.unwrap(), b"0123456789a");
    }

    #[test]
    fn without_a_place_for_a_file_the_rest_is_said_to_be_lost() {
        let (output, file) = captured(limits(4, 999), Vec::new());
        assert_eq!((output.spill, file), (Spill::Lost, None));
        assert_eq!(output.tail, b"mnop");
    }
}
