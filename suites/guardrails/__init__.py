"""The cost of guardrails through the binary: CPU, time to first byte, time of webhooks and of patterns."""
