//! `<NAME>_FILE` variables: secrets read from files, as container platforms mount them.

use std::collections::BTreeMap;
use std::path::Path;

use super::TABLE;
use super::fault::SettingsFault;
use super::providers;

const SUFFIX: &str = "_FILE";
/// Maximum size of a secret; a larger file is not a key or a connection string.
const MAX_BYTES: u64 = 64 << 10;

/// Sets every secret variable whose `_FILE` variant is set, and returns the names of those variables.
pub fn resolve(
    environment: &mut BTreeMap<String, String>,
    working_directory: &Path,
    vendor_names: &[&str],
    faults: &mut Vec<SettingsFault>,
) -> Vec<String> {
    let named: Vec<(String, String)> = environment
        .iter()
        .filter(|(_, path)| !path.trim().is_empty())
        .filter_map(|(variable, path)| Some((variable.strip_suffix(SUFFIX)?.to_owned(), path.clone())))
        .filter(|(name, _)| is_secret(name, vendor_names))
        .collect();
    let mut resolved = Vec::new();
    for (name, path) in named {
        let variable = format!("{name}{SUFFIX}");
        if environment.get(&name).is_some_and(|value| !value.trim().is_empty()) {
            let message = format!("is set together with {name}: set one of the two");
            faults.push(SettingsFault::new(variable, message));
            continue;
        }
        match read(&working_directory.join(path.trim())) {
            Ok(value) => {
                environment.insert(name.clone(), value);
                resolved.push(name);
            }
            Err(reason) => {
                faults.push(SettingsFault::new(variable, format!("names {}, which {reason}", path.trim())));
            }
        }
    }
    resolved
}

/// Whether a variable contains a secret: a secret setting or a provider's key.
fn is_secret(name: &str, vendor_names: &[&str]) -> bool {
    TABLE.iter().any(|setting| setting.secret && setting.env == name)
        || providers::is_key_variable(name, vendor_names)
}

/// Whether `name` is the `_FILE` variant of a secret variable.
pub fn is_known(name: &str, vendor_names: &[&str]) -> bool {
    name.strip_suffix(SUFFIX).is_some_and(|name| is_secret(name, vendor_names))
}

/// Reads a file without surrounding whitespace, such as the line break at its end.
fn read(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let length = std::fs::metadata(path).map_err(unreadable)?.len();
    if length > MAX_BYTES {
        return Err(format!("has {length} bytes; a secret has at most {MAX_BYTES}"));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    match text.trim() {
        "" => Err("is empty".to_owned()),
        value => Ok(value.to_owned()),
    }
}
