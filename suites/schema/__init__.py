"""The OpenAPI document against the running gateway."""
