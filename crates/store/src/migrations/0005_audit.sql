-- The long texts come last: SQLite reads a row up to the last column that is asked for.
CREATE TABLE audit (
    at BIGINT NOT NULL,
    id {TEXT} NOT NULL,
    chain {TEXT} NOT NULL,
    sequence BIGINT NOT NULL,
    hash {TEXT} NOT NULL,
    request_id {TEXT} NOT NULL,
    method {TEXT} NOT NULL,
    path {TEXT} NOT NULL,
    endpoint {TEXT} NOT NULL,
    requested_model {TEXT} NOT NULL,
    model {TEXT} NOT NULL,
    provider {TEXT} NOT NULL,
    provider_name {TEXT} NOT NULL,
    user_path {TEXT} NOT NULL,
    auth_key_id {TEXT},
    tenant_id {TEXT},
    session_id {TEXT},
    response_id {TEXT},
    previous_response_id {TEXT},
    thread {TEXT},
    parent {TEXT},
    cache_type {TEXT} NOT NULL,
    status BIGINT NOT NULL,
    stream BIGINT NOT NULL,
    error_type {TEXT},
    error_code {TEXT},
    error_message {TEXT},
    duration_us BIGINT NOT NULL,
    first_byte_us BIGINT,
    overhead_us BIGINT NOT NULL,
    data {TEXT} NOT NULL,
    request_body {TEXT},
    response_body {TEXT},
    PRIMARY KEY (at, id)
);
CREATE INDEX audit_by_id ON audit (id);
CREATE INDEX audit_by_request ON audit (request_id);
CREATE UNIQUE INDEX audit_by_link ON audit (chain, sequence);
CREATE INDEX audit_by_session ON audit (session_id, at) WHERE session_id IS NOT NULL;
CREATE INDEX audit_by_response ON audit (response_id) WHERE response_id IS NOT NULL;
CREATE INDEX audit_by_previous ON audit (previous_response_id) WHERE previous_response_id IS NOT NULL;
CREATE INDEX audit_by_thread ON audit (thread, at) WHERE thread IS NOT NULL;
CREATE INDEX audit_by_parent ON audit (parent, at) WHERE parent IS NOT NULL;

-- A journal segment's entries are one chain. What the record says is sealed: the head of a shorter chain is in its rows.
CREATE TABLE audit_chains (
    chain {TEXT} NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL UNIQUE,
    started_at BIGINT NOT NULL,
    length BIGINT NOT NULL,
    head {TEXT} NOT NULL,
    first_sequence BIGINT NOT NULL,
    anchor {TEXT} NOT NULL,
    seal {TEXT} NOT NULL
);

CREATE TABLE audit_counts (
    bucket BIGINT NOT NULL PRIMARY KEY,
    entries BIGINT NOT NULL
);
