-- The cost that prompt caches of providers saved. The columns have defaults, because a process of the version before writes
-- rows and sums without them.
ALTER TABLE usage ADD COLUMN prompt_cache_savings BIGINT;

ALTER TABLE rollups ADD COLUMN prompt_cache_savings BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_daily ADD COLUMN prompt_cache_savings BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_paths ADD COLUMN prompt_cache_savings BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_paths_daily ADD COLUMN prompt_cache_savings BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_models ADD COLUMN prompt_cache_savings BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_models_daily ADD COLUMN prompt_cache_savings BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups_totals ADD COLUMN prompt_cache_savings BIGINT NOT NULL DEFAULT 0;
