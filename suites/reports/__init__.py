"""Duration of reports on many rows: `python -m reports`."""
