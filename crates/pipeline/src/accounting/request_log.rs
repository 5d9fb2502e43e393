//! The request log, enabled by `LOG_REQUESTS`: one line per call.

use domain::receipt::Receipt;

/// Logs a call. Bodies and credentials are never included.
pub fn write(receipt: &Receipt) {
    let tokens = &receipt.usage.tokens;
    let cost = receipt.cost.map(|cost| cost.total().usd());
    tracing::info!(
        request_id = receipt.request_id,
        key = receipt.auth_key_id.as_deref().unwrap_or(&receipt.auth_method),
        client_ip = receipt.client_ip,
        method = receipt.method,
        path = receipt.endpoint,
        user_path = receipt.user_path,
        requested_model = receipt.requested_model,
        model = receipt.model,
        provider = receipt.provider_name,
        status = receipt.status,
        error_code = receipt.error_code.as_deref(),
        stream = receipt.stream,
        attempts = receipt.attempts.len(),
        total_tokens = tokens.total(),
        output_tokens = tokens.output,
        cost_usd = cost,
        duration_ms = millis(receipt.duration_us),
        first_byte_ms = receipt.first_byte_us.map(millis),
        overhead_us = receipt.overhead_us,
        "request"
    );
}

fn millis(micros: u64) -> f64 {
    micros as f64 / 1000.0
}
