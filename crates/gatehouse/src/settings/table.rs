//! All settings of the gateway, each declared once. YAML, environment, `check` and docs/settings.md derive from this
//! table.

use std::path::PathBuf;
use std::time::Duration;

use domain::resources::provider::{Provider, ProviderSource};
use domain::secret::Secret;
use server::FileResources;

use super::cache::{CacheScope, PromptCacheMode, SemanticMode, SemanticStore, collection_name};
use super::declare::declare;
use super::identity::{OidcProviders, TokenIssuers};
use super::reader::Reader;
use super::routing::{FallbackMode, FallbackRules, Share};
use super::spending::Budgets;
use super::value::{
    ByteSize, Demo, Edition, EncryptionKey, FailMode, LogFormat, PassthroughUnmetered, StorageType,
    UnpricedPolicy, UrlPath, Value, above_zero, between, email, host, http_url, log_level, networks,
    not_root, origins, otlp_headers, positive, postgres_url, redis_url, resource_attributes, webhook_events,
    webhook_secret, webhook_url,
};
use super::{Section, Setting, SettingOrigin};

declare! {
    /// Listener, request limits and timeouts.
    server: ServerSettings {
        /// Address to listen on; 0.0.0.0 for all interfaces.
        host: String = "server.host", "HOST", "127.0.0.1", |name| host(name);
        /// Port to listen on; 0 selects a free port.
        port: u16 = "server.port", "PORT", "8080";
        /// Prefix of all routes, for a gateway behind a shared proxy.
        base_path: UrlPath = "server.base_path", "BASE_PATH", "/";
        /// Key with all permissions. If it is not set, one is generated at the first start and stored in the data
        /// directory.
        master_key: Option<Secret> = "server.master_key", "GATEWAY_MASTER_KEY", "";
        /// Maximum size of a request body, from 1K to 100M.
        body_size_limit: ByteSize = "server.body_size_limit", "BODY_SIZE_LIMIT", "10M",
            |size| between(size.0, 1 << 10, 100 << 20, "must lie between 1K and 100M");
        /// Memory limit for the bodies of all requests in progress; further requests get 503. Never less than the
        /// maximum body size.
        body_memory_limit: ByteSize = "server.body_memory_limit", "BODY_MEMORY_LIMIT", "512M",
            |size| between(size.0, 1 << 20, u64::MAX, "must be at least 1M");
        /// Time after a stop signal during which /ready fails and connections are still accepted, so that load balancers
        /// notice before the port closes.
        shutdown_delay: Duration = "server.shutdown_delay", "SHUTDOWN_DELAY", "0s";
        /// Time that running requests get to finish after a stop signal and the delay.
        shutdown_grace: Duration = "server.shutdown_grace", "SHUTDOWN_GRACE", "30s";
        /// Maximum number of concurrent connections.
        max_connections: u32 = "server.max_connections", "MAX_CONNECTIONS", "10000",
            |count| between(u64::from(*count), 1, u64::MAX, "must be at least 1");
        /// Time limit for receiving a request's headers, and for idle connections between requests.
        header_timeout: Duration = "server.header_timeout", "HEADER_TIMEOUT", "30s", positive;
        /// Time after which a connection is closed if the client does not read; with HTTP/2, its stream is reset.
        write_timeout: Duration = "server.write_timeout", "WRITE_TIMEOUT", "60s", positive;
        /// Time limit for receiving a request body.
        body_timeout: Duration = "server.body_timeout", "BODY_TIMEOUT", "60s", positive;
        /// Origins that may call the gateway from a browser; `*` for all. Empty disables CORS headers.
        cors_origins: Vec<String> = "server.cors_origins", "CORS_ORIGINS", "", |list| origins(list);
        /// Reverse proxies (addresses or CIDR ranges) whose X-Forwarded-For or Forwarded header is trusted for the
        /// client's address; empty trusts none.
        trusted_proxies: Vec<String> = "server.trusted_proxies", "TRUSTED_PROXIES", "", |list| networks(list);
        /// Answer 503 on /ready while no provider is available; otherwise /ready only reports it.
        ready_needs_provider: bool = "server.ready_needs_provider", "READY_NEEDS_PROVIDER", "false";
        /// Serve the providers' own APIs under /p/{provider}/.
        enable_passthrough_routes: bool = "server.enable_passthrough_routes", "ENABLE_PASSTHROUGH_ROUTES", "true";
        /// Instances or types that passthrough serves; empty serves all.
        passthrough_providers: Vec<String> = "server.passthrough_providers", "PASSTHROUGH_PROVIDERS", "";
        /// Drop a leading v1/, or the base URL's own last segment, from paths below /p/{provider}/.
        allow_passthrough_v1_alias: bool = "server.allow_passthrough_v1_alias", "ALLOW_PASSTHROUGH_V1_ALIAS", "true";
        /// Passthrough requests whose cost cannot be metered, such as batches and fine-tuning, on user paths with a
        /// budget: allow or deny.
        passthrough_unmetered: PassthroughUnmetered = "server.passthrough_unmetered", "PASSTHROUGH_UNMETERED", "deny";
        /// Provider types to which clients may send a credential of their own, on /p/ and /v1/messages, with the
        /// gateway's key in X-Gateway-Key: only to the vendor's own address, or to the one in `type@https://host`. Such
        /// calls cost nothing.
        allow_client_credentials: Vec<String> = "server.allow_client_credentials", "ALLOW_CLIENT_CREDENTIALS", "";
    }

    /// Database, data directory and encryption.
    storage: StorageSettings {
        /// Directory for the database, the journal and generated keys.
        data_dir: PathBuf = "storage.data_dir", "DATA_DIR", "./data";
        /// Database: sqlite or postgres.
        kind: StorageType = "storage.type", "STORAGE_TYPE", "sqlite";
        /// File of the SQLite database; by default gatehouse.db in the data directory.
        sqlite_path: Option<PathBuf> = "storage.sqlite_path", "SQLITE_PATH", "";
        /// URL of PostgreSQL, e.g. postgres://user:password@host/database.
        postgres_url: Option<Secret> = "storage.postgres_url", "POSTGRES_URL", "", postgres_url;
        /// Key that encrypts stored credentials: 32 bytes in hex or base64. If it is not set, one is generated in the
        /// data directory.
        encryption_key: Option<EncryptionKey> = "storage.encryption_key", "ENCRYPTION_KEY", "";
    }

    /// Redis, through which replicas share rate limits and cached answers.
    redis: RedisSettings {
        /// URL of Redis, e.g. redis://:password@host:6379/0, or rediss:// for TLS. Without it, each process enforces rate
        /// limits divided by the number of live replicas, and keeps its own cached answers.
        url: Option<Secret> = "redis.url", "REDIS_URL", "", redis_url;
        /// Maximum time that a call waits for Redis.
        timeout: Duration = "redis.timeout", "REDIS_TIMEOUT", "100ms", positive;
        /// Calls of keys with rate limits while Redis does not answer: open (each replica enforces its share of the limits)
        /// or closed (503).
        limits_fail: FailMode = "redis.limits_fail", "LIMITS_FAIL", "open";
    }

    /// The write-ahead log that every call is written to before it is answered.
    journal: JournalSettings {
        /// Flush to disk on every call, to survive a power failure and not only a crash.
        fsync: bool = "journal.fsync", "JOURNAL_FSYNC", "false";
        /// Maximum size of the records in the journal while the database is down.
        max_bytes: ByteSize = "journal.max_bytes", "JOURNAL_MAX_BYTES", "1G",
            |size| between(size.0, 1 << 20, u64::MAX, "must be at least 1M");
    }

    /// Usage records with tokens and costs.
    usage: UsageSettings {
        /// Store a row for every call.
        enabled: bool = "usage.enabled", "USAGE_ENABLED", "true";
        /// Days that usage rows are kept; 0 keeps them forever.
        retention_days: u32 = "usage.retention_days", "USAGE_RETENTION_DAYS", "90";
    }

    /// The audit log of requests and responses.
    logging: LoggingSettings {
        /// Store an entry for every call.
        enabled: bool = "logging.enabled", "LOGGING_ENABLED", "false";
        /// Store request and response bodies, truncated to the body limit.
        log_bodies: bool = "logging.log_bodies", "LOGGING_LOG_BODIES", "true";
        /// Store headers, without credentials.
        log_headers: bool = "logging.log_headers", "LOGGING_LOG_HEADERS", "true";
        /// Maximum stored size of each body, from 1K to 1M.
        body_limit: ByteSize = "logging.body_limit", "LOGGING_BODY_LIMIT", "64K",
            |size| between(size.0, 1 << 10, 1 << 20, "must lie between 1K and 1M");
        /// Days that audit entries are kept; 0 keeps them forever.
        retention_days: u32 = "logging.retention_days", "LOGGING_RETENTION_DAYS", "30";
    }

    /// Budgets, and the policy for models without a price.
    spending: SpendingSettings {
        /// Calls to models without a price: allow or deny.
        unpriced_policy: UnpricedPolicy = "spending.unpriced_policy", "UNPRICED_POLICY", "allow";
        /// Calls on paths with a budget while current spending is unknown, or, on PostgreSQL, while the budgets that
        /// replicas share cannot be checked: open (allow) or closed (503). By default closed on PostgreSQL, else open.
        budgets_fail: Option<FailMode> = "spending.budgets_fail", "BUDGETS_FAIL", "";
        /// Longest time that a call waits for its part of a budget that replicas share, on PostgreSQL.
        budget_lease_wait: Duration = "spending.budget_lease_wait", "BUDGET_LEASE_WAIT", "1s", positive;
        /// Budgets in US dollars by path and period, e.g. `/=monthly:500;/team/a=daily:10,3600:2.5`. They need the
        /// capability advancedBudgets.
        budgets: Budgets = "spending.budgets", "BUDGETS", "";
    }

    /// Events that are posted to a URL.
    webhooks: WebhookSettings {
        /// URL that events are posted to; empty posts none. Budget settings may name another one for their events.
        url: Option<Secret> = "webhooks.url", "WEBHOOKS_URL", "", webhook_url;
        /// Key of the signatures, 16 to 200 characters. Required with a URL.
        secret: Option<Secret> = "webhooks.secret", "WEBHOOKS_SECRET", "", webhook_secret;
        /// Names of the events to post; empty posts all: budget.threshold, breaker.opened, breaker.closed, key.created,
        /// key.revoked, key.expiring, login.failed and config.changed.
        events: Vec<String> = "webhooks.events", "WEBHOOKS_EVENTS", "", |list| webhook_events(list);
    }

    /// Metrics for Prometheus.
    metrics: MetricsSettings {
        /// Serve metrics.
        enabled: bool = "metrics.enabled", "METRICS_ENABLED", "true";
        /// Path of the metrics endpoint.
        endpoint: UrlPath = "metrics.endpoint", "METRICS_ENDPOINT", "/metrics", not_root;
    }

    /// The process log on standard error.
    log: LogSettings {
        /// error, warn, info, debug or trace; per module as in `info,hyper=warn`.
        level: String = "log.level", "LOG_LEVEL", "info", |filter| log_level(filter);
        /// text or json.
        format: LogFormat = "log.format", "LOG_FORMAT", "text";
        /// Write one line at level info per call: key, path, model, provider, status, tokens, cost and times.
        requests: bool = "log.requests", "LOG_REQUESTS", "false";
    }

    /// OpenTelemetry traces with GenAI attributes.
    telemetry: TelemetrySettings {
        /// OTLP/HTTP endpoint for traces; empty disables traces.
        otlp_endpoint: Option<String> = "telemetry.otlp_endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT", "", http_url;
        /// Headers sent with every export, e.g. `authorization=Basic%20…,x-scope=1`: values are percent-encoded.
        otlp_headers: Option<Secret> = "telemetry.otlp_headers", "OTEL_EXPORTER_OTLP_HEADERS", "", otlp_headers;
        /// Service name in traces; by default `service.name` of the resource attributes, else `gatehouse`.
        service_name: Option<String> = "telemetry.service_name", "OTEL_SERVICE_NAME", "";
        /// Resource attributes of traces, e.g. `deployment.environment=prod,team=a`.
        resource_attributes: Option<String> = "telemetry.resource_attributes", "OTEL_RESOURCE_ATTRIBUTES", "",
            resource_attributes;
    }

    /// Admin API and dashboard.
    admin: AdminSettings {
        /// Serve the admin API.
        endpoints_enabled: bool = "admin.endpoints_enabled", "ADMIN_ENDPOINTS_ENABLED", "true";
        /// Serve the dashboard.
        ui_enabled: bool = "admin.ui_enabled", "ADMIN_UI_ENABLED", "true";
        /// Serve Swagger UI at /swagger/index.html, if debug is on as well.
        swagger_enabled: bool = "admin.swagger_enabled", "SWAGGER_ENABLED", "false";
        /// Allow tools for development: Swagger UI.
        debug: bool = "admin.debug", "DEBUG", "false";
    }

    /// Edition and capabilities.
    edition: EditionSettings {
        /// oss or enterprise.
        name: Edition = "edition.name", "GATEWAY_EDITION", "oss";
        /// Names of capabilities to enable.
        capabilities: Vec<String> = "edition.capabilities", "GATEWAY_CAPABILITIES", "";
    }

    /// Users and their logins. They need the capability identity.
    identity: IdentitySettings {
        /// Email of the first administrator, who is created at the start if there is no user yet.
        admin_email: Option<String> = "identity.admin_email", "IDENTITY_ADMIN_EMAIL", "", email;
        /// Password of the first administrator, 12 to 256 characters. A later change of this setting changes nothing.
        admin_password: Option<Secret> = "identity.admin_password", "IDENTITY_ADMIN_PASSWORD", "";
        /// OpenID Connect providers: a list in YAML, JSON in the environment; see identity.md.
        oidc_providers: OidcProviders = "identity.oidc_providers", "OIDC_PROVIDERS", "";
    }

    /// Tokens of other issuers that are accepted instead of a key.
    tokens: TokenSettings {
        /// Issuers with their audience and rules: a list in YAML, JSON in the environment; see identity.md.
        issuers: TokenIssuers = "tokens.issuers", "TOKEN_ISSUERS", "";
    }

    /// Outgoing proxy for calls to providers; the variables are also read in lower case.
    proxy: ProxySettings {
        /// Proxy for http:// URLs.
        http: Option<Secret> = "proxy.http", "HTTP_PROXY", "";
        /// Proxy for https:// URLs.
        https: Option<Secret> = "proxy.https", "HTTPS_PROXY", "";
        /// Hosts that bypass the proxy.
        no_proxy: Vec<String> = "proxy.no_proxy", "NO_PROXY", "";
    }

    /// Connections, timeouts and streams of calls to providers.
    upstream: UpstreamSettings {
        /// Allow provider URLs set through the admin API to point to private networks. URLs from the configuration
        /// always may.
        allow_private: bool = "upstream.allow_private", "ALLOW_PRIVATE_UPSTREAMS", "false";
        /// on: use HTTP/2 for conversations if the provider supports it; off: HTTP/1.1 only. `resilience.http2`
        /// overrides this for one provider.
        http2: bool = "upstream.http2", "UPSTREAM_HTTP2", "off";
        /// Silence on a stream after which a heartbeat is sent to the client; 0 disables heartbeats.
        stream_heartbeat: Duration = "upstream.stream_heartbeat", "STREAM_HEARTBEAT", "15s";
        /// Time limit for opening a connection.
        connect_timeout: Duration = "upstream.connect_timeout", "CONNECT_TIMEOUT", "5s", positive;
        /// Time limit for the first byte of a response.
        ttft_timeout: Duration = "upstream.ttft_timeout", "TTFT_TIMEOUT", "60s", positive;
        /// Maximum silence on a stream.
        stream_idle_timeout: Duration = "upstream.stream_idle_timeout", "STREAM_IDLE_TIMEOUT", "120s", positive;
        /// Time limit for a non-streaming call including all attempts.
        request_timeout: Duration = "upstream.request_timeout", "REQUEST_TIMEOUT", "600s", positive;
        /// Continue a stream on another target if its provider fails; all streamed conversations are then translated,
        /// and tool calls are sent when they are complete.
        resume_streams: bool = "upstream.resume_streams", "RESUME_STREAMS", "false";
    }

    /// Retries, fallbacks and hedging.
    routing: RoutingSettings {
        /// Maximum number of retries on the same target, in addition to attempts on other targets.
        retry_max_retries: u32 = "routing.retry_max_retries", "RETRY_MAX_RETRIES", "2",
            |count| between(u64::from(*count), 0, 10, "must be at most 10");
        /// Longest Retry-After that is waited for; a target that asks for more is not retried.
        retry_after_max: Duration = "routing.retry_after_max", "RETRY_AFTER_MAX", "20s";
        /// off, manual (combos, pools, priorities and rules) or auto (also the same model on other providers, then its
        /// family).
        fallback_mode: FallbackMode = "routing.fallback_mode", "FALLBACK_MODE", "manual";
        /// Fallback selectors: `gpt-5=azure/gpt-5,claude-sonnet-5;other=…`.
        fallback_rules: FallbackRules = "routing.fallback_rules", "FALLBACK_RULES", "";
        /// Maximum fraction of calls that are hedged, that is, also sent to a second target when the first is slow;
        /// from 0 (none) to 1.
        hedge_max_share: Share = "routing.hedge_max_share", "HEDGE_MAX_SHARE", "0";
    }

    /// Translation between API formats.
    translation: TranslationSettings {
        /// Reject parameters that a provider does not support, instead of dropping them and listing them in
        /// X-Gateway-Dropped-Params.
        strict: bool = "translation.strict", "STRICT_TRANSLATION", "false";
    }

    /// Stored responses of the Responses API.
    responses: ResponseSettings {
        /// Time that responses are stored.
        ttl: Duration = "responses.ttl", "RESPONSE_TTL", "30d", positive;
    }

    /// Calls with an Idempotency-Key.
    idempotency: IdempotencySettings {
        /// Time that answers are stored for repeated calls.
        ttl: Duration = "idempotency.ttl", "IDEMPOTENCY_TTL", "24h", positive;
    }

    /// Model discovery and access.
    models: ModelSettings {
        /// Interval of model discovery; 0 discovers at the start only.
        refresh_interval: Duration = "models.refresh_interval", "MODEL_REFRESH_INTERVAL", "1h";
        /// Enable models without an override. With false, only models that an override enables can be used.
        enabled_by_default: bool = "models.enabled_by_default", "MODELS_ENABLED_BY_DEFAULT", "true";
        /// List only aliases at /v1/models. Other models can still be used.
        keep_only_aliases: bool = "models.keep_only_aliases", "KEEP_ONLY_ALIASES_AT_MODELS_ENDPOINT", "false";
    }

    /// Virtual models that combine several selectors.
    combos: ComboSettings {
        /// Allow combos to be written through the admin API and used in requests.
        enabled: bool = "combos.enabled", "COMBOS_ENABLED", "true";
    }

    /// Configuration of coding agents and other tools through the admin API.
    cli_tools: CliToolSettings {
        /// Serve /admin/api/v1/cli-tools.
        enabled: bool = "cli_tools.enabled", "CLI_TOOLS_ENABLED", "true";
        /// Allow the admin API to write the configuration files of tools on the machine of the gateway.
        apply_enabled: bool = "cli_tools.apply_enabled", "CLI_TOOLS_APPLY_ENABLED", "false";
    }

    /// Cached answers.
    cache: CacheSettings {
        /// Answer identical calls from memory, and send identical calls at the same time to a provider only once.
        enabled: bool = "cache.enabled", "RESPONSE_CACHE_ENABLED", "false";
        /// Time that answers are cached.
        ttl: Duration = "cache.ttl", "RESPONSE_CACHE_TTL", "1h", positive;
        /// Callers that share cached answers: user_path, key, tenant or global.
        scope: CacheScope = "cache.scope", "CACHE_SCOPE", "user_path";
        /// Most memory for cached answers. The answers that were not used for the longest time are removed first.
        max_bytes: ByteSize = "cache.max_bytes", "RESPONSE_CACHE_MAX_BYTES", "64M",
            |size| between(size.0, 1 << 20, 1 << 40, "must be from 1M to 1024G");
    }

    /// Cached answers to similar calls.
    semantic_cache: SemanticCacheSettings {
        /// Compare calls that differ in their last text with earlier ones, by the meaning of that text.
        enabled: bool = "semantic_cache.enabled", "SEMANTIC_CACHE_ENABLED", "false";
        /// shadow: find and compare answers to similar calls, and send all calls; serve: answer with them.
        mode: SemanticMode = "semantic_cache.mode", "SEMANTIC_CACHE_MODE", "shadow";
        /// The lowest similarity (cosine) of calls that get each other's answers, above 0 and up to 1.
        threshold: Share = "semantic_cache.threshold", "SEMANTIC_CACHE_THRESHOLD", "0.95",
            |share| above_zero(share.0);
        /// The lowest share of words that such calls have in common; 0 demands none.
        prompt_similarity: Share = "semantic_cache.prompt_similarity", "SEMANTIC_CACHE_PROMPT_SIMILARITY", "0";
        /// Time that these answers are cached.
        ttl: Duration = "semantic_cache.ttl", "SEMANTIC_CACHE_TTL", "1h", positive;
        /// The share of served answers that is asked again in the background and compared, to estimate how many are wrong.
        recheck: Share = "semantic_cache.recheck", "SEMANTIC_CACHE_RECHECK", "0.01";
        /// local: the weights that `gatehouse models import` has imported; or the selector of a provider's embedding
        /// model, such as openai/text-embedding-3-small.
        embedder: String = "semantic_cache.embedder", "SEMANTIC_CACHE_EMBEDDER", "local";
        /// Most answers. Those that were not used for the longest time are removed first.
        max_entries: u32 = "semantic_cache.max_entries", "SEMANTIC_CACHE_MAX_ENTRIES", "10000",
            |count| between(u64::from(*count), 1, 1_000_000, "must be from 1 to 1000000");
        /// Longest time that a call waits for the embedding of its last text; then it is sent. By default 100ms for local,
        /// 1s for the model of a provider.
        embedding_timeout: Option<Duration> = "semantic_cache.embedding_timeout", "SEMANTIC_CACHE_EMBEDDING_TIMEOUT", "",
            |limit| limit.as_ref().map_or(Ok(()), positive);
        /// embedded: in the database of the gateway, with an index in memory; pgvector: in PostgreSQL, which is the storage
        /// of the gateway and searches with its extension pgvector; qdrant: in Qdrant.
        store: SemanticStore = "semantic_cache.store", "SEMANTIC_CACHE_STORE", "embedded";
        /// Longest time that a call waits for pgvector or Qdrant; then it is sent.
        store_timeout: Duration = "semantic_cache.store_timeout", "SEMANTIC_CACHE_STORE_TIMEOUT", "200ms", positive;
        /// URL of Qdrant's REST API, e.g. http://127.0.0.1:6333.
        qdrant_url: Option<String> = "semantic_cache.qdrant_url", "SEMANTIC_CACHE_QDRANT_URL", "", http_url;
        /// API key of Qdrant.
        qdrant_api_key: Option<Secret> = "semantic_cache.qdrant_api_key", "SEMANTIC_CACHE_QDRANT_API_KEY", "";
        /// Prefix of the names of collections in Qdrant; the number of dimensions follows it.
        qdrant_collection: String = "semantic_cache.qdrant_collection", "SEMANTIC_CACHE_QDRANT_COLLECTION", "gatehouse",
            |name| collection_name(name);
    }

    /// Prompt caches of providers.
    prompt_cache: PromptCacheSettings {
        /// auto: add cache breakpoints to requests to Anthropic that have none, and keep conversations with the target
        /// whose prompt cache is warm; manual: send only the client's breakpoints; off: remove them.
        mode: PromptCacheMode = "prompt_cache.mode", "PROMPT_CACHE_MODE", "auto";
    }

    /// Checks of the texts of calls.
    guardrails: GuardrailSettings {
        /// Let the guardrails of workflows inspect calls. With false, they can be written and have no effect.
        enabled: bool = "guardrails.enabled", "GUARDRAILS_ENABLED", "true";
    }

    /// The built-in demo provider, which needs neither a key nor a network.
    demo: DemoSettings {
        /// true, false, or auto: enabled if no other provider is configured.
        enabled: Demo = "demo.enabled", "DEMO_ENABLED", "auto";
    }
}
