//! The master key: configured by the operator, or generated at the first start and stored in the data directory.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::ids::Entropy;
use domain::secret::Secret;

use crate::settings::{SettingSource, Settings};

pub const FILE: &str = "master.key";

pub struct MasterKey {
    pub key: Secret,
    /// True when the key was just generated, which is the only time it is printed.
    pub fresh: bool,
}

pub fn find_or_make(
    configured: Option<&Secret>,
    data_dir: &Path,
    entropy: &dyn Entropy,
) -> io::Result<MasterKey> {
    if let Some(key) = configured {
        return Ok(MasterKey { key: key.clone(), fresh: false });
    }
    let path = data_dir.join(FILE);
    match fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => Ok(MasterKey { key: Secret::new(text.trim()), fresh: false }),
        Ok(_) => {
            Err(io::Error::other(format!("{} is empty: delete it to have a new key made", path.display())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(&path, entropy),
        Err(error) => Err(error),
    }
}

/// Description of the master key in force, for `check` and for the start.
#[derive(Debug, PartialEq, Eq)]
pub struct Description {
    pub summary: String,
    /// Set when the data directory contains another key, which is not in force.
    pub warning: Option<String>,
}

/// Describes the origin of the master key, showing at most its last four characters.
pub fn describe(settings: &Settings, working_directory: &Path) -> Description {
    let shown = settings.storage.data_dir.join(FILE);
    let kept = fs::read_to_string(working_directory.join(&shown)).ok();
    let kept = kept.map(|text| Secret::new(text.trim())).filter(|key| !key.reveal().is_empty());
    let Some(configured) = &settings.server.master_key else {
        let summary = match &kept {
            Some(key) => format!("from {}{}", shown.display(), ending(key)),
            None => format!("not set; one is generated in {} at the first start", shown.display()),
        };
        return Description { summary, warning: None };
    };
    let origin = settings.sources.iter().find(|origin| origin.setting.env == VARIABLE);
    let origin = origin.map_or_else(
        || VARIABLE.to_owned(),
        |origin| match origin.source {
            SettingSource::File => format!("{} in {}", origin.setting.path, origin.location),
            _ if origin.location.ends_with("_FILE") => origin.location.clone(),
            _ => format!("{VARIABLE} ({})", origin.location),
        },
    );
    let warning = kept.filter(|key| key != configured).map(|_| {
        let file = shown.display();
        format!("{file} holds another master key, which is not in force: {origin} is. Delete {file} if it is not needed")
    });
    Description { summary: format!("from {origin}{}", ending(configured)), warning }
}

/// The environment variable of the master key.
const VARIABLE: &str = "GATEWAY_MASTER_KEY";

fn ending(key: &Secret) -> String {
    key.last4().map(|last| format!(", ends in {last}")).unwrap_or_default()
}

fn make(path: &Path, entropy: &dyn Entropy) -> io::Result<MasterKey> {
    let mut random = [0u8; 32];
    entropy.fill(&mut random);
    let key = Secret::new(format!("gm_{}", URL_SAFE_NO_PAD.encode(random)));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{}", key.reveal())?;
    file.sync_all()?;
    Ok(MasterKey { key, fresh: true })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::system::SystemEntropy;

    #[test]
    fn a_key_is_made_once_for_its_owner_alone() {
        let directory = tempfile::tempdir().unwrap();
        let first = find_or_make(None, directory.path(), &SystemEntropy).unwrap();
        assert!(first.fresh);
        let mode = fs::metadata(directory.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let second = find_or_make(None, directory.path(), &SystemEntropy).unwrap();
        assert!(!second.fresh);
        assert_eq!(first.key, second.key);
        let configured = Secret::new("own");
        assert_eq!(
            find_or_make(Some(&configured), directory.path(), &SystemEntropy).unwrap().key,
            configured
        );
    }

    fn described(variables: &[(&str, &str)], files: &[(&str, &str)]) -> (String, Option<String>) {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("data")).unwrap();
        for (name, text) in files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        let environment = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let settings = crate::settings::load(environment, directory.path(), None, &[]).unwrap();
        let Description { summary, warning } = describe(&settings, directory.path());
        (summary.replace(&format!("{}/", directory.path().display()), ""), warning)
    }

    #[test]
    fn the_key_in_force_is_named_by_its_origin() {
        const KEY: (&str, &str) = ("GATEWAY_MASTER_KEY", "gm_0123456789-3f9a");
        const ENV: (&str, &str) = (".env", "GATEWAY_MASTER_KEY=gm_0123456789-77cd\n");
        const FILE: (&str, &str) = ("data/master.key", "gm_0123456789-abcd\n");
        const YAML: (&str, &str) = ("gatehouse.yaml", "server: {master_key: gm_0123456789-1111}");
        for (variables, files, summary) in [
            (&[][..], &[][..], "not set; one is generated in ./data/master.key at the first start"),
            (&[], &[FILE], "from ./data/master.key, ends in abcd"),
            (&[KEY], &[ENV], "from GATEWAY_MASTER_KEY (environment), ends in 3f9a"),
            (&[], &[ENV, YAML], "from GATEWAY_MASTER_KEY (.env), ends in 77cd"),
            (&[], &[YAML], "from server.master_key in gatehouse.yaml, ends in 1111"),
            (
                &[("GATEWAY_MASTER_KEY_FILE", "data/master.key")],
                &[FILE],
                "from GATEWAY_MASTER_KEY_FILE, ends in abcd",
            ),
        ] {
            assert_eq!(described(variables, files), (summary.to_owned(), None));
        }
    }

    #[test]
    fn a_left_over_key_file_is_reported() {
        const LEFT_OVER: (&str, &str) = ("data/master.key", "gm_0123456789-abcd\n");
        let environment = (".env", "GATEWAY_MASTER_KEY=gm_0123456789-77cd\n");
        let (summary, warning) = described(&[], &[LEFT_OVER, environment]);
        assert_eq!(summary, "from GATEWAY_MASTER_KEY (.env), ends in 77cd");
        assert_eq!(
            warning.unwrap(),
            "./data/master.key holds another master key, which is not in force: GATEWAY_MASTER_KEY (.env) is. \
             Delete ./data/master.key if it is not needed"
        );
        let same = (".env", "GATEWAY_MASTER_KEY=gm_0123456789-abcd\n");
        assert_eq!(described(&[], &[LEFT_OVER, same]).1, None);
    }
}
