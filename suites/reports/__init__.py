"""How long reports take on many rows: `python -m reports`."""
