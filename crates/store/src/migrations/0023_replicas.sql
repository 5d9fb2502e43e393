-- The processes on this database, by the names of their journals. Only on PostgreSQL rows are written. Times of heartbeats are
-- those of the database server, so that the clocks of machines do not matter. The lag is that of the journal.
CREATE TABLE replicas (
    journal {TEXT} NOT NULL PRIMARY KEY,
    host {TEXT} NOT NULL,
    pid BIGINT NOT NULL,
    version {TEXT} NOT NULL,
    started_at BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL,
    draining BIGINT NOT NULL DEFAULT 0,
    lag_bytes BIGINT NOT NULL DEFAULT 0,
    lag_records BIGINT NOT NULL DEFAULT 0,
    lag_since BIGINT
);
-- Whether processes that do not know a migration can work with its tables: 1 if it only adds to them. Earlier ones do not tell.
ALTER TABLE migrations ADD COLUMN expands BIGINT NOT NULL DEFAULT 0;
