//! The budgets that a call counts against, indexed by its path and every ancestor.

use std::sync::Arc;

use domain::clock::Timestamp;
use domain::money::Nanos;
use domain::user_path::UserPath;
use foldhash::HashMap;
use store::LeaseKey;

use super::lease::Lease;
use super::rules::{Rule, Rules};
use super::{BudgetScope, window::Window};

/// Most child paths with a budget of their own; further ones only count against the budgets above them.
const MAX_CHILDREN: usize = 10_000;

#[derive(Clone)]
pub struct Index {
    pub rules: Rules,
    /// Positions in `rules.budgets`.
    by_path: HashMap<Arc<str>, Vec<usize>>,
    /// The thresholds of each budget as amounts, ascending.
    marks: Vec<Vec<Nanos>>,
    /// Whether any budget has a `child_default`.
    gives_children: bool,
    children: usize,
    /// Whether any budget has `per_run`.
    per_run: bool,
    /// For each run's budget, the position of the budget it is derived from.
    run_bases: HashMap<usize, usize>,
    /// Whether replicas share the budgets by leases.
    is_leased: bool,
}

impl Index {
    pub fn new(rules: Rules) -> Self {
        let gives_children = rules.budgets.iter().any(|rule| rule.policy.child_default.is_some());
        let Rules { budgets, .. } = rules;
        let rules = Rules { budgets: Vec::with_capacity(budgets.len()), ..rules };
        let (by_path, marks) = (HashMap::default(), Vec::new());
        let per_run = budgets.iter().any(|rule| rule.policy.per_run);
        let run_bases = HashMap::default();
        let mut index =
            Self { rules, by_path, marks, gives_children, children: 0, per_run, run_bases, is_leased: false };
        budgets.into_iter().for_each(|rule| index.push(rule));
        index
    }

    /// The same with windows that replicas share by leases.
    #[must_use]
    pub fn with_leases(self, is_leased: bool) -> Self {
        Self { is_leased, ..self }
    }

    pub fn is_leased(&self) -> bool {
        self.is_leased
    }

    fn push(&mut self, rule: Rule) {
        let place = self.rules.budgets.len();
        self.marks.push(self.marks_of(&rule));
        self.by_path.entry(rule.key.user_path.as_str().into()).or_default().push(place);
        self.rules.budgets.push(rule);
    }

    fn marks_of(&self, rule: &Rule) -> Vec<Nanos> {
        let mark = |threshold: &f64| Nanos((rule.amount.0 as f64 * threshold).ceil() as i64);
        self.rules.thresholds.iter().map(mark).collect()
    }

    /// Whether runs can have a budget of their own.
    pub fn has_per_run(&self) -> bool {
        self.per_run
    }

    /// The positions of the `per_run` budgets that calls of this path and tenant count against.
    pub fn per_run(&self, user_path: &str, tenant: &str) -> impl Iterator<Item = usize> {
        let places = self.per_run.then(|| self.above(user_path, tenant));
        places.into_iter().flatten().filter(|place| self.rule(*place).policy.per_run)
    }

    /// Adds the budget of a run, at a free position or at the end. It is not indexed by its path.
    pub fn add_run(&mut self, base: usize, run: Arc<str>, free: Option<usize>) -> usize {
        let rule = self.rule(base).for_run(run);
        let marks = self.marks_of(&rule);
        let place = free.unwrap_or(self.rules.budgets.len());
        if place == self.rules.budgets.len() {
            self.rules.budgets.push(rule);
            self.marks.push(marks);
        } else {
            (self.rules.budgets[place], self.marks[place]) = (rule, marks);
        }
        self.run_bases.insert(place, base);
        place
    }

    /// Removes the budget of a run that is no longer tracked.
    pub fn remove_run(&mut self, place: usize) {
        self.run_bases.remove(&place);
    }

    /// The positions of run budgets, by the position they are derived from and the run.
    pub fn run_places(&self) -> HashMap<(usize, &str), usize> {
        let entry =
            |(place, base): (&usize, &usize)| Some(((*base, self.rule(*place).run.as_deref()?), *place));
        self.run_bases.iter().filter_map(entry).collect()
    }

    /// Whether a call may need a child budget that does not exist yet.
    pub fn gives_children(&self) -> bool {
        self.gives_children
    }

    /// The missing budgets that a path derives from a `child_default` above it. A budget set for the child itself takes
    /// precedence.
    pub fn missing_children(&self, user_path: &str, tenant: &str) -> Vec<Rule> {
        if !self.gives_children {
            return Vec::new();
        }
        let missing = self.above(user_path, tenant).filter_map(|place| {
            let rule = self.rule(place);
            let amount = rule.policy.child_default?;
            let path = child(rule.key.user_path.as_str(), user_path)?;
            let child = rule.child(UserPath::parse(path).ok()?, amount);
            let known = |places: &Vec<usize>| places.iter().any(|place| self.rule(*place).key == child.key);
            (!self.by_path.get(path).is_some_and(known)).then_some(child)
        });
        missing.collect()
    }

    /// Adds a child budget; false if there are too many.
    pub fn add_child(&mut self, rule: Rule) -> bool {
        if self.children >= MAX_CHILDREN {
            return false;
        }
        self.children += 1;
        self.push(rule);
        true
    }

    pub fn rule(&self, place: usize) -> &Rule {
        &self.rules.budgets[place]
    }

    pub fn marks(&self, place: usize) -> &[Nanos] {
        &self.marks[place]
    }

    pub fn covering(&self, scope: &BudgetScope) -> impl Iterator<Item = usize> {
        self.above(scope.user_path.as_str(), scope.tenant.as_deref().unwrap_or_default())
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
    pub fn is_closed(&self, scope: &BudgetScope) -> bool {
        let tenant = scope.tenant.as_deref().unwrap_or_default();
        self.rules.closed.iter().any(|closed| {
            closed.user_path.covers(&scope.user_path)
                && closed.tenant.as_deref().is_none_or(|of| of == tenant)
        })
    }

    pub fn window(&self, place: usize, at: Timestamp) -> Window {
        let rule = self.rule(place);
        let window = Window::around(rule, &self.rules.anchors, at);
        let lease = self.is_leased.then(|| self.new_lease(place, window.from));
        Window { lease, ..window }
    }

    fn new_lease(&self, place: usize, opened: Timestamp) -> Box<Lease> {
        Box::new(Lease::new(LeaseKey { budget: self.rule(place).lease_name().into(), opened }))
    }

    /// Replaces the lease of a window if the budget is shared under another name now, because `per_run` has changed.
    pub fn rename_lease(&self, place: usize, window: &mut Window) {
        let name = || self.rule(place).lease_name();
        if self.is_leased && window.lease.as_ref().is_none_or(|lease| *lease.key.budget != *name()) {
            window.lease = Some(self.new_lease(place, window.from));
        }
    }
}

/// The direct child of `parent` that `path` is at or below.
fn child<'a>(parent: &str, path: &'a str) -> Option<&'a str> {
    let parent = parent.trim_end_matches('/');
    let rest = path.strip_prefix(parent)?.strip_prefix('/').filter(|rest| !rest.is_empty())?;
    let length = rest.find('/').unwrap_or(rest.len());
    Some(&path[..parent.len() + 1 + length])
}

/// The path itself, then each ancestor up to `/`.
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

    #[test]
    fn a_direct_child_is_one_segment_below() {
        for (parent, path, expected) in [
            ("/", "/a/b", Some("/a")),
            ("/", "/", None),
            ("/a", "/a", None),
            ("/a", "/a/b", Some("/a/b")),
            ("/a", "/a/b/c", Some("/a/b")),
            ("/a", "/ab/c", None),
        ] {
            assert_eq!(super::child(parent, path), expected, "{parent} {path}");
        }
    }
}
