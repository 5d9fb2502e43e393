-- Failed calls are rare and looked for often. The condition is that of the filter in audit/filter.rs, word for word:
-- SQLite uses a partial index only for the same expression.
CREATE INDEX audit_by_error ON audit (at, id) WHERE status >= 400 OR error_type IS NOT NULL;
