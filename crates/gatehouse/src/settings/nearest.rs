//! Suggestions for misspelled names.

use std::collections::{BTreeMap, BTreeSet};

use super::file::RESOURCES;
use super::{SECTIONS, TABLE, secret_files};
use crate::settings::providers::ENVIRONMENT_FIELDS;

/// The candidate that is most similar to a name, if any is similar enough.
pub fn among<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance =
        |candidate: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &candidate.to_lowercase());
    let allowed = (name.chars().count() / 3).max(2);
    candidates
        .map(|candidate| (distance(candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// A suggestion for a top-level key: a section, or a setting that was written without its section or by its variable's
/// name.
pub fn top_level(key: &str) -> Option<String> {
    let by_other_name = TABLE.iter().find(|setting| {
        setting.env.eq_ignore_ascii_case(key)
            || setting.path.rsplit('.').next().is_some_and(|leaf| leaf == key)
    });
    if let Some(setting) = by_other_name {
        return Some(setting.path.to_owned());
    }
    let sections = SECTIONS.iter().map(|section| section.name).chain(["providers", RESOURCES]);
    among(key, sections).map(str::to_owned)
}

/// A suggestion for `section.key`: a setting of that section first, then any other.
pub fn setting(path: &str) -> Option<String> {
    let (section, leaf) = path.split_once('.').unwrap_or(("", path));
    let in_section = TABLE.iter().filter_map(|setting| setting.path.strip_prefix(section)?.strip_prefix('.'));
    if let Some(nearest) = among(leaf, in_section) {
        return Some(format!("{section}.{nearest}"));
    }
    top_level(leaf)
        .filter(|nearest| nearest.contains('.'))
        .or_else(|| among(path, TABLE.iter().map(|setting| setting.path)).map(str::to_owned))
}

/// Warnings for variables that resemble a setting. Only warnings, because other programs share the environment;
/// variables with the gateway's own prefix are reported even without a similar setting.
pub fn suspicious_names(environment: &BTreeMap<String, String>, vendor_names: &[&str]) -> Vec<String> {
    let mut known: BTreeSet<String> = TABLE.iter().map(|setting| setting.env.to_owned()).collect();
    known.insert("GATEWAY_CONFIG".to_owned());
    for vendor in vendor_names {
        known
            .extend(ENVIRONMENT_FIELDS.map(|(suffix, _)| format!("{}{suffix}", vendor.to_ascii_uppercase())));
    }
    let candidates = || known.iter().map(String::as_str);
    let mut warnings = Vec::new();
    for name in environment
        .keys()
        .filter(|name| !known.contains(*name) && !known.contains(&name.to_ascii_uppercase()))
        .filter(|name| !secret_files::is_known(name, vendor_names))
    {
        if name.starts_with("GATEWAY_") {
            let nearest = among(name, candidates()).map(|nearest| format!("; did you mean {nearest}?"));
            warnings.push(format!("{name} is not a setting{}", nearest.unwrap_or_default()));
        } else if let Some(nearest) = candidates().find(|known| is_slip(name, known)) {
            warnings.push(format!("{name} is not a setting; did you mean {nearest}?"));
        }
    }
    warnings
}

/// Whether a name is a typo: one letter wrong, missing, added or swapped, in a name long enough for that to be unlikely
/// otherwise.
fn is_slip(name: &str, known: &str) -> bool {
    known.len() >= 8 && name.len().abs_diff(known.len()) <= 1 && strsim::damerau_levenshtein(name, known) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_file() {
        assert_eq!(top_level("sever").as_deref(), Some("server"));
        assert_eq!(top_level("provider").as_deref(), Some("providers"));
        assert_eq!(top_level("port").as_deref(), Some("server.port"));
        assert_eq!(top_level("GATEWAY_MASTER_KEY").as_deref(), Some("server.master_key"));
        assert_eq!(top_level("zebra_crossing"), None);
        assert_eq!(setting("server.prot").as_deref(), Some("server.port"));
        assert_eq!(setting("server.sqlite_path").as_deref(), Some("storage.sqlite_path"));
        assert_eq!(setting("storage.STORAGE_TYPE").as_deref(), Some("storage.type"));
    }

    #[test]
    fn names_in_the_environment() {
        let environment =
            |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect();
        let warnings = suspicious_names(
            &environment(&["GATEWAY_MASTERKEY", "OPENAI_APIKEY", "LOG_LEVLE", "GATEWAY_ZZZZ"]),
            &["openai"],
        );
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert!(
            warnings[0].contains("GATEWAY_MASTER_KEY")
                && warnings[1].ends_with("GATEWAY_ZZZZ is not a setting")
        );
        assert!(warnings[2].contains("LOG_LEVEL") && warnings[3].contains("OPENAI_API_KEY"));
        let quiet = [
            "PATH",
            "HOME",
            "HOSTS",
            "http_proxy",
            "OPENAI_API_KEY",
            "OPENAI_EAST_API_KEY",
            "GITHUB_API_KEY",
            "GATEWAY_CONFIG",
        ];
        assert_eq!(suspicious_names(&environment(&quiet), &["openai"]), Vec::<String>::new());
    }
}
