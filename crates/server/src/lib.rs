//! HTTP: the only floor that knows the web framework. Every route is on one page: `router`.

mod accept;
mod admin;
mod azure;
mod body;
mod client_address;
mod cors;
mod csv;
mod door;
mod fault;
mod framing;
mod http2;
mod inference;
mod known_query;
mod nearest;
mod openapi;
mod path;
mod patient;
mod preface;
mod principal;
mod query;
mod router;
mod shell;
mod unknown_route;
mod workers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ipnet::IpNet;
use pipeline::gateway::Gateway;
use pipeline::refresh::Refresher;

pub use accept::{ListenConfig, serve};
pub use door::Door;
pub use router::{document, routes};
pub use workers::Workers;

/// What the handlers share.
pub struct App {
    pub gateway: Arc<Gateway>,
    pub refresher: Arc<Refresher>,
    pub config: Config,
    /// Held from the check of a name until its writing is in force: two records that would shut each other out come one by one.
    naming: tokio::sync::Mutex<()>,
    /// Held while costs are recalculated.
    recalculating: Arc<tokio::sync::Mutex<()>>,
    draining: AtomicBool,
    /// The last disk check of `/ready`, and its time.
    room: tokio::sync::Mutex<Option<(Duration, inference::health::Room)>>,
}

/// The parts of the settings that change what is served.
#[derive(Clone, Debug)]
pub struct Config {
    pub version: &'static str,
    pub base_path: String,
    pub metrics_endpoint: Option<String>,
    pub usage_enabled: bool,
    pub admin_enabled: bool,
    pub dashboard_enabled: bool,
    pub combos_enabled: bool,
    pub cors_origins: Vec<String>,
    /// `TRUSTED_PROXIES`: peers whose forwarding headers give the client's address.
    pub trusted_proxies: Vec<IpNet>,
    /// `/ready` is 503 while no provider can be called.
    pub ready_needs_provider: bool,
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
            combos_enabled: true,
            cors_origins: Vec::new(),
            trusted_proxies: Vec::new(),
            ready_needs_provider: false,
        }
    }
}

impl App {
    pub fn new(gateway: Arc<Gateway>, refresher: Arc<Refresher>, config: Config) -> Arc<Self> {
        Arc::new(Self {
            gateway,
            refresher,
            config,
            naming: Default::default(),
            recalculating: Default::default(),
            draining: AtomicBool::new(false),
            room: Default::default(),
        })
    }

    /// From now on `/ready` says no: load balancers send their calls elsewhere. Who watches the console or the audit log
    /// leaves at once: what never ends by itself must not hold up the stop.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.gateway.console.close();
        self.gateway.audit.close();
    }

    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// How long `/ready` waits for storage: probes have a second for everything.
const PING_LIMIT: Duration = Duration::from_millis(300);
