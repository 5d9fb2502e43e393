-- The tables of version 0.1.0 (migrations 1 to 21) in PostgreSQL, as the test of rolling upgrades loads them. Never edited.
CREATE TABLE public.audit (
    at bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    chain text NOT NULL COLLATE pg_catalog."C",
    sequence bigint NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    request_id text NOT NULL COLLATE pg_catalog."C",
    method text NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL COLLATE pg_catalog."C",
    endpoint text NOT NULL COLLATE pg_catalog."C",
    requested_model text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    provider_name text NOT NULL COLLATE pg_catalog."C",
    user_path text NOT NULL COLLATE pg_catalog."C",
    auth_key_id text COLLATE pg_catalog."C",
    tenant_id text COLLATE pg_catalog."C",
    session_id text COLLATE pg_catalog."C",
    response_id text COLLATE pg_catalog."C",
    previous_response_id text COLLATE pg_catalog."C",
    thread text COLLATE pg_catalog."C",
    parent text COLLATE pg_catalog."C",
    cache_type text NOT NULL COLLATE pg_catalog."C",
    status bigint NOT NULL,
    stream bigint NOT NULL,
    error_type text COLLATE pg_catalog."C",
    error_code text COLLATE pg_catalog."C",
    error_message text COLLATE pg_catalog."C",
    duration_us bigint NOT NULL,
    first_byte_us bigint,
    overhead_us bigint NOT NULL,
    data text NOT NULL COLLATE pg_catalog."C",
    request_body text COLLATE pg_catalog."C",
    response_body text COLLATE pg_catalog."C"
);
CREATE TABLE public.audit_chains (
    chain text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    started_at bigint NOT NULL,
    length bigint NOT NULL,
    head text NOT NULL COLLATE pg_catalog."C",
    first_sequence bigint NOT NULL,
    anchor text NOT NULL COLLATE pg_catalog."C",
    seal text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.audit_counts (
    bucket bigint NOT NULL,
    entries bigint NOT NULL
);
CREATE TABLE public.budget_alerts (
    budget text NOT NULL COLLATE pg_catalog."C",
    window_start bigint NOT NULL,
    threshold text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL
);
CREATE TABLE public.changes (
    revision bigint NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    action text NOT NULL COLLATE pg_catalog."C",
    old_body text COLLATE pg_catalog."C",
    new_body text COLLATE pg_catalog."C",
    tenant text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.document_references (
    tenant text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    ref_kind text NOT NULL COLLATE pg_catalog."C",
    ref_name text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.documents (
    tenant text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C",
    sealed text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    updated_by text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.idempotency (
    id text NOT NULL COLLATE pg_catalog."C",
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    claim text NOT NULL COLLATE pg_catalog."C",
    state bigint NOT NULL,
    expires_at bigint NOT NULL,
    head text NOT NULL COLLATE pg_catalog."C",
    packed bigint NOT NULL,
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.journal_positions (
    segment text NOT NULL COLLATE pg_catalog."C",
    journal text NOT NULL COLLATE pg_catalog."C",
    drained bigint NOT NULL
);
CREATE TABLE public.key_uses (
    auth_key_id text NOT NULL COLLATE pg_catalog."C",
    last_used_at bigint NOT NULL
);
CREATE TABLE public.meta (
    id bigint NOT NULL,
    rev bigint NOT NULL
);
CREATE TABLE public.migrations (
    version bigint NOT NULL,
    name text NOT NULL,
    applied_at bigint NOT NULL
);
CREATE TABLE public.object_owners (
    id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    user_path text NOT NULL COLLATE pg_catalog."C",
    tenant text COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE TABLE public.outbox (
    id text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    event text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL COLLATE pg_catalog."C",
    attempts bigint NOT NULL,
    next_at bigint NOT NULL,
    leased_until bigint NOT NULL,
    delivered_at bigint,
    failed_at bigint,
    last_error text COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.responses (
    id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    user_path text NOT NULL COLLATE pg_catalog."C",
    tenant text COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    upstream_id text NOT NULL COLLATE pg_catalog."C",
    retrievable bigint NOT NULL,
    usable bigint NOT NULL,
    previous text COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    input text NOT NULL COLLATE pg_catalog."C",
    output text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.rollup_deltas (
    id bigint NOT NULL,
    oldest bigint NOT NULL,
    newest bigint NOT NULL,
    entries bigint NOT NULL,
    sums bytea NOT NULL
);
ALTER TABLE public.rollup_deltas ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.rollup_deltas_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.rollups (
    bucket bigint NOT NULL,
    model text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    provider_name text NOT NULL COLLATE pg_catalog."C",
    user_path text NOT NULL COLLATE pg_catalog."C",
    auth_key_id text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    cache_type text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    errors bigint NOT NULL,
    status_2xx bigint NOT NULL,
    status_3xx bigint NOT NULL,
    status_4xx bigint NOT NULL,
    status_5xx bigint NOT NULL,
    input bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write_5m bigint NOT NULL,
    cache_write_1h bigint NOT NULL,
    audio_input bigint NOT NULL,
    output bigint NOT NULL,
    reasoning bigint NOT NULL,
    audio_output bigint NOT NULL,
    input_cost bigint NOT NULL,
    output_cost bigint NOT NULL,
    priced bigint NOT NULL,
    unpriced bigint NOT NULL,
    estimated bigint NOT NULL,
    latency_1 bigint DEFAULT 0 NOT NULL,
    latency_2 bigint DEFAULT 0 NOT NULL,
    latency_5 bigint DEFAULT 0 NOT NULL,
    latency_10 bigint DEFAULT 0 NOT NULL,
    latency_20 bigint DEFAULT 0 NOT NULL,
    latency_35 bigint DEFAULT 0 NOT NULL,
    latency_50 bigint DEFAULT 0 NOT NULL,
    latency_75 bigint DEFAULT 0 NOT NULL,
    latency_100 bigint DEFAULT 0 NOT NULL,
    latency_150 bigint DEFAULT 0 NOT NULL,
    latency_200 bigint DEFAULT 0 NOT NULL,
    latency_300 bigint DEFAULT 0 NOT NULL,
    latency_500 bigint DEFAULT 0 NOT NULL,
    latency_750 bigint DEFAULT 0 NOT NULL,
    latency_1000 bigint DEFAULT 0 NOT NULL,
    latency_1500 bigint DEFAULT 0 NOT NULL,
    latency_2000 bigint DEFAULT 0 NOT NULL,
    latency_3000 bigint DEFAULT 0 NOT NULL,
    latency_5000 bigint DEFAULT 0 NOT NULL,
    latency_7500 bigint DEFAULT 0 NOT NULL,
    latency_10000 bigint DEFAULT 0 NOT NULL,
    latency_20000 bigint DEFAULT 0 NOT NULL,
    latency_60000 bigint DEFAULT 0 NOT NULL,
    latency_over bigint DEFAULT 0 NOT NULL,
    first_byte_1 bigint DEFAULT 0 NOT NULL,
    first_byte_2 bigint DEFAULT 0 NOT NULL,
    first_byte_5 bigint DEFAULT 0 NOT NULL,
    first_byte_10 bigint DEFAULT 0 NOT NULL,
    first_byte_20 bigint DEFAULT 0 NOT NULL,
    first_byte_35 bigint DEFAULT 0 NOT NULL,
    first_byte_50 bigint DEFAULT 0 NOT NULL,
    first_byte_75 bigint DEFAULT 0 NOT NULL,
    first_byte_100 bigint DEFAULT 0 NOT NULL,
    first_byte_150 bigint DEFAULT 0 NOT NULL,
    first_byte_200 bigint DEFAULT 0 NOT NULL,
    first_byte_300 bigint DEFAULT 0 NOT NULL,
    first_byte_500 bigint DEFAULT 0 NOT NULL,
    first_byte_750 bigint DEFAULT 0 NOT NULL,
    first_byte_1000 bigint DEFAULT 0 NOT NULL,
    first_byte_1500 bigint DEFAULT 0 NOT NULL,
    first_byte_2000 bigint DEFAULT 0 NOT NULL,
    first_byte_3000 bigint DEFAULT 0 NOT NULL,
    first_byte_5000 bigint DEFAULT 0 NOT NULL,
    first_byte_7500 bigint DEFAULT 0 NOT NULL,
    first_byte_10000 bigint DEFAULT 0 NOT NULL,
    first_byte_20000 bigint DEFAULT 0 NOT NULL,
    first_byte_60000 bigint DEFAULT 0 NOT NULL,
    first_byte_over bigint DEFAULT 0 NOT NULL,
    saved_cost bigint DEFAULT 0 NOT NULL,
    cache_misses bigint DEFAULT 0 NOT NULL,
    prompt_cache_savings bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.rollups_daily (
    bucket bigint NOT NULL,
    model text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    provider_name text NOT NULL COLLATE pg_catalog."C",
    user_path text NOT NULL COLLATE pg_catalog."C",
    auth_key_id text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    cache_type text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    errors bigint NOT NULL,
    status_2xx bigint NOT NULL,
    status_3xx bigint NOT NULL,
    status_4xx bigint NOT NULL,
    status_5xx bigint NOT NULL,
    input bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write_5m bigint NOT NULL,
    cache_write_1h bigint NOT NULL,
    audio_input bigint NOT NULL,
    output bigint NOT NULL,
    reasoning bigint NOT NULL,
    audio_output bigint NOT NULL,
    input_cost bigint NOT NULL,
    output_cost bigint NOT NULL,
    priced bigint NOT NULL,
    unpriced bigint NOT NULL,
    estimated bigint NOT NULL,
    latency_1 bigint DEFAULT 0 NOT NULL,
    latency_2 bigint DEFAULT 0 NOT NULL,
    latency_5 bigint DEFAULT 0 NOT NULL,
    latency_10 bigint DEFAULT 0 NOT NULL,
    latency_20 bigint DEFAULT 0 NOT NULL,
    latency_35 bigint DEFAULT 0 NOT NULL,
    latency_50 bigint DEFAULT 0 NOT NULL,
    latency_75 bigint DEFAULT 0 NOT NULL,
    latency_100 bigint DEFAULT 0 NOT NULL,
    latency_150 bigint DEFAULT 0 NOT NULL,
    latency_200 bigint DEFAULT 0 NOT NULL,
    latency_300 bigint DEFAULT 0 NOT NULL,
    latency_500 bigint DEFAULT 0 NOT NULL,
    latency_750 bigint DEFAULT 0 NOT NULL,
    latency_1000 bigint DEFAULT 0 NOT NULL,
    latency_1500 bigint DEFAULT 0 NOT NULL,
    latency_2000 bigint DEFAULT 0 NOT NULL,
    latency_3000 bigint DEFAULT 0 NOT NULL,
    latency_5000 bigint DEFAULT 0 NOT NULL,
    latency_7500 bigint DEFAULT 0 NOT NULL,
    latency_10000 bigint DEFAULT 0 NOT NULL,
    latency_20000 bigint DEFAULT 0 NOT NULL,
    latency_60000 bigint DEFAULT 0 NOT NULL,
    latency_over bigint DEFAULT 0 NOT NULL,
    first_byte_1 bigint DEFAULT 0 NOT NULL,
    first_byte_2 bigint DEFAULT 0 NOT NULL,
    first_byte_5 bigint DEFAULT 0 NOT NULL,
    first_byte_10 bigint DEFAULT 0 NOT NULL,
    first_byte_20 bigint DEFAULT 0 NOT NULL,
    first_byte_35 bigint DEFAULT 0 NOT NULL,
    first_byte_50 bigint DEFAULT 0 NOT NULL,
    first_byte_75 bigint DEFAULT 0 NOT NULL,
    first_byte_100 bigint DEFAULT 0 NOT NULL,
    first_byte_150 bigint DEFAULT 0 NOT NULL,
    first_byte_200 bigint DEFAULT 0 NOT NULL,
    first_byte_300 bigint DEFAULT 0 NOT NULL,
    first_byte_500 bigint DEFAULT 0 NOT NULL,
    first_byte_750 bigint DEFAULT 0 NOT NULL,
    first_byte_1000 bigint DEFAULT 0 NOT NULL,
    first_byte_1500 bigint DEFAULT 0 NOT NULL,
    first_byte_2000 bigint DEFAULT 0 NOT NULL,
    first_byte_3000 bigint DEFAULT 0 NOT NULL,
    first_byte_5000 bigint DEFAULT 0 NOT NULL,
    first_byte_7500 bigint DEFAULT 0 NOT NULL,
    first_byte_10000 bigint DEFAULT 0 NOT NULL,
    first_byte_20000 bigint DEFAULT 0 NOT NULL,
    first_byte_60000 bigint DEFAULT 0 NOT NULL,
    first_byte_over bigint DEFAULT 0 NOT NULL,
    saved_cost bigint DEFAULT 0 NOT NULL,
    cache_misses bigint DEFAULT 0 NOT NULL,
    prompt_cache_savings bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.rollups_models (
    bucket bigint NOT NULL,
    model text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    provider_name text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    cache_type text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    errors bigint NOT NULL,
    status_2xx bigint NOT NULL,
    status_3xx bigint NOT NULL,
    status_4xx bigint NOT NULL,
    status_5xx bigint NOT NULL,
    input bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write_5m bigint NOT NULL,
    cache_write_1h bigint NOT NULL,
    audio_input bigint NOT NULL,
    output bigint NOT NULL,
    reasoning bigint NOT NULL,
    audio_output bigint NOT NULL,
    input_cost bigint NOT NULL,
    output_cost bigint NOT NULL,
    priced bigint NOT NULL,
    unpriced bigint NOT NULL,
    estimated bigint NOT NULL,
    latency_1 bigint DEFAULT 0 NOT NULL,
    latency_2 bigint DEFAULT 0 NOT NULL,
    latency_5 bigint DEFAULT 0 NOT NULL,
    latency_10 bigint DEFAULT 0 NOT NULL,
    latency_20 bigint DEFAULT 0 NOT NULL,
    latency_35 bigint DEFAULT 0 NOT NULL,
    latency_50 bigint DEFAULT 0 NOT NULL,
    latency_75 bigint DEFAULT 0 NOT NULL,
    latency_100 bigint DEFAULT 0 NOT NULL,
    latency_150 bigint DEFAULT 0 NOT NULL,
    latency_200 bigint DEFAULT 0 NOT NULL,
    latency_300 bigint DEFAULT 0 NOT NULL,
    latency_500 bigint DEFAULT 0 NOT NULL,
    latency_750 bigint DEFAULT 0 NOT NULL,
    latency_1000 bigint DEFAULT 0 NOT NULL,
    latency_1500 bigint DEFAULT 0 NOT NULL,
    latency_2000 bigint DEFAULT 0 NOT NULL,
    latency_3000 bigint DEFAULT 0 NOT NULL,
    latency_5000 bigint DEFAULT 0 NOT NULL,
    latency_7500 bigint DEFAULT 0 NOT NULL,
    latency_10000 bigint DEFAULT 0 NOT NULL,
    latency_20000 bigint DEFAULT 0 NOT NULL,
    latency_60000 bigint DEFAULT 0 NOT NULL,
    latency_over bigint DEFAULT 0 NOT NULL,
    first_byte_1 bigint DEFAULT 0 NOT NULL,
    first_byte_2 bigint DEFAULT 0 NOT NULL,
    first_byte_5 bigint DEFAULT 0 NOT NULL,
    first_byte_10 bigint DEFAULT 0 NOT NULL,
    first_byte_20 bigint DEFAULT 0 NOT NULL,
    first_byte_35 bigint DEFAULT 0 NOT NULL,
    first_byte_50 bigint DEFAULT 0 NOT NULL,
    first_byte_75 bigint DEFAULT 0 NOT NULL,
    first_byte_100 bigint DEFAULT 0 NOT NULL,
    first_byte_150 bigint DEFAULT 0 NOT NULL,
    first_byte_200 bigint DEFAULT 0 NOT NULL,
    first_byte_300 bigint DEFAULT 0 NOT NULL,
    first_byte_500 bigint DEFAULT 0 NOT NULL,
    first_byte_750 bigint DEFAULT 0 NOT NULL,
    first_byte_1000 bigint DEFAULT 0 NOT NULL,
    first_byte_1500 bigint DEFAULT 0 NOT NULL,
    first_byte_2000 bigint DEFAULT 0 NOT NULL,
    first_byte_3000 bigint DEFAULT 0 NOT NULL,
    first_byte_5000 bigint DEFAULT 0 NOT NULL,
    first_byte_7500 bigint DEFAULT 0 NOT NULL,
    first_byte_10000 bigint DEFAULT 0 NOT NULL,
    first_byte_20000 bigint DEFAULT 0 NOT NULL,
    first_byte_60000 bigint DEFAULT 0 NOT NULL,
    first_byte_over bigint DEFAULT 0 NOT NULL,
    saved_cost bigint DEFAULT 0 NOT NULL,
    cache_misses bigint DEFAULT 0 NOT NULL,
    prompt_cache_savings bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.rollups_models_daily (
    bucket bigint NOT NULL,
    model text NOT NULL COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    provider_name text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    cache_type text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    errors bigint NOT NULL,
    status_2xx bigint NOT NULL,
    status_3xx bigint NOT NULL,
    status_4xx bigint NOT NULL,
    status_5xx bigint NOT NULL,
    input bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write_5m bigint NOT NULL,
    cache_write_1h bigint NOT NULL,
    audio_input bigint NOT NULL,
    output bigint NOT NULL,
    reasoning bigint NOT NULL,
    audio_output bigint NOT NULL,
    input_cost bigint NOT NULL,
    output_cost bigint NOT NULL,
    priced bigint NOT NULL,
    unpriced bigint NOT NULL,
    estimated bigint NOT NULL,
    latency_1 bigint DEFAULT 0 NOT NULL,
    latency_2 bigint DEFAULT 0 NOT NULL,
    latency_5 bigint DEFAULT 0 NOT NULL,
    latency_10 bigint DEFAULT 0 NOT NULL,
    latency_20 bigint DEFAULT 0 NOT NULL,
    latency_35 bigint DEFAULT 0 NOT NULL,
    latency_50 bigint DEFAULT 0 NOT NULL,
    latency_75 bigint DEFAULT 0 NOT NULL,
    latency_100 bigint DEFAULT 0 NOT NULL,
    latency_150 bigint DEFAULT 0 NOT NULL,
    latency_200 bigint DEFAULT 0 NOT NULL,
    latency_300 bigint DEFAULT 0 NOT NULL,
    latency_500 bigint DEFAULT 0 NOT NULL,
    latency_750 bigint DEFAULT 0 NOT NULL,
    latency_1000 bigint DEFAULT 0 NOT NULL,
    latency_1500 bigint DEFAULT 0 NOT NULL,
    latency_2000 bigint DEFAULT 0 NOT NULL,
    latency_3000 bigint DEFAULT 0 NOT NULL,
    latency_5000 bigint DEFAULT 0 NOT NULL,
    latency_7500 bigint DEFAULT 0 NOT NULL,
    latency_10000 bigint DEFAULT 0 NOT NULL,
    latency_20000 bigint DEFAULT 0 NOT NULL,
    latency_60000 bigint DEFAULT 0 NOT NULL,
    latency_over bigint DEFAULT 0 NOT NULL,
    first_byte_1 bigint DEFAULT 0 NOT NULL,
    first_byte_2 bigint DEFAULT 0 NOT NULL,
    first_byte_5 bigint DEFAULT 0 NOT NULL,
    first_byte_10 bigint DEFAULT 0 NOT NULL,
    first_byte_20 bigint DEFAULT 0 NOT NULL,
    first_byte_35 bigint DEFAULT 0 NOT NULL,
    first_byte_50 bigint DEFAULT 0 NOT NULL,
    first_byte_75 bigint DEFAULT 0 NOT NULL,
    first_byte_100 bigint DEFAULT 0 NOT NULL,
    first_byte_150 bigint DEFAULT 0 NOT NULL,
    first_byte_200 bigint DEFAULT 0 NOT NULL,
    first_byte_300 bigint DEFAULT 0 NOT NULL,
    first_byte_500 bigint DEFAULT 0 NOT NULL,
    first_byte_750 bigint DEFAULT 0 NOT NULL,
    first_byte_1000 bigint DEFAULT 0 NOT NULL,
    first_byte_1500 bigint DEFAULT 0 NOT NULL,
    first_byte_2000 bigint DEFAULT 0 NOT NULL,
    first_byte_3000 bigint DEFAULT 0 NOT NULL,
    first_byte_5000 bigint DEFAULT 0 NOT NULL,
    first_byte_7500 bigint DEFAULT 0 NOT NULL,
    first_byte_10000 bigint DEFAULT 0 NOT NULL,
    first_byte_20000 bigint DEFAULT 0 NOT NULL,
    first_byte_60000 bigint DEFAULT 0 NOT NULL,
    first_byte_over bigint DEFAULT 0 NOT NULL,
    saved_cost bigint DEFAULT 0 NOT NULL,
    cache_misses bigint DEFAULT 0 NOT NULL,
    prompt_cache_savings bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.rollups_paths (
    bucket bigint NOT NULL,
    user_path text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    cache_type text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    errors bigint NOT NULL,
    status_2xx bigint NOT NULL,
    status_3xx bigint NOT NULL,
    status_4xx bigint NOT NULL,
    status_5xx bigint NOT NULL,
    input bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write_5m bigint NOT NULL,
    cache_write_1h bigint NOT NULL,
    audio_input bigint NOT NULL,
    output bigint NOT NULL,
    reasoning bigint NOT NULL,
    audio_output bigint NOT NULL,
    input_cost bigint NOT NULL,
    output_cost bigint NOT NULL,
    priced bigint NOT NULL,
    unpriced bigint NOT NULL,
    estimated bigint NOT NULL,
    latency_1 bigint DEFAULT 0 NOT NULL,
    latency_2 bigint DEFAULT 0 NOT NULL,
    latency_5 bigint DEFAULT 0 NOT NULL,
    latency_10 bigint DEFAULT 0 NOT NULL,
    latency_20 bigint DEFAULT 0 NOT NULL,
    latency_35 bigint DEFAULT 0 NOT NULL,
    latency_50 bigint DEFAULT 0 NOT NULL,
    latency_75 bigint DEFAULT 0 NOT NULL,
    latency_100 bigint DEFAULT 0 NOT NULL,
    latency_150 bigint DEFAULT 0 NOT NULL,
    latency_200 bigint DEFAULT 0 NOT NULL,
    latency_300 bigint DEFAULT 0 NOT NULL,
    latency_500 bigint DEFAULT 0 NOT NULL,
    latency_750 bigint DEFAULT 0 NOT NULL,
    latency_1000 bigint DEFAULT 0 NOT NULL,
    latency_1500 bigint DEFAULT 0 NOT NULL,
    latency_2000 bigint DEFAULT 0 NOT NULL,
    latency_3000 bigint DEFAULT 0 NOT NULL,
    latency_5000 bigint DEFAULT 0 NOT NULL,
    latency_7500 bigint DEFAULT 0 NOT NULL,
    latency_10000 bigint DEFAULT 0 NOT NULL,
    latency_20000 bigint DEFAULT 0 NOT NULL,
    latency_60000 bigint DEFAULT 0 NOT NULL,
    latency_over bigint DEFAULT 0 NOT NULL,
    first_byte_1 bigint DEFAULT 0 NOT NULL,
    first_byte_2 bigint DEFAULT 0 NOT NULL,
    first_byte_5 bigint DEFAULT 0 NOT NULL,
    first_byte_10 bigint DEFAULT 0 NOT NULL,
    first_byte_20 bigint DEFAULT 0 NOT NULL,
    first_byte_35 bigint DEFAULT 0 NOT NULL,
    first_byte_50 bigint DEFAULT 0 NOT NULL,
    first_byte_75 bigint DEFAULT 0 NOT NULL,
    first_byte_100 bigint DEFAULT 0 NOT NULL,
    first_byte_150 bigint DEFAULT 0 NOT NULL,
    first_byte_200 bigint DEFAULT 0 NOT NULL,
    first_byte_300 bigint DEFAULT 0 NOT NULL,
    first_byte_500 bigint DEFAULT 0 NOT NULL,
    first_byte_750 bigint DEFAULT 0 NOT NULL,
    first_byte_1000 bigint DEFAULT 0 NOT NULL,
    first_byte_1500 bigint DEFAULT 0 NOT NULL,
    first_byte_2000 bigint DEFAULT 0 NOT NULL,
    first_byte_3000 bigint DEFAULT 0 NOT NULL,
    first_byte_5000 bigint DEFAULT 0 NOT NULL,
    first_byte_7500 bigint DEFAULT 0 NOT NULL,
    first_byte_10000 bigint DEFAULT 0 NOT NULL,
    first_byte_20000 bigint DEFAULT 0 NOT NULL,
    first_byte_60000 bigint DEFAULT 0 NOT NULL,
    first_byte_over bigint DEFAULT 0 NOT NULL,
    saved_cost bigint DEFAULT 0 NOT NULL,
    cache_misses bigint DEFAULT 0 NOT NULL,
    prompt_cache_savings bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.rollups_paths_daily (
    bucket bigint NOT NULL,
    user_path text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    cache_type text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    errors bigint NOT NULL,
    status_2xx bigint NOT NULL,
    status_3xx bigint NOT NULL,
    status_4xx bigint NOT NULL,
    status_5xx bigint NOT NULL,
    input bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write_5m bigint NOT NULL,
    cache_write_1h bigint NOT NULL,
    audio_input bigint NOT NULL,
    output bigint NOT NULL,
    reasoning bigint NOT NULL,
    audio_output bigint NOT NULL,
    input_cost bigint NOT NULL,
    output_cost bigint NOT NULL,
    priced bigint NOT NULL,
    unpriced bigint NOT NULL,
    estimated bigint NOT NULL,
    latency_1 bigint DEFAULT 0 NOT NULL,
    latency_2 bigint DEFAULT 0 NOT NULL,
    latency_5 bigint DEFAULT 0 NOT NULL,
    latency_10 bigint DEFAULT 0 NOT NULL,
    latency_20 bigint DEFAULT 0 NOT NULL,
    latency_35 bigint DEFAULT 0 NOT NULL,
    latency_50 bigint DEFAULT 0 NOT NULL,
    latency_75 bigint DEFAULT 0 NOT NULL,
    latency_100 bigint DEFAULT 0 NOT NULL,
    latency_150 bigint DEFAULT 0 NOT NULL,
    latency_200 bigint DEFAULT 0 NOT NULL,
    latency_300 bigint DEFAULT 0 NOT NULL,
    latency_500 bigint DEFAULT 0 NOT NULL,
    latency_750 bigint DEFAULT 0 NOT NULL,
    latency_1000 bigint DEFAULT 0 NOT NULL,
    latency_1500 bigint DEFAULT 0 NOT NULL,
    latency_2000 bigint DEFAULT 0 NOT NULL,
    latency_3000 bigint DEFAULT 0 NOT NULL,
    latency_5000 bigint DEFAULT 0 NOT NULL,
    latency_7500 bigint DEFAULT 0 NOT NULL,
    latency_10000 bigint DEFAULT 0 NOT NULL,
    latency_20000 bigint DEFAULT 0 NOT NULL,
    latency_60000 bigint DEFAULT 0 NOT NULL,
    latency_over bigint DEFAULT 0 NOT NULL,
    first_byte_1 bigint DEFAULT 0 NOT NULL,
    first_byte_2 bigint DEFAULT 0 NOT NULL,
    first_byte_5 bigint DEFAULT 0 NOT NULL,
    first_byte_10 bigint DEFAULT 0 NOT NULL,
    first_byte_20 bigint DEFAULT 0 NOT NULL,
    first_byte_35 bigint DEFAULT 0 NOT NULL,
    first_byte_50 bigint DEFAULT 0 NOT NULL,
    first_byte_75 bigint DEFAULT 0 NOT NULL,
    first_byte_100 bigint DEFAULT 0 NOT NULL,
    first_byte_150 bigint DEFAULT 0 NOT NULL,
    first_byte_200 bigint DEFAULT 0 NOT NULL,
    first_byte_300 bigint DEFAULT 0 NOT NULL,
    first_byte_500 bigint DEFAULT 0 NOT NULL,
    first_byte_750 bigint DEFAULT 0 NOT NULL,
    first_byte_1000 bigint DEFAULT 0 NOT NULL,
    first_byte_1500 bigint DEFAULT 0 NOT NULL,
    first_byte_2000 bigint DEFAULT 0 NOT NULL,
    first_byte_3000 bigint DEFAULT 0 NOT NULL,
    first_byte_5000 bigint DEFAULT 0 NOT NULL,
    first_byte_7500 bigint DEFAULT 0 NOT NULL,
    first_byte_10000 bigint DEFAULT 0 NOT NULL,
    first_byte_20000 bigint DEFAULT 0 NOT NULL,
    first_byte_60000 bigint DEFAULT 0 NOT NULL,
    first_byte_over bigint DEFAULT 0 NOT NULL,
    saved_cost bigint DEFAULT 0 NOT NULL,
    cache_misses bigint DEFAULT 0 NOT NULL,
    prompt_cache_savings bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.rollups_totals (
    bucket bigint NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    cache_type text NOT NULL COLLATE pg_catalog."C",
    requests bigint NOT NULL,
    errors bigint NOT NULL,
    status_2xx bigint NOT NULL,
    status_3xx bigint NOT NULL,
    status_4xx bigint NOT NULL,
    status_5xx bigint NOT NULL,
    input bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write_5m bigint NOT NULL,
    cache_write_1h bigint NOT NULL,
    audio_input bigint NOT NULL,
    output bigint NOT NULL,
    reasoning bigint NOT NULL,
    audio_output bigint NOT NULL,
    input_cost bigint NOT NULL,
    output_cost bigint NOT NULL,
    priced bigint NOT NULL,
    unpriced bigint NOT NULL,
    estimated bigint NOT NULL,
    latency_1 bigint DEFAULT 0 NOT NULL,
    latency_2 bigint DEFAULT 0 NOT NULL,
    latency_5 bigint DEFAULT 0 NOT NULL,
    latency_10 bigint DEFAULT 0 NOT NULL,
    latency_20 bigint DEFAULT 0 NOT NULL,
    latency_35 bigint DEFAULT 0 NOT NULL,
    latency_50 bigint DEFAULT 0 NOT NULL,
    latency_75 bigint DEFAULT 0 NOT NULL,
    latency_100 bigint DEFAULT 0 NOT NULL,
    latency_150 bigint DEFAULT 0 NOT NULL,
    latency_200 bigint DEFAULT 0 NOT NULL,
    latency_300 bigint DEFAULT 0 NOT NULL,
    latency_500 bigint DEFAULT 0 NOT NULL,
    latency_750 bigint DEFAULT 0 NOT NULL,
    latency_1000 bigint DEFAULT 0 NOT NULL,
    latency_1500 bigint DEFAULT 0 NOT NULL,
    latency_2000 bigint DEFAULT 0 NOT NULL,
    latency_3000 bigint DEFAULT 0 NOT NULL,
    latency_5000 bigint DEFAULT 0 NOT NULL,
    latency_7500 bigint DEFAULT 0 NOT NULL,
    latency_10000 bigint DEFAULT 0 NOT NULL,
    latency_20000 bigint DEFAULT 0 NOT NULL,
    latency_60000 bigint DEFAULT 0 NOT NULL,
    latency_over bigint DEFAULT 0 NOT NULL,
    first_byte_1 bigint DEFAULT 0 NOT NULL,
    first_byte_2 bigint DEFAULT 0 NOT NULL,
    first_byte_5 bigint DEFAULT 0 NOT NULL,
    first_byte_10 bigint DEFAULT 0 NOT NULL,
    first_byte_20 bigint DEFAULT 0 NOT NULL,
    first_byte_35 bigint DEFAULT 0 NOT NULL,
    first_byte_50 bigint DEFAULT 0 NOT NULL,
    first_byte_75 bigint DEFAULT 0 NOT NULL,
    first_byte_100 bigint DEFAULT 0 NOT NULL,
    first_byte_150 bigint DEFAULT 0 NOT NULL,
    first_byte_200 bigint DEFAULT 0 NOT NULL,
    first_byte_300 bigint DEFAULT 0 NOT NULL,
    first_byte_500 bigint DEFAULT 0 NOT NULL,
    first_byte_750 bigint DEFAULT 0 NOT NULL,
    first_byte_1000 bigint DEFAULT 0 NOT NULL,
    first_byte_1500 bigint DEFAULT 0 NOT NULL,
    first_byte_2000 bigint DEFAULT 0 NOT NULL,
    first_byte_3000 bigint DEFAULT 0 NOT NULL,
    first_byte_5000 bigint DEFAULT 0 NOT NULL,
    first_byte_7500 bigint DEFAULT 0 NOT NULL,
    first_byte_10000 bigint DEFAULT 0 NOT NULL,
    first_byte_20000 bigint DEFAULT 0 NOT NULL,
    first_byte_60000 bigint DEFAULT 0 NOT NULL,
    first_byte_over bigint DEFAULT 0 NOT NULL,
    saved_cost bigint DEFAULT 0 NOT NULL,
    cache_misses bigint DEFAULT 0 NOT NULL,
    prompt_cache_savings bigint DEFAULT 0 NOT NULL
);
CREATE TABLE public.semantic_checks (
    bucket bigint NOT NULL,
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_path text NOT NULL COLLATE pg_catalog."C",
    shadow_hits bigint NOT NULL,
    rechecks bigint NOT NULL,
    disagreements bigint NOT NULL
);
CREATE TABLE public.semantic_entries (
    id text NOT NULL COLLATE pg_catalog."C",
    partition_key text NOT NULL COLLATE pg_catalog."C",
    embedder text NOT NULL COLLATE pg_catalog."C",
    user_path text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    min_score bigint NOT NULL,
    expires_at bigint NOT NULL,
    vector bytea NOT NULL,
    facts text NOT NULL COLLATE pg_catalog."C",
    head text NOT NULL COLLATE pg_catalog."C",
    prompt bytea NOT NULL,
    body bytea NOT NULL,
    seq bigint DEFAULT 0 NOT NULL,
    origin text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    tenant_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.semantic_removals (
    seq bigint NOT NULL,
    at bigint NOT NULL,
    origin text NOT NULL COLLATE pg_catalog."C",
    entry_id text COLLATE pg_catalog."C",
    user_path text COLLATE pg_catalog."C",
    model text COLLATE pg_catalog."C",
    tenant_id text COLLATE pg_catalog."C"
);
CREATE TABLE public.semantic_sequence (
    id bigint NOT NULL,
    value bigint NOT NULL
);
CREATE TABLE public.session_changes (
    id bigint NOT NULL,
    seq bigint NOT NULL
);
CREATE TABLE public.sessions (
    digest text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    family text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    ended_at bigint,
    seq bigint NOT NULL
);
CREATE TABLE public.token_revocations (
    kind text NOT NULL COLLATE pg_catalog."C",
    issuer text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C",
    revoked_at bigint NOT NULL,
    seq bigint NOT NULL,
    expires_at bigint
);
CREATE TABLE public.usage (
    at bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    request_id text NOT NULL COLLATE pg_catalog."C",
    provider_id text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    requested_model text COLLATE pg_catalog."C",
    provider text NOT NULL COLLATE pg_catalog."C",
    provider_name text NOT NULL COLLATE pg_catalog."C",
    endpoint text NOT NULL COLLATE pg_catalog."C",
    user_path text NOT NULL COLLATE pg_catalog."C",
    auth_key_id text NOT NULL COLLATE pg_catalog."C",
    tenant_id text COLLATE pg_catalog."C",
    cache_type text NOT NULL COLLATE pg_catalog."C",
    status bigint NOT NULL,
    stream bigint NOT NULL,
    estimated bigint NOT NULL,
    input bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write_5m bigint NOT NULL,
    cache_write_1h bigint NOT NULL,
    audio_input bigint NOT NULL,
    output bigint NOT NULL,
    reasoning bigint NOT NULL,
    audio_output bigint NOT NULL,
    input_cost bigint,
    output_cost bigint,
    cost_source bigint NOT NULL,
    duration_us bigint NOT NULL,
    first_byte_us bigint,
    detail text COLLATE pg_catalog."C",
    run text COLLATE pg_catalog."C",
    saved_cost bigint,
    cache_miss bigint DEFAULT 0 NOT NULL,
    prompt_cache_savings bigint
);
INSERT INTO public.meta VALUES (1, 0);
INSERT INTO public.migrations VALUES (1, 'documents', 0);
INSERT INTO public.migrations VALUES (2, 'ledger', 0);
INSERT INTO public.migrations VALUES (3, 'responses', 0);
INSERT INTO public.migrations VALUES (4, 'reports', 0);
INSERT INTO public.migrations VALUES (5, 'audit', 0);
INSERT INTO public.migrations VALUES (6, 'spending', 0);
INSERT INTO public.migrations VALUES (7, 'idempotency', 0);
INSERT INTO public.migrations VALUES (8, 'key_uses', 0);
INSERT INTO public.migrations VALUES (9, 'object_owners', 0);
INSERT INTO public.migrations VALUES (10, 'runs', 0);
INSERT INTO public.migrations VALUES (11, 'document_tenants', 0);
INSERT INTO public.migrations VALUES (12, 'rollup_deltas', 0);
INSERT INTO public.migrations VALUES (13, 'response_cache', 0);
INSERT INTO public.migrations VALUES (14, 'semantic_cache', 0);
INSERT INTO public.migrations VALUES (15, 'prompt_cache_savings', 0);
INSERT INTO public.migrations VALUES (16, 'sessions', 0);
INSERT INTO public.migrations VALUES (17, 'tenant_documents', 0);
INSERT INTO public.migrations VALUES (18, 'revocation_expiry', 0);
INSERT INTO public.migrations VALUES (19, 'semantic_changes', 0);
INSERT INTO public.migrations VALUES (20, 'semantic_tenants', 0);
INSERT INTO public.migrations VALUES (21, 'audit_errors', 0);
INSERT INTO public.semantic_sequence VALUES (1, 0);
INSERT INTO public.session_changes VALUES (1, 0);
SELECT pg_catalog.setval('public.rollup_deltas_id_seq', 1, false);
ALTER TABLE ONLY public.audit_chains
    ADD CONSTRAINT audit_chains_number_key UNIQUE (number);
ALTER TABLE ONLY public.audit_chains
    ADD CONSTRAINT audit_chains_pkey PRIMARY KEY (chain);
ALTER TABLE ONLY public.audit_counts
    ADD CONSTRAINT audit_counts_pkey PRIMARY KEY (bucket);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (at, id);
ALTER TABLE ONLY public.budget_alerts
    ADD CONSTRAINT budget_alerts_pkey PRIMARY KEY (budget, window_start, threshold);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (revision);
ALTER TABLE ONLY public.document_references
    ADD CONSTRAINT document_references_by_tenant_pkey PRIMARY KEY (tenant, kind, name, ref_kind, ref_name);
ALTER TABLE ONLY public.documents
    ADD CONSTRAINT documents_by_tenant_pkey PRIMARY KEY (tenant, kind, name);
ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.journal_positions
    ADD CONSTRAINT journal_positions_pkey PRIMARY KEY (segment);
ALTER TABLE ONLY public.key_uses
    ADD CONSTRAINT key_uses_pkey PRIMARY KEY (auth_key_id);
ALTER TABLE ONLY public.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.object_owners
    ADD CONSTRAINT object_owners_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.responses
    ADD CONSTRAINT responses_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.rollup_deltas
    ADD CONSTRAINT rollup_deltas_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.rollups_daily
    ADD CONSTRAINT rollups_daily_pkey PRIMARY KEY (bucket, model, provider, provider_name, user_path, auth_key_id, tenant_id, cache_type);
ALTER TABLE ONLY public.rollups_models_daily
    ADD CONSTRAINT rollups_models_daily_pkey PRIMARY KEY (bucket, model, provider, provider_name, tenant_id, cache_type);
ALTER TABLE ONLY public.rollups_models
    ADD CONSTRAINT rollups_models_pkey PRIMARY KEY (bucket, model, provider, provider_name, tenant_id, cache_type);
ALTER TABLE ONLY public.rollups_paths_daily
    ADD CONSTRAINT rollups_paths_daily_pkey PRIMARY KEY (bucket, user_path, tenant_id, cache_type);
ALTER TABLE ONLY public.rollups_paths
    ADD CONSTRAINT rollups_paths_pkey PRIMARY KEY (bucket, user_path, tenant_id, cache_type);
ALTER TABLE ONLY public.rollups
    ADD CONSTRAINT rollups_pkey PRIMARY KEY (bucket, model, provider, provider_name, user_path, auth_key_id, tenant_id, cache_type);
ALTER TABLE ONLY public.rollups_totals
    ADD CONSTRAINT rollups_totals_pkey PRIMARY KEY (bucket, tenant_id, cache_type);
ALTER TABLE ONLY public.semantic_checks
    ADD CONSTRAINT semantic_checks_by_tenant_pkey PRIMARY KEY (bucket, tenant_id, user_path);
ALTER TABLE ONLY public.semantic_entries
    ADD CONSTRAINT semantic_entries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.semantic_removals
    ADD CONSTRAINT semantic_removals_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.semantic_sequence
    ADD CONSTRAINT semantic_sequence_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.session_changes
    ADD CONSTRAINT session_changes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (digest);
ALTER TABLE ONLY public.token_revocations
    ADD CONSTRAINT token_revocations_pkey PRIMARY KEY (kind, issuer, value);
ALTER TABLE ONLY public.usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (at, id);
CREATE INDEX audit_by_error ON public.audit USING btree (at, id) WHERE ((status >= 400) OR (error_type IS NOT NULL));
CREATE INDEX audit_by_id ON public.audit USING btree (id);
CREATE UNIQUE INDEX audit_by_link ON public.audit USING btree (chain, sequence);
CREATE INDEX audit_by_parent ON public.audit USING btree (parent, at) WHERE (parent IS NOT NULL);
CREATE INDEX audit_by_previous ON public.audit USING btree (previous_response_id) WHERE (previous_response_id IS NOT NULL);
CREATE INDEX audit_by_request ON public.audit USING btree (request_id);
CREATE INDEX audit_by_response ON public.audit USING btree (response_id) WHERE (response_id IS NOT NULL);
CREATE INDEX audit_by_session ON public.audit USING btree (session_id, at) WHERE (session_id IS NOT NULL);
CREATE INDEX audit_by_thread ON public.audit USING btree (thread, at) WHERE (thread IS NOT NULL);
CREATE INDEX document_references_by_target ON public.document_references USING btree (tenant, ref_kind, ref_name);
CREATE INDEX idempotency_by_expiry ON public.idempotency USING btree (expires_at);
CREATE INDEX object_owners_by_expiry ON public.object_owners USING btree (expires_at);
CREATE INDEX outbox_by_due ON public.outbox USING btree (next_at) WHERE ((delivered_at IS NULL) AND (failed_at IS NULL));
CREATE INDEX responses_by_expiry ON public.responses USING btree (expires_at);
CREATE INDEX rollups_unpriced ON public.rollups USING btree (bucket) WHERE (unpriced > 0);
CREATE INDEX semantic_entries_by_expiry ON public.semantic_entries USING btree (expires_at);
CREATE INDEX semantic_entries_by_seq ON public.semantic_entries USING btree (seq);
CREATE INDEX semantic_removals_by_time ON public.semantic_removals USING btree (at);
CREATE INDEX sessions_by_expiry ON public.sessions USING btree (expires_at);
CREATE INDEX sessions_by_family ON public.sessions USING btree (family);
CREATE INDEX sessions_by_owner ON public.sessions USING btree (owner);
CREATE INDEX sessions_by_seq ON public.sessions USING btree (seq);
CREATE INDEX token_revocations_by_expiry ON public.token_revocations USING btree (expires_at);
CREATE INDEX token_revocations_by_seq ON public.token_revocations USING btree (seq);
CREATE INDEX usage_by_run ON public.usage USING btree (at, run, user_path, tenant_id, input_cost, output_cost) WHERE (run IS NOT NULL);
