-- `id` is a digest of whose the key is, where it was used and the key itself. `state`: 0 under way, 1 kept, 2 done and not kept.
-- `packed`: the body is base64, because it is no text. The long texts come last.
CREATE TABLE idempotency (
    id {TEXT} NOT NULL PRIMARY KEY,
    fingerprint {TEXT} NOT NULL,
    claim {TEXT} NOT NULL,
    state BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    head {TEXT} NOT NULL,
    packed BIGINT NOT NULL,
    body {TEXT} NOT NULL
);
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
