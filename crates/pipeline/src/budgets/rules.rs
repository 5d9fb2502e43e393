//! The budgets in force: those of the configuration, overridden by those of the admin API, and the anchors of their
//! windows.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::period::Anchors;
use domain::resources::Resource as _;
use domain::resources::budget::{Budget, BudgetKey, BudgetPolicy, Source};
use domain::resources::budget_settings::{self, BudgetSettings};
use domain::user_path::UserPath;
use store::{RawDocument, Store, StoreError};

use crate::snapshot::unreadable::Unreadable;

#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub key: BudgetKey,
    pub amount: Nanos,
    pub source: Source,
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

impl ClosedScope {
    /// Reads the scope from the name of a stored budget; covers everything if the name cannot be parsed.
    fn named(name: &str) -> Self {
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
    pub fn new(key: BudgetKey, amount: Nanos, source: Source) -> Self {
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

impl Rules {
    /// Loads the rules. A budget that cannot be read closes its scope. Without readable settings the windows are not
    /// known, so that the scopes of all budgets are closed.
    pub async fn load(
        store: &Store,
        configured: &[(BudgetKey, Nanos)],
        broken: &mut Unreadable,
    ) -> Result<Self, StoreError> {
        let mut closed = Vec::new();
        let mut stored = Vec::new();
        for raw in store.documents().raw(Budget::KIND).await? {
            match readable(&raw) {
                Ok(budget) => stored.push(budget),
                Err(reason) => {
                    broken.insert(&raw.kind, &raw.name, reason);
                    closed.push(ClosedScope::named(&raw.name));
                }
            }
        }
        let settings = store.documents().find(BudgetSettings::KIND, budget_settings::NAME).await?;
        let settings = settings.as_ref().map(store::decode::<BudgetSettings>).transpose();
        let (settings, unreadable) = match settings {
            Ok(found) => (found.map(|found| found.value).unwrap_or_default(), None),
            Err(error) => (BudgetSettings::default(), Some(error.to_string())),
        };
        let mut rules = Self::new(configured, stored.into_iter(), &settings);
        if let Some(reason) = unreadable {
            broken.insert(BudgetSettings::KIND, budget_settings::NAME, reason);
            closed.extend(rules.budgets.iter().map(|rule| ClosedScope::from(rule.key.clone())));
        }
        rules.closed = closed;
        Ok(rules)
    }

    pub fn new(
        configured: &[(BudgetKey, Nanos)],
        stored: impl Iterator<Item = Budget>,
        settings: &BudgetSettings,
    ) -> Self {
        let rule = |(key, amount): &(BudgetKey, Nanos)| {
            (key.clone(), Rule::new(key.clone(), *amount, Source::Config))
        };
        let mut rules: BTreeMap<BudgetKey, Rule> = configured.iter().map(rule).collect();
        for budget in stored {
            let Some(key) = budget.key() else { continue };
            match (budget.amount, rules.get_mut(&key)) {
                (Some(amount), _) => {
                    let Budget { last_reset_at, policy, .. } = budget;
                    let rule = Rule::new(key.clone(), amount, Source::Manual);
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

fn readable(raw: &RawDocument) -> Result<Budget, String> {
    let budget = store::decode::<Budget>(raw).map_err(|error| error.to_string())?.value;
    match budget.key() {
        Some(_) => Ok(budget),
        None => Err("not a valid period".to_owned()),
    }
}
