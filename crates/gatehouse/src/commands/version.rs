//! `gatehouse version`: what this build is.

use std::process::ExitCode;

use serde::Serialize;

#[derive(clap::Args)]
pub struct Options {
    /// Print version, commit, toolchain, target and features as JSON
    #[arg(long)]
    json: bool,
}

/// The facts about a build.
#[derive(Debug, Serialize)]
struct Build {
    name: &'static str,
    version: &'static str,
    /// Null if the build was not made in a Git checkout and was not told its commit.
    commit: Option<&'static str>,
    toolchain: &'static str,
    target: &'static str,
    profile: &'static str,
    /// Optional parts of the build.
    features: Vec<&'static str>,
}

impl Build {
    fn this() -> Self {
        let features = [
            ("dashboard", server::has_dashboard()),
            ("postgres", true),
            ("sqlite", true),
            ("debug-assertions", cfg!(debug_assertions)),
        ];
        Self {
            name: "gatehouse",
            version: env!("CARGO_PKG_VERSION"),
            commit: Some(env!("GATEHOUSE_COMMIT")).filter(|commit| !commit.is_empty()),
            toolchain: env!("GATEHOUSE_TOOLCHAIN"),
            target: env!("GATEHOUSE_TARGET"),
            profile: env!("GATEHOUSE_PROFILE"),
            features: features.into_iter().filter(|(_, present)| *present).map(|(name, _)| name).collect(),
        }
    }

    fn line(&self) -> String {
        let commit = self.commit.map_or(String::new(), |commit| format!(" ({commit})"));
        format!("{} {}{commit}, {}, {}\n", self.name, self.version, self.target, self.toolchain)
    }
}

#[expect(clippy::print_stdout, reason = "a command speaks to whoever typed it")]
pub fn run(options: &Options) -> ExitCode {
    let build = Build::this();
    match options.json {
        false => print!("{}", build.line()),
        true => println!("{}", serde_json::json!(build)),
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_says_what_it_is() {
        let build = serde_json::json!(Build::this());
        assert_eq!(build["version"], env!("CARGO_PKG_VERSION"));
        assert!(build["toolchain"].as_str().unwrap().starts_with("rustc "), "{build}");
        assert!(build["target"].as_str().unwrap().contains('-'), "{build}");
        assert!(build["features"].as_array().unwrap().contains(&"postgres".into()), "{build}");
        let commit = build["commit"].as_str().unwrap_or("0123456789");
        assert!(commit.chars().next().unwrap().is_ascii_hexdigit(), "{build}");
        assert!(Build::this().line().starts_with(&format!("gatehouse {}", env!("CARGO_PKG_VERSION"))));
    }
}
