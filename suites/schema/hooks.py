"""Checks for schemathesis: no internal error, valid requests are accepted, and 401 for calls without a valid
credential."""

import os

import schemathesis

# Routes that anyone may call: a login has no credential yet, and its page asks how users log in.
AUTH = "/admin/api/v1/auth"
PUBLIC = {"/health", "/ready", "/admin/api/v1/dashboard/config", f"{AUTH}/me", f"{AUTH}/login", f"{AUTH}/refresh", f"{AUTH}/oidc/callback", f"{AUTH}/oidc/{{provider}}"}


# Paths that name a call only with some of their values; with others they are unknown routes, which are 404 for everyone.
UNKNOWN = {"/v1/models/{id}", "/v1beta/models/{call}"}

# Parameters with rules that a schema cannot express: names of time zones and providers, the order of two dates, and
# places in a list that an earlier answer gave.
BEYOND_SCHEMA = {"timezone", "start_date", "end_date", "days", "interval", "cursor", "offset", "provider_type", "after", "pageToken", "kind", "scope", "with", "before", "tenant_id"}
# An upgrade to a WebSocket, which is no plain request.
UPGRADES = {("GET", "/v1/responses")}
# Whether a request is valid depends on stored objects, or its errors name no parameter.
STATEFUL = {("POST", "/admin/api/v1/workflows/{id}/deactivate"), ("GET", "/v1beta/models")}


@schemathesis.check
def internal_error(ctx, response, case):
    """Providers that cannot be reached, and features that are off, are documented errors; 500 is a fault of the gateway."""
    if response.status_code == 500:
        raise AssertionError("500: an internal error")


@schemathesis.check
def valid_request_accepted(ctx, response, case):
    """A request that fits the document is not 400. Bodies refer to objects and have rules between their members, so their
    examples are tested instead (`examples_of_bodies_are_valid`)."""
    operation = case.operation
    is_generated_to_fit = case.meta is not None and case.meta.generation.mode.is_positive
    if response.status_code != 400 or not is_generated_to_fit or operation.body:
        return
    if (operation.method.upper(), operation.path) in UPGRADES | STATEFUL:
        return
    error = response.json().get("error", {})
    if error.get("param") not in BEYOND_SCHEMA:
        raise AssertionError(f"400 for a valid request: {error.get('message')}")


@schemathesis.check
def refused(ctx, response, case):
    path, status = case.operation.path, response.status_code
    admitted = path in PUBLIC or (path in UNKNOWN and status == 404)
    if not admitted and status != 401 and os.environ.get("EXPECT_REFUSAL"):
        raise AssertionError(f"{status} instead of 401")
