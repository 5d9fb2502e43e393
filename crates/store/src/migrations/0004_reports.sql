-- How long calls took, counted by slots whose upper bound in milliseconds is in their name. Calls that were booked before
-- are in no slot: a percentile is of those that are.
ALTER TABLE rollups ADD COLUMN latency_1 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_2 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_5 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_10 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_20 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_35 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_50 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_75 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_100 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_150 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_200 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_300 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_500 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_750 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_1000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_1500 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_2000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_3000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_5000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_7500 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_10000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_20000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_60000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN latency_over BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_1 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_2 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_5 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_10 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_20 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_35 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_50 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_75 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_100 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_150 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_200 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_300 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_500 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_750 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_1000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_1500 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_2000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_3000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_5000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_7500 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_10000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_20000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_60000 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rollups ADD COLUMN first_byte_over BIGINT NOT NULL DEFAULT 0;

-- The same sums by fewer labels and for longer stretches of time, kept in the same transaction: what a report reads is the
-- smallest table that can answer it.
CREATE TABLE rollups_daily (
    bucket BIGINT NOT NULL,
    model {TEXT} NOT NULL, provider {TEXT} NOT NULL, provider_name {TEXT} NOT NULL, user_path {TEXT} NOT NULL,
    auth_key_id {TEXT} NOT NULL, tenant_id {TEXT} NOT NULL, cache_type {TEXT} NOT NULL,
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
    first_byte_over BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, model, provider, provider_name, user_path, auth_key_id, tenant_id, cache_type)
) {CLUSTERED};
INSERT INTO rollups_daily (bucket, model, provider, provider_name, user_path, auth_key_id, tenant_id, cache_type,
    requests, errors, status_2xx, status_3xx, status_4xx, status_5xx, input, cache_read, cache_write_5m, cache_write_1h,
    audio_input, output, reasoning, audio_output, input_cost, output_cost, priced, unpriced, estimated)
SELECT bucket - bucket % 86400, model, provider, provider_name, user_path, auth_key_id, tenant_id, cache_type,
    SUM(requests), SUM(errors), SUM(status_2xx), SUM(status_3xx), SUM(status_4xx), SUM(status_5xx), SUM(input),
    SUM(cache_read), SUM(cache_write_5m), SUM(cache_write_1h), SUM(audio_input), SUM(output), SUM(reasoning),
    SUM(audio_output), SUM(input_cost), SUM(output_cost), SUM(priced), SUM(unpriced), SUM(estimated)
FROM rollups GROUP BY bucket - bucket % 86400, model, provider, provider_name, user_path, auth_key_id, tenant_id, cache_type;

CREATE TABLE rollups_models (
    bucket BIGINT NOT NULL,
    model {TEXT} NOT NULL, provider {TEXT} NOT NULL, provider_name {TEXT} NOT NULL, tenant_id {TEXT} NOT NULL,
    cache_type {TEXT} NOT NULL,
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
    first_byte_over BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, model, provider, provider_name, tenant_id, cache_type)
) {CLUSTERED};
INSERT INTO rollups_models (bucket, model, provider, provider_name, tenant_id, cache_type,
    requests, errors, status_2xx, status_3xx, status_4xx, status_5xx, input, cache_read, cache_write_5m, cache_write_1h,
    audio_input, output, reasoning, audio_output, input_cost, output_cost, priced, unpriced, estimated)
SELECT bucket, model, provider, provider_name, tenant_id, cache_type,
    SUM(requests), SUM(errors), SUM(status_2xx), SUM(status_3xx), SUM(status_4xx), SUM(status_5xx), SUM(input),
    SUM(cache_read), SUM(cache_write_5m), SUM(cache_write_1h), SUM(audio_input), SUM(output), SUM(reasoning),
    SUM(audio_output), SUM(input_cost), SUM(output_cost), SUM(priced), SUM(unpriced), SUM(estimated)
FROM rollups GROUP BY bucket, model, provider, provider_name, tenant_id, cache_type;

CREATE TABLE rollups_models_daily (
    bucket BIGINT NOT NULL,
    model {TEXT} NOT NULL, provider {TEXT} NOT NULL, provider_name {TEXT} NOT NULL, tenant_id {TEXT} NOT NULL,
    cache_type {TEXT} NOT NULL,
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
    first_byte_over BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, model, provider, provider_name, tenant_id, cache_type)
) {CLUSTERED};
INSERT INTO rollups_models_daily (bucket, model, provider, provider_name, tenant_id, cache_type,
    requests, errors, status_2xx, status_3xx, status_4xx, status_5xx, input, cache_read, cache_write_5m, cache_write_1h,
    audio_input, output, reasoning, audio_output, input_cost, output_cost, priced, unpriced, estimated)
SELECT bucket - bucket % 86400, model, provider, provider_name, tenant_id, cache_type,
    SUM(requests), SUM(errors), SUM(status_2xx), SUM(status_3xx), SUM(status_4xx), SUM(status_5xx), SUM(input),
    SUM(cache_read), SUM(cache_write_5m), SUM(cache_write_1h), SUM(audio_input), SUM(output), SUM(reasoning),
    SUM(audio_output), SUM(input_cost), SUM(output_cost), SUM(priced), SUM(unpriced), SUM(estimated)
FROM rollups_models GROUP BY bucket - bucket % 86400, model, provider, provider_name, tenant_id, cache_type;

CREATE TABLE rollups_paths (
    bucket BIGINT NOT NULL,
    user_path {TEXT} NOT NULL, tenant_id {TEXT} NOT NULL, cache_type {TEXT} NOT NULL,
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
    first_byte_over BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, user_path, tenant_id, cache_type)
) {CLUSTERED};
INSERT INTO rollups_paths (bucket, user_path, tenant_id, cache_type,
    requests, errors, status_2xx, status_3xx, status_4xx, status_5xx, input, cache_read, cache_write_5m, cache_write_1h,
    audio_input, output, reasoning, audio_output, input_cost, output_cost, priced, unpriced, estimated)
SELECT bucket, user_path, tenant_id, cache_type,
    SUM(requests), SUM(errors), SUM(status_2xx), SUM(status_3xx), SUM(status_4xx), SUM(status_5xx), SUM(input),
    SUM(cache_read), SUM(cache_write_5m), SUM(cache_write_1h), SUM(audio_input), SUM(output), SUM(reasoning),
    SUM(audio_output), SUM(input_cost), SUM(output_cost), SUM(priced), SUM(unpriced), SUM(estimated)
FROM rollups GROUP BY bucket, user_path, tenant_id, cache_type;

CREATE TABLE rollups_paths_daily (
    bucket BIGINT NOT NULL,
    user_path {TEXT} NOT NULL, tenant_id {TEXT} NOT NULL, cache_type {TEXT} NOT NULL,
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
    first_byte_over BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, user_path, tenant_id, cache_type)
) {CLUSTERED};
INSERT INTO rollups_paths_daily (bucket, user_path, tenant_id, cache_type,
    requests, errors, status_2xx, status_3xx, status_4xx, status_5xx, input, cache_read, cache_write_5m, cache_write_1h,
    audio_input, output, reasoning, audio_output, input_cost, output_cost, priced, unpriced, estimated)
SELECT bucket - bucket % 86400, user_path, tenant_id, cache_type,
    SUM(requests), SUM(errors), SUM(status_2xx), SUM(status_3xx), SUM(status_4xx), SUM(status_5xx), SUM(input),
    SUM(cache_read), SUM(cache_write_5m), SUM(cache_write_1h), SUM(audio_input), SUM(output), SUM(reasoning),
    SUM(audio_output), SUM(input_cost), SUM(output_cost), SUM(priced), SUM(unpriced), SUM(estimated)
FROM rollups_paths GROUP BY bucket - bucket % 86400, user_path, tenant_id, cache_type;

CREATE TABLE rollups_totals (
    bucket BIGINT NOT NULL,
    tenant_id {TEXT} NOT NULL, cache_type {TEXT} NOT NULL,
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
    first_byte_over BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (bucket, tenant_id, cache_type)
) {CLUSTERED};
INSERT INTO rollups_totals (bucket, tenant_id, cache_type,
    requests, errors, status_2xx, status_3xx, status_4xx, status_5xx, input, cache_read, cache_write_5m, cache_write_1h,
    audio_input, output, reasoning, audio_output, input_cost, output_cost, priced, unpriced, estimated)
SELECT bucket, tenant_id, cache_type,
    SUM(requests), SUM(errors), SUM(status_2xx), SUM(status_3xx), SUM(status_4xx), SUM(status_5xx), SUM(input),
    SUM(cache_read), SUM(cache_write_5m), SUM(cache_write_1h), SUM(audio_input), SUM(output), SUM(reasoning),
    SUM(audio_output), SUM(input_cost), SUM(output_cost), SUM(priced), SUM(unpriced), SUM(estimated)
FROM rollups_models GROUP BY bucket, tenant_id, cache_type;

-- Few calls lack a price, and whoever looks for them need not look at the others.
CREATE INDEX rollups_unpriced ON rollups (bucket) WHERE unpriced > 0;
