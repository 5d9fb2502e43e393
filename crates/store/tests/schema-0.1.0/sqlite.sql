-- The tables of version 0.1.0 (migrations 1 to 21) in SQLite, as the test of rolling upgrades loads them. Never edited.
CREATE TABLE audit (
    at BIGINT NOT NULL,
    id TEXT NOT NULL,
    chain TEXT NOT NULL,
    sequence BIGINT NOT NULL,
    hash TEXT NOT NULL,
    request_id TEXT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    requested_model TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    provider_name TEXT NOT NULL,
    user_path TEXT NOT NULL,
    auth_key_id TEXT,
    tenant_id TEXT,
    session_id TEXT,
    response_id TEXT,
    previous_response_id TEXT,
    thread TEXT,
    parent TEXT,
    cache_type TEXT NOT NULL,
    status BIGINT NOT NULL,
    stream BIGINT NOT NULL,
    error_type TEXT,
    error_code TEXT,
    error_message TEXT,
    duration_us BIGINT NOT NULL,
    first_byte_us BIGINT,
    overhead_us BIGINT NOT NULL,
    data TEXT NOT NULL,
    request_body TEXT,
    response_body TEXT,
    PRIMARY KEY (at, id)
);
CREATE TABLE audit_chains (
    chain TEXT NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    started_at BIGINT NOT NULL,
    length BIGINT NOT NULL,
    head TEXT NOT NULL,
    first_sequence BIGINT NOT NULL,
    anchor TEXT NOT NULL,
    seal TEXT NOT NULL
);
CREATE TABLE audit_counts (
    bucket BIGINT NOT NULL PRIMARY KEY,
    entries BIGINT NOT NULL
);
CREATE TABLE budget_alerts (
    budget TEXT NOT NULL,
    window_start BIGINT NOT NULL,
    threshold TEXT NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (budget, window_start, threshold)
) WITHOUT ROWID;
CREATE TABLE changes (
    revision BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    action TEXT NOT NULL,
    old_body TEXT,
    new_body TEXT
, tenant TEXT NOT NULL DEFAULT '');
CREATE TABLE "document_references" (
    tenant TEXT NOT NULL DEFAULT '',
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    ref_kind TEXT NOT NULL,
    ref_name TEXT NOT NULL,
    PRIMARY KEY (tenant, kind, name, ref_kind, ref_name)
);
CREATE TABLE "documents" (
    tenant TEXT NOT NULL DEFAULT '',
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    sealed TEXT NOT NULL DEFAULT '',
    revision BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    updated_by TEXT NOT NULL,
    PRIMARY KEY (tenant, kind, name)
);
CREATE TABLE idempotency (
    id TEXT NOT NULL PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    claim TEXT NOT NULL,
    state BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    head TEXT NOT NULL,
    packed BIGINT NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE journal_positions (
    segment TEXT NOT NULL PRIMARY KEY,
    journal TEXT NOT NULL,
    drained BIGINT NOT NULL
);
CREATE TABLE key_uses (
    auth_key_id TEXT NOT NULL PRIMARY KEY,
    last_used_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE TABLE meta (
    id BIGINT PRIMARY KEY,
    rev BIGINT NOT NULL
);
INSERT INTO "meta" VALUES(1,0);
CREATE TABLE migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL);
INSERT INTO "migrations" VALUES(1,'documents',0);
INSERT INTO "migrations" VALUES(2,'ledger',0);
INSERT INTO "migrations" VALUES(3,'responses',0);
INSERT INTO "migrations" VALUES(4,'reports',0);
INSERT INTO "migrations" VALUES(5,'audit',0);
INSERT INTO "migrations" VALUES(6,'spending',0);
INSERT INTO "migrations" VALUES(7,'idempotency',0);
INSERT INTO "migrations" VALUES(8,'key_uses',0);
INSERT INTO "migrations" VALUES(9,'object_owners',0);
INSERT INTO "migrations" VALUES(10,'runs',0);
INSERT INTO "migrations" VALUES(11,'document_tenants',0);
INSERT INTO "migrations" VALUES(12,'rollup_deltas',0);
INSERT INTO "migrations" VALUES(13,'response_cache',0);
INSERT INTO "migrations" VALUES(14,'semantic_cache',0);
INSERT INTO "migrations" VALUES(15,'prompt_cache_savings',0);
INSERT INTO "migrations" VALUES(16,'sessions',0);
INSERT INTO "migrations" VALUES(17,'tenant_documents',0);
INSERT INTO "migrations" VALUES(18,'revocation_expiry',0);
INSERT INTO "migrations" VALUES(19,'semantic_changes',0);
INSERT INTO "migrations" VALUES(20,'semantic_tenants',0);
INSERT INTO "migrations" VALUES(21,'audit_errors',0);
CREATE TABLE object_owners (
    id TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    user_path TEXT NOT NULL,
    tenant TEXT,
    provider TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE TABLE outbox (
    id TEXT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    event TEXT NOT NULL,
    url TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    leased_until BIGINT NOT NULL,
    delivered_at BIGINT,
    failed_at BIGINT,
    last_error TEXT,
    body TEXT NOT NULL
);
CREATE TABLE responses (
    id TEXT NOT NULL PRIMARY KEY,
    owner TEXT NOT NULL,
    user_path TEXT NOT NULL,
    tenant TEXT,
    provider TEXT NOT NULL,
    upstream_id TEXT NOT NULL,
    retrievable BIGINT NOT NULL,
    usable BIGINT NOT NULL,
    previous TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    input TEXT NOT NULL,
    output TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE TABLE rollup_deltas (
    id INTEGER PRIMARY KEY,
    oldest BIGINT NOT NULL,
    newest BIGINT NOT NULL,
    entries BIGINT NOT NULL,
    sums BLOB NOT NULL
);
CREATE TABLE rollups (
    bucket BIGINT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    provider_name TEXT NOT NULL,
    user_path TEXT NOT NULL,
    auth_key_id TEXT NOT NULL,
    tenant_id TEXT NOT NULL,
    cache_type TEXT NOT NULL,
    requests BIGINT NOT NULL,
    errors BIGINT NOT NULL,
    status_2xx BIGINT NOT NULL,
    status_3xx BIGINT NOT NULL,
    status_4xx BIGINT NOT NULL,
    status_5xx BIGINT NOT NULL,
    input BIGINT NOT NULL,
    cache_read BIGINT NOT NULL,
    cache_write_5m BIGINT NOT NULL,
    cache_write_1h BIGINT NOT NULL,
    audio_input BIGINT NOT NULL,
    output BIGINT NOT NULL,
    reasoning BIGINT NOT NULL,
    audio_output BIGINT NOT NULL,
    input_cost BIGINT NOT NULL,
    output_cost BIGINT NOT NULL,
    priced BIGINT NOT NULL,
    unpriced BIGINT NOT NULL,
    estimated BIGINT NOT NULL, latency_1 BIGINT NOT NULL DEFAULT 0, latency_2 BIGINT NOT NULL DEFAULT 0, latency_5 BIGINT NOT NULL DEFAULT 0, latency_10 BIGINT NOT NULL DEFAULT 0, latency_20 BIGINT NOT NULL DEFAULT 0, latency_35 BIGINT NOT NULL DEFAULT 0, latency_50 BIGINT NOT NULL DEFAULT 0, latency_75 BIGINT NOT NULL DEFAULT 0, latency_100 BIGINT NOT NULL DEFAULT 0, latency_150 BIGINT NOT NULL DEFAULT 0, latency_200 BIGINT NOT NULL DEFAULT 0, latency_300 BIGINT NOT NULL DEFAULT 0, latency_500 BIGINT NOT NULL DEFAULT 0, latency_750 BIGINT NOT NULL DEFAULT 0, latency_1000 BIGINT NOT NULL DEFAULT 0, latency_1500 BIGINT NOT NULL DEFAULT 0, latency_2000 BIGINT NOT NULL DEFAULT 0, latency_3000 BIGINT NOT NULL DEFAULT 0, latency_5000 BIGINT NOT NULL DEFAULT 0, latency_7500 BIGINT NOT NULL DEFAULT 0, latency_10000 BIGINT NOT NULL DEFAULT 0, latency_20000 BIGINT NOT NULL DEFAULT 0, latency_60000 BIGINT NOT NULL DEFAULT 0, latency_over BIGINT NOT NULL DEFAULT 0, first_byte_1 BIGINT NOT NULL DEFAULT 0, first_byte_2 BIGINT NOT NULL DEFAULT 0, first_byte_5 BIGINT NOT NULL DEFAULT 0, first_byte_10 BIGINT NOT NULL DEFAULT 0, first_byte_20 BIGINT NOT NULL DEFAULT 0, first_byte_35 BIGINT NOT NULL DEFAULT 0, first_byte_50 BIGINT NOT NULL DEFAULT 0, first_byte_75 BIGINT NOT NULL DEFAULT 0, first_byte_100 BIGINT NOT NULL DEFAULT 0, first_byte_150 BIGINT NOT NULL DEFAULT 0, first_byte_200 BIGINT NOT NULL DEFAULT 0, first_byte_300 BIGINT NOT NULL DEFAULT 0, first_byte_500 BIGINT NOT NULL DEFAULT 0, first_byte_750 BIGINT NOT NULL DEFAULT 0, first_byte_1000 BIGINT NOT NULL DEFAULT 0, first_byte_1500 BIGINT NOT NULL DEFAULT 0, first_byte_2000 BIGINT NOT NULL DEFAULT 0, first_byte_3000 BIGINT NOT NULL DEFAULT 0, first_byte_5000 BIGINT NOT NULL DEFAULT 0, first_byte_7500 BIGINT NOT NULL DEFAULT 0, first_byte_10000 BIGINT NOT NULL DEFAULT 0, first_byte_20000 BIGINT NOT NULL DEFAULT 0, first_byte_60000 BIGINT NOT NULL DEFAULT 0, first_byte_over BIGINT NOT NULL DEFAULT 0, saved_cost BIGINT NOT NULL DEFAULT 0, cache_misses BIGINT NOT NULL DEFAULT 0, prompt_cache_savings BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, model, provider, provider_name, user_path, auth_key_id, tenant_id, cache_type)
) WITHOUT ROWID;
CREATE TABLE rollups_daily (
    bucket BIGINT NOT NULL,
    model TEXT NOT NULL, provider TEXT NOT NULL, provider_name TEXT NOT NULL, user_path TEXT NOT NULL,
    auth_key_id TEXT NOT NULL, tenant_id TEXT NOT NULL, cache_type TEXT NOT NULL,
    requests BIGINT NOT NULL, errors BIGINT NOT NULL, status_2xx BIGINT NOT NULL, status_3xx BIGINT NOT NULL, status_4xx
    BIGINT NOT NULL, status_5xx BIGINT NOT NULL, input BIGINT NOT NULL, cache_read BIGINT NOT NULL, cache_write_5m
    BIGINT NOT NULL, cache_write_1h BIGINT NOT NULL, audio_input BIGINT NOT NULL, output BIGINT NOT NULL, reasoning
    BIGINT NOT NULL, audio_output BIGINT NOT NULL, input_cost BIGINT NOT NULL, output_cost BIGINT NOT NULL, priced
    BIGINT NOT NULL, unpriced BIGINT NOT NULL, estimated BIGINT NOT NULL,
    latency_1 BIGINT NOT NULL DEFAULT 0, latency_2 BIGINT NOT NULL DEFAULT 0, latency_5 BIGINT NOT NULL DEFAULT 0,
    latency_10 BIGINT NOT NULL DEFAULT 0, latency_20 BIGINT NOT NULL DEFAULT 0, latency_35 BIGINT NOT NULL DEFAULT 0,
    latency_50 BIGINT NOT NULL DEFAULT 0, latency_75 BIGINT NOT NULL DEFAULT 0, latency_100 BIGINT NOT NULL DEFAULT 0,
    latency_150 BIGINT NOT NULL DEFAULT 0, latency_200 BIGINT NOT NULL DEFAULT 0, latency_300 BIGINT NOT NULL DEFAULT 0,
    latency_500 BIGINT NOT NULL DEFAULT 0, latency_750 BIGINT NOT NULL DEFAULT 0, latency_1000 BIGINT NOT NULL DEFAULT
    0, latency_1500 BIGINT NOT NULL DEFAULT 0, latency_2000 BIGINT NOT NULL DEFAULT 0, latency_3000 BIGINT NOT NULL
    DEFAULT 0, latency_5000 BIGINT NOT NULL DEFAULT 0, latency_7500 BIGINT NOT NULL DEFAULT 0, latency_10000 BIGINT NOT
    NULL DEFAULT 0, latency_20000 BIGINT NOT NULL DEFAULT 0, latency_60000 BIGINT NOT NULL DEFAULT 0, latency_over
    BIGINT NOT NULL DEFAULT 0, first_byte_1 BIGINT NOT NULL DEFAULT 0, first_byte_2 BIGINT NOT NULL DEFAULT 0,
    first_byte_5 BIGINT NOT NULL DEFAULT 0, first_byte_10 BIGINT NOT NULL DEFAULT 0, first_byte_20 BIGINT NOT NULL
    DEFAULT 0, first_byte_35 BIGINT NOT NULL DEFAULT 0, first_byte_50 BIGINT NOT NULL DEFAULT 0, first_byte_75 BIGINT
    NOT NULL DEFAULT 0, first_byte_100 BIGINT NOT NULL DEFAULT 0, first_byte_150 BIGINT NOT NULL DEFAULT 0,
    first_byte_200 BIGINT NOT NULL DEFAULT 0, first_byte_300 BIGINT NOT NULL DEFAULT 0, first_byte_500 BIGINT NOT NULL
    DEFAULT 0, first_byte_750 BIGINT NOT NULL DEFAULT 0, first_byte_1000 BIGINT NOT NULL DEFAULT 0, first_byte_1500
    BIGINT NOT NULL DEFAULT 0, first_byte_2000 BIGINT NOT NULL DEFAULT 0, first_byte_3000 BIGINT NOT NULL DEFAULT 0,
    first_byte_5000 BIGINT NOT NULL DEFAULT 0, first_byte_7500 BIGINT NOT NULL DEFAULT 0, first_byte_10000 BIGINT NOT
    NULL DEFAULT 0, first_byte_20000 BIGINT NOT NULL DEFAULT 0, first_byte_60000 BIGINT NOT NULL DEFAULT 0,
    first_byte_over BIGINT NOT NULL DEFAULT 0, saved_cost BIGINT NOT NULL DEFAULT 0, cache_misses BIGINT NOT NULL DEFAULT 0, prompt_cache_savings BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, model, provider, provider_name, user_path, auth_key_id, tenant_id, cache_type)
) WITHOUT ROWID;
CREATE TABLE rollups_models (
    bucket BIGINT NOT NULL,
    model TEXT NOT NULL, provider TEXT NOT NULL, provider_name TEXT NOT NULL, tenant_id TEXT NOT NULL,
    cache_type TEXT NOT NULL,
    requests BIGINT NOT NULL, errors BIGINT NOT NULL, status_2xx BIGINT NOT NULL, status_3xx BIGINT NOT NULL, status_4xx
    BIGINT NOT NULL, status_5xx BIGINT NOT NULL, input BIGINT NOT NULL, cache_read BIGINT NOT NULL, cache_write_5m
    BIGINT NOT NULL, cache_write_1h BIGINT NOT NULL, audio_input BIGINT NOT NULL, output BIGINT NOT NULL, reasoning
    BIGINT NOT NULL, audio_output BIGINT NOT NULL, input_cost BIGINT NOT NULL, output_cost BIGINT NOT NULL, priced
    BIGINT NOT NULL, unpriced BIGINT NOT NULL, estimated BIGINT NOT NULL,
    latency_1 BIGINT NOT NULL DEFAULT 0, latency_2 BIGINT NOT NULL DEFAULT 0, latency_5 BIGINT NOT NULL DEFAULT 0,
    latency_10 BIGINT NOT NULL DEFAULT 0, latency_20 BIGINT NOT NULL DEFAULT 0, latency_35 BIGINT NOT NULL DEFAULT 0,
    latency_50 BIGINT NOT NULL DEFAULT 0, latency_75 BIGINT NOT NULL DEFAULT 0, latency_100 BIGINT NOT NULL DEFAULT 0,
    latency_150 BIGINT NOT NULL DEFAULT 0, latency_200 BIGINT NOT NULL DEFAULT 0, latency_300 BIGINT NOT NULL DEFAULT 0,
    latency_500 BIGINT NOT NULL DEFAULT 0, latency_750 BIGINT NOT NULL DEFAULT 0, latency_1000 BIGINT NOT NULL DEFAULT
    0, latency_1500 BIGINT NOT NULL DEFAULT 0, latency_2000 BIGINT NOT NULL DEFAULT 0, latency_3000 BIGINT NOT NULL
    DEFAULT 0, latency_5000 BIGINT NOT NULL DEFAULT 0, latency_7500 BIGINT NOT NULL DEFAULT 0, latency_10000 BIGINT NOT
    NULL DEFAULT 0, latency_20000 BIGINT NOT NULL DEFAULT 0, latency_60000 BIGINT NOT NULL DEFAULT 0, latency_over
    BIGINT NOT NULL DEFAULT 0, first_byte_1 BIGINT NOT NULL DEFAULT 0, first_byte_2 BIGINT NOT NULL DEFAULT 0,
    first_byte_5 BIGINT NOT NULL DEFAULT 0, first_byte_10 BIGINT NOT NULL DEFAULT 0, first_byte_20 BIGINT NOT NULL
    DEFAULT 0, first_byte_35 BIGINT NOT NULL DEFAULT 0, first_byte_50 BIGINT NOT NULL DEFAULT 0, first_byte_75 BIGINT
    NOT NULL DEFAULT 0, first_byte_100 BIGINT NOT NULL DEFAULT 0, first_byte_150 BIGINT NOT NULL DEFAULT 0,
    first_byte_200 BIGINT NOT NULL DEFAULT 0, first_byte_300 BIGINT NOT NULL DEFAULT 0, first_byte_500 BIGINT NOT NULL
    DEFAULT 0, first_byte_750 BIGINT NOT NULL DEFAULT 0, first_byte_1000 BIGINT NOT NULL DEFAULT 0, first_byte_1500
    BIGINT NOT NULL DEFAULT 0, first_byte_2000 BIGINT NOT NULL DEFAULT 0, first_byte_3000 BIGINT NOT NULL DEFAULT 0,
    first_byte_5000 BIGINT NOT NULL DEFAULT 0, first_byte_7500 BIGINT NOT NULL DEFAULT 0, first_byte_10000 BIGINT NOT
    NULL DEFAULT 0, first_byte_20000 BIGINT NOT NULL DEFAULT 0, first_byte_60000 BIGINT NOT NULL DEFAULT 0,
    first_byte_over BIGINT NOT NULL DEFAULT 0, saved_cost BIGINT NOT NULL DEFAULT 0, cache_misses BIGINT NOT NULL DEFAULT 0, prompt_cache_savings BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, model, provider, provider_name, tenant_id, cache_type)
) WITHOUT ROWID;
CREATE TABLE rollups_models_daily (
    bucket BIGINT NOT NULL,
    model TEXT NOT NULL, provider TEXT NOT NULL, provider_name TEXT NOT NULL, tenant_id TEXT NOT NULL,
    cache_type TEXT NOT NULL,
    requests BIGINT NOT NULL, errors BIGINT NOT NULL, status_2xx BIGINT NOT NULL, status_3xx BIGINT NOT NULL, status_4xx
    BIGINT NOT NULL, status_5xx BIGINT NOT NULL, input BIGINT NOT NULL, cache_read BIGINT NOT NULL, cache_write_5m
    BIGINT NOT NULL, cache_write_1h BIGINT NOT NULL, audio_input BIGINT NOT NULL, output BIGINT NOT NULL, reasoning
    BIGINT NOT NULL, audio_output BIGINT NOT NULL, input_cost BIGINT NOT NULL, output_cost BIGINT NOT NULL, priced
    BIGINT NOT NULL, unpriced BIGINT NOT NULL, estimated BIGINT NOT NULL,
    latency_1 BIGINT NOT NULL DEFAULT 0, latency_2 BIGINT NOT NULL DEFAULT 0, latency_5 BIGINT NOT NULL DEFAULT 0,
    latency_10 BIGINT NOT NULL DEFAULT 0, latency_20 BIGINT NOT NULL DEFAULT 0, latency_35 BIGINT NOT NULL DEFAULT 0,
    latency_50 BIGINT NOT NULL DEFAULT 0, latency_75 BIGINT NOT NULL DEFAULT 0, latency_100 BIGINT NOT NULL DEFAULT 0,
    latency_150 BIGINT NOT NULL DEFAULT 0, latency_200 BIGINT NOT NULL DEFAULT 0, latency_300 BIGINT NOT NULL DEFAULT 0,
    latency_500 BIGINT NOT NULL DEFAULT 0, latency_750 BIGINT NOT NULL DEFAULT 0, latency_1000 BIGINT NOT NULL DEFAULT
    0, latency_1500 BIGINT NOT NULL DEFAULT 0, latency_2000 BIGINT NOT NULL DEFAULT 0, latency_3000 BIGINT NOT NULL
    DEFAULT 0, latency_5000 BIGINT NOT NULL DEFAULT 0, latency_7500 BIGINT NOT NULL DEFAULT 0, latency_10000 BIGINT NOT
    NULL DEFAULT 0, latency_20000 BIGINT NOT NULL DEFAULT 0, latency_60000 BIGINT NOT NULL DEFAULT 0, latency_over
    BIGINT NOT NULL DEFAULT 0, first_byte_1 BIGINT NOT NULL DEFAULT 0, first_byte_2 BIGINT NOT NULL DEFAULT 0,
    first_byte_5 BIGINT NOT NULL DEFAULT 0, first_byte_10 BIGINT NOT NULL DEFAULT 0, first_byte_20 BIGINT NOT NULL
    DEFAULT 0, first_byte_35 BIGINT NOT NULL DEFAULT 0, first_byte_50 BIGINT NOT NULL DEFAULT 0, first_byte_75 BIGINT
    NOT NULL DEFAULT 0, first_byte_100 BIGINT NOT NULL DEFAULT 0, first_byte_150 BIGINT NOT NULL DEFAULT 0,
    first_byte_200 BIGINT NOT NULL DEFAULT 0, first_byte_300 BIGINT NOT NULL DEFAULT 0, first_byte_500 BIGINT NOT NULL
    DEFAULT 0, first_byte_750 BIGINT NOT NULL DEFAULT 0, first_byte_1000 BIGINT NOT NULL DEFAULT 0, first_byte_1500
    BIGINT NOT NULL DEFAULT 0, first_byte_2000 BIGINT NOT NULL DEFAULT 0, first_byte_3000 BIGINT NOT NULL DEFAULT 0,
    first_byte_5000 BIGINT NOT NULL DEFAULT 0, first_byte_7500 BIGINT NOT NULL DEFAULT 0, first_byte_10000 BIGINT NOT
    NULL DEFAULT 0, first_byte_20000 BIGINT NOT NULL DEFAULT 0, first_byte_60000 BIGINT NOT NULL DEFAULT 0,
    first_byte_over BIGINT NOT NULL DEFAULT 0, saved_cost BIGINT NOT NULL DEFAULT 0, cache_misses BIGINT NOT NULL DEFAULT 0, prompt_cache_savings BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, model, provider, provider_name, tenant_id, cache_type)
) WITHOUT ROWID;
CREATE TABLE rollups_paths (
    bucket BIGINT NOT NULL,
    user_path TEXT NOT NULL, tenant_id TEXT NOT NULL, cache_type TEXT NOT NULL,
    requests BIGINT NOT NULL, errors BIGINT NOT NULL, status_2xx BIGINT NOT NULL, status_3xx BIGINT NOT NULL, status_4xx
    BIGINT NOT NULL, status_5xx BIGINT NOT NULL, input BIGINT NOT NULL, cache_read BIGINT NOT NULL, cache_write_5m
    BIGINT NOT NULL, cache_write_1h BIGINT NOT NULL, audio_input BIGINT NOT NULL, output BIGINT NOT NULL, reasoning
    BIGINT NOT NULL, audio_output BIGINT NOT NULL, input_cost BIGINT NOT NULL, output_cost BIGINT NOT NULL, priced
    BIGINT NOT NULL, unpriced BIGINT NOT NULL, estimated BIGINT NOT NULL,
    latency_1 BIGINT NOT NULL DEFAULT 0, latency_2 BIGINT NOT NULL DEFAULT 0, latency_5 BIGINT NOT NULL DEFAULT 0,
    latency_10 BIGINT NOT NULL DEFAULT 0, latency_20 BIGINT NOT NULL DEFAULT 0, latency_35 BIGINT NOT NULL DEFAULT 0,
    latency_50 BIGINT NOT NULL DEFAULT 0, latency_75 BIGINT NOT NULL DEFAULT 0, latency_100 BIGINT NOT NULL DEFAULT 0,
    latency_150 BIGINT NOT NULL DEFAULT 0, latency_200 BIGINT NOT NULL DEFAULT 0, latency_300 BIGINT NOT NULL DEFAULT 0,
    latency_500 BIGINT NOT NULL DEFAULT 0, latency_750 BIGINT NOT NULL DEFAULT 0, latency_1000 BIGINT NOT NULL DEFAULT
    0, latency_1500 BIGINT NOT NULL DEFAULT 0, latency_2000 BIGINT NOT NULL DEFAULT 0, latency_3000 BIGINT NOT NULL
    DEFAULT 0, latency_5000 BIGINT NOT NULL DEFAULT 0, latency_7500 BIGINT NOT NULL DEFAULT 0, latency_10000 BIGINT NOT
    NULL DEFAULT 0, latency_20000 BIGINT NOT NULL DEFAULT 0, latency_60000 BIGINT NOT NULL DEFAULT 0, latency_over
    BIGINT NOT NULL DEFAULT 0, first_byte_1 BIGINT NOT NULL DEFAULT 0, first_byte_2 BIGINT NOT NULL DEFAULT 0,
    first_byte_5 BIGINT NOT NULL DEFAULT 0, first_byte_10 BIGINT NOT NULL DEFAULT 0, first_byte_20 BIGINT NOT NULL
    DEFAULT 0, first_byte_35 BIGINT NOT NULL DEFAULT 0, first_byte_50 BIGINT NOT NULL DEFAULT 0, first_byte_75 BIGINT
    NOT NULL DEFAULT 0, first_byte_100 BIGINT NOT NULL DEFAULT 0, first_byte_150 BIGINT NOT NULL DEFAULT 0,
    first_byte_200 BIGINT NOT NULL DEFAULT 0, first_byte_300 BIGINT NOT NULL DEFAULT 0, first_byte_500 BIGINT NOT NULL
    DEFAULT 0, first_byte_750 BIGINT NOT NULL DEFAULT 0, first_byte_1000 BIGINT NOT NULL DEFAULT 0, first_byte_1500
    BIGINT NOT NULL DEFAULT 0, first_byte_2000 BIGINT NOT NULL DEFAULT 0, first_byte_3000 BIGINT NOT NULL DEFAULT 0,
    first_byte_5000 BIGINT NOT NULL DEFAULT 0, first_byte_7500 BIGINT NOT NULL DEFAULT 0, first_byte_10000 BIGINT NOT
    NULL DEFAULT 0, first_byte_20000 BIGINT NOT NULL DEFAULT 0, first_byte_60000 BIGINT NOT NULL DEFAULT 0,
    first_byte_over BIGINT NOT NULL DEFAULT 0, saved_cost BIGINT NOT NULL DEFAULT 0, cache_misses BIGINT NOT NULL DEFAULT 0, prompt_cache_savings BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, user_path, tenant_id, cache_type)
) WITHOUT ROWID;
CREATE TABLE rollups_paths_daily (
    bucket BIGINT NOT NULL,
    user_path TEXT NOT NULL, tenant_id TEXT NOT NULL, cache_type TEXT NOT NULL,
    requests BIGINT NOT NULL, errors BIGINT NOT NULL, status_2xx BIGINT NOT NULL, status_3xx BIGINT NOT NULL, status_4xx
    BIGINT NOT NULL, status_5xx BIGINT NOT NULL, input BIGINT NOT NULL, cache_read BIGINT NOT NULL, cache_write_5m
    BIGINT NOT NULL, cache_write_1h BIGINT NOT NULL, audio_input BIGINT NOT NULL, output BIGINT NOT NULL, reasoning
    BIGINT NOT NULL, audio_output BIGINT NOT NULL, input_cost BIGINT NOT NULL, output_cost BIGINT NOT NULL, priced
    BIGINT NOT NULL, unpriced BIGINT NOT NULL, estimated BIGINT NOT NULL,
    latency_1 BIGINT NOT NULL DEFAULT 0, latency_2 BIGINT NOT NULL DEFAULT 0, latency_5 BIGINT NOT NULL DEFAULT 0,
    latency_10 BIGINT NOT NULL DEFAULT 0, latency_20 BIGINT NOT NULL DEFAULT 0, latency_35 BIGINT NOT NULL DEFAULT 0,
    latency_50 BIGINT NOT NULL DEFAULT 0, latency_75 BIGINT NOT NULL DEFAULT 0, latency_100 BIGINT NOT NULL DEFAULT 0,
    latency_150 BIGINT NOT NULL DEFAULT 0, latency_200 BIGINT NOT NULL DEFAULT 0, latency_300 BIGINT NOT NULL DEFAULT 0,
    latency_500 BIGINT NOT NULL DEFAULT 0, latency_750 BIGINT NOT NULL DEFAULT 0, latency_1000 BIGINT NOT NULL DEFAULT
    0, latency_1500 BIGINT NOT NULL DEFAULT 0, latency_2000 BIGINT NOT NULL DEFAULT 0, latency_3000 BIGINT NOT NULL
    DEFAULT 0, latency_5000 BIGINT NOT NULL DEFAULT 0, latency_7500 BIGINT NOT NULL DEFAULT 0, latency_10000 BIGINT NOT
    NULL DEFAULT 0, latency_20000 BIGINT NOT NULL DEFAULT 0, latency_60000 BIGINT NOT NULL DEFAULT 0, latency_over
    BIGINT NOT NULL DEFAULT 0, first_byte_1 BIGINT NOT NULL DEFAULT 0, first_byte_2 BIGINT NOT NULL DEFAULT 0,
    first_byte_5 BIGINT NOT NULL DEFAULT 0, first_byte_10 BIGINT NOT NULL DEFAULT 0, first_byte_20 BIGINT NOT NULL
    DEFAULT 0, first_byte_35 BIGINT NOT NULL DEFAULT 0, first_byte_50 BIGINT NOT NULL DEFAULT 0, first_byte_75 BIGINT
    NOT NULL DEFAULT 0, first_byte_100 BIGINT NOT NULL DEFAULT 0, first_byte_150 BIGINT NOT NULL DEFAULT 0,
    first_byte_200 BIGINT NOT NULL DEFAULT 0, first_byte_300 BIGINT NOT NULL DEFAULT 0, first_byte_500 BIGINT NOT NULL
    DEFAULT 0, first_byte_750 BIGINT NOT NULL DEFAULT 0, first_byte_1000 BIGINT NOT NULL DEFAULT 0, first_byte_1500
    BIGINT NOT NULL DEFAULT 0, first_byte_2000 BIGINT NOT NULL DEFAULT 0, first_byte_3000 BIGINT NOT NULL DEFAULT 0,
    first_byte_5000 BIGINT NOT NULL DEFAULT 0, first_byte_7500 BIGINT NOT NULL DEFAULT 0, first_byte_10000 BIGINT NOT
    NULL DEFAULT 0, first_byte_20000 BIGINT NOT NULL DEFAULT 0, first_byte_60000 BIGINT NOT NULL DEFAULT 0,
    first_byte_over BIGINT NOT NULL DEFAULT 0, saved_cost BIGINT NOT NULL DEFAULT 0, cache_misses BIGINT NOT NULL DEFAULT 0, prompt_cache_savings BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, user_path, tenant_id, cache_type)
) WITHOUT ROWID;
CREATE TABLE rollups_totals (
    bucket BIGINT NOT NULL,
    tenant_id TEXT NOT NULL, cache_type TEXT NOT NULL,
    requests BIGINT NOT NULL, errors BIGINT NOT NULL, status_2xx BIGINT NOT NULL, status_3xx BIGINT NOT NULL, status_4xx
    BIGINT NOT NULL, status_5xx BIGINT NOT NULL, input BIGINT NOT NULL, cache_read BIGINT NOT NULL, cache_write_5m
    BIGINT NOT NULL, cache_write_1h BIGINT NOT NULL, audio_input BIGINT NOT NULL, output BIGINT NOT NULL, reasoning
    BIGINT NOT NULL, audio_output BIGINT NOT NULL, input_cost BIGINT NOT NULL, output_cost BIGINT NOT NULL, priced
    BIGINT NOT NULL, unpriced BIGINT NOT NULL, estimated BIGINT NOT NULL,
    latency_1 BIGINT NOT NULL DEFAULT 0, latency_2 BIGINT NOT NULL DEFAULT 0, latency_5 BIGINT NOT NULL DEFAULT 0,
    latency_10 BIGINT NOT NULL DEFAULT 0, latency_20 BIGINT NOT NULL DEFAULT 0, latency_35 BIGINT NOT NULL DEFAULT 0,
    latency_50 BIGINT NOT NULL DEFAULT 0, latency_75 BIGINT NOT NULL DEFAULT 0, latency_100 BIGINT NOT NULL DEFAULT 0,
    latency_150 BIGINT NOT NULL DEFAULT 0, latency_200 BIGINT NOT NULL DEFAULT 0, latency_300 BIGINT NOT NULL DEFAULT 0,
    latency_500 BIGINT NOT NULL DEFAULT 0, latency_750 BIGINT NOT NULL DEFAULT 0, latency_1000 BIGINT NOT NULL DEFAULT
    0, latency_1500 BIGINT NOT NULL DEFAULT 0, latency_2000 BIGINT NOT NULL DEFAULT 0, latency_3000 BIGINT NOT NULL
    DEFAULT 0, latency_5000 BIGINT NOT NULL DEFAULT 0, latency_7500 BIGINT NOT NULL DEFAULT 0, latency_10000 BIGINT NOT
    NULL DEFAULT 0, latency_20000 BIGINT NOT NULL DEFAULT 0, latency_60000 BIGINT NOT NULL DEFAULT 0, latency_over
    BIGINT NOT NULL DEFAULT 0, first_byte_1 BIGINT NOT NULL DEFAULT 0, first_byte_2 BIGINT NOT NULL DEFAULT 0,
    first_byte_5 BIGINT NOT NULL DEFAULT 0, first_byte_10 BIGINT NOT NULL DEFAULT 0, first_byte_20 BIGINT NOT NULL
    DEFAULT 0, first_byte_35 BIGINT NOT NULL DEFAULT 0, first_byte_50 BIGINT NOT NULL DEFAULT 0, first_byte_75 BIGINT
    NOT NULL DEFAULT 0, first_byte_100 BIGINT NOT NULL DEFAULT 0, first_byte_150 BIGINT NOT NULL DEFAULT 0,
    first_byte_200 BIGINT NOT NULL DEFAULT 0, first_byte_300 BIGINT NOT NULL DEFAULT 0, first_byte_500 BIGINT NOT NULL
    DEFAULT 0, first_byte_750 BIGINT NOT NULL DEFAULT 0, first_byte_1000 BIGINT NOT NULL DEFAULT 0, first_byte_1500
    BIGINT NOT NULL DEFAULT 0, first_byte_2000 BIGINT NOT NULL DEFAULT 0, first_byte_3000 BIGINT NOT NULL DEFAULT 0,
    first_byte_5000 BIGINT NOT NULL DEFAULT 0, first_byte_7500 BIGINT NOT NULL DEFAULT 0, first_byte_10000 BIGINT NOT
    NULL DEFAULT 0, first_byte_20000 BIGINT NOT NULL DEFAULT 0, first_byte_60000 BIGINT NOT NULL DEFAULT 0,
    first_byte_over BIGINT NOT NULL DEFAULT 0, saved_cost BIGINT NOT NULL DEFAULT 0, cache_misses BIGINT NOT NULL DEFAULT 0, prompt_cache_savings BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, tenant_id, cache_type)
) WITHOUT ROWID;
CREATE TABLE "semantic_checks" (
    bucket BIGINT NOT NULL,
    tenant_id TEXT NOT NULL DEFAULT '',
    user_path TEXT NOT NULL,
    shadow_hits BIGINT NOT NULL,
    rechecks BIGINT NOT NULL,
    disagreements BIGINT NOT NULL,
    PRIMARY KEY (bucket, tenant_id, user_path)
);
CREATE TABLE semantic_entries (
    id TEXT NOT NULL PRIMARY KEY,
    partition_key TEXT NOT NULL,
    embedder TEXT NOT NULL,
    user_path TEXT NOT NULL,
    model TEXT NOT NULL,
    min_score BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    vector BLOB NOT NULL,
    facts TEXT NOT NULL,
    head TEXT NOT NULL,
    prompt BLOB NOT NULL,
    body BLOB NOT NULL
, seq BIGINT NOT NULL DEFAULT 0, origin TEXT NOT NULL DEFAULT '', tenant_id TEXT NOT NULL DEFAULT '');
CREATE TABLE semantic_removals (
    seq BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    origin TEXT NOT NULL,
    entry_id TEXT,
    user_path TEXT,
    model TEXT
, tenant_id TEXT);
CREATE TABLE semantic_sequence (
    id BIGINT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO "semantic_sequence" VALUES(1,0);
CREATE TABLE session_changes (
    id BIGINT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL
);
INSERT INTO "session_changes" VALUES(1,0);
CREATE TABLE sessions (
    digest TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    family TEXT NOT NULL,
    owner TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    ended_at BIGINT,
    seq BIGINT NOT NULL
);
CREATE TABLE token_revocations (
    kind TEXT NOT NULL,
    issuer TEXT NOT NULL,
    value TEXT NOT NULL,
    revoked_at BIGINT NOT NULL,
    seq BIGINT NOT NULL, expires_at BIGINT,
    PRIMARY KEY (kind, issuer, value)
);
CREATE TABLE usage (
    at BIGINT NOT NULL,
    id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    provider_id TEXT NOT NULL,
    model TEXT NOT NULL,
    requested_model TEXT,
    provider TEXT NOT NULL,
    provider_name TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    user_path TEXT NOT NULL,
    auth_key_id TEXT NOT NULL,
    tenant_id TEXT,
    cache_type TEXT NOT NULL,
    status BIGINT NOT NULL,
    stream BIGINT NOT NULL,
    estimated BIGINT NOT NULL,
    input BIGINT NOT NULL,
    cache_read BIGINT NOT NULL,
    cache_write_5m BIGINT NOT NULL,
    cache_write_1h BIGINT NOT NULL,
    audio_input BIGINT NOT NULL,
    output BIGINT NOT NULL,
    reasoning BIGINT NOT NULL,
    audio_output BIGINT NOT NULL,
    input_cost BIGINT,
    output_cost BIGINT,
    cost_source BIGINT NOT NULL,
    duration_us BIGINT NOT NULL,
    first_byte_us BIGINT,
    detail TEXT, run TEXT, saved_cost BIGINT, cache_miss BIGINT NOT NULL DEFAULT 0, prompt_cache_savings BIGINT,
    PRIMARY KEY (at, id)
);
CREATE INDEX responses_by_expiry ON responses (expires_at);
CREATE INDEX rollups_unpriced ON rollups (bucket) WHERE unpriced > 0;
CREATE INDEX audit_by_id ON audit (id);
CREATE INDEX audit_by_request ON audit (request_id);
CREATE UNIQUE INDEX audit_by_link ON audit (chain, sequence);
CREATE INDEX audit_by_session ON audit (session_id, at) WHERE session_id IS NOT NULL;
CREATE INDEX audit_by_response ON audit (response_id) WHERE response_id IS NOT NULL;
CREATE INDEX audit_by_previous ON audit (previous_response_id) WHERE previous_response_id IS NOT NULL;
CREATE INDEX audit_by_thread ON audit (thread, at) WHERE thread IS NOT NULL;
CREATE INDEX audit_by_parent ON audit (parent, at) WHERE parent IS NOT NULL;
CREATE INDEX outbox_by_due ON outbox (next_at) WHERE delivered_at IS NULL AND failed_at IS NULL;
CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
CREATE INDEX object_owners_by_expiry ON object_owners (expires_at);
CREATE INDEX usage_by_run ON usage (at, run, user_path, tenant_id, input_cost, output_cost) WHERE run IS NOT NULL;
CREATE INDEX document_references_by_target ON document_references (tenant, ref_kind, ref_name);
CREATE INDEX semantic_entries_by_expiry ON semantic_entries (expires_at);
CREATE INDEX sessions_by_family ON sessions (family);
CREATE INDEX sessions_by_owner ON sessions (owner);
CREATE INDEX sessions_by_seq ON sessions (seq);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
CREATE INDEX token_revocations_by_seq ON token_revocations (seq);
CREATE INDEX token_revocations_by_expiry ON token_revocations (expires_at);
CREATE INDEX semantic_entries_by_seq ON semantic_entries (seq);
CREATE INDEX semantic_removals_by_time ON semantic_removals (at);
CREATE INDEX audit_by_error ON audit (at, id) WHERE status >= 400 OR error_type IS NOT NULL;
