//! `gatehouse check`: everything that is wrong with the configuration, or in short what it says.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::settings::{self, SettingSource, Settings, SettingsFault, StorageType};

/// Ready to print; `valid` decides the exit code.
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
        Ok(settings) => match settings.without_effect() {
            faults if faults.is_empty() => Report { valid: true, text: summary(&settings) },
            faults => Report { valid: false, text: listing(&faults) },
        },
        Err(faults) => Report { valid: false, text: listing(&faults) },
    }
}

/// Also what `serve` prints before it gives up.
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

fn summary(settings: &Settings) -> String {
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
    line("master key", if server.master_key.is_some() { "set" } else { "not set; made at the first start" });
    line("storage", &storage(settings));
    let providers: Vec<String> = settings.providers.iter().map(|(provider, _)| describe(provider)).collect();
    match providers.as_slice() {
        [] => line("providers", "none"),
        [first, rest @ ..] => {
            line("providers", first);
            rest.iter().for_each(|provider| line("", provider));
        }
    }
    for origin in settings.sources.iter().filter(|origin| origin.source != SettingSource::Default) {
        let layer = if origin.source == SettingSource::Env { "environment" } else { "file" };
        line("set", &format!("{} = {} ({layer})", origin.setting.path, origin.shown));
    }
    for warning in &settings.warnings {
        line("warning", warning);
    }
    text
}

fn storage(settings: &Settings) -> String {
    match settings.storage.kind {
        StorageType::Sqlite => format!("sqlite in {}", settings.storage.sqlite_file().display()),
        StorageType::Postgres => "postgres".to_owned(),
    }
}

fn describe(provider: &domain::resources::provider::Provider) -> String {
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
          master key set
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
}
