//! Budgets: spending limits for a user path and a period.

use serde::{Deserialize, Serialize};

use super::Resource;
use crate::clock::Timestamp;
use crate::fault::{self, Fault};
use crate::money::Nanos;
use crate::period::Period;
use crate::user_path::UserPath;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// `path|seconds`, or `tenant|path|seconds` if there is a tenant.
    name: String,
    /// Counts only calls of this tenant; all calls if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    pub user_path: UserPath,
    pub period_seconds: i64,
    /// `None` if the amount comes from the configuration and only the reset is stored here.
    #[serde(default)]
    pub amount: Option<Nanos>,
    /// Spending before this time does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reset_at: Option<Timestamp>,
    #[serde(flatten)]
    pub policy: BudgetPolicy,
}

/// Handling of calls whose maximum cost exceeds the remaining budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetPolicy {
    #[serde(skip_serializing_if = "is_default")]
    pub on_tight: OnTight,
    #[serde(skip_serializing_if = "is_default")]
    pub on_exhausted: OnExhausted,
    /// The selector that serves calls instead, with `on_exhausted: downgrade`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub downgrade_to: Option<String>,
    /// Gives every direct child path a budget of its own with this amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child_default: Option<Nanos>,
    /// Applies the amount to each agent run (`X-Run-Id`) separately.
    #[serde(skip_serializing_if = "is_default")]
    pub per_run: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Handling of a call that exceeds the remaining budget: lower its output limit, or refuse it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnTight {
    #[default]
    Clamp,
    Refuse,
}

/// Handling of a call of which not even a useful part fits the remaining budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnExhausted {
    #[default]
    Block,
    Downgrade,
}

impl BudgetPolicy {
    fn validate(&self) -> Result<(), Fault> {
        let selector = self.downgrade_to.as_deref();
        if selector.is_some_and(|selector| selector.trim().is_empty() || selector.len() > 300) {
            let message = "'downgrade_to' is a model, alias, combo or pool of 1 to 300 characters.";
            return Err(fault::invalid_parameter("downgrade_to", message));
        }
        if self.child_default.is_some_and(|amount| amount <= Nanos::ZERO) {
            return Err(amount_refused("child_default"));
        }
        if self.on_exhausted == OnExhausted::Downgrade && selector.is_none() {
            let message = "'on_exhausted' is downgrade: name the cheaper model in 'downgrade_to'.";
            return Err(fault::invalid_parameter("downgrade_to", message));
        }
        Ok(())
    }
}

/// The origin of the amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BudgetSource {
    Config,
    Manual,
}

/// The identity of a budget.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BudgetKey {
    pub user_path: UserPath,
    pub period: Period,
    pub tenant: Option<String>,
}

impl BudgetKey {
    pub fn name(&self) -> String {
        let (path, seconds) = (self.user_path.as_str(), self.period.seconds());
        match &self.tenant {
            Some(tenant) => format!("{tenant}|{path}|{seconds}"),
            None => format!("{path}|{seconds}"),
        }
    }

    /// Parses the text that `name` writes.
    pub fn parse(name: &str) -> Option<Self> {
        let (scope, seconds) = name.rsplit_once('|')?;
        let period = Period::from_seconds(seconds.parse().ok()?).ok()?;
        let (tenant, path) = match scope.starts_with('/') {
            true => (None, scope),
            // Paths begin with a slash; the bar before it ends the tenant.
            false => {
                let bar = scope.find("|/")?;
                (Some(scope[..bar].to_owned()), &scope[bar + 1..])
            }
        };
        let user_path = UserPath::parse(path).ok().filter(|normal| normal.as_str() == path)?;
        Some(Self { user_path, period, tenant })
    }
}

impl Budget {
    pub fn new(key: BudgetKey, amount: Option<Nanos>, last_reset_at: Option<Timestamp>) -> Self {
        Self {
            name: key.name(),
            tenant: key.tenant,
            user_path: key.user_path,
            period_seconds: key.period.seconds(),
            amount,
            last_reset_at,
            policy: BudgetPolicy::default(),
        }
    }

    #[must_use]
    pub fn with_policy(self, policy: BudgetPolicy) -> Self {
        Self { policy, ..self }
    }

    /// `None` if the stored period is invalid.
    pub fn key(&self) -> Option<BudgetKey> {
        let period = Period::from_seconds(self.period_seconds).ok()?;
        Some(BudgetKey { user_path: self.user_path.clone(), period, tenant: self.tenant.clone() })
    }
}

impl Resource for Budget {
    const KIND: &'static str = "budget";

    fn name(&self) -> &str {
        &self.name
    }

    fn validate(&self) -> Result<(), Fault> {
        Period::from_seconds(self.period_seconds)
            .map_err(|reason| fault::invalid_parameter("period", reason))?;
        if self.user_path.as_str().len() > 500 {
            return Err(fault::invalid_parameter("user_path", "A user path has at most 500 characters."));
        }
        self.policy.validate()?;
        match self.amount {
            Some(amount) if amount <= Nanos::ZERO => Err(amount_refused("amount")),
            _ => Ok(()),
        }
    }
}

fn amount_refused(name: &str) -> Fault {
    fault::invalid_parameter(name, format!("'{name}' is a number of US dollars above 0 and below 9 billion."))
}

/// Converts an amount in US dollars from the body field `name`.
pub fn amount(name: &str, usd: f64) -> Result<Nanos, Fault> {
    Nanos::from_usd(usd).filter(|amount| *amount > Nanos::ZERO).ok_or_else(|| amount_refused(name))
}

/// Parses the budgets of the configuration: `/=monthly:500;/team/a=daily:10,3600:2.5`.
pub fn parse_list(text: &str) -> Option<Vec<Budget>> {
    let mut found: Vec<Budget> = Vec::new();
    for rule in text.split(';').map(str::trim).filter(|rule| !rule.is_empty()) {
        let (path, amounts) = rule.split_once('=')?;
        let user_path = UserPath::parse(path).ok().filter(|_| path.trim().starts_with('/'))?;
        for part in amounts.split(',') {
            let (period, usd) = part.split_once(':')?;
            let period = Period::parse(period).ok()?;
            let amount = amount("amount", usd.trim().parse().ok()?).ok()?;
            let key = BudgetKey { user_path: user_path.clone(), period, tenant: None };
            if found.iter().any(|known| known.name == key.name()) {
                return None;
            }
            found.push(Budget::new(key, Some(amount), None));
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_of_the_configuration_are_read_or_refused() {
        let shown = |text: &str| {
            let list = parse_list(text)?;
            let amount = |budget: Budget| (budget.name, budget.amount.unwrap_or_default().0);
            Some(list.into_iter().map(amount).collect::<Vec<_>>())
        };
        let expected = [
            ("/|2592000", 500_000_000_000),
            ("/team/a|86400", 10_000_000_000),
            ("/team/a|3600", 2_500_000_000),
        ];
        let expected: Vec<_> = expected.map(|(name, amount)| (name.to_owned(), amount)).into();
        assert_eq!(shown("/=monthly:500; /team/a = daily:10, 3600 : 2.5;"), Some(expected));
        assert_eq!(shown(""), Some(Vec::new()));
        for bad in [
            "/",
            "/=daily",
            "/=daily:0",
            "/=daily:-1",
            "/=daily:x",
            "/=yearly:1",
            "a=daily:1",
            "/=daily:1,86400:2",
            "/=daily:inf",
        ] {
            assert_eq!(shown(bad), None, "{bad}");
        }
    }

    #[test]
    fn budget_names_round_trip() {
        let key = BudgetKey {
            user_path: UserPath::parse("/team/a").unwrap(),
            period: Period::DAILY,
            tenant: Some("t1".into()),
        };
        let budget = Budget::new(key.clone(), Some(Nanos(1)), None);
        assert_eq!((budget.name(), budget.key()), ("t1|/team/a|86400", Some(key.clone())));
        for (tenant, path) in [(Some("t1"), "/team/a"), (None, "/"), (None, "/a|b/c"), (Some("x|y"), "/a|b")]
        {
            let user_path = UserPath::parse(path).unwrap();
            let key = BudgetKey { user_path, tenant: tenant.map(str::to_owned), ..key.clone() };
            assert_eq!(BudgetKey::parse(&key.name()), Some(key));
        }
        for name in ["", "/", "/a", "/a|x", "/a|-1", "t1|86400", "/a/|86400"] {
            assert_eq!(BudgetKey::parse(name), None, "{name}");
        }
        assert!(Budget { amount: Some(Nanos(0)), ..budget }.validate().is_err());
    }
}
