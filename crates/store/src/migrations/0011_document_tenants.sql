-- Documents are keyed by (tenant, kind, name). All that exist belong to the default tenant, whose name is empty. A process
-- of the version before still writes without a tenant while this one starts: it needs the unique indexes without one,
-- which a later migration removes.
-- Every write of a document updates this row first. Its lock makes writers wait, so that the copies miss none.
UPDATE meta SET rev = rev WHERE id = 1;
CREATE TABLE documents_by_tenant (
    tenant {TEXT} NOT NULL DEFAULT '',
    kind {TEXT} NOT NULL,
    name {TEXT} NOT NULL,
    body {TEXT} NOT NULL,
    sealed {TEXT} NOT NULL DEFAULT '',
    revision BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    updated_by {TEXT} NOT NULL,
    PRIMARY KEY (tenant, kind, name)
);
INSERT INTO documents_by_tenant (tenant, kind, name, body, sealed, revision, created_at, updated_at, updated_by)
SELECT tenant, kind, name, body, sealed, revision, created_at, updated_at, updated_by FROM documents;
DROP TABLE documents;
ALTER TABLE documents_by_tenant RENAME TO documents;
CREATE UNIQUE INDEX documents_without_tenant ON documents (kind, name);

CREATE TABLE document_references_by_tenant (
    tenant {TEXT} NOT NULL DEFAULT '',
    kind {TEXT} NOT NULL,
    name {TEXT} NOT NULL,
    ref_kind {TEXT} NOT NULL,
    ref_name {TEXT} NOT NULL,
    PRIMARY KEY (tenant, kind, name, ref_kind, ref_name)
);
INSERT INTO document_references_by_tenant (kind, name, ref_kind, ref_name)
SELECT kind, name, ref_kind, ref_name FROM document_references;
DROP TABLE document_references;
ALTER TABLE document_references_by_tenant RENAME TO document_references;
CREATE UNIQUE INDEX document_references_without_tenant ON document_references (kind, name, ref_kind, ref_name);
CREATE INDEX document_references_by_target ON document_references (tenant, ref_kind, ref_name);

ALTER TABLE changes ADD COLUMN tenant {TEXT} NOT NULL DEFAULT '';
