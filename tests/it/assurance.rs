//! A fence never claims more than the host has been seen to hold.

use ringfence_platform::{
    Confinement, Enforcement, ErrorKind, Fence, Gap, Options, Resolution, Roots, open,
};

use crate::support::{
    FenceKind, Stage, Tree, dir, each_fence, each_fence_on, fence_on, file, offered, open_fence,
    this_test, tmpfs, with_own_mounts,
};

/// The level of a fence whose confinement cannot be claimed.
fn without_confinement(kind: FenceKind) -> Enforcement {
    if kind.resolution == Resolution::Openat2 { Enforcement::Kernel } else { Enforcement::Checked }
}

fn gaps(fence: &dyn Fence, gap: Gap) -> usize {
    fence.assurance().gaps.iter().filter(|found| **found == gap).count()
}

#[test]
fn a_fence_is_as_strong_as_its_weakest_layer_and_names_what_it_lacks() {
    each_fence_on(&Tree::inside([]), |_, fence| {
        let kind = FenceKind::of(fence);
        let walks = kind.resolution != Resolution::Openat2;
        let free = kind.confinement == Confinement::Nothing;
        let level = if walks || free { without_confinement(kind) } else { Enforcement::Confined };
        assert_eq!(fence.assurance().level, level);
        assert_eq!(gaps(fence, Gap::NoOpenat2), usize::from(walks));
        assert_eq!(gaps(fence, Gap::NoLandlock), usize::from(free));
        let named = usize::from(walks) + usize::from(free);
        assert_eq!(fence.assurance().gaps.len(), named, "{:?}", fence.assurance());
    });
}

#[test]
fn the_strongest_fence_is_opened_and_a_weaker_one_is_refused_and_not_put_up_instead() {
    let stage = Stage::new(&Tree::inside([]));
    let strongest = FenceKind::of(open(&stage.roots(), Options::default()).unwrap().as_ref());
    assert_eq!(strongest, offered()[0]);
    let level = fence_on(&stage, strongest).assurance().level;
    for at_least in [Enforcement::Checked, Enforcement::Kernel, Enforcement::Confined] {
        match open(&stage.roots(), Options { at_least, ..Options::default() }) {
            Ok(fence) => assert!(fence.assurance().level >= at_least && level >= at_least),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::TooWeak);
                assert!(level < at_least, "{level} would have done for {at_least}");
            }
        }
    }
}

#[test]
fn a_bind_mount_at_or_beneath_a_root_is_never_claimed_confined() {
    with_own_mounts(this_test!(), || {
        let stage =
            Stage::new(&Tree::inside([dir("d/mnt")]).outside([file("out/f", "out"), dir("bound")]));
        let bind = |from: &str, to: &str| {
            rustix::mount::mount_bind(stage.base().join(from), stage.base().join(to)).unwrap();
        };
        let claims_less = |roots: &Roots| {
            each_fence(roots, |fence| {
                let kind = FenceKind::of(fence);
                let confined = usize::from(kind.confinement == Confinement::Landlock);
                assert_eq!(fence.assurance().level, without_confinement(kind));
                assert_eq!(gaps(fence, Gap::BindRoot), confined, "{:?}", fence.assurance());
            });
            let options = Options { at_least: Enforcement::Confined, ..Options::default() };
            assert_eq!(open(roots, options).unwrap_err().kind(), ErrorKind::TooWeak);
        };
        bind("out", "ROOT/d/mnt");
        claims_less(&stage.roots());
        bind("out", "bound");
        claims_less(&Roots::open([stage.base().join("bound")]).unwrap());
        // Beside a root it is nobody's business.
        let plain = Roots::open([stage.base().join("out")]).unwrap();
        each_fence(&plain, |fence| assert_eq!(gaps(fence, Gap::BindRoot), 0));
    });
}

#[test]
fn another_file_system_beneath_a_root_takes_nothing_from_the_claim() {
    with_own_mounts(this_test!(), || {
        let plain = Stage::new(&Tree::inside([]));
        let mounted = Stage::with_mounts(&Tree::inside([tmpfs("mnt")]));
        for kind in offered() {
            let (plain, mounted) = (fence_on(&plain, *kind), fence_on(&mounted, *kind));
            assert_eq!(plain.assurance(), mounted.assurance(), "{kind}");
        }
    });
}

#[test]
fn a_root_that_covers_the_place_of_the_proof_is_not_claimed_confined() {
    let roots = Roots::open(["/"]).unwrap();
    for kind in offered() {
        let fence = open_fence(&roots, *kind);
        assert_eq!(fence.assurance().level, without_confinement(*kind), "{kind}");
        let confined = usize::from(kind.confinement == Confinement::Landlock);
        assert_eq!(gaps(fence.as_ref(), Gap::Unproved), confined, "{kind}");
    }
}
