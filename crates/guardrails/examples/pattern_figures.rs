//! Prints how long searches with patterns of configurations take on 1 and 2 MiB of text, as CPU time of the thread.
//!
//! Run it with `cargo run --release -p guardrails --example pattern_figures`.

use std::io::{self, Write as _};
use std::time::Duration;

use guardrails::patterns::{PatternSet, PatternUse};
use rustix::time::{ClockId, clock_gettime};

const MEBIBYTE: usize = 1 << 20;
const PATTERNS: usize = 1_000;
const NAMES: [&str; 8] = ["alpha", "beta", "kilo", "sierra", "project", "secret", "internal", "vendor"];

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{:34} {:>9} {:>9} {:>9} {:>6}", "patterns", "compile", "1 MiB", "2 MiB", "ratio")?;
    let ascii =
        |size: usize| words(size, &["order", "code", "alpha", "2024", "x17", "and", "item-4431", "1.2.3"]);
    let mixed = |size: usize| {
        words(size, &["café", "Straße", "alpha", "2024", "日本語", "and", "item-4431", "naïve"])
    };
    let same = |size: usize| format!("{}b", "a".repeat(size - 1));
    measure(&mut out, "(a+)+$ on a…ab", &["(a+)+$".to_owned()], PatternUse::Input, &same)?;
    measure(&mut out, "(?s)a.*z|a on a…ab", &["(?s)a.*z|a".to_owned()], PatternUse::Input, &same)?;
    for (name, pattern) in SHAPES {
        let patterns: Vec<String> = (0..PATTERNS).map(pattern).collect();
        measure(&mut out, &format!("1,000 × {name}"), &patterns, PatternUse::Output, &ascii)?;
        measure(&mut out, &format!("1,000 × {name}, mixed"), &patterns, PatternUse::Output, &mixed)?;
    }
    Ok(())
}

/// A kind of pattern: its name, and the pattern with a number.
type Shape = (&'static str, fn(usize) -> String);

const SHAPES: [Shape; 9] = [
    ("literal prefix", |n| format!("{}-{n:04}-[a-z]{{1,16}}", NAMES[n % 8])),
    ("word with \\b", |n| format!(r"\b{}{n}\b", NAMES[n % 8])),
    ("any case", |n| format!(r"(?i)\b{}\s{{1,3}}{n}\b", NAMES[n % 8])),
    ("word and digits", |n| format!(r"{}[ _-]?[0-9]{{3,10}}x{n}", NAMES[n % 8])),
    ("class first", |n| format!("[a-z]{{3,10}}[0-9]{{1,6}}x{n}")),
    ("classes with \\b", |n| format!(r"\b[A-Z]{{2}}{}[0-9]{{4,8}}[a-z]{{0,3}}\b", n % 100)),
    ("random classes", random_classes),
    ("\\w and \\d", |n| format!(r"\w{{1,20}}-{n}-\d{{1,10}}")),
    ("\\b\\w{n}\\b", |n| format!(r"\b\w{{{}}}\b", 20 + n % 20)),
];

fn random_classes(number: usize) -> String {
    let mut random = Random(number as u64 + 1);
    let mut pattern = String::new();
    for _ in 0..4 {
        let from = b'a' + random.below(20) as u8;
        let to = from + 1 + random.below(5) as u8;
        let least = random.below(3) + 1;
        pattern += &format!("[{}-{}0-9]{{{least},{}}}", from as char, to as char, least + random.below(6));
    }
    pattern + &format!("#{number}")
}

fn measure(
    out: &mut impl io::Write,
    name: &str,
    patterns: &[String],
    usage: PatternUse,
    text: &dyn Fn(usize) -> String,
) -> io::Result<()> {
    let started = now();
    let set = match PatternSet::compile(patterns, usage) {
        Ok(set) => set,
        Err(error) => return writeln!(out, "{name:34} {error}"),
    };
    let compiled = now().saturating_sub(started);
    let single = time(&set, &text(MEBIBYTE));
    let double = time(&set, &text(2 * MEBIBYTE));
    let ratio = double.as_secs_f64() / single.as_secs_f64();
    writeln!(out, "{name:34} {compiled:>9.1?} {single:>9.1?} {double:>9.1?} {ratio:>6.2}")
}

fn time(set: &PatternSet, text: &str) -> Duration {
    let started = now();
    let _ = std::hint::black_box(set.find_all(text));
    now().saturating_sub(started)
}

fn now() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

fn words(size: usize, vocabulary: &[&str]) -> String {
    let mut random = Random(7);
    let mut text = String::with_capacity(size + 32);
    while text.len() < size {
        text.push_str(vocabulary[random.below(vocabulary.len())]);
        if random.below(11) == 0 {
            text.push_str(&random.below(100_000).to_string());
        }
        text.push(' ');
    }
    text
}

/// A xorshift generator, so that every run measures the same texts.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}
