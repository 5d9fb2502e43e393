//! The global allocator: mimalloc, with a fast path for the usual alignments.

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys as mimalloc;

/// mimalloc as the global allocator.
///
/// The crate `mimalloc` asks for every block with its alignment. That takes longer than to ask without one, and for most
/// sizes over 1 KiB mimalloc allocates more than it needs and aligns the block within it.
pub struct Allocator;

/// Alignment of every block that is at least as large.
const WORD: usize = 8;

/// Whether a block of this size has this alignment without asking for it.
fn is_aligned_anyway(size: usize, align: usize) -> bool {
    align <= WORD && align <= size
}

// SAFETY: all functions pass the request on to mimalloc, which returns null or a block of at least the size that no other
// block overlaps. Sizes of mimalloc's blocks are multiples of a word, and blocks of a page follow each other from an address
// that is a multiple of a word, so a block without requested alignment is aligned to a word. (Guarded blocks, which only
// debug builds of mimalloc have, may not be.) Blocks of both kinds are freed and resized by the same functions, whatever
// function allocated them.
#[expect(unsafe_code, reason = "a global allocator is unsafe to implement")]
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: these functions accept any size, and the alignment of a layout is a power of two.
        let block = unsafe {
            match is_aligned_anyway(size, align) {
                true => mimalloc::mi_malloc(size),
                false => mimalloc::mi_malloc_aligned(size, align),
            }
        };
        block.cast()
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: as for `alloc`.
        let block = unsafe {
            match is_aligned_anyway(size, align) {
                true => mimalloc::mi_zalloc(size),
                false => mimalloc::mi_zalloc_aligned(size, align),
            }
        };
        block.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller gives a block of this allocator that is in use.
        unsafe { mimalloc::mi_free(block.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let align = layout.align();
        // SAFETY: the caller gives a block of this allocator that is in use; sizes and alignments are as for `alloc`.
        let block = unsafe {
            match is_aligned_anyway(size, align) {
                true => mimalloc::mi_realloc(block.cast(), size),
                false => mimalloc::mi_realloc_aligned(block.cast(), size, align),
            }
        };
        block.cast()
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "the functions of an allocator are unsafe to call")]
mod tests {
    use super::*;

    /// A block with its layout, filled with one byte.
    struct Block(*mut u8, Layout, u8);

    impl Block {
        fn check(&self) {
            let Self(start, layout, byte) = self;
            assert_eq!(*start as usize % layout.align(), 0, "{layout:?}");
            // SAFETY: the block is in use and was filled up to its size.
            let bytes = unsafe { std::slice::from_raw_parts(*start, layout.size()) };
            assert!(bytes.iter().all(|found| found == byte), "{layout:?}");
        }
    }

    fn layouts() -> impl Iterator<Item = Layout> {
        let sizes = (1..300).chain((300..5000).step_by(37)).chain([1 << 16, 3 << 20]);
        sizes.flat_map(|size| {
            [1, 2, 4, 8, 16, 32, 64, 4096].map(|align| Layout::from_size_align(size, align).unwrap())
        })
    }

    #[test]
    fn blocks_are_aligned_and_do_not_overlap() {
        let blocks: Vec<Block> = layouts()
            .enumerate()
            .map(|(number, layout)| {
                let byte = number as u8;
                // SAFETY: the size is not zero, and the block is filled up to its size.
                let start = unsafe {
                    let start = Allocator.alloc(layout);
                    start.write_bytes(byte, layout.size());
                    start
                };
                Block(start, layout, byte)
            })
            .collect();
        blocks.iter().for_each(Block::check);
        for Block(start, layout, _) in blocks {
            // SAFETY: the block is in use.
            unsafe { Allocator.dealloc(start, layout) };
        }
    }

    #[test]
    fn resized_blocks_keep_their_alignment_and_content() {
        for layout in layouts() {
            for size in [1, 7, 8, 100, 1025, 5000] {
                // SAFETY: the sizes are not zero, the block is in use until it is freed, and zeroed up to the old size.
                unsafe {
                    let start = Allocator.alloc_zeroed(layout);
                    let moved = Allocator.realloc(start, layout, size);
                    let kept = Layout::from_size_align(size.min(layout.size()), layout.align()).unwrap();
                    Block(moved, kept, 0).check();
                    Allocator.dealloc(moved, Layout::from_size_align(size, layout.align()).unwrap());
                }
            }
        }
    }
}
