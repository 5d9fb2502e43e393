-- The long texts come last: SQLite reads a row up to the last column that is asked for.
CREATE TABLE responses (
    id {TEXT} NOT NULL PRIMARY KEY,
    owner {TEXT} NOT NULL,
    user_path {TEXT} NOT NULL,
    tenant {TEXT},
    provider {TEXT} NOT NULL,
    upstream_id {TEXT} NOT NULL,
    retrievable BIGINT NOT NULL,
    usable BIGINT NOT NULL,
    previous {TEXT},
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    input {TEXT} NOT NULL,
    output {TEXT} NOT NULL,
    body {TEXT} NOT NULL
);
CREATE INDEX responses_by_expiry ON responses (expires_at);
