"""Canary secrets in every configuration, and a search of all output for them."""
