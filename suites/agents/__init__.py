"""Coding agents at work through the gateway."""
