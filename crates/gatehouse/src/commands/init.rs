//! `gatehouse init`: writes a commented gatehouse.yaml and an .env with a new master key.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::ids::Entropy;

use crate::settings::{DEFAULT_FILE, SECTIONS, TABLE};

#[derive(Debug)]
pub enum InitFault {
    /// Files that already exist; nothing was written.
    Exists(Vec<PathBuf>),
    Io(PathBuf, std::io::Error),
}

impl std::fmt::Display for InitFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exists(paths) => {
                let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
                write!(f, "{} exists already; --force overwrites it", names.join(" and "))
            }
            Self::Io(path, error) => write!(f, "{} cannot be written: {error}", path.display()),
        }
    }
}

impl std::error::Error for InitFault {}

/// Writes the files and returns their paths.
pub fn run(directory: &Path, force: bool, entropy: &dyn Entropy) -> Result<Vec<PathBuf>, InitFault> {
    let files = [(directory.join(DEFAULT_FILE), yaml()), (directory.join(".env"), dotenv(entropy))];
    if !force {
        let existing: Vec<PathBuf> =
            files.iter().map(|(path, ..)| path.clone()).filter(|path| path.exists()).collect();
        if !existing.is_empty() {
            return Err(InitFault::Exists(existing));
        }
    }
    std::fs::create_dir_all(directory).map_err(|error| InitFault::Io(directory.to_owned(), error))?;
    for (path, text) in &files {
        write(path, text, force).map_err(|error| InitFault::Io(path.clone(), error))?;
    }
    Ok(files.into_iter().map(|(path, ..)| path).collect())
}

/// Both files may contain keys.
const OWNER_ONLY: u32 = 0o600;

/// Creates a file with its mode set before the content is written. Without `force`, an existing file is never
/// overwritten.
fn write(path: &Path, text: &str, force: bool) -> std::io::Result<()> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let mut options = std::fs::OpenOptions::new();
    options.write(true).mode(OWNER_ONLY);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let mut file = options.open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(OWNER_ONLY))?;
    file.write_all(text.as_bytes())
}

fn yaml() -> String {
    let mut text = "\
# Settings of the gateway. Every line that is commented out shows the default; docs/settings.md describes them.
# ${VAR} takes a value from the environment, ${VAR:-x} falls back to x. The variable named after each setting wins over this file.
"
    .to_owned();
    for section in SECTIONS {
        let _ = writeln!(text, "\n# {}\n{}:", section.doc.trim(), section.name);
        let prefix = format!("{}.", section.name);
        for setting in TABLE {
            let Some(name) = setting.path.strip_prefix(&prefix) else { continue };
            let _ = writeln!(text, "  # {} ({})", setting.doc.trim(), setting.env);
            let _ = writeln!(text, "  #{}", format!("{name}: {}", setting.default).trim_end());
        }
    }
    text.push_str(
        "
# Where models live. Keys belong into the environment or into .env.
providers:
  #openai:
  #  type: openai
  #  api_key: ${OPENAI_API_KEY}
  #lab:
  #  type: openai_compatible
  #  base_url: http://localhost:8000/v1
  #  models: [my-model]
",
    );
    text
}

fn dotenv(entropy: &dyn Entropy) -> String {
    let mut random = [0u8; 32];
    entropy.fill(&mut random);
    let mut text = format!(
        "\
# Secrets of the gateway: keep this file to yourself.
GATEWAY_MASTER_KEY=gm_{}

# API keys of providers; a line without a value counts as not set.
",
        URL_SAFE_NO_PAD.encode(random)
    );
    for vendor in wire::vendors::list().iter().filter(|vendor| vendor.key_required) {
        let name = vendor.name.to_ascii_uppercase();
        let _ = writeln!(text, "{name}_API_KEY=");
        if vendor.base_url_required {
            let _ = writeln!(text, "{name}_BASE_URL=");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::settings::{self, SettingSource};

    struct Fixed(u8);

    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn the_written_file_loads_with_all_defaults() {
        let directory = tempfile::tempdir().unwrap();
        let written = run(directory.path(), false, &Fixed(1)).unwrap();
        assert_eq!(written.len(), 2);
        let settings = settings::load(BTreeMap::new(), directory.path(), None, &["openai"]).unwrap();
        assert!(
            settings.config_file.is_some() && settings.warnings.is_empty() && settings.providers.is_empty()
        );
        assert_eq!(
            settings.server.master_key.unwrap().reveal(),
            format!("gm_{}", URL_SAFE_NO_PAD.encode([1; 32]))
        );
        let set = settings.sources.iter().filter(|origin| origin.source != SettingSource::Default);
        assert_eq!(set.map(|origin| origin.setting.path).collect::<Vec<_>>(), ["server.master_key"]);
    }

    #[test]
    fn dotenv_names_every_hosted_provider_once() {
        let text = dotenv(&Fixed(1));
        let names: Vec<&str> = text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{name} is written twice");
        }
        for name in
            ["GATEWAY_MASTER_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AZURE_BASE_URL"]
        {
            assert!(names.contains(&name), "{name} is missing");
        }
    }

    #[test]
    fn every_line_can_be_uncommented() {
        let directory = tempfile::tempdir().unwrap();
        let is_prose = |line: &str| line.starts_with("  # ") && !line.starts_with("  #  ");
        let uncomment =
            |line: &str| if is_prose(line) { line.to_owned() } else { line.replacen("  #", "  ", 1) };
        let text: Vec<String> = yaml().lines().map(uncomment).collect();
        std::fs::write(directory.path().join(DEFAULT_FILE), text.join("\n")).unwrap();
        let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "sk".to_owned())]);
        let settings =
            settings::load(environment, directory.path(), None, &["openai", "openai_compatible"]).unwrap();
        let from_file = settings.sources.iter().filter(|origin| origin.source == SettingSource::File).count();
        assert_eq!(from_file, TABLE.iter().filter(|setting| !setting.default.is_empty()).count());
        assert_eq!(settings.providers.len(), 2);
    }

    #[test]
    fn the_secrets_are_for_the_owner_only() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(".env"), "old").unwrap();
        run(directory.path(), true, &Fixed(1)).unwrap();
        for name in [".env", DEFAULT_FILE] {
            let mode = std::fs::metadata(directory.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn existing_files_are_not_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(".env"), "mine").unwrap();
        let fault = run(directory.path(), false, &Fixed(1)).unwrap_err();
        assert!(matches!(&fault, InitFault::Exists(paths) if paths.len() == 1), "{fault}");
        assert!(!directory.path().join(DEFAULT_FILE).exists());
        assert_eq!(std::fs::read_to_string(directory.path().join(".env")).unwrap(), "mine");
    }
}
