//! Constructors of errors of the gateway itself.

use std::time::Duration;

use super::{Blame, Fault, FaultCode, FaultKind};

/// Spending cannot be determined, and the operator requires budget checks (`BUDGETS_FAIL=closed`).
pub fn budget_check_failed() -> Fault {
    Fault::new(
        FaultCode::BudgetCheckFailed,
        "The budgets of this path cannot be checked at the moment, and BUDGETS_FAIL is closed.",
    )
}

/// A stored budget, or the budget settings, cannot be decoded: affected calls are rejected until it is replaced.
pub fn budget_unreadable() -> Fault {
    Fault::new(
        FaultCode::BudgetCheckFailed,
        "A budget of this path cannot be read from storage. An admin has to write it again or delete it.",
    )
}

pub fn internal_error() -> Fault {
    Fault::new(FaultCode::InternalError, "The gateway failed to handle this request; its log has the reason.")
}

pub fn feature_unavailable(message: impl Into<String>) -> Fault {
    Fault::new(FaultCode::FeatureUnavailable, message)
}

/// The files of tools may not be written on the machine of the gateway.
pub fn cli_apply_disabled() -> Fault {
    Fault::new(
        FaultCode::CliApplyDisabled,
        "The gateway may not write files of tools: CLI_TOOLS_APPLY_ENABLED is false. Copy them from the preview, or run `gatehouse connect` on the developer's machine.",
    )
}

/// The workflow of a call does not compile. The call is not made without its policies.
pub fn workflow_unavailable(id: &str) -> Fault {
    Fault::new(
        FaultCode::FeatureUnavailable,
        format!(
            "The workflow '{id}', which applies to this call, does not compile. An administrator finds the reason at /admin/api/v1/runtime/status."
        ),
    )
}

/// The client disconnected. Recorded in logs and metrics as 499, never sent.
pub fn client_disconnected() -> Fault {
    Fault::new(FaultCode::ClientDisconnected, "The client closed the connection.")
}

/// The memory limit for the bodies of in-flight requests is reached.
pub fn overloaded(limit_bytes: u64) -> Fault {
    let message = format!(
        "The gateway is processing as many large request bodies as it can hold ({} MiB). Retry in 1 s.",
        limit_bytes >> 20
    );
    Fault::with_status(503, FaultKind::ServiceUnavailable, FaultCode::Overloaded, message)
        .retry_after(Duration::from_secs(1))
}

/// A guardrail could not decide about a text, and its `on_error` is `block`.
pub fn guardrail_error(name: &str, reason: &str) -> Fault {
    let message = format!("The guardrail '{name}' failed ({reason}), and its on_error is block.");
    Fault::new(FaultCode::GuardrailError, message).blame(Blame::Gateway)
}
