-- Budgets that replicas share: each takes a part of a window's amount as a lease (PostgreSQL only). `opened` is the start
-- of the window or its last reset. `base` is the sum in the ledger without what leases have booked, NULL until it was
-- read; `leased` is the sum of `granted`; `wanted` counts the takes that found no room. The scope tells which calls count:
-- `run` is NULL for all, '' for those without a run.
CREATE TABLE budget_windows (
    budget {TEXT} NOT NULL,
    opened BIGINT NOT NULL,
    until BIGINT NOT NULL,
    tenant {TEXT},
    user_path {TEXT} NOT NULL,
    run {TEXT},
    base BIGINT,
    leased BIGINT NOT NULL,
    wanted BIGINT NOT NULL,
    PRIMARY KEY (budget, opened)
) {CLUSTERED};

-- The lease of a process, named by its journal directory. `granted` includes `booked`, the cost of receipts that are in
-- the ledger; `answered` is the value of `wanted` after which the owner has given back what was free.
CREATE TABLE budget_leases (
    budget {TEXT} NOT NULL,
    opened BIGINT NOT NULL,
    journal {TEXT} NOT NULL,
    granted BIGINT NOT NULL,
    booked BIGINT NOT NULL,
    answered BIGINT NOT NULL,
    PRIMARY KEY (budget, opened, journal)
) {CLUSTERED};
CREATE INDEX budget_leases_by_journal ON budget_leases (journal);

-- When a replica last compared the windows with the ledger.
CREATE TABLE budget_reconciliation (
    id BIGINT NOT NULL PRIMARY KEY,
    at BIGINT NOT NULL
);
INSERT INTO budget_reconciliation (id, at) VALUES (1, 0);
