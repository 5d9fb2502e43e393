"""Checks for schemathesis: no internal error, and 401 for calls without a valid credential."""

import os

import schemathesis

# Routes that anyone may call: a login has no credential yet.
AUTH = "/admin/api/v1/auth"
PUBLIC = {"/health", "/ready", f"{AUTH}/me", f"{AUTH}/login", f"{AUTH}/refresh", f"{AUTH}/oidc/callback", f"{AUTH}/oidc/{{provider}}"}


# Paths that name a call only with some of their values; with others they are unknown routes, which are 404 for everyone.
UNKNOWN = {"/v1/models/{id}", "/v1beta/models/{call}"}


@schemathesis.check
def internal_error(ctx, response, case):
    """Providers that cannot be reached, and features that are off, are documented errors; 500 is a fault of the gateway."""
    if response.status_code == 500:
        raise AssertionError("500: an internal error")


@schemathesis.check
def refused(ctx, response, case):
    path, status = case.operation.path, response.status_code
    admitted = path in PUBLIC or (path in UNKNOWN and status == 404)
    if not admitted and status != 401 and os.environ.get("EXPECT_REFUSAL"):
        raise AssertionError(f"{status} instead of 401")
