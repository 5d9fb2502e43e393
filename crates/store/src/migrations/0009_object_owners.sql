-- Owners of objects that providers keep and that were made through the passthrough: files, batches, conversations.
CREATE TABLE object_owners (
    id {TEXT} NOT NULL PRIMARY KEY,
    owner {TEXT} NOT NULL,
    user_path {TEXT} NOT NULL,
    tenant {TEXT},
    provider {TEXT} NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
) {CLUSTERED};
CREATE INDEX object_owners_by_expiry ON object_owners (expires_at);
