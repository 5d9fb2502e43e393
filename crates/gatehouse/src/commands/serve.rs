//! `gatehouse serve`: assembles the gateway, runs it until a signal arrives, and shuts it down in a fixed order.

pub(super) mod assemble;
mod background_tasks;
mod reload;
mod telemetry;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use pipeline::budgets;
use pipeline::gateway::{Gateway, background, replication};
use pipeline::responses::background as background_responses;
use server::Workers;
use store::Store;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::{check, settings_or_exit};
use crate::logging::{self, LogLevel};
use crate::master_key;
use crate::settings::Settings;
use assemble::AssembledGateway;
use reload::{RunningSettings, SettingsInput};

/// Time after which the background tasks of start-up, such as the first drain, have usually run.
const STARTUP: Duration = Duration::from_millis(250);
/// Time limit of the last journal drain; the rest is processed at the next start.
const LAST_DRAIN: Duration = Duration::from_secs(10);
/// Time limit for the final compaction of usage sums; the next process does the rest.
const LAST_COMPACTION: Duration = Duration::from_secs(5);

#[expect(clippy::print_stderr, reason = "a command that cannot start says why to whoever typed it")]
pub fn run(config: Option<&Path>) -> ExitCode {
    let settings = match settings_or_exit(config) {
        Ok(settings) => settings,
        Err(status) => return status,
    };
    let logging = match logging::start(&settings.log) {
        Ok(logging) => logging,
        Err(error) => {
            eprintln!("Logging could not be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    // Runs the accept loop, the drainer and background tasks; calls run on worker threads.
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("The runtime could not be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(serve(settings, config, logging.level()));
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(settings: Settings, config: Option<&Path>, log_level: LogLevel) -> Result<(), String> {
    let hangup =
        signal(SignalKind::hangup()).map_err(|error| format!("Signals cannot be watched: {error}"))?;
    let input = SettingsInput::new(config);
    let store = assemble::open_storage(&settings).await?;
    let settings = reload::at_start(settings, &input, &store).await?;
    log_level.set(&settings.log.level);
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    for fault in check::ineffective(&settings) {
        tracing::warn!("{fault}");
    }
    let listener = listen(&settings).await?;
    let running = |refresher, parts| {
        Arc::new(RunningSettings::new(settings.clone(), input, refresher, parts, log_level))
    };
    let assembled = assemble::assemble(&settings, &listener, store, running).await?;
    announce(&settings, &listener, &assembled);

    let (stop, stopping) = watch::channel(false);
    let (stop_draining, drained) = watch::channel(false);
    assembled.gateway.tasks.spawn(assembled.gateway.responses.clone().run(drained.clone()));
    assembled.gateway.tasks.spawn(assembled.gateway.idempotency.clone().run(drained.clone()));
    assembled.gateway.tasks.spawn(assembled.store.semantic_entries().clone().run(drained.clone()));
    assembled.gateway.tasks.spawn(background_responses::run(assembled.gateway.clone(), drained.clone()));
    assembled.gateway.tasks.spawn(budgets::keep_leases(
        assembled.gateway.budgets.clone(),
        assembled.gateway.clock.clone(),
        assembled.store.clone(),
        drained.clone(),
    ));
    assembled.gateway.tasks.spawn(assembled.drainer.run(drained));
    let mut background = assembled.background;
    background.push(background_tasks::spawn(assembled.running_settings.clone().run(hangup)));
    let (gateway, store) = (&assembled.gateway, &assembled.store);
    let app = assembled.http_service.app().clone();
    let registered = replication::keep_registered(gateway.clone(), store.clone(), move || app.is_draining());
    background.push(background_tasks::spawn(registered));
    background.push(background_tasks::spawn(replication::keep_listening(gateway.clone(), store.clone())));
    watch_signals(stop)?;
    // The workers end last: tasks that calls left behind still run on them.
    let workers = Workers::start(Workers::for_this_machine())
        .map_err(|error| format!("A thread could not be started: {error}"))?;
    workers.each(&assembled.gateway.tasks, || warm(assembled.gateway.clone()));
    background.push(background_tasks::spawn(release_startup_code()));
    let cut = server::serve(listener, assembled.http_service, assembled.listen, stopping, &workers).await;

    // Shutdown order: no new calls, then the remaining work of calls, then their receipts, then storage.
    background.iter().for_each(tokio::task::JoinHandle::abort);
    assembled.gateway.pending_receipts.retry(&assembled.gateway.journal);
    let _ = stop_draining.send(true);
    assembled.gateway.egress.close_idle();
    assembled.gateway.tasks.close();
    if tokio::time::timeout(LAST_DRAIN, assembled.gateway.tasks.wait()).await.is_err() {
        tracing::warn!("the journal is not drained yet; the rest is read at the next start");
    } else {
        // All tasks have ended, so nothing can append to the journal any more.
        assembled.gateway.journal.retire(&assembled.store).await;
    }
    assembled.gateway.key_uses.write(&assembled.store).await;
    background::write_semantic_checks(&assembled.gateway, &assembled.store).await;
    compact_last(&assembled.store).await;
    assembled.store.close().await;
    drop(workers);
    tracing::info!(cut, "stopped");
    Ok(())
}

/// Adds the sums of the last quarter hour to the rollup tables. What remains is not lost: reports include it, and the
/// next process adds it.
async fn compact_last(store: &Store) {
    match tokio::time::timeout(LAST_COMPACTION, store.ledger().compact_all()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "final compaction of usage sums failed"),
        Err(_) => tracing::warn!("stopping before all usage sums are compacted"),
    }
}

/// Opens one connection to each provider, so that the first call does not pay for the handshake.
async fn warm(gateway: Arc<Gateway>) {
    let routes = gateway.snapshot().routes.clone();
    for instance in routes.instances.values().filter(|instance| instance.provider.enabled) {
        if let Ok(destination) = &instance.core.destination {
            gateway.egress.warm(destination, 1).await;
        }
    }
}

/// Releases the memory of code that only start-up runs, after start-up and its background tasks.
async fn release_startup_code() {
    tokio::time::sleep(STARTUP).await;
    if let Err(error) = memory_map::release_code_pages() {
        tracing::debug!(%error, "code pages of start-up not released");
    }
}

async fn listen(settings: &Settings) -> Result<TcpListener, String> {
    let server = &settings.server;
    let address = (server.host.trim_matches(['[', ']']), server.port);
    TcpListener::bind(address).await.map_err(|error| {
        format!(
            "The gateway cannot listen on {}:{}: {error}. Choose another address with HOST and PORT.",
            server.host, server.port
        )
    })
}

/// Prints the address, the providers and the origin of the master key; the key itself only when it was just generated.
/// Errors are ignored: standard output may be closed.
fn announce(settings: &Settings, listener: &TcpListener, assembled: &AssembledGateway) {
    let address = listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
    let base = settings.server.base_path.0.trim_end_matches('/');
    let mut text =
        format!("Gatehouse {} is listening on http://{address}{base}\n", env!("CARGO_PKG_VERSION"));
    if settings.admin.ui_enabled {
        text += &format!("  dashboard   http://{address}{base}/admin/dashboard\n");
    }
    if assembled.master_key.fresh {
        text += &format!("  master key  {}\n", assembled.master_key.key.reveal());
        text += &format!("              made just now, kept in {}\n", assembled.master_key_file.display());
    } else {
        let key = master_key::describe(settings, Path::new("."));
        text += &format!("  master key  {}\n", key.summary);
        if let Some(warning) = key.warning {
            tracing::warn!("{warning}");
            text += &format!("              {warning}\n");
        }
    }
    let snapshot = assembled.gateway.snapshot();
    let names: Vec<&str> = snapshot.routes.instances.keys().map(String::as_str).collect();
    text += &format!("  providers   {}\n", names.join(", "));
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Requests a graceful shutdown on the first signal and exits immediately on the second.
fn watch_signals(stop: watch::Sender<bool>) -> Result<(), String> {
    let fault = |error: std::io::Error| format!("Signals cannot be watched: {error}");
    let mut terminate = signal(SignalKind::terminate()).map_err(fault)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(fault)?;
    #[expect(
        clippy::disallowed_methods,
        reason = "it lives as long as the process and must not be waited for"
    )]
    tokio::spawn(async move {
        let mut asked = false;
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if asked {
                std::process::exit(1);
            }
            asked = true;
            tracing::info!("shutting down, a second signal stops immediately");
            let _ = stop.send(true);
        }
    });
    Ok(())
}
