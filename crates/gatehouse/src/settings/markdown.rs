//! Generates docs/settings.md from the table.

use std::fmt::Write as _;

use super::{SECTIONS, TABLE, restart_reason};

const OPENING: &str = "\
# Settings

<!-- Made from crates/gatehouse/src/settings/table.rs: `UPDATE_DOCS=1 cargo test -p gatehouse settings` writes it anew. -->

Every setting has one name in the YAML file and one in the environment. Layers, each over the one before:

1. the defaults below;
2. `gatehouse.yaml` in the working directory, or the file that `GATEWAY_CONFIG` or `--config` names. In its values `${VAR}` is
   the variable `VAR`, and `${VAR:-x}` is `x` when that is not set; `$${` is a plain `${`;
3. values that were stored [through the admin API](#change-settings-through-the-admin-api);
4. the environment, completed by `.env` in the working directory. A variable that is set but empty counts as not set.

Every secret can be read from a file instead: `GATEWAY_MASTER_KEY_FILE=/run/secrets/master_key` sets `GATEWAY_MASTER_KEY` to
the content of that file. It works for the settings marked as secret below and for the API keys of providers
(`OPENAI_API_KEY_FILE`). Setting both a variable and its `_FILE` variant is an error.

`gatehouse init` writes both files with everything in them; `gatehouse check` reports everything that is wrong with them at once.
Durations are written `30`, `30s`, `250ms`, `5m` or `1h`, sizes `512K`, `10M` or `1G`, lists as YAML lists or separated by commas.
";

const PROVIDERS: &str = "
## providers

Instances of providers, by name. In YAML:

```yaml
providers:
  openai:                        # the name; it stands before the slash in openai/gpt-4o
    type: openai                 # may be left out where the name is a type
    api_key: ${OPENAI_API_KEY}
    models: [gpt-4o, gpt-4o-mini] # what the provider lists is added
  lab:
    type: vllm
    base_url: http://10.0.0.5:8000/v1
    headers: {x-team: research}
    enabled: true
    priority: 10                 # the lower wins when several serve the same model
    resilience:                  # where it departs from the settings; times in milliseconds
      connect_timeout_ms: 1000
      first_byte_timeout_ms: 20000
      idle_timeout_ms: 60000
      total_timeout_ms: 300000
      max_retries: 1
      breaker_failures: 5
      breaker_open_ms: 30000
      http2: on                  # instead of UPSTREAM_HTTP2
```

`api_version` is for the types that need one. In the environment, `<TYPE>_API_KEY`, `<TYPE>_BASE_URL`, `<TYPE>_MODELS` and
`<TYPE>_API_VERSION` set the instance named like its type; with `_SUFFIX` after the type they set another: `OPENAI_EAST_API_KEY`
is the key of the instance `openai-east`. A key or an address makes an instance; the other two only add to one.

## resources

Documents of the admin API that stand in the file: aliases, pools, combos, model overrides and prices, guardrails, workflows,
budgets and keys. See [Configuration as files](configuration-files.md#resources-in-gatehouseyaml).

## Change settings through the admin API

`GET /admin/api/v1/settings` lists every setting with `value` (secrets as `***`), `default`, `source` (`default`, `file`, `admin` or
`env`), `locked` with its reason, `restart_required` (whether a change takes effect after a restart only, with `restart_reason`) and
`restart_pending` (whether the shown value waits for one). `PATCH` stores values over those of the file:

```sh
curl -s -X PATCH http://127.0.0.1:8080/admin/api/v1/settings -H \"Authorization: Bearer $KEY\" -d '{\"log.level\": \"debug\", \"cache.ttl\": \"2h\"}'
```

Null removes a stored value. Changes are applied at once, by all replicas; running calls keep the values they started with. A few
settings [need a restart](#settings-that-need-a-restart), and `restart_required` in the answer names those whose value waits for it. A setting that the environment sets is locked, because
the environment wins. `server.master_key`, `admin.endpoints_enabled`, `upstream.allow_private` and `storage` are set in the file or the
environment only, and so are the settings that decide who may call the gateway or where secrets are sent: `tokens`, `identity`, `edition`,
`proxy`, `server.trusted_proxies`, `server.allow_client_credentials`, `cli_tools.apply_enabled`, `webhooks.url`,
`webhooks.secret`, `semantic_cache.qdrant_url` and `semantic_cache.qdrant_api_key`.
Stored values are encrypted if the setting is a secret, and every change is in `GET /changes?kind=settings`. SIGHUP and
`POST /runtime/refresh` read the file and `.env` again, and apply what has changed in the same way.

## Settings that need a restart

A change of these takes effect at the next start. All others are applied while the gateway runs.

| Setting | Reason |
|---|---|
";

pub fn settings_markdown() -> String {
    let mut text = OPENING.to_owned();
    for section in SECTIONS {
        let _ = write!(
            text,
            "\n## {}\n\n{}\n\n| YAML | Environment | Default | |\n|---|---|---|---|\n",
            section.name,
            section.doc.trim()
        );
        let prefix = format!("{}.", section.name);
        for setting in TABLE.iter().filter(|setting| setting.path.starts_with(&prefix)) {
            let default =
                if setting.default.is_empty() { "–".to_owned() } else { format!("`{}`", setting.default) };
            let secret = if setting.secret { " Secret." } else { "" };
            let _ = writeln!(
                text,
                "| `{}` | `{}` | {default} | {}{secret} |",
                setting.path,
                setting.env,
                setting.doc.trim()
            );
        }
    }
    text.push_str(PROVIDERS);
    for setting in TABLE {
        if let Some(reason) = restart_reason(setting.path) {
            let _ = writeln!(text, "| `{}` | {reason} |", setting.path);
        }
    }
    text
}
