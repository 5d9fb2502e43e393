//! Value types of the spending settings.

use domain::money::Nanos;
use domain::resources::budget::{self, BudgetKey};

use super::value::Value;

/// Maps a user path and period to an amount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budgets(pub Vec<(BudgetKey, Nanos)>);

impl Value for Budgets {
    const KIND: &'static str = "budgets such as /=monthly:500;/team/a=daily:10,3600:2.5";

    fn parse(text: &str) -> Option<Self> {
        budget::parse_list(text).map(Self)
    }
}
