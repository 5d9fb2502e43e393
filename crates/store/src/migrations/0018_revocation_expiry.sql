-- The time after which no token that a revocation names is valid any more; NULL if that is not known.
ALTER TABLE token_revocations ADD COLUMN expires_at BIGINT;
CREATE INDEX token_revocations_by_expiry ON token_revocations (expires_at);
