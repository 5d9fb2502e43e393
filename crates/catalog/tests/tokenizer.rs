//! Memory and time of the first count of tokens. The only test in this file, so that no other test runs in the process.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "all of it is a test")]

#[test]
fn the_first_count_takes_little_memory_and_time() {
    let before = resident_kilobytes();
    for (model, kilobytes) in [("gpt-4o", 16 * 1024), ("gpt-4", 24 * 1024)] {
        #[expect(clippy::disallowed_methods, reason = "this test measures real time")]
        let start = std::time::Instant::now();
        assert_eq!(catalog::count_tokens(model, "Hello, world!"), 4);
        let elapsed = start.elapsed();
        let grown = resident_kilobytes() - before;
        println!("first count of {model}: {elapsed:?}, {grown} kB");
        assert!(grown <= kilobytes, "{grown} kB");
        // It takes less than 100 ms; the limit leaves room for busy machines.
        assert!(elapsed.as_millis() <= 1_000, "{elapsed:?}");
    }
    // A piece without a boundary is the worst case: it is bounded by n log n.
    #[expect(clippy::disallowed_methods, reason = "this test measures real time")]
    let start = std::time::Instant::now();
    let count = catalog::count_tokens("gpt-4o", &"a".repeat(256 * 1024));
    println!("256 KiB without a boundary: {count} tokens, {:?}", start.elapsed());
    assert!(start.elapsed().as_millis() <= 3_000);
}

fn resident_kilobytes() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
