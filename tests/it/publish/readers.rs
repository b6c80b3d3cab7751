//! Files are read while they are replaced.

use ringfence_platform::Precondition;

use super::{is_whole, read, update, whole, write};
use crate::effort::rounds;
use crate::support::{Tree, each_fence_on, file};

const WRITES: usize = 120;
/// From nothing to more than one call reads at a time.
const SIZES: [usize; 4] = [0, 700, 4_096, 70_001];

#[test]
fn a_reader_sees_all_of_the_old_file_or_all_of_the_new_one() {
    each_fence_on(&Tree::inside([file("f", "")]), |stage, fence| {
        std::fs::write(stage.root().join("f"), whole(1)).unwrap();
        std::thread::scope(|scope| {
            let path = stage.root().join("f");
            let writers = [
                scope.spawn(|| {
                    in_sizes(|size| {
                        drop(write(fence, "f", &whole(size), Precondition::None).unwrap());
                    });
                }),
                scope.spawn(|| in_sizes(|size| drop(update(fence, "f", |_| whole(size))))),
            ];
            let mut reads = 0;
            while writers.iter().any(|writer| !writer.is_finished()) || reads < rounds(WRITES) {
                let by_path = std::fs::read(&path).expect("the file is there at every moment");
                assert!(is_whole(&by_path), "a part: {} bytes", by_path.len());
                let (by_fence, _) = read(fence, "f");
                assert!(is_whole(&by_fence), "a part: {} bytes", by_fence.len());
                reads += 1;
            }
        });
    });
}

fn in_sizes(replace: impl Fn(usize)) {
    for round in 0..rounds(WRITES) {
        replace(SIZES[round % SIZES.len()] + round);
    }
}

#[test]
fn what_is_not_whole_is_told() {
    let bytes = whole(700);
    assert!(is_whole(&bytes) && is_whole(&whole(0)));
    assert!(!is_whole(&[]) && !is_whole(&bytes[..bytes.len() - 1]));
    assert!(!is_whole(&[&bytes[..400], &whole(701)[400..]].concat()));
}
