//! Sums of the hits of the semantic cache that were not served, and of their comparisons with new answers.

#[cfg(test)]
mod tests;

use domain::clock::Timestamp;

use crate::database::{Value, sql};
use crate::expiry::{ExpiringTable, SMALL_ROWS};
use crate::ledger::Conditions;
use crate::{Ledger, StoreError, UsageFilter};

/// The time that sums cover, in microseconds: a quarter hour, as time zones differ by multiples of it.
const BUCKET: i64 = 900 * 1_000_000;
pub(crate) const EXPIRING: ExpiringTable =
    ExpiringTable { name: "semantic_checks", time: "bucket", key: "bucket, tenant_id, user_path" };

/// Hits of the semantic cache, and their comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SemanticChecks {
    /// Hits that were not served.
    pub shadow_hits: i64,
    /// Hits that were compared with a new answer.
    pub rechecks: i64,
    /// Those in which the answers did not agree.
    pub disagreements: i64,
}

impl SemanticChecks {
    pub fn add(&mut self, more: Self) {
        self.shadow_hits += more.shadow_hits;
        self.rechecks += more.rechecks;
        self.disagreements += more.disagreements;
    }

    /// The estimated share of wrong answers in the hits; `None` without comparisons.
    pub fn false_hit_rate(&self) -> Option<f64> {
        (self.rechecks > 0).then(|| self.disagreements as f64 / self.rechecks as f64)
    }

    /// The bounds between which that share lies with a probability of 95 % (Wilson score interval); `None` without
    /// comparisons.
    pub fn false_hit_interval(&self) -> Option<(f64, f64)> {
        /// Standard deviations of a normal distribution that contain 95 % of it.
        const Z: f64 = 1.959_964;
        let (share, count) = (self.false_hit_rate()?, self.rechecks as f64);
        let scale = 1.0 + Z * Z / count;
        let centre = (share + Z * Z / (2.0 * count)) / scale;
        let half = Z / scale * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).sqrt();
        // At the ends the bounds are exact, and rounding must not move them.
        let low = if self.disagreements == 0 { 0.0 } else { (centre - half).max(0.0) };
        let high = if self.disagreements == self.rechecks { 1.0 } else { (centre + half).min(1.0) };
        Some((low, high))
    }
}

/// The sums of a quarter hour, a tenant and a user path.
#[derive(Clone, Debug)]
pub struct SemanticCheckSums {
    /// A time in the quarter hour.
    pub at: Timestamp,
    /// Empty without a tenant.
    pub tenant_id: String,
    pub user_path: String,
    pub checks: SemanticChecks,
}

/// The start of the quarter hour of a time.
pub fn bucket(at: Timestamp) -> Timestamp {
    Timestamp(at.micros() - at.micros().rem_euclid(BUCKET))
}

impl Ledger {
    /// Adds sums to the stored ones.
    pub async fn add_semantic_checks(&self, sums: &[SemanticCheckSums]) -> Result<(), StoreError> {
        const ADD: &str = "INSERT INTO semantic_checks (bucket, tenant_id, user_path, shadow_hits, rechecks, disagreements) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (bucket, tenant_id, user_path) DO UPDATE SET \
             shadow_hits = semantic_checks.shadow_hits + excluded.shadow_hits, \
             rechecks = semantic_checks.rechecks + excluded.rechecks, \
             disagreements = semantic_checks.disagreements + excluded.disagreements";
        let database = &self.database;
        database
            .limited(async {
                let mut open = database.begin().await?;
                for SemanticCheckSums { at, tenant_id, user_path, checks } in sums {
                    let values = [
                        Value::from(bucket(*at).micros()),
                        tenant_id.into(),
                        user_path.into(),
                        checks.shadow_hits.into(),
                        checks.rechecks.into(),
                        checks.disagreements.into(),
                    ];
                    open.execute(ADD, &values).await?;
                }
                open.commit().await
            })
            .await
    }

    /// Deletes the sums of buckets before a time; returns their number.
    pub async fn delete_semantic_checks_before(&self, before: Timestamp) -> Result<u64, StoreError> {
        EXPIRING.delete_before(&self.database, bucket(before), SMALL_ROWS).await
    }

    /// The sums over the time range, the tenant and the user path of a filter.
    pub async fn semantic_checks(&self, filter: &UsageFilter) -> Result<SemanticChecks, StoreError> {
        let of_callers = UsageFilter {
            user_path: filter.user_path.clone(),
            tenant_id: filter.tenant_id.clone(),
            ..UsageFilter::between(filter.from, filter.until)
        };
        let conditions = Conditions::new(&of_callers);
        let mut text = "SELECT CAST(COALESCE(SUM(shadow_hits), 0) AS BIGINT), \
             CAST(COALESCE(SUM(rechecks), 0) AS BIGINT), CAST(COALESCE(SUM(disagreements), 0) AS BIGINT) \
             FROM semantic_checks WHERE bucket >= $1 AND bucket < $2"
            .to_owned();
        let mut values = vec![Value::from(bucket(filter.from).micros()), filter.until.micros().into()];
        conditions.append(&mut text, &mut values);
        let rows = self.database.fetch(sql(text), &values).await?;
        let Some(row) = rows.first() else { return Ok(SemanticChecks::default()) };
        Ok(SemanticChecks { shadow_hits: row.get(0)?, rechecks: row.get(1)?, disagreements: row.get(2)? })
    }
}
