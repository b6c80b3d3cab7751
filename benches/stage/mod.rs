//! What the benches act on: a workspace of some depth, and every fence this host puts around it.

use std::path::{Path, PathBuf};

use ringfence_platform::{Fence, Options, RelPath, RootedPath, Roots, survey};

/// How many directories lie between the root and the file, the file's own included.
pub(crate) const DEPTHS: [usize; 4] = [1, 4, 8, 16];

/// A directory tree with one file at its end.
#[derive(Debug)]
pub(crate) struct Stage {
    base: PathBuf,
    pub(crate) file: PathBuf,
    pub(crate) beneath: PathBuf,
    roots: Roots,
}

impl Stage {
    /// On tmpfs where there is one: it shows what the calls cost and not what a disk does.
    pub(crate) fn new(depth: usize, contents: &[u8]) -> Self {
        let shm = Path::new("/dev/shm");
        let parent = if shm.is_dir() { shm } else { Path::new(env!("CARGO_TARGET_TMPDIR")) };
        let base = parent.join(format!("ringfence-bench-{}-{depth}", std::process::id()));
        let beneath: PathBuf =
            (1..depth).map(|level| format!("d{level}")).chain(["file".into()]).collect();
        let file = base.join(&beneath);
        std::fs::create_dir_all(file.parent().expect("it has one")).expect("a stage");
        std::fs::write(&file, contents).expect("a stage");
        let roots = Roots::open([&base]).expect("it was just made");
        Self { base, file, beneath, roots }
    }

    pub(crate) fn fences(&self) -> Vec<(String, Box<dyn Fence>)> {
        survey(&self.roots, Options::default())
            .filter_map(|offer| offer.fence.ok())
            .map(|fence| {
                let assurance = fence.assurance();
                (format!("{}+{}", assurance.resolution, assurance.confinement), fence)
            })
            .collect()
    }

    pub(crate) fn path(&self, beneath: impl AsRef<Path>) -> RootedPath {
        let root = self.roots.iter().next().expect("it has one").id();
        RootedPath::new(root, RelPath::new(beneath).expect("a plain path"))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.base) {
            eprintln!("{}: {error}", self.base.display());
        }
    }
}
