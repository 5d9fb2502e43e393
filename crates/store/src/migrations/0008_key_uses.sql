-- When each managed key was last used: apart from the keys themselves, whose documents only people change.
CREATE TABLE key_uses (
    auth_key_id {TEXT} NOT NULL PRIMARY KEY,
    last_used_at BIGINT NOT NULL
) {CLUSTERED};
