"""The commands in the documentation, run as printed."""
