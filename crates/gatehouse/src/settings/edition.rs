//! The capabilities that the settings enable, and the settings that have no effect without one.

use domain::capability::{Capabilities, Capability, Edition};

use super::{Settings, SettingsFault};

/// Settings that need a capability.
const GATED: [(&str, Capability); 6] = [
    ("BUDGETS", Capability::AdvancedBudgets),
    ("BUDGETS_FAIL", Capability::AdvancedBudgets),
    ("BUDGET_LEASE_WAIT", Capability::AdvancedBudgets),
    ("IDENTITY_ADMIN_EMAIL", Capability::Identity),
    ("IDENTITY_ADMIN_PASSWORD", Capability::Identity),
    ("OIDC_PROVIDERS", Capability::Identity),
];

impl Settings {
    pub fn capabilities(&self) -> Result<Capabilities, SettingsFault> {
        let parse = |name: &String| {
            Capability::parse(name).ok_or_else(|| {
                let known: Vec<&str> = Capability::ALL.iter().map(|capability| capability.as_str()).collect();
                let message = format!("names '{name}', which is none of {}", known.join(", "));
                SettingsFault::new("edition.capabilities (GATEWAY_CAPABILITIES)", message)
            })
        };
        let edition = match self.edition.name {
            super::Edition::Oss => Edition::Oss,
            super::Edition::Enterprise => Edition::Enterprise,
        };
        let single = self.edition.capabilities.iter().map(parse).collect::<Result<_, _>>()?;
        Ok(Capabilities { edition, single })
    }

    /// Settings that were set and have no effect: an error in `check`, a warning at the start.
    pub fn without_effect(&self) -> Vec<SettingsFault> {
        let Ok(capabilities) = self.capabilities() else { return Vec::new() };
        let set = self.sources.iter().filter(|origin| origin.source != super::SettingSource::Default);
        let gated = set.filter_map(|origin| {
            let (_, needed) = GATED.iter().find(|(name, _)| *name == origin.setting.env)?;
            (!capabilities.has(*needed)).then_some((origin.setting, needed.as_str()))
        });
        let fault = |(setting, needed): (&super::Setting, &str)| {
            let message = format!(
                "has no effect without the capability {needed}: set GATEWAY_CAPABILITIES={needed} or GATEWAY_EDITION=enterprise"
            );
            SettingsFault::new(format!("{} ({})", setting.path, setting.env), message)
        };
        gated.map(fault).collect()
    }
}
