//! Every setting of the gateway, declared once. To add one, add it here: YAML, environment, `check` and the docs follow.

use std::path::PathBuf;
use std::time::Duration;

use domain::resources::provider::{Provider, Source as ProviderSource};
use domain::secret::Secret;

use super::declare::declare;
use super::reader::Reader;
use super::routing::{FallbackMode, FallbackRules, Share};
use super::spending::Budgets;
use super::value::{
    ByteSize, Demo, Edition, EncryptionKey, FailMode, LogFormat, PassthroughUnmetered, StorageType,
    UnpricedPolicy, UrlPath, Value, between, host, http_url, log_level, networks, not_root, origins,
    otlp_headers, positive, postgres_url, resource_attributes,
};
use super::{Section, Setting, SettingOrigin};

declare! {
    /// Where the gateway listens and how long it waits.
    server: ServerSettings {
        /// Address to listen on; 0.0.0.0 for every interface.
        host: String = "server.host", "HOST", "127.0.0.1", |name| host(name);
        /// Port to listen on; 0 takes a free one.
        port: u16 = "server.port", "PORT", "8080";
        /// Path under which everything is served, for a gateway behind a shared proxy.
        base_path: UrlPath = "server.base_path", "BASE_PATH", "/";
        /// Key that may do everything. Without one, the gateway makes one at its first start and keeps it in the data directory.
        master_key: Option<Secret> = "server.master_key", "GATEWAY_MASTER_KEY", "";
        /// Largest request body, from 1K to 100M.
        body_size_limit: ByteSize = "server.body_size_limit", "BODY_SIZE_LIMIT", "10M",
            |size| between(size.0, 1 << 10, 100 << 20, "must lie between 1K and 100M");
        /// Most memory for the bodies of requests being processed, all together; requests beyond it get 503. Never less than the largest body.
        body_memory_limit: ByteSize = "server.body_memory_limit", "BODY_MEMORY_LIMIT", "512M",
            |size| between(size.0, 1 << 20, u64::MAX, "must be at least 1M");
        /// How long running requests may take to finish after a stop signal.
        shutdown_grace: Duration = "server.shutdown_grace", "SHUTDOWN_GRACE", "30s";
        /// Connections accepted at the same time.
        max_connections: u32 = "server.max_connections", "MAX_CONNECTIONS", "10000",
            |count| between(u64::from(*count), 1, u64::MAX, "must be at least 1");
        /// How long a client may take to send its request's head, and how long its connection may rest between requests.
        header_timeout: Duration = "server.header_timeout", "HEADER_TIMEOUT", "30s", positive;
        /// How long a client may not read before its connection is closed; over HTTP/2, its stream is reset.
        write_timeout: Duration = "server.write_timeout", "WRITE_TIMEOUT", "60s", positive;
        /// How long a client may take to send its request's body.
        body_timeout: Duration = "server.body_timeout", "BODY_TIMEOUT", "60s", positive;
        /// Origins whose pages may call the gateway from a browser; `*` for all. None means no CORS headers.
        cors_origins: Vec<String> = "server.cors_origins", "CORS_ORIGINS", "", |list| origins(list);
        /// Reverse proxies (addresses or CIDR ranges) whose X-Forwarded-For or Forwarded header gives the client's address; none means the peer is the client.
        trusted_proxies: Vec<String> = "server.trusted_proxies", "TRUSTED_PROXIES", "", |list| networks(list);
        /// Answer 503 on /ready while no provider can be called; otherwise /ready only says so.
        ready_needs_provider: bool = "server.ready_needs_provider", "READY_NEEDS_PROVIDER", "false";
        /// Serve the providers' own APIs under /p/{provider}/.
        enable_passthrough_routes: bool = "server.enable_passthrough_routes", "ENABLE_PASSTHROUGH_ROUTES", "true";
        /// Instances or types that are served there; none means all.
        passthrough_providers: Vec<String> = "server.passthrough_providers", "PASSTHROUGH_PROVIDERS", "";
        /// Drop a leading v1/, or the base URL's own last segment, from paths below /p/{provider}/.
        allow_passthrough_v1_alias: bool = "server.allow_passthrough_v1_alias", "ALLOW_PASSTHROUGH_V1_ALIAS", "true";
        /// Batches, fine-tuning and other work below /p/{provider}/ whose cost no answer tells, on user paths with a budget: allow or deny.
        passthrough_unmetered: PassthroughUnmetered = "server.passthrough_unmetered", "PASSTHROUGH_UNMETERED", "deny";
    }

    /// Where the gateway keeps what it knows.
    storage: StorageSettings {
        /// Directory for the database, the journal and generated keys.
        data_dir: PathBuf = "storage.data_dir", "DATA_DIR", "./data";
        /// Database: sqlite or postgres.
        kind: StorageType = "storage.type", "STORAGE_TYPE", "sqlite";
        /// Database file of sqlite; gatehouse.db in the data directory when not set.
        sqlite_path: Option<PathBuf> = "storage.sqlite_path", "SQLITE_PATH", "";
        /// Address of PostgreSQL, e.g. postgres://user:password@host/database.
        postgres_url: Option<Secret> = "storage.postgres_url", "POSTGRES_URL", "", postgres_url;
        /// Key that seals stored credentials: 32 bytes in hex or base64. Without one, one is generated in the data directory.
        encryption_key: Option<EncryptionKey> = "storage.encryption_key", "ENCRYPTION_KEY", "";
    }

    /// The journal that every call is written to before it is answered.
    journal: JournalSettings {
        /// Also survive a power cut, not only a crash, at the price of one disk flush a call.
        fsync: bool = "journal.fsync", "JOURNAL_FSYNC", "false";
        /// How much may wait on disk while the database is down.
        max_bytes: ByteSize = "journal.max_bytes", "JOURNAL_MAX_BYTES", "1G",
            |size| between(size.0, 1 << 20, u64::MAX, "must be at least 1M");
    }

    /// The record of tokens and costs.
    usage: UsageSettings {
        /// Keep a row for every call.
        enabled: bool = "usage.enabled", "USAGE_ENABLED", "true";
        /// Days such a row is kept; 0 keeps it for ever.
        retention_days: u32 = "usage.retention_days", "USAGE_RETENTION_DAYS", "90";
    }

    /// The audit log: who asked for what, and what was answered.
    logging: LoggingSettings {
        /// Keep an entry for every call.
        enabled: bool = "logging.enabled", "LOGGING_ENABLED", "false";
        /// Keep request and response bodies in it, cut to size.
        log_bodies: bool = "logging.log_bodies", "LOGGING_LOG_BODIES", "true";
        /// Keep headers in it, credentials left out.
        log_headers: bool = "logging.log_headers", "LOGGING_LOG_HEADERS", "true";
        /// How much is kept of each body, from 1K to 1M.
        body_limit: ByteSize = "logging.body_limit", "LOGGING_BODY_LIMIT", "64K",
            |size| between(size.0, 1 << 10, 1 << 20, "must lie between 1K and 1M");
        /// Days an entry is kept; 0 keeps it for ever.
        retention_days: u32 = "logging.retention_days", "LOGGING_RETENTION_DAYS", "30";
    }

    /// What calls may cost.
    spending: SpendingSettings {
        /// Whether models without a price may be called: allow or deny.
        unpriced_policy: UnpricedPolicy = "spending.unpriced_policy", "UNPRICED_POLICY", "allow";
        /// What happens on budgeted paths while nobody can say what is spent: open (calls go on) or closed (503).
        budgets_fail: FailMode = "spending.budgets_fail", "BUDGETS_FAIL", "open";
        /// Budgets in US dollars by path and period, e.g. `/=monthly:500;/team/a=daily:10,3600:2.5`. They need the capability advancedBudgets.
        budgets: Budgets = "spending.budgets", "BUDGETS", "";
    }

    /// Metrics for Prometheus.
    metrics: MetricsSettings {
        /// Serve metrics.
        enabled: bool = "metrics.enabled", "METRICS_ENABLED", "true";
        /// Path they are served at.
        endpoint: UrlPath = "metrics.endpoint", "METRICS_ENDPOINT", "/metrics", not_root;
    }

    /// What the gateway says about itself on standard error.
    log: LogSettings {
        /// error, warn, info, debug or trace; per module as in `info,hyper=warn`.
        level: String = "log.level", "LOG_LEVEL", "info", |filter| log_level(filter);
        /// text or json.
        format: LogFormat = "log.format", "LOG_FORMAT", "text";
        /// Write one line at level info per call: key, path, model, provider, status, tokens, cost and times.
        requests: bool = "log.requests", "LOG_REQUESTS", "false";
    }

    /// Traces with GenAI attributes.
    telemetry: TelemetrySettings {
        /// OTLP/HTTP endpoint that traces are sent to; none means no traces.
        otlp_endpoint: Option<String> = "telemetry.otlp_endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT", "", http_url;
        /// Headers sent with every export, e.g. `authorization=Basic%20…,x-scope=1`: values are percent-encoded.
        otlp_headers: Option<Secret> = "telemetry.otlp_headers", "OTEL_EXPORTER_OTLP_HEADERS", "", otlp_headers;
        /// Name of this service in traces; without one, `service.name` of the resource attributes, else `gatehouse`.
        service_name: Option<String> = "telemetry.service_name", "OTEL_SERVICE_NAME", "";
        /// Attributes of the resource that spans belong to, e.g. `deployment.environment=prod,team=a`.
        resource_attributes: Option<String> = "telemetry.resource_attributes", "OTEL_RESOURCE_ATTRIBUTES", "",
            resource_attributes;
    }

    /// The admin side.
    admin: AdminSettings {
        /// Serve the admin API.
        endpoints_enabled: bool = "admin.endpoints_enabled", "ADMIN_ENDPOINTS_ENABLED", "true";
        /// Serve the dashboard.
        ui_enabled: bool = "admin.ui_enabled", "ADMIN_UI_ENABLED", "true";
    }

    /// Which edition this is.
    edition: EditionSettings {
        /// oss or enterprise.
        name: Edition = "edition.name", "GATEWAY_EDITION", "oss";
        /// Capabilities to turn on, by name.
        capabilities: Vec<String> = "edition.capabilities", "GATEWAY_CAPABILITIES", "";
    }

    /// The proxy between the gateway and providers; the names in lower case are read from the environment too.
    proxy: ProxySettings {
        /// Proxy for http:// addresses.
        http: Option<Secret> = "proxy.http", "HTTP_PROXY", "";
        /// Proxy for https:// addresses.
        https: Option<Secret> = "proxy.https", "HTTPS_PROXY", "";
        /// Hosts that are reached without a proxy.
        no_proxy: Vec<String> = "proxy.no_proxy", "NO_PROXY", "";
    }

    /// Calls to providers.
    upstream: UpstreamSettings {
        /// Let addresses set through the admin API point into private networks. Addresses given here always may.
        allow_private: bool = "upstream.allow_private", "ALLOW_PRIVATE_UPSTREAMS", "false";
        /// on: use HTTP/2 for conversations where a provider offers it; off: HTTP/1.1 only. A provider's `resilience.http2` says otherwise for one instance.
        http2: bool = "upstream.http2", "UPSTREAM_HTTP2", "off";
        /// Silence on a stream after which the client gets a heartbeat; 0 sends none.
        stream_heartbeat: Duration = "upstream.stream_heartbeat", "STREAM_HEARTBEAT", "15s";
        /// How long a connection may take to open.
        connect_timeout: Duration = "upstream.connect_timeout", "CONNECT_TIMEOUT", "5s", positive;
        /// How long the first byte of an answer may take.
        ttft_timeout: Duration = "upstream.ttft_timeout", "TTFT_TIMEOUT", "60s", positive;
        /// How long a stream may be silent.
        stream_idle_timeout: Duration = "upstream.stream_idle_timeout", "STREAM_IDLE_TIMEOUT", "120s", positive;
        /// How long a call that does not stream may take, all its attempts together.
        request_timeout: Duration = "upstream.request_timeout", "REQUEST_TIMEOUT", "600s", positive;
        /// When a provider dies in the middle of a stream, let another target go on with it; every streamed conversation is translated then, and tool calls are sent once they are complete.
        resume_streams: bool = "upstream.resume_streams", "RESUME_STREAMS", "false";
    }

    /// Where a call goes, and where else when that fails.
    routing: RoutingSettings {
        /// Further attempts at a target that failed, beside those at other targets.
        retry_max_retries: u32 = "routing.retry_max_retries", "RETRY_MAX_RETRIES", "2",
            |count| between(u64::from(*count), 0, 10, "must be at most 10");
        /// A provider that asks to be left alone for longer is not waited for.
        retry_after_max: Duration = "routing.retry_after_max", "RETRY_AFTER_MAX", "20s";
        /// off, manual (combos, pools, priorities and rules) or auto (also the same model elsewhere, then its family).
        fallback_mode: FallbackMode = "routing.fallback_mode", "FALLBACK_MODE", "manual";
        /// Selectors that stand in for others: `gpt-5=azure/gpt-5,claude-sonnet-5;other=…`.
        fallback_rules: FallbackRules = "routing.fallback_rules", "FALLBACK_RULES", "";
        /// Largest share of calls that may be sent to a second target when the first is slow, from 0 (none) to 1.
        hedge_max_share: Share = "routing.hedge_max_share", "HEDGE_MAX_SHARE", "0";
    }

    /// Calls in one dialect to providers of another.
    translation: TranslationSettings {
        /// Refuse what a provider cannot be told, instead of leaving it out and naming it in X-Gateway-Dropped-Params.
        strict: bool = "translation.strict", "STRICT_TRANSLATION", "false";
    }

    /// Responses that can be read back and gone on from.
    responses: ResponseSettings {
        /// How long they are kept.
        ttl: Duration = "responses.ttl", "RESPONSE_TTL", "30d", positive;
    }

    /// Calls that carry an Idempotency-Key.
    idempotency: IdempotencySettings {
        /// How long their answers are kept for a repeated call.
        ttl: Duration = "idempotency.ttl", "IDEMPOTENCY_TTL", "24h", positive;
    }

    /// The list of models.
    models: ModelSettings {
        /// How often providers are asked for their models; 0 asks at the start only.
        refresh_interval: Duration = "models.refresh_interval", "MODEL_REFRESH_INTERVAL", "1h";
        /// Models without an override may be used. With false, only those that an override enables.
        enabled_by_default: bool = "models.enabled_by_default", "MODELS_ENABLED_BY_DEFAULT", "true";
        /// Show only aliases at /v1/models. What is not shown can still be used.
        keep_only_aliases: bool = "models.keep_only_aliases", "KEEP_ONLY_ALIASES_AT_MODELS_ENDPOINT", "false";
    }

    /// Models of the operator's own making.
    combos: ComboSettings {
        /// Let combos be written through the admin API and named in requests.
        enabled: bool = "combos.enabled", "COMBOS_ENABLED", "true";
    }

    /// The built-in provider that answers without a key and without a network.
    demo: DemoSettings {
        /// true, false, or auto: exactly when no other provider is configured.
        enabled: Demo = "demo.enabled", "DEMO_ENABLED", "auto";
    }
}
