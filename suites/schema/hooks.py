"""The check of calls without a valid credential, for schemathesis: each is refused with 401."""

import os

import schemathesis

# Routes that anyone may call: a login has no credential yet.
AUTH = "/admin/api/v1/auth"
PUBLIC = {"/health", "/ready", f"{AUTH}/me", f"{AUTH}/login", f"{AUTH}/refresh", f"{AUTH}/oidc/callback", f"{AUTH}/oidc/{{provider}}"}


@schemathesis.check
def refused(ctx, response, case):
    wrong = case.operation.path not in PUBLIC and response.status_code != 401
    if wrong and os.environ.get("EXPECT_REFUSAL"):
        raise AssertionError(f"{response.status_code} instead of 401")
