-- Sessions of the dashboard and of logins, by the digest of their value. `seq` is the number of the last change.
CREATE TABLE sessions (
    digest {TEXT} NOT NULL PRIMARY KEY,
    kind {TEXT} NOT NULL,
    family {TEXT} NOT NULL,
    owner {TEXT} NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT,
    seq BIGINT NOT NULL
);
CREATE INDEX sessions_by_family ON sessions (family);
CREATE INDEX sessions_by_owner ON sessions (owner);
CREATE INDEX sessions_by_seq ON sessions (seq);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
-- Tokens of issuers that are refused although they are valid. `kind`: jti, subject or issuer.
CREATE TABLE token_revocations (
    kind {TEXT} NOT NULL,
    issuer {TEXT} NOT NULL,
    value {TEXT} NOT NULL,
    revoked_at BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (kind, issuer, value)
);
CREATE INDEX token_revocations_by_seq ON token_revocations (seq);
-- The number of the newest change of the two tables.
CREATE TABLE session_changes (
    id BIGINT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL
);
INSERT INTO session_changes (id, seq) VALUES (1, 0);
