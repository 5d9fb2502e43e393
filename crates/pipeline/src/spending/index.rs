//! Which budgets a call counts against: found by its path and that of every ancestor.

use std::sync::Arc;

use domain::money::Nanos;
use foldhash::HashMap;

use super::rules::{Rule, Rules};
use super::{Occasion, window::Window};

pub struct Index {
    pub rules: Rules,
    /// Places in `rules.budgets`.
    by_path: HashMap<Arc<str>, Vec<usize>>,
    /// Of each budget, its thresholds as amounts, ascending.
    marks: Vec<Vec<Nanos>>,
}

impl Index {
    pub fn new(rules: Rules) -> Self {
        let mut by_path: HashMap<Arc<str>, Vec<usize>> = HashMap::default();
        for (place, rule) in rules.budgets.iter().enumerate() {
            by_path.entry(rule.key.user_path.as_str().into()).or_default().push(place);
        }
        let marks = rules.budgets.iter().map(|rule| {
            let mark = |threshold: &f64| Nanos((rule.amount.0 as f64 * threshold).ceil() as i64);
            rules.thresholds.iter().map(mark).collect()
        });
        Self { marks: marks.collect(), by_path, rules }
    }

    pub fn rule(&self, place: usize) -> &Rule {
        &self.rules.budgets[place]
    }

    pub fn marks(&self, place: usize) -> &[Nanos] {
        &self.marks[place]
    }

    pub fn covering(&self, occasion: &Occasion) -> impl Iterator<Item = usize> {
        self.above(occasion.user_path.as_str(), occasion.tenant.as_deref().unwrap_or_default())
    }

    /// The budgets that a call of this path and tenant counts against.
    pub fn above(&self, user_path: &str, tenant: &str) -> impl Iterator<Item = usize> {
        let places = ancestors(user_path).filter_map(|path| self.by_path.get(path)).flatten().copied();
        places.filter(move |place| {
            let of = self.rule(*place).key.tenant.as_deref();
            of.is_none_or(|of| of == tenant)
        })
    }

    /// Whether a budget that applies to the call cannot be read.
    pub fn is_closed(&self, occasion: &Occasion) -> bool {
        let tenant = occasion.tenant.as_deref().unwrap_or_default();
        self.rules.closed.iter().any(|scope| {
            scope.user_path.covers(&occasion.user_path)
                && scope.tenant.as_deref().is_none_or(|of| of == tenant)
        })
    }

    pub fn window(&self, place: usize, at: domain::clock::Timestamp) -> Window {
        Window::around(self.rule(place), &self.rules.anchors, at)
    }
}

/// The path itself, then each above it, `/` last.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| match path.rfind('/')? {
        0 if path.len() > 1 => Some("/"),
        0 => None,
        end => Some(&path[..end]),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_path_has_its_ancestors() {
        let list = |path: &'static str| super::ancestors(path).collect::<Vec<_>>();
        assert_eq!(list("/"), ["/"]);
        assert_eq!(list("/a"), ["/a", "/"]);
        assert_eq!(list("/a/bc/d"), ["/a/bc/d", "/a/bc", "/a", "/"]);
    }
}
