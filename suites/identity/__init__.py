"""Logins at a real OpenID Connect provider, and tokens of it."""
