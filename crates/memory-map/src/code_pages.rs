//! The memory that the program's code occupies.

use std::fs;
use std::io;
use std::ops::Range;

use rustix::mm::{Advice, madvise};

/// Gives the pages of the program's code back to the kernel; returns their number of bytes, used or not.
///
/// Start-up runs much code that does not run again, and the kernel maps 64 KiB around each page that is touched. Code
/// that runs later is mapped again from the page cache, without reading the disk.
///
/// Breakpoints that a debugger has set before are lost.
pub fn release_code_pages() -> io::Result<usize> {
    let own_code = release_code_pages as fn() -> io::Result<usize> as usize;
    let maps = fs::read_to_string("/proc/self/maps")?;
    let Some(range) = find_code(&maps, own_code) else { return Ok(0) };
    let length = range.len();
    release(range)?;
    Ok(length)
}

/// The mapping that contains an address, if it is executable, not writable, private and of a file.
fn find_code(maps: &str, address: usize) -> Option<Range<usize>> {
    maps.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
        let is_code =
            fields.next() == Some("r-xp") && fields.nth(3).is_some_and(|path| path.starts_with('/'));
        (is_code && range.contains(&address)).then_some(range)
    })
}

#[allow(unsafe_code)]
fn release(range: Range<usize>) -> io::Result<()> {
    let start = std::ptr::without_provenance_mut(range.start);
    // SAFETY: the range is a private, read-only mapping of the executable file, as the kernel lists it. No page of it was
    // ever written by this process, so the next access finds the same bytes in the file, which cannot be written while it
    // is executed. No Rust reference to memory that changes points into it.
    Ok(unsafe { madvise(start, range.len(), Advice::LinuxDontNeed) }?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_a_file_is_found() {
        let maps = "\
00001000-00002000 r--p 00000000 fe:00 12 /bin/x
00002000-00004000 r-xp 00001000 fe:00 12 /bin/x (deleted)
00004000-00005000 rwxp 00003000 fe:00 12 /bin/x
00005000-00006000 r-xp 00000000 00:00 0 [vdso]
00006000-00007000 r-xp 00000000 00:00 0
";
        assert_eq!(find_code(maps, 0x2000), Some(0x2000..0x4000));
        assert_eq!(find_code(maps, 0x3fff), Some(0x2000..0x4000));
        for other in [0x1000, 0x4000, 0x5000, 0x6000, 0x7000] {
            assert_eq!(find_code(maps, other), None, "{other:x}");
        }
    }

    #[test]
    fn the_program_runs_on_with_fewer_pages() {
        let resident = || {
            let status = fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("RssFile:")).unwrap();
            line.split_ascii_whitespace().nth(1).unwrap().parse::<usize>().unwrap()
        };
        // Other tests of this process may map pages at the same moment.
        let is_released = |_| {
            let before = resident();
            release_code_pages().unwrap() > 0 && resident() < before
        };
        assert!((0..100).any(is_released));
    }
}
