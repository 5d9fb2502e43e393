//! Reads the audit log: pages, counts, single entries and exports.

use domain::clock::Timestamp;

use super::append::bucket;
use super::filter::{AuditFilter, AuditSort, Conditions, ScanRange};
use super::row::{self, Field};
use super::{Audit, AuditEntry};
use crate::StoreError;
use crate::database::sql;
use crate::ledger::rollup::QUARTER_HOUR;

/// Counting stops at this number.
const MOST_COUNTED: i64 = 10_000;
/// Number of rows examined per chunk of an export.
const PIECE: i64 = 200;

/// The position after an entry, in the requested order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditCursor {
    pub at: Timestamp,
    pub id: String,
}

#[derive(Clone, Debug)]
pub struct AuditPage {
    pub entries: Vec<AuditEntry>,
    /// `None` if it was not asked for.
    pub total: Option<AuditTotal>,
    /// True if further entries of the period were not examined; `next` continues with them.
    pub truncated: bool,
    pub next: Option<AuditCursor>,
}

/// The number of matching entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditTotal {
    pub entries: i64,
    /// False if it is a lower bound.
    pub is_exact: bool,
}

/// The requested part of the matching entries.
#[derive(Clone, Copy, Debug)]
pub struct AuditSlice<'a> {
    pub limit: i64,
    pub offset: i64,
    pub after: Option<&'a AuditCursor>,
    /// Whether the matching entries are counted.
    pub with_total: bool,
    /// Whether entries have their headers and bodies.
    pub with_data: bool,
}

impl Audit {
    pub async fn page(
        &self,
        filter: &AuditFilter,
        sort: AuditSort,
        part: AuditSlice<'_>,
    ) -> Result<AuditPage, StoreError> {
        let examines = filter.is_unindexed() || !sort.is_by_time();
        let first = if examines { self.stretch(filter, sort, None).await? } else { ScanRange::whole(filter) };
        let total = match part.with_total {
            true => {
                let total = self.total(&first.filter).await?;
                Some(AuditTotal { is_exact: total.is_exact && first.edge.is_none(), ..total })
            }
            false => None,
        };
        let stretch = match (part.after, &first.edge) {
            (Some(_), Some(_)) => self.stretch(filter, sort, part.after).await?,
            _ => first,
        };
        let truncated = stretch.edge.is_some();
        let (entries, next) = self.slice(stretch, sort, part).await?;
        let next = next.filter(|_| sort.is_by_time());
        Ok(AuditPage { entries, total, truncated, next })
    }

    /// The newest entries before a position, and the position of the next ones. Unlike a page, they are not counted.
    pub async fn newest(
        &self,
        filter: &AuditFilter,
        limit: i64,
        before: Option<&AuditCursor>,
    ) -> Result<(Vec<AuditEntry>, Option<AuditCursor>), StoreError> {
        let sort = AuditSort::Newest;
        let stretch = match filter.is_unindexed() {
            true => self.stretch(filter, sort, before).await?,
            false => ScanRange::whole(filter),
        };
        let part = AuditSlice { limit, offset: 0, after: before, with_total: false, with_data: true };
        self.slice(stretch, sort, part).await
    }

    /// The entries of a part of the period, and the position after them: that of the last one, or where the examination
    /// ended, so that the whole period can be reached.
    async fn slice(
        &self,
        stretch: ScanRange,
        sort: AuditSort,
        part: AuditSlice<'_>,
    ) -> Result<(Vec<AuditEntry>, Option<AuditCursor>), StoreError> {
        let limit = part.limit;
        let part = AuditSlice { limit: limit + 1, ..part };
        let mut entries = self.select(&stretch.filter, sort, part).await?;
        let more = entries.len() as i64 > limit;
        entries.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let next = if more { entries.last().map(AuditCursor::of) } else { stretch.edge };
        Ok((entries, next))
    }

    pub async fn find(&self, id: &str) -> Result<Option<AuditEntry>, StoreError> {
        let text = sql(format!("SELECT {} FROM audit WHERE id = $1 LIMIT 1", row::columns()));
        let id = id.replace('\0', "\u{fffd}");
        self.database.fetch(text, &[(&id).into()]).await?.first().map(row::read).transpose()
    }

    /// The newest matching entry with a request id. Clients may use one more than once.
    pub async fn find_by_request(
        &self,
        request_id: &str,
        filter: &AuditFilter,
    ) -> Result<Option<AuditEntry>, StoreError> {
        let mut conditions = Conditions::new(filter);
        conditions.add("request_id = ?", Field::Text(Some(request_id.replace('\0', "\u{fffd}"))));
        let text = format!(
            "SELECT {} FROM audit WHERE id = \
                (SELECT id FROM audit WHERE {} ORDER BY at DESC, id DESC LIMIT 1) LIMIT 1",
            row::columns(),
            conditions.text
        );
        let rows = self.database.fetch(sql(text), &conditions.values()).await?;
        rows.first().map(row::read).transpose()
    }

    /// A chunk of an export: the entries after a position, oldest first, and the position of the next chunk. An export
    /// keeps no transaction open between chunks, and each chunk is bounded, however few of its entries match.
    pub async fn piece(
        &self,
        filter: &AuditFilter,
        after: Option<&AuditCursor>,
    ) -> Result<(Vec<AuditEntry>, Option<AuditCursor>), StoreError> {
        let mut period = Conditions::new(&AuditFilter::between(filter.from, filter.until));
        if let Some(cursor) = after {
            period.beside(cursor, ">");
        }
        let last = period.bind(PIECE - 1);
        let text =
            format!("SELECT at, id FROM audit WHERE {} ORDER BY at, id LIMIT 1 OFFSET {last}", period.text);
        let rows = self.database.fetch(sql(text), &period.values()).await?;
        let end = rows
            .first()
            .map(|row| Ok::<_, StoreError>(AuditCursor { at: Timestamp(row.get(0)?), id: row.get(1)? }));
        let end = end.transpose()?;
        let mut conditions = Conditions::new(filter);
        if let Some(cursor) = after {
            conditions.beside(cursor, ">");
        }
        if let Some(end) = &end {
            conditions.beside(end, "<=");
        }
        let text = format!("SELECT {} FROM audit WHERE {} ORDER BY at, id", row::columns(), conditions.text);
        let rows = self.database.fetch(sql(text), &conditions.values()).await?;
        Ok((rows.iter().map(row::read).collect::<Result<_, _>>()?, end))
    }

    async fn select(
        &self,
        filter: &AuditFilter,
        sort: AuditSort,
        AuditSlice { limit, offset, after, with_data, .. }: AuditSlice<'_>,
    ) -> Result<Vec<AuditEntry>, StoreError> {
        let mut conditions = Conditions::new(filter);
        if let Some(cursor) = after {
            conditions.beside(cursor, if sort == AuditSort::Oldest { ">" } else { "<" });
        }
        let (limit, offset) = (conditions.bind(limit), conditions.bind(offset));
        let text = format!(
            "SELECT {} FROM audit WHERE {} ORDER BY {} LIMIT {limit} OFFSET {offset}",
            if with_data { row::columns() } else { row::columns_without_bodies() },
            conditions.text,
            sort.order()
        );
        let rows = self.database.fetch(sql(text), &conditions.values()).await?;
        let mut entries: Vec<AuditEntry> = rows.iter().map(row::read).collect::<Result<_, _>>()?;
        if !with_data {
            for audited in entries.iter_mut().filter_map(|entry| entry.audit.as_mut()) {
                audited.request_headers.clear();
                audited.response_headers.clear();
            }
        }
        Ok(entries)
    }

    /// The number of matching entries. Counting stops at a limit, except where sums exist.
    async fn total(&self, filter: &AuditFilter) -> Result<AuditTotal, StoreError> {
        if filter.is_everything() {
            let entries = self.count(filter.from, filter.until).await?;
            return Ok(AuditTotal { entries, is_exact: true });
        }
        let mut conditions = Conditions::new(filter);
        let most = conditions.bind(MOST_COUNTED + 1);
        let text = format!(
            "SELECT COUNT(*) FROM (SELECT 1 FROM audit WHERE {} LIMIT {most}) AS counted",
            conditions.text
        );
        let rows = self.database.fetch(sql(text), &conditions.values()).await?;
        let found: i64 = rows.first().ok_or(StoreError::NotFound)?.get(0)?;
        Ok(AuditTotal { entries: found.min(MOST_COUNTED), is_exact: found <= MOST_COUNTED })
    }

    /// Counts a period from the precomputed quarter hours; only the partial ones at both ends are counted from rows.
    async fn count(&self, from: Timestamp, until: Timestamp) -> Result<i64, StoreError> {
        const MICROS: i64 = 1_000_000;
        let first = bucket(from.micros().saturating_add(QUARTER_HOUR * MICROS - 1));
        let last = bucket(until.micros());
        if first >= last {
            return self.rows(from.micros(), until.micros()).await;
        }
        let sum = "SELECT CAST(COALESCE(SUM(entries), 0) AS BIGINT) FROM audit_counts WHERE bucket >= $1 AND bucket < $2";
        let rows = self.database.fetch(sum, &[first.into(), last.into()]).await?;
        let whole: i64 = rows.first().ok_or(StoreError::NotFound)?.get(0)?;
        let before = self.rows(from.micros(), first.saturating_mul(MICROS)).await?;
        let behind = self.rows(last.saturating_mul(MICROS), until.micros()).await?;
        Ok(whole + before + behind)
    }

    async fn rows(&self, from: i64, until: i64) -> Result<i64, StoreError> {
        if from >= until {
            return Ok(0);
        }
        let count = "SELECT COUNT(*) FROM audit WHERE at >= $1 AND at < $2";
        let rows = self.database.fetch(count, &[from.into(), until.into()]).await?;
        rows.first().ok_or(StoreError::NotFound)?.get(0)
    }
}

impl AuditCursor {
    fn of(entry: &AuditEntry) -> Self {
        Self { at: entry.at, id: entry.id.clone() }
    }
}
