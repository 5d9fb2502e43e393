//! Tests of the settings of identity and tokens.

use std::collections::BTreeMap;

use super::super::load;
use super::*;

fn loaded(yaml: &str, variables: &[(&str, &str)]) -> Result<Settings, String> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("gatehouse.yaml"), yaml).unwrap();
    let environment: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    load(environment, directory.path(), None, &[])
        .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

#[test]
fn issuers_and_providers_are_lists_in_yaml() {
    let yaml = "
tokens:
  issuers:
    - issuer: https://id.example
      audience: [gateway]
      claims: {user_path: '/staff/{email}', scopes: inference}
      rate_limits: {requests_per_minute: 60}
identity:
  oidc_providers:
    - name: corp
      issuer: https://id.example
      client_id: '0123'
      client_secret: ${CORP_SECRET}
      roles:
        claim: groups
        values: {ops: operator}
";
    let settings = loaded(yaml, &[("CORP_SECRET", "s3cret-of-the-client")]).unwrap();
    let issuer = &settings.tokens.issuers.list[0];
    assert_eq!((&*issuer.issuer, issuer.rate_limits.requests_per_minute), ("https://id.example", Some(60)));
    let provider = &settings.identity.oidc_providers.list[0];
    assert_eq!((&*provider.client_id, provider.scopes.len()), ("0123", 3));
    assert_eq!(provider.client_secret.as_ref().map(|secret| secret.reveal()), Some("s3cret-of-the-client"));
    let shown = settings.sources.iter().find(|origin| origin.setting.env == "OIDC_PROVIDERS").unwrap();
    assert_eq!(shown.shown, "***");
    assert!(!format!("{settings:?}").contains("s3cret-of-the-client"));
}

#[test]
fn the_environment_has_json() {
    let json = r#"[{"issuer": "https://id.example", "audience": ["a"], "algorithms": ["EdDSA"]}]"#;
    let settings = loaded("", &[("TOKEN_ISSUERS", json)]).unwrap();
    assert_eq!(settings.tokens.issuers.list.len(), 1);
}

#[test]
fn faults_say_what_is_wrong() {
    for (yaml, variables, expected) in [
        ("tokens: {issuers: [{issuer: 'https://a'}]}", &[][..], "missing field `audience`"),
        (
            "tokens: {issuers: [{issuer: 'https://a', audience: [x], algorithms: [HS256]}]}",
            &[],
            "public keys",
        ),
        ("identity: {oidc_providers: [{name: a}]}", &[], "missing field `issuer`"),
        ("", &[("IDENTITY_ADMIN_EMAIL", "a@example.com")], "IDENTITY_ADMIN_PASSWORD"),
        ("", &[("IDENTITY_ADMIN_PASSWORD", "long enough password")], "IDENTITY_ADMIN_EMAIL"),
        (
            "",
            &[("IDENTITY_ADMIN_EMAIL", "nobody"), ("IDENTITY_ADMIN_PASSWORD", "long enough password")],
            "email address",
        ),
        ("", &[("IDENTITY_ADMIN_EMAIL", "a@example.com"), ("IDENTITY_ADMIN_PASSWORD", "short")], "12 to 256"),
        ("", &[("TOKEN_ISSUERS", "nonsense")], "TOKEN_ISSUERS"),
    ] {
        let faults = loaded(yaml, variables).unwrap_err();
        assert!(faults.contains(expected), "{yaml} {variables:?}: {faults}");
        assert!(!faults.contains("long enough"), "{faults}");
    }
}
