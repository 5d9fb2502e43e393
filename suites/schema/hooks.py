"""The check of calls without a valid credential, for schemathesis: each is refused with 401."""

import os

import schemathesis

# Routes that anyone may call.
PUBLIC = {"/health", "/ready"}


@schemathesis.check
def refused(ctx, response, case):
    wrong = case.operation.path not in PUBLIC and response.status_code != 401
    if wrong and os.environ.get("EXPECT_REFUSAL"):
        raise AssertionError(f"{response.status_code} instead of 401")
