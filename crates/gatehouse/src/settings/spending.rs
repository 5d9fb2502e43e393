//! Value types of the spending settings.

use domain::resources::budget::{self, Budget};

use super::value::Value;

/// Budgets with their amounts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budgets(pub Vec<Budget>);

impl Value for Budgets {
    const KIND: &'static str = "budgets such as /=monthly:500;/team/a=daily:10,3600:2.5";

    fn parse(text: &str) -> Option<Self> {
        budget::parse_list(text).map(Self)
    }
}
