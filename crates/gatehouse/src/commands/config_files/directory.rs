//! A directory of YAML files: sections with documents by name, in any number of files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::settings::{SettingsFault, to_json, yaml};

/// Files below a directory are read up to this depth.
const MAX_DEPTH: usize = 8;

/// Reads the documents of all files. A section may be spread over several files; a document is in one of them.
pub fn read(
    directory: &Path,
    variables: &BTreeMap<String, String>,
) -> Result<Map<String, Value>, Vec<SettingsFault>> {
    let mut files = Vec::new();
    if let Err(error) = find(directory, 0, &mut files) {
        let message = format!("cannot be read: {error}");
        return Err(vec![SettingsFault::new(directory.display().to_string(), message)]);
    }
    if files.is_empty() {
        let message = "has no files that end in .yaml or .yml".to_owned();
        return Err(vec![SettingsFault::new(directory.display().to_string(), message)]);
    }
    let (mut sections, mut origins, mut faults) = (Map::new(), BTreeMap::new(), Vec::new());
    for file in &files {
        match parse(file, variables) {
            Ok(parsed) => merge(file, parsed, &mut sections, &mut origins, &mut faults),
            Err(found) => faults.extend(found),
        }
    }
    if faults.is_empty() { Ok(sections) } else { Err(faults) }
}

/// The YAML files of a directory, in the order of their names. Hidden ones are left out.
fn find(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(directory)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    entries.sort();
    for path in entries {
        let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        if hidden {
            continue;
        }
        if path.is_dir() {
            if depth < MAX_DEPTH {
                find(&path, depth + 1, files)?;
            }
        } else if path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") {
            files.push(path);
        }
    }
    Ok(())
}

/// The sections of a file. All faults of its values are found, not only the first.
fn parse(
    file: &Path,
    variables: &BTreeMap<String, String>,
) -> Result<Map<String, Value>, Vec<SettingsFault>> {
    let fail = |fault: SettingsFault| vec![fault.in_file(file)];
    let text = std::fs::read_to_string(file)
        .map_err(|error| fail(SettingsFault::new("the file", format!("cannot be read: {error}"))))?;
    let root = yaml::parse(text.trim_start_matches('\u{feff}')).map_err(fail)?;
    let (mut sections, mut faults) = (Map::new(), Vec::new());
    let entries = match root.content {
        yaml::Content::Map(entries) => entries,
        yaml::Content::Null => Vec::new(),
        _ => {
            let message = "must hold sections such as 'aliases:'";
            return Err(fail(SettingsFault::new("the file", message).at(Some(root.place))));
        }
    };
    for entry in entries {
        match to_json(&entry.key, entry.value, variables) {
            Ok(value) => _ = sections.insert(entry.key, value),
            Err(fault) => faults.push(fault.in_file(file)),
        }
    }
    if faults.is_empty() { Ok(sections) } else { Err(faults) }
}

/// Adds the documents of a file to those of the files before it.
fn merge(
    file: &Path,
    parsed: Map<String, Value>,
    sections: &mut Map<String, Value>,
    origins: &mut BTreeMap<(String, String), PathBuf>,
    faults: &mut Vec<SettingsFault>,
) {
    for (section, value) in parsed {
        let known = sections.entry(section.clone()).or_insert_with(|| Value::Object(Map::new()));
        match (known, value) {
            (_, Value::Null) => {}
            (Value::Object(known), Value::Object(documents)) => {
                for (name, document) in documents {
                    let origin = origins.insert((section.clone(), name.clone()), file.to_owned());
                    if let Some(other) = origin {
                        let message = format!("is also in {}", other.display());
                        faults.push(SettingsFault::new(format!("{section}.{name}"), message).in_file(file));
                    }
                    known.insert(name, document);
                }
            }
            _ => {
                let message = "must hold documents by name";
                faults.push(SettingsFault::new(section, message).in_file(file));
            }
        }
    }
}

/// Writes one file per section. Files of sections that have no documents any more are removed.
pub fn write(directory: &Path, sections: &Map<String, Value>) -> Result<Vec<PathBuf>, String> {
    let fail = |path: &Path, error: std::io::Error| format!("{} cannot be written: {error}", path.display());
    std::fs::create_dir_all(directory).map_err(|error| fail(directory, error))?;
    for section in super::section_names() {
        let path = directory.join(format!("{section}.yaml"));
        if !sections.contains_key(&section) && path.exists() {
            std::fs::remove_file(&path).map_err(|error| fail(&path, error))?;
        }
    }
    let mut written = Vec::new();
    for (section, documents) in sections {
        let path = directory.join(format!("{section}.yaml"));
        let one = Map::from_iter([(section.clone(), documents.clone())]);
        let text = serde_saphyr::to_string(&one)
            .map_err(|error| format!("{section} cannot be written as YAML: {error}"))?;
        std::fs::write(&path, text).map_err(|error| fail(&path, error))?;
        written.push(path);
    }
    Ok(written)
}
