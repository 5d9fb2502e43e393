//! Tells the executable its commit, toolchain, target and profile, for `gatehouse version`.

#![allow(clippy::disallowed_methods, reason = "Cargo passes parameters to build scripts in the environment")]

use std::env;
use std::process::Command;

fn main() {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    println!("cargo::rerun-if-env-changed=GATEHOUSE_COMMIT");
    println!("cargo::rerun-if-changed=build.rs");
    // A build outside of a checkout, as in a container, is told its commit.
    let commit = match variable("GATEHOUSE_COMMIT") {
        told if !told.is_empty() => told,
        _ => checked_out().unwrap_or_default(),
    };
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    println!("cargo::rustc-env=GATEHOUSE_COMMIT={commit}");
    println!("cargo::rustc-env=GATEHOUSE_TOOLCHAIN={}", output(&rustc, &["--version"]).unwrap_or_default());
    println!("cargo::rustc-env=GATEHOUSE_TARGET={}", variable("TARGET"));
    println!("cargo::rustc-env=GATEHOUSE_PROFILE={}", variable("PROFILE"));
}

/// The commit of the checkout; the script runs again when another one is checked out.
fn checked_out() -> Option<String> {
    let commit = output("git", &["rev-parse", "--short=12", "HEAD"])?;
    let head = output("git", &["rev-parse", "--git-path", "HEAD"])?;
    println!("cargo::rerun-if-changed={head}");
    if let Some(branch) = output("git", &["symbolic-ref", "-q", "HEAD"]) {
        let reference = output("git", &["rev-parse", "--git-path", &branch])?;
        println!("cargo::rerun-if-changed={reference}");
    }
    Some(commit)
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
