//! The budgets in force: those of the configuration, overridden by those of the admin API, and the anchors of their
//! windows.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::period::Anchors;
use domain::resources::budget::{Budget, BudgetKey, BudgetPolicy, BudgetSource};
use domain::resources::budget_settings::BudgetSettings;
use domain::user_path::UserPath;

#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub key: BudgetKey,
    pub amount: Nanos,
    pub source: BudgetSource,
    /// Spending before this time does not count.
    pub last_reset_at: Option<Timestamp>,
    pub policy: BudgetPolicy,
    /// The budget whose `child_default` this one is derived from.
    pub parent: Option<UserPath>,
    /// The agent run that this budget is for, if it is derived from one with `per_run`.
    pub run: Option<Arc<str>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    pub budgets: Vec<Rule>,
    pub anchors: Anchors,
    /// Fractions of the amount, ascending.
    pub thresholds: Vec<f64>,
    /// Scopes in which calls are refused because a budget cannot be read.
    pub closed: Vec<ClosedScope>,
}

/// The scope of a budget whose amount or period is not known.
#[derive(Clone, Debug, PartialEq)]
pub struct ClosedScope {
    pub user_path: UserPath,
    /// `None` covers every tenant.
    pub tenant: Option<String>,
}

/// A stored budget: enforced, or its scope is closed because the document does not compile.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredBudget {
    Enforced(Budget),
    Closed(ClosedScope),
}

/// The stored budget settings; unknown if their document does not compile.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredSettings {
    Known(BudgetSettings),
    Unknown,
}

impl Default for StoredSettings {
    fn default() -> Self {
        Self::Known(BudgetSettings::default())
    }
}

impl ClosedScope {
    /// Reads the scope from the name of a stored budget; covers everything if the name cannot be parsed.
    pub fn named(name: &str) -> Self {
        match BudgetKey::parse(name) {
            Some(key) => key.into(),
            None => Self { user_path: UserPath::root(), tenant: None },
        }
    }
}

impl From<BudgetKey> for ClosedScope {
    fn from(key: BudgetKey) -> Self {
        Self { user_path: key.user_path, tenant: key.tenant }
    }
}

impl Rule {
    pub fn new(key: BudgetKey, amount: Nanos, source: BudgetSource) -> Self {
        Self {
            key,
            amount,
            source,
            last_reset_at: None,
            policy: BudgetPolicy::default(),
            parent: None,
            run: None,
        }
    }

    /// The budget that a child path derives from this one's `child_default`. Both have the same windows and resets.
    pub fn child(&self, user_path: UserPath, amount: Nanos) -> Self {
        Self {
            key: BudgetKey { user_path, ..self.key.clone() },
            amount,
            policy: BudgetPolicy { child_default: None, ..self.policy.clone() },
            parent: Some(self.key.user_path.clone()),
            ..self.clone()
        }
    }
}

impl Rule {
    /// The budget that a run derives from this one's `per_run`.
    pub fn for_run(&self, run: Arc<str>) -> Self {
        Self { run: Some(run), ..self.clone() }
    }

    /// A name that is unique among the budgets in force.
    pub fn name(&self) -> String {
        let name = self.key.name();
        match &self.run {
            Some(run) => format!("{name}|run {run}"),
            None => name,
        }
    }
}

impl Rule {
    /// The name under which replicas share the budget. One with `per_run` is that of the calls without a run.
    pub fn lease_name(&self) -> String {
        match &self.run {
            None if self.policy.per_run => format!("{}|run ", self.key.name()),
            _ => self.name(),
        }
    }
}

impl Rules {
    /// Compiles the rules. A budget that does not compile closes its scope. Without known settings the windows are not
    /// known, so that the scopes of all budgets are closed.
    pub fn compile(
        configured: &[Budget],
        stored: impl Iterator<Item = StoredBudget>,
        settings: StoredSettings,
    ) -> Self {
        let (mut enforced, mut closed) = (Vec::new(), Vec::new());
        for budget in stored {
            match budget {
                StoredBudget::Enforced(budget) => enforced.push(budget),
                StoredBudget::Closed(scope) => closed.push(scope),
            }
        }
        let (settings, known) = match settings {
            StoredSettings::Known(settings) => (settings, true),
            StoredSettings::Unknown => (BudgetSettings::default(), false),
        };
        let rules = Self::new(configured, enforced.into_iter(), &settings);
        if !known {
            closed.extend(rules.budgets.iter().map(|rule| ClosedScope::from(rule.key.clone())));
        }
        Self { closed, ..rules }
    }

    pub fn new(
        configured: &[Budget],
        stored: impl Iterator<Item = Budget>,
        settings: &BudgetSettings,
    ) -> Self {
        let rule = |budget: &Budget| {
            let (key, amount) = (budget.key()?, budget.amount?);
            let rule = Rule::new(key.clone(), amount, BudgetSource::Config);
            Some((key, Rule { policy: budget.policy.clone(), ..rule }))
        };
        let mut rules: BTreeMap<BudgetKey, Rule> = configured.iter().filter_map(rule).collect();
        for budget in stored {
            let Some(key) = budget.key() else { continue };
            match (budget.amount, rules.get_mut(&key)) {
                (Some(amount), _) => {
                    let Budget { last_reset_at, policy, .. } = budget;
                    let rule = Rule::new(key.clone(), amount, BudgetSource::Manual);
                    rules.insert(key, Rule { last_reset_at, policy, ..rule });
                }
                (None, Some(rule)) => rule.last_reset_at = budget.last_reset_at,
                // The configuration no longer has this budget.
                (None, None) => {}
            }
        }
        let mut thresholds = settings.thresholds.clone();
        thresholds.sort_by(f64::total_cmp);
        thresholds.dedup();
        let budgets = rules.into_values().collect();
        Self { budgets, anchors: settings.anchors(), thresholds, closed: Vec::new() }
    }
}
