-- Entries of the semantic cache. `id` is a digest of partition and prompt; `min_score` is in millionths. The prompt and the
-- answer are bytes, because they can contain characters that one of the databases does not accept in texts.
CREATE TABLE semantic_entries (
    id {TEXT} NOT NULL PRIMARY KEY,
    partition_key {TEXT} NOT NULL,
    embedder {TEXT} NOT NULL,
    user_path {TEXT} NOT NULL,
    model {TEXT} NOT NULL,
    min_score BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    vector {BYTES} NOT NULL,
    facts {TEXT} NOT NULL,
    head {TEXT} NOT NULL,
    prompt {BYTES} NOT NULL,
    body {BYTES} NOT NULL
);
CREATE INDEX semantic_entries_by_expiry ON semantic_entries (expires_at);

-- Hits of the semantic cache that were not served, and comparisons of hits with new answers, by quarter hour and path.
CREATE TABLE semantic_checks (
    bucket BIGINT NOT NULL,
    user_path {TEXT} NOT NULL,
    shadow_hits BIGINT NOT NULL,
    rechecks BIGINT NOT NULL,
    disagreements BIGINT NOT NULL,
    PRIMARY KEY (bucket, user_path)
);
