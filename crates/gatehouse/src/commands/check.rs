//! `gatehouse check`: lists all faults of the configuration, or summarizes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use domain::resources::provider::Provider;

use crate::master_key;
use crate::settings::{self, Demo, SettingSource, Settings, SettingsFault, StorageType};
use crate::{embedder, semantic_store, shared_store};

/// The printable result; `valid` determines the exit status.
#[derive(Debug)]
pub struct Report {
    pub valid: bool,
    pub text: String,
}

pub fn run(
    environment: BTreeMap<String, String>,
    working_directory: &Path,
    config: Option<&Path>,
    vendor_names: &[&str],
) -> Report {
    match settings::load(environment, working_directory, config, vendor_names) {
        Ok(settings) => match ineffective(&settings) {
            faults if faults.is_empty() => {
                Report { valid: true, text: summary(&settings, working_directory) }
            }
            faults => Report { valid: false, text: listing(&faults) },
        },
        Err(faults) => Report { valid: false, text: listing(&faults) },
    }
}

/// Lists the faults. `serve` prints the same list before it exits.
pub fn listing(faults: &[SettingsFault]) -> String {
    let mut text = match faults.len() {
        1 => "There is a fault in the configuration:\n".to_owned(),
        count => format!("There are {count} faults in the configuration:\n"),
    };
    for fault in faults {
        let _ = writeln!(text, "  {fault}");
    }
    text
}

/// Valid settings that cannot work: errors in `check`, only warnings at the start, because the rest may still be
/// useful.
pub fn ineffective(settings: &Settings) -> Vec<SettingsFault> {
    let enabled = settings.providers.iter().map(|(provider, _)| provider).filter(|provider| provider.enabled);
    let faults = settings.without_effect().into_iter().chain(enabled.filter_map(incomplete));
    let faults = faults.chain(embedder::missing(settings)).chain(semantic_store::missing(settings));
    faults.chain(shared_store::missing(settings)).collect()
}

/// A fault if a provider lacks a value that its type requires.
fn incomplete(provider: &Provider) -> Option<SettingsFault> {
    let vendor = wire::vendors::find(&provider.provider_type)?;
    let name = &provider.name;
    // Only an instance named after its type can be set by variables.
    let of_type = name.strip_prefix(vendor.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    let variable = name.to_ascii_uppercase().replace('-', "_");
    let variable = |field: &str| if of_type { format!(" ({variable}_{field})") } else { String::new() };
    if vendor.base_url_required && provider.base_url.is_empty() {
        let message = format!("is missing: type {} has no default{}", vendor.name, variable("BASE_URL"));
        return Some(SettingsFault::new(format!("providers.{name}.base_url"), message));
    }
    // A self-hosted server behind another base URL may need no key.
    let own_server = !provider.base_url.is_empty() && !vendor.base_url_required;
    if vendor.key_required && provider.api_key.is_none() && !own_server && !has_credential_header(provider) {
        let message =
            format!("is missing: {} refuses calls without a key{}", vendor.title, variable("API_KEY"));
        return Some(SettingsFault::new(format!("providers.{name}.api_key"), message));
    }
    None
}

fn has_credential_header(provider: &Provider) -> bool {
    const NAMES: [&str; 4] = ["authorization", "api-key", "x-api-key", "x-goog-api-key"];
    provider.headers.keys().any(|name| NAMES.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

fn summary(settings: &Settings, working_directory: &Path) -> String {
    let mut text = "The configuration is valid.\n".to_owned();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<10} {value}");
    };
    let file = settings.config_file.as_ref().map_or("none".to_owned(), |file| file.display().to_string());
    line("file", &file);
    let server = &settings.server;
    let host = if server.host.contains(':') && !server.host.starts_with('[') {
        format!("[{}]", server.host)
    } else {
        server.host.clone()
    };
    line("address", &format!("http://{host}:{}{}", server.port, server.base_path.0));
    let master_key = master_key::describe(settings, working_directory);
    line("master key", &master_key.summary);
    line("storage", &storage(settings));
    for (index, provider) in providers(settings).iter().enumerate() {
        line(if index == 0 { "providers" } else { "" }, provider);
    }
    for origin in settings.sources.iter().filter(|origin| origin.source != SettingSource::Default) {
        let location = if origin.source == SettingSource::File { "file" } else { &origin.location };
        line("set", &format!("{} = {} ({location})", origin.setting.path, origin.shown));
    }
    for warning in settings.warnings.iter().chain(&master_key.warning) {
        line("warning", warning);
    }
    text
}

/// The configured providers, and the built-in demo if it is served.
fn providers(settings: &Settings) -> Vec<String> {
    let mut shown: Vec<String> = settings.providers.iter().map(|(provider, _)| describe(provider)).collect();
    match settings.demo.enabled {
        Demo::On => shown.push("demo (built in)".to_owned()),
        Demo::Auto if shown.is_empty() => {
            shown.push("demo (built in, as long as no other provider is configured)".to_owned());
        }
        Demo::Off if shown.is_empty() => {
            shown.push("none: add one here or through the admin API".to_owned());
        }
        _ => {}
    }
    shown
}

fn storage(settings: &Settings) -> String {
    match settings.storage.kind {
        StorageType::Sqlite => format!("sqlite in {}", settings.storage.sqlite_file().display()),
        StorageType::Postgres => "postgres".to_owned(),
    }
}

fn describe(provider: &Provider) -> String {
    let key = if provider.api_key.is_some() { "key set" } else { "no key" };
    let off = if provider.enabled { "" } else { ", disabled" };
    format!("{} ({}, {key}{off})", provider.name, provider.provider_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_with(variables: &[(&str, &str)], file: &str) -> Report {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("gatehouse.yaml"), file).unwrap();
        let environment =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut report = run(environment, directory.path(), None, &["openai", "ollama"]);
        report.text = report.text.replace(&directory.path().display().to_string(), "[directory]");
        report
    }

    #[test]
    fn a_valid_configuration_is_summed_up_without_its_secrets() {
        let report = run_with(
            &[("OPENAI_API_KEY", "sk-secret"), ("PORT", "9000"), ("GATEWAY_MASTERKEY", "hush")],
            "providers:\n  ollama:\nserver:\n  master_key: topsecret\n",
        );
        assert!(report.valid);
        insta::assert_snapshot!(report.text, @r"
        The configuration is valid.
          file       [directory]/gatehouse.yaml
          address    http://127.0.0.1:9000/
          master key from server.master_key in [directory]/gatehouse.yaml
          storage    sqlite in ./data/gatehouse.db
          providers  ollama (ollama, no key)
                     openai (openai, key set)
          set        server.port = 9000 (environment)
          set        server.master_key = *** (file)
          warning    GATEWAY_MASTERKEY is not a setting; did you mean GATEWAY_MASTER_KEY?
        ");
    }

    #[test]
    fn a_setting_without_its_capability_is_a_fault() {
        let budgets = ("BUDGETS", "/=daily:5");
        let report = run_with(&[budgets], "spending:\n  budgets_fail: closed\n");
        assert!(!report.valid);
        insta::assert_snapshot!(report.text, @r"
        There are 2 faults in the configuration:
          spending.budgets_fail (BUDGETS_FAIL) has no effect without the capability advancedBudgets: set GATEWAY_CAPABILITIES=advancedBudgets or GATEWAY_EDITION=enterprise
          spending.budgets (BUDGETS) has no effect without the capability advancedBudgets: set GATEWAY_CAPABILITIES=advancedBudgets or GATEWAY_EDITION=enterprise
        ");
        assert!(run_with(&[budgets, ("GATEWAY_CAPABILITIES", "advancedBudgets")], "").valid);
        assert!(run_with(&[budgets, ("GATEWAY_EDITION", "enterprise")], "").valid);
        let unknown = run_with(&[("GATEWAY_CAPABILITIES", "budgets")], "");
        assert!(
            !unknown.valid && unknown.text.contains("names 'budgets', which is none of advancedBudgets, ")
        );
    }

    #[test]
    fn a_semantic_cache_without_an_embedder_is_a_fault() {
        let on = ("SEMANTIC_CACHE_ENABLED", "true");
        let report = run_with(&[on, ("DATA_DIR", "nowhere")], "");
        assert!(!report.valid);
        for needed in ["SEMANTIC_CACHE_ENABLED", "nowhere/models/encoder.model", "gatehouse models import"] {
            assert!(report.text.contains(needed), "{}", report.text);
        }
        assert!(run_with(&[on, ("SEMANTIC_CACHE_EMBEDDER", "openai/text-embedding-3-small")], "").valid);
        let wrong = run_with(&[("SEMANTIC_CACHE_THRESHOLD", "0"), ("SEMANTIC_CACHE_MODE", "on")], "");
        assert!(!wrong.valid && wrong.text.contains("shadow or serve"), "{}", wrong.text);
        assert!(wrong.text.contains("must be above 0"), "{}", wrong.text);
    }

    #[test]
    fn a_store_of_the_semantic_cache_without_its_settings_is_a_fault() {
        let on = [
            ("SEMANTIC_CACHE_ENABLED", "true"),
            ("SEMANTIC_CACHE_EMBEDDER", "openai/text-embedding-3-small"),
        ];
        let with = |more: &[(&'static str, &'static str)]| run_with(&[&on[..], more].concat(), "");
        let pgvector = ("SEMANTIC_CACHE_STORE", "pgvector");
        let report = with(&[pgvector]);
        assert!(!report.valid && report.text.contains("STORAGE_TYPE"), "{}", report.text);
        let postgres = [pgvector, ("STORAGE_TYPE", "postgres"), ("POSTGRES_URL", "postgres://u@h/d")];
        assert!(with(&postgres).valid);
        let qdrant = ("SEMANTIC_CACHE_STORE", "qdrant");
        let report = with(&[qdrant]);
        assert!(!report.valid && report.text.contains("SEMANTIC_CACHE_QDRANT_URL"), "{}", report.text);
        assert!(with(&[qdrant, ("SEMANTIC_CACHE_QDRANT_URL", "http://127.0.0.1:6333")]).valid);
        for (name, value, reason) in [
            ("SEMANTIC_CACHE_STORE", "redis", "embedded, pgvector or qdrant"),
            ("SEMANTIC_CACHE_QDRANT_URL", "127.0.0.1", "http://"),
            ("SEMANTIC_CACHE_QDRANT_COLLECTION", "a/b", "letters"),
            ("SEMANTIC_CACHE_EMBEDDING_TIMEOUT", "0", "longer than 0"),
        ] {
            let report = with(&[(name, value)]);
            assert!(!report.valid && report.text.contains(reason), "{name}: {}", report.text);
        }
    }

    #[test]
    fn every_fault_is_listed() {
        let report = run_with(
            &[("PORT", "http"), ("ENCRYPTION_KEY", "too-short")],
            "sever:\n  port: 1\nlog:\n  levle: info\n  format: xml\nproviders:\n  a:\n    type: opena\n    api_kye: x\n",
        );
        assert!(!report.valid && !report.text.contains("too-short"));
        insta::assert_snapshot!(report.text, @r"
        There are 7 faults in the configuration:
          [directory]/gatehouse.yaml:1:1: sever is not a setting; did you mean server?
          [directory]/gatehouse.yaml:4:3: log.levle is not a setting; did you mean log.level?
          [directory]/gatehouse.yaml:9:5: providers.a.api_kye is not a setting; did you mean api_key?
          server.port (PORT): 'http' is not a whole number from 0 to 65535
          storage.encryption_key (ENCRYPTION_KEY): the value is not 32 bytes in hex or base64
          [directory]/gatehouse.yaml:5:11: log.format (LOG_FORMAT): 'xml' is not text or json
          [directory]/gatehouse.yaml:8:11: providers.a.type: 'opena' is not a provider type; did you mean openai?
        ");
    }

    #[test]
    fn a_bare_start_names_the_demo_and_the_key_to_come() {
        let report = run_with(&[], "");
        assert!(report.valid);
        insta::assert_snapshot!(report.text, @r"
        The configuration is valid.
          file       [directory]/gatehouse.yaml
          address    http://127.0.0.1:8080/
          master key not set; one is generated in ./data/master.key at the first start
          storage    sqlite in ./data/gatehouse.db
          providers  demo (built in, as long as no other provider is configured)
        ");
        let report = run_with(&[("DEMO_ENABLED", "false")], "");
        assert!(report.text.contains("providers  none: add one"), "{}", report.text);
        let report = run_with(&[("DEMO_ENABLED", "true"), ("OLLAMA_BASE_URL", "http://localhost:1/v1")], "");
        assert!(report.text.contains("             demo (built in)"), "{}", report.text);
    }

    #[test]
    fn providers_that_cannot_work_are_faults() {
        let vendors = ["openai", "azure", "oracle", "anthropic", "openai_compatible"];
        let check = |variables: &[(&str, &str)], file: &str| {
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(directory.path().join("gatehouse.yaml"), file).unwrap();
            let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            run(variables, directory.path(), None, &vendors)
        };
        let report = check(
            &[("AZURE_EAST_API_KEY", "hush-hush")],
            "providers:\n  anthropic:\n  lab: {type: openai_compatible}\n",
        );
        assert!(!report.valid && !report.text.contains("hush"));
        insta::assert_snapshot!(report.text, @r"
        There are 3 faults in the configuration:
          providers.anthropic.api_key is missing: Anthropic refuses calls without a key (ANTHROPIC_API_KEY)
          providers.azure-east.base_url is missing: type azure has no default (AZURE_EAST_BASE_URL)
          providers.lab.base_url is missing: type openai_compatible has no default
        ");
        for (variables, file) in [
            (&[("OPENAI_BASE_URL", "http://localhost:9/v1")][..], ""),
            (&[("AZURE_API_KEY", "k"), ("AZURE_BASE_URL", "https://x.example")], ""),
            (&[], "providers: {anthropic: {enabled: false}}"),
            (&[], "providers: {openai: {headers: {Authorization: Bearer x}}}"),
        ] {
            let report = check(variables, file);
            assert!(report.valid, "{}", report.text);
        }
    }

    #[test]
    fn a_base_url_that_names_an_endpoint_is_a_fault() {
        let report = run_with(
            &[("OPENAI_API_KEY", "k"), ("OPENAI_BASE_URL", "https://api.openai.com/v1/chat/completions")],
            "providers:\n  lab:\n    type: ollama\n    base_url: http://localhost:1/v1/embeddings/\n",
        );
        assert!(!report.valid);
        for expected in [
            "OPENAI_API_KEY, OPENAI_BASE_URL is not valid: 'base_url' ends in '/chat/completions', which the gateway appends itself: use 'https://api.openai.com/v1'.",
            "gatehouse.yaml:2:3: providers.lab is not valid: 'base_url' ends in '/embeddings', which the gateway appends itself: use 'http://localhost:1/v1'.",
        ] {
            assert!(report.text.contains(expected), "{}", report.text);
        }
    }
}
