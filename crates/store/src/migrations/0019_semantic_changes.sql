-- The order of the changes of the semantic cache, so that the processes on one database can follow each other. A change takes
-- its number in its own transaction and holds the row until it is committed: numbers are committed in their order.
CREATE TABLE semantic_sequence (
    id BIGINT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO semantic_sequence (id, value) VALUES (1, 0);
ALTER TABLE semantic_entries ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE semantic_entries ADD COLUMN origin {TEXT} NOT NULL DEFAULT '';
CREATE INDEX semantic_entries_by_seq ON semantic_entries (seq);

-- Entries that were removed, and purges. A removal has the id of an entry, a purge has conditions or none.
CREATE TABLE semantic_removals (
    seq BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL,
    origin {TEXT} NOT NULL,
    entry_id {TEXT},
    user_path {TEXT},
    model {TEXT}
);
CREATE INDEX semantic_removals_by_time ON semantic_removals (at);
