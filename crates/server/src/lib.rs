//! The HTTP server: the only crate that depends on the web framework. All routes are listed in `router`.

mod accept;
mod admin;
mod authorized;
mod azure;
mod body;
mod client_address;
mod cors;
mod csv;
mod dashboard_files;
mod dependencies;
mod fault;
mod framing;
mod http1;
mod http2;
mod http_service;
mod inference;
mod known_query;
mod logins;
mod nearest;
mod oidc_documents;
mod openapi;
mod path;
mod preface;
mod probes;
mod query;
mod request_body;
mod request_context;
mod root_routes;
mod router;
mod runtime_settings;
mod swagger;
mod tenant_access;
mod unknown_route;
mod workers;
mod write_timeout;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::capability::Capability;
use domain::clock::Timestamp;
use identity::oidc::OidcProvider;
use ipnet::IpNet;
use pipeline::gateway::Gateway;
use pipeline::refresh::Refresher;
use pipeline::services::live_value::LiveValue;
use tokio::runtime::Handle;

pub use accept::{ListenConfig, serve};
pub use admin::config::{FileResources, schema as config_schema};
pub use admin::identity::create_first_admin;
pub use dashboard_files::has_dashboard;
pub use http_service::HttpService;
pub use router::{generated_document, published_document, routes};
pub use runtime_settings::{RuntimeSettings, SettingFault, SettingLayer, SettingState};
pub use workers::Workers;

/// State shared by all handlers.
pub struct App {
    pub gateway: Arc<Gateway>,
    pub refresher: Arc<Refresher>,
    pub settings: Arc<dyn RuntimeSettings>,
    /// Replaced when settings change.
    pub config: Arc<LiveValue<Config>>,
    /// Serializes changes of names: held from the check of a name until the write is in the snapshot, so that two
    /// conflicting records cannot both pass the check.
    naming: tokio::sync::Mutex<()>,
    /// Held while costs are recalculated, so that only one recalculation runs at a time.
    recalculating: Arc<tokio::sync::Mutex<()>>,
    /// Held while the configuration files of a tool are written.
    configuring_tools: Arc<tokio::sync::Mutex<()>>,
    logins: logins::Logins,
    oidc_documents: oidc_documents::OidcDocuments,
    draining: AtomicBool,
    /// The runtimes of the listener, once it serves.
    runtimes: OnceLock<Vec<Handle>>,
    /// The result of the last disk probe of `/ready`, and its time.
    disk_space: tokio::sync::Mutex<Option<(Duration, dependencies::DiskSpace)>>,
    started: Started,
}

/// The time at which the gateway started, as wall time and as monotonic time.
struct Started {
    at: Timestamp,
    tick: Duration,
}

/// The settings that the HTTP server needs.
#[derive(Clone, Debug)]
pub struct Config {
    pub version: &'static str,
    pub base_path: String,
    pub metrics_endpoint: Option<String>,
    pub usage_enabled: bool,
    pub admin_enabled: bool,
    pub dashboard_enabled: bool,
    /// Whether Swagger UI is served.
    pub swagger_enabled: bool,
    pub combos_enabled: bool,
    pub cli_tools: CliToolsConfig,
    pub cors_origins: Vec<String>,
    /// `TRUSTED_PROXIES`: peers whose forwarding headers are used to find the client's address.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether `/ready` returns 503 while no provider can be called.
    pub ready_needs_provider: bool,
    /// Time that `/ready`, `/metrics` and the runtime status wait for storage and for the disks.
    pub probe_timeout: Duration,
    pub identity: IdentityConfig,
}

/// How users log in.
#[derive(Clone, Debug, Default)]
pub struct IdentityConfig {
    /// Whether a first administrator is configured.
    pub has_first_admin: bool,
    pub oidc_providers: Vec<Arc<OidcProvider>>,
}

impl IdentityConfig {
    fn is_configured(&self) -> bool {
        self.has_first_admin || !self.oidc_providers.is_empty()
    }
}

/// The settings of `/admin/api/v1/cli-tools`.
#[derive(Clone, Debug)]
pub struct CliToolsConfig {
    pub enabled: bool,
    /// Whether the files of tools may be written on this machine.
    pub apply_enabled: bool,
    /// The home directory of the user that the gateway runs as.
    pub home: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            base_path: "/".into(),
            metrics_endpoint: Some("/metrics".into()),
            usage_enabled: true,
            admin_enabled: true,
            dashboard_enabled: true,
            swagger_enabled: false,
            combos_enabled: true,
            cli_tools: CliToolsConfig { enabled: true, apply_enabled: false, home: None },
            cors_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            ready_needs_provider: false,
            // Load balancers commonly give a probe one second.
            probe_timeout: Duration::from_millis(300),
            identity: IdentityConfig::default(),
        }
    }
}

impl From<Config> for Arc<LiveValue<Config>> {
    fn from(config: Config) -> Self {
        Self::new(LiveValue::new(config))
    }
}

impl App {
    pub fn new(
        gateway: Arc<Gateway>,
        refresher: Arc<Refresher>,
        settings: Arc<dyn RuntimeSettings>,
        config: impl Into<Arc<LiveValue<Config>>>,
    ) -> Arc<Self> {
        let started = Started { at: gateway.clock.now(), tick: gateway.clock.tick() };
        Arc::new(Self {
            gateway,
            refresher,
            settings,
            config: config.into(),
            naming: Default::default(),
            recalculating: Default::default(),
            configuring_tools: Default::default(),
            logins: Default::default(),
            oidc_documents: Default::default(),
            draining: AtomicBool::new(false),
            runtimes: OnceLock::new(),
            disk_space: Default::default(),
            started,
        })
    }

    /// Starts draining: `/ready` fails, so that load balancers stop sending requests, and responses close their
    /// connection.
    pub fn drain(&self) {
        // Relaxed is enough: the flag guards no other data, and its readers poll it.
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Ends the streams of the console and the audit log, because they would otherwise delay the shutdown.
    pub fn end_feeds(&self) {
        self.gateway.console.close();
        self.gateway.audit.close();
    }

    /// Whether users can log in: the edition has the capability, and a way is configured.
    fn has_identity(&self) -> bool {
        self.gateway.capabilities.has(Capability::Identity) && self.config.identity.is_configured()
    }

    /// Remembers the runtimes that the listener uses, for their metrics.
    fn serve_on(&self, runtimes: Vec<Handle>) {
        let _ = self.runtimes.set(runtimes);
    }

    /// The number of tasks that have not ended, on all runtimes of the listener.
    fn unfinished_tasks(&self) -> usize {
        let runtimes = self.runtimes.get().map_or(&[][..], Vec::as_slice);
        runtimes.iter().map(|runtime| runtime.metrics().num_alive_tasks()).sum()
    }

    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}
