-- What was told of a budget: each threshold once in a window, whoever crosses it.
CREATE TABLE budget_alerts (
    budget {TEXT} NOT NULL,
    window_start BIGINT NOT NULL,
    threshold {TEXT} NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (budget, window_start, threshold)
) {CLUSTERED};

-- Messages to webhooks. Who sends one holds it until `leased_until`.
CREATE TABLE outbox (
    id {TEXT} NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    event {TEXT} NOT NULL,
    url {TEXT} NOT NULL,
    attempts BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    leased_until BIGINT NOT NULL,
    delivered_at BIGINT,
    failed_at BIGINT,
    last_error {TEXT},
    body {TEXT} NOT NULL
);
CREATE INDEX outbox_by_due ON outbox (next_at) WHERE delivered_at IS NULL AND failed_at IS NULL;
