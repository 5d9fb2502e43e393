-- The response cache: the cost that an answer from it saved, and calls for which it was searched and had no answer. The
-- columns have defaults, because a process of the version before writes rows and sums without them.
ALTER TABLE usage ADD COLUMN saved_cost BIGINT;
ALTER TABLE usage ADD COLUMN cache_miss BIGINT NOT NULL DEFAULT 0;

ALTER TABLE rollups ADD COLUMN saved_cost BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN cache_misses BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_daily ADD COLUMN saved_cost BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_daily ADD COLUMN cache_misses BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_paths ADD COLUMN saved_cost BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_paths ADD COLUMN cache_misses BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_paths_daily ADD COLUMN saved_cost BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_paths_daily ADD COLUMN cache_misses BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_models ADD COLUMN saved_cost BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_models ADD COLUMN cache_misses BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_models_daily ADD COLUMN saved_cost BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_models_daily ADD COLUMN cache_misses BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_totals ADD COLUMN saved_cost BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_totals ADD COLUMN cache_misses BIGINT NOT NULL DEFAULT 0;
