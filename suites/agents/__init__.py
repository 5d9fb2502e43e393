"""Coding agents run through the gateway."""
