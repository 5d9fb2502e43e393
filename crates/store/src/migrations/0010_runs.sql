-- The agent run that a call belongs to (X-Run-Id). The index alone answers what each run has cost within a range of time.
ALTER TABLE usage ADD COLUMN run {TEXT};
CREATE INDEX usage_by_run ON usage (at, run, user_path, tenant_id, input_cost, output_cost) WHERE run IS NOT NULL;
