-- The tenant of entries, purges and sums of the semantic cache; empty without one. Older entries do not tell theirs.
DELETE FROM semantic_entries;
ALTER TABLE semantic_entries ADD COLUMN tenant_id {TEXT} NOT NULL DEFAULT '';
ALTER TABLE semantic_removals ADD COLUMN tenant_id {TEXT};

CREATE TABLE semantic_checks_by_tenant (
    bucket BIGINT NOT NULL,
    tenant_id {TEXT} NOT NULL DEFAULT '',
    user_path {TEXT} NOT NULL,
    shadow_hits BIGINT NOT NULL,
    rechecks BIGINT NOT NULL,
    disagreements BIGINT NOT NULL,
    PRIMARY KEY (bucket, tenant_id, user_path)
);
INSERT INTO semantic_checks_by_tenant (bucket, user_path, shadow_hits, rechecks, disagreements)
SELECT bucket, user_path, shadow_hits, rechecks, disagreements FROM semantic_checks;
DROP TABLE semantic_checks;
ALTER TABLE semantic_checks_by_tenant RENAME TO semantic_checks;
