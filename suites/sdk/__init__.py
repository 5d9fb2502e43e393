"""Conformance tests with the official OpenAI Python SDK."""
