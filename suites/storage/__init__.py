"""The database fails in various ways; inference must not be affected."""
