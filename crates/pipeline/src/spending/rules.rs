//! The budgets in force: those of the configuration, those of the admin API over them, and when each begins anew.

use std::collections::BTreeMap;

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::period::Anchors;
use domain::resources::budget::{Budget, BudgetKey, Source};
use domain::resources::budget_settings::{self, BudgetSettings};
use store::{Store, StoreError};

#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub key: BudgetKey,
    pub amount: Nanos,
    pub source: Source,
    /// What was spent before no longer counts.
    pub last_reset_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    pub budgets: Vec<Rule>,
    pub anchors: Anchors,
    /// Ascending.
    pub thresholds: Vec<f64>,
}

impl Rules {
    pub async fn load(store: &Store, configured: &[(BudgetKey, Nanos)]) -> Result<Self, StoreError> {
        let settings = store.collection::<BudgetSettings>().get(budget_settings::NAME).await?;
        let settings = settings.map(|stored| stored.value).unwrap_or_default();
        let stored = store.collection::<Budget>().all().await?;
        let stored = stored.into_iter().map(|stored| stored.value);
        Ok(Self::new(configured, stored, &settings))
    }

    pub fn new(
        configured: &[(BudgetKey, Nanos)],
        stored: impl Iterator<Item = Budget>,
        settings: &BudgetSettings,
    ) -> Self {
        let rule = |(key, amount): &(BudgetKey, Nanos)| {
            let rule =
                Rule { key: key.clone(), amount: *amount, source: Source::Config, last_reset_at: None };
            (key.clone(), rule)
        };
        let mut rules: BTreeMap<BudgetKey, Rule> = configured.iter().map(rule).collect();
        for budget in stored {
            let Some(key) = budget.key() else { continue };
            match (budget.amount, rules.get_mut(&key)) {
                (Some(amount), _) => {
                    let last_reset_at = budget.last_reset_at;
                    let rule = Rule { key: key.clone(), amount, source: Source::Manual, last_reset_at };
                    rules.insert(key, rule);
                }
                (None, Some(rule)) => rule.last_reset_at = budget.last_reset_at,
                // The configuration has no such budget any more.
                (None, None) => {}
            }
        }
        let mut thresholds = settings.thresholds.clone();
        thresholds.sort_by(f64::total_cmp);
        thresholds.dedup();
        Self { budgets: rules.into_values().collect(), anchors: settings.anchors(), thresholds }
    }
}
