"""Conformance: the official OpenAI Python SDK is the judge."""
