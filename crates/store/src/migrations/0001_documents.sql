CREATE TABLE meta (
    id BIGINT PRIMARY KEY,
    rev BIGINT NOT NULL
);
INSERT INTO meta (id, rev) VALUES (1, 0);

CREATE TABLE documents (
    kind {TEXT} NOT NULL,
    name {TEXT} NOT NULL,
    tenant {TEXT} NOT NULL DEFAULT '',
    body {TEXT} NOT NULL,
    sealed {TEXT} NOT NULL DEFAULT '',
    revision BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    updated_by {TEXT} NOT NULL,
    PRIMARY KEY (kind, name)
);

CREATE TABLE document_references (
    kind {TEXT} NOT NULL,
    name {TEXT} NOT NULL,
    ref_kind {TEXT} NOT NULL,
    ref_name {TEXT} NOT NULL,
    PRIMARY KEY (kind, name, ref_kind, ref_name)
);
CREATE INDEX document_references_by_target ON document_references (ref_kind, ref_name);

CREATE TABLE changes (
    revision BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    actor {TEXT} NOT NULL,
    kind {TEXT} NOT NULL,
    name {TEXT} NOT NULL,
    action {TEXT} NOT NULL,
    old_body {TEXT},
    new_body {TEXT}
);
