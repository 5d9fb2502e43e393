//! Reads the YAML file into settings by path and providers by name; reports unknown keys and wrong types.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use server::FileResources;

use super::expand::expand;
use super::fault::{FilePosition, SettingsFault};
use super::json_value;
use super::nearest;
use super::yaml::{self, Content, Entry, Node};
use super::{SECTIONS, TABLE};

/// A value in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The value with variables expanded.
    pub text: String,
    /// The value as written, which is safe to show.
    pub raw: String,
    pub file: PathBuf,
    pub place: FilePosition,
}

#[derive(Default)]
pub struct Contents {
    pub values: BTreeMap<&'static str, Given>,
    pub providers: Vec<ProviderEntry>,
    pub resources: FileResources,
}

/// A provider as written; its fields are validated together with those of the environment.
pub struct ProviderEntry {
    pub name: String,
    pub file: PathBuf,
    pub place: FilePosition,
    pub fields: BTreeMap<&'static str, Given>,
    pub headers: BTreeMap<String, String>,
}

pub const PROVIDER_FIELDS: [&str; 9] =
    ["type", "api_key", "base_url", "api_version", "models", "headers", "enabled", "priority", RESILIENCE];

const RESILIENCE: &str = "resilience";

/// The section with documents of the admin API.
pub const RESOURCES: &str = "resources";

/// The fields below `resilience`, with their paths.
const RESILIENCE_FIELDS: [&str; 8] = [
    "resilience.connect_timeout_ms",
    "resilience.first_byte_timeout_ms",
    "resilience.idle_timeout_ms",
    "resilience.total_timeout_ms",
    "resilience.max_retries",
    "resilience.breaker_failures",
    "resilience.breaker_open_ms",
    "resilience.http2",
];

pub fn read(
    path: Option<&Path>,
    environment: &BTreeMap<String, String>,
    faults: &mut Vec<SettingsFault>,
) -> Contents {
    let Some(path) = path else { return Contents::default() };
    let tree = std::fs::read_to_string(path)
        .map_err(|error| SettingsFault::new("the file", format!("cannot be read: {error}")))
        .and_then(|text| yaml::parse(text.trim_start_matches('\u{feff}')));
    match tree {
        Ok(tree) => {
            let mut walk = Walk { file: path, environment, faults, contents: Contents::default() };
            walk.root(tree);
            walk.contents
        }
        Err(fault) => {
            faults.push(fault.in_file(path));
            Contents::default()
        }
    }
}

struct Walk<'a> {
    file: &'a Path,
    environment: &'a BTreeMap<String, String>,
    faults: &'a mut Vec<SettingsFault>,
    contents: Contents,
}

impl Walk<'_> {
    fn root(&mut self, tree: Node) {
        for entry in self.entries("the file", tree) {
            if entry.key == "providers" {
                for provider in self.entries("providers", entry.value) {
                    self.provider(provider);
                }
            } else if entry.key == RESOURCES {
                for section in self.entries(RESOURCES, entry.value) {
                    self.resources(section);
                }
            } else if SECTIONS.iter().any(|section| section.name == entry.key) {
                let section = entry.key;
                for entry in self.entries(&section, entry.value) {
                    self.setting(&section, entry);
                }
            } else {
                self.unknown(&entry.key, entry.place, nearest::top_level(&entry.key));
            }
        }
    }

    /// The documents of a section below `resources`.
    fn resources(&mut self, section: Entry) {
        let path = format!("{RESOURCES}.{}", section.key);
        let Some((name, is_single)) = FileResources::sections().find(|(name, _)| *name == section.key) else {
            let nearest = nearest::among(&section.key, FileResources::sections().map(|(name, _)| name));
            self.unknown(&path, section.place, nearest.map(|nearest| format!("{RESOURCES}.{nearest}")));
            return;
        };
        if is_single {
            return self.resource(name, section);
        }
        for document in self.entries(&path, section.value) {
            self.resource(name, document);
        }
    }

    fn resource(&mut self, section: &str, document: Entry) {
        let path = format!("{RESOURCES}.{section}.{}", document.key);
        let members = match json_value::to_json(&path, document.value, self.environment) {
            Ok(Value::Object(members)) => members,
            Ok(Value::Null) => Map::new(),
            Ok(_) => {
                self.fault(&path, "must hold 'key: value' lines", document.place);
                return;
            }
            Err(fault) => return self.faults.push(fault.in_file(self.file)),
        };
        if let Err(fault) = self.contents.resources.add(section, &document.key, members) {
            let key = fault.param.as_ref().map_or(path.clone(), |param| format!("{path}.{param}"));
            let message = format!("is not valid: {}", fault.message);
            self.fault(&key, &message, document.place);
        }
    }

    fn setting(&mut self, section: &str, entry: Entry) {
        let path = format!("{section}.{}", entry.key);
        let Some(setting) = TABLE.iter().find(|setting| setting.path == path) else {
            self.unknown(&path, entry.place, nearest::setting(&path));
            return;
        };
        let is_list = setting.kind == <Vec<String> as super::value::Value>::KIND;
        let given = match setting.structured {
            true => self.structured(setting.path, entry.value),
            false => self.given(setting.path, entry.value, is_list),
        };
        if let Some(given) = given {
            self.contents.values.insert(setting.path, given);
        }
    }

    fn provider(&mut self, entry: Entry) {
        let name = entry.key;
        let path = format!("providers.{name}");
        let mut provider = ProviderEntry {
            name,
            file: self.file.to_owned(),
            place: entry.place,
            fields: BTreeMap::new(),
            headers: BTreeMap::new(),
        };
        for entry in self.entries(&path, entry.value) {
            let path = format!("{path}.{}", entry.key);
            match PROVIDER_FIELDS.into_iter().find(|field| *field == entry.key) {
                Some("headers") => {
                    for header in self.entries(&path, entry.value) {
                        let path = format!("{path}.{}", header.key);
                        if let Some(given) = self.given(&path, header.value, false) {
                            provider.headers.insert(header.key, given.text);
                        }
                    }
                }
                Some(RESILIENCE) => {
                    for limit in self.entries(&path, entry.value) {
                        self.limit(&mut provider, limit);
                    }
                }
                Some(field) => {
                    if let Some(given) = self.given(&path, entry.value, field == "models") {
                        provider.fields.insert(field, given);
                    }
                }
                None => {
                    let nearest = nearest::among(&entry.key, PROVIDER_FIELDS.into_iter());
                    self.unknown(&path, entry.place, nearest.map(str::to_owned));
                }
            }
        }
        self.contents.providers.push(provider);
    }

    fn limit(&mut self, provider: &mut ProviderEntry, entry: Entry) {
        let name = format!("{RESILIENCE}.{}", entry.key);
        let path = format!("providers.{}.{name}", provider.name);
        match RESILIENCE_FIELDS.into_iter().find(|field| *field == name) {
            Some(field) => {
                if let Some(given) = self.given(&path, entry.value, false) {
                    provider.fields.insert(field, given);
                }
            }
            None => {
                let known = RESILIENCE_FIELDS.into_iter().filter_map(|field| field.split_once('.'));
                let nearest = nearest::among(&entry.key, known.map(|(_, field)| field));
                self.unknown(&path, entry.place, nearest.map(str::to_owned));
            }
        }
    }

    /// The entries of a section. An empty section is valid: its lines may all be commented out.
    fn entries(&mut self, path: &str, node: Node) -> Vec<Entry> {
        match node.content {
            Content::Map(entries) => entries,
            Content::Null => Vec::new(),
            Content::Scalar(_) | Content::List(_) => {
                self.fault(path, "must hold 'key: value' lines", node.place);
                Vec::new()
            }
        }
    }

    /// The value of a node. Null counts as not given; the items of a list are joined by commas.
    fn given(&mut self, path: &str, node: Node, is_list: bool) -> Option<Given> {
        let place = node.place;
        let raw = match node.content {
            Content::Null => return None,
            Content::Scalar(text) => text,
            Content::List(items) if is_list => {
                let texts: Option<Vec<String>> = items.into_iter().map(text).collect();
                match texts {
                    Some(texts) => texts.join(","),
                    None => return self.fault(path, "must be a list of plain values", place),
                }
            }
            Content::List(_) | Content::Map(_) => return self.fault(path, "must be one plain value", place),
        };
        match expand(&raw, self.environment) {
            Ok(text) => Some(Given { text: text.trim().to_owned(), raw, file: self.file.to_owned(), place }),
            Err(message) => self.fault(path, &message, place),
        }
    }

    /// The value of a node with parts, as JSON. Its scalars are text.
    fn structured(&mut self, path: &str, node: Node) -> Option<Given> {
        let place = node.place;
        if node.content == Content::Null {
            return None;
        }
        let raw = node.json(&mut |text| Ok(text.to_owned())).ok()?.to_string();
        match node.json(&mut |text| expand(text, self.environment)) {
            Ok(json) => Some(Given { text: json.to_string(), raw, file: self.file.to_owned(), place }),
            Err(message) => self.fault(path, &message, place),
        }
    }

    fn unknown(&mut self, key: &str, place: FilePosition, nearest: Option<String>) {
        let message = match nearest {
            Some(nearest) => format!("is not a setting; did you mean {nearest}?"),
            None => "is not a setting".to_owned(),
        };
        self.fault(key, &message, place);
    }

    fn fault(&mut self, key: &str, message: &str, place: FilePosition) -> Option<Given> {
        self.faults.push(SettingsFault::new(key, message).in_file(self.file).at(Some(place)));
        None
    }
}

fn text(node: Node) -> Option<String> {
    match node.content {
        Content::Scalar(text) => Some(text),
        _ => None,
    }
}
