//! Tests of loading settings: layers, faults, providers, and the generated documentation.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use domain::resources::provider::{ProviderSource, Resilience};

use super::value::ByteSize;
use super::*;

const VENDORS: [&str; 5] = ["openai", "anthropic", "azure", "ollama", "openai_compatible"];

struct Case {
    directory: tempfile::TempDir,
    environment: BTreeMap<String, String>,
}

fn case() -> Case {
    Case { directory: tempfile::tempdir().unwrap(), environment: BTreeMap::new() }
}

impl Case {
    fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.directory.path().join(name), text).unwrap();
        self
    }

    fn yaml(self, text: &str) -> Self {
        self.file("gatehouse.yaml", text)
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    fn load(&self) -> Result<Settings, Vec<SettingsFault>> {
        load(self.environment.clone(), self.directory.path(), None, &VENDORS)
    }

    #[track_caller]
    fn settings(&self) -> Settings {
        self.load().unwrap_or_else(|faults| panic!("{faults:#?}"))
    }

    #[track_caller]
    fn faults(&self) -> Vec<String> {
        let directory = self.directory.path().join("");
        let shown = |fault: SettingsFault| fault.to_string().replace(directory.to_str().unwrap(), "");
        self.load().expect_err("faults").into_iter().map(shown).collect()
    }
}

fn source(settings: &Settings, path: &str) -> SettingSource {
    settings.sources.iter().find(|origin| origin.setting.path == path).unwrap().source
}

#[test]
fn an_empty_configuration_has_all_defaults() {
    let settings = case().settings();
    assert_eq!((settings.server.host.as_str(), settings.server.port), ("127.0.0.1", 8080));
    assert_eq!(settings.server.body_size_limit, ByteSize(10 << 20));
    assert_eq!(settings.storage.sqlite_file(), Path::new("./data/gatehouse.db"));
    assert_eq!(settings.models.refresh_interval, Duration::from_secs(3600));
    assert_eq!(settings.demo.enabled, Demo::Auto);
    assert!(
        settings.server.master_key.is_none()
            && settings.providers.is_empty()
            && settings.config_file.is_none()
    );
    assert_eq!(settings.sources.len(), TABLE.len());
    assert!(settings.sources.iter().all(|origin| origin.source == SettingSource::Default));
}

#[test]
fn the_table_is_sound() {
    let mut names: Vec<&str> =
        TABLE.iter().map(|setting| setting.path).chain(TABLE.iter().map(|setting| setting.env)).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "a name is used twice");
    for setting in TABLE {
        let section = setting.path.split('.').next().unwrap();
        assert!(SECTIONS.iter().any(|known| known.name == section), "{}", setting.path);
        assert!(!setting.secret || setting.default.is_empty(), "{} is a secret with a default", setting.path);
    }
}

#[test]
fn the_environment_wins_over_the_file_over_defaults() {
    let settings = case().yaml("server:\n  port: 9000\n  host: 0.0.0.0\n").env("PORT", "9100").settings();
    assert_eq!((settings.server.host.as_str(), settings.server.port), ("0.0.0.0", 9100));
    assert_eq!(source(&settings, "server.host"), SettingSource::File);
    assert_eq!(source(&settings, "server.port"), SettingSource::Env);
    assert_eq!(source(&settings, "server.base_path"), SettingSource::Default);
}

#[test]
fn the_environment_overrides_dotenv() {
    let case = case()
        .file(".env", "PORT=9000\nHOST=0.0.0.0\nGATEWAY_CONFIG=other.yaml\n")
        .file("other.yaml", "log: {level: debug}\n");
    let settings = case.env("PORT", "9100").settings();
    assert_eq!((settings.server.host.as_str(), settings.server.port), ("0.0.0.0", 9100));
    assert_eq!(settings.log.level, "debug");
}

#[test]
fn an_empty_variable_is_not_set() {
    let settings =
        case().yaml("server: {port: 9000}\n").env("PORT", "").env("GATEWAY_MASTER_KEY", " ").settings();
    assert_eq!(settings.server.port, 9000);
    assert!(settings.server.master_key.is_none());
}

#[test]
fn proxies_are_read_in_lower_case_too() {
    let settings =
        case().env("https_proxy", "http://p:1").env("NO_PROXY", "a, b").env("no_proxy", "c").settings();
    assert_eq!(settings.proxy.https.unwrap().reveal(), "http://p:1");
    assert_eq!(settings.proxy.no_proxy, ["a", "b"]);
}

#[test]
fn lists_are_lists_or_text() {
    let expected = ["https://a.example", "https://b.example"];
    for yaml in ["[\"https://a.example\", \"https://b.example\"]", "https://a.example, https://b.example"] {
        let settings = case().yaml(&format!("server:\n  cors_origins: {yaml}\n")).settings();
        assert_eq!(settings.server.cors_origins, expected);
    }
}

#[test]
fn a_named_file_must_be_there() {
    let case = case().env("GATEWAY_CONFIG", "absent.yaml");
    assert!(case.faults()[0].starts_with("absent.yaml: the file cannot be read"), "{:?}", case.faults());
    let named = load(BTreeMap::new(), case.directory.path(), Some(Path::new("named.yaml")), &VENDORS);
    assert!(named.is_err());
}

#[test]
fn all_faults_are_reported_at_once() {
    let faults = case()
        .yaml(
            "\
server:
  port: eighty
  prot: 1
  body_size_limit: 1G
  host: ${UNSET_VARIABLE}
  base_path: [a]
sever: {}
log: loud
providers:
  mine:
    type: openia
    enabled: perhaps
  azure:
    base_url: example.com
    haeders: {}
  bad name:
    type: openai
",
        )
        .env("STORAGE_TYPE", "postgres")
        .env("SHUTDOWN_GRACE", "soon")
        .env("OLLAMA_BASE_URL", "localhost")
        .faults();
    insta::assert_snapshot!(faults.join("\n"), @r"
    gatehouse.yaml:3:3: server.prot is not a setting; did you mean server.port?
    gatehouse.yaml:5:9: server.host needs the variable UNSET_VARIABLE, which is not set; '${UNSET_VARIABLE:-…}' gives it a default
    gatehouse.yaml:6:14: server.base_path must be one plain value
    gatehouse.yaml:7:1: sever is not a setting; did you mean server?
    gatehouse.yaml:8:6: log must hold 'key: value' lines
    gatehouse.yaml:15:5: providers.azure.haeders is not a setting; did you mean headers?
    gatehouse.yaml:2:9: server.port (PORT): 'eighty' is not a whole number from 0 to 65535
    gatehouse.yaml:4:20: server.body_size_limit (BODY_SIZE_LIMIT): '1G' must lie between 1K and 100M
    server.shutdown_grace (SHUTDOWN_GRACE): 'soon' is not a duration such as 30, 30s, 250ms, 5m or 1h
    storage.postgres_url (POSTGRES_URL) is needed because storage.type (STORAGE_TYPE) is postgres
    gatehouse.yaml:11:11: providers.mine.type: 'openia' is not a provider type; did you mean openai?
    gatehouse.yaml:12:14: providers.mine.enabled: 'perhaps' is not true or false
    gatehouse.yaml:14:15: providers.azure.base_url: 'example.com' is not an address that begins with http:// or https://
    gatehouse.yaml:16:3: providers.bad name is not valid: A provider's name has 1 to 100 letters, digits, '-', '_' or '.': it stands before the slash in 'provider/model'.
    OLLAMA_BASE_URL: 'localhost' is not an address that begins with http:// or https://
    ");
}

#[test]
fn no_fault_shows_a_secret() {
    let case = case()
        .yaml("server:\n  port: ${LEAK}\nproviders:\n  openai:\n    api_key: [hush]\n    base_url: user:hush@host\n")
        .env("LEAK", "hush")
        .env("ENCRYPTION_KEY", "hush")
        .env("POSTGRES_URL", "mysql://hush")
        .env("OLLAMA_BASE_URL", "ftp://me:hush@host")
        .file(".env", "hush\n");
    let faults = case.faults();
    assert_eq!(faults.len(), 7, "{faults:#?}");
    assert!(!faults.join("\n").contains("hush"), "{faults:#?}");
    let loaded = case_with_secrets().settings();
    assert!(!format!("{loaded:?}").contains("hush"));
}

fn case_with_secrets() -> Case {
    case()
        .env("GATEWAY_MASTER_KEY", "hush")
        .env("POSTGRES_URL", "postgres://hush")
        .env("HTTP_PROXY", "http://me:hush@proxy")
        .env("OPENAI_API_KEY", "hush")
}

#[test]
fn broken_yaml_is_one_fault_with_a_place_and_the_environment_is_still_judged() {
    let faults = case().yaml("server:\n  port: [1\n").env("PORT", "x").faults();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].starts_with("gatehouse.yaml:"), "{faults:?}");
    assert!(faults[1].contains("server.port (PORT): 'x' is not a whole number"), "{faults:?}");
}

#[test]
fn providers_from_the_environment() {
    let settings = case()
        .env("OPENAI_API_KEY", "one")
        .env("OPENAI_EU_WEST_API_KEY", "two")
        .env("OPENAI_EU_WEST_MODELS", "gpt-4o, gpt-5")
        .env("OPENAI_COMPATIBLE_API_KEY", "three")
        .env("AZURE_API_VERSION", "2024-10-21")
        .settings();
    let seen: Vec<_> = settings
        .providers
        .iter()
        .map(|(provider, source)| {
            let key = provider.api_key.as_ref().unwrap().reveal();
            (provider.name.as_str(), provider.provider_type.as_str(), key, *source)
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("openai", "openai", "one", ProviderSource::Env),
            ("openai-eu-west", "openai", "two", ProviderSource::Env),
            ("openai_compatible", "openai_compatible", "three", ProviderSource::Env),
        ]
    );
    assert_eq!(settings.providers[1].0.models, ["gpt-4o", "gpt-5"]);
    assert_eq!(
        settings.warnings,
        ["AZURE_API_VERSION has no effect without AZURE_API_KEY or AZURE_BASE_URL"]
    );
}

#[test]
fn the_environment_completes_a_provider_of_the_file() {
    let yaml = "\
providers:
  openai:
    base_url: https://example.com/v1
    models: [a, b]
    headers: {x-team: '${TEAM:-none}'}
    priority: -1
  lab:
    type: ollama
    enabled: no
";
    let settings = case().yaml(yaml).env("OPENAI_API_KEY", "key").env("OPENAI_MODELS", "c").settings();
    let [(lab, lab_source), (openai, openai_source)] = &settings.providers[..] else { panic!() };
    assert_eq!(
        (lab.provider_type.as_str(), lab.enabled, *lab_source),
        ("ollama", false, ProviderSource::Config)
    );
    assert_eq!((openai.base_url.as_str(), *openai_source), ("https://example.com/v1", ProviderSource::Env));
    assert_eq!(openai.models, ["c"]);
    assert_eq!(openai.headers["x-team"], "none");
    assert_eq!(openai.priority, -1);
    assert!(openai.api_key.is_some());
}

#[test]
fn a_provider_may_have_limits_of_its_own() {
    let text = "
providers:
  openai:
    resilience:
      connect_timeout_ms: ${SOON:-250}
      max_retries: 0
      breaker_failures: 7
  azure:
    resilience:
";
    let settings = case().yaml(text).settings();
    let limits = |name: &str| {
        let found = settings.providers.iter().find(|(provider, _)| provider.name == name);
        found.unwrap().0.resilience.clone()
    };
    let expected = Resilience {
        connect_timeout_ms: Some(250),
        max_retries: Some(0),
        breaker_failures: Some(7),
        ..Resilience::default()
    };
    assert_eq!(limits("openai"), expected);
    assert_eq!(limits("azure"), Resilience::default());

    let faults = case()
        .yaml(
            "
providers:
  openai:
    resilience: {conect_timeout_ms: 1, idle_timeout_ms: 5s}
  azure:
    resilience: {total_timeout_ms: 3600001}
  ollama:
    resilience: 5
",
        )
        .faults();
    let expected = [
        "gatehouse.yaml:4:18: providers.openai.resilience.conect_timeout_ms is not a setting; did you mean connect_timeout_ms?",
        "gatehouse.yaml:8:17: providers.ollama.resilience must hold 'key: value' lines",
        "gatehouse.yaml:5:3: providers.azure is not valid: 'resilience.total_timeout_ms' must be 1 to 3600000 milliseconds.",
        "gatehouse.yaml:4:57: providers.openai.resilience.idle_timeout_ms: '5s' is not a whole number of milliseconds",
    ];
    for fault in expected {
        assert!(faults.iter().any(|found| found == fault), "{fault} in {faults:#?}");
    }
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
}

#[test]
fn one_name_cannot_be_two_types() {
    let faults =
        case().yaml("providers:\n  openai:\n    type: ollama\n").env("OPENAI_API_KEY", "key").faults();
    assert_eq!(faults.len(), 1);
    assert!(faults[0].starts_with("OPENAI_API_KEY sets the instance 'openai' of type openai"), "{faults:?}");
}

#[test]
fn near_misses_in_the_environment_are_warnings() {
    let settings = case().env("GATEWAY_MASTERKEY", "x").settings();
    assert_eq!(settings.warnings, ["GATEWAY_MASTERKEY is not a setting; did you mean GATEWAY_MASTER_KEY?"]);
}

#[test]
fn the_settings_docs_match_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
    if process_environment().contains_key("UPDATE_DOCS") {
        std::fs::write(path, settings_markdown()).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == settings_markdown(),
        "docs/settings.md is stale: UPDATE_DOCS=1 cargo test -p gatehouse settings"
    );
}

#[test]
fn secret_settings_are_read_from_files() {
    let case = case()
        .file("master", "gm_from-a-file\n")
        .file("openai", "sk-from-a-file\r\n")
        .file("postgres", "postgres://user:hush@host/db")
        .env("GATEWAY_MASTER_KEY_FILE", "master")
        .env("OPENAI_EAST_API_KEY_FILE", "openai")
        .file(".env", "POSTGRES_URL_FILE=postgres\n")
        .yaml("providers:\n  lab:\n    type: openai\n    api_key: ${OPENAI_EAST_API_KEY}\n");
    let settings = case.settings();
    assert_eq!(settings.server.master_key.as_ref().unwrap().reveal(), "gm_from-a-file");
    assert_eq!(settings.storage.postgres_url.as_ref().unwrap().reveal(), "postgres://user:hush@host/db");
    let keys: Vec<_> = settings.providers.iter().map(|(p, _)| p.api_key.as_ref().unwrap().reveal()).collect();
    assert_eq!(keys, ["sk-from-a-file", "sk-from-a-file"]);
    assert!(settings.warnings.is_empty(), "{:?}", settings.warnings);
    let origin = settings.sources.iter().find(|origin| origin.setting.env == "GATEWAY_MASTER_KEY").unwrap();
    assert_eq!((origin.source, origin.location.as_str()), (SettingSource::Env, "GATEWAY_MASTER_KEY_FILE"));
}

#[test]
fn every_secret_setting_has_a_file_variant() {
    for setting in TABLE.iter().filter(|setting| setting.secret) {
        let variable = format!("{}_FILE", setting.env);
        let faults = case().env(&variable, "absent").faults();
        assert!(
            faults[0].starts_with(&format!("{variable} names absent, which cannot be read")),
            "{faults:?}"
        );
    }
}

#[test]
fn a_bad_secret_file_is_a_fault_that_names_the_variable() {
    let case = case()
        .file("empty", "\n")
        .file("large", &"x".repeat(70_000))
        .file("key", "hush")
        .env("GATEWAY_MASTER_KEY_FILE", "empty")
        .env("OPENAI_API_KEY_FILE", "large")
        .env("AZURE_API_KEY_FILE", "key")
        .env("AZURE_API_KEY", "hush")
        .env("LOG_LEVEL_FILE", "is for other programs");
    assert_eq!(
        case.faults(),
        [
            "AZURE_API_KEY_FILE is set together with AZURE_API_KEY: set one of the two",
            "GATEWAY_MASTER_KEY_FILE names empty, which is empty",
            "OPENAI_API_KEY_FILE names large, which has 70000 bytes; a secret has at most 65536",
        ]
    );
}

#[test]
fn a_weak_master_key_is_refused_on_all_but_loopback() {
    for key in ["short-key", "changeme-changeme-1", "${GATEWAY_MASTER_KEY}"] {
        for host in ["0.0.0.0", "::", "10.0.0.7", "gateway.internal"] {
            let faults = case().env("GATEWAY_MASTER_KEY", key).env("HOST", host).faults();
            assert_eq!(faults.len(), 1, "{key} {host}: {faults:?}");
            assert!(faults[0].starts_with("server.master_key (GATEWAY_MASTER_KEY)"), "{faults:?}");
            assert!(!faults[0].contains(key), "{faults:?}");
        }
        for host in ["127.0.0.1", "127.8.8.8", "::1", "localhost"] {
            case().env("GATEWAY_MASTER_KEY", key).env("HOST", host).settings();
        }
    }
    case().env("GATEWAY_MASTER_KEY", "a-key-of-some-length").env("HOST", "0.0.0.0").settings();
    case().env("HOST", "0.0.0.0").settings();
}

#[test]
fn webhooks_need_a_secret_and_known_events() {
    let url = || case().env("WEBHOOKS_URL", "https://hooks.example.com/x?token=1");
    let fault = url().faults().join("\n");
    assert!(fault.contains("WEBHOOKS_SECRET") && fault.contains("WEBHOOKS_URL"), "{fault}");
    let faults =
        url().env("WEBHOOKS_SECRET", "short").env("WEBHOOKS_EVENTS", "key.deleted").faults().join("\n");
    assert!(faults.contains("16 to 200 characters") && faults.contains("key.revoked"), "{faults}");
    let secret = "0123456789abcdef";
    let valid =
        url().env("WEBHOOKS_SECRET", secret).env("WEBHOOKS_EVENTS", "key.created, config.changed").settings();
    assert_eq!(valid.webhooks.events, ["key.created", "config.changed"]);
    let shown: String = valid.sources.iter().map(|origin| origin.shown.clone()).collect();
    assert!(!shown.contains("token=1") && !shown.contains(secret), "{shown}");
}

#[test]
fn client_credentials_are_for_known_provider_types() {
    let valid = case().env("ALLOW_CLIENT_CREDENTIALS", "anthropic,openai").settings();
    assert_eq!(valid.server.allow_client_credentials, ["anthropic", "openai"]);
    let other = "anthropic@https://proxy.example";
    assert_eq!(
        case().env("ALLOW_CLIENT_CREDENTIALS", other).settings().server.allow_client_credentials,
        [other]
    );
    let faults = case().env("ALLOW_CLIENT_CREDENTIALS", "antropic").faults().join("\n");
    assert!(faults.contains("'antropic'") && faults.contains("anthropic"), "{faults}");
}
