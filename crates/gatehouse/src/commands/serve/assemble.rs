//! Builds the gateway and its parts from the settings.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use domain::capability::Capability;
use domain::clock::Clock;
use domain::ids::Entropy;
use domain::resources::auth_key;
use domain::resources::budget::Budget;
use domain::secret::Secret;
use egress::{Egress, EgressConfig, ProxySettings, Trust};
use local_models::ModelDirectory;
use pipeline::budgets::Budgets;
use pipeline::gateway::Gateway;
use pipeline::gateway::replication::ReplicaIdentity;
use pipeline::policy::{CachePolicy, Fallback, PassthroughRules, Policy, Retries, SemanticPolicy};
use pipeline::refresh::{Refresher, StaticConfig};
use pipeline::routing::inventory::Inventory;
use pipeline::services::audit;
use pipeline::services::console::Console;
use pipeline::services::feed::Feed;
use pipeline::services::injection_scorer::InjectionScorer;
use pipeline::services::live_value::LiveValue;
use pipeline::services::traces;
use pipeline::services::webhooks::{ConfiguredReceiver, WebhookEvent, WebhookEvents};
use pipeline::snapshot::Snapshot;
use pipeline::snapshot::keys::Keys;
use server::{App, Config, HttpService, IdentityConfig, ListenConfig, Workers};
use store::{Backend, Drainer, Journal, JournalConfig, Store, StoreConfig, StoreError};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::background_tasks::{BackgroundSettings, spawn, start_background};
use super::reload::{LiveParts, RunningSettings};
use crate::master_key::{self, MasterKey};
use crate::settings::{
    Demo, FailMode, PassthroughUnmetered, Settings, StorageType, UnpricedPolicy, key_strength, network,
};
use crate::system::{SystemClock, SystemEntropy};
use crate::{embedder, semantic_store, shared_store};

pub struct AssembledGateway {
    pub gateway: Arc<Gateway>,
    pub running_settings: Arc<RunningSettings>,
    pub store: Store,
    pub drainer: Drainer,
    pub http_service: HttpService,
    pub listen: ListenConfig,
    pub master_key: MasterKey,
    pub master_key_file: PathBuf,
    /// Background tasks, aborted before storage is closed.
    pub background: Vec<JoinHandle<()>>,
}

const STORE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time that a start waits for the journals of earlier processes to be processed.
const FIRST_DRAIN: Duration = Duration::from_millis(700);

/// Longer than any process lives: used as "never" for timers.
pub(super) const NEVER: Duration = Duration::from_secs(3600 * 24 * 365 * 10);

/// Creates the data directory and opens storage.
pub async fn open_storage(settings: &Settings) -> Result<Store, String> {
    let (clock, entropy): (Arc<dyn Clock>, Arc<dyn Entropy>) =
        (Arc::new(SystemClock), Arc::new(SystemEntropy));
    make_directory(&settings.storage.data_dir)?;
    open_store(settings, &clock, &entropy).await
}

pub async fn assemble(
    settings: &Settings,
    listener: &TcpListener,
    store: Store,
    running: impl FnOnce(Arc<Refresher>, LiveParts) -> Arc<RunningSettings>,
) -> Result<AssembledGateway, String> {
    let (clock, entropy): (Arc<dyn Clock>, Arc<dyn Entropy>) =
        (Arc::new(SystemClock), Arc::new(SystemEntropy));
    let data_dir = &settings.storage.data_dir;
    let master_key = master_key::find_or_make(settings.server.master_key.as_ref(), data_dir, &*entropy)
        .map_err(|error| format!("The master key cannot be kept in {}: {error}", data_dir.display()))?;
    refuse_weak(&master_key, listener, data_dir)?;
    let journal = open_journal(settings, &clock, &entropy)?;
    let tasks = TaskTracker::new();
    let egress = Egress::new(egress_config(settings), clock.clone(), tasks.clone())
        .map_err(|error| error.to_string())?;

    let mut background = Vec::new();
    let traces = match &settings.telemetry.otlp_endpoint {
        None => None,
        Some(endpoint) => {
            let destination =
                egress.destination(endpoint, Trust::Operator).map_err(|error| error.to_string())?;
            let collector = super::telemetry::collector(&settings.telemetry, destination);
            let (exporter, sending) = traces::exporter(egress.clone(), collector);
            background.push(spawn(sending));
            Some(exporter)
        }
    };
    // Event ids continue from the current time, so that they are unique across restarts up to a thousand events per
    // millisecond.
    let events = clock.now().millis().unsigned_abs() * 1_000;
    let policy = policy(settings);
    let redis = shared_store::connect(settings).await?;
    let gateway = Arc::new(Gateway {
        // Also if it is off: it can be switched on while the gateway runs.
        response_cache: Some(shared_store::response_cache(policy.cache.max_bytes, redis.as_ref(), &tasks)),
        limiter: shared_store::limiter(settings, redis.as_ref(), &entropy),
        semantic_cache: policy
            .cache
            .open_semantic(embedder::find(settings), semantic_store::open(settings, &egress, &store).await?),
        send_embeddings: pipeline::embeddings_call::send,
        admin_trust: admin_trust(settings, listener),
        clock,
        entropy,
        tasks,
        journal: journal.clone(),
        egress,
        metrics: Default::default(),
        target_health: Default::default(),
        traces,
        policy: policy.into(),
        capabilities: settings.capabilities().map_err(|fault| fault.to_string())?,
        snapshot: ArcSwap::from_pointee(empty_snapshot(&master_key)),
        pending_receipts: Default::default(),
        responses: store.responses().clone(),
        prompt_affinity: Default::default(),
        reasoning_states: Default::default(),
        retry_budget: Default::default(),
        hedge_budget: Default::default(),
        console: Console::after(events),
        audit: Feed::after(events),
        budgets: Arc::new(shared_budgets(settings, &store, &journal)?),
        key_uses: Default::default(),
        user_paths: Default::default(),
        idempotency: store.idempotency().clone(),
        body_work: Default::default(),
        injection_scorer: Arc::new(InjectionScorer::new(ModelDirectory::of(data_dir))),
        unknown_callers: Default::default(),
        replica: ReplicaIdentity {
            host: crate::system::host_name(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION"),
            started_at: SystemClock.now(),
        },
        change_signals: Default::default(),
        webhook_events: Arc::new(WebhookEvents::new(webhook_receiver(settings))),
    });
    let inventory = Inventory::open(Some(data_dir.join("inventory.json")));
    let fixed = StaticConfig {
        secrets: secrets(settings, &master_key, &sealing_key(settings, &gateway.entropy)?),
        ..fixed(settings, listener)
    };
    let refresher = Arc::new(Refresher::new(gateway.clone(), store.clone(), fixed, inventory));
    let mut drainer = Drainer::new(journal, store.clone());
    if gateway.capabilities.has(Capability::AdvancedBudgets) {
        drain_first(&mut drainer, &*gateway.clock).await;
    }
    refresher
        .load()
        .await
        .map_err(|error| format!("The configuration cannot be read from storage: {error}"))?;
    // Before the task that keeps sharing them, which would otherwise begin at the same time.
    gateway.limiter.begin_sharing(&*gateway.clock).await;
    let (background_settings, changing) = watch::channel(BackgroundSettings::of(settings));
    background.extend(start_background(&changing, &gateway, &refresher, &store));
    let config: Arc<LiveValue<Config>> = server_config(settings).into();
    let parts =
        LiveParts { gateway: gateway.clone(), config: config.clone(), background: background_settings };
    let running_settings = running(refresher.clone(), parts);
    let app = App::new(gateway.clone(), refresher.clone(), running_settings.clone(), config);
    let identity = &settings.identity;
    if let (true, Some(email), Some(password)) =
        (gateway.capabilities.has(Capability::Identity), &identity.admin_email, &identity.admin_password)
    {
        server::create_first_admin(&app, email, password).await?;
    }
    Ok(AssembledGateway {
        drainer,
        http_service: HttpService::new(app),
        listen: listen_config(settings),
        master_key_file: data_dir.join(master_key::FILE),
        gateway,
        running_settings,
        store,
        master_key,
        background,
    })
}

/// Rejects a weak master key on a listener that is not on loopback; also one from the data directory, which the
/// settings do not check.
fn refuse_weak(master_key: &MasterKey, listener: &TcpListener, data_dir: &Path) -> Result<(), String> {
    let local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    match key_strength::weakness(&master_key.key).filter(|_| !local) {
        None => Ok(()),
        Some(weakness) => Err(format!(
            "The master key {weakness}. Set GATEWAY_MASTER_KEY to a strong one, or delete {} to have one made.",
            data_dir.join(master_key::FILE).display()
        )),
    }
}

/// Processes the journals of earlier processes before budgets are loaded, because their receipts count as spending.
/// Limited to `FIRST_DRAIN`; a step is never interrupted.
async fn drain_first(drainer: &mut Drainer, clock: &dyn Clock) {
    let deadline = clock.tick() + FIRST_DRAIN;
    while clock.tick() < deadline {
        match drainer.drain_once().await {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => return tracing::warn!(%error, "failed to process receipts of earlier processes"),
        }
    }
    tracing::warn!("receipts of earlier processes still pending, budgets are updated as they are processed");
}

pub fn make_directory(directory: &Path) -> Result<(), String> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| {
        format!("The data directory {} cannot be made: {error}. Set DATA_DIR.", directory.display())
    })
}

pub async fn open_store(
    settings: &Settings,
    clock: &Arc<dyn Clock>,
    entropy: &Arc<dyn Entropy>,
) -> Result<Store, String> {
    let key_file = key_file(settings);
    let generated = settings.storage.encryption_key.is_none() && !key_file.exists();
    let config = store_config(settings, entropy)?;
    Store::open(config, clock.clone()).await.map_err(|error| {
        if generated && matches!(error, StoreError::WrongKey { .. }) {
            // The key was just generated and does not match the database: removed, so that the operator can put the old
            // one in its place.
            let _ = std::fs::remove_file(&key_file);
        }
        unopened(settings, &error)
    })
}

pub fn store_config(settings: &Settings, entropy: &Arc<dyn Entropy>) -> Result<StoreConfig, String> {
    let storage = &settings.storage;
    let backend = match (&storage.kind, &storage.postgres_url) {
        (StorageType::Postgres, Some(url)) => Backend::Postgres { url: url.clone() },
        _ => Backend::Sqlite { path: storage.sqlite_file() },
    };
    let sealing_key = sealing_key(settings, entropy)?;
    Ok(StoreConfig { backend, sealing_key, operation_timeout: STORE_TIMEOUT, entropy: entropy.clone() })
}

fn unopened(settings: &Settings, error: &StoreError) -> String {
    let StoreError::WrongKey { stored, own } = error else {
        return format!("Storage cannot be opened: {error}");
    };
    let given = match settings.storage.encryption_key {
        Some(_) => "ENCRYPTION_KEY".to_owned(),
        None => format!("the key in {}", key_file(settings).display()),
    };
    let stored = stored.as_deref().unwrap_or("unknown: stored by an earlier version");
    format!(
        "The encryption key is not the one that sealed the secrets in storage.\n  \
         fingerprint of {given}: {own}\n  fingerprint of the key that sealed them: {stored}\n\
         Put the old key back (ENCRYPTION_KEY, or encryption.key in the data directory; replicas on one database share it).\n\
         If it is lost, `gatehouse secrets reset` clears the sealed values: provider keys and headers, the values of managed \
         keys, the passwords of users, the webhook secret."
    )
}

fn key_file(settings: &Settings) -> PathBuf {
    settings.storage.data_dir.join("encryption.key")
}

fn sealing_key(settings: &Settings, entropy: &Arc<dyn Entropy>) -> Result<[u8; 32], String> {
    let key_file = key_file(settings);
    match &settings.storage.encryption_key {
        Some(key) => Ok(*key.bytes()),
        None => store::load_or_create_key(&key_file, &**entropy)
            .map_err(|error| format!("The encryption key cannot be kept in {}: {error}", key_file.display())),
    }
}

/// Secrets that must be redacted from stored text, in every encoding in which the operator may have written them.
fn secrets(settings: &Settings, master_key: &MasterKey, sealing_key: &[u8; 32]) -> Vec<Secret> {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    let hex: String = sealing_key.iter().map(|byte| format!("{byte:02x}")).collect();
    let unpadded = |text: String| text.trim_end_matches('=').to_owned();
    let mut secrets = vec![
        master_key.key.clone(),
        Secret::new(hex.to_uppercase()),
        Secret::new(hex),
        Secret::new(unpadded(STANDARD.encode(sealing_key))),
        Secret::new(unpadded(URL_SAFE.encode(sealing_key))),
    ];
    secrets.extend(configured_secrets(settings));
    secrets
}

/// The secrets of the settings, beside the keys of the gateway.
pub fn configured_secrets(settings: &Settings) -> Vec<Secret> {
    let mut secrets: Vec<Secret> = settings.identity.admin_password.iter().cloned().collect();
    secrets.extend(
        settings.identity.oidc_providers.list.iter().filter_map(|provider| provider.client_secret.clone()),
    );
    for address in
        [&settings.storage.postgres_url, &settings.redis.url, &settings.proxy.http, &settings.proxy.https]
    {
        secrets.extend(address.as_ref().and_then(password));
    }
    secrets.extend(settings.webhooks.secret.clone());
    secrets.extend(settings.semantic_cache.qdrant_api_key.clone());
    secrets
}

/// The password in a URL, as written.
pub fn password(address: &Secret) -> Option<Secret> {
    let (_, rest) = address.reveal().split_once("://")?;
    let (user, _) = rest.split('/').next()?.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| Secret::new(password))
}

fn open_journal(
    settings: &Settings,
    clock: &Arc<dyn Clock>,
    entropy: &Arc<dyn Entropy>,
) -> Result<Journal, String> {
    let directory = settings.storage.data_dir.join("journal");
    let config = JournalConfig {
        directory: directory.clone(),
        workers: Workers::for_this_machine(),
        segment_bytes: 2 << 20,
        max_bytes: settings.journal.max_bytes.0,
        fsync: settings.journal.fsync,
    };
    Journal::open(config, clock.clone(), entropy.clone())
        .map_err(|error| format!("The journal in {} cannot be opened: {error}", directory.display()))
}

/// The settings of outgoing connections.
pub fn egress_config(settings: &Settings) -> EgressConfig {
    let reveal = |secret: &Option<Secret>| secret.as_ref().map(|secret| secret.reveal().to_owned());
    EgressConfig {
        connect_timeout: settings.upstream.connect_timeout,
        proxy: ProxySettings {
            http: reveal(&settings.proxy.http),
            https: reveal(&settings.proxy.https),
            no_proxy: settings.proxy.no_proxy.clone(),
        },
        http2: settings.upstream.http2,
        ..EgressConfig::default()
    }
}

/// The settings that apply to calls.
pub fn policy(settings: &Settings) -> Policy {
    let heartbeat = settings.upstream.stream_heartbeat;
    Policy {
        body_limit: settings.server.body_size_limit.0,
        body_memory_limit: settings.server.body_memory_limit.0.max(settings.server.body_size_limit.0),
        body_timeout: settings.server.body_timeout,
        stream_heartbeat: if heartbeat.is_zero() { NEVER } else { heartbeat },
        first_event_timeout: settings.upstream.ttft_timeout,
        stream_idle_timeout: settings.upstream.stream_idle_timeout,
        request_timeout: settings.upstream.request_timeout,
        accounting: settings.usage.enabled,
        strict_translation: settings.translation.strict,
        resume_streams: settings.upstream.resume_streams,
        response_ttl: settings.responses.ttl,
        idempotency_ttl: settings.idempotency.ttl,
        client_credentials: settings.server.allow_client_credentials.clone(),
        passthrough: PassthroughRules {
            enabled: settings.server.enable_passthrough_routes,
            providers: settings.server.passthrough_providers.clone(),
            drop_version: settings.server.allow_passthrough_v1_alias,
            unmetered: settings.server.passthrough_unmetered == PassthroughUnmetered::Allow,
        },
        retries: Retries {
            max: settings.routing.retry_max_retries,
            longest_wait: settings.routing.retry_after_max,
        },
        fallback: Fallback {
            mode: settings.routing.fallback_mode.0,
            rules: settings.routing.fallback_rules.0.clone(),
        },
        hedge_max_share: settings.routing.hedge_max_share.0,
        models_enabled_by_default: settings.models.enabled_by_default,
        keep_only_aliases: settings.models.keep_only_aliases,
        cache: CachePolicy {
            enabled: settings.cache.enabled,
            ttl: settings.cache.ttl,
            scope: settings.cache.scope.0,
            max_bytes: settings.cache.max_bytes.0,
            semantic: SemanticPolicy {
                enabled: settings.semantic_cache.enabled,
                mode: settings.semantic_cache.mode.0,
                threshold: settings.semantic_cache.threshold.0,
                ttl: settings.semantic_cache.ttl,
                recheck: settings.semantic_cache.recheck.0,
                prompt_similarity: settings.semantic_cache.prompt_similarity.0,
                max_entries: usize::try_from(settings.semantic_cache.max_entries).unwrap_or(usize::MAX),
                embedding_timeout: semantic_store::embedding_timeout(settings),
                store_timeout: settings.semantic_cache.store_timeout,
            },
        },
        prompt_cache: settings.prompt_cache.mode.0,
        guardrails: settings.guardrails.enabled,
        audit: audit::Rules {
            enabled: settings.logging.enabled,
            bodies: settings.logging.log_bodies,
            headers: settings.logging.log_headers,
            body_limit: usize::try_from(settings.logging.body_limit.0).unwrap_or(usize::MAX),
        },
        unpriced_denied: settings.spending.unpriced_policy == UnpricedPolicy::Deny,
        budgets_closed: budgets_fail(settings) == FailMode::Closed,
        budget_lease_wait: settings.spending.budget_lease_wait,
        log_requests: settings.log.requests,
        ..Policy::default()
    }
}

fn empty_snapshot(master_key: &MasterKey) -> Snapshot {
    Snapshot {
        revision: 0,
        compiled_at: Default::default(),
        master: auth_key::digest(master_key.key.reveal()),
        keys: Keys::default(),
        identities: Default::default(),
        routes: Default::default(),
        guardrails: Default::default(),
        workflows: Default::default(),
        document_errors: Default::default(),
        tenant_views: Default::default(),
    }
}

/// The trust in addresses that are set through the admin API.
fn admin_trust(settings: &Settings, listener: &TcpListener) -> Trust {
    Trust::Admin { allow_private: settings.upstream.allow_private, loopback_listener: is_loopback(listener) }
}

fn is_loopback(listener: &TcpListener) -> bool {
    listener.local_addr().is_ok_and(|address| address.ip().is_loopback())
}

fn fixed(settings: &Settings, listener: &TcpListener) -> StaticConfig {
    StaticConfig {
        providers: settings.providers.clone(),
        demo: demo(settings),
        allow_private: settings.upstream.allow_private,
        loopback_listener: is_loopback(listener),
        combos: settings.combos.enabled,
        budgets: budgets(settings),
        documents: settings.resources.documents.clone(),
        token_issuers: settings.tokens.issuers.list.clone(),
        secrets: Vec::new(),
    }
}

/// The state of budgets, which replicas on one PostgreSQL share by leases.
fn shared_budgets(settings: &Settings, store: &Store, journal: &Journal) -> Result<Budgets, String> {
    let capabilities = settings.capabilities().map_err(|fault| fault.to_string())?;
    let is_shared = store.ledger().leases().are_used() && capabilities.has(Capability::AdvancedBudgets);
    Ok(Budgets::new(is_shared.then(|| journal.name())))
}

/// By default, budgets that replicas share are enforced without exception.
fn budgets_fail(settings: &Settings) -> FailMode {
    let default = match settings.storage.kind {
        StorageType::Postgres => FailMode::Closed,
        StorageType::Sqlite => FailMode::Open,
    };
    settings.spending.budgets_fail.unwrap_or(default)
}

/// The budgets of `BUDGETS` and of the file. Those of the environment win.
pub fn budgets(settings: &Settings) -> Vec<Budget> {
    let mut budgets = settings.resources.budgets.clone();
    budgets.extend(settings.spending.budgets.0.iter().cloned());
    budgets
}

/// Whether the built-in demo is served; `None` if that depends on other providers.
pub fn demo(settings: &Settings) -> Option<bool> {
    match settings.demo.enabled {
        Demo::Auto => None,
        Demo::On => Some(true),
        Demo::Off => Some(false),
    }
}

/// The receiver of webhooks that the settings name; without a list of events, it gets all.
pub fn webhook_receiver(settings: &Settings) -> Option<ConfiguredReceiver> {
    let (url, secret) = settings.webhooks.url.clone().zip(settings.webhooks.secret.clone())?;
    let named = settings.webhooks.events.iter().filter_map(|name| WebhookEvent::parse(name)).collect();
    let events = if settings.webhooks.events.is_empty() { WebhookEvent::ALL.to_vec() } else { named };
    Some(ConfiguredReceiver { url, secret, events })
}

/// The settings of the HTTP server.
pub fn server_config(settings: &Settings) -> Config {
    Config {
        version: env!("CARGO_PKG_VERSION"),
        base_path: settings.server.base_path.0.clone(),
        metrics_endpoint: settings.metrics.enabled.then(|| settings.metrics.endpoint.0.clone()),
        usage_enabled: settings.usage.enabled,
        admin_enabled: settings.admin.endpoints_enabled,
        dashboard_enabled: settings.admin.ui_enabled,
        swagger_enabled: settings.admin.swagger_enabled && settings.admin.debug,
        combos_enabled: settings.combos.enabled,
        cli_tools: server::CliToolsConfig {
            enabled: settings.cli_tools.enabled,
            apply_enabled: settings.cli_tools.apply_enabled,
            home: crate::settings::home_directory(),
        },
        cors_origins: settings.server.cors_origins.clone(),
        trusted_proxies: settings.server.trusted_proxies.iter().filter_map(|text| network(text)).collect(),
        ready_needs_provider: settings.server.ready_needs_provider,
        identity: IdentityConfig {
            has_first_admin: settings.identity.admin_email.is_some(),
            oidc_providers: settings.identity.oidc_providers.list.iter().cloned().map(Arc::new).collect(),
        },
        ..Config::default()
    }
}

fn listen_config(settings: &Settings) -> ListenConfig {
    ListenConfig {
        max_connections: settings.server.max_connections as usize,
        header_timeout: settings.server.header_timeout,
        write_patience: settings.server.write_timeout,
        delay: settings.server.shutdown_delay,
        grace: settings.server.shutdown_grace,
    }
}
