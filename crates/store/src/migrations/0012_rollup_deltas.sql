-- Sums that are not in the rollup tables yet: one row per batch of receipts, encoded by ledger/delta.rs. `oldest` and
-- `newest` are the first and last bucket (quarter hour) in it, `entries` is the number of its sums. A process of the
-- version before adds to the rollup tables directly, and what it adds there counts as well.
CREATE TABLE rollup_deltas (
    id {SEQUENCE},
    oldest BIGINT NOT NULL,
    newest BIGINT NOT NULL,
    entries BIGINT NOT NULL,
    sums {BYTES} NOT NULL
);
