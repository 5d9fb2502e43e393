//! The settings as the admin API shows them.

use server::{SettingFault, SettingLayer, SettingState};

use crate::settings::{
    Setting, SettingOrigin, SettingSource, Settings, SettingsFault, TABLE, restart_reason,
};

/// All settings as they would be after a restart. Those whose value differs from the one in force are marked.
pub fn states(latest: &Settings, in_force: &Settings) -> Vec<SettingState> {
    latest.sources.iter().map(|origin| state(origin, in_force)).collect()
}

fn state(origin: &SettingOrigin, in_force: &Settings) -> SettingState {
    let setting = origin.setting;
    let running = in_force.sources.iter().find(|running| running.setting.path == setting.path);
    let locked_reason = match origin.source {
        SettingSource::Env => Some(format!("{} in the environment sets it", setting.env)),
        _ => lock(setting).map(|reason| format!("{reason}; set it in gatehouse.yaml or by {}", setting.env)),
    };
    SettingState {
        name: setting.path,
        env: setting.env,
        value: origin.shown.clone(),
        default: setting.default,
        source: layer(origin.source),
        locked: locked_reason.is_some(),
        never_stored: lock(setting).is_some(),
        locked_reason,
        restart_required: restart_reason(setting.path).is_some(),
        restart_reason: restart_reason(setting.path),
        restart_pending: running.is_some_and(|running| running.value != origin.value),
        secret: setting.secret,
        kind: setting.kind,
        description: setting.doc.trim(),
    }
}

fn layer(source: SettingSource) -> SettingLayer {
    match source {
        SettingSource::Default => SettingLayer::Default,
        SettingSource::File => SettingLayer::File,
        SettingSource::Admin => SettingLayer::Admin,
        SettingSource::Env => SettingLayer::Env,
    }
}

/// The settings that decide who may call the gateway and where secrets are sent.
const CALLERS: [&str; 7] = [
    "server.trusted_proxies",
    "server.allow_client_credentials",
    "cli_tools.apply_enabled",
    "webhooks.url",
    "webhooks.secret",
    "semantic_cache.qdrant_url",
    "semantic_cache.qdrant_api_key",
];
/// The sections of such settings.
const CALLER_SECTIONS: [&str; 4] = ["tokens.", "identity.", "edition.", "proxy."];

/// The reason why a setting cannot be stored through the admin API.
pub fn lock(setting: &Setting) -> Option<&'static str> {
    match setting.path {
        "server.master_key" => Some("whoever could change it would have all permissions"),
        "admin.endpoints_enabled" => Some("without the admin API it could not be changed back"),
        "upstream.allow_private" => {
            Some("whoever could change it could send requests into the network of the gateway")
        }
        path if path.starts_with("storage.") => {
            Some("it is read before storage is opened, where changed settings are kept")
        }
        path if CALLERS.contains(&path)
            || CALLER_SECTIONS.iter().any(|section| path.starts_with(section)) =>
        {
            Some("it decides who may call the gateway or where secrets are sent")
        }
        _ => None,
    }
}

/// A fault of the settings, by the name of its setting.
pub fn fault(fault: &SettingsFault) -> SettingFault {
    let name = fault.key.split(' ').next().unwrap_or_default();
    let setting = TABLE.iter().find(|setting| setting.path == name);
    SettingFault {
        name: setting.map(|setting| setting.path),
        message: format!("{} {}", fault.key.trim_end_matches(':'), fault.message),
    }
}
