//! Editions and capabilities. All features are in one binary; capabilities decide which are available.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Edition {
    #[default]
    Oss,
    Enterprise,
}

impl Edition {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Oss => "oss",
            Self::Enterprise => "enterprise",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    AdvancedBudgets,
    Identity,
    Rbac,
    AdvancedRouting,
    AdvancedGuardrails,
    Cluster,
    Compliance,
    ObservabilityExports,
}

impl Capability {
    pub const ALL: &'static [Self] = &[
        Self::AdvancedBudgets,
        Self::Identity,
        Self::Rbac,
        Self::AdvancedRouting,
        Self::AdvancedGuardrails,
        Self::Cluster,
        Self::Compliance,
        Self::ObservabilityExports,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::AdvancedBudgets => "advancedBudgets",
            Self::Identity => "identity",
            Self::Rbac => "rbac",
            Self::AdvancedRouting => "advancedRouting",
            Self::AdvancedGuardrails => "advancedGuardrails",
            Self::Cluster => "cluster",
            Self::Compliance => "compliance",
            Self::ObservabilityExports => "observabilityExports",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|capability| capability.as_str() == text)
    }
}

/// The capabilities enabled in this installation.
#[derive(Clone, Debug, Default)]
pub struct Capabilities {
    pub edition: Edition,
    pub single: Vec<Capability>,
}

impl Capabilities {
    pub fn has(&self, capability: Capability) -> bool {
        self.edition == Edition::Enterprise || self.single.contains(&capability)
    }
}
